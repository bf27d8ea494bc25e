"""Steps that make a table unfair, shifted or otherwise peculiar. Every cell is still a value of the column:
what is wrong is how values go together.

Sources: individual unfairness is figure 7 of Ping, Stoyanovich and Howe; disparate impact is a ratio of
favourable rates (the four-fifths rule of the US Uniform Guidelines, 29 CFR 1607.4 D).
"""

from __future__ import annotations

import numpy as np

from synth_engine.errors import InputError
from synth_engine.extras.scenarios.draft import Change, Draft, DrawnColumn, Numbers, Rows, Truth
from synth_engine.extras.scenarios.steps import (
    Parameters,
    StepKind,
    column_rule,
    rounded,
    share_rule,
    text_rule,
    whole_rule,
)

MOST_CLUSTERS, LARGEST_CLUSTER = 10_000, 1_000
MOST_COPIES = 1_000_000
MOST_SHARES = 200
_TILT_ROUNDS = 200
_CLOSE = 1e-6
"""How far from 1 a sum of shares may be that were written as decimals."""

_PROTECTED = column_rule("Protected attribute", "The column that must not decide the outcome.")
_GROUP = text_rule("Group", "The value of the protected attribute that is treated otherwise.")
_OUTCOME = column_rule("Outcome", "The column that a decision writes.")
_FAVOURABLE = text_rule("Favourable outcome", "Its value that people want.")


def _individual_unfairness(
    draft: Draft, given: Parameters, rng: np.random.Generator, step: int
) -> None:
    """Appends clusters of alike records. All but one have another value of the protected attribute and the
    favourable outcome; the one is of the group, and has not."""
    protected = draft.column(given["protected"], parameter="protected")
    outcome = draft.column(given["outcome"], parameter="outcome")
    _require_different(protected, outcome)
    in_group = protected.labelled(given["group"], parameter="group")
    favourable = outcome.labelled(given["favourable"], parameter="favourable")
    peers = _others(protected, in_group)
    refused = _others(outcome, favourable)
    alike = {
        name: _Near(draft, name)
        for name in draft.free
        if name not in (protected.name, outcome.name)
    }
    size = given["size"]
    for cluster in range(given["clusters"]):
        rows = draft.take_spare(size)
        centre = rng.choice(draft.own)
        for name in draft.copied:
            draft.source[name][rows] = draft.source[name][centre]
        for name, near in alike.items():
            varied = rows[rng.random(size) >= given["tightness"]]
            draft.source[name][varied] = near.sample(centre, len(varied), rng)
        draft.source[protected.name][rows] = rng.choice(peers)
        draft.source[outcome.name][rows] = rng.choice(np.flatnonzero(favourable))
        single = rows[rng.integers(size)]
        draft.source[protected.name][single] = rng.choice(np.flatnonzero(in_group))
        draft.source[outcome.name][single] = rng.choice(refused)
        roles = np.where(rows == single, "treated otherwise", "peer").astype(object)
        draft.changes.append(
            Change(
                step=step,
                kind="individual-unfairness",
                column="",
                rows=rows,
                after=roles,
                groups=np.full(size, f"cluster {cluster + 1}", dtype=object),
            )
        )


def _disparate_impact(
    draft: Draft, given: Parameters, rng: np.random.Generator, step: int
) -> None:
    """Changes the least number of outcomes of the group that gives the ratio of favourable rates."""
    protected = draft.column(given["protected"], parameter="protected")
    outcome = draft.column(given["outcome"], parameter="outcome")
    _require_different(protected, outcome)
    favourable_cells = outcome.labelled(given["favourable"], parameter="favourable")
    group_cells = protected.labelled(given["group"], parameter="group")
    own = draft.own
    group = group_cells[draft.source[protected.name][own]]
    known = ~protected.missing[draft.source[protected.name][own]]
    favourable = favourable_cells[draft.source[outcome.name][own]]
    members, others = own[group], own[~group & known]
    if len(members) == 0 or len(others) == 0:
        raise InputError(
            "one of the two groups has no record",
            repair="draw more rows, or name a value that more records have",
            column=protected.name,
        )
    target = given["ratio"] * favourable[~group & known].mean()
    if target > 1:
        raise InputError(
            "the ratio asks for a rate of favourable outcomes above 1",
            repair="give a smaller ratio",
            column=outcome.name,
        )
    wanted = rounded(target, len(members))
    has = favourable[group]
    surplus = int(has.sum()) - wanted
    if surplus > 0:
        changed = rng.choice(members[has], surplus, replace=False)
        source = rng.choice(_others(outcome, favourable_cells), surplus)
    else:
        changed = rng.choice(members[~has], -surplus, replace=False)
        source = rng.choice(np.flatnonzero(favourable_cells), -surplus)
    draft.set_cells(outcome.name, changed, source, step=step, kind="disparate-impact")


def _imbalance(draft: Draft, given: Parameters, rng: np.random.Generator, _step: int) -> None:
    """Draws the records again, so that one value has a given share of them."""
    column = draft.column(given["column"], parameter="column")
    cells = column.labelled(given["value"], parameter="value")
    own = draft.own
    have = cells[draft.source[column.name][own]]
    wanted = rounded(given["share"], len(own))
    if (wanted > 0 and not have.any()) or (wanted < len(own) and have.all()):
        raise InputError(
            "no record is left to draw from for this share",
            repair="draw more rows, or give a share nearer to what the release has",
            column=column.name,
        )
    chosen = np.concatenate(
        [
            _repeated(own[have], wanted, rng),
            _repeated(own[~have], len(own) - wanted, rng),
        ]
    )
    _redraw(draft, own, rng.permutation(chosen))


def _shares(draft: Draft, given: Parameters, rng: np.random.Generator, step: int) -> None:
    """Draws records again, so that the values of a column have given shares, in all records or in those with
    one value of another column. Values that are not listed keep their ratios in what is left."""
    column = draft.column(given["column"], parameter="column")
    values, shares = given["values"], given["shares"]
    _require_shares(column, values, shares)
    own = _part(draft, given, column)
    source = draft.source[column.name][own]
    # The first that has a cell counts it; the last stands for all that are not listed.
    listed = np.full(len(own), len(values))
    for place in reversed(range(len(values))):
        listed[column.matching(values[place])[source]] = place
    counts = np.bincount(listed, minlength=len(values) + 1)
    others = 1 - sum(shares)
    if counts[-1] == 0 and others > _CLOSE:
        raise InputError(
            "the shares add up to less than 1, and no record has another value",
            repair="normalise them, or list fewer values",
            column=column.name,
        )
    wanted = _quotas([*shares, others if counts[-1] else 0.0], len(own))
    chosen, lacking = [], []
    for place, count in enumerate(wanted):
        if counts[place]:
            chosen.append(_repeated(own[listed == place], count, rng))
        elif count:
            # No record of the part has the value: other records of it get it.
            lacking.append((len(chosen), place))
            chosen.append(rng.choice(own, count))
    order = rng.permutation(len(own))
    _redraw(draft, own, np.concatenate(chosen)[order])
    starts = np.cumsum([0, *map(len, chosen)])
    for part, place in lacking:
        cells = np.flatnonzero(column.matching(values[place], parameter="values"))
        rows = own[(order >= starts[part]) & (order < starts[part + 1])]
        draft.set_cells(
            column.name, rows, rng.choice(cells, len(rows)), step=step, kind="shares"
        )


def _require_shares(
    column: DrawnColumn, values: tuple[str, ...], shares: tuple[float, ...]
) -> None:
    """Refuses shares that no table has."""
    if len(values) != len(shares):
        raise InputError(
            "there are not as many shares as values",
            repair="give one share for each value",
            column=column.name,
        )
    if sum(shares) > 1 + _CLOSE:
        raise InputError(
            "the shares add up to more than 1", repair="normalise them", column=column.name
        )


def _part(draft: Draft, given: Parameters, column: DrawnColumn) -> Rows:
    """The records whose shares change."""
    if not given["given"]:
        return draft.own
    other = draft.column(given["given"], parameter="given")
    _require_different(column, other)
    cells = other.matching(given["when"], parameter="when")
    part = draft.own[cells[draft.source[other.name][draft.own]]]
    if len(part) == 0:
        raise InputError(
            "no record is left that has the value that 'when' names",
            repair="draw more rows, or change its share first",
            column=other.name,
        )
    return part


def _quotas(shares: list[float], count: int) -> list[int]:
    """Whole numbers that add up to `count`, nearest to its shares: those with the largest remainders are
    rounded up."""
    exact = np.maximum(np.asarray(shares), 0.0)
    exact = exact / exact.sum() * count
    quotas = np.floor(exact).astype(np.int64)
    first = np.argsort(quotas - exact, kind="stable")[: count - int(quotas.sum())]
    quotas[first] += 1
    return [int(quota) for quota in quotas]


def _shift(draft: Draft, given: Parameters, rng: np.random.Generator, _step: int) -> None:
    """Draws the records again with weights exp(t·z), where z is the column in standard deviations, and t the
    number that moves the mean as far as asked: of all weights, these move the table least (in relative
    entropy)."""
    column, values = draft.scale(given["column"], parameter="column")
    own = draft.own[~np.isnan(values[draft.own])]
    if len(own) == 0 or np.ptp(values[own]) == 0:
        raise InputError(
            "all records have one value", repair="choose another column", column=column.name
        )
    z = (values[own] - values[own].mean()) / values[own].std()
    distinct, places, counts = np.unique(z, return_inverse=True, return_counts=True)
    by_value = _tilted(distinct, counts, given["by"])
    if by_value is None:
        raise InputError(
            "no weights move the mean so far",
            repair="give a smaller shift",
            column=column.name,
        )
    # Systematic: each record as often as its weight says, up to one.
    points = (rng.random() + np.arange(len(own))) / len(own)
    ends = np.cumsum(by_value[places])
    chosen = own[np.minimum(np.searchsorted(ends, points, side="right"), len(own) - 1)]
    _redraw(draft, own, rng.permutation(chosen))


def _correlation(draft: Draft, given: Parameters, rng: np.random.Generator, step: int) -> None:
    """Within a random part of the records, sorts the values of the second column by those of the first. Both
    columns hold the same values as before."""
    first = draft.column(given["first"], parameter="first")
    second = draft.column(given["second"], parameter="second")
    _require_different(first, second)
    own = draft.own
    part = np.sort(rng.choice(own, rounded(given["share"], len(own)), replace=False))
    by = _order(draft, first, part, rng)
    values = _order(draft, second, part, rng)
    if given["direction"] == "opposite":
        values = values[::-1]
    source = draft.source[second.name][part[values]]
    draft.set_cells(second.name, part[by], source, step=step, kind="correlation")


def _near_duplicates(
    draft: Draft, given: Parameters, rng: np.random.Generator, step: int
) -> None:
    """Appends copies of records in which a few cells differ."""
    rows = draft.take_spare(given["copies"])
    originals = rng.choice(draft.own, len(rows))
    for name in draft.copied:
        draft.source[name][rows] = draft.source[name][originals]
    free = draft.free
    cells = min(given["cells"], len(free))
    # The columns of each copy that differ: the first few of a random order.
    differ = np.argsort(rng.random((len(rows), len(free))), axis=1)[:, :cells]
    for place, name in enumerate(free):
        varied = rows[(differ == place).any(axis=1)]
        draft.source[name][varied] = draft.source[name][rng.choice(draft.own, len(varied))]
    draft.changes.append(
        Change(
            step=step,
            kind="near-duplicates",
            column="",
            rows=rows,
            groups=np.array([f"copy of row {row + 1}" for row in originals], dtype=object),
        )
    )


def _require_different(first: DrawnColumn, second: DrawnColumn) -> None:
    if first.name == second.name:
        raise InputError(
            "two parameters name one column", repair="name another", column=first.name
        )


def _others(column: DrawnColumn, cells: Truth) -> Rows:
    """Drawn records with a known value other than these."""
    others = np.flatnonzero(~cells & ~column.missing)
    if len(others) == 0:
        raise InputError(
            "all drawn records have one value", repair="draw more rows", column=column.name
        )
    return others


class _Near:
    """Draws values of a column that are near that of a record: of an ordered column among the nearest
    hundredth, else any."""

    def __init__(self, draft: Draft, name: str) -> None:
        self._source = draft.source[name].copy()
        self._values = draft.columns[name].values
        self._own = draft.own
        if self._values is None:
            return
        values = self._values[self._source[self._own]]
        known = self._own[~np.isnan(values)]
        self._sorted = known[np.argsort(self._values[self._source[known]], kind="stable")]
        self._keys = self._values[self._source[self._sorted]]

    def sample(self, centre: np.int64, count: int, rng: np.random.Generator) -> Rows:
        """Drawn records whose cells are such values."""
        middle = np.nan if self._values is None else self._values[self._source[centre]]
        if np.isnan(middle):
            anywhere: Rows = self._source[rng.choice(self._own, count)]
            return anywhere
        width = max(1, len(self._sorted) // 100)
        place = int(np.searchsorted(self._keys, middle))
        first = min(max(0, place - width // 2), len(self._sorted) - width)
        near: Rows = self._source[self._sorted[first + rng.integers(width, size=count)]]
        return near


def _repeated(rows: Rows, count: int, rng: np.random.Generator) -> Rows:
    """So many of the rows; each as often as any other, up to one."""
    if count == 0:
        return rows[:0]
    whole, rest = divmod(count, len(rows))
    return np.concatenate([np.tile(rows, whole), rng.choice(rows, rest, replace=False)])


def _redraw(draft: Draft, places: Rows, chosen: Rows) -> None:
    """Puts the chosen records in these places. Whole records move, so no cell is logged by itself."""
    for name in draft.copied:
        draft.source[name][places] = draft.source[name][chosen]


def _tilted(z: Numbers, counts: Rows, by: float) -> Numbers | None:
    """Weights exp(t·z) of records with these values, so many of each, that add up to 1 over all records and
    have the mean `by`; None where no t gives it."""
    if not z.min() < by < z.max():
        return None
    low, high = -1.0, 1.0

    def weights(tilt: float) -> Numbers:
        raised = np.exp(tilt * z - np.max(tilt * z))
        normalised: Numbers = raised / (counts @ raised)
        return normalised

    def mean(tilt: float) -> float:
        return float((counts * weights(tilt)) @ z)

    # Double the bracket until the mean lies in it, then halve it.
    for _ in range(_TILT_ROUNDS):
        if mean(low) <= by <= mean(high):
            break
        low, high = 2 * low, 2 * high
    else:
        return None
    for _ in range(_TILT_ROUNDS):
        middle = (low + high) / 2
        if mean(middle) < by:
            low = middle
        else:
            high = middle
    return weights((low + high) / 2)


def _order(draft: Draft, column: DrawnColumn, rows: Rows, rng: np.random.Generator) -> Rows:
    """Places of the rows in the order of the column; ties by chance. Values without an order go by their
    text."""
    keys: Numbers | Rows
    if column.values is None:
        _, keys = np.unique(draft.now(column.name)[rows].astype(str), return_inverse=True)
    else:
        keys = column.values[draft.source[column.name][rows]]
    return np.lexsort((rng.random(len(rows)), keys)).astype(np.int64)


SITUATIONS = (
    StepKind(
        id="individual-unfairness",
        title="Individual unfairness",
        summary="Clusters of alike records, one of which is of the group and has another outcome.",
        properties={
            "protected": _PROTECTED,
            "group": _GROUP,
            "outcome": _OUTCOME,
            "favourable": _FAVOURABLE,
            "clusters": whole_rule(
                "Clusters", "How many.", least=1, most=MOST_CLUSTERS, default=10
            ),
            "size": whole_rule(
                "Size", "Records in each.", least=2, most=LARGEST_CLUSTER, default=10
            ),
            "tightness": share_rule(
                "Tightness",
                "Share of the other cells that are the same in all records of a cluster; 1: they agree in "
                "everything else.",
                default=0.9,
            ),
        },
        apply=_individual_unfairness,
        added_rows=lambda given: given["clusters"] * given["size"],
    ),
    StepKind(
        id="disparate-impact",
        title="Disparate impact",
        summary="The group has favourable outcomes at a given ratio to the rate of all others.",
        properties={
            "protected": _PROTECTED,
            "group": _GROUP,
            "outcome": _OUTCOME,
            "favourable": _FAVOURABLE,
            "ratio": {
                "type": "number",
                "title": "Ratio",
                "description": "Of the two rates; below 0.8 the four-fifths rule speaks of adverse impact.",
                "minimum": 0,
                "maximum": 100,
                "default": 0.5,
            },
        },
        apply=_disparate_impact,
    ),
    StepKind(
        id="imbalance",
        title="Imbalance",
        summary="One value has a given share of the records.",
        properties={
            "column": column_rule("Column", "The column whose shares change."),
            "value": text_rule("Value", "As a file has it."),
            "share": share_rule("Share", "Of all records."),
        },
        apply=_imbalance,
    ),
    StepKind(
        id="shares",
        title="Shares",
        summary="Values of a column have given shares, of all records or of those with one value of "
        "another column.",
        properties={
            "column": column_rule("Column", "The column whose shares change."),
            "values": {
                "type": "array",
                "title": "Values",
                "description": "As a file has them; of a column of numbers also ranges such as 20..39.",
                "items": {"type": "string", "maxLength": 200},
                "minItems": 1,
                "maxItems": MOST_SHARES,
                "uniqueItems": True,
            },
            "shares": {
                "type": "array",
                "title": "Shares",
                "description": "One for each value, from 0 to 1; what they leave of 1 is for all other "
                "values.",
                "items": {"type": "number", "minimum": 0, "maximum": 1},
                "minItems": 1,
                "maxItems": MOST_SHARES,
            },
            "given": column_rule(
                "Given", "A column whose value says which records; empty: all.", optional=True
            ),
            "when": text_rule("When", "The value of that column.", optional=True),
        },
        apply=_shares,
    ),
    StepKind(
        id="shift",
        title="Shift",
        summary="The mean of a column moves, and what depends on it moves with it.",
        properties={
            "column": column_rule("Column", "Numbers, dates, or categories in order."),
            "by": {
                "type": "number",
                "title": "By",
                "description": "Standard deviations; negative: downwards.",
                "minimum": -10,
                "maximum": 10,
                "default": 1,
            },
        },
        apply=_shift,
    ),
    StepKind(
        id="correlation",
        title="Unexpected correlation",
        summary="Two columns go together, or against each other, in a part of the records; each keeps its "
        "values.",
        properties={
            "first": column_rule("First column", "By whose order values are placed."),
            "second": column_rule("Second column", "Whose values are placed."),
            "share": share_rule("Share", "Of the records; 1: of all.", default=1),
            "direction": {
                "type": "string",
                "title": "Direction",
                "description": "Whether they rise together.",
                "enum": ["same", "opposite"],
                "default": "same",
                "x-labels": {"same": "they rise together", "opposite": "one falls"},
            },
        },
        apply=_correlation,
    ),
    StepKind(
        id="near-duplicates",
        title="Near duplicates",
        summary="Copies of records in which a few cells differ.",
        properties={
            "copies": whole_rule(
                "Copies", "How many records are added.", least=1, most=MOST_COPIES, default=100
            ),
            "cells": whole_rule(
                "Cells",
                "That are drawn again in each copy; 0: exact duplicates.",
                least=0,
                most=100,
                default=1,
            ),
        },
        apply=_near_duplicates,
        added_rows=lambda given: given["copies"],
    ),
)
"""In the order of the catalogue."""
