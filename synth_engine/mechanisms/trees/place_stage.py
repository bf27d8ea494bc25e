"""A stage before a method of tables: it learns the cells of places by trees of points, and the method then
counts each place as one column of cells. Within its cell a generated record lies as its tree has it.

The cells follow from answers that were paid for, and the code of a record from its own coordinates, so that
counting by cells is as private as counting by columns (docs/proofs/learning.md). All calls stand under one
cap."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal

from synth_engine.domain import Domain
from synth_engine.hierarchy import NodeSet, SpatialHierarchy, divide_into_areas
from synth_engine.indexing import prefixes
from synth_engine.measurement import Answers, Session
from synth_engine.measurement.answers import AnsweredCall
from synth_engine.measurement.replay import Replay
from synth_engine.mechanisms.trees.adaptive import Adaptive
from synth_engine.mechanisms.trees.adaptive_depth import AdaptiveDepthPlan
from synth_engine.models.model import Model
from synth_engine.models.places import PlaceCells
from synth_engine.plans import two_stage
from synth_engine.plans.multi_stage import MultiStagePlan
from synth_engine.plans.plan import Budget, Mechanism, Plan
from synth_engine.plans.resources import ResourceEstimate
from synth_engine.spec import Spec

FIRST_SHARE, FURTHER_SHARE, MAX_SHARE = Fraction(10, 100), Fraction(6, 100), Fraction(30, 100)
"""Shares of the budget for the tree of the first place, of each further one, and of all of them at most."""
MAX_CELLS = 64
"""Cells by which a place is counted: more would leave little but noise in tables of two columns."""
CELLS_OF_EQUAL_PARTS = 32
"""A node is divided where it holds more than one of so many equal parts of the records."""


def needed(config: Mechanism, domain: Domain) -> bool:
    """Whether the cells of a place are learned before this method: one that chooses which columns it counts
    together. Others take a place as two columns, or grow a tree of their own."""
    chooses = config.kind == "adaptive" and config.has_columns
    return chooses and any(place.learned for place in domain.places)


def plan(config: Mechanism, spec: Spec, *, domain: Domain) -> PlacesPlan:
    """Calibrates a method whose parameters are resolved. Errors: SpecError, DomainError."""
    cap = two_stage.total_budget(config, spec)
    places = [place for place in domain.places if place.learned]
    share = min(MAX_SHARE, FIRST_SHARE + FURTHER_SHARE * (len(places) - 1))
    trees = {
        place.name: AdaptiveDepthPlan(
            config=Adaptive(),
            domain=domain,
            spec=spec,
            cap=cap.of(cap.amount * share / len(places)),
            hierarchy=prefixes.hierarchy(domain, place.columns),
        ).checked()
        for place in places
    }
    staged = PlacesPlan(
        config=config,
        domain=domain,
        spec=spec,
        cap=cap,
        sizes=None,
        trees=trees,
        left=cap.of(cap.amount * (1 - share)),
    )
    # Calibrated here, so that what is wrong with the parameters is refused before anything is paid for.
    _ = staged.outlook
    return staged


@dataclass(frozen=True, kw_only=True)
class PlacesPlan(MultiStagePlan):
    """A method, `config`, after the trees of places. trees: by the name of the place; left: the budget of the
    method."""

    trees: Mapping[str, AdaptiveDepthPlan]
    left: Budget

    @property
    def kind(self) -> Literal["static", "adaptive"]:
        return "adaptive"

    @cached_property
    def outlook(self) -> Plan:
        return self._method(self._expected_domain)

    @property
    def _expected_domain(self) -> Domain:
        return self.domain.join_places(dict.fromkeys(self.trees, MAX_CELLS))

    def _method(self, domain: Domain) -> Plan:
        """The plan of the method for cells of places, which may learn other columns first."""
        if two_stage.needed(self.config, domain):
            return two_stage.plan(self.config, self.spec, domain=domain, within=self.left)
        return self.config.calibrate(domain, self.spec, within=self.left)

    def ask(self, session: Session) -> None:
        cells = {
            name: self._cells(name, tree.run(session)) for name, tree in self.trees.items()
        }
        session.join_places(cells)
        self._after(cells).ask(session)

    def _cells(self, name: str, answers: Answers) -> NodeSet:
        """The cells of a place: nodes that cover the box. A function of the answers about its tree."""
        tree = self.trees[name]
        rows, leaves = tree.estimated(answers)
        (grown,) = answers.growths
        return divide_into_areas(
            grown,
            tree.hierarchy,
            leaves,
            least=max(1.0, rows / CELLS_OF_EQUAL_PARTS),
            most=MAX_CELLS,
        )

    def _after(self, cells: Mapping[str, NodeSet]) -> Plan:
        return self._method(self.domain.join_places({name: len(cells[name]) for name in cells}))

    def _read(self, given: Replay) -> tuple[dict[str, Answers], Plan]:
        """The stored answers about each tree, and the plan of the method after them. Errors: InputError."""
        answers = {name: given.take_while(_OfTree(tree)) for name, tree in self.trees.items()}
        given.require(all(len(one.growths) == 1 for one in answers.values()))
        return answers, self._after(
            {name: self._cells(name, answers[name]) for name in answers}
        )

    def second_stage(self, given: Replay) -> Plan:
        return self._read(given)[1]

    def columns_not_found(self, given: Replay) -> tuple[str, ...]:
        answers, method = self._read(given)
        of_noise = [
            column
            for place in self.domain.places
            if place.name in answers and self._is_noise(place.name, answers[place.name])
            for column in place.columns
        ]
        return (*of_noise, *method.columns_not_found(given))

    def _is_noise(self, name: str, answers: Answers) -> bool:
        """Whether a table without records would most likely have given such a tree of a place."""
        tree = self.trees[name]
        rows, leaves = tree.estimated(answers)
        return tree.diagnose(answers, leaves, rows=rows).noise

    def fit_replay(self, given: Replay) -> Model:
        answers, method = self._read(given)
        coded = replace(method, prior=self.prior).fit(given.rest())
        learned = {one.name: coded.domain.attribute(one.name) for one in self.domain.undeclared}
        places = []
        for name, tree in self.trees.items():
            hierarchy = tree.hierarchy
            if not isinstance(hierarchy, SpatialHierarchy):
                raise TypeError("a place has a hierarchy of points")
            _, leaves = tree.estimated(answers[name])
            cells = self._cells(name, answers[name])
            places.append(PlaceCells.of(name, hierarchy, leaves, cells))
        return Model(
            mechanism=self.mechanism,
            domain=self.domain.resolve(learned) if learned else self.domain,
            rows=coded.rows,
            tables=(),
            coded=coded,
            places=tuple(places),
        )

    def needs(self, rows: int | None = None) -> ResourceEstimate:
        return sum((tree.needs(rows) for tree in self.trees.values()), super().needs(rows))


class _OfTree:
    """Whether the next answer is one about a tree: a number of records that comes first, then growth and
    leaves."""

    def __init__(self, tree: AdaptiveDepthPlan) -> None:
        self._columns, self._counted = tree.hierarchy.columns, tree.total_noise() is None

    def __call__(self, line: AnsweredCall) -> bool:
        query = line.call.query
        if not self._counted:
            self._counted = True
            return query.verb == "measure" and not query.clique
        return query.verb in ("grow", "leaves") and query.clique == self._columns
