"""Requests that reach no page: addresses that none has, and tokens without TLS."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from urllib.parse import unquote_plus

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, JsonResponse

REST = "/api/"  # where every error is a problem document
NO_NUL = "An address holds no NUL."
NO_TLS = "Use https. A token that was sent without TLS was sent in the clear: revoke it."


def refuse_nul(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """400 for a NUL in an address: PostgreSQL cannot look for one, and the page would fail with an error of
    ours."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if "\0" in request.path_info or "\0" in unquote_plus(
            request.META.get("QUERY_STRING", "")
        ):
            if request.path_info.startswith(REST):
                return _problem(HTTPStatus.BAD_REQUEST, NO_NUL)
            return HttpResponseBadRequest(NO_NUL, content_type="text/plain; charset=utf-8")
        return get_response(request)

    return middleware


def refuse_plain_rest(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """403 for REST without TLS where pages are led to it: a program that is led on as well sends its token in
    the clear each time, and nobody notices."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if (
            settings.SECURE_SSL_REDIRECT
            and request.path_info.startswith(REST)
            and not request.is_secure()
        ):
            return _problem(HTTPStatus.FORBIDDEN, NO_TLS)
        return get_response(request)

    return middleware


def _problem(status: HTTPStatus, detail: str) -> HttpResponse:
    body = {"type": "about:blank", "title": status.phrase, "status": status, "detail": detail}
    return JsonResponse(body, status=status, content_type="application/problem+json")
