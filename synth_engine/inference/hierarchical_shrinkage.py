"""How values of a column are spread in parts of a tree, from noisy counts: each node is drawn to the one
above it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from synth_engine.inference.factors import Floats

_FLOOR = 1e-12


def shrink_by_node(
    values: npt.NDArray[np.number],
    depths: Iterable[npt.NDArray[np.intp]],
    *,
    counts: Floats,
    whole: Floats,
    variance: float,
) -> Floats:
    """Expected counts, shape (parts, values), with the sums `counts` along the first axis.

    values: noisy counts, each of that variance. depths: from the widest nodes on, to which one each part
    belongs. counts: how many records a part has, whole: of all together, how often each value comes. The
    shares in a node are those of the node above, moved towards its own by as much as shares at that depth
    differ beyond their noise (a linear Bayes estimate; Bühlmann and Gisler 2005): a node of many records says
    what it has, one of few what those around it say.
    """
    shares = np.repeat(_shares(whole)[None, :], len(counts), axis=0)
    above = np.zeros(len(counts), dtype=np.intp)
    for nodes in depths:
        number = int(nodes.max(initial=-1)) + 1
        first = np.unique(nodes, return_index=True)[1]
        members, records = (
            np.bincount(nodes, minlength=number),
            np.bincount(nodes, weights=counts, minlength=number),
        )
        new = (
            members < np.bincount(above)[above[first]]
        )  # a node that is all of the one above says nothing more
        given, noise = shares[first], members[:, None] * variance
        own = np.stack(
            [np.bincount(nodes, weights=column, minlength=number) for column in values.T],
            axis=1,
        )
        excess = own - records[:, None] * given
        chance = records[:, None] ** 2 * given * (1 - given)
        # Method of moments: variance between nodes beyond that of the noise, as a part of
        # what it could be.
        unlike = max(
            0.0, float((excess**2 - noise)[new].sum() / max(float(chance[new].sum()), _FLOOR))
        )
        moved = (
            unlike
            * chance
            / np.maximum(unlike * chance + noise, _FLOOR)
            * excess
            / np.maximum(records, 1)[:, None]
        )
        # The same records again would count as new evidence.
        moved[~new] = 0.0
        shares = np.array([_shares(row) for row in given + moved])[nodes]
        above = nodes
    expected: Floats = counts[:, None] * shares
    return expected


def _shares(counts: Floats) -> Floats:
    positive = np.maximum(counts, 0.0)
    total = float(positive.sum())
    return positive / total if total > 0 else np.full(positive.shape, 1 / positive.size)
