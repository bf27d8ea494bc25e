"""Groups with public totals drawn anew, as the first formally private synthetic release was made: commutes by destination."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from synth_engine.domain import Domain
from synth_engine.errors import InputError, SpecError
from synth_engine.marginals import decay, expected
from synth_engine.measurement import Answers, Call, Query, Session
from synth_engine.mechanisms.model import Model, Table, whole_weights
from synth_engine.mechanisms.plan import Budget, Cost, Mechanism, Plan, Rule
from synth_engine.privacy import disclosure, resampling
from synth_engine.privacy.events import DirichletMultinomial
from synth_engine.privacy.loss import Basic, Pure
from synth_engine.privacy.unit import Relation
from synth_engine.spec import Spec

LEAST_EPSILON = Fraction(1, 2)
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class OnTheMap(Mechanism):
    """Of each group of records, such as those who work in one block, as many as it publicly has, with the other column drawn
    from the group's own counts and a prior.

    Asks: one `resample` of the column without totals within the column with totals (static).
    Privacy: the least prior of each size of groups for which the group has at most delta at epsilon, or a larger one of the
        paper; replace-one with the totals of one column kept. Proofs: docs/proofs/on-the-map.md, docs/proofs/resample.md.
    Public assumptions: the domain with its totals and points, the unit, the relation, the parameters.
    """

    id: ClassVar[str] = "on-the-map"
    title: ClassVar[str] = "Groups with public totals"
    summary: ClassVar[str] = (
        "For two columns, such as home and work, where it is public how many records have each value of one of them: the "
        "other is drawn anew within every group, from its own records and a prior."
    )
    paper: ClassVar[str] = "Machanavajjhala, Kifer, Abowd, Gehrke and Vilhuber 2008 (On the map)"
    keeps: ClassVar[tuple[str, ...]] = ("the public totals, exactly", "the other column within large groups")
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
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
                "description": "How large the prior is. The last two bound the chance of a disclosure as the paper does, and "
                "need more of it than the guarantee does.",
            },
            "filter": {
                "type": "boolean",
                "default": True,
                "title": "Filter",
                "description": "Where the description has points of both columns, what the prior added where few can come "
                "from is moved to where more can, by distance alone. It costs nothing.",
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
                "description": "Pairs farther apart are left out of what is drawn, as a public rule. 0: none.",
            },
        },
        "additionalProperties": False,
    }
    relations: ClassVar[tuple[Relation, ...]] = (Relation.REPLACE_ONE,)
    losses: ClassVar[tuple[str, ...]] = ("pure", "approximate")
    kind: ClassVar[Literal["static", "adaptive"]] = "static"
    takes_open: ClassVar[bool] = True  # by refusing them: groups and origins have to be known beforehand

    prior: str = "least"
    filter: bool = True
    decay_miles: float = 6
    farthest_miles: float = 0

    @classmethod
    def suits(cls, domain: Domain) -> bool:
        return domain.totals is not None and len(domain.names) == 2 and not domain.open

    def settled(self, spec: Spec, *, rule: Rule) -> OnTheMap:
        if rule == "zcdp" and spec.delta:
            raise SpecError(
                "on-the-map has a delta that an account of rho does not count",
                repair="use a basic account, or a delta of 0",
            )
        return self

    def calibrate(self, domain: Domain, spec: Spec, *, within: Budget | None = None) -> Plan:
        if within is not None or not self.suits(domain):
            raise SpecError(
                "on-the-map needs two columns of known values, with the public totals of one of them",
                repair='give "totals" in the description, and leave other columns out',
            )
        if spec.delta and spec.epsilon < LEAST_EPSILON:
            raise SpecError("on-the-map has no form with a delta below epsilon 0.5", repair="use a delta of 0")
        assert domain.totals is not None  # noqa: S101 - it suits
        origin = next(name for name in domain.names if name != domain.totals.column)
        clique = (domain.totals.column, origin)
        cells, origins = domain.cells(clique), domain.sizes[origin]
        if cells > resampling.LARGEST_DRAW:
            raise SpecError(
                f"groups by origins have {cells:,} cells, more than {resampling.LARGEST_DRAW:,}",
                repair="merge origins into larger areas",
            )
        priors = self._priors(spec, sizes=resampling.groups(domain.totals.counts), origins=origins)
        event = DirichletMultinomial(
            epsilon=spec.epsilon, delta=spec.delta, origins=origins, unit=resampling.UNIT, priors=priors
        )
        call = Call(query=Query(verb="resample", clique=clique, cells=cells), event=event)
        return OnTheMapPlan(config=self, domain=domain, spec=spec, calls=(call,))

    def _priors(self, spec: Spec, *, sizes: tuple[int, ...], origins: int) -> tuple[tuple[int, int], ...]:
        if self.prior != "least" and not spec.delta:
            raise SpecError("this prior needs a delta above 0", repair='use the prior "least"')
        least = resampling.parts(spec.epsilon, spec.delta, sizes=sizes, origins=origins)
        if self.prior == "least":
            return tuple(least.items())
        epsilon, delta = float(spec.epsilon), float(spec.delta)
        chosen = disclosure.zero_sample_prior if self.prior == "zero-sample" else disclosure.programme_prior
        wanted = {n: chosen(epsilon, delta, size=n, origins=origins) for n in sizes}
        return tuple((n, max(least[n], int(np.ceil(wanted[n] * resampling.UNIT)))) for n in sizes)


@dataclass(frozen=True, kw_only=True)
class OnTheMapPlan(Plan):
    """`on-the-map` with its prior set."""

    @property
    def event(self) -> DirichletMultinomial:
        (event,) = self.events
        assert isinstance(event, DirichletMultinomial)  # noqa: S101 - what was planned
        return event

    @property
    def clique(self) -> tuple[str, str]:
        group, origin = self.calls[0].query.clique
        return group, origin

    @property
    def loss(self) -> Any:
        pure = Pure(epsilon=self.spec.epsilon)
        return Basic(epsilon=self.spec.epsilon, delta=self.spec.delta) if self.spec.delta else pure

    @property
    def certificate(self) -> Literal["basic"]:
        return "basic"

    @property
    def rho(self) -> Fraction:
        """Of the pure part: with delta besides, which no account of rho counts."""
        return self.spec.epsilon**2 / 2

    def cost(self, rule: Rule) -> Cost:
        if rule == "zcdp" and self.spec.delta:
            raise SpecError(
                "on-the-map has a delta that an account of rho does not count", repair="use a basic account"
            )
        return super().cost(rule)

    def run(self, session: Session) -> Answers:
        found = session.resample(self.clique[1], event=self.event)
        return Answers(measurements=(), resampled=found, calls=session.calls)

    def fit(self, answers: Answers) -> Model:
        drawn = answers.resampled
        if drawn is None or drawn.clique != self.clique or drawn.values.shape != self.domain.shape(self.clique):
            raise InputError("these answers are not of this plan", repair="use the answers of this release")
        table = Table(clique=self.clique, weights=whole_weights(self._finished(drawn.values.astype(np.float64))))
        return Model(mechanism=self.mechanism, domain=self.domain, rows=int(drawn.values.sum()), tables=(table,))

    def _finished(self, drawn: Floats) -> Floats:
        """What was drawn, after the filter and the cut-off."""
        config, apart = self.config, self._apart()
        assert isinstance(config, OnTheMap)  # noqa: S101 - what was planned
        if apart is None:
            return drawn
        miles, weights = apart
        known = tuple(slice(0, size) for size in miles.shape)  # "other" and missing lie nowhere
        if not config.filter and not config.farthest_miles:
            return drawn
        likely = decay.likely(miles, weights, scale=config.decay_miles, farthest=config.farthest_miles or None)
        sizes = drawn.sum(axis=1)[known[0]]
        alpha = np.zeros(sizes.size)
        prior = {n: parts / self.event.unit for n, parts in self.event.priors}
        for place, n in enumerate(sizes):
            alpha[place] = prior.get(int(n), 0.0) if config.filter else 0.0
        found = drawn.copy()
        near = np.where(likely > 0, drawn[known], 0.0)
        near += (drawn[known].sum(axis=1) - near.sum(axis=1))[:, None] * likely  # those beyond the cut-off
        found[known] = decay.rounded(decay.filtered(near, likely, alpha=alpha))
        return found

    def _apart(self) -> tuple[Floats, Floats] | None:
        """Miles between groups and origins, and the weights of origins; None without points of both."""
        at = {points.column: np.array(points.at) for points in self.domain.points}
        if not set(self.clique) <= set(at):
            return None
        groups, origins = (at[name] for name in self.clique)
        return decay.miles(groups[:, :2], origins[:, :2]), origins[:, 2]

    @property
    def prior_share(self) -> float:
        """How many of the records drawn first come from the prior and not from records."""
        assert self.domain.totals is not None  # noqa: S101 - it was planned
        prior = {n: parts * self.event.origins / self.event.unit for n, parts in self.event.priors}
        totals = [n for n in self.domain.totals.counts if n]
        return sum(n * prior[n] / (n + prior[n]) for n in totals) / sum(totals)

    def expected_error(self, *, rows: int | None = None) -> dict[str, Any]:
        """As much of the distance of a uniform column as the prior has a share, and chance."""
        group, origin = self.clique
        sizes, number = self.domain.sizes, self._guess(rows)
        uniform = expected.uniform(sizes={origin: sizes[origin]}, rows=number)["mean"]
        one = min(1.0, self.prior_share * uniform + expected.chance({origin: sizes[origin]}, rows=number))
        both = min(1.0, self.prior_share * uniform + expected.chance(sizes, rows=number))
        return {
            "rows": number,
            "attributes": {group: 0.0, origin: one},
            "mean": one / 2,
            "mean_pairs": both,
            "assumes": f"{self.prior_share:.0%} of what is drawn comes from the prior and not from records. {expected.ASSUMES}",
        }
