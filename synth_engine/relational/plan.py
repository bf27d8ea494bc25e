"""The plan of a release of a database: each view is measured by `auto` with a part of one budget.

All views are tables of the same privacy units, truncated once, so their losses add up as those of any adaptive sequence
(docs/proofs/relational.md). The parts are fixed by the description alone, before any row is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from synth_engine.domain import Attribute, Domain
from synth_engine.domain import views as database_views
from synth_engine.domain.database import Database
from synth_engine.domain.views import DatabaseView, Kind
from synth_engine.errors import SpecError
from synth_engine.measurement import Answers
from synth_engine.mechanisms.auto import fitting
from synth_engine.mechanisms.auto.auto import Auto, AutoPlan
from synth_engine.mechanisms.auto.selection import Columns, Pair
from synth_engine.models.model import Model
from synth_engine.plans.plan import Budget, Rule, price
from synth_engine.privacy import conversion
from synth_engine.privacy import receipt as receipts
from synth_engine.privacy.loss import Price, Pure, plain
from synth_engine.privacy.receipt import scientific
from synth_engine.relational.model import DatabaseModel
from synth_engine.spec import Spec
from synth_engine.strict_json import JsonObject

MECHANISM = "relational"
_ROOT_WEIGHT = 9
_WEIGHTS: Mapping[Kind, int] = {"table": 10, "pairs": 2}
_FACTOR_A_LEVEL = 3
"""Weights of the parts of the budget that views get: of the root, and of others by their kind. Those of tables are as many times as
large with every further level: the product of the maxima grows with it, and so does their noise."""
_KNOWN_WEIGHT = 0.05
"""Factor on the share of a column that is known from another view: it is measured only so that pairs can be read against it."""
_ROOT_COLUMNS, _PAIRS_COLUMNS = Fraction(8, 5), Fraction(1, 4)
_MOST_COLUMNS = Fraction(4, 5)
"""Factors on the share of a view that single columns get, and the largest share: of the root, whose columns decide those of all
tables below it, and of tables from the second level below it on, where noise is largest, more; of a view of pairs, all of whose
columns are known, less."""


@dataclass(frozen=True, kw_only=True)
class ViewConfig(Auto):
    """`auto` on one view. view: its name; database: the digest of the description of all tables; context: the columns that are
    known of a row beforehand, whose relations with each other are not asked for; pairs: whether it is a view of pairs of siblings, in which no
    relation within one row is asked for either; depth: how many levels its table is below the root."""

    id: ClassVar[str] = MECHANISM

    view: str
    database: str
    context: tuple[str, ...] = ()
    pairs: bool = False
    depth: int = 0

    def calibrate(
        self, domain: Domain, spec: Spec, *, within: Budget | None = None
    ) -> ViewPlan:
        if within is None:
            raise SpecError("a view is measured with a part of a budget")
        fitting.require_room(domain, memory_mb=self.memory_mb)
        plan = ViewPlan(config=self, domain=domain, spec=spec, cap=within)
        plan.require_noise()
        return plan


@dataclass(frozen=True, kw_only=True)
class ViewPlan(AutoPlan):
    """The plan of `auto` for a view: less for columns that are known, and no pairs of them."""

    config: ViewConfig

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.domain.names if self.config.pairs else self.config.context)

    def column_weight(self, attribute: Attribute, power: float) -> float:
        factor = _KNOWN_WEIGHT if attribute.name in self._known else 1.0
        return factor * super().column_weight(attribute, power)

    def _columns_share(self) -> Fraction:
        share = super()._columns_share()
        if share == 1:
            return share
        if self.config.pairs:
            return share * _PAIRS_COLUMNS
        if self.config.depth != 1:
            return min(share * _ROOT_COLUMNS, _MOST_COLUMNS)
        return share

    def _pairs(self, columns: Columns) -> list[Pair]:
        context = set(self.config.context)
        pairs = []
        for pair in super()._pairs(columns):
            within = sum(name in context for name in columns.clique(pair))
            if within == 1 or (within == 0 and not self.config.pairs):
                pairs.append(pair)
        return pairs


@dataclass(frozen=True, kw_only=True)
class DatabasePlan:
    """What will be asked of each view, and the budget of all.

    plans: one for each view, in order. cap: the sum of their caps."""

    database: Database
    epsilon: Fraction
    delta: Fraction
    views: tuple[DatabaseView, ...]
    plans: tuple[ViewPlan, ...]
    cap: Budget

    @property
    def mechanism(self) -> str:
        return MECHANISM

    @property
    def spec(self) -> Spec:
        """The request as it is stored; it names the tables by their digest."""
        return Spec(
            mechanism=MECHANISM,
            epsilon=self.epsilon,
            delta=self.delta,
            parameters={"database": self.database.digest},
        )

    @property
    def domain(self) -> Domain:
        """The description of the root table, whose rows are the privacy units."""
        return self.database.root.domain

    @property
    def rho(self) -> Fraction:
        """What the cap is under zero-concentrated differential privacy."""
        return self.cap.epsilon**2 / 2 if isinstance(self.cap, Pure) else self.cap.rho

    def cost(self, rule: Rule) -> Price:
        """The price to hold in an account of that rule, rounded up. Errors: SpecError."""
        return price(rule, epsilon=self.epsilon, delta=self.delta, rho=self.rho)

    @property
    def digest(self) -> str:
        """SHA-256 over everything public that fixes the run: the tables, and the plans of all views."""
        return digest_of(self.database.statement, [plan.digest for plan in self.plans])

    def answers_bytes(self) -> int:
        """What to reserve for the file of answers, in bytes, from public facts alone."""
        return sum(plan.answers_bytes() for plan in self.plans)

    @property
    def sentence(self) -> str:
        """The guarantee in one sentence."""
        database = self.database
        parts = [
            f"at most {database.max_records(table)} of {table.name}"
            for table in database.tables[1:]
        ]
        below = f", and all rows that lead to it ({', '.join(parts)})," if parts else ""
        amounts = f"epsilon = {plain(self.epsilon)}"
        if self.delta:
            amounts = f"({amounts}, delta = {scientific(self.delta)})"
        return f"{amounts} differential privacy for one row of {database.root.name}{below} added or removed."

    def outline(self) -> JsonObject:
        """What will be measured, from public facts alone: views, the rows of a unit in each, and their parts of the budget."""
        return {
            "guarantee": self.sentence,
            "views": [
                {
                    "view": view.name,
                    "max_rows_of_a_unit": view.domain.unit.max_records,
                    "part_of_budget": round(float(plan.loss.amount / self.cap.amount), 4),
                    "epsilon_alone": float(plan.epsilon),
                    "columns": list(view.own),
                    "columns_above": list(view.context),
                }
                for view, plan in zip(self.views, self.plans, strict=True)
            ],
        }

    def fit(self, answers: Iterable[Answers]) -> DatabaseModel:
        """A model of each view from its noisy answers: post-processing."""
        models: dict[str, Model] = {
            view.name: plan.fit(given)
            for view, plan, given in zip(self.views, self.plans, answers, strict=True)
        }
        return DatabaseModel(database=self.database, models=models)


def digest_of(tables: Sequence[JsonObject], plans: Sequence[str]) -> str:
    """The digest of a plan, from what its receipt says: its tables, and the digests of the plans of its views."""
    return receipts.digest(
        {"schema": "synth_engine/database-plan/1", "tables": list(tables), "plans": list(plans)}
    )


def plan(database: Database, *, epsilon: Fraction, delta: Fraction) -> DatabasePlan:
    """Divides the budget that (epsilon, delta) buys over all views, and calibrates each.
    Errors: SpecError, DomainError; nothing is read."""
    database.require_confirmed()
    whole = Spec(mechanism=MECHANISM, epsilon=epsilon, delta=delta)
    cap = conversion.budget_for(whole.epsilon, whole.delta, adds_up="gdp")
    views = database_views.views(database)
    weights = [_weight(database, view) for view in views]
    plans = []
    for view, weight in zip(views, weights, strict=True):
        part = cap.of(cap.amount * weight / sum(weights))
        plans.append(_view_plan(database, view, part=part, whole=whole))
    return DatabasePlan(
        database=database,
        epsilon=epsilon,
        delta=delta,
        views=views,
        plans=tuple(plans),
        cap=cap,
    )


def _weight(database: Database, view: DatabaseView) -> int:
    depth = len(database.ancestors(database.table(view.table)))
    if not depth:
        return _ROOT_WEIGHT
    further = depth - 1 if view.kind == "table" else 0
    return _WEIGHTS[view.kind] * int(_FACTOR_A_LEVEL**further)


def _view_plan(
    database: Database, view: DatabaseView, *, part: Budget, whole: Spec
) -> ViewPlan:
    config = ViewConfig(
        view=view.name,
        database=database.digest,
        context=view.context,
        pairs=view.kind == "pairs",
        depth=len(database.ancestors(database.table(view.table))),
    )
    # The receipt of a view claims what its own part of the budget buys.
    spec = replace(whole, epsilon=conversion.epsilon_of(part, whole.delta))
    config, complete = config.validate(view.domain, spec, rule="basic")
    return config.calibrate(view.domain, complete, within=part)
