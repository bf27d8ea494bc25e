"""Rules by which a tree is grown over a hierarchy, and the result: the nodes that were opened,
and counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from synth_engine.hierarchy.base import Hierarchy, Prefixes
from synth_engine.strict_json import JsonObject

Name = Literal["basic", "improved", "privtree"]
Spread = Literal["chance", "evenly", "fullest"]
Counts = npt.NDArray[np.int64]
MAX_NODES = 20_000_000
"""Largest number of nodes of one depth, siblings included: where there are more, none of them
is opened. It depends on the nodes opened above, which are public once the tree is."""

_SIDE_BY_SIDE = 256
"""Largest sample in which each number is compared with all before it, for many nodes at once."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule for which nodes are opened, so that their children are examined. The root always
    is; nodes of depth `depth` and ended texts never are.

    basic: a noisy count of `threshold` or more.
    improved: the same, of the records that are left when every opened node takes `discount` of
    its records away: by chance, evenly from all cells of the finest depth, or from the fullest
    of them (`spread`). Each record counts `parts`, of which a few may be taken; threshold and
    discount are in parts then.
    privtree: the count less `discount` for each level, but at least the threshold less
    `discount`, plus noise."""

    name: Name
    depth: int
    threshold: int
    discount: int = 0
    spread: Spread = "chance"
    parts: int = 1

    def __post_init__(self) -> None:
        numbers = (self.depth, self.threshold, self.discount, self.parts)
        if self.name not in get_args(Name) or any(
            type(number) is not int for number in numbers
        ):
            raise TypeError("a rule has a known name and whole numbers")
        if self.depth < 1 or self.threshold < 1 or self.discount < (self.name != "basic"):
            raise TypeError(
                "depth, threshold and discount are 1 or more; the basic rule has no discount"
            )
        if self.name == "basic" and self.discount:
            raise TypeError("the basic rule has no discount")
        if self.spread not in get_args(Spread):
            raise TypeError(
                "records are taken by chance, evenly or from the fullest cells; another way may not be stable"
            )
        if not 1 <= self.parts < 2**20 or (
            self.name != "improved" and (self.spread, self.parts) != ("chance", 1)
        ):
            raise TypeError(
                "the improved rule alone says how records are taken, and in how many parts"
            )

    @property
    def keeps_secrets(self) -> bool:
        """Whether a depth depends on something that was chosen by chance at the depths above and is not in
        the answer: which records were taken away."""
        return self.name == "improved" and self.spread == "chance"

    @property
    def least(self) -> int:
        """Returns the number that noise alone has to reach for a node without records to be
        opened."""
        return self.discount if self.name == "privtree" else self.threshold

    def scores(self, counts: Counts, *, level: int) -> Counts:
        """Returns how far counts of nodes of that depth are above what a node without records
        has; never below 0."""
        if self.name != "privtree":
            return counts
        scores: Counts = np.maximum(counts - (level - 1) * self.discount - self.threshold, 0)
        return scores

    def to_json(self) -> JsonObject:
        shared: JsonObject = {
            "rule": self.name,
            "depth": self.depth,
            "threshold": self.threshold,
        }
        shared |= {} if self.name == "basic" else {"discount": self.discount}
        shared |= {} if self.spread == "chance" else {"spread": self.spread}
        return shared | ({} if self.parts == 1 else {"parts": self.parts})

    @classmethod
    def from_json(cls, obj: Mapping[str, Any]) -> Rule:
        taken = {name: obj[name] for name in ("discount", "spread", "parts") if name in obj}
        return cls(name=obj["rule"], depth=obj["depth"], threshold=obj["threshold"], **taken)


@dataclass(frozen=True, kw_only=True, eq=False)
class Level:
    """The children of all opened nodes of one depth, in the order of their codes. `level`: their own depth;
    `parents`: which opened node each is a child of; `opens`: which of them may be opened."""

    level: int
    prefixes: Prefixes
    parents: npt.NDArray[np.int64]
    opens: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.prefixes)


def child_level(hierarchy: Hierarchy, prefixes: Prefixes, level: int, *, depth: int) -> Level:
    """The public layout of what lies below opened nodes of depth `level`: all children that exist."""
    candidates = hierarchy.below(prefixes, level)
    there = hierarchy.exists(candidates, level + 1)
    parents = np.repeat(np.arange(len(candidates)), candidates.shape[1])
    opens = np.tile(hierarchy.opens(level), len(candidates))
    candidates = candidates.ravel()
    if not there.all():
        present = there.ravel()
        candidates, parents, opens = candidates[present], parents[present], opens[present]
    # The number of children follows from what was opened above, which is noisy: stopping here
    # is post-processing.
    deeper = level + 1 < depth and len(parents) <= MAX_NODES
    return Level(
        level=level + 1,
        prefixes=candidates,
        parents=parents,
        opens=opens & hierarchy.divides(candidates, level + 1) & deeper,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Growth:
    """The answer of `grow`. `opened`: for each depth from 1 on, as long as there are nodes, the
    indices of those children of the depth above that were opened. `counts`: under the basic
    rule, the noisy count of each child."""

    columns: tuple[str, ...]
    rule: Rule
    opened: tuple[Counts, ...]
    counts: tuple[Counts, ...] = ()

    def __post_init__(self) -> None:
        if any(one.dtype != np.int64 or one.ndim != 1 for one in (*self.opened, *self.counts)):
            raise TypeError("a grown tree is int64")
        if bool(self.counts) != (self.rule.name == "basic") or len(self.counts) not in (
            0,
            len(self.opened),
        ):
            raise TypeError("the basic rule has counts at every depth, the others have none")

    def levels(self, hierarchy: Hierarchy) -> Iterator[Level]:
        """Yields the layout of each depth that was examined. Errors: ValueError where the tree is not of this
        hierarchy."""
        prefixes = hierarchy.root()
        for place, opened in enumerate(self.opened):
            level = child_level(hierarchy, prefixes, place, depth=self.rule.depth)
            if opened.size and not (
                opened[0] >= 0 and opened[-1] < len(level) and np.all(np.diff(opened) > 0)
            ):
                raise ValueError("the tree has other nodes than its hierarchy")
            if self.counts and len(self.counts[place]) != len(level):
                raise ValueError("the tree has other nodes than its hierarchy")
            yield level
            prefixes = level.prefixes[opened]

    def arrays(self) -> dict[str, Counts]:
        """Returns arrays for a file: opened nodes and counts in one row each, and how many
        there are at each depth."""
        sizes = [len(one) for one in self.opened], [len(one) for one in self.counts]
        return {
            "opened": np.concatenate(self.opened),
            "counts": np.concatenate(self.counts or (np.empty(0, dtype=np.int64),)),
            "sizes": np.array([*sizes[0], *sizes[1]], dtype=np.int64),
        }

    def header(self) -> JsonObject:
        return {
            "columns": list(self.columns),
            "levels": len(self.opened),
            **self.rule.to_json(),
        }

    @classmethod
    def read(cls, header: Mapping[str, Any], arrays: Mapping[str, Counts]) -> Growth:
        """Reads what `header` and `arrays` wrote. Errors: KeyError, TypeError, ValueError."""
        levels, ends = header["levels"], arrays["sizes"]
        opened = np.split(arrays["opened"], np.cumsum(ends[:levels])[:-1])
        counted = (
            np.split(arrays["counts"], np.cumsum(ends[levels:])[:-1])
            if len(ends) > levels
            else []
        )
        return cls(
            columns=tuple(header["columns"]),
            rule=Rule.from_json(header),
            opened=tuple(opened),
            counts=tuple(counted),
        )


def draw_distinct(sizes: Counts, number: int, *, uniform: Callable[[Counts], Counts]) -> Counts:
    """Draws for each of these sizes different numbers below it, each set of them as likely as
    another (Floyd 1987): shape (sizes, number). Of smaller sizes, all numbers below `number`.

    uniform: draws a number below each bound; the caller chooses the source."""
    taken = np.tile(np.arange(number), (sizes.size, 1))
    large = np.flatnonzero(sizes > number)
    if number > _SIDE_BY_SIDE:
        for node in large:
            taken[node] = _floyd(int(sizes[node]), number, uniform=uniform)
        return taken
    for step in range(number):
        top = sizes[large] - number + step
        picked = uniform(top + 1)
        # Floyd's step: a number that is taken already is replaced by the new upper end, which
        # cannot be.
        known = (taken[large, :step] == picked[:, None]).any(axis=1)
        taken[large, step] = np.where(known, top, picked)
    return taken


def _floyd(size: int, number: int, *, uniform: Callable[[Counts], Counts]) -> list[int]:
    """The same for one size, in time that grows with the number and not with its square."""
    chosen: dict[int, None] = {}
    for top, place in enumerate(
        uniform(np.arange(size - number, size, dtype=np.int64) + 1).tolist(), size - number
    ):
        chosen[top if place in chosen else place] = None
    return list(chosen)
