"""The inner loops of fitting a mixture of products: what a step costs is nearly all here.

The shares of the bins of all attributes stand one below the other, shape (bins, COMPONENTS), and so do those
of all views: an attribute at one resolution. A view is given as where its bins begin. Components stand side
by side, so that the loops over them take the widest instructions of a processor; every sum has the order of
the source.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from synth_engine.jit import compiled

Singles = npt.NDArray[np.float32]
Places = npt.NDArray[np.int64]

COMPONENTS = 16
LANES = 8
"""Rows of `turned` are as long as a multiple of so many bins."""
ROWS = 4
"""Rows of a table that are compared at once, so that what is read of its other side is read once for all of
them."""


class WantedTables(NamedTuple):
    """Tables that the mixture shall have. sides: where the bins of the rows and of the columns of a table
    begin among the views, how many there are, and where its cells begin; wanted, weight: of all cells, one
    table after the other."""

    sides: Places
    wanted: Singles
    weight: Singles


@compiled
def normalize(shares: Singles, first: Places) -> None:
    """Divides by the sums over the bins of each attribute, in place. first: where each attribute begins, and
    the end of all."""
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
    """Adds to `back` by how much the loss rises with each bin of a view, shape (bins, COMPONENTS), and to
    `of_shares` by how much with the share of each component. The loss is half the weighted sum of squared
    differences."""
    sides, wanted, weight = tables
    room = _padded(int(np.max(sides[:, 3])))
    turned = np.zeros((COMPONENTS, room), dtype=np.float32)
    wrong = np.zeros((ROWS, room), dtype=np.float32)
    weighted = np.zeros((ROWS, COMPONENTS), dtype=np.float32)
    slopes = np.zeros((ROWS, COMPONENTS), dtype=np.float32)
    before = -1
    for left, right, rows, columns, first in sides:
        side = seen[right : right + columns]
        if right != before:
            # Tables are sorted by their right sides, so this is done once for each of these.
            _turn(side, turned)
            before = right
        for start in range(0, rows, ROWS):
            taken = min(ROWS, rows - start)
            _weigh(seen[left + start : left + start + taken], shares, weighted)
            cells = slice(first + start * columns, first + (start + taken) * columns)
            _differences(weighted, turned, wanted[cells], weight[cells], wrong, columns)
            _add_rows(wrong, weighted, back[right : right + columns])
            _slopes_of_rows(wrong, side, slopes)
            for row in range(taken):
                for k in range(COMPONENTS):
                    of_shares[k] += slopes[row, k] * seen[left + start + row, k]
                    back[left + start + row, k] += slopes[row, k] * shares[k]


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
def _weigh(side: Singles, shares: Singles, weighted: Singles) -> None:
    """Writes up to `ROWS` bins of a side times the shares of the components, and zeros in the rows after
    them."""
    weighted[:] = 0
    for row in range(len(side)):
        for k in range(COMPONENTS):
            weighted[row, k] = side[row, k] * shares[k]


@compiled
def _differences(
    weighted: Singles,
    turned: Singles,
    wanted: Singles,
    weight: Singles,
    wrong: Singles,
    columns: int,
) -> None:
    """`ROWS` rows of a table of the mixture less what is wanted, times the weights; zero in rows after the
    last one."""
    padded = _padded(columns)
    wrong[:, :padded] = 0
    first, second, third, fourth = wrong[0], wrong[1], wrong[2], wrong[3]
    # Two components at once, so that a sum is written half as often.
    for k in range(0, COMPONENTS, 2):
        a, b, c, d = weighted[0, k], weighted[1, k], weighted[2, k], weighted[3, k]
        e, f, g, h = (
            weighted[0, k + 1],
            weighted[1, k + 1],
            weighted[2, k + 1],
            weighted[3, k + 1],
        )
        now, then = turned[k], turned[k + 1]
        for j in range(padded):
            first[j] = first[j] + a * now[j] + e * then[j]
            second[j] = second[j] + b * now[j] + f * then[j]
            third[j] = third[j] + c * now[j] + g * then[j]
            fourth[j] = fourth[j] + d * now[j] + h * then[j]
    taken = wanted.size // columns
    for row in range(taken):
        for j in range(columns):
            cell = row * columns + j
            wrong[row, j] = (wrong[row, j] - wanted[cell]) * weight[cell]
    wrong[taken:, :padded] = 0


@compiled
def _add_rows(wrong: Singles, weighted: Singles, back: Singles) -> None:
    """Adds to each bin of the right side what `ROWS` rows are off by in its column, times the weighted
    components of these."""
    for j in range(len(back)):
        a, b, c, d = wrong[0, j], wrong[1, j], wrong[2, j], wrong[3, j]
        for k in range(COMPONENTS):
            back[j, k] = (
                back[j, k]
                + a * weighted[0, k]
                + b * weighted[1, k]
                + c * weighted[2, k]
                + d * weighted[3, k]
            )


@compiled
def _slopes_of_rows(wrong: Singles, side: Singles, slopes: Singles) -> None:
    """Writes the slopes of `ROWS` rows: what they are off by in each column, times the components of its
    bin."""
    slopes[:] = 0
    for j in range(len(side)):
        a, b, c, d = wrong[0, j], wrong[1, j], wrong[2, j], wrong[3, j]
        for k in range(COMPONENTS):
            one = side[j, k]
            slopes[0, k] += a * one
            slopes[1, k] += b * one
            slopes[2, k] += c * one
            slopes[3, k] += d * one


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
