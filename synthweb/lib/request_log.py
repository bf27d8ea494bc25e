"""The request log: one record for each request that was answered, by the application or before it by the
server."""

from __future__ import annotations

import logging

from synthweb.lib import logs


def write(
    logger: logging.Logger,
    *,
    status: int,
    address: str,
    person: int | None = None,
    called: tuple[str, str] = ("", ""),
    milliseconds: int | None = None,
) -> None:
    """Log who asked for what, and what came of it. The id of the request is that of its context.

    person: the number that somebody has in addresses of *People*; None for whoever is not signed in.
    called: method and route. milliseconds: until the answer began.
    """
    method, route = called
    fields = {
        "method": method,
        "route": route,
        "status": status,
        "milliseconds": milliseconds,
        "address": address,
        "person": person,
    }
    logger.info("answered", extra={logs.FIELDS: fields})
