"""Whether the worker of a run still answers, as its page sees it.

The page asks every second and sends back the heartbeats that it saw last and how often it has seen them: no
clock takes part (synthweb.runs.leases).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from synthweb.runs.leases import BEATS_A_LEASE
from synthweb.runs.models import SynthesisRun

DIGITS = 6
MISSED = 2
"""Heartbeats that have to be missing before it is said: one may be late on a busy machine."""


@dataclass(frozen=True, kw_only=True)
class Silence:
    """beats: of the run, as it is now. asked: how often the page asked since it changed. worker_gone: whether
    nobody is at work on a run that was begun."""

    beats: int
    asked: int
    worker_gone: bool


def of_run(run: SynthesisRun, query: Mapping[str, str]) -> Silence:
    """What to say, and what the page sends next. query: what it sent; anything else counts as a first
    look."""
    seen, asked = _number(query.get("beats")), _number(query.get("asked"))
    asked = asked + 1 if seen == run.heartbeats else 0
    begun = run.is_open and run.started_at is not None
    patience = MISSED * run.lease_seconds / BEATS_A_LEASE
    return Silence(
        beats=run.heartbeats,
        asked=asked,
        worker_gone=begun and (not run.lease_held or asked > patience),
    )


def _number(text: str | None) -> int:
    """A number of at most `DIGITS` digits; -1 if it is none."""
    is_one = text is not None and text.isascii() and text.isdigit() and len(text) <= DIGITS
    return int(text or "") if is_one else -1
