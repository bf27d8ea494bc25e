"""The default mechanism: adaptive selection of one-way, pair, triple and larger marginals, read against a
mixture and refined into rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import ClassVar, Literal

import numpy as np

from synth_engine import watching
from synth_engine.domain import Attribute, Domain
from synth_engine.inference import error_forecast, maxent_triples
from synth_engine.inference.allocation import Choice
from synth_engine.inference.error_forecast import ErrorForecast, StandIn
from synth_engine.measurement import (
    Answers,
    Candidate,
    Clique,
    Measurement,
    Noise,
    Scores,
    Selection,
    Session,
)
from synth_engine.measurement.replay import Replay
from synth_engine.mechanisms.auto import (
    denoising,
    dependence_tree,
    findings,
    fitting,
    groups,
    pair_selection,
    selection,
    triples,
)
from synth_engine.mechanisms.auto.group_tables import (
    COLUMNS,
    ROOM_SHARE,
    Group,
    GroupTables,
    Triple,
)
from synth_engine.mechanisms.auto.groups import GroupSearch
from synth_engine.mechanisms.auto.prior import Prior
from synth_engine.mechanisms.auto.questions import (
    Division,
    ScoredGroups,
    ScoredPairs,
    Stage,
    TableQuestion,
)
from synth_engine.mechanisms.auto.selection import Columns, Floats, Pair
from synth_engine.mechanisms.auto.triples import TripleSearch
from synth_engine.models.model import Model
from synth_engine.plans import budget_allocation, two_stage, workload
from synth_engine.plans.parameters import ParameterSchema
from synth_engine.plans.plan import Budget, Family, Plan
from synth_engine.plans.resources import ResourceEstimate
from synth_engine.plans.workload import Weighted, Workload
from synth_engine.privacy import noise_scale
from synth_engine.privacy.loss import Pure
from synth_engine.privacy.unit import (
    Relation,
    Sensitivity,
    interaction_sensitivity,
    scores_sensitivity,
)
from synth_engine.spec import Spec
from synth_engine.strict_json import JsonObject

SCORES_SHARE = Fraction(4, 100)
ROWS = 40_000
"""Number of records assumed for shares where the true number is not public."""
TRIPLES_SHARE = Fraction(1, 4)
"""Share of the tables' budget that is held back until triples have been looked for. What triples do not use
pays for a second measurement of the pairs."""
SELECTING_SHARE = Fraction(1, 100)
COMPARING_SHARE = Fraction(1, 200)
"""Shares of the tables' budget: for selecting triples, and for scoring the selected ones."""
_TRIPLE_SHARES = tuple(Fraction(part, 8) for part in (0, 1, 2, 3, 4, 6, 8))
_MEASURED = (1.0, 0.7, 0.4, 0.2, 0.1, 0.0)
_DIGITS = 10**9
_PARTS = 2**32
_PAIR_GAIN_FACTOR = 2.0
"""Factor on the predicted error of pairs when triples are weighed against them: better pairs improve every
triple too."""
_LEAST_GAIN = 0.25
"""Part of the error of a pair that measuring it must be predicted to remove, where a tree of other pairs
explains it in part: noise of a cheaper table would count for more than what the tree says."""
_FEW_COLUMNS, _EACH_COLUMN = 0.4, 0.08
"""Factor on the share of columns where there are few, and what each column adds to it: noise of a column is
in as many pairs as there are other columns."""
_TWO_CODES_MATTER = 2.3
"""Weight of a pair with a column of two codes, where nothing is said of what matters: models are often
trained to predict such a column, and its distances are small only because it has so few codes."""
_CHANCE_FOLLOWED = 0.5
"""Part of the error of all triples that measuring them must be predicted to remove, for distances that chance
makes to count."""
_LAPLACE_TO_RHO = 240.0
"""The rho of Gaussian noise with the same spread as Laplace noise over some sixty tables is epsilon² divided
by this."""


@dataclass(frozen=True, kw_only=True)
class Auto(Weighted):
    """A histogram of every column, one vector of scores of pairs, the pairs that are worth it, and the groups
    of three to six columns that pairs do not explain.

    Asks: `measure` of every modelled attribute by itself; one `score` of all pairs, at a coarse resolution,
    against the
        product of their noisy histograms, or, where noise would hide them, `select` of a tree of pairs, edge
            by edge, and one
        `score` of these; then one `interaction` (with Laplace noise one `measure`) of each pair that is
        worth its price, at a resolution and with noise that follow from the noisy histograms and scores; or,
            where no pair
        is, one more `measure` of every attribute. Then, where all pairs were scored, `select` a few times
            among all triples, against what
        the estimated pairs imply, one `score` of the selected ones, the same of groups of four, five and six
            narrow columns,
        `interaction` (or `measure`) of those that are worth it, and with what these leave the tables of
            before once more (adaptive).
    Privacy: a cap fixed beforehand: epsilon (Laplace noise) for delta 0, else mu² (rounded Gaussian noise),
    or rho after
        a stage that was budgeted so. References, bins and prices are functions of paid answers alone.
        Proof: docs/proofs/auto.md.
    Public assumptions: the domain, its sizes and code order, the unit, the relation, the workload; the number
    of
        records only where it is a public invariant.
    """

    id: ClassVar[str] = "auto"
    family: ClassVar[Family] = "recommended"
    counts_groups: ClassVar[bool] = True
    has_network: ClassVar[bool] = True
    takes_prior: ClassVar[bool] = True
    looks_at_all_pairs: ClassVar[bool] = True
    title: ClassVar[str] = "Automatic"
    summary: ClassVar[str] = (
        "Measures every column, finds out privately which pairs of columns depend on each other, and "
        "spends the rest of the budget where it improves the table most; relations of three columns and "
        "more are looked for as well. The most accurate method for most tables."
    )
    paper: ClassVar[str] = (
        "Zhang et al. 2021 (PrivSyn); McKenna et al. 2022 (AIM); Koenker and Mizera 2014 (shrinkage); this "
        "project"
    )
    keeps: ClassVar[tuple[str, ...]] = (
        "each column",
        "how any two columns go together",
        "strong patterns of three to six columns",
        "number of records",
    )
    parameters: ClassVar[ParameterSchema] = {
        "type": "object",
        "properties": {
            **workload.PROPERTIES,
            "memory_mb": {
                "type": "integer",
                "minimum": 200,
                "maximum": 1_000_000,
                "default": 2_000,
                "title": "Memory, in megabytes",
                "description": "The most that fitting and drawing may take. A table that would need more "
                "is refused before anything is spent.",
            },
        },
        "additionalProperties": False,
    }
    relations: ClassVar[tuple[Relation, ...]] = (Relation.ADD_REMOVE, Relation.REPLACE_ONE)
    losses: ClassVar[tuple[str, ...]] = ("pure", "approximate")
    kind: ClassVar[Literal["static", "adaptive"]] = "adaptive"
    adds_up: ClassVar[Literal["zcdp", "gdp"]] = "gdp"

    memory_mb: int = 2_000

    def calibrate(self, domain: Domain, spec: Spec, *, within: Budget | None = None) -> Plan:
        cap = within or two_stage.total_budget(self, spec)
        fitting.require_room(domain, memory_mb=self.memory_mb)
        plan = AutoPlan(config=self, domain=domain, spec=spec, cap=cap)
        plan.require_noise()
        return plan


@dataclass(frozen=True, kw_only=True)
class AutoPlan(Plan):
    """The plan of `auto`: shares of the budget for columns and for scores; the tables get the rest."""

    config: Auto

    def ask(self, session: Session) -> None:
        oneways = [
            session.measure((name,), noise=noise)
            for name, noise in self.column_noises().items()
        ]
        columns = self._columns(oneways)
        pairs = self._pairs(columns)
        if not pairs:
            return
        with watching.part(0.0, 0.1):
            scored = self._scored_pairs(session, columns, pairs)
        scores = scored.scores
        budget = self._left_for_tables(scores.noise, len(scored.pairs)) - scored.price
        # Whether there are triples to look for follows from public facts and noisy columns.
        seeks = not scored.selected and triples.exist(columns, scored.pairs)
        first = budget * (1 - TRIPLES_SHARE) if seeks else budget
        stage = self.first_stage(columns, scored.pairs, scores, budget=first)
        with watching.part(0.1, 0.3):
            tables = [
                self._measure(session, columns, question)
                for question in watching.each(stage.questions)
            ]
        if not seeks:
            return
        with watching.part(0.3, 0.7):
            search = self._search(self._sorted(oneways, tables, scores))
        rest = budget - first
        if search.triples:
            with watching.part(0.7, 0.8):
                selected, compared = self._scored_triples(session, search, budget=budget)
                rest -= budget * (SELECTING_SHARE + COMPARING_SHARE)
                larger = GroupSearch(
                    triples=search, relations=search.relations(selected, compared)
                )
                scored_groups = self._scored_groups(session, larger, budget=budget)
                if scored_groups is not None:
                    rest -= scored_groups.price
            last = self.last_stage(
                search, selected, compared, stage, budget=rest, larger=scored_groups
            )
        else:  # there was no room for estimates of their pairs
            last = self._once_more(stage, columns, budget=rest)
        with watching.part(0.8, 1.0):
            for question in watching.each(last):
                self._measure(session, columns, question)

    def _scored_pairs(
        self, session: Session, columns: Columns, pairs: Sequence[Pair]
    ) -> ScoredPairs:
        """Score all pairs; or, where noise would hide them, those of a tree that is selected."""
        noise, price = self._score_noise(len(pairs)), Fraction(0)
        # This follows from public facts and noisy columns. A view of a database may leave its columns nearly
        # everything.
        has_room = 1 - self.columns_share() >= pair_selection.LEAST_FOR_PAIRS
        selects = has_room and pair_selection.is_needed(columns, pairs, noise)
        if selects:
            price = self.loss.amount * pair_selection.SELECTING_SHARE
            part = self.loss.of(price / pair_selection.edges(columns, pairs))
            scale = part.selection_scale(self.sensitivity.linf)
            pairs = pair_selection.select(session, columns, pairs, scale=scale)
            noise = self._score_noise(len(pairs), share=pair_selection.SCORING_SHARE)
        scores = session.score(list(columns.candidates(pairs)), noise=noise)
        return ScoredPairs(price=price, pairs=pairs, scores=scores, selected=selects)

    def _measure(
        self, session: Session, columns: Columns, question: TableQuestion
    ) -> Measurement:
        ask = session.interaction if question.interaction else session.measure
        merged = columns.merged(question.axes, question.levels) if question.levels else None
        return ask(columns.clique(question.axes), noise=question.noise, merged=merged or None)

    def first_stage(
        self, columns: Columns, pairs: Sequence[Pair], scores: Scores, *, budget: Fraction
    ) -> Stage:
        """Return the pairs to measure, at prices that add up to the budget; or all columns again, where that
        is predicted to gain more."""
        weights, distances = self._weights(columns, pairs), columns.distances(pairs, scores)
        unexplained = dependence_tree.unexplained(
            columns,
            pairs,
            distances,
            columns.beyond_chance(pairs, scores),
            variance=scores.noise.variance / columns.total**2,
        )
        distances = distances * unexplained
        choices = columns.choices(
            pairs,
            distances,
            weights,
            deviation=cache(lambda shape: self._deviation(budget, shape)),
            power=self._power,
        )
        choices = [
            choice
            for choice in choices
            if unexplained[choice.number] == 1
            or choice.gain
            > _LEAST_GAIN * distances[choice.number] * weights[choice.number] * columns.total
        ]
        if not choices:
            again = self._noises(budget)
            first = np.array([noise.variance for noise in self.column_noises().values()])
            both = 1 / (1 / first + 1 / np.array([noise.variance for noise in again]))
            return Stage(
                questions=self._columns_once_more(budget),
                price=budget,
                error=columns.error_of_columns(pairs, weights, np.sqrt(both)),
            )
        tables = [(pairs[choice.number], choice.levels, choice.part) for choice in choices]
        error = sum(
            float(distances[choice.number]) * columns.total * weights[choice.number]
            - choice.gain
            for choice in choices
        )
        return Stage(
            questions=self._divided(budget, columns, tables), price=budget, error=error
        )

    def _columns_once_more(self, budget: Fraction) -> list[TableQuestion]:
        return [
            TableQuestion(axes=(axis,), levels=(), noise=noise, interaction=False)
            for axis, noise in enumerate(self._noises(budget))
        ]

    @property
    def _power(self) -> float:
        """The standard deviation of noise is proportional to a share of the budget to the minus this
        power."""
        return 1.0 if isinstance(self.loss, Pure) else 0.5

    def _divided(
        self,
        budget: Fraction,
        columns: Columns,
        tables: Sequence[tuple[tuple[int, ...], tuple[int, ...], float]],
    ) -> list[TableQuestion]:
        """Return questions for tables, each given by axes, levels and a share, at prices that add up to the
        budget."""
        # Whole numbers add up exactly, so that no rounding of floats can ask for more than what is left.
        parts = [max(1, round(part * _PARTS)) for _, _, part in tables]
        questions = []
        for (axes, levels, share), part in zip(tables, parts, strict=True):
            # Exact fractions: the prices of all tables add up to what is left, to the last
            # digit.
            price = budget * part / sum(parts)
            noise, interaction = self._table(price, columns.shape(axes, levels))
            questions.append(
                TableQuestion(
                    axes=axes, levels=levels, noise=noise, interaction=interaction, part=share
                )
            )
        return questions

    def _scored_triples(
        self, session: Session, search: TripleSearch, *, budget: Fraction
    ) -> tuple[list[Triple], Scores]:
        """Score all triples where that is precise enough, else select some and score these."""
        number = len(search.triples)
        if number <= triples.MAX_SCORED:
            noise = budget_allocation.noise(
                self.loss.of(budget * (SELECTING_SHARE + COMPARING_SHARE)),
                self._of_scores(number),
            )
            precise = triples.MAX_SCORE_NOISE * search.tables.columns.total
            if math.sqrt(noise.variance) <= precise:
                return search.triples, session.score(search.candidates, noise=noise)
        return self._select(session, search, budget=budget)

    def _select(
        self, session: Session, search: TripleSearch, *, budget: Fraction
    ) -> tuple[list[Triple], Scores]:
        """Select the triples farthest from what their pairs imply, and score them. With a column to predict,
        only triples that hold it are selected."""
        left = [(triple, search.candidate(triple)) for triple in search.selected_from]
        number = search.selections
        scale = self.loss.of(budget * SELECTING_SHARE / number).selection_scale(
            self.sensitivity.linf
        )
        chosen = []
        for _ in watching.each(range(number)):
            place = session.select([candidate for _, candidate in left], scale=scale)
            chosen.append(left.pop(place))
        noise = budget_allocation.noise(
            self.loss.of(budget * COMPARING_SHARE), self._of_scores(number)
        )
        compared = session.score([candidate for _, candidate in chosen], noise=noise)
        return [triple for triple, _ in chosen], compared

    def _scored_groups(
        self, session: Session, search: GroupSearch, *, budget: Fraction
    ) -> ScoredGroups | None:
        """Select a group of each number of columns, the one farthest from what its pairs and triples imply,
        and score them; None where there are no such groups. A group that holds one selected before is no
        candidate: most of its distance is that of the other."""
        candidates = {size: search.groups(size) for size in groups.SIZES}
        sizes = [size for size, able in candidates.items() if able]
        if not sizes:
            return None
        price = budget * groups.SELECTING_SHARE / len(sizes)
        scale = self.loss.of(price).selection_scale(self.sensitivity.linf)
        chosen: list[tuple[Group, Candidate]] = []
        looked = 0
        for size in watching.each(sizes):
            able = [
                (group, search.candidate(group))
                for group in candidates[size]
                if not any(set(group).issuperset(earlier) for earlier, _ in chosen)
            ]
            if able:
                chosen.append(able[session.select([each for _, each in able], scale=scale)])
                looked += len(able)
        noise = budget_allocation.noise(
            self.loss.of(budget * groups.COMPARING_SHARE), self._of_scores(len(chosen))
        )
        scores = session.score([candidate for _, candidate in chosen], noise=noise)
        return ScoredGroups(
            price=price * len(chosen) + budget * groups.COMPARING_SHARE,
            groups=[group for group, _ in chosen],
            distances=search.distances(scores, compared=looked),
        )

    def last_stage(
        self,
        search: TripleSearch,
        selected: Sequence[Triple],
        compared: Scores,
        before: Stage,
        *,
        budget: Fraction,
        larger: ScoredGroups | None = None,
    ) -> list[TableQuestion]:
        """Return questions for the selected triples and larger groups that are worth their price, and for the
        earlier tables with the rest of the budget."""
        doubt = math.sqrt(compared.noise.variance)
        distances = np.maximum(compared.values - doubt, 0.0) / search.tables.columns.total
        able: list[Group] = [*selected]
        of_larger = np.zeros(0)
        if larger is not None:
            able += larger.groups
            of_larger = larger.distances
        division = self._division(
            search, able, np.concatenate([distances, of_larger]), before, budget=budget
        )
        if len(selected) == len(search.triples):
            # Readers compare with the real table, in which chance makes a distance too.
            real = np.concatenate([np.hypot(distances, search.distances_by_chance), of_larger])
            followed = self._division(search, able, real, before, budget=budget)
            if followed.gain >= _CHANCE_FOLLOWED * search.tables.error(able, real):
                division = followed
        questions = self._divided(
            division.price,
            search.tables.columns,
            [(able[choice.number], choice.levels, choice.part) for choice in division.choices],
        )
        rest = budget - division.price
        return [*questions, *self._once_more(before, search.tables.columns, budget=rest)]

    def _division(
        self,
        search: TripleSearch,
        able: Sequence[Group],
        distances: Floats,
        before: Stage,
        *,
        budget: Fraction,
    ) -> Division:
        """Return how much of the budget these groups of three columns and more get, and which of them, so
        that the predicted error is least."""
        least, division = math.inf, Division(price=Fraction(0), choices=[])
        for share in _TRIPLE_SHARES:
            offered = self._group_choices(search, able, distances, budget * share)
            left = float((budget * (1 - share)) / before.price)
            # Precisions of independent measurements add up.
            precision = 1 + left ** (2 * self._power)
            pairs = _PAIR_GAIN_FACTOR * before.error / math.sqrt(precision)
            error = pairs - sum(choice.gain for choice in offered)
            if error < least:
                least = error
                division = Division(
                    price=budget * share if offered else Fraction(0), choices=offered
                )
        return division

    def _once_more(
        self, before: Stage, columns: Columns, *, budget: Fraction
    ) -> list[TableQuestion]:
        """Return the questions of a stage again, with the budget divided in the same proportions."""
        if not budget or not before.questions:
            return []
        if len(before.questions[0].axes) == 1:
            return self._columns_once_more(budget)
        tables = [(old.axes, old.levels, old.part) for old in before.questions]
        return self._divided(budget, columns, tables)

    def _group_choices(
        self,
        search: TripleSearch,
        able: Sequence[Group],
        distances: Floats,
        budget: Fraction,
    ) -> list[Choice]:
        if not budget:
            return []
        return search.tables.choices(
            able,
            distances,
            deviation=cache(lambda shape: self._deviation(budget, shape)),
            power=self._power,
        )

    def _table(self, price: Fraction, shape: Sequence[int]) -> tuple[Noise, bool]:
        """Return the noise of a table and whether its interaction is asked for instead of its counts. One
        record moves an interaction less in the Euclidean norm; but its noise, in fractions of a record, can
        be too large to be drawn."""
        if not isinstance(self.loss, Pure):
            # An interaction ignores the margins, so one record moves it less in the
            # Euclidean norm.
            moving = self._of_interaction(shape)
            if (
                moving.l2_squared
                <= 2 * self.loss.of(price).rho * (noise_scale.MAX_SCALE / 2) ** 2
            ):
                return budget_allocation.noise(self.loss.of(price), moving), True
        return self._noise(price), False

    def _deviation(self, price: Fraction, shape: Sequence[int]) -> float:
        """Return the standard deviation of the noise of a cell, in records, as the fit reads the table."""
        noise, interaction = self._table(price, shape)
        deviation = math.sqrt(noise.variance)
        if not interaction:
            return deviation
        return deviation / math.prod(shape) * math.sqrt(selection.interacting(shape))

    def _of_interaction(self, shape: Sequence[int]) -> Sensitivity:
        return interaction_sensitivity(self.domain.unit, self.domain.relation, sizes=shape)

    def fit_replay(self, given: Replay) -> Model:
        """Fit the model to the answers alone, which also say which tables were measured."""
        oneways = [given.measurement((name,)) for name in self.domain.names]
        columns = self._columns(oneways)
        pairs = self._pairs(columns)
        scored = pair_selection.read(given, columns, pairs)
        scores: Scores | None = None
        if scored:
            scores = given.next(Scores, lambda one: one.values.size == len(scored))
        tables = given.take_while(lambda line: isinstance(line.answer, Measurement))
        measured = list(tables.of(Measurement))
        # Where triples were looked for: selections and the scores of what was selected, or the
        # scores of all triples; then tables.
        compared = self._read_scores(given, columns=COLUMNS)
        # Larger groups are looked for after triples; releases that are older have none.
        larger = self._read_scores(given, columns=groups.MAX_COLUMNS)
        given.require(all(len(clique) > COLUMNS for clique in larger))
        measured += given.all_of(Measurement)
        with given.fitting_together():
            answers = self._sorted(oneways, measured, scores, compared, of=scored)
        return fitting.model(
            answers,
            mechanism=self.mechanism,
            memory_mb=self.config.memory_mb,
            prior=None if self.prior is None else Prior.of(self.prior, self.domain),
        )

    @staticmethod
    def _read_scores(given: Replay, *, columns: int) -> dict[Clique, float]:
        """Read the next selections and the scores of what they selected, or scores of all candidates; nothing
        where none comes, or where they are of more columns."""
        selections = given.take_while(
            lambda line: (
                isinstance(line.answer, Selection)
                and all(len(clique) <= columns for clique in line.call.query.candidates)
            )
        )
        if not given.comes(Scores):
            given.require(not selections)
            return {}
        return given.scores(len(selections) or None)

    def findings(self, answers: Answers, *, rows: int) -> JsonObject | None:
        return findings.of(answers, rows=rows)

    def _sorted(
        self,
        oneways: Sequence[Measurement],
        tables: Sequence[Measurement],
        scores: Scores | None,
        compared: Mapping[Clique, float] | None = None,
        *,
        of: Sequence[Pair] | None = None,
    ) -> fitting.SortedAnswers:
        """Sort the answers by what they measure. compared: the scores of triples; of: the pairs that were
        scored, if not all. Errors: ValueError if they cannot be answers to this plan."""
        columns = self._columns(oneways)
        pairs = self._pairs(columns)
        scored = pairs if of is None else of
        again = [answer for answer in tables if len(answer.clique) == 1]
        rounds = len(again) // max(1, len(oneways))
        if rounds > 2 or [m.clique for m in again] != [m.clique for m in oneways] * rounds:
            raise ValueError("columns are measured all together")
        axis_of = {name: axis for axis, name in enumerate(self.domain.names)}
        able = set(scored)
        answered: dict[tuple[int, ...], selection.Answered] = {}
        for answer in tables:
            if len(answer.clique) == 1:
                continue
            axes = tuple(axis_of.get(name, -1) for name in answer.clique)
            sides = itertools.combinations(axes, 2)
            if not 2 <= len(axes) <= groups.MAX_COLUMNS or not all(
                side in able for side in sides
            ):
                raise ValueError("only groups of pairs that matter are measured")
            levels = columns.levels_of(answer, axes)
            before = answered.get(axes)
            # A pair is measured twice at most, a larger group once.
            if before is not None and (
                before.levels != levels or len(before.measurements) > 1 or len(axes) > 2
            ):
                raise ValueError("a table is measured too often")
            earlier = () if before is None else before.measurements
            answered[axes] = selection.Answered(measurements=(*earlier, answer), levels=levels)
        # Pairs without a score are taken to be as far from independence as chance makes them.
        distances = dict(zip(pairs, columns.distances_by_chance(pairs).tolist(), strict=True))
        if scores is not None:
            known = columns.distances(scored, scores).tolist()
            distances |= zip(scored, known, strict=True)
        return fitting.SortedAnswers(
            columns=columns,
            oneways=oneways,
            again=again,
            tables={(k[0], k[1]): v for k, v in answered.items() if len(k) == 2},
            triples={(k[0], k[1], k[2]): v for k, v in answered.items() if len(k) == 3},
            larger={k: v for k, v in answered.items() if len(k) > COLUMNS},
            distances=distances,
            scored=self._scored(compared or {}, able),
            scores=self._pair_scores(scored, scores),
        )

    def _pair_scores(
        self, pairs: Sequence[Pair], scores: Scores | None
    ) -> denoising.PairScores | None:
        if scores is None:
            return None
        return denoising.PairScores(
            values=dict(zip(pairs, scores.values.tolist(), strict=True)),
            variance=scores.noise.variance,
            level=selection.score_level(len(pairs)),
        )

    def _scored(
        self, compared: Mapping[Clique, float], able: Collection[Pair]
    ) -> dict[Triple, float]:
        """Return the scores of triples by their places. Errors: ValueError for other groups than triples of
        pairs that matter."""
        axis_of = {name: axis for axis, name in enumerate(self.domain.names)}
        scored: dict[Triple, float] = {}
        for clique, distance in compared.items():
            axes = tuple(axis_of.get(name, -1) for name in clique)
            if len(axes) != 3 or not all(
                side in able for side in maxent_triples.pairs_of(axes)
            ):
                raise ValueError("only triples of pairs that matter are scored")
            scored[axes] = distance
        return scored

    def _search(self, answers: fitting.SortedAnswers) -> TripleSearch:
        fitted = fitting.pair_estimates(
            answers, memory_mb=self.config.memory_mb, searching=True
        )
        columns = answers.columns
        pairs = list(fitted.counts)
        tables = GroupTables(
            columns=columns,
            fine=fitted.fine,
            counts=fitted.counts,
            weights=dict(zip(pairs, self._weights(columns, pairs), strict=True)),
            room=fitting.target_cells(self.config.memory_mb) // ROOM_SHARE,
        )
        return TripleSearch(tables=tables, target=self._target)

    @property
    def strength(self) -> float:
        """The budget as a rho, scaled to a table of `ROWS` records and a unit of one record."""
        budget = self.loss
        rows = self.domain.rows or ROWS
        if isinstance(budget, Pure):
            rho = float(budget.epsilon / self.sensitivity.l1) ** 2 / _LAPLACE_TO_RHO
        else:
            rho = float(budget.rho) / self.sensitivity.l2_squared
        return rho * (rows / ROWS) ** 2

    def column_noises(self) -> dict[str, Noise]:
        """Return the noise of each column. The share of the budget that columns get falls with the budget."""
        noises = self._noises(self.loss.amount * self.columns_share())
        return dict(zip(self.domain.names, noises, strict=True))

    def _noises(self, amount: Fraction) -> list[Noise]:
        """Return the noise of each column when all columns together cost `amount`. Wide columns get more. The
        smaller the budget, the smaller the difference, because smoothing removes part of the noise of many
        cells."""
        power = (
            1 / 2
            if isinstance(self.loss, Pure)
            else min(max(0.67 + 0.06 * math.log(60 * self.strength), 0.4), 0.67)
        )
        weights = [
            Fraction(max(1, round(self.column_weight(a, power) * _DIGITS)), _DIGITS)
            for a in self.domain.modelled
        ]
        return [self._noise(part) for part in noise_scale.split(amount, weights)]

    def column_weight(self, attribute: Attribute, power: float) -> float:
        """Return the weight of a column's share of the budget of all columns."""
        return float(attribute.size**power)

    def columns_share(self) -> Fraction:
        """Return the share of the budget for the first counts of single columns."""
        if not self._number_of_pairs():
            return Fraction(1)
        if isinstance(self.loss, Pure):
            # The smaller the budget, the larger the part of it that columns need.
            share = min(max(0.11 * self.strength**-0.2, 0.1), 0.65)
        else:  # interactions say nothing of columns, so that these need more
            share = min(max(0.21 * self.strength**-0.15, 0.1), 0.72)
        share *= min(_FEW_COLUMNS + _EACH_COLUMN * self._number_of_columns(), 1.0)
        return Fraction(round(1000 * share), 1000)

    def _number_of_columns(self) -> int:
        """The number of columns of which there are pairs."""
        return sum(attribute.size > 1 for attribute in self.domain.modelled)

    def _number_of_pairs(self) -> int:
        return math.comb(self._number_of_columns(), 2)

    def _columns(self, oneways: Sequence[Measurement]) -> Columns:
        return Columns.of(
            self.domain, oneways, strength=self.strength, rare=bool(self.config.target)
        )

    def _pairs(self, columns: Columns) -> list[Pair]:
        """Return the pairs that matter to the workload, in the domain's order; each of them gets a score."""
        wanted = self.config.workload.pair_weights(self.domain)
        return [pair for pair in columns.pairs if wanted.get(columns.clique(pair), 0.0) > 0]

    def _weights(self, columns: Columns, pairs: Sequence[Pair]) -> list[float]:
        """Return how much each pair matters. Without a workload, pairs with a column of two codes matter
        more. With a target, distances of its pairs count as shares of the largest one that its classes allow,
        which is small where one class is rare."""
        wanted = self.config.workload.pair_weights(self.domain)
        weights = [wanted[columns.clique(pair)] for pair in pairs]
        target = self._target
        if self.config.workload == Workload():
            factor, matters = _TWO_CODES_MATTER, [columns.has_two_codes(pair) for pair in pairs]
        elif target is not None:
            factor, matters = (
                1 / columns.largest_distance(target),
                [target in pair for pair in pairs],
            )
        else:
            return weights
        return [
            weight * factor if more else weight
            for weight, more in zip(weights, matters, strict=True)
        ]

    @property
    def _target(self) -> int | None:
        """The place of the column to predict among all columns."""
        target = self.config.target
        return self.domain.names.index(target) if target else None

    def _score_noise(self, pairs: int, *, share: Fraction = SCORES_SHARE) -> Noise:
        return budget_allocation.noise(
            self.loss.of(self.loss.amount * share), self._of_scores(pairs)
        )

    def _of_scores(self, pairs: int) -> Sensitivity:
        return scores_sensitivity(self.sensitivity, number=pairs)

    def _left_for_tables(self, scores: Noise, pairs: int) -> Fraction:
        """Return the budget less the exact prices of columns and scores."""
        spent = sum(
            (self._price(noise) for noise in self.column_noises().values()), Fraction(0)
        )
        return (
            self.loss.amount
            - spent
            - budget_allocation.price(scores, self.loss, self._of_scores(pairs))
        )

    def _price(self, noise: Noise) -> Fraction:
        return budget_allocation.price(noise, self.loss, self.sensitivity)

    def _noise(self, part: Fraction) -> Noise:
        return budget_allocation.noise(self.loss.of(part), self.sensitivity)

    def require_noise(self) -> None:
        """Check that all noise can be drawn, before anything is paid. Errors: SpecError."""
        self.column_noises()
        pairs = self._number_of_pairs()
        if pairs:
            self._score_noise(pairs)
            # A tree has one edge fewer than columns.
            edges = max(1, self._number_of_columns() - 1)
            self._score_noise(edges, share=pair_selection.SCORING_SHARE)
            # The cheapest table that an allocation could ask for.
            least = self.loss.amount / (_PARTS * pairs)
            if not isinstance(self.loss, Pure):
                least = max(least, self.loss.amount / _PARTS)
            self._noise(max(least, self.loss.amount / 2**23 / pairs))

    def needs(self, rows: int | None = None) -> ResourceEstimate:
        records = self._guess(rows)
        table = super().needs(rows)
        return table + fitting.resources_needed(
            self.domain,
            rows=records,
            memory_mb=self.config.memory_mb,
            beside_prior=self.prior is not None,
        )

    def noise_of_tables(self, part: float) -> Noise | None:
        """Return the noise of each table if this share of all pairs were measured with equal noise."""
        tables = round(self._number_of_pairs() * part)
        if not tables:
            return None
        return self._noise(
            self.loss.amount * (1 - self.columns_share() - SCORES_SHARE) / tables
        )

    def expected_error_on(self, table: StandIn) -> ErrorForecast:
        """Forecast the error of columns with their noise, and of pairs as if the best share of them were
        measured with equal noise."""
        return error_forecast.pairs(
            self.column_noises(),
            [(part, self.noise_of_tables(part)) for part in _MEASURED],
            table,
        )
