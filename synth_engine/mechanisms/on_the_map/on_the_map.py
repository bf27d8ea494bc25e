"""Groups with public totals drawn anew, as the first formally private synthetic release was made: commutes by
destination."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from synth_engine.domain import MAX_PLACED_CODES, Domain
from synth_engine.domain.partitions import MAX_NAME_LENGTH
from synth_engine.domain.resolution import (
    VALUES,
    named,
    part_count,
    parting_of,
    partings_by_size,
    split_within,
)
from synth_engine.errors import DomainError, SpecError
from synth_engine.inference import error_forecast
from synth_engine.inference.error_forecast import ErrorForecast
from synth_engine.measurement import Call, Query, Session
from synth_engine.measurement.replay import Replay
from synth_engine.mechanisms.on_the_map import disaggregation, resolution
from synth_engine.mechanisms.on_the_map.resolution import Priors
from synth_engine.models.model import Model, Table, whole_weights
from synth_engine.models.sparse_table import SparseTable
from synth_engine.plans import resources
from synth_engine.plans.parameters import ParameterSchema
from synth_engine.plans.plan import Budget, Mechanism, Plan, Rule
from synth_engine.plans.resources import ResourceEstimate
from synth_engine.privacy import disclosure, resampling
from synth_engine.privacy.dirichlet_multinomial import MAX_URN_BALLS, Resampled
from synth_engine.privacy.events import DirichletMultinomial
from synth_engine.privacy.loss import Basic, Pure
from synth_engine.privacy.unit import Relation
from synth_engine.references import PublicTable
from synth_engine.spec import Spec

MIN_EPSILON_WITH_DELTA = Fraction(1, 2)
AUTO = "auto"
_WEIGHED = 9e-7
"""Seconds of one group and one part in the filter."""
MAX_DENSE_CELLS = 1 << 20
"""Cells of a model that are all written down; of more, those that are not empty."""
Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class OnTheMap(Mechanism):
    """Of each group of records, such as those who work in one block, as many as it publicly has, with the
    other column drawn from the group's own counts and a prior.

    Asks: one `resample` of the column without totals, by its values or by public parts of them, within the
    column with totals
        (static).
    Privacy: the least prior of each size of groups for which the group has at most delta at epsilon, or a
    larger one of the
        paper; replace-one with the totals of one column kept. Proofs: docs/proofs/on-the-map.md,
            docs/proofs/resample.md.
    Public assumptions: the domain with its totals, points and partitions, the unit, the relation, the
    parameters.
    """

    id: ClassVar[str] = "on-the-map"
    has_columns: ClassVar[bool] = False
    title: ClassVar[str] = "Groups with public totals"
    summary: ClassVar[str] = (
        "For two columns, such as home and work, where it is public how many records have each value of "
        "one of them: the other is drawn anew within every group, from its own records and a prior."
    )
    paper: ClassVar[str] = (
        "Machanavajjhala, Kifer, Abowd, Gehrke and Vilhuber 2008 (On the map)"
    )
    keeps: ClassVar[tuple[str, ...]] = (
        "the public totals, exactly",
        "the other column within large groups",
    )
    parameters: ClassVar[ParameterSchema] = {
        "type": "object",
        "properties": {
            "parts": {
                "type": "string",
                "default": AUTO,
                "title": "Parts of origins",
                "description": "How finely origins are counted: auto, values, a partition of the "
                "description by its name, "
                'cells of public points such as "64 cells", either of them near a group alone, such as '
                '"tract within 30 miles", or two of these by public size of group, such as "town; tract '
                'from 100". Fewer parts need less prior; within a part records are placed by public weight '
                "and distance.",
            },
            "prior": {
                "type": "string",
                "enum": ["least", "programme", "zero-sample"],
                "default": "least",
                "title": "Prior",
                "x-labels": {
                    "least": "The least for this epsilon and delta",
                    "programme": "By a linear programme",
                    "zero-sample": "As published (Theorem 4.4)",
                },
                "description": "How large the prior is. The last two bound the chance of a disclosure as "
                "the paper does, and need more of it than the guarantee does.",
            },
            "copies": {
                "type": "integer",
                "minimum": 1,
                "maximum": 20,
                "default": 1,
                "title": "Records drawn for each",
                "description": "So many times as many records are drawn as there are, with the public "
                "totals as many times. More show less of the chance of one draw, and need more prior at "
                "the same epsilon and delta.",
            },
            "filter": {
                "type": "boolean",
                "default": True,
                "title": "Filter",
                "description": "Where the description has points of both columns, what the prior added "
                "where few can come from is moved to where more can, by distance alone. It costs nothing.",
            },
            "decay": {
                "type": "string",
                "enum": ["fitted", "public"],
                "default": "fitted",
                "title": "Decay of the filter",
                "x-labels": {
                    "fitted": "Fitted to what was drawn",
                    "public": "The public decay alone",
                },
                "description": "By what the filter tells records from prior. Fitted: distance, where many "
                "come from, and what places near each other have in common; groups are drawn towards it as "
                "far as those of their size are alike.",
            },
            "decay_miles": {
                "type": "number",
                "minimum": 0.1,
                "maximum": 10_000,
                "default": 6,
                "title": "Decay, in miles",
                "description": "Publicly known: over how many miles records become rarer by a factor of 2.7.",
            },
            "farthest_miles": {
                "type": "number",
                "minimum": 0,
                "maximum": 13_000,
                "default": 0,
                "title": "Farthest, in miles",
                "description": "Pairs farther apart are left out of what is drawn, as a public rule. 0: "
                "none.",
            },
        },
        "additionalProperties": False,
    }
    relations: ClassVar[tuple[Relation, ...]] = (Relation.REPLACE_ONE,)
    most_codes: ClassVar[int] = MAX_PLACED_CODES
    losses: ClassVar[tuple[str, ...]] = ("pure", "approximate")
    kind: ClassVar[Literal["static", "adaptive"]] = "static"
    takes_prior: ClassVar[bool] = True
    prior_key: ClassVar[str] = "earlier"
    takes_open: ClassVar[bool] = (
        True  # by refusing them: groups and origins have to be known beforehand
    )

    parts: str = AUTO
    prior: str = "least"
    copies: int = 1
    filter: bool = True
    decay: str = "fitted"
    decay_miles: float = 6
    farthest_miles: float = 0

    @classmethod
    def suits(cls, domain: Domain) -> bool:
        return domain.totals is not None and len(domain.names) == 2 and not domain.undeclared

    def resolve_defaults(self, spec: Spec, *, rule: Rule) -> OnTheMap:
        if rule == "zcdp" and spec.delta:
            raise SpecError(
                "on-the-map has a delta that an account of rho does not count",
                repair="use a basic account, or a delta of 0",
            )
        return self

    def calibrate(self, domain: Domain, spec: Spec, *, within: Budget | None = None) -> Plan:
        totals = domain.totals
        if within is not None or totals is None or not self.suits(domain):
            raise SpecError(
                "on-the-map needs two columns of known values, with the public totals of one of them",
                repair='give "totals" in the description, and leave other columns out',
            )
        if spec.delta and spec.epsilon < MIN_EPSILON_WITH_DELTA:
            raise SpecError(
                "on-the-map has no form with a delta below epsilon 0.5",
                repair="use a delta of 0",
            )
        if domain.repeats is not None and domain.repeats.cuts(totals.counts):
            raise SpecError(
                "a row may stand for fewer records than the largest public total: cut rows would make "
                "other totals",
                repair="describe repeats with a most above the largest total",
            )
        origin = next(name for name in domain.names if name != totals.column)
        clique = (totals.column, origin)
        name, event = self._resolution(domain, spec, clique)
        cells = domain.sizes[clique[0]] * event.origins
        _require_drawable(event, clique, cells=cells, totals=totals.counts)
        if domain.cells(clique) > MAX_DENSE_CELLS and domain.constraints:
            raise SpecError(
                f"constraints are not kept in more than {MAX_DENSE_CELLS:,} cells",
                repair="leave them out, or merge values into larger areas",
            )
        call = Call(
            query=Query(verb="resample", clique=clique, cells=cells, parting=name), event=event
        )
        return OnTheMapPlan(config=self, domain=domain, spec=spec, calls=(call,), event=event)

    def _resolution(
        self, domain: Domain, spec: Spec, clique: tuple[str, str]
    ) -> tuple[str, DirichletMultinomial]:
        """The name of the parting, and the prior of each size of groups, by public facts alone."""
        sizes, name = resampling.groups(_public_totals(domain)), self.parts
        options = self._options(domain, spec, clique) if name == AUTO else {}
        if name == AUTO:
            two = resolution.best(tuple(options.values()), _public_totals(domain))
            name = (
                named(two)
                if partings_by_size(domain, clique[1], named(two)) == two
                else two[0][1]
            )
        try:
            by_size = partings_by_size(domain, clique[1], name)
            numbers = {
                resolution_name: part_count(domain, *clique, resolution_name)
                for _, resolution_name in by_size
            }
        except DomainError as error:
            raise SpecError(error.rule, repair=error.repair) from error
        if len(name) > MAX_NAME_LENGTH:
            raise SpecError(
                "the name of the parts is too long for a receipt",
                repair="name partitions shortly",
            )
        of = {n: parting_of(n, by_size) for n in sizes}
        priors = Priors()
        for resolution_name in set(of.values()):
            mine = tuple(n for n in sizes if of[n] == resolution_name)
            known = (
                options[resolution_name].priors
                if options
                else self._priors(spec, sizes=mine, origins=numbers[resolution_name])
            )
            priors |= {n: known[n] for n in mine}
        event = self._event(spec, origins={n: numbers[of[n]] for n in sizes}, priors=priors)
        return "" if name == VALUES else name, event

    def _options(
        self, domain: Domain, spec: Spec, clique: tuple[str, str]
    ) -> dict[str, resolution.Resolution]:
        """Ways to count by. Parts that somebody declared are better than cells of points, which are looked at
        where nothing is declared."""
        placed = set(clique) <= {points.column for points in domain.points}
        sizes, options = resampling.groups(_public_totals(domain)), {}
        for name, number in disaggregation.partings_of(
            domain, clique[1], located=placed
        ).items():
            priors = self._priors(spec, sizes=sizes, origins=number)
            options[name] = resolution.Resolution(
                name=name, parts=number, priors=priors, unit=resampling.UNIT
            )
        return options

    def _event(
        self, spec: Spec, *, origins: dict[int, int], priors: Priors
    ) -> DirichletMultinomial:
        """origins: of each size of groups, how many there are."""
        max_parts = max(origins.values())
        entries = (
            (n, priors[n]) if number == max_parts else (n, priors[n], number)
            for n, number in sorted(origins.items())
        )
        return DirichletMultinomial(
            epsilon=spec.epsilon,
            delta=spec.delta,
            origins=max_parts,
            unit=resampling.UNIT,
            priors=tuple(entries),
            copies=self.copies,
        )

    def _priors(self, spec: Spec, *, sizes: tuple[int, ...], origins: int) -> Priors:
        if self.prior != "least" and not spec.delta:
            raise SpecError("this prior needs a delta above 0", repair='use the prior "least"')
        if self.prior != "least" and self.copies > 1:
            raise SpecError(
                "the paper's priors are for as many records as there are",
                repair='use the prior "least", or draw one record for each',
            )
        least = resampling.parts(
            spec.epsilon, spec.delta, sizes=sizes, origins=origins, copies=self.copies
        )
        if self.prior == "least":
            return least
        epsilon, delta = float(spec.epsilon), float(spec.delta)
        chosen = (
            disclosure.zero_sample_prior
            if self.prior == "zero-sample"
            else disclosure.programme_prior
        )
        wanted = {n: chosen(epsilon, delta, size=n, origins=origins) for n in sizes}
        # Never below the least prior: the guarantee holds whatever the paper's bound says.
        return {n: max(least[n], int(np.ceil(wanted[n] * resampling.UNIT))) for n in sizes}


@dataclass(frozen=True, kw_only=True)
class OnTheMapPlan(Plan):
    """`on-the-map` with its prior set."""

    config: OnTheMap
    event: DirichletMultinomial

    def with_prior(self, prior: PublicTable) -> Self:
        """With an earlier table of the same columns, by whose shares the filter tells records from prior.
        Errors: SpecError."""
        from synth_engine import codec

        planned = super().with_prior(prior)
        if len(codec.encode_public(self.domain, prior)) < len(self.clique):
            raise SpecError(
                "the earlier table has not both columns of this one",
                repair="name a table of records with both, or leave it out",
            )
        if not self.config.filter or not self._disaggregation(VALUES).located:
            raise SpecError(
                "an earlier table shapes the filter, and there is none without public points of both columns",
                repair="describe points of both columns and leave the filter on, or leave the table out",
            )
        return planned

    @cached_property
    def _earlier(self) -> tuple[Whole, Whole] | None:
        """The codes of both columns in the earlier table, if there is one."""
        from synth_engine import codec

        if self.prior is None:
            return None
        codes = codec.encode_public(self.domain, self.prior)
        group, origin = self.clique
        return codes[group], codes[origin]

    @property
    def _totals(self) -> tuple[int, ...]:
        return _public_totals(self.domain)

    @property
    def clique(self) -> tuple[str, str]:
        group, origin = self.calls[0].query.clique
        return group, origin

    @property
    def loss(self) -> Any:
        pure = Pure(epsilon=self.spec.epsilon)
        return (
            Basic(epsilon=self.spec.epsilon, delta=self.spec.delta) if self.spec.delta else pure
        )

    @property
    def certificate(self) -> Literal["basic"]:
        return "basic"

    @property
    def rho(self) -> Fraction | None:
        """None with a delta: where its event happens, the loss is not bounded (docs/proofs/on-the-map.md)."""
        return None if self.spec.delta else self.spec.epsilon**2 / 2

    def ask(self, session: Session) -> None:
        session.resample(self.clique[1], event=self.event, parting=self.calls[0].query.parting)

    def fit_replay(self, given: Replay) -> Model:
        domain = self.domain
        shape = (domain.sizes[self.clique[0]], self.event.origins)
        resampled = given.next(
            Resampled, lambda one: (one.clique, one.shape) == (self.clique, shape)
        )
        groups, origins = self._origins(resampled)
        # Only non-empty cells: a table of all pairs of places would not fit in memory.
        cells, counts = np.unique(
            groups * domain.sizes[self.clique[1]] + origins, return_counts=True
        )
        weights = whole_weights(counts.astype(np.float64))
        rows = int(counts.sum())
        if domain.cells(self.clique) > MAX_DENSE_CELLS:
            sparse = SparseTable(clique=self.clique, cells=cells, weights=weights)
            return Model(
                mechanism=self.mechanism, domain=domain, rows=rows, tables=(), cells=sparse
            )
        table = np.zeros(domain.cells(self.clique), dtype=np.int64)
        table[cells] = weights
        dense = Table(clique=self.clique, weights=table.reshape(domain.shape(self.clique)))
        return Model(mechanism=self.mechanism, domain=domain, rows=rows, tables=(dense,))

    def _origins(self, resampled: Resampled) -> tuple[Whole, Whole]:
        """Of each record the codes of its group and its origin; groups that are counted by other parts are
        looked at by themselves."""
        by_size = partings_by_size(
            self.domain, self.clique[1], self.calls[0].query.parting or VALUES
        )
        partings = np.array([parting_of(n, by_size) for n in self._totals], dtype=object)[
            resampled.groups
        ]
        placed = []
        for name in sorted(set(partings)):
            part = replace(
                resampled,
                cells=resampled.cells[partings == name],
                counts=resampled.counts[partings == name],
            )
            placed.append(self._disaggregation(name).origins(part, alpha=self._alpha))
        groups, origins = (np.concatenate(codes) for codes in zip(*placed, strict=True))
        return groups, origins

    def _in_miles(self) -> str:
        """The expected errors of distances, where groups and origins have places."""
        by_size = partings_by_size(
            self.domain, self.clique[1], self.calls[0].query.parting or VALUES
        )
        placed = self.domain.attribute(self.clique[0]).value_count
        totals = self._totals[:placed]
        off = whole = np.zeros(2)
        for name in sorted({parting_of(n, by_size) for n in totals if n}):
            sizes = np.array(
                [n if parting_of(n, by_size) == name else 0 for n in totals], dtype=np.int64
            )
            disaggregated = self._disaggregation(name)
            # The forecast takes every part to have a prior, which far ones have together.
            if not disaggregated.located or split_within(name)[1] is not None:
                return ""
            off = off + sizes.sum() * np.array(
                disaggregated.distance_errors(sizes, alpha=self._alpha / self.event.copies)
            )
            whole = whole + sizes.sum()
        here, resample = off / np.maximum(whole, 1)
        return (
            f" By the public decay alone, the average distance of a group may be off by about {here:.2g} "
            f"miles, weighted by records, where a resample of the records would be off by {resample:.2g}."
        )

    def _disaggregation(self, parting: str) -> disaggregation.Disaggregation:
        config = self.config
        return disaggregation.Disaggregation(
            domain=self.domain,
            clique=self.clique,
            parting=parting,
            decay=config.decay if config.filter else "",
            scale=config.decay_miles,
            farthest=config.farthest_miles,
            earlier=self._earlier,
        )

    @property
    def _alpha(self) -> Floats:
        """Of each group, the prior of one part, in records; as a part of what is drawn, if more is drawn than
        there are."""
        prior, copies = self.event.by_size, self.event.copies
        return np.array(
            [copies * prior[n][0] / self.event.unit if n else 0.0 for n in self._totals]
        )

    @property
    def against_records(self) -> float:
        """How much prior there is, of all parts and groups together, for each record."""
        prior = self.event.whole_prior
        return sum(prior[n] for n in self._totals if n) / sum(self._totals)

    def needs(self, rows: int | None = None) -> ResourceEstimate:
        """Of the cells only those with records are held."""
        records = self._guess(rows) * self.event.copies
        placed = set(self.clique) <= {points.column for points in self.domain.points}
        # The filter weighs every part for every group that lies somewhere.
        weighed = sum(map(bool, self._totals)) * self.event.origins if placed else 0
        filtering = ResourceEstimate(
            memory_bytes=0, seconds=_WEIGHED * weighed * bool(self.config.filter)
        )
        return (
            resources.of_table(records, sizes=self.domain.sizes)
            + resources.of_groups(records, [(2 * records,)], in_memory_at_once=True)
            + filtering
            + resources.of_confirming_groups(
                self.event.by_size,
                unit=self.event.unit,
                copies=self.event.copies,
                epsilon=float(self.event.epsilon),
            )
        )

    @property
    def prior_share(self) -> float:
        """How many of the records drawn first come from the prior and not from records."""
        prior = self.event.whole_prior
        totals = [n for n in self._totals if n]
        return sum(n * prior[n] / (n + prior[n]) for n in totals) / sum(totals)

    def expected_error(self, *, rows: int | None = None) -> ErrorForecast:
        """As much of the distance of a uniform column as the prior has a share, and chance."""
        group, origin = self.clique
        sizes, number = self.domain.sizes, self._guess(rows)
        uniform = error_forecast.uniform(sizes={origin: sizes[origin]}, rows=number).mean
        of_origin = min(
            1.0,
            self.prior_share * uniform
            + error_forecast.chance_error({origin: sizes[origin]}, rows=number),
        )
        both = min(
            1.0, self.prior_share * uniform + error_forecast.chance_error(sizes, rows=number)
        )
        return ErrorForecast(
            rows=number,
            attributes={group: 0.0, origin: of_origin},
            mean=of_origin / 2,
            mean_pairs=both,
            column_noise={},
            pair_noise=None,
            assumes=f"{self._statement(number)} {error_forecast.ASSUMES}",
        )

    def _statement(self, rows: int) -> str:
        """How origins are counted, how much prior there is, and what is wrong with the delta, in words."""
        name, parts = self.calls[0].query.parting, self.event.origins
        fewer = (
            "up to " if len({number for _, number in self.event.by_size.values()}) > 1 else ""
        )
        counting = (
            f"Counted in {fewer}{parts:,} parts ({name})"
            if name
            else f"Counted by all {parts:,} values"
        )
        statement = (
            f"{counting}: the prior is {self.against_records:.3g} times the records in all, and "
            f"{self.prior_share:.0%} of what is drawn comes from it and not from records."
        )
        statement += self._in_miles()
        if self.spec.delta * rows >= 1:
            statement += (
                " Delta is 1 in the number of records or more: such a delta allows a method that publishes "
                "a record as it is. Choose a smaller one."
            )
        return statement


def _require_drawable(
    event: DirichletMultinomial, clique: tuple[str, str], *, cells: int, totals: Sequence[int]
) -> None:
    """Errors: DomainError where the room would refuse to draw, which it does only after the charge."""
    group, origin = clique
    if cells > resampling.MAX_RESAMPLED_CELLS:
        raise DomainError(
            f"{cells:,} cells of {group} by parts of {origin}, more than {resampling.MAX_RESAMPLED_CELLS:,}",
            repair="merge values into larger areas, or set parts to a partition with fewer parts",
            column=origin,
        )
    if resampling.largest_urn(event, totals=totals) > MAX_URN_BALLS:
        raise DomainError(
            f"the prior of {event.origins:,} parts of {origin} is too large to be drawn from at this epsilon",
            repair="raise epsilon, or set parts to a partition with fewer parts",
            column=origin,
        )


def _public_totals(domain: Domain) -> tuple[int, ...]:
    """How many records each group publicly has. Errors: SpecError if the description has no totals."""
    if domain.totals is None:
        raise SpecError(
            "on-the-map needs public totals", repair='give "totals" in the description'
        )
    return domain.totals.counts
