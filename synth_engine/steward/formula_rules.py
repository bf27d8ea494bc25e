"""Columns that are computed from others by a formula: sums, products, ratios, powers, logarithms, clocks and
complements."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray

from synth_engine.kinds.formulas import FORMULAS
from synth_engine.steward.held_rule import (
    CHANCE,
    DERIVED,
    MIN_ROWS,
    Floats,
    Rules,
    SampledColumn,
    add,
    equal,
)

_FIRST_ROWS = 64  # by which candidates are found
_LEAST_SHARE = 0.01  # of the rows in which a part of a sum is not zero


def sums(numeric: Sequence[SampledColumn], rules: Rules) -> set[frozenset[str]]:
    """Columns that are the sum of two others, or of several that stand beside each other. Returns the pairs
    that this relates."""
    related: set[frozenset[str]] = set()
    plain = [each for each in numeric if not each.unit]
    if len(plain) < 3:
        return related
    table = np.column_stack([each.numbers for each in plain if each.numbers is not None])
    complete = table[~np.isnan(table).any(axis=1)]
    first = (complete if len(complete) >= MIN_ROWS else table)[:_FIRST_ROWS]
    runs = [
        tuple(range(start, end))
        for start in range(len(plain))
        for end in range(start + 3, len(plain) + 1)
    ]
    for parts in [*combinations(range(len(plain)), 2), *runs]:
        sums = first[:, list(parts)].sum(axis=1)
        usable = ~np.isnan(sums)
        matches = equal(first[usable], sums[usable, None]).all(axis=0)
        for whole in np.flatnonzero(matches).tolist():
            if whole in parts or not usable.any() or not _is_sum(table, whole, parts):
                continue
            names = [plain[part].name for part in parts]
            total = plain[whole].name
            add(
                rules,
                total,
                f"{total} = {' + '.join(names)} in every row.",
                kind=DERIVED,
                facts={"rule": "sum", "of": names},
            )
            related |= {
                frozenset(pair) for pair in combinations([plain[whole].name, *names], 2)
            }
    return related


def _is_sum(table: Floats, whole: int, parts: Sequence[int]) -> bool:
    """Whether a column is the sum of others in every row that has all of them, each of them adding
    something."""
    rows = table[:, [whole, *parts]]
    rows = rows[~np.isnan(rows).any(axis=1)]
    # A part that is hardly ever above zero would make every other column a sum.
    adds = (np.count_nonzero(rows, axis=0) >= _LEAST_SHARE * len(rows)).all()
    return (
        len(rows) >= MIN_ROWS
        and bool(adds)
        and bool(equal(rows[:, 0], rows[:, 1:].sum(axis=1)).all())
    )


CONSTANTS = (
    *(2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 25, 28, 30, 36, 50, 52, 60, 90, 100, 144, 360, 365),
    *(1_000, 1_024, 1_440, 3_600, 10_000, 86_400, 1_000_000, 2.54, 0.3048, 1.609344, 0.45359237),
)  # fmt: skip
"""By which a column may be another one multiplied or divided: numbers that are written in books, and none of
the table."""
_POWERS, _BASES = (2.0, 3.0), (None, 10.0, 2.0)
_SINGLE_PRECISION = 2e-7
"""Relative error of numbers that were stored in 32 bits."""
_FEWEST_ONES = 20
_FEWEST_VALUES = 3


@dataclass(frozen=True, kw_only=True, eq=False)
class _Candidate:
    """A formula that may give a column."""

    rule: str
    sources: tuple[SampledColumn, ...]
    constant: float | None = None

    def values(self, rows: slice = slice(None)) -> Floats:
        columns = [each.numbers[rows] for each in self.sources if each.numbers is not None]
        return FORMULAS[self.rule].compute(columns, self.constant)

    @property
    def may_round(self) -> bool:
        """Whether its values are whole numbers only by chance, so that a column of whole numbers is hardly
        it."""
        return self.rule in ("ratio", "log")


def formulas(
    numeric: Sequence[SampledColumn], related: set[frozenset[str]], rules: Rules
) -> set[frozenset[str]]:
    """Columns that are a formula of one or two others in every row. related: pairs that other rules relate.
    Returns the pairs that these relate."""
    plain = [each for each in numeric if not each.unit and each.numbers is not None]
    explained: set[frozenset[str]] = set()
    if not plain:
        return explained
    first = np.column_stack(
        [each.numbers[:_FIRST_ROWS] for each in plain if each.numbers is not None]
    )
    exact = np.array([_tolerance(each) for each in plain])
    for candidate in _candidates(plain):
        guess = candidate.values(slice(0, _FIRST_ROWS))[:, None]
        off = np.abs(first - guess) - exact[:, 0] - exact[:, 1] * np.maximum(1.0, np.abs(guess))
        # NaN where either is missing: no comparison with it is true.
        for index in np.flatnonzero((off <= 0).any(axis=0) & ~(off > 0).any(axis=0)).tolist():
            target = plain[index]
            pairs = {frozenset((target.name, each.name)) for each in candidate.sources}
            taken = target in candidate.sources or bool(pairs & (related | explained))
            if not taken and _is_formula(candidate, target):
                _tell(candidate, target, rules)
                explained |= pairs
    return explained


def _candidates(plain: Sequence[SampledColumn]) -> Iterator[_Candidate]:
    """In the order in which one explains a column before another one does."""
    for source in plain:
        yield from (
            _Candidate(rule="power", sources=(source,), constant=power) for power in _POWERS
        )
        yield from (_Candidate(rule="log", sources=(source,), constant=base) for base in _BASES)
    for rule in ("ratio", "product"):
        for source in plain:
            yield from (
                _Candidate(rule=rule, sources=(source,), constant=float(constant))
                for constant in CONSTANTS
            )
    yield from (_Candidate(rule="clock", sources=pair) for pair in permutations(plain, 2))
    yield from (_Candidate(rule="product", sources=pair) for pair in combinations(plain, 2))
    yield from (_Candidate(rule="ratio", sources=pair) for pair in permutations(plain, 2))


def _tolerance(target: SampledColumn) -> tuple[float, float]:
    """How far a value of a column may be from that of a formula: by rounding, and relative to it."""
    decimals = _decimals(target)
    return (0.5 * 10.0**-decimals, _SINGLE_PRECISION) if decimals else (0.0, 1e-9)


def _is_formula(candidate: _Candidate, target: SampledColumn) -> bool:
    """Whether a column is a formula in all rows that have its sources, and would hardly be it by chance or
    because the formula is its source."""
    if target.numbers is None or (candidate.may_round and not _decimals(target)):
        return False
    sources = [each.numbers for each in candidate.sources if each.numbers is not None]
    known = ~np.isnan(np.column_stack([target.numbers, *sources])).any(axis=1)
    rows = int(known.sum())
    if rows < MIN_ROWS:
        return False
    actual, values = target.numbers[known], candidate.values()[known]
    rounding, relative = _tolerance(target)
    # Where the formula has no value, NaN, a value of the column breaks it.
    near = np.abs(actual - values) <= rounding + relative * np.maximum(1.0, np.abs(values))
    if not near.all():
        return False
    _, counts = np.unique(actual, return_counts=True)
    share = float(((counts / rows) ** 2).sum())
    if len(counts) < _FEWEST_VALUES or rows * np.log(share) >= np.log(CHANCE):
        return False
    # A factor that is nearly always 1 would make every column a product.
    least = _LEAST_SHARE * rows
    return all(np.count_nonzero(~equal(values, each[known])) >= least for each in sources)


def _decimals(column: SampledColumn) -> int:
    """Digits behind the decimal mark that the values of a column have; 0 for whole numbers."""
    if column.attribute is None:
        return 0
    step = getattr(column.attribute, "step", None)
    if not isinstance(step, float) or step >= 1:
        return 0
    return round(-math.log10(step))


def _tell(candidate: _Candidate, target: SampledColumn, rules: Rules) -> None:
    names = [each.name for each in candidate.sources]
    formula = FORMULAS[candidate.rule]
    constant = formula.constant if candidate.constant is None else candidate.constant
    facts: dict[str, object] = {"rule": candidate.rule, "of": names}
    if candidate.constant is not None:
        facts["constant"] = candidate.constant
    if decimals := _decimals(target):
        facts["decimals"] = decimals
    sentence = f"{target.name} = {formula.sentence(names, constant)} in every row."
    add(rules, target.name, sentence, kind=DERIVED, facts=facts)


def complements(columns: Sequence[SampledColumn], rules: Rules) -> None:
    """Columns of 0 and 1 that are 1 exactly where another one is 0, and groups of which exactly one is 1 in
    every row."""
    flags = [(each, flag) for each in columns if (flag := _flag(each)) is not None]
    for (left, one), (right, other) in combinations(flags, 2):
        if (one != other).all():
            add(
                rules,
                right.name,
                f"{right.name} = 1 − {left.name} in every row.",
                kind=DERIVED,
                facts={"rule": "complement", "of": [left.name]},
            )
    start = 0
    while start < len(flags):
        end = _end_of_group([flag for _, flag in flags[start:]])
        if end:
            names = [each.name for each, _ in flags[start : start + end]]
            add(
                rules,
                names[-1],
                f"Exactly one of {', '.join(names)} is 1 in every row.",
                kind="",
                facts={},
            )
        start += end or 1


def _flag(column: SampledColumn) -> NDArray[np.bool_] | None:
    """Where a column is 1, if it holds 0 and 1, each often, and nothing else."""
    if set(column.texts) != {"0", "1"}:
        return None
    flag: NDArray[np.bool_] = column.codes == column.texts.index("1")
    ones = np.count_nonzero(flag)
    return flag if _FEWEST_ONES <= ones <= len(flag) - _FEWEST_ONES else None


def _end_of_group(flags: Sequence[NDArray[np.bool_]]) -> int:
    """How many of these columns, from the first on, are a group of three or more; 0 if they begin none."""
    total = np.zeros(len(flags[0]), dtype=np.int64)
    for number, flag in enumerate(flags, start=1):
        total += flag
        if total.max() > 1:
            return 0
        if number >= 3 and total.min() == 1:
            return number
    return 0
