"""Addresses that no page has."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import unquote_plus

from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, JsonResponse

REST = "/api/"  # where every error is a problem document
NO_NUL = "An address holds no NUL."


def refuse_nul(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """400 for a NUL in an address: PostgreSQL cannot look for one, and the page would fail with an error of ours."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if "\0" in request.path_info or "\0" in unquote_plus(
            request.META.get("QUERY_STRING", "")
        ):
            return _refusal(of_rest=request.path_info.startswith(REST))
        return get_response(request)

    return middleware


def _refusal(*, of_rest: bool) -> HttpResponse:
    if not of_rest:
        return HttpResponseBadRequest(NO_NUL, content_type="text/plain; charset=utf-8")
    body = {"type": "about:blank", "title": "Bad Request", "status": 400, "detail": NO_NUL}
    return JsonResponse(body, status=400, content_type="application/problem+json")
