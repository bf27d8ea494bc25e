"""How far a computation is, reported from inside it to whoever shows it.

A caller that shows progress computes within `watched`. A long loop wraps its items in `each`, and a
computation of unequal parts each of them in `part`. They may be nested: the inner one divides the share of
the outer one. What is reported is the share of the steps that are done, which depends on their number alone
and never on a value of a table. Where nobody watches, nothing is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True)
class _Watch:
    """Who is notified, and the share of the whole at which the present part begins and ends."""

    tell: Callable[[float], None]
    first: float
    last: float

    def within(self, first: float, last: float) -> _Watch:
        size = self.last - self.first
        return _Watch(self.tell, self.first + size * first, self.first + size * last)


_WATCH: ContextVar[_Watch | None] = ContextVar("watch", default=None)


@contextmanager
def watched(tell: Callable[[float], None]) -> Iterator[Callable[[float], None]]:
    """tell: is given the share that is done, from 0 to 1, whenever a step begins, and never less than before.
    What it raises ends the computation. What is returned tells a share directly, for a caller that knows it
    by other means."""
    furthest = 0.0

    def forward(share: float) -> None:
        nonlocal furthest
        furthest = max(furthest, share)
        tell(furthest)

    token = _WATCH.set(_Watch(forward, 0.0, 1.0))
    try:
        yield forward
    finally:
        _WATCH.reset(token)


@contextmanager
def part(first: float, last: float) -> Iterator[None]:
    """A part of the computation, between two shares of it."""
    outer = _WATCH.get()
    if outer is None:
        yield
        return
    inner = outer.within(first, last)
    inner.tell(inner.first)
    token = _WATCH.set(inner)
    try:
        yield
    finally:
        _WATCH.reset(token)


def each(items: Sequence[Item]) -> Iterator[Item]:
    """The items one after another; each of them is an equal part."""
    for number, item in enumerate(items):
        with part(number / len(items), (number + 1) / len(items)):
            yield item


def tell(share: float) -> None:
    """Tell the share of the present part that is done, where it has no loop of its own."""
    if (watch := _WATCH.get()) is not None:
        watch.tell(watch.within(0.0, share).last)
