"""The inner loops of fitting a mixture of products: what a step costs is nearly all here.

The shares of the bins of all attributes stand one below the other, shape (bins, COMPONENTS), and so do those of all views: an
attribute at one resolution. A view is given as where its bins begin. Components stand side by side, so that the loops over
them take the widest instructions of a processor; every sum has the order of the source.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from synth_engine.inference.jit import compiled

Singles = npt.NDArray[np.float32]
Places = npt.NDArray[np.int64]

COMPONENTS = 24
LANES = 8
"""Rows of `turned` are as long as a multiple of so many bins."""


class WantedTables(NamedTuple):
    """Tables that the mixture shall have. sides: where the bins of the rows and of the columns of a table begin among the views,
    how many there are, and where its cells begin; wanted, weight: of all cells, one table after the other."""

    sides: Places
    wanted: Singles
    weight: Singles


@compiled
def normalize(shares: Singles, first: Places) -> None:
    """Divides by the sums over the bins of each attribute, in place. first: where each attribute begins, and the end of all."""
    total = np.empty(COMPONENTS, dtype=np.float32)
    for attribute in range(first.size - 1):
        total[:] = 0
        for row in range(first[attribute], first[attribute + 1]):
            for k in range(COMPONENTS):
                total[k] += shares[row, k]
        for row in range(first[attribute], first[attribute + 1]):
            for k in range(COMPONENTS):
                shares[row, k] /= total[k]


@compiled
def see(columns: Singles, source: Places, target: Places, seen: Singles) -> None:
    """Adds up the bins of attributes into those of views."""
    seen[:] = 0
    for at in range(source.size):
        for k in range(COMPONENTS):
            seen[target[at], k] += columns[source[at], k]


@compiled
def see_back(back: Singles, source: Places, target: Places, slopes: Singles) -> None:
    """Gives each bin of an attribute the slopes of the bins of views that it belongs to."""
    for at in range(source.size):
        for k in range(COMPONENTS):
            slopes[source[at], k] += back[target[at], k]


@compiled
def add_slopes(
    tables: WantedTables, seen: Singles, shares: Singles, back: Singles, of_shares: Singles
) -> None:
    """Adds to `back` by how much the loss rises with each bin of a view, shape (bins, COMPONENTS), and to `of_shares` by how much
    with the share of each component. The loss is half the weighted sum of squared differences."""
    sides, wanted, weight = tables
    room = _padded(int(np.max(sides[:, 3])))
    turned = np.zeros((COMPONENTS, room), dtype=np.float32)
    wrong = np.zeros(room, dtype=np.float32)
    weighted = np.zeros(COMPONENTS, dtype=np.float32)
    slope = np.zeros(COMPONENTS, dtype=np.float32)
    before = -1
    for left, right, rows, columns, first in sides:
        if right != before:
            # Tables are sorted by their right sides, so this is done once for each of these.
            _turn(seen[right : right + columns], turned)
            before = right
        for i in range(rows):
            for k in range(COMPONENTS):
                weighted[k] = seen[left + i, k] * shares[k]
            cells = slice(first + i * columns, first + (i + 1) * columns)
            _differences(weighted, turned, wanted[cells], weight[cells], wrong)
            slope[:] = 0
            for j in range(columns):
                for k in range(COMPONENTS):
                    slope[k] += wrong[j] * seen[right + j, k]
                    back[right + j, k] += wrong[j] * weighted[k]
            for k in range(COMPONENTS):
                of_shares[k] += slope[k] * seen[left + i, k]
                back[left + i, k] += slope[k] * shares[k]


@compiled
def _padded(bins: int) -> int:
    return (bins + LANES - 1) // LANES * LANES


@compiled
def _turn(side: Singles, turned: Singles) -> None:
    """Lays the bins of a side along rows, with zeros after them."""
    turned[:] = 0
    for j in range(len(side)):
        for k in range(COMPONENTS):
            turned[k, j] = side[j, k]


@compiled
def _differences(
    weighted: Singles, turned: Singles, wanted: Singles, weight: Singles, wrong: Singles
) -> None:
    """One row of a table of the mixture less what is wanted, times the weights; what `wrong` holds beyond it has no meaning."""
    padded = _padded(wanted.size)
    wrong[:padded] = 0
    for k in range(COMPONENTS):
        for j in range(padded):
            wrong[j] += weighted[k] * turned[k, j]
    for j in range(wanted.size):
        wrong[j] = (wrong[j] - wanted[j]) * weight[j]


@compiled
def add_pulls(
    columns: Singles,
    shares: Singles,
    ones: Singles,
    weight: float,
    gradient: Singles,
    of_shares: Singles,
) -> None:
    """The same for the shares of single attributes, which have one weight each."""
    for row in range(len(columns)):
        pull = -ones[row]
        for k in range(COMPONENTS):
            pull += columns[row, k] * shares[k]
        pull *= np.float32(weight)
        for k in range(COMPONENTS):
            gradient[row, k] += pull * shares[k]
            of_shares[k] += pull * columns[row, k]


@compiled
def through_softmax(columns: Singles, first: Places, gradient: Singles) -> None:
    """Makes slopes of logits of the slopes of shares, in place."""
    mean = np.empty(COMPONENTS, dtype=np.float32)
    for attribute in range(first.size - 1):
        mean[:] = 0
        for row in range(first[attribute], first[attribute + 1]):
            for k in range(COMPONENTS):
                mean[k] += gradient[row, k] * columns[row, k]
        for row in range(first[attribute], first[attribute + 1]):
            for k in range(COMPONENTS):
                gradient[row, k] = columns[row, k] * (gradient[row, k] - mean[k])


@compiled
def adam(
    value: Singles,
    slopes: Singles,
    mean: Singles,
    square: Singles,
    step: int,
    rate: float,
) -> None:
    """One step of Adam (Kingma and Ba 2015) with beta1 = 0.9 and beta2 = 0.99, in place. All are flat."""
    of_mean = np.float32(rate / (1 - 0.9**step))
    of_square = np.float32(1 / (1 - 0.99**step))
    for at in range(value.size):
        mean[at] += np.float32(0.1) * (slopes[at] - mean[at])
        square[at] += np.float32(0.01) * (slopes[at] * slopes[at] - square[at])
        value[at] -= of_mean * mean[at] / (np.sqrt(square[at] * of_square) + np.float32(1e-10))
