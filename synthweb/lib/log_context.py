"""What a line of the log belongs to: the request that is answered, or the row that a worker is at, and
nothing about its content."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from types import MappingProxyType

_fields: ContextVar[Mapping[str, str]] = ContextVar("fields", default=MappingProxyType({}))


def fields() -> Mapping[str, str]:
    """The ids of what is done now, by their names: `request`, `task`, `code`."""
    return _fields.get()


@contextlib.contextmanager
def within(**ids: str) -> Iterator[None]:
    """Every line that is logged in the block, by this thread, has these ids."""
    token = _fields.set(MappingProxyType({**_fields.get(), **ids}))
    try:
        yield
    finally:
        _fields.reset(token)


def begin(ids: Mapping[str, str]) -> None:
    """Every further line of this thread has these ids and no others."""
    _fields.set(MappingProxyType(dict(ids)))
