"""What else than the distance of values says that a column differs: mean and total, tails, values that the
real table has not.

Each finding has steps of its own and leaves out what two samples of the real values would give by chance."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synth_engine.codec.value_counts import NumberCounts
from synth_engine.domain import Attribute
from synth_engine.evaluation.scale_text import is_moment, text_of
from synth_engine.evaluation.wording import Level, level_of, per_hundred

ERRORS = 2.5
"""Standard errors that count as chance."""
FEW_VALUES = 32
"""Different real values up to which each of them is known, so that any other one is no value of the
column."""
RECORDS_PER_VALUE = 10
TAIL = 0.99
RANGE_SLACK = 0.02
"""Share of the span between both tails by which many different values may lie beyond all real ones."""

TOTAL_STEPS: tuple[tuple[float, Level], ...] = (
    (0.02, "same"),
    (0.05, "small"),
    (0.20, "clear"),
)
"""Steps of the change of a total, of values that are never negative: a share of the real one."""
MEAN_STEPS: tuple[tuple[float, Level], ...] = ((0.05, "same"), (0.10, "small"), (0.30, "clear"))
"""Steps of the change of a mean of other values, in standard deviations."""
TAIL_STEPS: tuple[tuple[float, Level], ...] = ((0.05, "same"), (0.10, "small"), (0.30, "clear"))
"""Steps of the change of a tail: a share of the real one, or of the span between both tails."""
STRANGE_STEPS: tuple[tuple[float, Level], ...] = (
    (0.0, "same"),
    (0.01, "small"),
    (0.05, "clear"),
)
"""Steps of the share of synthetic values that cannot be."""
Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A difference of a column beyond chance. level: never "same". words: the part of a sentence that says
    it."""

    level: Level
    words: str


def findings(
    attribute: Attribute, real: NumberCounts, synthetic: NumberCounts
) -> list[Finding]:
    """The findings about two columns that both have values."""
    checks: tuple[Callable[[Attribute, NumberCounts, NumberCounts], Iterator[Finding]], ...] = (
        _mean,
        _tails,
        _strange,
    )
    return [
        finding
        for check in checks
        for finding in check(attribute, real, synthetic)
        if finding.level != "same"
    ]


def has_few_values(real: NumberCounts) -> bool:
    """Whether each real value occurs often enough that the table has them all."""
    few = real.exact and len(real.values) <= FEW_VALUES
    return few and real.total >= RECORDS_PER_VALUE * len(real.values)


def _adds_up(attribute: Attribute, real: NumberCounts) -> bool:
    """Whether a total means something: numbers none of which is negative."""
    return not is_moment(attribute) and float(real.values[0]) >= 0 and real.mean > 0


def _mean(
    attribute: Attribute, real: NumberCounts, synthetic: NumberCounts
) -> Iterator[Finding]:
    # Of both sides: of heavy tails a few records decide the mean and the spread together.
    error = math.hypot(
        *(side.standard_deviation / math.sqrt(side.total) for side in (real, synthetic))
    )
    change = max(0.0, abs(synthetic.mean - real.mean) - ERRORS * error)
    both = f"mean {text_of(attribute, real.mean)} real, {text_of(attribute, synthetic.mean)} synthetic"
    if _adds_up(attribute, real):
        whole = (synthetic.mean - real.mean) / real.mean
        yield Finding(
            level=level_of(change / real.mean, TOTAL_STEPS),
            words=f"{both}, the total of as many values {whole:+.0%}",
        )
    elif real.standard_deviation > 0:
        yield Finding(level=level_of(change / real.standard_deviation, MEAN_STEPS), words=both)


def _tails(
    attribute: Attribute, real: NumberCounts, synthetic: NumberCounts
) -> Iterator[Finding]:
    top = real.quantile(TAIL)
    span = top - real.quantile(1 - TAIL)
    adds_up = _adds_up(attribute, real) and top > 0
    scale = top if adds_up else span
    if scale <= 0:
        return
    for level in (TAIL,) if adds_up else (TAIL, 1 - TAIL):
        change = _beyond(attribute, real, synthetic, level) / scale
        texts = [text_of(attribute, side.quantile(level)) for side in (real, synthetic)]
        where = (
            "the highest hundredth begins at"
            if level == TAIL
            else "the lowest hundredth ends at"
        )
        yield Finding(
            level=level_of(change, TAIL_STEPS),
            words=f"{where} {texts[0]} real, {texts[1]} synthetic",
        )


def _beyond(
    attribute: Attribute, real: NumberCounts, synthetic: NumberCounts, level: float
) -> float:
    """How far the ranges are apart in which chance may move the quantile of either side, less one declared
    step."""
    ranges = []
    for side in (real, synthetic):
        shift = ERRORS * math.sqrt(TAIL * (1 - TAIL) / side.total)
        ranges.append(
            [side.quantile(min(max(level + sign * shift, 0.0), 1.0)) for sign in (-1, 1)]
        )
    (low, high), (first, last) = ranges
    return max(0.0, max(low - last, first - high) - attribute.value_step)


def _strange(
    attribute: Attribute, real: NumberCounts, synthetic: NumberCounts
) -> Iterator[Finding]:
    """Values that no real record has: any other one where there are few, else those beyond all real ones."""
    # As many as a second sample of the same people may have, and some more by chance.
    luck = 6 * (1 / real.total + 1 / synthetic.total)
    if has_few_values(real) and synthetic.exact:
        new = ~np.isin(synthetic.values, real.values, assume_unique=True)
        share = float(synthetic.counts[new].sum() / synthetic.total)
        unseen = float((real.counts == 1).sum() / real.total)
        where = "occur nowhere in the real table"
    else:
        span = real.quantile(TAIL) - real.quantile(1 - TAIL)
        slack = max(RANGE_SLACK * span, attribute.value_step)
        ends = np.array([real.values[0] - slack, real.values[-1] + slack])
        below = float(synthetic.below(ends[:1], inclusive=False)[0])
        above = 1 - float(synthetic.below(ends[1:], inclusive=True)[0])
        share, unseen = below + above, 0.0
        where = "lie beyond all real ones"
    yield Finding(
        level=level_of(max(0.0, share - unseen - luck), STRANGE_STEPS),
        words=f"{per_hundred(share)} of 100 synthetic values {where}",
    )
