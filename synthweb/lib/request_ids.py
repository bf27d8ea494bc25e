"""An id for each request, in every line that is logged meanwhile and in its answer."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from synthweb.lib import log_context

HEADER = "X-Request-ID"
# What a proxy gives is repeated in logs and answers, so it has a form in which nothing can be hidden.
FORM = re.compile(r"[A-Za-z0-9._-]{8,64}")


def new() -> str:
    """An id that nobody can guess or has given."""
    return secrets.token_hex(8)


def name_requests(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Give each request an id, and its answer the same: that of a declared proxy, else a new one."""

    def middleware(request: HttpRequest) -> HttpResponse:
        given = request.headers.get(HEADER, "") if settings.PROXIES else ""
        name = given if FORM.fullmatch(given) else new()
        with log_context.within(request=name):
            response = get_response(request)
        response.headers[HEADER] = name
        return response

    return middleware
