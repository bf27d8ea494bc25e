"""The trunk of all methods that grow a tree.

A plan asks for the number of records, opens nodes by a rule, and has counts of the nodes at which the tree
ends. The subclasses say which nodes open (`growth_rule`), what is counted (`node_counts`) and how counts are
read (`estimated`). The run, the model, its diagnostics and the forecasts are the same for all of them, and
`further_counts` adds counts of parts of any tree.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Literal, Self

import numpy as np

from synth_engine.domain import MAX_PLACED_CODES, Domain, Undeclared
from synth_engine.errors import DomainError, SpecError
from synth_engine.hierarchy import MAX_CELLS, Growth, Hierarchy, NodeSet, Rule, StringHierarchy
from synth_engine.hierarchy.estimate import LeafEstimates
from synth_engine.indexing import prefixes
from synth_engine.inference import error_forecast
from synth_engine.inference.error_forecast import ErrorForecast
from synth_engine.measurement import Answers, Leaves, Noise, Session
from synth_engine.measurement.replay import Replay
from synth_engine.mechanisms.trees import resources
from synth_engine.mechanisms.trees.columns import over_alphabet, resolve_domain, texts_of
from synth_engine.models.model import Model
from synth_engine.models.trees import diagnostics, factory
from synth_engine.models.trees.covariates import Covariates
from synth_engine.models.trees.diagnostics import TreeDiagnostics
from synth_engine.models.trees.spatial import Placement
from synth_engine.models.trees.strings import IncompletePrefixes
from synth_engine.plans import budget_allocation
from synth_engine.plans.plan import Mechanism, Plan
from synth_engine.plans.resources import ResourceEstimate
from synth_engine.privacy.unit import Relation


class TreeMechanism(Mechanism):
    """What all methods that grow trees are stated for."""

    relations: ClassVar[tuple[Relation, ...]] = (Relation.ADD_REMOVE, Relation.REPLACE_ONE)
    most_codes: ClassVar[int] = MAX_PLACED_CODES
    losses: ClassVar[tuple[str, ...]] = ("pure", "approximate")
    kind: ClassVar[Literal["static", "adaptive"]] = "adaptive"
    has_columns: ClassVar[bool] = False

    @classmethod
    def learns(cls, attribute: Undeclared) -> bool:
        return over_alphabet(attribute)

    def hierarchy(
        self,
        domain: Domain,
        columns: Sequence[str] = (),
        *,
        depth: int = 0,
        together: bool = True,
    ) -> Hierarchy:
        """The public hierarchy of these columns, or of all. Errors: DomainError, and SpecError where it has
        no such depth or where there are constraints, which no tree keeps."""
        if domain.constraints:
            raise SpecError(
                f"{self.id} keeps no constraints",
                repair="take them away, or choose another method",
            )
        hierarchy = prefixes.hierarchy(domain, columns or domain.names, together=together)
        if depth > hierarchy.depth:
            raise SpecError(
                f"depth is more than the {hierarchy.depth} that the description goes",
                repair="describe more bins or longer texts, or take a smaller depth",
            )
        # The receipt states this number, and a verifier would refuse it when the budget is spent.
        if hierarchy.cells() > MAX_CELLS:
            raise DomainError(
                "a tree with more than 2^512 possible cells",
                repair="declare shorter texts, or choose fewer columns",
                column=", ".join(hierarchy.columns),
            )
        return hierarchy


@dataclass(frozen=True, kw_only=True)
class NodeCounts:
    """A table of counts of nodes that a plan asks for. threshold: counts below it are given as 0."""

    nodes: NodeSet
    noise: Noise
    threshold: int | None = None


@dataclass(frozen=True, kw_only=True)
class TreePlan(Plan):
    """A tree over the columns of `hierarchy`, with its budget allocated."""

    total_share: ClassVar[Fraction]
    """Of the budget, for the number of records."""

    hierarchy: Hierarchy
    partial: IncompletePrefixes = "completed"
    """How prefixes of strings are written."""
    placed: Placement = "density"
    """Where records lie within a cell."""

    # ---- strategies ----------------------------------------------------------------------

    @abstractmethod
    def require_noise(self) -> None:
        """Errors: SpecError where the budget gives no noise that can be drawn: before anything is charged."""

    @abstractmethod
    def growth_rule(self, records: float | None = None) -> tuple[Rule, Noise]:
        """Rule and noise by which nodes open. records: about how many there are, a number that is public or
        was paid for; None: that of a forecast."""

    def node_counts(self, grown: Growth, records: float) -> Sequence[NodeCounts]:
        """The counts of a tree. records: as of `growth_rule`."""
        raise NotImplementedError

    @abstractmethod
    def estimated(self, answers: Answers) -> tuple[int, LeafEstimates]:
        """The number of records, and estimated counts of nodes, none inside another. Errors: InputError where
        these are not answers of this plan."""

    @abstractmethod
    def counts_per_value(self, records: int) -> tuple[Noise, float]:
        """The noise of a count, and how many counts add up to one value of a column, at most."""

    def kept_leaves(self, leaves: LeafEstimates) -> LeafEstimates:
        """The leaves of which a model consists."""
        return leaves

    # ---- the budget ----------------------------------------------------------------------

    def checked(self) -> Self:
        """This plan. Errors: SpecError where the budget gives no noise."""
        self.require_noise()
        return self

    def share_noise(self, share: Fraction) -> Noise:
        """The noise of a table of counts for this share of the budget."""
        return budget_allocation.noise(self.loss.of(self.loss.amount * share), self.sensitivity)

    @property
    def share_of_counts(self) -> Fraction:
        """What the number of records leaves."""
        return Fraction(1) if self.total_noise() is None else 1 - self.total_share

    def deepest(self, fits: Callable[[int], bool], *, most: int | None = None) -> int:
        """The largest depth that fits, of the hierarchy or at most so many; 1 where none does."""
        depth = min(self.hierarchy.depth, most or self.hierarchy.depth)
        return next((level for level in range(depth, 1, -1) if fits(level)), 1)

    # ---- the number of records -----------------------------------------------------------

    @property
    def reads_strings(self) -> bool:
        return self.hierarchy.component(StringHierarchy) is not None

    @property
    def root(self) -> NodeSet:
        """All records that are in the tree."""
        return NodeSet(
            columns=self.hierarchy.columns,
            levels=np.zeros(1, dtype=np.int64),
            prefixes=self.hierarchy.root(),
        )

    def total_noise(self) -> Noise | None:
        """None where the number of records is public."""
        if self.domain.rows is not None and not self.reads_strings:
            return None
        return self._noise_of_total()

    def _noise_of_total(self) -> Noise:
        return self.share_noise(self.total_share)

    def ask_total(self, session: Session) -> Answers:
        noise, before = self.total_noise(), len(session.answers)
        if noise is not None:
            # Records whose string has another character than the alphabet's are in no node: only the root
            # leaves them out.
            if self.reads_strings:
                session.leaves(self.root, noise=noise)
            else:
                session.measure((), noise=noise)
        return session.answers[before:]

    def read_total(self, given: Replay) -> float | None:
        """The stored answer to `ask_total`; None where the number is public. Errors: InputError."""
        noise = self.total_noise()
        if noise is None:
            return None
        if not self.reads_strings:
            return float(given.measurement(()).values.sum())
        root = self.root.digest
        total = given.next(
            Leaves, lambda one: (one.partition.digest, one.noise) == (root, noise)
        )
        return float(total.values.sum())

    def records(self, answers: Answers) -> float:
        """The public number of records, or a noisy one, which comes first."""
        return self._records(self.read_total(Replay(answers)))

    def _records(self, total: float | None) -> float:
        return float(self.domain.rows or 0) if total is None else total

    # ---- the run -------------------------------------------------------------------------

    def ask(self, session: Session) -> None:
        totals = self.ask_total(session)
        records, together = self.records(totals), self.hierarchy.joint_halving
        rule, noise = self.growth_rule(records)
        grown = session.grow(self.hierarchy.columns, rule=rule, noise=noise, together=together)
        for table in self.node_counts(grown, records):
            session.leaves(
                table.nodes, noise=table.noise, threshold=table.threshold, together=together
            )

    def read_growth(self, given: Replay, total: float | None) -> tuple[Growth, Noise]:
        """The stored tree, and the noise by which it was grown. Errors: InputError."""
        rule, noise = self.growth_rule(self._records(total))
        asked = self.hierarchy.columns, rule
        return given.next(Growth, lambda one: (one.columns, one.rule) == asked), noise

    # ---- the model -----------------------------------------------------------------------

    def fit_replay(self, given: Replay) -> Model:
        answers = given.rest()
        rows, leaves = self.estimated(answers)
        tree = self.tree(self.kept_leaves(leaves))
        return self.model(tree, self.diagnose(answers, leaves, rows=rows), rows=rows)

    def tree(
        self, leaves: LeafEstimates, *, attached: Covariates | None = None
    ) -> factory.ModelTree:
        """The part of a model that is made of leaves. attached: columns beside them."""
        texts = texts_of(self.domain) if self.partial == "completed" else None
        return factory.tree(
            self.hierarchy,
            leaves,
            incomplete_prefixes=self.partial,
            completions=None if texts is None else texts.completions,
            placed=self.placed,
            attached=attached,
        )

    def model(self, tree: factory.ModelTree, notes: TreeDiagnostics, *, rows: int) -> Model:
        return Model(
            mechanism=self.mechanism,
            domain=resolve_domain(self.domain),
            rows=rows,
            tables=(),
            tree=tree,
            notes=notes,
        )

    def diagnose(self, answers: Answers, ends: LeafEstimates, *, rows: int) -> TreeDiagnostics:
        """ends: the nodes at which the tree ends, or those of them that have records."""
        (grown,) = answers.growths
        _, noise = self.growth_rule(self.records(answers))
        return diagnostics.of_growth(
            grown,
            self.hierarchy,
            noise=noise,
            counted=self.counted(answers),
            ends=ends,
            rows=rows,
        )

    def counted(self, answers: Answers) -> list[tuple[diagnostics.Counts, Noise]]:
        """Tables of counts of nodes; the root of strings is no part of the tree that noise could give."""
        return [(table.values, table.noise) for table in answers.leaves[self.reads_strings :]]

    # ---- forecasts -----------------------------------------------------------------------

    @property
    def tree_hierarchy(self) -> Hierarchy:
        return self.hierarchy

    def min_records_to_split(self, rows: int | None = None) -> int:
        return diagnostics.min_records_to_split(self._forecast_rule(rows))

    def _forecast_rule(self, rows: int | None) -> Rule:
        return self.growth_rule(float(self._guess(rows)))[0]

    def needs(self, rows: int | None = None) -> ResourceEstimate:
        """Sorted codes, and noise for each child of a node that can be opened."""
        tree = resources.of_tree(self.hierarchy, self._forecast_rule(rows), self._guess(rows))
        return super().needs(rows) + tree

    def _min_visible_count(self, rows: int | None) -> int:
        """About how many records a string needs to be in the release."""
        return self.min_records_to_split(rows)

    def expected_error(self, *, rows: int | None = None) -> ErrorForecast:
        """As of tables of single columns, each value of which is the sum of all nodes with it: a rough upper
        end, since counts that agree, or that are cleaned, are more accurate than single ones."""
        records = self._guess(rows)
        domain = resolve_domain(self.domain)
        sizes = {
            name: domain.sizes[name] for name in domain.names if name in self.hierarchy.columns
        }
        noise, counts = self.counts_per_value(records)
        # A sum of counts has the sum of their variances; a discrete Laplace variance is about twice its
        # squared scale.
        scale = Fraction(math.sqrt(noise.variance / 2 * max(1.0, counts)))
        spread = Noise(law="discrete-laplace", scale=scale)
        table = error_forecast.typical(sizes, rows=records)
        forecast = error_forecast.independent(dict.fromkeys(sizes, spread), table)
        if (texts := texts_of(self.domain)) is not None:
            least = self._min_visible_count(rows)
            forecast = error_forecast.with_string_column(
                forecast, texts.name, least=least, kinds=texts.values.size
            )
        assumes = f"{self.advice} {forecast.assumes}".strip()
        # Leaves are counted, and no code of a column by itself.
        return replace(
            forecast, assumes=assumes, pairs_band=None, column_noise={}, pair_noise=None
        )
