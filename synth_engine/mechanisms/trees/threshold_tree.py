"""Trees by any rule: grown, counted anew where they end, and cleaned. One plan for points, classes and for one column of texts over
an alphabet, and for all of them in one tree, whatever the method is called."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TypeGuard

import numpy as np
import numpy.typing as npt

from synth_engine.codec import prefixes
from synth_engine.domain import Domain, Undeclared, Weak
from synth_engine.errors import SpecError
from synth_engine.hierarchy import (
    Growth,
    Hierarchy,
    NodeSet,
    ProductHierarchy,
    Rule,
    SpatialHierarchy,
    StringHierarchy,
    estimate,
    growth,
    leaf_nodes,
    words_of,
)
from synth_engine.inference import error_forecast, oneway
from synth_engine.inference.error_forecast import ErrorForecast
from synth_engine.measurement import Answers, Leaves, Measurement, Noise, Session
from synth_engine.measurement.answers import not_of_this_plan
from synth_engine.mechanisms.trees import resources
from synth_engine.models.model import Model
from synth_engine.models.trees import factory
from synth_engine.models.trees.diagnostics import (
    TreeDiagnostics,
    min_records_to_split,
    of_growth,
)
from synth_engine.models.trees.strings import IncompletePrefixes, column
from synth_engine.plans import budget_allocation
from synth_engine.plans.plan import Budget, Mechanism, Plan
from synth_engine.plans.resources import ResourceEstimate
from synth_engine.privacy import filter, noise_scale, trees
from synth_engine.privacy.events import ThresholdTree
from synth_engine.privacy.loss import Pure
from synth_engine.privacy.unit import levels_sensitivity
from synth_engine.spec import Spec
from synth_engine.values.strings import Strings

TOTAL_SHARE = Fraction(2, 100)
"""Of the budget for the number of records."""
DEPTHS: Mapping[str, int] = {"points": 8, "texts": 20}
"""Of a tree whose every depth costs, where nothing else is asked for: what the paper takes."""
BORNE = 2.0
"""With classes a depth is as deep as its turns come, so that there is no usual one. The logarithm of how many nodes may be opened
above the last depth, by that of how many thresholds there are in the records: of several columns together most nodes hold
nobody. One depth too many costs a tenth of the accuracy, one too few a half and more."""
_STEPS = 24


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a tree is grown and cleaned. `rule`, `depth` (0: as deep as is usual), `threshold` in records (0: the least that
    empty nodes bear); of the improved rule `spread` and `parts` as `Rule` has them; `growing`: the part of epsilon that opens nodes; `clean`: counts under so many noise scales are zero, and with
    `matched` as many more of the smallest as it takes for the rest not to be more than all records; `partial`: how
    beginnings of texts are written."""

    rule: growth.Name
    depth: int = 0
    threshold: int = 0
    spread: growth.Spread = "chance"
    parts: int = 1
    growing: float = 0.5
    clean: float = 2
    matched: bool = False
    partial: IncompletePrefixes = "completed"


def over_alphabet(attribute: Undeclared) -> TypeGuard[Weak]:
    """Whether it is a column of unknown texts over an alphabet."""
    return isinstance(attribute, Weak) and isinstance(attribute.values, Strings)


def texts_of(domain: Domain) -> Weak | None:
    """That column, of a table where nothing else is unknown."""
    return next(
        (
            each
            for each in domain.undeclared
            if len(domain.undeclared) == 1 and over_alphabet(each)
        ),
        None,
    )


def text_column(domain: Domain) -> Weak | None:
    """The same of a table that has it alone."""
    return texts_of(domain) if len(domain.names) == 1 else None


def plan(
    config: Mechanism,
    spec: Spec,
    *,
    domain: Domain,
    settings: Settings,
    within: Budget | None,
    columns: Sequence[str] = (),
) -> TreePlan:
    """columns: of the tree, absent: all. Errors: SpecError, DomainError."""
    hierarchy = prefixes.hierarchy(domain, columns or domain.names)
    if settings.depth > hierarchy.depth:
        raise SpecError(
            f"depth is more than the {hierarchy.depth} that the description goes",
            repair="describe more bins or longer texts, or take a smaller depth",
        )
    if domain.constraints:
        raise SpecError(
            f"{config.id} keeps no constraints",
            repair="take them away, or choose another method",
        )
    cap = within or Pure(epsilon=spec.epsilon)
    found = TreePlan(
        config=config, domain=domain, spec=spec, cap=cap, hierarchy=hierarchy, settings=settings
    )
    found.growth_rule()
    found.leaf_noise()
    return found


@dataclass(frozen=True, kw_only=True)
class TreePlan(Plan):
    """A tree with its budget cut up in three: the total, the tree, its ends."""

    hierarchy: Hierarchy
    settings: Settings

    def _part(self, share: Fraction) -> Budget:
        """Of epsilon; where rho or mu² add up, so that the parts of epsilon are as they would be."""
        squared = not isinstance(self.loss, Pure)
        growing = self._growing
        whole = sum(
            (
                part**2 if squared else part
                for part in (TOTAL_SHARE, growing, 1 - TOTAL_SHARE - growing)
            ),
            Fraction(0),
        )
        return self.loss.of(self.loss.amount * (share**2 if squared else share) / whole)

    @property
    def _growing(self) -> Fraction:
        return Fraction(round(self.settings.growing * 1000), 1000)

    def total_noise(self) -> Noise:
        return budget_allocation.noise(self._part(TOTAL_SHARE), self.sensitivity, laplace=True)

    def leaf_noise(self) -> Noise:
        return self._counted_with

    @cached_property
    def _counted_with(self) -> Noise:
        return budget_allocation.noise(
            self._part(1 - TOTAL_SHARE - self._growing), self.sensitivity, laplace=True
        )

    @property
    def count_threshold(self) -> int:
        """What a count has to reach not to be zero."""
        return max(1, math.ceil(self.settings.clean * float(self.leaf_noise().scale)))

    def growth_rule(self, records: float | None = None) -> tuple[Rule, Noise]:
        """Rule and noise of the tree. records: how many there are about, a number that is public or was paid for, from which the
        depth of a tree with classes follows whose every depth costs; of others the rule is public. None: of a forecast."""
        if self.settings.rule != "basic":
            return self._without_counts
        return self._basic(
            self.settings.depth
            or self._usual(self._guess(None) if records is None else records)
        )

    def _usual(self, records: float) -> int:
        if isinstance(self.hierarchy, SpatialHierarchy | StringHierarchy):
            return _usual_alone(self.hierarchy)
        if isinstance(self.hierarchy, ProductHierarchy) and self._of_texts:
            whole = [
                (self.hierarchy.own_levels(at), each)
                for at, each in enumerate(self.hierarchy.components)
            ]
            return max(
                int(np.searchsorted(levels, _usual_alone(each))) for levels, each in whole
            )
        for depth in range(self.hierarchy.depth, 1, -1):
            borne = math.log(max(records / self._basic(depth)[0].threshold, 1))
            if math.log(resources.room(self.hierarchy, depth - 1)) <= BORNE * borne:
                return depth
        return 1

    def _basic(self, depth: int) -> tuple[Rule, Noise]:
        sensitivity = levels_sensitivity(self.sensitivity, levels=depth)
        noise = budget_allocation.noise(self._part(self._growing), sensitivity, laplace=True)
        least = trees.least_threshold(scale=noise.scale, branching=self._branching)
        return Rule(
            name="basic", depth=depth, threshold=self.settings.threshold or least
        ), noise

    @cached_property
    def _without_counts(self) -> tuple[Rule, Noise]:
        branching, part = self._branching, self._part(self._growing)
        depth = min(self.settings.depth or self.hierarchy.depth, self.hierarchy.depth)
        noise = self._least(
            lambda scale: self._rule(scale, branching=branching, depth=depth), part
        )
        return self._rule(noise.scale, branching=branching, depth=depth), noise

    @property
    def _branching(self) -> int:
        """The most children that a node has; of classes at any depth, as the widest may come last."""
        alike = isinstance(self.hierarchy, SpatialHierarchy | StringHierarchy)
        return max(self.hierarchy.branching(min(2, self.hierarchy.depth) if alike else None))

    def _rule(self, scale: Fraction, *, branching: int, depth: int) -> Rule:
        """scale: of noise on parts of records."""
        if self.settings.rule == "privtree":
            decay = trees.least_decay(scale=scale, branching=branching)
            return Rule(
                name="privtree",
                depth=depth,
                threshold=self.settings.threshold or 1,
                discount=decay,
            )
        spread, parts = self.settings.spread, self.settings.parts
        threshold = parts * self.settings.threshold or trees.least_threshold(
            scale=scale, branching=branching
        )
        discount = trees.least_discount(scale=scale, threshold=threshold)
        discount = max(discount, math.ceil(trees.MIN_DISCOUNT_SHARE * scale))
        return Rule(
            name="improved",
            depth=depth,
            threshold=threshold,
            discount=discount,
            spread=spread,
            parts=parts,
        )

    def _least(self, rule: Callable[[Fraction], Rule], part: Budget) -> Noise:
        """About the least noise for which opening nodes costs no more than the part: thresholds and discounts are whole
        numbers, so that a price does not fall smoothly."""
        parts = self.settings.parts  # one record more is so many of them more

        def fits(scale: Fraction) -> bool:
            found, l1 = rule(scale), self.sensitivity.l1 * parts
            event = ThresholdTree(
                scale=scale, l1=l1, threshold=found.least, discount=found.discount
            )
            return filter.price(event, self.loss) <= part.amount

        # no tree costs less than one count
        least = noise_scale.round_up(
            parts * budget_allocation.noise(part, self.sensitivity, laplace=True).scale
        )
        most = noise_scale.round_up(3 * least)
        while not fits(most):
            most = noise_scale.round_up(2 * most)
        for _ in range(_STEPS):
            middle = noise_scale.round_up((least + most) / 2)
            least, most = (least, middle) if fits(middle) else (middle, most)
        return Noise(law="discrete-laplace", scale=most)

    @property
    def advice(self) -> str:
        rule, noise = self.growth_rule()
        least = trees.least_threshold(scale=noise.scale, branching=self._branching)
        if rule.name == "privtree" or rule.threshold >= least:
            return ""
        usual, _ = replace(self, settings=replace(self.settings, threshold=0)).growth_rule()
        return (
            f"A threshold of {self.settings.threshold:,} is below the noise: of the {self._branching} parts of a node in which "
            "nobody is, noise alone opens about one or more, and the tree goes on where there is nothing. "
            f"Take {math.ceil(usual.threshold / rule.parts):,} or more, or 0."
        )

    # ---- the run -----------------------------------------------------------------------------------------------------

    def run(self, session: Session) -> Answers:
        totals: tuple[Measurement, ...] = ()
        roots: tuple[Leaves, ...] = ()
        if self._of_texts:  # texts with other signs are counted nowhere
            roots = (session.leaves(self.root, noise=self.total_noise()),)
        elif self.domain.rows is None:
            totals = (session.measure((), noise=self.total_noise()),)
        rule, noise = self.growth_rule(self._records(totals))
        grown = session.grow(self.hierarchy.columns, rule=rule, noise=noise)
        counted = session.leaves(
            leaf_nodes(grown, self.hierarchy),
            noise=self.leaf_noise(),
            threshold=self.count_threshold,
        )
        return Answers(
            measurements=totals, growths=(grown,), leaves=(*roots, counted), calls=session.calls
        )

    def _records(self, measurements: Sequence[Measurement]) -> float | None:
        """The public number of records, or a noisy one; of texts it is not asked for."""
        totals = [each for each in measurements if not each.clique]
        return float(totals[0].values) if totals else self.domain.rows

    @property
    def _of_texts(self) -> bool:
        return words_of(self.hierarchy) is not None

    @property
    def root(self) -> NodeSet:
        """All records whose texts are read."""
        return NodeSet(
            columns=self.hierarchy.columns,
            levels=np.zeros(1, dtype=np.int64),
            prefixes=self.hierarchy.root(),
        )

    def fit(self, answers: Answers) -> Model:
        rows, leaves = self.estimated(answers)
        tree, notes, domain = (
            self.tree(leaves),
            self.notes(answers, rows=rows),
            resolve_domain(self.domain),
        )
        return Model(
            mechanism=self.mechanism,
            domain=domain,
            rows=rows,
            tables=(),
            tree=tree,
            notes=notes,
        )

    def estimated(self, answers: Answers) -> tuple[int, estimate.LeafEstimates]:
        """The number of records, and the nodes that are kept with their counts, which the clean-up leaves as they are. Errors:
        InputError where these are not answers of this plan."""
        counted, rows = self._checked(answers)
        parts, counts = counted.partition, counted.values
        kept = np.flatnonzero(counts >= self._least_kept(counts, rows))
        if (
            not kept.size
        ):  # nothing stood out of the noise: all that is known is how many there are
            parts, counts, kept = (
                self.root,
                np.ones(1, dtype=np.int64),
                np.zeros(1, dtype=np.intp),
            )
        weights = counts[kept].astype(np.float64)
        return rows, estimate.LeafEstimates(
            levels=parts.levels[kept], prefixes=parts.prefixes[kept], counts=weights
        )

    def tree(self, leaves: estimate.LeafEstimates) -> factory.AnyTree:
        """As a model has it."""
        attribute, said = texts_of(self.domain), self.settings.partial
        completions = (
            attribute.completions if attribute is not None and said == "completed" else None
        )
        nodes = leaves.levels, leaves.prefixes, leaves.counts
        return factory.tree(
            self.hierarchy, *nodes, incomplete_prefixes=said, completions=completions
        )

    def notes(self, answers: Answers, *, rows: int) -> TreeDiagnostics:
        """What there is to say of the tree."""
        (grown,), counted = answers.growths, answers.leaves[-1]
        cells = counted.partition.levels, counted.partition.prefixes, counted.values
        tables, (_, noise) = (
            [(counted.values, counted.noise)],
            self.growth_rule(self._records(answers.measurements)),
        )
        return of_growth(
            grown, self.hierarchy, noise=noise, counted=tables, ends=cells, rows=rows
        )

    def _least_kept(self, counts: npt.NDArray[np.int64], rows: int) -> int:
        """What a count has to reach beyond the clean-up. Noise that passes adds records that nobody has; where the smallest
        go until the rest is at most all records, about as many are left out as were made up. Twice what the clean-up asks for
        is no noise."""
        if not self.settings.matched or not (counts > 0).any():
            return 1
        values, times = np.unique(counts[counts > 0], return_counts=True)
        above = np.cumsum((values * times)[::-1])[::-1]
        return int(values[above <= rows].min(initial=2 * self.count_threshold))

    def _checked(self, answers: Answers) -> tuple[Leaves, int]:
        """Counts of the ends of the tree, and the number of records. Errors: InputError where these are not answers of this
        plan."""
        texts = self._of_texts
        wanted = (0 if texts or self.domain.rows is not None else 1, 1, 2 if texts else 1)
        if (len(answers.measurements), len(answers.growths), len(answers.leaves)) == wanted:
            (grown,), counted = answers.growths, answers.leaves[-1]
            rule, _ = self.growth_rule(self._records(answers.measurements))
            fits = (grown.columns, grown.rule) == (self.hierarchy.columns, rule)
            if (
                fits
                and counted.threshold == self.count_threshold
                and counted.partition.digest == self._ends(grown)
            ):
                totals = (
                    [answers.leaves[0].values]
                    if texts
                    else [each.values for each in answers.measurements]
                )
                rows = oneway.clip_rows(int(totals[0].sum())) if totals else self.domain.rows
                return counted, rows or 0
        raise not_of_this_plan()

    def _ends(self, grown: Growth) -> str:
        try:
            return leaf_nodes(grown, self.hierarchy).digest
        except ValueError:
            return ""

    # ---- forecasts ---------------------------------------------------------------------------------------------------

    def _nodes(self, rows: int) -> float:
        """About how many nodes are looked at."""
        return resources.nodes(self.hierarchy, self.growth_rule(rows)[0], rows)

    @property
    def tree_hierarchy(self) -> Hierarchy:
        return self.hierarchy

    def min_records_to_split(self, rows: int | None = None) -> int:
        return min_records_to_split(self.growth_rule(self._guess(rows))[0])

    def needs(self, rows: int | None = None) -> ResourceEstimate:
        """Sorted codes, and nodes with their siblings."""
        found = self._guess(rows)
        return super().needs(rows) + resources.of_tree(
            self.hierarchy, self.growth_rule(found)[0], found
        )

    def expected_error(self, *, rows: int | None = None) -> ErrorForecast:
        """As of a table of single columns each value of which is the sum of all ends with it: a rough upper end, since ends
        under the clean-up are zero."""
        found = self._guess(rows)
        domain, noise = resolve_domain(self.domain), self.leaf_noise()
        sizes = {
            name: domain.sizes[name] for name in domain.names if name in self.hierarchy.columns
        }
        each = max(
            1.0, min(self._nodes(found), found / self.count_threshold) / max(sizes.values())
        )
        spread = Noise(
            law="discrete-laplace", scale=Fraction(math.sqrt(noise.variance / 2 * each))
        )
        forecast = error_forecast.independent(
            dict.fromkeys(sizes, spread), sizes=sizes, rows=found
        )
        if (texts := texts_of(self.domain)) is not None:
            least = max(self.count_threshold, self.min_records_to_split(rows))
            forecast = error_forecast.with_string_column(
                forecast, texts.name, least=least, kinds=texts.values.size
            )
        return replace(forecast, assumes=f"{self.advice} {forecast.assumes}".strip())


def _usual_alone(hierarchy: Hierarchy) -> int:
    """How deep a hierarchy goes where every depth costs: classes, which are few levels, to their values."""
    kind = (
        "points"
        if isinstance(hierarchy, SpatialHierarchy)
        else "texts"
        if isinstance(hierarchy, StringHierarchy)
        else ""
    )
    return min(DEPTHS.get(kind, hierarchy.depth), hierarchy.depth)


def resolve_domain(domain: Domain) -> Domain:
    """What a domain with one column of unknown texts is in a release; that of points as it is."""
    attribute = texts_of(domain)
    return domain if attribute is None else factory.in_release(domain, column(attribute))
