"""A Bayesian network, grown greedily: every column is drawn given a few others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

from synth_engine.domain import Domain
from synth_engine.errors import SpecError
from synth_engine.inference import error_forecast, oneway
from synth_engine.inference.error_forecast import ErrorForecast, StandIn
from synth_engine.measurement import Measurement, Noise, Session
from synth_engine.measurement.replay import Replay
from synth_engine.mechanisms.pairwise import pairs
from synth_engine.mechanisms.pairwise.network_search import NetworkLimits, NetworkSearch
from synth_engine.models.model import Model
from synth_engine.plans import budget_allocation, resources
from synth_engine.plans.parameters import ParameterSchema, records_parameter
from synth_engine.plans.plan import Budget, Mechanism, Plan
from synth_engine.plans.resources import ResourceEstimate
from synth_engine.privacy import conversion
from synth_engine.privacy.loss import Pure, parse_amount
from synth_engine.privacy.unit import Relation, histogram_sensitivity
from synth_engine.spec import Spec

AUTO_DEGREE = 2
AUTO_CELLS = 20_000
NOISY_TABLE = 0.01
"""Standard deviation of a cell's noise, as a share of the records, from which tables get less of the
budget."""


@dataclass(frozen=True, kw_only=True)
class BayesianNetwork(Mechanism):
    """Greedy construction (PrivBayes), attribute by attribute, each with the table of its parents and itself.

    Asks: `measure` of every modelled attribute by itself; then, for each attribute but the first, one
    `select` among
        attributes and parents and, unless it is taken alone, one `measure` of the clique selected. Cliques
            and the
        noise of the tables depend on noisy answers (adaptive).
    Privacy: a cap fixed beforehand: epsilon (Laplace, permute-and-flip) for delta 0, else the rho that
    epsilon and
        delta buy (Gaussian, Gumbel). Its shares are spent on columns, choices and tables, and all of them add
            up.
        References are functions of paid answers alone. Proof: docs/proofs/bayesian-network.md.
    Public assumptions: the domain, its sizes and code order, the unit, the relation; the number of records
    only
        where it is a public invariant.
    """

    id: ClassVar[str] = "bayesian-network"
    counts_groups: ClassVar[bool] = True
    has_network: ClassVar[bool] = True
    title: ClassVar[str] = "Bayesian network"
    summary: ClassVar[str] = (
        "Measures every column, chooses privately which columns depend on which, measures those groups, "
        "and draws each column given the others of its group. Keeps the strongest relations between "
        "columns."
    )
    paper: ClassVar[str] = (
        "Zhang et al. 2017 (PrivBayes); Ping, Stoyanovich and Howe 2017 (correlated mode); McKenna and "
        "Sheldon 2020"
    )
    keeps: ClassVar[tuple[str, ...]] = (
        "histograms of single columns",
        "relations of each column with the few columns that say most about it",
        "number of records",
    )
    parameters: ClassVar[ParameterSchema] = {
        "type": "object",
        "properties": {
            "degree": {
                "type": "integer",
                "minimum": 0,
                "maximum": 5,
                "default": 0,
                "title": "Most parents of a column",
                "description": "How many other columns one column may be drawn from. 0: up to two.",
            },
            "table_cells": {
                "type": "integer",
                "minimum": 0,
                "maximum": 1_000_000,
                "default": 0,
                "title": "Most cells of a table",
                "description": "Larger groups of columns are not considered. 0: 20,000.",
            },
            "columns_share": budget_allocation.parameter(
                "single columns",
                "More of it makes each column more accurate, and relations less. 0: 0.6, up to 0.9 "
                "where epsilon is so small that tables of groups would hold little but noise.",
                most=0.95,
            ),
            "structure_share": budget_allocation.parameter(
                "choosing",
                "0: 0.1, but at most half of what single columns leave. The rest is spent on the "
                "tables of the groups chosen.",
                most=0.95,
            ),
            "records": records_parameter("the usual share of single columns follows from it"),
        },
        "additionalProperties": False,
    }
    relations: ClassVar[tuple[Relation, ...]] = (Relation.ADD_REMOVE, Relation.REPLACE_ONE)
    losses: ClassVar[tuple[str, ...]] = ("pure", "approximate")
    kind: ClassVar[Literal["static", "adaptive"]] = "adaptive"

    degree: int = 0
    table_cells: int = 0
    columns_share: float = 0
    structure_share: float = 0
    records: int = 0

    def calibrate(self, domain: Domain, spec: Spec, *, within: Budget | None = None) -> Plan:
        others = len(domain.modelled) - 1
        if self.degree > others:
            raise SpecError(
                f"degree is {self.degree}, but a column has only {others} others",
                repair="give a smaller one, or 0",
            )
        if self.columns_share + self.structure_share > 0.99:
            raise SpecError(
                "columns_share and structure_share leave nothing for tables",
                repair="give shares that add up to 0.99 at most",
            )
        cap = within or conversion.budget_for(spec.epsilon, spec.delta, adds_up=self.adds_up)
        plan = BayesianNetworkPlan(
            config=self, domain=domain, spec=spec, cap=cap, shares=self._shares(cap, domain)
        )
        plan.require_noise()
        return plan

    def _shares(self, cap: Budget, domain: Domain) -> Shares:
        whole = cap.amount
        if len(domain.modelled) == 1:
            return Shares(columns=whole, choices=Fraction(0), tables=Fraction(0))
        of_columns = parse_amount(self.columns_share, name="columns_share")
        of_choices = parse_amount(self.structure_share, name="structure_share")
        of_columns = of_columns or min(
            _columns_share(
                cap, domain, rows=self.records or domain.rows or error_forecast.ROWS
            ),
            (1 - of_choices) * 9 / 10,
        )
        of_choices = of_choices or min(Fraction(1, 10), (1 - of_columns) / 2)
        columns, choices = whole * of_columns, whole * of_choices
        return Shares(columns=columns, choices=choices, tables=whole - columns - choices)


def _columns_share(cap: Budget, domain: Domain, *, rows: int) -> Fraction:
    """More than the usual for single columns where a table's noise, with half the budget for tables, is large
    against the number of records. rows: a public number, or a guess."""
    sensitivity = histogram_sensitivity(domain.unit, domain.relation)
    tables = len(domain.modelled) - 1
    if isinstance(cap, Pure):
        spread = math.sqrt(2) * sensitivity.l1 * 2 * tables / float(cap.epsilon)
    else:
        spread = math.sqrt(sensitivity.l2_squared * tables / float(cap.rho))
    # How many times the noise of a table exceeds what is still useful, as a logarithm.
    octaves = math.log2(spread / rows / NOISY_TABLE)
    return Fraction(round(100 * min(max(0.6 + 0.1 * octaves, 0.6), 0.9)), 100)


@dataclass(frozen=True, kw_only=True)
class Shares:
    """Of the cap: for the tables of single columns, for all choices, and for all tables of groups."""

    columns: Fraction
    choices: Fraction
    tables: Fraction


@dataclass(frozen=True, kw_only=True)
class BayesianNetworkPlan(Plan):
    """`bayesian-network` with its budget cut up."""

    config: BayesianNetwork
    shares: Shares

    @property
    def limits(self) -> NetworkLimits:
        config = self.config
        degree = config.degree or min(AUTO_DEGREE, len(self.domain.modelled) - 1)
        return NetworkLimits(degree=degree, cells=config.table_cells or AUTO_CELLS)

    def require_noise(self) -> None:
        """Errors: SpecError for noise that cannot be drawn; once the run has been paid for it is too late to
        say so."""
        self._column_noises()
        self._selection_scale()
        self._noise_of_first_table()

    def ask(self, session: Session) -> None:
        oneways = pairs.measure_columns(session, self._column_noises())
        growth = self._growth(oneways)
        budget_left = self.shares.tables
        scale = self._selection_scale()
        while growth.unplaced:
            choices = growth.choices()
            # What attributes without parents leave unspent goes to the tables that follow.
            noise = self._noise(budget_left / growth.unplaced)
            index = session.select(growth.candidates(choices, noise=noise), scale=scale)
            node, answer = choices[index], None
            if node.parents:
                answer = session.measure((*node.parents, node.attribute), noise=noise)
                budget_left -= budget_allocation.price(noise, self.loss, self.sensitivity)
            growth.learn(node, answer)

    def fit_replay(self, given: Replay) -> Model:
        """The same steps as in `ask`, with the answers that it got."""
        growth = self._growth(pairs.read_columns(given, self.domain))
        while growth.unplaced:
            choices = growth.choices()
            node = choices[given.selection(len(choices))]
            table = (*node.parents, node.attribute)
            growth.learn(node, given.measurement(table) if node.parents else None)
        return growth.model(self.mechanism)

    def _growth(self, oneways: list[Measurement]) -> NetworkSearch:
        rows = (
            self.domain.rows if self.domain.rows is not None else oneway.estimate_rows(oneways)
        )
        return NetworkSearch(self.domain, self.limits, oneways=oneways, rows=rows)

    def _column_noises(self) -> dict[str, Noise]:
        return pairs.column_noises(
            self.domain, self.loss.of(self.shares.columns), self.sensitivity
        )

    def _noise(self, share: Fraction) -> Noise:
        return budget_allocation.noise(self.loss.of(share), self.sensitivity)

    def _selection_scale(self) -> Fraction:
        """Every choice but the first attribute's, which is public, gets the same part of the share."""
        choices = len(self.domain.modelled) - 1
        if not choices:
            return Fraction(1)
        return self.loss.of(self.shares.choices / choices).selection_scale(
            self.sensitivity.linf
        )

    def _noise_of_first_table(self) -> Noise | None:
        """That of later ones is no larger."""
        others = len(self.domain.modelled) - 1
        return self._noise(self.shares.tables / others) if others else None

    def needs(self, rows: int | None = None) -> ResourceEstimate:
        """Every group that may be a candidate is counted once, and its reference kept as long as there is
        room."""
        shapes = resources.groups_up_to(
            self.domain.sizes, columns=self.limits.degree + 1, cells=self.limits.cells
        )
        return super().needs(rows) + resources.of_groups(
            self._guess(rows), shapes, in_memory_at_once=True
        )

    def expected_error_on(self, table: StandIn) -> ErrorForecast:
        return error_forecast.network(
            self._column_noises(), self._noise_of_first_table(), table
        )
