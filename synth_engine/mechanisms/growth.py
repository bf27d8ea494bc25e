"""The public side of a growing Bayesian network: what is known so far, what may be asked next, what an answer teaches.

It sees noisy answers alone. The same answers lead through the same states, so that a run and the later fit agree.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synth_engine.domain import Domain
from synth_engine.marginals import oneway
from synth_engine.marginals.tables import Floats, Margin, fit_margins, shrink_towards
from synth_engine.measurement import Candidate, Clique, Measurement, Noise
from synth_engine.mechanisms import conditional
from synth_engine.mechanisms.model import Codes, Model, Node, Table, generator, whole_weights

POPULATION = 100_000
"""Records drawn from the network so far, from which references for the next choice are counted."""
MOST_CANDIDATES = 2_000
MOST_CELLS = 1 << 24
_UNSEEN = 0.01


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Public bounds of the network: parents of one attribute, and cells of one table."""

    degree: int
    cells: int


class Growth:
    """A network that is grown one attribute at a time from noisy one-way tables."""

    def __init__(self, domain: Domain, limits: Limits, *, oneways: Sequence[Measurement], rows: int) -> None:
        self._domain, self._limits, self._rows = domain, limits, rows
        self._total = max(1, rows)
        self._oneways = {m.clique[0]: self._histogram(m) for m in oneways}
        self._noises = {m.clique[0]: m.noise for m in oneways}
        self._left = list(domain.names)
        self._sizes = domain.sizes
        self._codes: Codes = {}
        self._joints: dict[Clique, Floats] = {}
        self._network: list[Node] = []
        self._tables: list[Table] = []
        root = min(domain.names, key=lambda name: self._sizes[name])
        self._add(Node(attribute=root, parents=()), self._oneways[root])

    def _histogram(self, measurement: Measurement) -> Floats:
        along = self._domain.attribute(measurement.clique[0]).value_count
        return oneway.denoise(measurement.values, noise=measurement.noise, total=self._total, along=along)

    @property
    def left(self) -> int:
        """How many attributes are still to be placed."""
        return len(self._left)

    def choices(self) -> list[Node]:
        """What may come next: every attribute left, alone or with parents among those placed, small tables first."""
        sizes = self._sizes
        alone = [Node(attribute=name, parents=()) for name in self._left]
        found: list[tuple[int, int, Node]] = []
        for size in range(1, min(self._limits.degree, len(self._network)) + 1):
            for parents in itertools.combinations([node.attribute for node in self._network], size):
                cells = math.prod(sizes[name] for name in parents)
                nodes = [Node(attribute=name, parents=parents) for name in self._left]
                found += [(size, cells * sizes[n.attribute], n) for n in nodes]
        found = sorted((one for one in found if one[1] <= self._limits.cells), key=lambda one: one[:2])
        room = np.cumsum([cells for _, cells, _ in found[:MOST_CANDIDATES]]) <= MOST_CELLS
        return alone + [node for fits, (_, _, node) in zip(room, found, strict=False) if fits]

    def candidates(self, choices: Sequence[Node], *, noise: Noise) -> list[Candidate]:
        """The choices with what the network so far, and independence of the rest, lets one expect. The penalty is what
        distance to expect by chance and, of the table's noise, what its shrinkage would not remove."""
        found = []
        for node in choices:
            expected = self._independent(self._joint(node.parents), node.attribute)
            penalty = _by_noise(expected, noise if node.parents else self._noises[node.attribute])
            found.append(
                Candidate(
                    clique=(*node.parents, node.attribute),
                    reference=np.rint(expected).astype(np.int64),
                    penalty=round(penalty + (_by_chance(expected) if node.parents else 0.0)),
                )
            )
        return found

    def learn(self, node: Node, measurement: Measurement | None) -> None:
        """Place an attribute: by a noisy table of it and its parents, or alone by what is known of it."""
        if measurement is None:
            self._add(Node(attribute=node.attribute, parents=()), self._oneways[node.attribute])
            return
        joint = self._joint(node.parents)
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
        """What the attribute's tables with single parents, each less noisy than the whole, say about the whole."""
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
            self._joints[names] = self._counted(names)
        return self._joints[names]

    def _counted(self, names: Clique) -> Floats:
        shape = tuple(self._sizes[name] for name in names)
        place = np.zeros(POPULATION, dtype=np.int64)
        for size, name in zip(shape, names, strict=True):
            place = place * size + self._codes[name]
        counts = np.bincount(place, minlength=math.prod(shape)).reshape(shape)
        expected: Floats = counts.astype(np.float64) * (self._total / POPULATION)
        return expected

    def _add(self, node: Node, table: Floats) -> None:
        weights = whole_weights(table)
        rng = generator("", purpose=("reference", *node.parents, node.attribute))
        given = [self._codes[name] for name in node.parents]
        self._codes[node.attribute] = conditional.draw(weights, given, rows=POPULATION, rng=rng)
        self._network.append(node)
        self._tables.append(Table(clique=(*node.parents, node.attribute), weights=weights))
        self._left.remove(node.attribute)


def _by_chance(expected: Floats) -> float:
    """The expected L1 distance of independent records from their rounded expectation, about."""
    return float(np.where(expected < 0.5, expected, np.sqrt(2 / math.pi * expected)).sum())


def _by_noise(expected: Floats, noise: Noise) -> float:
    """The part of the noise that shrinkage would leave in a table, about: no more than a cell holds."""
    return float(np.minimum(expected, noise.mean_deviation).sum())
