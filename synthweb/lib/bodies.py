"""Bodies of requests that are refused by their Content-Length, before a byte of them is read."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, TypeVar

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse

from synthweb.lib.request_guards import REST

SLACK = 64 * 1024
FORM_SLACK = 16 * 1024**2
"""A form that is a little too large is read, without keeping it: the page says then what to do, beside the
field."""
View = TypeVar("View", bound=Callable[..., Any] | type)


def takes_table(view: View) -> View:
    """A view, or a class of them, that takes bodies as large as a table."""
    view.takes_table = True  # type: ignore[union-attr]
    return view


def refuse_too_large(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """413 for more than the view takes. It stands before whatever reads a form, the check against forgery
    included."""

    def middleware(request: HttpRequest) -> HttpResponse:
        return get_response(request)

    # Django asks for it before the view runs
    middleware.process_view = _refusal  # type: ignore[attr-defined]
    return middleware


def _refusal(
    request: HttpRequest, view: Any, _arguments: Any, _keywords: Any
) -> HttpResponse | None:
    length = request.META.get("CONTENT_LENGTH") or ""
    limit, rest = _max_bytes(view), request.path_info.startswith(REST)
    if not length.isdecimal() or int(length) <= limit + (SLACK if rest else FORM_SLACK):
        return None
    detail = f"The body of this request has at most {limit / 1024**2:,.0f} MiB; nothing of it was read."
    if not rest:
        return HttpResponse(
            detail,
            status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            content_type="text/plain; charset=utf-8",
        )
    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    body = {
        "type": "about:blank",
        "title": status.phrase,
        "status": status.value,
        "detail": detail,
    }
    return JsonResponse(body, status=status.value, content_type="application/problem+json")


def _max_bytes(view: Any) -> int:
    """Of REST framework's views the class says it."""
    large = any(
        getattr(holder, "takes_table", False) for holder in (view, getattr(view, "cls", None))
    )
    return int(settings.UPLOAD_MAX_BYTES if large else settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
