"""Drawing tables, and those that were drawn."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from synth_engine.codec.workbook import MAX_ROWS
from synth_engine.errors import SpecError
from synthweb.accounts.http import SignedInRequest
from synthweb.accounts.permissions import Need
from synthweb.lib import fragments
from synthweb.releases import (
    citation,
    model_cache,
    screens,
    selectors,
    services,
    tables,
)
from synthweb.releases.downloads import busy_page
from synthweb.releases.forms import (
    SampleForm,
)
from synthweb.releases.slots import TooManyDrawings
from synthweb.releases.tabs import Card

PAGE = 25


@login_required
@require_http_methods(["GET", "POST"])
def samples(request: SignedInRequest, code: str) -> HttpResponse:
    """Draw any number of rows, for free; list one's own samples."""
    release = selectors.release_for(request.user, code, Need.SAMPLE)
    asked = (request.POST if request.method == "POST" else request.GET).get("edition")
    edition = selectors.edition_for(release, asked) if asked else None
    form = SampleForm(
        request.POST or None,
        initial={"rows": release.sample_rows, "edition": asked},
        columns=screens.column_names(release),
    )
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data | {"edition": edition}
        selection = given.pop("selection")
        try:
            sample = (
                services.draw_sample(user=request.user, release=release, **given)
                if selection is None
                else services.draw_selected(
                    user=request.user, release=release, selection=selection, **given
                )
            )
            return redirect("releases:sample", code, sample.code)
        except TooManyDrawings as busy:
            return busy_page(request, busy)
        except SpecError as error:
            form.add_error("seed" if selection is None else None, error.text)
    page = Paginator(selectors.samples_of(request.user, release), PAGE).get_page(
        request.GET.get("page")
    )
    context = screens.frame(request.user, release, card="samples") | {
        "form": form,
        "repeats_from": model_cache.repeats_rows_from(code),
        "page": page,
        "edition": edition,
    }
    return render(request, "releases/cards/samples.html", context)


@login_required
@require_GET
def sample(request: SignedInRequest, code: str, sample_code: str) -> HttpResponse:
    """One sample of one's own: its seed, its commitment, its files."""
    sample = selectors.sample_for(request.user, sample_code, release_code=code)
    context = screens.frame(request.user, sample.release, card="samples", leaf=sample.code)
    context |= {
        "sample": sample,
        "selection": tables.selection_of(sample),
        "edition": sample.edition,
        "citation": citation.of_sample(sample),
        "has_form": tables.has_form(sample),
        "one_marker": tables.columns_of_one_marker(sample),
        "fits_workbook": sample.rows < MAX_ROWS,
    }
    return render(request, "releases/cards/sample.html", context)


@login_required
@require_GET
@never_cache
def sample_progress(request: SignedInRequest, code: str, sample_code: str) -> HttpResponse:
    """How many rows of a sample are drawn by now: the part of its page that is polled during a download."""
    sample = selectors.sample_for(request.user, sample_code, release_code=code)
    crumbs = [
        (reverse("releases:index"), gettext("Releases")),
        (reverse("releases:sample", args=[code, sample_code]), sample.release.name),
    ]
    return fragments.render_fragment(
        request,
        "releases/_draw_progress.html",
        screens.draw_progress(sample, tries=request.GET.get("tries", "")),
        title=gettext("Rows drawn"),
        crumbs=crumbs,
    )


CARD = Card(
    key="samples",
    tab="download",
    order=10,
    title=_("Any number of rows"),
    about=_("Draw a table, as often as you like; your tables are listed here."),
    view=samples,
)
