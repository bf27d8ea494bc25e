"""Screens that join several apps: home, one dataset, the documentation."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import HttpResponseClientRefresh

from synthweb.accounts.http import SignedInRequest
from synthweb.datasets.selectors import dataset_for, refusal_for
from synthweb.ledger import selectors as ledger
from synthweb.lib import fragments
from synthweb.pages import docs, log_news, search_results, selectors
from synthweb.runs import accuracy as runs_accuracy


@require_safe
@login_required
def home(request: SignedInRequest) -> HttpResponse:
    """The home page: the next steps, for each role."""
    return render(request, "pages/home.html", {"home": selectors.home_of(request.user)})


@login_required
@require_POST
def mark_log_read(request: SignedInRequest) -> HttpResponse:
    """What an auditor has read of the log is no longer new on their home page."""
    up_to = request.POST.get("up_to", "")
    number = int(up_to) if up_to.isascii() and up_to.isdigit() and len(up_to) < 16 else 0
    log_news.mark_read(request.user, up_to=number)
    return redirect("pages:home")


@require_safe
@login_required
def dataset(request: SignedInRequest, code: str) -> HttpResponse:
    """One dataset: its six steps, its budget, what it protects, its releases and runs."""
    dataset = dataset_for(request.user, code)
    context = {
        "overview": selectors.overview_of(request.user, dataset),
        "dataset": dataset,
        "busy": selectors.is_busy(dataset),
        "refusal": refusal_for(request.user, dataset),
    }
    return render(request, "pages/dataset.html", context)


@require_safe
@login_required
def dataset_runs(request: SignedInRequest, code: str) -> HttpResponse:
    """The part of that page which is live; says "load me again" once there is more to tell than stages."""
    dataset = dataset_for(request.user, code)
    state = selectors.state_of(dataset)
    if fragments.asked_by_page(request) and request.GET.get("state") != state:
        return HttpResponseClientRefresh()
    context = {
        "dataset": dataset,
        "runs": selectors.runs_of(dataset),
        "busy": selectors.is_busy(dataset),
        "state": state,
    }
    crumbs = [
        (reverse("datasets:index"), gettext("Datasets")),
        (reverse("pages:dataset", args=[code]), dataset.name),
    ]
    return fragments.render_fragment(
        request,
        "pages/_runs.html",
        context,
        title=gettext("Runs of %(name)s") % {"name": dataset.name},
        crumbs=crumbs,
    )


@require_safe
@login_required
def accuracy(request: SignedInRequest, code: str) -> HttpResponse:
    """What accuracy a request for budget buys; a part of its page, because a forecast takes seconds for a
    wide table."""
    asked = ledger.request_for(request.user, code)
    bought = runs_accuracy.bought(
        asked.dataset,
        rule=asked.rule,
        amount=ledger.amount_of(asked),
        releases=asked.releases,
    )
    crumbs = [
        (reverse("ledger:index"), gettext("Budget")),
        (reverse("ledger:request", args=[code]), f"Request {code}"),
    ]
    return fragments.render_fragment(
        request,
        "pages/_accuracy.html",
        {"bought": bought, "unstated": runs_accuracy.is_unstated(asked.dataset)},
        title="What it buys",
        crumbs=crumbs,
    )


@require_safe
@login_required
def search(request: SignedInRequest) -> HttpResponse:
    """What contains the words of `q`, among everything that this person may see; the part alone for a page
    that asks."""
    words = request.GET.get("q", "").strip()[: search_results.LONGEST_WORDS]
    context = {"words": words, "groups": search_results.matches(request.user, words)}
    template = (
        "pages/_matches.html" if fragments.asked_by_page(request) else "pages/search.html"
    )
    response = render(request, template, context)
    # One address has two answers: a cache must not give the part to whoever asks for the page.
    patch_vary_headers(response, ["HX-Request"])
    return response


@require_safe
@login_required
def docs_index(request: SignedInRequest) -> HttpResponse:
    """Where the documentation starts."""
    return _docs(request, docs.INDEX)


@require_safe
@login_required
def docs_page(request: SignedInRequest, slug: str) -> HttpResponse:
    """One page of the documentation."""
    return _docs(request, slug)


def _docs(request: SignedInRequest, slug: str) -> HttpResponse:
    page = docs.page_for(slug)
    query = request.GET.get("q", "").strip()[:500]
    context = {
        "page": page,
        "rendered": docs.render(page, query=query),
        "sections": docs.sections(),
        "query": query,
    }
    return render(request, "pages/docs.html", context)
