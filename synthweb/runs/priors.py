"""What groups with public totals are mixed with, before anything is spent: the prior of each group beside its
records, from the plan and the public totals alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from synth_engine.mechanisms import Plan
from synth_engine.privacy.events import DirichletMultinomial
from synthweb.lib.number_format import grouped

BANDS: tuple[tuple[int, int | None], ...] = ((1, 5), (6, 20), (21, 100), (101, None))


@dataclass(frozen=True, kw_only=True)
class PriorLine:
    """Groups of so many records. `against`: records of prior for each record; `share`: of what is drawn, what
    comes from the prior and not from records."""

    words: str
    groups: int
    records: int
    against: float
    share: float


@dataclass(frozen=True, kw_only=True)
class PriorSummary:
    """By size of group, and of all; `assumes`: what the method itself says of its error."""

    column: str
    parts: int
    lines: tuple[PriorLine, ...]
    whole: PriorLine
    assumes: str


def summarise(plan: Plan, *, assumes: str) -> PriorSummary | None:
    """None for methods that draw no groups anew."""
    event = next(
        (call.event for call in plan.calls if isinstance(call.event, DirichletMultinomial)),
        None,
    )
    totals = plan.domain.totals
    if event is None or totals is None:
        return None
    prior = event.whole_prior
    sizes = [n for n in totals.counts if n]
    bands = [(low, high, [n for n in sizes if low <= n <= (high or n)]) for low, high in BANDS]
    lines = [_line(_words(low, high), inside, prior) for low, high, inside in bands if inside]
    return PriorSummary(
        column=totals.column,
        parts=event.origins,
        lines=tuple(lines),
        whole=_line("all", sizes, prior),
        assumes=assumes,
    )


def _words(low: int, high: int | None) -> str:
    return f"{low} to {high}" if high else f"over {grouped(low - 1)}"


def _line(words: str, sizes: Sequence[int], prior: dict[int, float]) -> PriorLine:
    records = sum(sizes)
    return PriorLine(
        words=words,
        groups=len(sizes),
        records=records,
        against=sum(prior[n] for n in sizes) / records,
        # Dirichlet-multinomial: with n records and a prior of a, a record comes from the prior
        # with probability a / (n + a), so n · a / (n + a) of a group are expected to.
        share=sum(n * prior[n] / (n + prior[n]) for n in sizes) / records,
    )
