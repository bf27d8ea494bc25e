"""Pairs of columns as candidates, and tree models of them: what `mst`, `aim` and `privsyn` share. Public
facts and noisy answers alone."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from synth_engine.domain import Domain
from synth_engine.errors import SpecError
from synth_engine.inference import decomposable, factors
from synth_engine.inference.decomposable import SamplingStep
from synth_engine.inference.denoising import Denoised, TableReading, denoise_tables
from synth_engine.inference.factors import Floats, Noisy
from synth_engine.measurement import (
    MAX_TABLE_CELLS,
    Candidate,
    Clique,
    Measurement,
    Noise,
    Selection,
    Session,
)
from synth_engine.measurement.replay import Replay
from synth_engine.mechanisms.pairwise.network_search import Expectation
from synth_engine.models.model import Model, Node, Table, whole_weights
from synth_engine.plans import budget_allocation
from synth_engine.plans.parameters import ParameterRule
from synth_engine.privacy import noise_scale
from synth_engine.privacy.loss import Budget, Pure
from synth_engine.privacy.unit import Sensitivity

MAX_TOTAL_CELLS = 4_000_000
"""Of all tables together that rows are finished towards."""
MEMORY: ParameterRule = {
    "type": "integer",
    "minimum": 0,
    "maximum": 1_000_000,
    "default": 0,
    "title": "Most memory, in MB",
    "description": "A run that would need more is refused before anything is spent. 0: 2,000.",
}
COLUMNS_SHARE = budget_allocation.parameter(
    "single columns",
    "More of it makes each column more accurate, and relations less. 0: a half where there is"
    " little budget, down to a tenth where there is much.",
)
DEFAULT_MEMORY_MB = 2_000
_DIGITS = 10**9


def of(domain: Domain) -> tuple[Clique, ...]:
    """All pairs that are not too large to be counted."""
    return _small(tuple(domain.sizes.items()))


@functools.lru_cache(maxsize=16)
def _small(sizes: tuple[tuple[str, int], ...]) -> tuple[Clique, ...]:
    return tuple(
        (a, b)
        for (a, m), (b, n) in itertools.combinations(sizes, 2)
        if m * n <= MAX_TABLE_CELLS
    )


def cells(domain: Domain) -> int:
    """Of all these pairs together."""
    sizes = domain.sizes
    return sum(sizes[first] * sizes[second] for first, second in of(domain))


def edges(domain: Domain) -> int:
    """How many pairs the largest forest has; that does not depend on which are taken first."""
    return len(decomposable.spanning_tree(dict.fromkeys(of(domain), 1.0), domain.names))


def require_memory(needed: int, *, megabytes: int, domain: Domain) -> None:
    """Errors: SpecError that names the columns with most values."""
    bound = megabytes or DEFAULT_MEMORY_MB
    if needed <= bound * 10**6:
        return
    largest = sorted(domain.sizes, key=lambda name: -domain.sizes[name])[:3]
    named = ", ".join(f"{name!r} ({domain.sizes[name]:,} values)" for name in largest)
    raise SpecError(
        f"the tables of this method would need about {math.ceil(needed / 10**6):,} MB, and memory_mb "
        f"allows {bound:,}",
        repair=f"describe columns with fewer values or bins, first {named}, or allow more",
    )


def share_of_columns(cap: Budget, domain: Domain) -> Fraction:
    """The less budget there is, the more of it for single columns, from 0.1 to 0.5, in whole hundredths:
    where tables of pairs would hold little but noise, columns are what can still be learned. Of a pure budget
    it goes by the rho of Gaussian noise as wide as Laplace noise on every column would be."""
    rho = (
        float(cap.epsilon) ** 2 / (4 * len(domain.names))
        if isinstance(cap, Pure)
        else float(cap.rho)
    )
    return Fraction(round(100 * min(max(0.12 * rho**-0.17, 0.1), 0.5)), 100)


def column_noises(domain: Domain, budget: Budget, sensitivity: Sensitivity) -> dict[str, Noise]:
    """As `independent` sets them, within this budget."""
    power = 1 / 2 if isinstance(budget, Pure) else 2 / 3
    weights = [Fraction(round(a.size**power * _DIGITS), _DIGITS) for a in domain.modelled]
    parts = noise_scale.split(budget.amount, weights)
    return {
        a.name: budget_allocation.noise(budget.of(part), sensitivity)
        for a, part in zip(domain.modelled, parts, strict=True)
    }


def measure_columns(session: Session, noises: Mapping[str, Noise]) -> list[Measurement]:
    return [session.measure((name,), noise=noise) for name, noise in noises.items()]


def read_columns(given: Replay, domain: Domain) -> list[Measurement]:
    """The stored answers to `measure_columns`. Errors: InputError."""
    return [given.measurement((name,)) for name in domain.names]


def along(domain: Domain) -> dict[str, int]:
    """How many codes of each attribute stand in an order."""
    return {a.name: a.value_count for a in domain.modelled}


def noisy(measurements: Iterable[Measurement]) -> list[Noisy]:
    return [Noisy.of(measurement) for measurement in measurements]


def denoise(
    domain: Domain,
    measurements: Iterable[Measurement],
    *,
    reading: TableReading | None = None,
) -> Denoised:
    """Plausible tables of all that was measured, with the columns and the number of records of this domain.
    reading: how tables of two and more columns are read."""
    return denoise_tables(
        noisy(measurements),
        sizes=domain.sizes,
        along=along(domain),
        rows=domain.rows,
        reading=reading,
    )


def candidate(
    clique: Clique, expected: Floats, *, deviation: float, handicap: float = 0.0
) -> Candidate:
    """A clique and what is expected of it so far. The penalty is the distance that chance alone makes and, of
    noise of that mean deviation, what would be left in its table: without it large sparse tables win for
    being sparse."""
    known = Expectation(expected)
    penalty = known.by_chance + known.kept_noise(deviation) + handicap
    return Candidate(clique=clique, reference=known.reference, penalty=round(penalty))


class Forest:
    """Pairs taken so far, and which attributes they connect."""

    def __init__(self, names: Sequence[str]) -> None:
        self.taken: list[Clique] = []
        self._groups = {name: name for name in names}

    def connects(self, pair: Clique) -> bool:
        """Whether the pair joins two parts that are not connected yet."""
        return self._groups[pair[0]] != self._groups[pair[1]]

    def take(self, pair: Clique) -> None:
        new, old = self._groups[pair[0]], self._groups[pair[1]]
        self._groups = {
            name: new if group == old else group for name, group in self._groups.items()
        }
        self.taken.append(pair)


def read_forest(given: Replay, names: Sequence[str]) -> list[Clique]:
    """The pairs that stored selections take, each of which connects two parts. Errors: InputError."""
    forest = Forest(names)
    while given.comes(Selection):
        pair = given.selected()
        given.require(len(pair) == 2 and set(pair) <= set(names) and forest.connects(pair))
        forest.take(pair)
    return forest.taken


def network(
    tables: Mapping[Clique, Floats], oneways: Mapping[str, Floats], *, total: float
) -> list[SamplingStep]:
    """The order of drawing of a tree of pairs, and of the columns that no pair holds."""
    covered = {name for pair in tables for name in pair}
    alone: dict[Clique, Floats] = {
        (name,): table for name, table in oneways.items() if name not in covered
    }
    return decomposable.sampling_order({**tables, **alone}, total=total)


def strength(table: Floats) -> float:
    """How far a pair is from independence: total variation distance times two and the number of records."""
    total = max(float(table.sum()), 1.0)
    return float(
        np.abs(table - np.multiply.outer(table.sum(axis=1), table.sum(axis=0)) / total).sum()
    )


def strongest(known: Denoised, domain: Domain) -> dict[Clique, Floats]:
    """The tree of the pairs that depend most on each other, of those that were measured or lie within a
    larger table."""
    tables: dict[Clique, Floats] = {}
    # Pairs that were measured by themselves come before margins of larger tables.
    for clique, table in sorted(known.tables.items(), key=lambda item: len(item[0])):
        for pair in itertools.combinations(clique, 2):
            tables.setdefault(pair, factors.margin(table, clique, pair))
    weights = {pair: strength(table) for pair, table in tables.items()}
    return {pair: tables[pair] for pair in decomposable.spanning_tree(weights, domain.names)}


def implied(
    tree: Mapping[Clique, Floats], known: Denoised, domain: Domain
) -> dict[Clique, Floats]:
    """The tables of all pairs that could be asked for as the tree has them, with their columns in the order
    of the domain."""
    position = {name: number for number, name in enumerate(domain.names)}
    order = network(tree, known.oneways, total=known.total)
    tables = decomposable.pair_tables(order, total=known.total, largest=MAX_TABLE_CELLS)
    return {
        (a, b) if position[a] < position[b] else (b, a): table
        if position[a] < position[b]
        else table.T
        for (a, b), table in tables.items()
    }


def model(mechanism: str, domain: Domain, *, rows: int, order: Sequence[SamplingStep]) -> Model:
    """The stored form of a network."""
    return Model(
        mechanism=mechanism,
        domain=domain,
        rows=rows,
        tables=tuple(
            Table(clique=(*step.parents, step.attribute), weights=whole_weights(step.table))
            for step in order
        ),
        network=tuple(Node(attribute=step.attribute, parents=step.parents) for step in order),
    )
