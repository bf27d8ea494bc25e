"""From which number of records on groups can be counted in a synthetic table: from the noise of the tables
that a receipt lists."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from statistics import NormalDist

from synth_engine.evaluation.expected import LEVEL, variance_of
from synth_engine.privacy.receipt import CallDocument

WITHIN = 0.2
"""Part of its size by which the count of a group may be off; nine tenths of such counts are off by less."""
_STEPS = (1, 2, 5, 10)


def least_group(calls: Sequence[CallDocument], *, columns: int = 2) -> int | None:
    """The least size, rounded up to 1, 2 or 5 times a power of ten, of groups by so many columns together.
    None where no table of so many columns was counted.

    The noise is that of the table with the most: no group is better than the worst table. Records of a
    synthetic table are drawn, so that a count of g varies by √g besides."""
    variance = _largest_variance(calls, columns)
    if variance is None:
        return None
    deviations = NormalDist().inv_cdf((1 + LEVEL) / 2)
    ratio = (deviations / WITHIN) ** 2
    # g² = ratio · (variance + g)
    return rounded_up((ratio + math.sqrt(ratio**2 + 4 * ratio * variance)) / 2)


def rounded_up(size: float) -> int:
    """The next 1, 2 or 5 times a power of ten."""
    power = int(10 ** math.floor(math.log10(max(size, 1.0))))
    return next(step * power for step in _STEPS if step * power >= size)


def _largest_variance(calls: Sequence[CallDocument], columns: int) -> float | None:
    """Of the noise on a cell of the tables with the fewest columns that are enough; answers about one table
    are taken together."""
    precisions: dict[frozenset[str], float] = defaultdict(float)
    for call in calls:
        query, variance = call["query"], variance_of(call)
        if query["verb"] not in ("measure", "interaction") or not variance:
            continue
        if len(query["clique"]) < columns:
            continue
        if query["verb"] == "interaction":  # its values are in units of 1 / cells records
            variance /= query["cells"] ** 2
        precisions[frozenset(query["clique"])] += 1 / variance
    if not precisions:
        return None
    fewest = min(map(len, precisions))
    return max(
        1 / precision for clique, precision in precisions.items() if len(clique) == fewest
    )
