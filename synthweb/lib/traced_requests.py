"""A span for each request that leads to a page or to REST."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse

from synthweb.lib import log_context, routes, tracing


def trace_requests(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Trace method, route, status and id of each request, and nothing else of it. A trace that a client
    claims to be in is not believed."""
    if not settings.TRACES:
        raise MiddlewareNotUsed

    def middleware(request: HttpRequest) -> HttpResponse:
        if routes.is_quiet(request):
            return get_response(request)
        with tracing.request():
            response = get_response(request)
            method, route = routes.method(request), routes.of(request)
            tracing.rename(f"{method} {route}".strip())
            facts = {
                tracing.METHOD: method,
                tracing.ROUTE: route,
                tracing.STATUS: response.status_code,
                tracing.REQUEST: log_context.fields().get("request", ""),
            }
            tracing.say(facts)
            if response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
                tracing.fail("server-error")
        return response

    return middleware
