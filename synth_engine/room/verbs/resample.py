"""`resample`: as many records of each group as it publicly has, or a public multiple of them, with origins,
or public parts of them, drawn from the group's own origins and a prior.

Law: the Dirichlet-multinomial distribution of each group by itself. Whether the totals of the table are the
declared ones is the same for all neighbours, so refusing other totals reveals nothing
(docs/proofs/resample.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synth_engine.domain import Domain
from synth_engine.domain.invariant_totals import Totals
from synth_engine.domain.resolution import (
    VALUES,
    NearParts,
    near_parts,
    parting_of,
    partings_by_size,
    split_within,
)
from synth_engine.domain.resolution import parting as public_parting
from synth_engine.errors import PrivacyError
from synth_engine.measurement import Query
from synth_engine.privacy import dirichlet_multinomial, resampling
from synth_engine.privacy.dirichlet_multinomial import Resampled, Urn
from synth_engine.privacy.events import DirichletMultinomial
from synth_engine.room import counts
from synth_engine.room.count_cache import CountCache
from synth_engine.room.question import PublicFacts, Question
from synth_engine.room.samplers import Sampler

Codes = tuple[NDArray[np.integer], NDArray[np.integer]]
"""The group and the origin of each record."""


@dataclass(frozen=True)
class _Parts:
    """How coarsely origins are counted, by the name of a parting. of_origin: the part of each origin; near:
    where the part depends on the group, else absent; number: of parts."""

    of_origin: dict[str, NDArray[np.integer]]
    near: dict[str, NearParts]
    number: dict[str, int]


def _parts(domain: Domain, clique: tuple[str, str], partings: Sequence[str]) -> _Parts:
    of_origin = {
        name: np.array(public_parting(domain, clique[1], split_within(name)[0]))
        for name in partings
    }
    near = {
        name: near_parts(domain, *clique, name)
        for name in partings
        if split_within(name)[1] is not None
    }
    number = {
        name: near[name].number if name in near else int(parts.max()) + 1
        for name, parts in of_origin.items()
    }
    return _Parts(of_origin, near, number)


def _required_totals(domain: Domain) -> Totals:
    """The public totals by which groups are drawn anew. Errors: PrivacyError."""
    totals = domain.totals
    if totals is None or domain.unit.max_records > 1:
        raise PrivacyError(
            "groups are drawn anew where their totals are public and a unit has one record"
        )
    if domain.repeats is not None and domain.repeats.cuts(totals.counts):
        raise PrivacyError(
            "a row may stand for as many records as a group has: declare more than the largest total"
        )
    return totals


def question(
    facts: PublicFacts, origin: str, *, event: DirichletMultinomial, parting: str
) -> Question[Codes, Resampled]:
    domain, totals = facts.domain, _required_totals(facts.domain)
    clique = (totals.column, origin)
    group_totals = totals.counts

    # How coarsely the origins of each group are counted follows from the description and its public total
    # alone.
    by_size = partings_by_size(domain, origin, parting or VALUES)
    parts_of = _parts(domain, clique, [name for _, name in by_size])
    part_of_origin, near, part_counts = parts_of.of_origin, parts_of.near, parts_of.number
    group_partings = np.array(
        [parting_of(size, by_size) for size in group_totals], dtype=object
    )
    numbers = [
        part_counts[name] if size else 1
        for name, size in zip(group_partings, group_totals, strict=True)
    ]
    shape = (len(group_totals), max(numbers))
    prior = resampling.required(event, totals=group_totals, origins=numbers)

    def count(cache: CountCache) -> Codes:
        if counts.contingency(cache.rows, clique[:1]).tolist() != list(group_totals):
            raise PrivacyError("the table does not have the totals that were declared public")
        groups, origins = map(cache.rows.codes, clique)
        return groups, origins

    def answer(codes: Codes, sampler: Sampler) -> Resampled:
        groups, origins = codes
        order = np.repeat(np.arange(shape[0]), np.array(group_totals) * event.copies)
        drawn_origins = np.empty(order.size, dtype=np.int64)
        for name in sorted(set(group_partings[order])):
            # The groups of one parting have tables of one width, so they are drawn together.
            members = group_partings[groups] == name
            parts = part_of_origin[name][origins[members]]
            if name in near:
                # Which number a part has may differ between groups, and never between neighbours: the group
                # of a record stays.
                parts = near[name].numbers()[groups[members], parts]
            drawn_origins[group_partings[order] == name] = dirichlet_multinomial.draw_origins(
                groups[members],
                parts,
                parts=prior,
                shape=(shape[0], part_counts[name]),
                urn=Urn(unit=event.unit, copies=event.copies),
                below=sampler.below,
            )
        return Resampled.of(clique, order, drawn_origins, shape=shape)

    return Question(
        query=Query(verb="resample", clique=clique, cells=shape[0] * shape[1], parting=parting),
        event=event,
        count=count,
        answer=answer,
    )
