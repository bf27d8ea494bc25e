"""Points the task queue at another broker for a while, and leaves nothing of it behind for the next test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from synthweb.celery import app

IN_MEMORY = "memory://"


@contextmanager
def queue_at(address: str) -> Iterator[str]:
    """Celery keeps what to read from and what to write to apart, and connections open: all of it is
    turned."""
    usual = app.conf.broker_url
    _turn(address)
    try:
        yield address
    finally:
        _turn(usual)


def _turn(address: str) -> None:
    app.conf.broker_url = app.conf.broker_read_url = app.conf.broker_write_url = address
    app._after_fork()  # what Celery itself calls to forget the connections it has open
