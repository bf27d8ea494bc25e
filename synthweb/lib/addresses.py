"""Addresses that no page has."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import unquote_plus

from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest


def refuse_nul(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """400 for a NUL in an address: PostgreSQL cannot look for one, and the page would fail with an error of ours."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if "\0" in request.path_info or "\0" in unquote_plus(request.META.get("QUERY_STRING", "")):
            return HttpResponseBadRequest("An address holds no NUL.", content_type="text/plain; charset=utf-8")
        return get_response(request)

    return middleware
