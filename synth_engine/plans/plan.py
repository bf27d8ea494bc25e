"""A mechanism is two types: a config without budget, and a calibrated plan.

A config (`Mechanism`) holds public parameters and validates them; `calibrate` turns it, a domain and a
target loss into a `Plan`, whose noise is set and whose price is known before any row is read. A plan asks a
Session and afterwards fits a model from the answers alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from typing import ClassVar, Literal, Self, TypedDict

from synth_engine.domain import Domain, LeftOut, Undeclared
from synth_engine.errors import RelationMismatch, SpecError
from synth_engine.hierarchy import Hierarchy
from synth_engine.inference import error_forecast
from synth_engine.inference.error_forecast import ErrorForecast, StandIn
from synth_engine.kinds.reading import MAX_NARROW_CODES
from synth_engine.measurement import Answers, Call, Session
from synth_engine.measurement.replay import Replay
from synth_engine.models.model import Model
from synth_engine.plans import parameters as schemas
from synth_engine.plans import resources
from synth_engine.plans.resources import ResourceEstimate
from synth_engine.privacy import accountant, receipt
from synth_engine.privacy.events import DiscreteLaplace, Event, PermuteAndFlip
from synth_engine.privacy.loss import Budget as Budget
from synth_engine.privacy.loss import (
    GaussianDP,
    Price,
    Pure,
    ZeroConcentrated,
    atto,
    nano,
    ratio,
)
from synth_engine.privacy.static_calibration import Certificate
from synth_engine.privacy.unit import Relation, Sensitivity, histogram_sensitivity
from synth_engine.references import PublicTable
from synth_engine.spec import Spec
from synth_engine.strict_json import JsonObject

Rule = Literal["basic", "zcdp"]
Family = Literal["recommended", "literature", "special"]
_CERTIFICATES: Mapping[type[Budget], Certificate] = {
    Pure: "basic",
    ZeroConcentrated: "zcdp",
    GaussianDP: "gdp",
}
ANSWERS_OVERHEAD = 262_144  # bytes of a file of answers, whatever is asked
ANSWERS_A_CALL = 1_000  # bytes of the entry of one array, and of its noise in the header
BYTES_A_VALUE = 8
MAX_RESERVED_BYTES = (
    64 * resources.MEGABYTE
)  # where cells are counted that are not all written down
MAX_ESTIMATED_BYTES = 256 * resources.MEGABYTE  # where the number of answers is only estimated
_CAPS: Mapping[type[Budget], str] = {
    Pure: "epsilon",
    ZeroConcentrated: "rho",
    GaussianDP: "mu_squared",
}


def price(rule: Rule, *, epsilon: Fraction, delta: Fraction, rho: Fraction | None) -> Price:
    """What an account of that rule holds for a guarantee, rounded up. rho: what it costs under
    zero-concentrated privacy, None where no rho bounds it.

    Errors: SpecError for another rule, and for one of rho where there is none."""
    if rule == "basic":
        return Price(nano(epsilon), atto(delta), 0)
    if rule == "zcdp":
        if rho is None:
            raise SpecError(
                "groups drawn anew have a delta, which no account of rho counts",
                repair="use a basic account, or a delta of 0",
            )
        return Price(0, 0, nano(rho))
    raise SpecError("an account composes by basic or zcdp")


def expected_rows(rows: int | None, *, domain: Domain, spec: Spec) -> int:
    """Returns the number of records that a forecast assumes."""
    return rows or domain.rows or spec.rows or error_forecast.ROWS


class MechanismFacts(TypedDict):
    """The public facts of a mechanism that cards, forms and the command line show."""

    id: str
    title: str
    summary: str
    paper: str
    keeps: list[str]
    parameters: schemas.ParameterSchema
    relations: list[str]
    losses: list[str]
    kind: str


class Mechanism(ABC):
    """The public parameters of a method, without budget and rows. Subclasses are frozen dataclasses whose
    fields are the properties of `parameters`."""

    id: ClassVar[str]
    title: ClassVar[str] = ""  # each method has its own
    summary: ClassVar[str]
    paper: ClassVar[str]
    keeps: ClassVar[tuple[str, ...]]
    parameters: ClassVar[schemas.ParameterSchema]
    relations: ClassVar[tuple[Relation, ...]]
    losses: ClassVar[tuple[str, ...]]
    kind: ClassVar[Literal["static", "adaptive"]]
    adds_up: ClassVar[Literal["zcdp", "gdp"]] = "zcdp"
    """The sum in which (epsilon, delta) with a delta above 0 is divided; "gdp" where all
    Gaussian noise is rounded Gaussian."""
    family: ClassVar[Family] = "literature"
    """The group of cards among which pages offer it."""
    counts_groups: ClassVar[bool] = False
    """Whether it counts groups of columns together, so that a release has a page of what was measured."""
    has_network: ClassVar[bool] = False
    """Whether its models are drawn along a network of columns."""
    has_columns: ClassVar[bool] = True
    """Whether its models are made of columns, one by one; a tree, or one table of all columns, is not."""
    takes_prior: ClassVar[bool] = False
    """Whether its answers can be read beside a public table of the same columns."""
    prior_key: ClassVar[str] = "prior"
    """The parameter by which a request states that table."""
    looks_at_all_pairs: ClassVar[bool] = False
    """Whether it scores every pair of columns, so that its models say how dependent all of them are."""
    most_codes: ClassVar[int] = MAX_NARROW_CODES
    """The most codes of a column that it takes; more have only columns with public points. Methods that count
    every code, or refine rows of 16-bit codes, stay below it."""
    takes_open: ClassVar[bool] = False
    """Whether it learns undeclared columns by itself, instead of running after they were learned."""

    @classmethod
    def from_parameters(cls, given: Mapping[str, object]) -> Self:
        """Errors: SpecError naming the parameter."""
        return cls(**schemas.validate(given, schema=cls.parameters))

    @classmethod
    def suits(cls, domain: Domain) -> bool:  # noqa: ARG003 - for those that are not for every table
        """Returns whether it is meant for a table like this one, so that it is worth being
        offered."""
        return True

    @classmethod
    def learns(cls, attribute: Undeclared) -> bool:  # noqa: ARG003 - for those that take some
        """Returns whether it takes this column open as it is."""
        return cls.takes_open

    @classmethod
    def describe(cls) -> MechanismFacts:
        """Returns the public facts that cards, forms and the command line show."""
        return {
            "id": cls.id,
            "title": cls.title,
            "summary": cls.summary,
            "paper": cls.paper,
            "keeps": list(cls.keeps),
            "parameters": cls.parameters.copy(),
            "relations": [relation.value for relation in cls.relations],
            "losses": list(cls.losses),
            "kind": cls.kind,
        }

    def plan(self, domain: Domain, spec: Spec, *, rule: Rule = "basic") -> Plan:
        """Check what every mechanism needs, then calibrate. rule: how the account that pays adds up
        losses."""
        config, complete_spec = self.validate(domain, spec, rule=rule)
        return config.calibrate(domain, complete_spec)

    def validate(self, domain: Domain, spec: Spec, *, rule: Rule) -> tuple[Self, Spec]:
        """Checks domain and spec, and returns what is calibrated: these parameters with their
        defaults resolved, and the spec that states them."""
        # Suggestions are read from the real table. Only what a steward confirmed as public may
        # shape a query.
        domain.require_confirmed()
        if domain.relation not in self.relations:
            raise RelationMismatch(
                f"{self.id} is not stated for the {domain.relation.value} relation"
            )
        loss = "pure" if spec.delta == 0 else "approximate"
        if loss not in self.losses:
            raise SpecError(
                f"{self.id} has no {loss} form", repair=f"it offers: {', '.join(self.losses)}"
            )
        self._require_codes(domain)
        config = self.resolve_defaults(spec, rule=rule)
        return config, replace(spec, parameters=asdict(config))  # type: ignore[call-overload]

    def _require_codes(self, domain: Domain) -> None:
        """Errors: DomainError for a column of more codes than this method takes."""
        for attribute in domain.modelled:
            if attribute.size > self.most_codes:
                raise attribute.error(
                    f"{self.id} takes columns of up to {self.most_codes:,} codes, and this one has "
                    f"{attribute.size:,}",
                    repair="describe it by larger areas, such as the parts of a partition, leave it out, "
                    "or choose on-the-map, independent or a method of trees",
                    field="values",
                )

    def forecast(
        self, domain: Domain, spec: Spec, *, rows: int | None = None, rule: Rule = "basic"
    ) -> ErrorForecast:
        """Forecasts like `expected_error` of the plan. Overridden where planning takes longer
        than a page may."""
        return self.plan(domain, spec, rule=rule).expected_error(rows=rows)

    # For those that leave something open
    def resolve_defaults(self, spec: Spec, *, rule: Rule) -> Self:  # noqa: ARG002
        """Resolves parameters that were left open, for an account of that rule."""
        return self

    @abstractmethod
    def calibrate(self, domain: Domain, spec: Spec, *, within: Budget | None = None) -> Plan:
        """Noise from public facts and the target loss alone. within: what is left of a budget that was fixed
        beforehand, for a mechanism that runs after another stage; all of its calls have to fit there, and
        what the target buys by itself does not matter."""


@dataclass(frozen=True, kw_only=True)
class Plan(ABC):
    """A mechanism with its noise set.

    calls: for a static mechanism the whole journal, known beforehand; for an adaptive one empty, and `cap` is
    given. found_by: what the noise of a static one was set by, where that is not the plain sum of its calls.
    prior: a public table beside which answers are read.
    """

    config: Mechanism
    domain: Domain
    spec: Spec
    calls: tuple[Call, ...] = ()
    cap: Budget | None = field(default=None)
    found_by: Certificate | None = None
    prior: PublicTable | None = None

    def with_prior(self, prior: PublicTable) -> Self:
        """The same plan, which reads its answers beside a public table; what is asked, and its loss, stay.
        The request states the table. Errors: SpecError."""
        from synth_engine import codec

        if not self.config.takes_prior:
            raise SpecError(
                f"{self.mechanism} reads no public table", repair="leave it out, or use auto"
            )
        names = {attribute.name for attribute in self.domain.attributes}
        if others := [name for name in prior.renamed if name not in names]:
            raise SpecError(
                f"{len(others):,} columns renamed for the public table are not in the description, among "
                f"them {others[0]!r}",
                repair="take the names of columns from the description",
            )
        shared = list(codec.encode_public(self.domain, prior))
        if not shared:
            raise SpecError(
                f"the public table shares none of the {len(self.domain.attributes):,} columns of the "
                f"description: its {len(prior.sheet.names):,} columns have other names, or other values",
                repair="rename columns of the public table, declare the values that it has, or leave it out",
            )
        key = self.config.prior_key
        stated = {**self.spec.parameters, key: prior.statement(columns=shared)}
        return replace(self, prior=prior, spec=replace(self.spec, parameters=stated))

    def _require_stated_prior(self) -> None:
        """The receipt names the public table that the request states: no other one may shape the model."""
        config = self.config
        stated = self.spec.parameters.get(config.prior_key) if config.takes_prior else None
        if stated is None:
            return
        given = None if self.prior is None else self.prior.source.sha256
        if not isinstance(stated, Mapping) or given is None or stated.get("sha256") != given:
            raise SpecError(
                "the answers belong to a request that states a public table, and this is another one or none",
                repair="give the file whose SHA-256 the request states",
            )

    def run(self, session: Session) -> Answers:
        """Ask the room, and return the answers to the plan's own calls."""
        before = len(session.answers)
        self.ask(session)
        return session.answers[before:]

    @abstractmethod
    def ask(self, session: Session) -> None:
        """Ask the room, which records the answers. Nothing else of a plan meets rows."""

    def fit(self, answers: Answers) -> Model:
        """Post-processing: the same answers give the same model. Errors: InputError for answers of another
        plan, and for another public table than the request states."""
        self._require_stated_prior()
        given = Replay(answers)
        model = self.fit_replay(given)
        given.finish()
        return model

    @abstractmethod
    def fit_replay(self, given: Replay) -> Model:
        """Fits a model to the answers, which are read in the order in which `ask` asks."""

    def published(self, answers: Answers) -> JsonObject | None:
        """Post-processing, too: a table that is itself what the method publishes, as JSON; None where the
        model says it all."""
        del answers
        return None

    def findings(self, answers: Answers, *, rows: int) -> JsonObject | None:
        """Post-processing, too: what was looked for and how much of it was found, as JSON, where the model
        does not say it. rows: of the model."""
        del answers, rows
        return None

    def expected_error(self, *, rows: int | None = None) -> ErrorForecast:
        """The expected total variation distance of each one-way marginal (`attributes`), their mean (`mean`)
        and the mean of two-way ones (`mean_pairs`), from public facts alone; `assumes` says what is taken for
        granted. `rows`: how many records to assume; absent: the public number, else those asked for, else
        10,000."""
        return self.expected_error_on(
            error_forecast.typical(self.domain.sizes, rows=self._guess(rows))
        )

    def expected_error_on(self, table: StandIn) -> ErrorForecast:
        """The same on a table of this shape and dependence: a typical one, or one that the model of a release
        describes. Errors: NotImplementedError for a method whose errors do not follow from the two, which has
        its own `expected_error`."""
        raise NotImplementedError

    @property
    def advice(self) -> str:
        """Returns advice on these parameters before they are paid for, in words; it does not
        stop a run."""
        return ""

    @property
    def tree_hierarchy(self) -> Hierarchy | None:
        """The hierarchy of its tree; None of a method without one."""
        return None

    # For those that grow a tree
    def min_records_to_split(self, rows: int | None = None) -> int | None:  # noqa: ARG002
        """About how many records it takes for a node of its tree to be opened, from public facts alone: where
        there are fewer in all, most likely none is below the first depth. None of a method without a tree.
        `rows` as in `expected_error`."""
        return None

    def needs(self, rows: int | None = None) -> ResourceEstimate:
        """Memory and time of a run, from public facts alone; `rows` as in `expected_error`. For a static
        mechanism, by its calls; one that chooses what to ask says more."""
        rows_expected = self._guess(rows)
        tables = resources.of_groups(
            rows_expected, [(call.query.cells,) for call in self.calls], in_memory_at_once=True
        )
        return resources.of_table(rows_expected, sizes=self.domain.sizes) + tables

    def answers_bytes(self, rows: int | None = None) -> int:
        """Returns the size that the file of its answers may reach, in bytes, from public facts
        alone: what to reserve before anything is charged. `rows` as in `expected_error`.

        For calls that are fixed beforehand it is a bound: eight bytes a cell, and every call
        twice in the header. Where the number of answers depends on what is found, it is the
        memory that the method needs beyond the table's, at most MAX_ESTIMATED_BYTES, and may be
        exceeded."""
        rows_expected = self._guess(rows)
        table = resources.of_table(rows_expected, sizes=self.domain.sizes).memory_bytes
        # The forecast of memory may be absurd where a set of values is huge: it must not keep a run from
        # being made.
        beyond = min(
            MAX_ESTIMATED_BYTES,
            ANSWERS_OVERHEAD + max(0, self.needs(rows).memory_bytes - table),
        )
        # An adaptive plan has no list of calls beforehand.
        if not self.calls:
            return beyond
        header = len(receipt.canonical([call.to_json() for call in self.calls]))
        arrays_bytes = ANSWERS_A_CALL * len(self.calls) + BYTES_A_VALUE * sum(
            call.query.cells for call in self.calls
        )
        return min(
            ANSWERS_OVERHEAD + 2 * header + arrays_bytes, max(beyond, MAX_RESERVED_BYTES)
        )

    def _guess(self, rows: int | None) -> int:
        return expected_rows(rows, domain=self.domain, spec=self.spec)

    @property
    def mechanism(self) -> str:
        return self.config.id

    @property
    def kind(self) -> Literal["static", "adaptive"]:
        return self.config.kind

    @property
    def events(self) -> tuple[Event, ...]:
        return tuple(call.event for call in self.calls)

    @property
    def sensitivity(self) -> Sensitivity:
        return histogram_sensitivity(self.domain.unit, self.domain.relation)

    @property
    def loss(self) -> Budget:
        """The exact loss, and the cap under which the room is to be opened: pure where every event is."""
        if self.cap is not None:
            return self.cap
        # Where every event is pure, the guarantee stays pure: converting it to rho would only
        # weaken it.
        if all(isinstance(event, DiscreteLaplace | PermuteAndFlip) for event in self.events):
            return Pure(epsilon=accountant.pure_epsilon(self.events))
        if self.config.adds_up == "gdp":
            return GaussianDP(mu_squared=accountant.mu_squared(self.events))
        return ZeroConcentrated(rho=accountant.rho(self.events))

    @property
    def certificate(self) -> Certificate:
        """Names how (epsilon, delta) follows from the calls: as the sum of their epsilons, by
        conversion of their rho or of their mu², or, of calls that are fixed beforehand, by
        composition of their privacy-loss distributions."""
        return self.found_by or _CERTIFICATES[type(self.loss)]

    @property
    def epsilon(self) -> Fraction:
        """Returns the epsilon of the guarantee; never below what its certificate shows."""
        return self.spec.epsilon

    @property
    def delta(self) -> Fraction:
        return self.spec.delta

    @property
    def rho(self) -> Fraction | None:
        """The cost in a zCDP account: the sum over the events, pure ones with half their squared epsilon; of
        a cap on mu² its half. None where the plan's loss has no rho."""
        if self.cap is None:
            return accountant.rho(self.events)
        # epsilon-DP implies (epsilon^2 / 2)-zCDP (Bun and Steinke 2016, Proposition 1.4).
        return self.cap.epsilon**2 / 2 if isinstance(self.cap, Pure) else self.cap.rho

    def cost(self, rule: Rule) -> Price:
        """Returns the price to hold in an account of that rule, rounded up."""
        return price(rule, epsilon=self.epsilon, delta=self.delta, rho=self.rho)

    @property
    def digest(self) -> str:
        """SHA-256 over everything public that fixes the run; no seed and no number of rows to draw."""
        bought = [each.statement() for each in self.domain.bought]
        return receipt.digest(
            {
                "schema": "synth_engine/plan/3",
                "mechanism": self.mechanism,
                "parameters": dict(self.spec.parameters),
                "domain": self.domain.digest,
                "facts": self.domain.facts,
                "relation": self.domain.relation.value,
                "unit": self.domain.unit.to_json(),
                "invariants": list(self.domain.invariants),
                "target": [ratio(self.spec.epsilon), ratio(self.spec.delta)],
                "calls": [call.to_json() for call in self.calls],
                "cap": self._cap_json(),
                "certificate": self.certificate,
                **({"bought": bought} if bought else {}),
            }
        )

    @property
    def guarantee(self) -> receipt.Guarantee:
        return receipt.Guarantee(
            epsilon=self.epsilon, delta=self.delta, rho=self.rho, certificate=self.certificate
        )

    @property
    def sentence(self) -> str:
        """The guarantee in one sentence."""
        return self.guarantee.sentence(
            relation=self.domain.relation,
            unit=self.domain.unit,
            invariants=self.domain.invariants,
        )

    def not_found(self, answers: Answers) -> tuple[str, ...]:
        """The columns that were to be learned and of which the answers say nothing: a function of them and of
        the plan."""
        return self.columns_not_found(Replay(answers))

    # Of a plan that learns nothing
    def columns_not_found(self, given: Replay) -> tuple[str, ...]:  # noqa: ARG002
        """The same. given: the answers from the first question of this plan on."""
        return ()

    # Of a plan that learns nothing
    def constraints_left_out(self, given: Replay) -> tuple[LeftOut, ...]:  # noqa: ARG002
        """The declared constraints that no record can keep with what was learned. given: as of
        `columns_not_found`."""
        return self.domain.enforcement.left_out

    def receipt(
        self,
        answers: Answers | None = None,
        *,
        sample: receipt.Sample | None = None,
        post_processing: Mapping[str, object] | None = None,
        chosen_after_looking: bool = False,
    ) -> receipt.Receipt:
        """The receipt of a run of this plan that gave these answers; without any, the one that a static plan
        will have."""
        calls = self.calls if answers is None else answers.calls
        if answers is not None:
            stated = {
                "not_found": list(self.not_found(answers)),
                "constraints_left_out": [
                    each.sentence for each in self.constraints_left_out(Replay(answers))
                ],
            }
            post_processing = {
                **(post_processing or {}),
                **{key: names for key, names in stated.items() if names},
            } or None
        return receipt.build(
            plan=receipt.PlanStatement(
                mechanism=self.mechanism,
                parameters=self.spec.parameters,
                kind=self.kind,
                digest=self.digest,
                cap=self._cap_json(),
                target=(self.spec.epsilon, self.spec.delta),
            ),
            domain=receipt.DomainStatement(
                relation=self.domain.relation,
                unit=self.domain.unit,
                invariants=self.domain.invariants,
                digest=self.domain.digest,
                facts=self.domain.facts,
                bought=[each.statement() for each in self.domain.bought],
            ),
            guarantee=self.guarantee,
            run=receipt.RunStatement(
                calls=[(call.query.to_json(), call.event) for call in calls],
                answers_digest=(answers or Answers()).digest,
                post_processing=post_processing,
                chosen_after_looking=chosen_after_looking,
            ),
            sample=sample,
        )

    def _cap_json(self) -> dict[str, str] | None:
        if self.cap is None:
            return None
        return {_CAPS[type(self.cap)]: ratio(self.cap.amount)}
