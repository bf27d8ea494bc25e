"""The one way to ask about rows: admit, journal, count, noise; in that order, every time.

A question over the cap is refused before rows are looked at. One that was admitted stays in the journal and
stays paid for, even if counting fails afterwards.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from synth_engine.codec import prefixes
from synth_engine.confidential import counts, discovery, growth, noise, selection
from synth_engine.confidential.rows import Rows
from synth_engine.confidential.selection import SelectionLaw
from synth_engine.domain import Domain, Weak, WeakBasket
from synth_engine.domain.resolution import VALUES, way_of
from synth_engine.domain.resolution import parting as public_parting
from synth_engine.domain.resolution import ways as public_ways
from synth_engine.errors import PrivacyError
from synth_engine.hierarchy import Growth, Hierarchy, NodeSet, Rule, draw_distinct
from synth_engine.hierarchy.growth import MAX_NODES
from synth_engine.measurement import (
    Call,
    Candidate,
    Clique,
    Counts,
    Discovery,
    GroupSizes,
    Leaves,
    Measurement,
    Merged,
    Noise,
    Query,
    Scores,
)
from synth_engine.privacy import dirichlet_multinomial, resampling, trees
from synth_engine.privacy.events import (
    DirichletMultinomial,
    Event,
    Gumbel,
    PermuteAndFlip,
    ThresholdTree,
)
from synth_engine.privacy.filter import Filter
from synth_engine.privacy.loss import Loss, Pure
from synth_engine.privacy.unit import (
    group_sizes_sensitivity,
    histogram_sensitivity,
    interaction_sensitivity,
    items_sensitivity,
    levels_sensitivity,
    scores_sensitivity,
)

MAX_TABLE_CELLS = 1_000_000
MAX_REFERENCE_COUNT = 2**40
MAX_DISTANCE = noise.MAX_COUNT // 2  # public, so that no score fails the sampler's own check


class Sampler(growth.Sampler, Protocol):
    """Where randomness comes from. Tests replace it by one that walks through every outcome."""

    def choose(self, scores: Counts, *, scale: Fraction, law: SelectionLaw) -> int: ...

    def discover(
        self, tally: dict[int, int], *, size: int, threshold: int, noise: Noise
    ) -> list[tuple[int, int]]: ...

    def below(self, bounds: Counts) -> Counts: ...


class SecureSampler:
    """The exact samplers of `noise`, `selection`, `discovery` and `growth`."""

    below = staticmethod(growth.uniform)

    def counts(self, vector: Counts, noise_: Noise) -> Counts:
        return noise.noisy(vector, noise_)

    def choose(self, scores: Counts, *, scale: Fraction, law: SelectionLaw) -> int:
        return selection.choose(scores, scale=scale, law=law)

    def discover(
        self, tally: dict[int, int], *, size: int, threshold: int, noise: Noise
    ) -> list[tuple[int, int]]:
        def noisy(values: list[int]) -> list[int]:
            noisy_counts: list[int] = self.counts(
                np.array(values, dtype=np.int64), noise
            ).tolist()
            return noisy_counts

        return discovery.discover_values(
            tally, size=size, threshold=threshold, scale=noise.scale, noisy=noisy
        )

    def passing(self, scores: Counts, *, threshold: int, noise: Noise) -> NDArray[np.bool_]:
        return growth.passing(scores, threshold=threshold, noise=noise, noisy=self.counts)

    def above_threshold(self, vector: Counts, *, threshold: int, noise: Noise) -> Counts:
        return growth.threshold_counts(
            vector, threshold=threshold, noise=noise, noisy=self.counts
        )

    def part(self, sizes: Counts, number: int) -> Counts:
        return draw_distinct(sizes, number, uniform=growth.uniform)


class RoomSession:
    """A Session over rows. Made by `open_session`."""

    def __init__(
        self,
        rows: Rows,
        *,
        domain: Domain,
        cap: Loss,
        sampler: Sampler,
        planned: tuple[Call, ...] = (),
    ) -> None:
        self._rows, self._domain, self._sampler, self._planned = rows, domain, sampler, planned
        self._filter = Filter(cap)
        self._sensitivity = histogram_sensitivity(domain.unit, domain.relation)
        self._journal: list[Call] = []
        self._distances: dict[tuple[Clique, int], tuple[weakref.ref[Counts], int]] = {}
        self._sorted: dict[tuple[Clique, bool], counts.Sorted] = {}

    @property
    def domain(self) -> Domain:
        return self._domain

    @property
    def calls(self) -> tuple[Call, ...]:
        return tuple(self._journal)

    @property
    def spent(self) -> Loss:
        return self._filter.spent

    def __repr__(self) -> str:
        return f"<session: {len(self._journal)} calls>"

    def __reduce__(self) -> str:
        raise PrivacyError("a session cannot be copied or stored")

    def measure(
        self, clique: Clique, *, noise: Noise, merged: Merged | None = None
    ) -> Measurement:
        """Every cell of the clique's table, empty or not, plus independent noise. The table of the empty clique is
        the number of records. A record falls into one bin as it falls into one code, so merging moves nothing more."""
        shape = self._shape(clique, merged)
        query = Query(
            verb="measure",
            clique=clique,
            cells=int(np.prod(shape)),
            bins=shape if merged else None,
        )
        self._admit(query, noise.event(self._sensitivity))
        table = counts.contingency(self._rows, clique, merged=merged)
        values = self._sampler.counts(table.ravel(), noise).reshape(shape)
        return Measurement(clique=clique, noise=noise, values=values)

    def interaction(
        self, clique: Clique, *, noise: Noise, merged: Merged | None = None
    ) -> Measurement:
        """What of the clique's table its sums do not tell, in whole numbers, plus independent noise on each cell."""
        shape = self._shape(clique, merged)
        moving = interaction_sensitivity(self._domain.unit, self._domain.relation, sizes=shape)
        self._admit(
            Query(verb="interaction", clique=clique, cells=int(np.prod(shape)), bins=shape),
            noise.event(moving),
        )
        table = counts.interaction(counts.contingency(self._rows, clique, merged=merged))
        values = self._sampler.counts(table.ravel(), noise).reshape(shape)
        return Measurement(clique=clique, noise=noise, values=values, interaction=True)

    def select(self, candidates: Sequence[Candidate], *, scale: Fraction) -> int:
        """The index of a candidate whose true counts are far, in L1, from its public reference: by more than its
        public penalty, or at least by more than the others."""
        query = self._about("select", candidates)
        law, kind = self._choosing()
        self._admit(query, kind(scale=scale, linf=self._sensitivity.linf))
        return self._sampler.choose(self._scores(candidates), scale=scale, law=law)

    def select_split(
        self, chosen: Clique, candidates: Sequence[str], *, scale: Fraction
    ) -> int:
        """The index of a column that leaves many records in the largest class of their group, where the groups of `chosen`
        are divided by it. Records that are added raise every such number or none (docs/proofs/refine.md)."""
        cliques = tuple((*chosen, name) for name in candidates)
        if not cliques or any(len(set(clique)) != len(clique) for clique in cliques):
            raise PrivacyError("groups are divided by columns that they do not have yet")
        query = Query(
            verb="refine",
            candidates=cliques,
            cells=sum(int(np.prod(self._shape(clique))) for clique in cliques),
        )
        law, kind = self._choosing()
        self._admit(query, kind(scale=scale, linf=self._sensitivity.linf, monotonic=True))
        sizes_of_largest_classes = [
            counts.largest_classes(counts.contingency(self._rows, clique)) for clique in cliques
        ]
        return self._sampler.choose(
            np.array(sizes_of_largest_classes, dtype=np.int64), scale=scale, law=law
        )

    def _choosing(self) -> tuple[SelectionLaw, type[PermuteAndFlip | Gumbel]]:
        """By which law an index is chosen under this cap, and its event."""
        return (
            ("permute-and-flip", PermuteAndFlip)
            if isinstance(self._filter.cap, Pure)
            else ("gumbel", Gumbel)
        )

    def score(self, candidates: Sequence[Candidate], *, noise: Noise) -> Scores:
        """The distance of every candidate's true counts from its public reference, less its public penalty, plus
        independent noise on each. One record may move all of them, each as far as it moves a table."""
        query = self._about("score", candidates)
        self._admit(
            query, noise.event(scores_sensitivity(self._sensitivity, number=len(candidates)))
        )
        return Scores(noise=noise, values=self._sampler.counts(self._scores(candidates), noise))

    def group_sizes(self, *, noise: Noise) -> GroupSizes:
        """A cell for each number of records that a unit may have, empty or not, plus independent noise on each."""
        unit = self._domain.unit
        if unit.column is None:
            raise PrivacyError("group sizes need a column that says to whom a record belongs")
        event = noise.event(group_sizes_sensitivity(self._domain.relation))
        self._admit(Query(verb="group-sizes", cells=unit.max_records), event)
        return GroupSizes(
            noise=noise, values=self._sampler.counts(counts.group_sizes(self._rows), noise)
        )

    def discover(self, name: str, *, noise: Noise, threshold: int) -> Discovery:
        """What `measure` of the whole public set would say of the values that reach the threshold; neither time nor answer
        depends on how large the set is, and nothing tells a value that somebody has from one that nobody has."""
        attribute = self._domain.attribute(name)
        if not isinstance(attribute, Weak):
            raise PrivacyError("only the values of a weak attribute are discovered")
        if noise.law != "discrete-laplace":
            raise PrivacyError("values are discovered with discrete Laplace noise")
        size = attribute.population
        discovery.require(size=size, threshold=threshold, scale=noise.scale)
        query = Query(verb="discover", clique=(name,), cells=size, threshold=threshold)
        self._admit(query, noise.event(self._sensitivity))
        tally = counts.by_rank(self._rows, name)
        ranked_counts = self._sampler.discover(
            tally, size=size, threshold=threshold, noise=noise
        )
        return Discovery(
            attribute=name, noise=noise, threshold=threshold, ranked_counts=tuple(ranked_counts)
        )

    def grow(
        self, columns: Clique, *, rule: Rule, noise: Noise, together: bool = True
    ) -> Growth:
        """Under the basic rule what `measure` of every depth would say, where it was looked at. Under the others which nodes
        are opened and no count, at a price that knows no depth (docs/proofs/grow.md). together: points are halved along all
        coordinates at once, not along one after another."""
        hierarchy = prefixes.hierarchy(self._domain, columns, together=together)
        if rule.depth > hierarchy.depth:
            raise PrivacyError("the tree is deeper than its hierarchy")
        branching, cells = hierarchy.branching(rule.depth), hierarchy.cells(rule.depth)
        query = Query(verb="grow", clique=columns, cells=cells, rule=rule, branching=branching)
        self._admit(query, self._growing(rule, noise))
        leaves = self._leaves_of(hierarchy, together)
        return growth.grow_tree(
            leaves, hierarchy=hierarchy, rule=rule, noise=noise, sampler=self._sampler
        )

    def _growing(self, rule: Rule, noise: Noise) -> Event:
        if rule.name == "basic":
            return noise.event(levels_sensitivity(self._sensitivity, levels=rule.depth))
        if noise.law != "discrete-laplace":
            raise PrivacyError(
                "nodes are opened without counts under discrete Laplace noise alone"
            )
        if rule.name == "improved" and rule.discount < trees.least_discount(
            scale=noise.scale, threshold=rule.threshold
        ):
            raise PrivacyError("the discount is below its bound")
        shape = {"threshold": rule.least, "discount": rule.discount}
        return ThresholdTree(scale=noise.scale, l1=self._sensitivity.l1 * rule.parts, **shape)

    def leaves(
        self,
        partition: NodeSet,
        *,
        noise: Noise,
        by: Clique = (),
        threshold: int | None = None,
        together: bool = True,
    ) -> Leaves:
        """A table of counts with a row for each part: a record is in one at most (docs/proofs/leaves.md)."""
        hierarchy = prefixes.hierarchy(self._domain, partition.columns, together=together)
        partition.check(hierarchy)
        shape = (len(partition), *self._shape(by))
        cells = len(partition) * int(np.prod(shape[1:]))
        if cells > MAX_NODES or set(by) & set(partition.columns):
            raise PrivacyError(
                f"leaves have at most {MAX_NODES:,} cells, and are counted by other columns than theirs"
            )
        if threshold is not None and (threshold < 1 or noise.law != "discrete-laplace"):
            raise PrivacyError("leaves are kept from 1 on, with discrete Laplace noise")
        query = Query(
            verb="leaves",
            clique=partition.columns,
            by=by,
            parts=shape[0],
            cells=cells,
            threshold=threshold,
        )
        self._admit(query, noise.event(self._sensitivity))
        known = None if by else self._leaves_of(hierarchy, together)
        table = counts.by_part(self._rows, hierarchy, partition, by=by, leaves=known)
        if threshold is None:
            values = self._sampler.counts(table, noise)
        else:
            values = self._sampler.above_threshold(table, threshold=threshold, noise=noise)
        return Leaves(
            partition=partition,
            by=by,
            noise=noise,
            threshold=threshold,
            values=values.reshape(shape),
        )

    def _leaves_of(self, hierarchy: Hierarchy, together: bool) -> counts.Sorted:
        """Codes of one hierarchy, sorted once for as long as nothing is asked of another; the rows do not change."""
        key = (hierarchy.columns, together)
        if key not in self._sorted:
            self._sorted.clear()
            self._sorted[key] = counts.by_leaf(self._rows, hierarchy)
        return self._sorted[key]

    def items(self, name: str, *, noise: Noise) -> Measurement:
        """Weighted counts of all items of the public set, whether anybody has them or not."""
        attribute = self._domain.attribute(name)
        if not isinstance(attribute, WeakBasket):
            raise PrivacyError("only the items of a weak basket are counted")
        query = Query(verb="items", clique=(name,), cells=attribute.values.size)
        self._admit(query, noise.event(items_sensitivity(self._sensitivity)))
        votes = counts.items(self._rows, name, squared=noise.law != "discrete-laplace")
        return Measurement(
            clique=(name,), noise=noise, values=self._sampler.counts(votes, noise)
        )

    def resample(
        self, origin: str, *, event: DirichletMultinomial, parting: str = ""
    ) -> dirichlet_multinomial.Resampled:
        """Each group drawn anew. Whether its total is as declared is the same for all neighbours (docs/proofs/resample.md)."""
        totals = self._domain.totals
        if totals is None or self._domain.unit.max_records > 1:
            raise PrivacyError(
                "groups are drawn anew where their totals are public and a unit has one record"
            )
        if self._domain.repeats is not None and self._domain.repeats.cuts(totals.counts):
            raise PrivacyError(
                "a row may stand for as many records as a group has: declare more than the largest total"
            )
        clique = (totals.column, origin)
        ways = public_ways(
            self._domain, origin, parting or VALUES
        )  # this and what follows of the description alone
        parted = {
            name: np.array(public_parting(self._domain, origin, name)) for _, name in ways
        }
        way = np.array([way_of(size, ways) for size in totals.counts], dtype=object)
        numbers = [
            int(parted[name].max()) + 1 if size else 1
            for name, size in zip(way, totals.counts, strict=True)
        ]
        shape = (len(totals.counts), max(numbers))
        parts = resampling.required(event, totals=totals.counts, origins=numbers)
        self._admit(
            Query(verb="resample", clique=clique, cells=math.prod(shape), parting=parting),
            event,
        )
        if counts.contingency(self._rows, clique[:1]).tolist() != list(totals.counts):
            raise PrivacyError("the table does not have the totals that were declared public")
        groups, origins = map(self._rows.codes, clique)
        order = np.repeat(np.arange(shape[0]), np.array(totals.counts))
        drawn_origins = np.empty(order.size, dtype=np.int64)
        for name in sorted(set(way[order])):  # groups of each way by themselves
            mine, of = way[groups] == name, (shape[0], int(parted[name].max()) + 1)
            drawn_origins[way[order] == name] = dirichlet_multinomial.draw_origins(
                groups[mine],
                parted[name][origins[mine]],
                parts=parts,
                shape=of,
                unit=event.unit,
                below=self._sampler.below,
            )
        return dirichlet_multinomial.Resampled.of(clique, order, drawn_origins, shape=shape)

    def resolve(self, domain: Domain) -> None:
        """Counts the rows under what was learned from now on. The caller chose `domain` from public facts and paid
        answers alone; that nothing but open attributes differs is checked. It asks nothing, so it costs nothing."""
        self._rows = self._rows.resolve(domain)
        self._domain = domain
        self._distances.clear()
        self._sorted.clear()

    def _about(
        self, verb: Literal["select", "score"], candidates: Sequence[Candidate]
    ) -> Query:
        """The question about these candidates, whose shapes and sizes are checked."""
        if not candidates:
            raise PrivacyError("a selection needs candidates")
        cells = 0
        for candidate in candidates:
            reference = candidate.reference
            if not candidate.clique or reference.shape != self._shape(
                candidate.clique, candidate.merged
            ):
                raise PrivacyError("a reference has another shape than its clique")
            largest = max(int(reference.max()), -int(reference.min()), abs(candidate.penalty))
            if largest > MAX_REFERENCE_COUNT or int(np.abs(reference).sum()) > MAX_DISTANCE:
                raise PrivacyError("a reference holds counts that are too large")
            cells += reference.size
        return Query(
            verb=verb,
            candidates=tuple(candidate.clique for candidate in candidates),
            cells=cells,
        )

    def _scores(self, candidates: Sequence[Candidate]) -> Counts:
        return np.array(
            [self._distance(candidate) - candidate.penalty for candidate in candidates],
            dtype=np.int64,
        )

    def _distance(self, candidate: Candidate) -> int:
        """Counted once for each reference array for as long as somebody holds it: it and the rows do not change."""
        clique, reference, merged = candidate.clique, candidate.reference, candidate.merged
        key = (clique, id(reference))
        known = self._distances.get(key)
        if merged or known is None or known[0]() is not reference:
            distance = int(
                np.abs(counts.contingency(self._rows, clique, merged=merged) - reference).sum()
            )
            known = (weakref.ref(reference), distance)
            self._distances |= {} if merged else {key: known}
        return known[1]

    def _shape(self, clique: Clique, merged: Merged | None = None) -> tuple[int, ...]:
        """Errors: PrivacyError for bins that are not of these attributes, or of which one has no code."""
        shape = dict(zip(clique, self._domain.shape(clique), strict=True))
        for name, bins in (merged or {}).items():
            used = np.unique(bins)
            if bins.shape != (shape.get(name),) or not np.array_equal(
                used, np.arange(used.size)
            ):
                raise PrivacyError(
                    "codes are merged into bins numbered from 0 on, none of them empty"
                )
            shape[name] = used.size
        if np.prod(list(shape.values()), dtype=float) > MAX_TABLE_CELLS:
            raise PrivacyError(f"a table has from 1 to {MAX_TABLE_CELLS:,} cells")
        return tuple(shape.values())

    def _admit(self, query: Query, event: Event) -> None:
        call = Call(query=query, event=event)
        if self._planned and self._planned[len(self._journal) : len(self._journal) + 1] != (
            call,
        ):
            raise PrivacyError("this call is not the next one planned")
        self._filter.admit(event)
        self._journal.append(call)


def open_session(
    rows: Rows,
    *,
    domain: Domain,
    cap: Loss,
    sampler: Sampler | None = None,
    planned: tuple[Call, ...] = (),
) -> RoomSession:
    """A session under a cap that was charged beforehand. The rows were truncated by unit when they were opened, so
    they must have been opened under this very domain. planned: the calls of a static plan; then nothing else, and
    nothing in another order, is answered, because what certifies them certifies this list alone."""
    if rows.domain != domain:
        raise PrivacyError("the rows were opened under another domain")
    return RoomSession(
        rows, domain=domain, cap=cap, sampler=sampler or SecureSampler(), planned=planned
    )
