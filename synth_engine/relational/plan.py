"""The plan of a release of a database: each view is measured by `auto` with a part of one budget.

All views are tables of the same privacy units, so their losses add up as those of any adaptive sequence
(docs/proofs/relational.md). The view of units is measured first. From its noisy answers follow how many rows
of a unit the other views hold at most, and how the rest of the budget is divided over them
(`relational/bounds.py`); without it both are fixed by the description alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from statistics import fmean
from typing import Any, ClassVar

from synth_engine.domain import Attribute, Domain
from synth_engine.domain import views as database_views
from synth_engine.domain.database import Database
from synth_engine.domain.views import UNITS, DatabaseView, is_number
from synth_engine.errors import SpecError
from synth_engine.measurement import Answers
from synth_engine.mechanisms.auto import fitting
from synth_engine.mechanisms.auto.auto import Auto, AutoPlan
from synth_engine.mechanisms.auto.selection import Columns, Pair
from synth_engine.models.model import Model
from synth_engine.plans.plan import Budget, Rule, price
from synth_engine.privacy import conversion
from synth_engine.privacy import receipt as receipts
from synth_engine.privacy.loss import Price, Pure, plain, ratio, scientific
from synth_engine.relational import bounds
from synth_engine.relational.answers import DatabaseAnswers
from synth_engine.relational.model import DatabaseModel
from synth_engine.spec import Spec
from synth_engine.strict_json import JsonObject

MECHANISM = "relational"
_UNITS_SHARE = Fraction(3, 100)
"""Of the budget, for the view of units."""
_NOISE = Fraction(19, 20)
"""Noise in the columns of each table, as a multiple of what it would be if this table were released alone
with the whole budget."""
_LEAST_FOR_JOINS = Fraction(1, 10)
"""Of the budget, for scores, pairs and triples of all views; what columns do not need goes there as well.
Where they would need more than what this leaves, as with many tables, noise in all of them is by one factor
larger."""
_MOST_COLUMNS = Fraction(23, 25)
"""Of the part of a view: for its single columns at most, so that scores and tables have theirs."""
_PAIRS_COLUMNS = Fraction(1, 5)
"""Of the part of a view of pairs of siblings: for its single columns, all of which are known from the view of
the table."""
_MOVED = 0.4
"""Half of the mean size of a Gaussian variable of variance 1: how much of the noise of a cell moves a total
variation distance."""
_KNOWN_FACTOR = 0.03
_NUMBERS_FACTOR = 0.05
"""Factors on the share of a column that is known from another view, and of numbers of children. The former
are measured only so that pairs can be read against them; a table that is released alone has no latter."""
_PER_MILLE = 1000


@dataclass(frozen=True, kw_only=True)
class ViewConfig(Auto):
    """`auto` on one view. view: its name; database: the digest of the description of all tables; context: the
    columns that are known of a row beforehand, whose relations with each other are not asked for; pairs:
    whether it is a view of pairs of siblings, in which no relation within one row is asked for either;
    columns: thousandths of its part of the budget that go to single columns."""

    id: ClassVar[str] = MECHANISM

    view: str
    database: str
    context: tuple[str, ...] = ()
    pairs: bool = False
    columns: int = 0

    @property
    def is_of_units(self) -> bool:
        return self.view == UNITS

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
        weight = super().column_weight(attribute, power)
        if attribute.name in self._known:
            return weight * _KNOWN_FACTOR
        return weight * _NUMBERS_FACTOR if is_number(attribute.name) else weight

    def typical_noise(self, columns: Sequence[str]) -> float:
        """The standard deviation of the noise of one count, in records, on average over these columns."""
        noises = self.column_noises()
        return fmean(math.sqrt(noises[name].variance) for name in columns)

    def columns_share(self) -> Fraction:
        if self.config.is_of_units:
            return Fraction(1)
        share = super().columns_share()
        return share if share == 1 else Fraction(self.config.columns, _PER_MILLE)

    def _pairs(self, columns: Columns) -> list[Pair]:
        if self.config.is_of_units:
            return []
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

    units: the view of units and its plan; None where the database has none. views, plans: of all others, as
    they are under the declared maxima; `after_units` gives those that are measured. cap: the sum of all
    caps."""

    database: Database
    epsilon: Fraction
    delta: Fraction
    units: tuple[DatabaseView, ViewPlan] | None
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
        """SHA-256 over everything public that fixes the run: the tables, and the plans of all views; or,
        where these follow from the answers about units, what they follow from besides."""
        if self.units is None:
            return digest_of(self.database.statement, [plan.digest for plan in self.plans])
        _, plan = self.units
        target: JsonObject = {"epsilon": ratio(self.epsilon), "delta": ratio(self.delta)}
        return digest_of(self.database.statement, [plan.digest], target=target)

    @property
    def steps(self) -> tuple[tuple[DatabaseView, ViewPlan], ...]:
        """All views with their plans, in the order in which they are measured."""
        first = () if self.units is None else (self.units,)
        return (*first, *zip(self.views, self.plans, strict=True))

    def after_units(self, answers: Answers) -> DatabasePlan:
        """The plan as it goes on once the view of units was measured, with smaller bounds on the rows of a
        unit."""
        if self.units is None:
            return self
        view, plan = self.units
        most = bounds.learned(self.database, view, answers, prices=self._prices)
        whole = replace(self.spec, parameters={})
        views = database_views.views(self.database, bounds=most)
        return replace(
            self,
            views=views,
            plans=_plans(
                self.database, views, cap=self.cap, left=_without(plan, self.cap), whole=whole
            ),
        )

    @property
    def _prices(self) -> dict[str, float]:
        """Of each table, by how many records the noise in a column moves in the mean, for each row that a
        unit may have."""
        prices = {}
        for view, plan in zip(self.views, self.plans, strict=True):
            if view.kind == "table":
                noises, own = plan.column_noises(), self.database.table(view.table).domain.names
                cells = fmean(
                    view.domain.sizes[name] * math.sqrt(noises[name].variance) for name in own
                )
                prices[view.table] = _MOVED * cells / view.domain.unit.max_records
        return prices

    def measured(self, answers: Sequence[Answers]) -> tuple[ViewPlan, ...]:
        """The plans that these answers are of, in their order: answers about units are the first."""
        if self.units is None:
            return self.plans
        return (self.units[1], *self.after_units(answers[0]).plans)

    def answers_bytes(self) -> int:
        """What to reserve for the file of answers, in bytes, from public facts alone."""
        return sum(plan.answers_bytes() for _, plan in self.steps)

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
        """What will be measured, from public facts alone: views, the rows of a unit in each, and their parts
        of the budget."""
        return {
            "guarantee": self.sentence,
            "views": [
                {
                    "view": view.name,
                    "max_rows_of_a_unit": view.domain.unit.max_records,
                    "part_of_budget": round(float(plan.loss.amount / self.cap.amount), 4),
                    "epsilon_alone": float(plan.epsilon),
                    "noise_of_a_count": round(plan.typical_noise(view.own), 1),
                    "columns": list(view.own),
                    "columns_above": list(view.context),
                }
                for view, plan in self.steps
            ],
        }

    def fit(self, answers: DatabaseAnswers) -> DatabaseModel:
        """A model of each view but that of units, from its noisy answers: post-processing."""
        models: dict[str, Model] = {
            plan.config.view: plan.fit(given)
            for plan, given in zip(self.measured(answers.views), answers, strict=True)
            if not plan.config.is_of_units
        }
        return DatabaseModel(database=self.database, models=models)


def digest_of(
    tables: Sequence[JsonObject], plans: Sequence[str], *, target: JsonObject | None = None
) -> str:
    """The digest of a plan, from what its receipt says: its tables, and the digests of the plans of its
    views. With a view of units: the digest of its plan, and the target, from which the others follow."""
    stated: JsonObject = {"tables": list(tables), "plans": list(plans)}
    if target is None:
        return receipts.digest({"schema": "synth_engine/database-plan/1", **stated})
    return receipts.digest(
        {"schema": "synth_engine/database-plan/2", **stated, "target": target}
    )


def digest_of_receipt(receipt: Mapping[str, Any]) -> str:
    """The digest of the plan that a receipt of a database is of."""
    plans = [view["plan"]["sha256"] for view in receipt["views"]]
    if receipt["views"][0]["mechanism"]["parameters"]["view"] != UNITS:
        return digest_of(receipt["tables"], plans)
    return digest_of(receipt["tables"], plans[:1], target=receipt["target"])


def plan(database: Database, *, epsilon: Fraction, delta: Fraction) -> DatabasePlan:
    """Divides the budget that (epsilon, delta) buys over all views, and calibrates each.
    Errors: SpecError, DomainError; nothing is read."""
    database.require_confirmed()
    whole = Spec(mechanism=MECHANISM, epsilon=epsilon, delta=delta)
    cap = conversion.budget_for(whole.epsilon, whole.delta, adds_up="gdp")
    units, left = None, cap.amount
    view = database_views.units_view(database)
    if view is not None:
        first = _view_plan(
            database,
            view,
            part=cap.of(cap.amount * _UNITS_SHARE),
            columns=Fraction(1),
            whole=whole,
        )
        units, left = (view, first), _without(first, cap)
    views = database_views.views(database)
    return DatabasePlan(
        database=database,
        epsilon=epsilon,
        delta=delta,
        units=units,
        views=views,
        plans=_plans(database, views, cap=cap, left=left, whole=whole),
        cap=cap,
    )


def _without(units: ViewPlan, cap: Budget) -> Fraction:
    """What the view of units leaves of the budget."""
    return cap.amount - units.loss.amount


def _plans(
    database: Database,
    views: Sequence[DatabaseView],
    *,
    cap: Budget,
    left: Fraction,
    whole: Spec,
) -> tuple[ViewPlan, ...]:
    """Plans of these views, which share what is left of the budget."""
    columns = [_columns_needed(database, view, cap=cap, whole=whole) for view in views]
    joins = [_joins_weight(database, view) for view in views]
    all_columns = min(sum(columns) / _NOISE**2, 1 - _LEAST_FOR_JOINS)
    plans = []
    for view, column, join in zip(views, columns, joins, strict=True):
        of_columns = all_columns * column / sum(columns)
        share = of_columns + (1 - all_columns) * join / sum(joins)
        plans.append(
            _view_plan(
                database,
                view,
                part=cap.of(left * share),
                columns=min(of_columns / share, _MOST_COLUMNS) if column else _PAIRS_COLUMNS,
                whole=whole,
            )
        )
    return tuple(plans)


def _columns_needed(
    database: Database, view: DatabaseView, *, cap: Budget, whole: Spec
) -> Fraction:
    """The share of the whole budget with which the columns of a table would have the noise that they have in
    a release of this table alone; 0 of pairs, whose columns are those of a table."""
    if view.kind == "pairs":
        return Fraction(0)
    table = database.table(view.table)
    unit, declared = view.domain.unit, database.max_records(table)
    domain = replace(table.domain, unit=replace(unit, max_records=declared))
    alone = AutoPlan(config=Auto(), domain=domain, spec=whole, cap=cap)
    own = sum(_root(attribute) for attribute in domain.modelled)
    known = sum(_root(view.domain.attribute(name)) for name in view.context)
    numbers = sum(_root(view.domain.attribute(name)) for name in view.own if is_number(name))
    # What these take is added, so that as much is left of it for the columns of the table.
    more = _KNOWN_FACTOR * known + _NUMBERS_FACTOR * numbers
    needed = alone.columns_share() * Fraction(round(_PER_MILLE * (1 + more / own)), _PER_MILLE)
    # A share buys noise in proportion to the rows of a unit: where the bound on these is smaller, less will
    # do.
    smaller = Fraction(unit.max_records, declared)
    return needed * (smaller if isinstance(cap, Pure) else smaller**2)


def _root(attribute: Attribute) -> float:
    """About the weight of a column's share (`AutoPlan.column_weight`)."""
    return math.sqrt(attribute.size)


def _joins_weight(database: Database, view: DatabaseView) -> int:
    """The weight of a view where budget is divided that is not for single columns. With every level noise
    grows, and columns above a row."""
    if view.kind == "pairs":
        return 1
    return 1 + len(database.ancestors(database.table(view.table)))


def _view_plan(
    database: Database, view: DatabaseView, *, part: Budget, columns: Fraction, whole: Spec
) -> ViewPlan:
    config = ViewConfig(
        view=view.name,
        database=database.digest,
        context=view.context,
        pairs=view.kind == "pairs",
        columns=round(columns * _PER_MILLE),
    )
    # The receipt of a view claims what its own part of the budget buys.
    spec = replace(whole, epsilon=conversion.epsilon_of(part, whole.delta))
    config, complete = config.validate(view.domain, spec, rule="basic")
    return config.calibrate(view.domain, complete, within=part)
