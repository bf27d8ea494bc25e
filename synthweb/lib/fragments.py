"""Parts of pages that a page asks for again by itself. Opened by hand, each is a page of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers

PAGE = "components/fragment_page.html"


def asked_by_page(request: HttpRequest) -> bool:
    """Whether a page that is open asks for a part of itself."""
    return bool(request.headers.get("HX-Request"))


def render_fragment(
    request: HttpRequest,
    template: str,
    context: Mapping[str, object],
    *,
    title: str,
    crumbs: Sequence[tuple[str, str]],
) -> HttpResponse:
    """The part alone for a page that asks for it, else a whole page around it. crumbs: (address, words) of
    what it belongs to."""
    if asked_by_page(request):
        response = render(request, template, dict(context))
    else:
        around = {
            "fragment": template,
            "fragment_title": title,
            "crumbs": [*crumbs, ("", title)],
        }
        response = render(request, PAGE, {**context, **around})
    # One address has two answers: a cache must not give the part to whoever asks for the page.
    patch_vary_headers(response, ["HX-Request"])
    return response
