"""What a visitor with a public link sees: first rows, report, bundle and tables of the public seed, and
nothing else.

No view here asks who the visitor is. Each begins by opening the link, counts the request, and leaves to
search engines and caches nothing to keep.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus

from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    StreamingHttpResponse,
)
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from synthweb.accounts import appearance
from synthweb.accounts.throttle import line_of
from synthweb.lib import language
from synthweb.lib.rates import PerMinute
from synthweb.releases import (
    bundle,
    licences,
    look,
    look_page,
    public_links,
    quality,
    report,
    screens,
    spool,
    tables,
)
from synthweb.releases.downloads import attached, csv_format, file_name
from synthweb.releases.models import PublicLink, Sample
from synthweb.releases.slots import TooManyDrawings

Visit = Callable[[HttpRequest, PublicLink], HttpResponseBase]
ZIP = "application/zip"
SLOTS = "public links"
"""All visitors together have as many downloads at once as one analyst has."""
rates = PerMinute(prefix="public")


def _visit(*, kind: str = "user") -> Callable[[Visit], Callable[..., HttpResponseBase]]:
    """A page of a public link. kind: of the limit per minute, as those of REST: `user` for pages, `file` for
    files."""

    def decorate(view: Visit) -> Callable[..., HttpResponseBase]:
        @wraps(view)
        # There is nothing to forge here: what is no reading is told so.
        @csrf_exempt
        @never_cache
        @require_safe
        def page(request: HttpRequest, token: str) -> HttpResponseBase:
            try:
                link = public_links.opened(token)
            except Http404:
                # Guessing is slowed down by address, as it is for tokens of REST.
                if not rates.within("stranger", line_of(request)):
                    return _sealed(_too_often(request))
                return _sealed(_no_link(request))
            # Each visitor for themselves: one who asks too often keeps nobody else out.
            if not rates.within(kind, f"{link.code} {line_of(request)}"):
                return _sealed(_too_often(request))
            public_links.count_use(link)
            return _sealed(view(request, link))

        return page

    return decorate


def _sealed(response: HttpResponseBase) -> HttpResponseBase:
    """Not for search engines, and the address goes to no other site."""
    response["X-Robots-Tag"] = "noindex, nofollow, noarchive"
    response["Referrer-Policy"] = "no-referrer"
    return response


def _no_link(request: HttpRequest) -> HttpResponse:
    """The same page for a link that ended, one that was withdrawn, and an address that nobody ever had."""
    return render(request, "public/no_link.html", status=HTTPStatus.NOT_FOUND)


def _too_often(request: HttpRequest) -> HttpResponse:
    rule = _("This page was asked for too often in a minute")
    return _busy(request, rule, wait=rates.seconds_left())


def _busy(request: HttpRequest, rule: str, *, wait: int) -> HttpResponse:
    """What a visitor reads where an analyst reads `busy_page`."""
    context = {"rule": rule, "wait": wait}
    page = render(request, "public/busy.html", context, status=HTTPStatus.TOO_MANY_REQUESTS)
    page["Retry-After"] = str(wait)
    return page


@_visit()
def release(request: HttpRequest, link: PublicLink) -> HttpResponse:
    """The first page: a hundred synthetic rows, the guarantee, how to cite, and what can be downloaded."""
    shared = link.release
    publisher = appearance.of(shared.dataset.organisation)
    language.prefer(request, publisher.language)
    context = (
        screens.look(shared)
        | screens.head(shared)
        | {
            "release": shared,
            "publisher": publisher,
            "link": link,
            "token": _token(request),
            "licence": licences.of_release(shared),
            "page": look_page.page_of(shared, request.GET),
            "answer": quality.answer_of(shared, paid_figures=False),
        }
    )
    return render(request, "public/release.html", context)


@_visit(kind="file")
def report_html(_request: HttpRequest, link: PublicLink) -> HttpResponseBase:
    """The report as one file."""
    facts = report.of(link.release)
    if facts is None:
        raise Http404("the report is not prepared yet")
    response = HttpResponse(report.html(facts), content_type="text/html; charset=utf-8")
    return attached(response, file_name(link.release, what="report", ending="html"))


@_visit(kind="file")
def bundle_zip(request: HttpRequest, link: PublicLink) -> HttpResponseBase:
    """The bundle, the same bytes as everybody's."""
    facts = report.of(link.release)
    if facts is None:
        raise Http404("the report is not prepared yet")
    name = file_name(link.release, what="bundle", ending="zip")
    if request.method == "HEAD":  # for which nothing is drawn
        return attached(HttpResponse(content_type=ZIP), name)
    try:
        pieces = bundle.Bundle(
            link.release,
            facts,
            user=link.created_by,
            archive=name,
            request=request,
            slots=SLOTS,
        )
    except TooManyDrawings as busy:
        return _busy(request, busy.rule, wait=busy.wait)
    return attached(StreamingHttpResponse(pieces, content_type=ZIP), name)


@_visit(kind="file")
def table_csv(request: HttpRequest, link: PublicLink) -> HttpResponseBase:
    """The table of the release's size that the public seed of the first rows gives, for everybody the
    same."""
    shared, form = link.release, csv_format(request.GET)
    sample = Sample(
        release=shared,
        requested_by=link.created_by,
        rows=shared.sample_rows,
        seed=look.seed_of(shared),
    )
    kind, name = (
        tables.csv_media_type(sample, form),
        file_name(shared, what="table", ending="csv"),
    )
    if request.method == "HEAD":
        return attached(HttpResponse(content_type=kind), name)
    try:
        pieces = spool.Download(sample, format=form, request=request, slots=SLOTS)
    except TooManyDrawings as busy:
        return _busy(request, busy.rule, wait=busy.wait)
    return attached(StreamingHttpResponse(pieces, content_type=kind), name)


def _token(request: HttpRequest) -> str:
    """The token in the address of this very request."""
    match = request.resolver_match
    return "" if match is None else str(match.kwargs["token"])
