"""What a release will tell of one column, in a word, from public facts alone: a part of `forecast`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from statistics import NormalDist

from synth_engine.domain import Attribute, Weak
from synth_engine.evaluation import quality_words
from synth_engine.evaluation.quality_words import ColumnWord
from synth_engine.inference import error_forecast, scale_tree
from synth_engine.inference.error_forecast import ErrorForecast, LearnedColumn
from synth_engine.plans import budget_allocation, domain_learning
from synth_engine.plans.domain_learning import AnyQuestion
from synth_engine.plans.scale_learning import IntervalRounds

_OFF = 0.85 * math.sqrt(math.pi / 2)
"""How far the share of a frequent value is off at most, as a rule, over its mean absolute noise: nine of ten
statements hold so, because most columns are far from the end of their word (bench/forecast.py)."""
_BIN_MEANS = 0.225 * math.sqrt(12)
"""How far the mean of a number may be off because where values lie in a bin is not known, in standard
deviations, over the width of a bin as a share of the range."""
_LEARNED, _LEARNED_POWER = 6.1, 1.1
"""The deviation of a learned column over a power of the noise of its last round (bench/forecast.py)."""
_CELLS_OF_A_COLUMN, _RECORDS_IN_CELLS = 2, 0.85
"""Cells of the first partition of a lattice, powers of two, in which most records of a column lie, and which
part of them."""
_FINDING = Fraction(3, 4)
"""About which part of what learning a column may cost goes to finding it."""
_FIND_DEVIATIONS, _FIND_DEVIATIONS_OF_LAPLACE = 5.4, 9.5
"""About how many standard deviations of its noise such a run holds where it is found
(`scale_tree.FALSE_FIND`)."""


def word_of(
    attribute: Attribute, error: ErrorForecast, question: AnyQuestion | None, *, rows: int
) -> ColumnWord:
    """The word of one column; of a basket that of its worst item."""
    words = [_of_shares(part, error, rows=rows) for part in attribute.parts]
    if question is not None:
        words.append(_learned(question, rows=rows))
    elif error.learning is not None and attribute.name in error.learning.columns:
        # A method that learns in its one and only step.
        words.append(_of_values_found(error.learning.columns[attribute.name], rows=rows))
    if not isinstance(question, IntervalRounds):
        words += [
            _of_mean(part, error, rows=rows) for part in attribute.parts if part.is_comparable
        ]
    return quality_words.worst_column(words)


def _of_shares(attribute: Attribute, error: ErrorForecast, *, rows: int) -> ColumnWord:
    """By the noise of its counts, or by its expected distance where it is not counted code by code."""
    noise = error.column_noise.get(attribute.name)
    if noise is None:
        return quality_words.of_share(error.attributes.get(attribute.name))
    return quality_words.of_share(_off(attribute, noise, rows=rows))


def _off(attribute: Attribute, noise: float, *, rows: int) -> float:
    """How far a share is off at most, as a rule."""
    # The sum of all codes is known far better than each of them.
    return _OFF * math.sqrt(1 - 1 / max(2, attribute.size)) * noise / rows


def _of_mean(attribute: Attribute, error: ErrorForecast, *, rows: int) -> ColumnWord:
    """By the noise of its counts, and by what its bins hide; found where neither counts for it."""
    noise = error.column_noise.get(attribute.name)
    if noise is None or attribute.size < 2:
        return "found"
    firsts, lasts = attribute.bin_spans()
    span = float(lasts[-1] - firsts[0]) if len(firsts) else 0.0
    bins = float((lasts - firsts).mean()) / span if span else 0.0
    # Noise of codes that hold little is mostly taken out again.
    codes = error_forecast.effective_size(attribute.size)
    share = _off(attribute, noise, rows=rows)
    return quality_words.of_mean(math.hypot(share * math.sqrt(codes), _BIN_MEANS * bins))


def _learned(question: AnyQuestion, *, rows: int) -> ColumnWord:
    """How well a run will know where the values of a column lie."""
    if isinstance(question, IntervalRounds):
        share = scale_tree.LAST_SHARE
        noise = budget_allocation.noise(
            question.budget.of(question.budget.amount * share), question.sensitivity
        )
        return quality_words.of_share(_on_lattice(math.sqrt(noise.variance) / rows))
    if isinstance(question.attribute, Weak):
        return _of_values_found(question.described(), rows=rows)
    return quality_words.of_share(_on_lattice(math.sqrt(question.noise.variance) / rows))


def _on_lattice(noise: float) -> float:
    """How far the distribution function is off. noise: of the last round, as a share of the records: the more
    of it, the fewer cells were divided before."""
    return float(_LEARNED * noise**_LEARNED_POWER)


def _of_values_found(column: LearnedColumn, *, rows: int) -> ColumnWord:
    """Of a column whose values are found where enough records have them: the i-th most frequent of some
    values has a share in proportion to 1/i, and the others become "other"."""
    if column.threshold is None:
        return "found"
    kinds = min(domain_learning.EXPECTED_CATEGORIES, column.cells)
    shares = [1 / place for place in range(1, kinds + 1)]
    whole, least = sum(shares), column.threshold
    other = sum(each for each in shares if rows * each / whole < least) / whole
    if other >= 1:
        return "not found"
    return "found" if other <= quality_words.WIDE_INTERVAL else "coarse"


def expected_empty(questions: Sequence[AnyQuestion], *, rows: int) -> int:
    """About how many columns on a lattice will not be found, when learning them costs as much as it may."""
    scales = [each for each in questions if isinstance(each, IntervalRounds)]
    return round(sum(_chance_of_nothing(each, rows=rows) for each in scales))


def _chance_of_nothing(question: IntervalRounds, *, rows: int) -> float:
    most = question.budget.amount * question.most * _FINDING
    noise = budget_allocation.noise(question.budget.of(most), question.sensitivity)
    law = noise.law
    least = _FIND_DEVIATIONS_OF_LAPLACE if law == "discrete-laplace" else _FIND_DEVIATIONS
    clear = _RECORDS_IN_CELLS * rows / math.sqrt(_CELLS_OF_A_COLUMN * noise.variance)
    return NormalDist().cdf(least - clear)
