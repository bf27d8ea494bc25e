"""What the answers of a check say: every figure with an interval, from noisy answers and the public law of
their noise.

Nothing here looks at a record: the answers were paid for, and the synthetic table is public
(docs/proofs/check.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from synth_engine.evaluation.figure_origins import ModelFigure, PaidFigure
from synth_engine.measurement import Answers, Measurement, Noise
from synth_engine.measurement.replay import Replay
from synth_engine.plans.release_check import CheckAnswers, CheckedFigure, CheckPlan
from synth_engine.strict_json import JsonObject

LEVEL = 0.95
_TOTAL_CHANCE = 0.01
"""The part of the chance of error that the number of records takes; distances have the rest."""

SHARE, CELLS, RECORDS = "share", "cells", "records"
"""Units of figures."""


LISTED_GROUPS = 10
"""Worst groups that a figure lists."""


@dataclass(frozen=True, kw_only=True)
class CheckedGroup:
    """The records with one value in each of one or two columns. real: how many the real table has. synthetic:
    how many the table has that is checked, at the number of records of the release."""

    columns: tuple[str, ...]
    codes: tuple[int, ...]
    real: PaidFigure
    synthetic: ModelFigure

    def to_json(self) -> JsonObject:
        return {
            "columns": list(self.columns),
            "codes": list(self.codes),
            "real": [self.real.value, self.real.low, self.real.high],
            "synthetic": self.synthetic.value,
        }

    @classmethod
    def from_json(cls, obj: Mapping[str, Any], *, level: float) -> CheckedGroup:
        value, low, high = obj["real"]
        return cls(
            columns=tuple(obj["columns"]),
            codes=tuple(obj["codes"]),
            real=PaidFigure(value=value, low=low, high=high, level=level),
            synthetic=ModelFigure(value=obj["synthetic"]),
        )


@dataclass(frozen=True, kw_only=True)
class CheckedResult:
    """One figure of a check. unit: a share from 0 to 1, a number of cells out of `cells`, or a number of
    records in so many cells. table: of a marginal, the count of each cell, the last column fastest; groups:
    worst groups, those first whose numbers differ most. All intervals of these hold together as often as
    `level` says."""

    figure: PaidFigure
    unit: str
    cells: int
    table: tuple[PaidFigure, ...] = ()
    groups: tuple[CheckedGroup, ...] = ()

    def to_json(self) -> JsonObject:
        table: JsonObject = (
            {"table": [[each.value, each.low, each.high] for each in self.table]}
            if self.table
            else {}
        )
        groups: JsonObject = (
            {"groups": [each.to_json() for each in self.groups]} if self.groups else {}
        )
        return {
            **table,
            **groups,
            "value": self.figure.value,
            "low": self.figure.low,
            "high": self.figure.high,
            "level": self.figure.level,
            "unit": self.unit,
            "cells": self.cells,
        }

    @classmethod
    def from_json(cls, obj: Mapping[str, Any]) -> CheckedResult:
        figure = PaidFigure(
            value=obj["value"], low=obj["low"], high=obj["high"], level=obj["level"]
        )
        return cls(
            figure=figure,
            unit=str(obj["unit"]),
            cells=int(obj["cells"]),
            table=tuple(
                PaidFigure(value=value, low=low, high=high, level=obj["level"])
                for value, low, high in obj.get("table", ())
            ),
            groups=tuple(
                CheckedGroup.from_json(each, level=obj["level"])
                for each in obj.get("groups", ())
            ),
        )


def results(plan: CheckPlan, answers: Answers) -> tuple[CheckedResult, ...]:
    """The results in the order of the figures that were asked for. Errors: InputError for answers of another
    plan."""
    given = Replay(answers)
    answered = plan.read(given)
    given.finish()
    return tuple(_result(plan, answered, figure) for figure in plan.config.figures)


def _result(plan: CheckPlan, answered: CheckAnswers, figure: CheckedFigure) -> CheckedResult:
    match figure.kind:
        case "counts":
            return _of_counts(plan, answered, figure)
        case "count":
            return _of_records(plan, answered, figure)
        case "marginal":
            return _of_marginal(plan, answered, figure)
        case "ks":
            return _of_ks(plan, answered, figure)
        case "auc":
            return _of_auc(plan, answered, figure)
        case "accuracy":
            return _of_accuracy(plan, answered, figure)
        case "worst-groups":
            return _of_worst_groups(plan, answered.worst[figure])
    return _of_distances(plan, answered, figure)


def radius(noise: Noise, *, chance: float) -> int:
    """The least number that the noise of one answer exceeds on either side with no more than this chance."""
    low, high = 0, 1
    while 2 * noise.reaches(high + 1) > chance:
        low, high = high, 2 * high
    while low < high:
        middle = (low + high) // 2
        if 2 * noise.reaches(middle + 1) > chance:
            low = middle + 1
        else:
            high = middle
    return low


def radius_of_mean(noise: Noise, *, number: int, chance: float) -> float:
    """The same for the mean of independent answers. Relative to its standard deviation, the noise of a mean
    has lighter tails than that of one answer, so the radius of one answer, and one more for rounding, divided
    by the root of their number holds it."""
    one = radius(noise, chance=chance)
    return float(one) if number == 1 else (one + 1) / math.sqrt(number)


def _of_distances(
    plan: CheckPlan, answered: CheckAnswers, figure: CheckedFigure
) -> CheckedResult:
    """The total variation distance, or the mean of several.

    With N records, c their counts and r the reference of n: |‖c − r‖₁ − ‖c − r·N/n‖₁| ≤ |N − n|, and rounding
    r moves it by the public sum of what was rounded.
    """
    cliques = [plan.in_order(clique) for clique in figure.cliques]
    if answered.scores_noise is None:
        raise TypeError("a distance without scores")
    n = plan.config.of.model.rows
    chance = 1 - LEVEL
    if answered.total is None:
        total = low_total = high_total = plan.domain.rows or 0
    else:
        total = int(answered.total.values)
        off = radius(answered.total.noise, chance=_TOTAL_CHANCE)
        chance -= _TOTAL_CHANCE
        low_total, high_total = total - off, total + off
    spread = radius_of_mean(answered.scores_noise, number=len(cliques), chance=chance)
    mean = sum(answered.scores[clique] for clique in cliques) / len(cliques)
    rounded = sum(_rounded(plan, clique) for clique in cliques) / len(cliques)
    scaled = max(abs(low_total - n), abs(high_total - n)) + rounded
    low = max(0.0, mean - spread - scaled) / (2 * max(1, high_total))
    high = (mean + spread + scaled) / (2 * low_total) if low_total > 0 else 1.0
    value = mean / (2 * max(1, total))
    low, high = min(1.0, low), min(1.0, high)
    return CheckedResult(
        figure=PaidFigure(value=min(max(value, low), high), low=low, high=high, level=LEVEL),
        unit=SHARE,
        cells=sum(math.prod(plan.domain.shape(clique)) for clique in cliques),
    )


def _rounded(plan: CheckPlan, clique: Sequence[str]) -> float:
    """How far the reference is from the scaled counts of the synthetic table, in all."""
    of = plan.config.of
    if of.rows == of.model.rows:
        return 0.0
    exact = plan.synthetic(tuple(clique)) * (of.model.rows / max(1, of.rows))
    return float(np.abs(plan.reference(tuple(clique)) - exact).sum())


def _of_counts(plan: CheckPlan, answered: CheckAnswers, figure: CheckedFigure) -> CheckedResult:
    """How many counts of the synthetic table are near enough: those of which all real counts that the noise
    allows are near, and with them those of which some are. The chance of error is divided among the cells."""
    clique = plan.in_order(figure.columns)
    measured = answered.counts[clique]
    synthetic = plan.reference(clique).ravel().astype(np.float64)
    large = synthetic >= figure.least
    cells = int(large.sum())
    if not cells:
        return CheckedResult(
            figure=PaidFigure(value=0.0, low=0.0, high=0.0, level=LEVEL), unit=CELLS, cells=0
        )
    synthetic, real = synthetic[large], measured.values.ravel()[large].astype(np.float64)
    off = radius(measured.noise, chance=(1 - LEVEL) / cells)
    within = float(figure.within)
    # |s − c| ≤ w·c means s / (1 + w) ≤ c ≤ s / (1 − w).
    least = synthetic / (1 + within)
    most = synthetic / (1 - within) if within < 1 else np.full_like(synthetic, np.inf)
    surely = (real - off >= least) & (real + off <= most)
    possibly = (real + off >= least) & (real - off <= most)
    return CheckedResult(
        figure=PaidFigure(
            value=float(((real >= least) & (real <= most)).sum()),
            low=float(surely.sum()),
            high=float(possibly.sum()),
            level=LEVEL,
        ),
        unit=CELLS,
        cells=cells,
    )


def radius_of_sum(noise: Noise, *, number: int, chance: float) -> int:
    """The same as `radius` for the sum of so many independent answers."""
    return math.ceil(number * radius_of_mean(noise, number=number, chance=chance))


def _of_records(
    plan: CheckPlan, answered: CheckAnswers, figure: CheckedFigure
) -> CheckedResult:
    """The number of records of some cells: the sum of their noisy counts."""
    measured = answered.counts[plan.in_order(figure.columns)]
    codes = dict(zip(figure.columns, figure.codes, strict=True))
    chosen = measured.values[np.ix_(*(codes[name] for name in measured.clique))]
    off = radius_of_sum(measured.noise, number=chosen.size, chance=1 - LEVEL)
    return CheckedResult(
        figure=_records(int(chosen.sum()), off), unit=RECORDS, cells=int(chosen.size)
    )


def _of_marginal(
    plan: CheckPlan, answered: CheckAnswers, figure: CheckedFigure
) -> CheckedResult:
    """All counts of a marginal, in the order of the columns that were asked for, with their sum."""
    measured = answered.counts[plan.in_order(figure.columns)]
    axes = [measured.clique.index(name) for name in figure.columns]
    values = measured.values.transpose(axes).ravel()
    # The chance of error is divided: the sum and every cell hold together.
    chance = (1 - LEVEL) / (values.size + 1)
    off = radius(measured.noise, chance=chance)
    of_sum = radius_of_sum(measured.noise, number=values.size, chance=chance)
    return CheckedResult(
        figure=_records(int(values.sum()), of_sum),
        unit=RECORDS,
        cells=int(values.size),
        table=tuple(_records(value, off) for value in values.tolist()),
    )


def _records(value: int, off: int) -> PaidFigure:
    """A noisy number of records. The value may lie below 0, so that sums of values stay unbiased; the ends do
    not."""
    low, high = max(0, value - off), max(0, value + off)
    return PaidFigure(value=float(value), low=float(low), high=float(high), level=LEVEL)


def _of_ks(plan: CheckPlan, answered: CheckAnswers, figure: CheckedFigure) -> CheckedResult:
    """The largest difference of two cumulative distributions, by noisy counts of the codes in their order.

    With the noise S_k of the first k counts, d_k = C_k - N G_k moves by (1 - G_k) S_k - G_k (S_K - S_k). Both
    sums are of symmetric noise, so the largest of them exceeds a number at most twice as often as the whole
    sum does (Lévy's inequality).
    """
    measured = answered.counts[figure.columns]
    synthetic = np.cumsum(plan.synthetic(figure.columns)) / max(1, plan.config.of.rows)
    cumulative = np.cumsum(measured.values)
    records = int(cumulative[-1])
    off = radius_of_sum(measured.noise, number=cumulative.size, chance=(1 - LEVEL) / 4)
    largest = float(np.abs(cumulative - records * synthetic).max())
    low = max(0.0, largest - off) / max(1, records + off)
    high = (largest + off) / (records - off) if records > off else 1.0
    low, high = min(1.0, low), min(1.0, high)
    value = largest / max(1, records)
    return CheckedResult(
        figure=PaidFigure(value=min(max(value, low), high), low=low, high=high, level=LEVEL),
        unit=SHARE,
        cells=int(cumulative.size),
    )


def _of_accuracy(
    plan: CheckPlan, answered: CheckAnswers, figure: CheckedFigure
) -> CheckedResult:
    """The share of real records that the classifier is right about: the noisy numbers of those and of the
    others are sums of different counts, each with half of the chance of error."""
    place = plan.classifier_index(figure)
    one, measured = plan.classifiers[place], answered.classified[place]
    others, target = one.by_cell(measured.values)
    right = int(np.where(one.says, target, others).sum())
    wrong = int(np.where(one.says, others, target).sum())
    off = radius_of_sum(measured.noise, number=one.says.size, chance=(1 - LEVEL) / 2)
    return _share_of(right, right + wrong, right - off, right + off, cells=measured.values.size)


def _share_of(value: float, of: float, low: float, high: float, *, cells: int) -> CheckedResult:
    """A share of a noisy number with its ends, each within 0 and 1."""
    shares = [min(1.0, max(0.0, part / of)) if of > 0 else None for part in (low, value, high)]
    least, middle, most = shares[0] or 0.0, shares[1], shares[2]
    return CheckedResult(
        figure=PaidFigure(
            value=0.5 if middle is None else middle,
            low=least,
            high=1.0 if most is None else most,
            level=LEVEL,
        ),
        unit=SHARE,
        cells=cells,
    )


def _of_auc(plan: CheckPlan, answered: CheckAnswers, figure: CheckedFigure) -> CheckedResult:
    """The area under the curve: how often a real record with the target has a higher score than one without
    it, ties by half.

    Both cumulative counts, in the order of the scores, are within q of the true ones at every score at once
    (Lévy's inequality, as of `_of_ks`). They are replaced by rising ones that are no farther away, P and Q.
    With U = sum p_i (Q_{i-1} + Q_i) / 2, the true U is within q P' + 2 q Q of it, P' being the true number of
    records with the target (docs/proofs/check.md).
    """
    place = plan.classifier_index(figure)
    one, measured = plan.classifiers[place], answered.classified[place]
    others, target = (counts[one.order] for counts in one.by_cell(measured.values))
    q = radius_of_sum(measured.noise, number=target.size, chance=(1 - LEVEL) / 4)
    with_target, without = _rising(np.cumsum(target)), _rising(np.cumsum(others))
    steps = np.diff(with_target, prepend=0.0)
    between = (without + np.concatenate([[0.0], without[:-1]])) / 2
    above = float((steps * between).sum())
    p, n = float(with_target[-1]), float(without[-1])
    off = q * (p + q) + 2 * q * n
    low = max(0.0, above - off) / ((p + q) * (n + q)) if p + n + q > 0 else 0.0
    high = (above + off) / ((p - q) * (n - q)) if min(p, n) > q else 1.0
    low, high = min(1.0, low), min(1.0, high)
    value = above / (p * n) if p > 0 and n > 0 else 0.5
    return CheckedResult(
        figure=PaidFigure(value=min(max(value, low), high), low=low, high=high, level=LEVEL),
        unit=SHARE,
        cells=int(measured.values.size),
    )


def _rising(cumulative: np.ndarray) -> np.ndarray:
    """The nearest rising numbers from 0 on, by the largest difference: the middle between the highest so far
    and the lowest yet to come. Where the true ones rise, these are no farther from them than the given ones
    at most are."""
    highest = np.maximum.accumulate(cumulative)
    lowest = np.minimum.accumulate(cumulative[::-1])[::-1]
    middle: np.ndarray = np.maximum(0.0, (highest + lowest) / 2)
    return middle


def _of_worst_groups(plan: CheckPlan, tables: Sequence[Measurement]) -> CheckedResult:
    """The groups of the chosen tables whose numbers differ most, and the largest difference.

    The noise of the counts is independent of the choice, and the chance of error is divided among all cells,
    so that which of them are listed may depend on the answers.
    """
    cells = sum(table.values.size for table in tables)
    chance = (1 - LEVEL) / cells
    ranked = []
    for table in tables:
        off, reference = radius(table.noise, chance=chance), plan.reference(table.clique)
        difference = np.abs(table.values - reference).ravel()
        for place in np.argsort(-difference, kind="stable")[:LISTED_GROUPS].tolist():
            codes = tuple(int(code) for code in np.unravel_index(place, reference.shape))
            group = CheckedGroup(
                columns=table.clique,
                codes=codes,
                real=_records(int(table.values[codes]), off),
                synthetic=ModelFigure(value=float(reference[codes])),
            )
            ranked.append((int(difference[place]), off, group))
    ranked.sort(key=lambda each: -each[0])
    largest = ranked[0][0]
    widest = max(off for _, off, _ in ranked)
    return CheckedResult(
        figure=_records(largest, widest),
        unit=RECORDS,
        cells=cells,
        groups=tuple(group for _, _, group in ranked[:LISTED_GROUPS]),
    )
