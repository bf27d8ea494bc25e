"""Made tables of shapes that the named ones of bench/auto.py do not have: many-way relations, names that are
numbered, few columns.

Every table has a relation to find and a seed; where a last column `label` has two codes, models are trained
to predict it. `python bench/auto.py FOLDER --against-all --data function two …` measures them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pandas as pd

ROWS = 50_000
Codes = npt.NDArray[np.int64]
Columns = dict[str, Codes]
Maker = Callable[[np.random.Generator, int], Columns]


def parity(rng: np.random.Generator, rows: int) -> Columns:
    """The label is the parity of three columns: neither pairs nor triples show any of it."""
    bits = _independent(rng, rows, a=2, b=2, c=2)
    others = _independent(rng, rows, z0=3, z1=5, z2=4, z3=2, z4=6, z5=3)
    return bits | others | {"label": _flipped(rng, bits["a"] ^ bits["b"] ^ bits["c"], 0.05)}


def majority(rng: np.random.Generator, rows: int) -> Columns:
    """The label says whether the sum of four columns is large; each pair shows a part of it."""
    votes = _independent(rng, rows, v0=5, v1=5, v2=5, v3=5)
    others = _independent(rng, rows, z0=3, z1=5, z2=8, z3=4)
    large = (np.sum(list(votes.values()), axis=0) > 8).astype(np.int64)
    return votes | others | {"label": _flipped(rng, large, 0.05)}


def sums(rng: np.random.Generator, rows: int) -> Columns:
    """Three relations of three columns at once."""
    table = _independent(rng, rows, z0=3, z1=4, z2=2, z3=5, z4=3, z5=2, z6=4, z7=6)
    table["m"] = _mostly(rng, 0.8, (table["z0"] + table["z1"]) % 4, 4)
    table["s"] = _mostly(rng, 0.8, (table["z3"] + table["z4"]) % 5, 5)
    return table | {"label": _flipped(rng, table["z2"] ^ (table["m"] % 2), 0.1)}


def function(rng: np.random.Generator, rows: int) -> Columns:
    """Codes of sixty places, numbered without a meaning, that determine a district and a region; and a number
    with its fifth."""
    shares = 1 / np.arange(1, 61)
    place = rng.choice(60, rows, p=shares / shares.sum())
    district, region = rng.integers(0, 7, 60), rng.integers(0, 4, 7)
    table = {
        "place": place,
        "district": district[place],
        "region": region[district[place]],
        "number": rng.integers(0, 20, rows),
    }
    table["fifth"] = table["number"] // 4
    table |= _independent(rng, rows, z0=3, z1=6, z2=2)
    table["z1"] = np.where(rng.random(rows) < 0.5, table["region"], table["z1"])
    even = (table["district"] + table["fifth"]) % 2
    return table | {"label": _flipped(rng, even, 0.1)}


def goods(rng: np.random.Generator, rows: int) -> Columns:
    """Two thousand goods, numbered without a meaning, and the kind of each."""
    shares = np.arange(1, 2001) ** -0.8
    good = rng.permutation(2000)[rng.choice(2000, rows, p=shares / shares.sum())]
    kind = _mostly(rng, 0.85, rng.integers(0, 10, 2000)[good], 10)
    table = {"good": good, "kind": kind} | _independent(rng, rows, z0=3, z1=5, z2=8, z3=4)
    table["z3"] = np.where(rng.random(rows) < 0.4, table["z1"] % 4, table["z3"])
    return table | {"label": _flipped(rng, kind % 2, 0.1)}


def links(rng: np.random.Generator, rows: int) -> Columns:
    """Twenty columns, each of which depends strongly on the one before."""
    sizes = [4 + 3 * place % 5 for place in range(20)]
    table = {"c0": rng.integers(0, sizes[0], rows)}
    for place in range(1, 20):
        following = rng.integers(0, sizes[place], max(sizes))[table[f"c{place - 1}"]]
        table[f"c{place}"] = _mostly(rng, 0.85, following, sizes[place])
    return table | {"label": _flipped(rng, table["c19"] % 2, 0.1)}


def rare(rng: np.random.Generator, rows: int) -> Columns:
    """One label in a hundred, most of them among few records."""
    table = _independent(rng, rows, a=6, b=8, c=4, z0=3, z1=5, z2=8, z3=4, z4=2)
    table["z0"] = np.where(rng.random(rows) < 0.4, table["a"] % 3, table["z0"])
    often = (table["a"] == 5) & (table["b"] >= 6)
    chances = np.where(often, 0.12, 0.001 + 0.01 * (table["c"] == 3))
    return table | {"label": (rng.random(rows) < chances).astype(np.int64)}


def amounts(rng: np.random.Generator, rows: int) -> Columns:
    """Skewed numbers of up to two hundred bins, and one that is nearly always nothing."""
    normal = rng.normal(size=(rows, 3))
    first = np.exp(1.2 * normal[:, 0])
    second = np.exp(1.2 * (0.8 * normal[:, 0] + 0.6 * normal[:, 1]))
    third = np.exp(normal[:, 2] - 0.5 * normal[:, 1])

    def cut(values: npt.NDArray[np.float64], bins: int, most: float) -> Codes:
        return np.minimum((values / most * bins).astype(np.int64), bins - 1)

    table = {"x": cut(first, 200, 20), "y": cut(second, 200, 20), "w": cut(third, 150, 15)}
    table |= _independent(rng, rows, z0=4, z1=2)
    table["spike"] = np.where(rng.random(rows) < 0.9, 0, cut(first, 100, 20))
    table["z0"] = np.where(rng.random(rows) < 0.3, np.minimum(table["x"] // 10, 3), table["z0"])
    large = (first * third > 1.5).astype(np.int64)
    return table | {"label": _flipped(rng, large, 0.1)}


def two(rng: np.random.Generator, rows: int) -> Columns:
    """Two columns and nothing else."""
    first = rng.integers(0, 12, rows)
    return {"a": first, "b": _mostly(rng, 0.5, first % 9, 9)}


def three(rng: np.random.Generator, rows: int) -> Columns:
    """Three columns, whose relation pairs show in part."""
    first = rng.integers(0, 6, rows)
    second = _mostly(rng, 0.4, first % 4, 4)
    return {"a": first, "b": second, "label": _flipped(rng, (first + second) % 2, 0.1)}


KINDS: dict[str, Maker] = {
    maker.__name__: maker
    for maker in (
        *(parity, majority, sums, function, goods, links, rare, amounts),
        *(two, three),
    )
}


def table(kind: str, *, seed: int, rows: int = ROWS) -> tuple[pd.DataFrame, dict[str, int]]:
    """Make a table of this kind: its codes, and the number of codes of each column."""
    rng = np.random.default_rng([seed, list(KINDS).index(kind)])
    made = pd.DataFrame(KINDS[kind](rng, rows)).astype("int64")
    return made, {str(name): int(made[name].max()) + 1 for name in made}


def _independent(rng: np.random.Generator, rows: int, **sizes: int) -> Columns:
    return {name: rng.integers(0, size, rows) for name, size in sizes.items()}


def _mostly(rng: np.random.Generator, chance: float, codes: Codes, size: int) -> Codes:
    """These codes with that chance, else any."""
    return np.where(rng.random(codes.size) < chance, codes, rng.integers(0, size, codes.size))


def _flipped(rng: np.random.Generator, bits: Codes, chance: float) -> Codes:
    return np.where(rng.random(bits.size) < chance, 1 - bits, bits)
