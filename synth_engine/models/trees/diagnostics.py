"""Diagnostics of a tree: that noise alone would have given it, or that it ended before its
records did. Functions of public facts and of answers that were paid for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal, get_args

import numpy.typing as npt

from synth_engine.errors import InputError
from synth_engine.hierarchy import Growth, Hierarchy, Rule, SpatialHierarchy
from synth_engine.hierarchy.estimate import LeafEstimates
from synth_engine.hierarchy.growth import MAX_NODES
from synth_engine.hierarchy.points import BITS
from synth_engine.measurement import Noise
from synth_engine.strict_json import JsonObject

Why = Literal["nodes", "depth", "codes", "bins"]
ONCE_IN = 20
"""One in so many empty tables, at most, is taken for a table with something in it."""
LEAST_SHARE = 0.1
"""The share of records in cells that could be divided, from which on a note explains what ended
the tree."""

Counts = npt.NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class StopReason:
    """Cells of the last depth that hold records enough to be divided: how many, and which share of all
    records. `why` they were not: there were too many `nodes`, that was the `depth` asked for, `codes` have no
    more bits, or cells are as small as `bins`."""

    why: Why
    depth: int
    cells: int
    share: float


@dataclass(frozen=True, kw_only=True)
class TreeDiagnostics:
    """`noise`: whether a table without records would most likely have given such a tree as well;
    `opened_from`: about how many records it takes for a node to be opened; `stop_reason`: what kept the tree
    from going deeper, if it was not the noise."""

    noise: bool
    min_records_to_split: int
    stop_reason: StopReason | None = None

    def to_json(self) -> JsonObject:
        ended: JsonObject = (
            {} if self.stop_reason is None else {"ended": dict(vars(self.stop_reason))}
        )
        return {"noise": self.noise, "opened_from": self.min_records_to_split, **ended}

    @classmethod
    def from_json(cls, obj: Mapping[str, Any]) -> TreeDiagnostics:
        """Errors: KeyError, TypeError, InputError."""
        reason = StopReason(**obj["ended"]) if "ended" in obj else None
        sound = type(obj["noise"]) is bool and type(obj["opened_from"]) is int
        if reason is not None:
            sound &= type(reason.depth) is int and type(reason.cells) is int
            sound &= isinstance(reason.share, int | float) and reason.why in get_args(Why)
        if not sound:
            raise InputError(
                "the notes of the model are malformed", repair="use the model of this release"
            )
        return cls(
            noise=obj["noise"], min_records_to_split=obj["opened_from"], stop_reason=reason
        )


def of_growth(
    grown: Growth,
    hierarchy: Hierarchy,
    *,
    noise: Noise,
    counted: Iterable[tuple[Counts, Noise]],
    ends: LeafEstimates,
    rows: int,
) -> TreeDiagnostics:
    """noise: by which nodes were opened; counted: tables of counts of its nodes, with their noise; ends: the
    nodes at which the tree ends, or those of them that have records."""
    rule = grown.rule
    levels = [
        (int(level.opens.sum()), opened.size)
        for level, opened in zip(grown.levels(hierarchy), grown.opened, strict=True)
    ]
    tables = [*counted, *((counts, noise) for counts in grown.counts)]
    # Under the null hypothesis no record is in the node, so it opens if noise alone reaches the
    # threshold.
    by_noise = noise.reaches(rule.least)
    return TreeDiagnostics(
        noise=not (opens_more_than_noise(levels, chance=by_noise) or stands_out(tables)),
        min_records_to_split=min_records_to_split(rule),
        stop_reason=stop_reason(hierarchy, rule, ends, looked=len(grown.opened), rows=rows),
    )


def min_records_to_split(rule: Rule) -> int:
    """About how many records it takes for a node of such a tree to be opened, so that with fewer in all most
    likely none is."""
    least = rule.threshold + (rule.discount if rule.name == "privtree" else 0)
    return -(-least // rule.parts)


def opens_more_than_noise(levels: Sequence[tuple[int, int]], *, chance: float) -> bool:
    """Returns whether at some depth more nodes were opened than noise opens.

    levels: from the first depth on, how many nodes could be opened, and how many were. chance:
    the probability that a node without records is opened. Given what was opened above, the
    decisions of a depth are independent, so each depth has a binomial test of its own, at half
    the level of the one before."""
    from scipy.special import bdtrc  # slow to import

    return any(
        # bdtrc(k - 1, n, p) is the probability of k or more successes of n: the p-value of this
        # depth.
        opened and bdtrc(opened - 1, looked, chance) <= within
        for (looked, opened), within in zip(levels, _shares(), strict=False)
    )


def stands_out(tables: Iterable[tuple[Counts, Noise]]) -> bool:
    """Returns whether some count is larger than noise is in a table of so many cells without
    records. The levels of the tables are divided like those of the depths."""
    return any(
        values.size
        and values.max() > 0
        # Union bound over the cells of a table.
        and values.size * noise.reaches(int(values.max())) <= within
        for (values, noise), within in zip(tables, _shares(), strict=False)
    )


def _shares() -> Iterator[float]:
    """Yields the levels of the tests: half of the error probability is for counts and half for
    nodes; the first test of each has half of that, the next a quarter, and so on."""
    # The number of depths is not known beforehand, so the levels form a geometric series.
    return (1 / (2 * ONCE_IN) / 2**place for place in count(1))


def stop_reason(
    hierarchy: Hierarchy, rule: Rule, ends: LeafEstimates, *, looked: int, rows: int
) -> StopReason | None:
    """ends: as of `of_growth`; looked: the number of depths at which nodes were examined. None where noise
    ended the tree nearly everywhere."""
    depth = min(looked, int(ends.levels.max(initial=0)))
    last = ends.levels == depth
    many = depth < looked or int(last.sum()) > MAX_NODES
    if not last.any() or (depth < rule.depth and not many):
        return None
    least = rule.threshold + depth * rule.discount
    prefixes, deepest = ends.prefixes[last], depth == hierarchy.depth
    # Cells that the description cannot divide further are no sign of a tree that ended too
    # early.
    divisible = (
        hierarchy.divides_beyond(prefixes) if deepest else hierarchy.divides(prefixes, depth)
    )
    full = ends.counts[last][(ends.counts[last] * rule.parts >= least) & divisible]
    share = float(full.sum()) / max(rows, 1)
    if share < LEAST_SHARE and not many:
        return None
    why: Why = "nodes" if many else _finest(hierarchy) if deepest else "depth"
    return StopReason(why=why, depth=depth, cells=full.size, share=round(min(share, 1.0), 4))


def _finest(hierarchy: Hierarchy) -> Why:
    points = hierarchy.component(SpatialHierarchy)
    exhausted = points is not None and (points.resolution + 1) * points.dimensions > BITS
    return "codes" if exhausted else "bins"
