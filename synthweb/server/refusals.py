"""Answers that the server gives by itself, before or instead of the application: short, and of nobody's data.
Below /api/ they are problem documents like every other refusal there."""

from __future__ import annotations

import json
from http import HTTPStatus

from synthweb.lib.request_guards import REST
from synthweb.server import limits

DETAILS = {
    HTTPStatus.BAD_REQUEST: "This is no request of HTTP/1.1.",
    HTTPStatus.FORBIDDEN: "The request is forbidden.",
    HTTPStatus.REQUEST_TIMEOUT: "The request came in too slowly.",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "The body of the request is too large; nothing of it was read.",
    HTTPStatus.REQUEST_URI_TOO_LONG: f"The first line of a request has at most {limits.LONGEST_LINE:,} "
    "characters.",
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE: "The headers of the request are too large.",
    HTTPStatus.EXPECTATION_FAILED: "The expectation of the request cannot be met.",
    HTTPStatus.NOT_IMPLEMENTED: "The transfer coding of the request is not understood.",
    HTTPStatus.INTERNAL_SERVER_ERROR: "The server failed. The request may be sent again.",
    HTTPStatus.SERVICE_UNAVAILABLE: "Too much at once. Come back in a few seconds.",
}
COME_BACK = 5  # seconds


def answer(status: HTTPStatus, *, path: bytes) -> bytes:
    """A whole HTTP/1.1 answer, after which the connection is closed."""
    if path.startswith(REST.encode()):
        kind = "application/problem+json"
        document = {
            "type": "about:blank",
            "title": status.phrase,
            "status": status.value,
            "detail": DETAILS[status],
        }
        body = json.dumps(document)
    else:
        kind = "text/html; charset=utf-8"
        body = (
            f'<!doctype html>\n<html lang="en">\n<title>{status.phrase}</title>\n'
            f"<h1>{status.phrase}</h1>\n<p>{DETAILS[status]}</p>\n</html>\n"
        )
    lines = [
        f"HTTP/1.1 {status.value} {status.phrase}",
        f"Content-Type: {kind}",
        f"Content-Length: {len(body.encode())}",
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
        "Connection: close",
    ]
    if status is HTTPStatus.SERVICE_UNAVAILABLE:
        lines.append(f"Retry-After: {COME_BACK}")
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()
