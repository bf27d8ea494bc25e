"""How finely origins of groups are counted where nobody says: what large parts leave out against what their
prior covers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

Priors = dict[int, int]
"""Of each size of groups, the prior of one origin in parts of a record."""
_COVERED = 13.0
_CLEARLY = 11 / 12


@dataclass(frozen=True, kw_only=True)
class Resolution:
    """A way of counting origins, by the name of its parting: into how many parts, and which prior each of
    them has. unit: parts of a record."""

    name: str
    parts: int
    priors: Priors
    unit: int

    def lost(self, size: int) -> float:
        """What a record of a group of this size loses, on a scale without a unit: one over the number of
        parts for what lies within a part, and the root of prior over records, over 13, for what the prior
        covers. So the errors of average commutes fell and rose over parts, epsilon and sizes of groups
        (docs/benchmarks.md)."""
        return (
            1 / self.parts
            + math.sqrt(self.priors[size] * self.parts / (self.unit * size)) / _COVERED
        )


def best(options: Sequence[Resolution], totals: Iterable[int]) -> tuple[tuple[int, str], ...]:
    """The way by which records lose least, or two of them by size of group where that is less by more than a
    twelfth: from how many records on, and the name, as in `domain.resolution.partings_by_size`. looked:
    fewest parts first. By public facts alone."""
    times = sorted(Counter(n for n in totals if n).items())
    lost = {
        way.name: [size * number * way.lost(size) for size, number in times] for way in options
    }
    single = min(lost, key=lambda name: sum(lost[name]))
    mixed = []
    # Two resolutions: small groups by the coarse one, large groups by the fine one.
    for coarse, fine in combinations(lost, 2):
        worse = [
            index for index in range(len(times)) if lost[fine][index] >= lost[coarse][index]
        ]
        first = worse[-1] + 1 if worse else 0
        if 0 < first < len(times):
            pair = (0, coarse), (times[first][0], fine)
            mixed.append((sum(lost[coarse][:first]) + sum(lost[fine][first:]), pair))
    # A second resolution must be worth its complication: at least a twelfth less is lost.
    less, two = min(mixed, default=(math.inf, ()))
    return two if less < _CLEARLY * sum(lost[single]) else ((0, single),)
