"""The public side of a growing Bayesian network: what is known so far, what may be asked next, what an answer
teaches.

It sees noisy answers alone. The same answers lead through the same states, so that a run and the later fit
agree.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synth_engine.domain import Domain
from synth_engine.inference import oneway
from synth_engine.inference.tables import Floats, Margin, fit_margins, shrink_towards
from synth_engine.measurement import Candidate, Clique, Counts, Measurement, Noise
from synth_engine.models import conditional
from synth_engine.models.model import Codes, Model, Node, Table, generator, whole_weights

POPULATION = 100_000
"""Records drawn from the network so far, from which references for the next choice are counted."""
MAX_CANDIDATES = 2_000
MAX_CANDIDATE_CELLS = 1 << 24
MAX_CACHED_CELLS = 1 << 23
_UNSEEN = 0.01


@dataclass(frozen=True, kw_only=True)
class NetworkLimits:
    """Public bounds of the network: parents of one attribute, and cells of one table."""

    degree: int
    cells: int


class Expectation:
    """A table as one expects it if its last attribute does not depend on the others, and how far from it a
    table that keeps to it is found."""

    def __init__(self, expected: Floats) -> None:
        self.reference: Counts = np.rint(expected).astype(np.int64)
        self.by_chance = float(
            np.where(expected < 0.5, expected, np.sqrt(2 / math.pi * expected)).sum()
        )
        """The expected L1 distance of independent records from their rounded expectation, about."""
        self._expected = expected.astype(np.float32)
        self._kept_noise = (-1.0, 0.0)

    def kept_noise(self, deviation: float) -> float:
        """The part of noise of that mean deviation a cell that shrinkage would leave in a table, about: no
        more than a cell holds."""
        if self._kept_noise[0] != deviation:
            self._kept_noise = (deviation, float(np.minimum(self._expected, deviation).sum()))
        return self._kept_noise[1]


class NetworkSearch:
    """A network that is grown one attribute at a time from noisy one-way tables."""

    def __init__(
        self,
        domain: Domain,
        limits: NetworkLimits,
        *,
        oneways: Sequence[Measurement],
        rows: int,
    ) -> None:
        self._domain, self._limits, self._rows = domain, limits, rows
        self._total = max(1, rows)
        self._oneways = {m.clique[0]: self._histogram(m) for m in oneways}
        self._deviations = {m.clique[0]: m.noise.mean_deviation for m in oneways}
        self._unplaced = list(domain.names)
        self._sizes = domain.sizes
        self._codes: Codes = {}
        self._joints: dict[Clique, Floats] = {}
        self._expectations: dict[Clique, Expectation] = {}
        self._expected_cells = 0
        self._network: list[Node] = []
        self._tables: list[Table] = []
        # Public: the first attribute is the one with the fewest values, so no choice is
        # paid for.
        root = min(domain.names, key=lambda name: self._sizes[name])
        self._add(Node(attribute=root, parents=()), self._oneways[root])

    def _histogram(self, measurement: Measurement) -> Floats:
        along = self._domain.attribute(measurement.clique[0]).value_count
        return oneway.denoise(
            measurement.values, noise=measurement.noise, total=self._total, along=along
        )

    @property
    def unplaced(self) -> int:
        """How many attributes are still to be placed."""
        return len(self._unplaced)

    def choices(self) -> list[Node]:
        """What may come next: every attribute left, alone or with parents among those placed, small tables
        first."""
        sizes = self._sizes
        alone = [Node(attribute=name, parents=()) for name in self._unplaced]
        options: list[tuple[int, int, str, Clique]] = []
        for size in range(1, min(self._limits.degree, len(self._network)) + 1):
            for parents in itertools.combinations(
                [node.attribute for node in self._network], size
            ):
                cells = math.prod(sizes[name] for name in parents)
                max_size = self._limits.cells // cells
                options += [
                    (size, cells * sizes[name], name, parents)
                    for name in self._unplaced
                    if sizes[name] <= max_size
                ]
        # Small tables first, because the number of candidates is bounded.
        options = sorted(options, key=lambda option: option[:2])[:MAX_CANDIDATES]
        room = np.cumsum([cells for _, cells, _, _ in options]) <= MAX_CANDIDATE_CELLS
        return alone + [
            Node(attribute=option[2], parents=option[3])
            for fits, option in zip(room, options, strict=True)
            if fits
        ]

    def candidates(self, choices: Sequence[Node], *, noise: Noise) -> list[Candidate]:
        """The choices with what the network so far, and independence of the rest, lets one expect. The
        penalty is what distance to expect by chance and, of the table's noise, what its shrinkage would not
        remove."""
        candidates, deviation = [], noise.mean_deviation
        for node in choices:
            known = self._expectation(node)
            penalty = known.kept_noise(
                deviation if node.parents else self._deviations[node.attribute]
            )
            candidates.append(
                Candidate(
                    clique=(*node.parents, node.attribute),
                    reference=known.reference,
                    penalty=round(penalty + (known.by_chance if node.parents else 0.0)),
                )
            )
        return candidates

    def _expectation(self, node: Node) -> Expectation:
        """It stays as it is while the parents do; so it is kept, as long as there is room."""
        clique = (*node.parents, node.attribute)
        known = self._expectations.get(clique)
        if known is None:
            known = Expectation(self._independent(self._joint(node.parents), node.attribute))
            if self._expected_cells + known.reference.size <= MAX_CACHED_CELLS:
                self._expectations[clique] = known
                self._expected_cells += known.reference.size
        return known

    def learn(self, node: Node, measurement: Measurement | None) -> None:
        """Place an attribute: by a noisy table of it and its parents, or alone by what is known of it."""
        if measurement is None:
            self._add(Node(attribute=node.attribute, parents=()), self._oneways[node.attribute])
            return
        joint = self._joint(node.parents)
        # Cells that no drawn record fell into are rare and not impossible.
        joint = (joint + _UNSEEN) * float(joint.sum() / (joint + _UNSEEN).sum())
        baseline = self._pairwise(measurement, joint)
        sigma = math.sqrt(measurement.noise.variance)
        table = shrink_towards(measurement.values, baseline, sigma=sigma)
        self._add(node, fit_margins(table, self._margins(node, joint)))

    def model(self, mechanism: str) -> Model:
        return Model(
            mechanism=mechanism,
            domain=self._domain,
            rows=self._rows,
            tables=tuple(self._tables),
            network=tuple(self._network),
        )

    def _pairwise(self, measurement: Measurement, joint: Floats) -> Floats:
        """What the attribute's tables with single parents, each less noisy than the whole, say about the
        whole."""
        parents, name = measurement.clique[:-1], measurement.clique[-1]
        independent = self._independent(joint, name)
        if len(parents) == 1:
            return independent
        margins: list[Margin] = []
        for axis in range(len(parents)):
            others = tuple(other for other in range(len(parents)) if other != axis)
            merged = math.prod(joint.shape[other] for other in others)
            single = joint.sum(axis=others)
            pair = shrink_towards(
                measurement.values.sum(axis=others),
                self._independent(single, name),
                sigma=math.sqrt(measurement.noise.variance * merged),
            )
            known: list[Margin] = [((0,), single), ((1,), self._oneways[name])]
            margins.append(((axis, len(parents)), fit_margins(pair, known)))
        return fit_margins(independent, [*margins, (tuple(range(len(parents))), joint)])

    def _margins(self, node: Node, joint: Floats) -> list[Margin]:
        last = len(node.parents)
        return [(tuple(range(last)), joint), ((last,), self._oneways[node.attribute])]

    def _independent(self, joint: Floats, name: str) -> Floats:
        expected: Floats = np.multiply.outer(joint, self._oneways[name] / self._total)
        return expected

    def _joint(self, names: Clique) -> Floats:
        """Expected counts of attributes that are placed already, from records drawn from the network."""
        if names not in self._joints:
            self._joints[names] = self._count(names)
        return self._joints[names]

    def _count(self, names: Clique) -> Floats:
        shape = tuple(self._sizes[name] for name in names)
        cell = np.zeros(POPULATION, dtype=np.int64)
        for size, name in zip(shape, names, strict=True):
            cell = cell * size + self._codes[name]
        counts = np.bincount(cell, minlength=math.prod(shape)).reshape(shape)
        expected: Floats = counts.astype(np.float64) * (self._total / POPULATION)
        return expected

    def _add(self, node: Node, table: Floats) -> None:
        weights = whole_weights(table)
        rng = generator("", purpose=("reference", *node.parents, node.attribute))
        given = [self._codes[name] for name in node.parents]
        self._codes[node.attribute] = conditional.draw(weights, given, rows=POPULATION, rng=rng)
        self._network.append(node)
        self._tables.append(Table(clique=(*node.parents, node.attribute), weights=weights))
        self._unplaced.remove(node.attribute)
