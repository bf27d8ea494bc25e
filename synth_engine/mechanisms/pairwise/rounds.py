"""The estimates between the rounds of a mechanism that asks again and again, and the model that is made of
them in the end.

It sees noisy answers and public facts alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from synth_engine.domain import Domain
from synth_engine.inference import factors
from synth_engine.inference.denoising import denoise_table, expected_table
from synth_engine.inference.factors import Floats, Noisy
from synth_engine.measurement import Candidate, Clique, Measurement, Noise
from synth_engine.mechanisms.pairwise import pairs
from synth_engine.models.model import Model, Table, whole_weights

TYPICAL = 0.16
"""The L1 distance of a pair from independence, as a share of the records, that a table of less weight has to
make up for."""
RECOUNT_SHARE = 0.25
"""A reference is made anew once the expectation has moved by this part of its penalty; until then the room
need not count its table again."""


class Estimates:
    """Tables of all candidates as the answers so far let one expect them."""

    def __init__(self, domain: Domain, columns: Sequence[Measurement]) -> None:
        self._domain = domain
        self._known = pairs.denoise(domain, columns)
        self._merged: dict[Clique, Noisy] = {}
        self._offered: dict[Clique, tuple[Floats, Noise, Candidate]] = {}
        self._tree: dict[Clique, Floats] | None = None
        self._follow()

    def candidates(self, weights: Mapping[Clique, float], *, noise: Noise) -> list[Candidate]:
        """Every table with what is expected of it. A weight below 1 is a handicap: what a typical dependence
        makes of a table counts for as much less."""
        offered = []
        for clique, weight in weights.items():
            table, old = self._expected(clique), self._offered.get(clique)
            # Candidates are reused as long as nothing changed: the room then need not count
            # their tables again.
            if old is None or old[0] is not table or old[1] != noise:
                new = self._candidate(clique, table, noise, weight=weight, old=old and old[2])
                old = self._offered[clique] = table, noise, new
            offered.append(old[2])
        return offered

    def _candidate(
        self,
        clique: Clique,
        table: Floats,
        noise: Noise,
        *,
        weight: float,
        old: Candidate | None,
    ) -> Candidate:
        # The handicap follows from public weights and paid answers, so it may enter the penalty.
        handicap = (1 - weight) * TYPICAL * self._known.total
        new = pairs.candidate(clique, table, deviation=noise.mean_deviation, handicap=handicap)
        if (
            old is not None
            and np.abs(new.reference - old.reference).sum() <= RECOUNT_SHARE * new.penalty
        ):
            return Candidate(clique=clique, reference=old.reference, penalty=new.penalty)
        return new

    def learn(self, answer: Measurement, *, penalty: int) -> bool:
        """Take in a table. Returns whether it showed more than its penalty: what chance and noise alone would
        show."""
        clique, known, before = answer.clique, self._known, self._expected(answer.clique)
        new, merged = Noisy.of(answer), self._merged.get(clique)
        self._merged[clique] = new if merged is None else factors.mean(merged, new)
        parts = {
            smaller: part
            for smaller, part in known.tables.items()
            if len(smaller) < len(clique)
        }
        known.tables[clique] = denoise_table(
            self._merged[clique], known.oneways, parts, total=known.total
        )
        self._follow()
        return float(np.abs(known.tables[clique] - before).sum()) > penalty

    def _expected(self, clique: Clique) -> Floats:
        measured = self._known.tables.get(clique)
        if measured is not None:
            return measured
        if len(clique) == 2:
            return self._pairs[clique]
        return expected_table(
            clique,
            self._known.oneways,
            self._pairs | self._known.tables,
            total=self._known.total,
        )

    def _follow(self) -> None:
        """Pairs that were not measured follow from the tree of the strongest that were."""
        tree, old = pairs.strongest(self._known, self._domain), self._tree
        if (
            old is None
            or tree.keys() != old.keys()
            or any(tree[pair] is not old[pair] for pair in tree)
        ):
            self._tree, self._pairs = tree, pairs.implied(tree, self._known, self._domain)


def final_model(mechanism: str, domain: Domain, measurements: Sequence[Measurement]) -> Model:
    """The tree of the strongest tables, and the tables that were measured, which rows are to have in the
    end."""
    known = pairs.denoise(domain, measurements)
    order = pairs.network(pairs.strongest(known, domain), known.oneways, total=known.total)
    targets = tuple(
        Table(clique=clique, weights=whole_weights(target))
        for clique, target in known.tables.items()
    )
    model = pairs.model(mechanism, domain, rows=known.total, order=order)
    return replace(model, targets=targets)
