"""Every answer of REST states the version of the interface, so that a program knows whether it understands
the server.

The major number changes when a program of the version before could misread an answer, the minor one when
something is added. The header is on refusals too, and below every address of `/api/`, also one that is not
there any more."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from synthweb.lib.request_guards import REST

HEADER = "Synthweb-API-Version"


def state_version(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Sets the header on the answers of REST alone."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if request.path_info.startswith(REST):
            response[HEADER] = settings.REST_VERSION
        return response

    return middleware
