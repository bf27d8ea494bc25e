"""How many views to measure and how large: the design with the least expected error of k-way marginals, k
from 3 to 8.

Everything is reckoned from public facts: sizes of attributes, about how many records there are, and how much
noise the budget buys. A marginal is taken apart into one part for each set of its attributes (what the set
says beyond its own subsets). A part that some view covers carries that view's noise; a part that none covers
is lost as far as records are not what smaller tables make of them. Derivation: docs/proofs/dpsyn.md.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from synth_engine.inference import covering, error_forecast
from synth_engine.inference.consistency import Axes, Floats

MIN_K, MAX_K = 3, 8
PAIR_CONTINGENCY = 0.002
"""Of two attributes, how far typical tables of people are from independence: the mean square contingency,
beyond chance."""
INTERACTION_DECAY = 0.1
"""By how much interactions of one attribute more are weaker."""
MAX_VIEWS = 400
MAX_VIEW_CELLS = 1 << 14
"""Where nobody gives a bound: larger ones take long and, on the tables tried, gain nothing."""
MAX_TOTAL_CELLS = 1 << 22
"""Of all views together."""
MAX_TRIPLE_ATTRIBUTES = 200
"""Of which all triples are covered: so many have 1.3 million."""
_SAMPLED = 24
"""Marginals of each k that stand for all of them."""

Random = Callable[[str], np.random.Generator]
"""Randomness that is public, by purpose."""


@dataclass(frozen=True, kw_only=True)
class Design:
    """Groups of attributes to be measured. cells: the bound that their sizes keep to. kind: how they were
    found."""

    kind: str
    cells: int
    groups: tuple[Axes, ...]

    def counts(self, sizes: Sequence[int]) -> list[int]:
        """How many cells each view has."""
        return [math.prod(sizes[axis] for axis in group) for group in self.groups]


def candidates(
    sizes: Sequence[int],
    *,
    random: Random,
    kinds: Sequence[str],
    cells: int = 0,
    views: int = 0,
) -> list[Design]:
    """The designs among which the expected error decides. kinds: of "covering", "triples" and "random".
    cells, views: where they are given, the bound on cells and the number of views of all of them. Of triples
    a design is left out that takes more views, so that there may be none."""
    bounds = [cells] if cells else _bounds(sizes, attributes=3 if "triples" in kinds else 2)
    numbers = (
        [views] if views else sorted({max(1, len(sizes) // 2), len(sizes), 2 * len(sizes)})
    )
    designs: dict[tuple[Axes, ...], Design] = {}
    for bound in bounds:
        groups: list[tuple[str, list[Axes]]] = []
        if "covering" in kinds:
            rng = random(f"covering {bound}")
            whole = covering.covering(
                sizes, cells=bound, rng=rng, max_groups=views or MAX_VIEWS
            )
            groups.append(("covering", whole))
        if "triples" in kinds and len(sizes) <= MAX_TRIPLE_ATTRIBUTES:
            triples = covering.covering_triples(
                sizes,
                cells=bound,
                rng=random(f"triples {bound}"),
                max_groups=views or MAX_VIEWS,
            )
            groups += [] if triples is None else [("triples", triples)]
        if "random" in kinds:
            groups += [
                (
                    "random",
                    covering.at_random(
                        sizes,
                        cells=bound,
                        number=number,
                        rng=random(f"random {bound} {number}"),
                    ),
                )
                for number in numbers
                if number <= MAX_VIEWS
            ]
        for kind, one in groups:
            design = Design(kind=kind, cells=bound, groups=tuple(one))
            if sum(design.counts(sizes)) <= MAX_TOTAL_CELLS or len(bounds) == 1:
                designs.setdefault(tuple(sorted(one)), design)
    return list(designs.values())


def _bounds(sizes: Sequence[int], *, attributes: int) -> list[int]:
    """Powers of two from the smallest table of two attributes, or the largest of three, to the largest that
    is worth it."""
    ordered = sorted(size for size in sizes if size > 1)
    least = ordered[:2] if attributes == 2 else ordered[-3:]
    low = max(2, math.prod(least) if least else 2).bit_length()
    low = low if attributes == 2 else min(low, MAX_VIEW_CELLS.bit_length() - 1)
    high = min(MAX_VIEW_CELLS, math.prod(sizes)).bit_length()
    return [1 << power for power in range(low, max(low, high) + 1)]


@dataclass(frozen=True, kw_only=True)
class AssessedDesign:
    """A design and its expected error: the mean, over marginals of k attributes and over k from 3 to 8, of
    the expected sum of squared errors of a marginal, in parts of the sum of squares of the marginal itself.
    noise: what noise adds to it, times the square of the number of records; lost: what no view covers."""

    design: Design
    noise: float
    lost: float

    def error(self, *, rows: int, scale: float = 1.0) -> float:
        """scale: how many times as large the variances are as those by which the design was assessed."""
        return self.noise * scale / rows**2 + self.lost


def assess(design: Design, *, sizes: Sequence[int], variances: Floats) -> AssessedDesign:
    """variances: of the noise in the cells of each view."""
    number = len(sizes)
    effective = np.array([error_forecast.effective_size(size) for size in sizes])
    member = np.zeros((len(design.groups), number), dtype=bool)
    for index, group in enumerate(design.groups):
        member[index, list(group)] = True
    precision = 1 / (np.exp(member @ np.log(effective)) * variances)
    parts = [
        _parts(member[:, chosen], precision, effective[chosen])
        for k in range(min(MIN_K, number), min(MAX_K, number) + 1)
        for chosen in [_marginals(number, k)]
    ]
    noise, lost = np.mean(parts, axis=0).tolist()
    return AssessedDesign(design=design, noise=noise, lost=lost)


@functools.lru_cache(maxsize=512)
def _marginals(number: int, k: int) -> npt.NDArray[np.int64]:
    """Sets of k attributes, one in each row, drawn by a rule that everybody can repeat."""
    rng = np.random.Generator(np.random.PCG64(number * 100 + k))
    sampled = {
        tuple(sorted(rng.choice(number, k, replace=False).tolist())) for _ in range(_SAMPLED)
    }
    marginals = np.array(sorted(sampled), dtype=np.int64)
    marginals.setflags(write=False)
    return marginals


def _parts(
    member: npt.NDArray[np.bool_], precision: Floats, effective: Floats
) -> tuple[float, float]:
    """What noise adds and what is lost, the mean over marginals. member: (views, marginals, k); effective:
    (marginals, k). All sets of attributes of a marginal stand in a row of 2^k, the place of each attribute
    being a bit."""
    marginals, k = effective.shape
    places = member @ (1 << np.arange(k)) + (np.arange(marginals) << k)
    by_set = np.bincount(
        places.ravel(), weights=np.repeat(precision, marginals), minlength=marginals << k
    )
    dimensions = np.ones(marginals << k)
    order = np.zeros(1 << k)
    for bit in range(k):
        halves = by_set.reshape(-1, 2, 1 << bit)
        # Superset sums (fast zeta transform): a view covers every subset of its attributes.
        halves[:, 0] += halves[:, 1]  # a view of a set is one of each of its parts
        within = dimensions.reshape(marginals, -1, 2, 1 << bit)
        within[:, :, 1] *= (effective[:, bit] - 1)[:, None, None]
        order.reshape(-1, 2, 1 << bit)[:, 1] += 1
    covered = by_set > 0
    noise = float((dimensions[covered] / by_set[covered]).sum())
    lost = float(
        (
            PAIR_CONTINGENCY * INTERACTION_DECAY ** (np.tile(order, marginals)[~covered] - 2)
        ).sum()
    )
    return noise / marginals, lost / marginals
