"""How dependent the columns of a released model are, pair by pair, from the model alone."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from synth_engine.evaluation.dependences import PairDependence
from synth_engine.evaluation.dependences import dependence as dependence_of
from synth_engine.models.model import Model

GROUPS = 32
"""Groups of about equal size into which the codes of a column with more are put, in order: rare values look
dependent."""
RECORDS = 20_000
"""Records that are generated to measure dependence; its error is then far below what a colour shows."""
MAX_COLUMNS = 100
DECIMALS = 4

Pairs = dict[tuple[str, str], float]


def dependence(model: Model, records: Mapping[str, npt.NDArray[Any]]) -> list[PairDependence]:
    """How dependent all pairs of the first columns (`names_of`) are, in the order of
    `itertools.combinations`. records: codes of `generated`."""
    return of_codes([np.asarray(records[name], dtype=np.int64) for name in names_of(model)])


def generated(model: Model, *, seed: str) -> Mapping[str, npt.NDArray[Any]]:
    """Codes of records that the model generates, enough to measure dependence."""
    return model.sample(min(model.rows, RECORDS), seed=seed)


def of_codes(columns: Sequence[npt.NDArray[np.int64]]) -> list[PairDependence]:
    """How dependent all pairs of columns are. columns: codes of the same records, shape (records,) each."""
    grouped = [_grouped(codes) for codes in columns]
    return [_of_pair(a, b) for a, b in itertools.combinations(grouped, 2)]


def names_of(model: Model) -> list[str]:
    """The columns whose pairs are measured."""
    return list(model.domain.sizes)[:MAX_COLUMNS]


def pairs_of(names: Sequence[str], values: Sequence[float]) -> Pairs:
    """The values of `dependence` by pair."""
    return dict(zip(itertools.combinations(names, 2), values, strict=True))


def _grouped(codes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Codes from 0 on without gaps, at most `GROUPS` different ones."""
    values, places, counts = np.unique(codes, return_inverse=True, return_counts=True)
    if values.size <= GROUPS:
        return places.astype(np.int64)
    before = np.cumsum(counts) - counts
    group = (before * GROUPS // codes.size).astype(np.int64)
    return np.unique(group, return_inverse=True)[1][places].astype(np.int64)


def _of_pair(first: npt.NDArray[np.int64], second: npt.NDArray[np.int64]) -> PairDependence:
    if not first.size:
        return dependence_of(np.zeros((1, 1)))
    shape = (int(first.max()) + 1, int(second.max()) + 1)
    joint = np.bincount(first * shape[1] + second, minlength=shape[0] * shape[1])
    return dependence_of(joint.reshape(shape))


def strongest(pairs: Pairs, number: int) -> list[tuple[str, float]]:
    """The pairs with the largest values, in words."""
    ordered = sorted(pairs.items(), key=lambda pair: (-abs(pair[1]), pair[0]))
    return [(" × ".join(names), value) for names, value in ordered[:number]]


def most_related(names: Sequence[str], pairs: Pairs, number: int) -> list[str]:
    """So many columns, those that go most with another one, in their order."""
    most = {
        name: max((value for pair, value in pairs.items() if name in pair), default=0.0)
        for name in names
    }
    chosen = set(sorted(names, key=lambda name: -most[name])[:number])
    return [name for name in names if name in chosen]


def in_clusters(names: Sequence[str], pairs: Pairs) -> list[str]:
    """The columns with those side by side that go together most: leaves of a tree of averages, turned so that
    neighbours are close (Bar-Joseph et al. 2001)."""
    if len(names) < 3:
        return list(names)
    from scipy.cluster import hierarchy  # slow to import

    distances = [
        1 - pairs.get((a, b), pairs.get((b, a), 0.0))
        for a, b in itertools.combinations(names, 2)
    ]
    tree = hierarchy.linkage(distances, method="average", optimal_ordering=True)
    return [names[place] for place in hierarchy.leaves_list(tree).tolist()]
