"""A check of a release: figures that are measured on the real table with budget, and have a receipt of their
own.

The release has a public model. A table that is drawn from it with a public seed is public, too, so how far
the real table is from it are questions that the Session has: `score`, the distance of a marginal from a
public reference, and `measure`, its counts. Proof: docs/proofs/check.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from synth_engine.domain import Domain
from synth_engine.errors import InputError, SpecError
from synth_engine.measurement import Candidate, Counts, Measurement, Noise, Scores, Session
from synth_engine.measurement.question import MAX_TABLE_CELLS, Clique
from synth_engine.measurement.replay import Replay
from synth_engine.models.model import Codes, Model
from synth_engine.plans import budget_allocation
from synth_engine.plans.parameters import ParameterSchema
from synth_engine.plans.plan import Budget, Mechanism, Plan
from synth_engine.plans.release_classifier import (
    MAX_BINS,
    MAX_PREDICTORS,
    Classifier,
    trained,
)
from synth_engine.privacy import conversion
from synth_engine.privacy.loss import Pure
from synth_engine.privacy.unit import Relation, histogram_sensitivity, scores_sensitivity
from synth_engine.spec import Spec
from synth_engine.strict_json import JsonObject

MECHANISM = "check"
MAX_FIGURES = 50
MAX_COLUMNS = 3
MAX_DISTANCES = 1_000
"""Marginals whose distances are measured at once."""
MAX_CELLS = 20_000_000
"""Cells of all marginals of a check together."""
MAX_ROWS = 1_000_000
"""Rows of the synthetic table that is checked."""

MAX_LISTED = 10_000
"""Cells of a marginal whose counts are listed, and codes that a count names."""

MAX_WORST_TABLES = 5
"""Tables that a figure of worst groups chooses."""
SHARE_OF_CHOICE = Fraction(1, 4)
"""The weight of one choice of a table beside that of its counts."""

FigureKind = Literal[
    "distance",
    "mean-distance",
    "counts",
    "marginal",
    "count",
    "ks",
    "auc",
    "accuracy",
    "worst-groups",
]
KINDS: tuple[FigureKind, ...] = (
    "distance",
    "mean-distance",
    "counts",
    "marginal",
    "count",
    "ks",
    "auc",
    "accuracy",
    "worst-groups",
)
CRITERION_KINDS: tuple[FigureKind, ...] = ("distance", "mean-distance", "counts", "ks", "auc")
"""Kinds of which something may have to hold. Private figures say all of them but the last, which a check
alone measures."""
_COUNTED: frozenset[FigureKind] = frozenset({"counts", "marginal", "count", "ks"})
"""Kinds that need the noisy counts of one marginal."""
_FIELDS: dict[FigureKind, frozenset[str]] = {
    "counts": frozenset({"least", "within"}),
    "count": frozenset({"codes"}),
    "auc": frozenset({"codes"}),
    "accuracy": frozenset({"codes"}),
    "worst-groups": frozenset({"size", "tables"}),
}
_CLASSIFIED: frozenset[FigureKind] = frozenset({"auc", "accuracy"})
"""Kinds about a classifier that is trained on the synthetic table: the column that it predicts comes
first."""


@dataclass(frozen=True, kw_only=True)
class CheckedFigure:
    """A figure that is asked for.

    distance: the total variation distance of the marginal of one to three columns. mean-distance: the mean of
    those of all pairs of two or more columns. counts: of the cells of the marginal of one to three columns
    that have at least `least` records in the synthetic table, how many counts lie within `within` (0.05: five
    per cent) of the real ones. marginal: the counts of one to three columns in the real table. count: the
    number of records of the real table that have one of `codes` in each of one to three columns; codes: for
    each column, ascending. ks: the Kolmogorov-Smirnov distance of an ordered column, by its codes. auc,
    accuracy: of a classifier that is trained on the synthetic table and tested on the real one: it predicts
    from the other one to three columns whether the first one has one of `codes`, which is one list.
    worst-groups: the groups of records, by the values of `size` of the columns, 1 or 2, whose numbers in the
    two tables differ most; those of the `tables` marginals that are farthest apart are counted.
    """

    kind: FigureKind
    columns: Clique
    least: int = 1
    within: Fraction = Fraction(0)
    codes: tuple[tuple[int, ...], ...] = ()
    size: int = 1
    tables: int = 1

    def to_json(self) -> JsonObject:
        shared: JsonObject = {"kind": self.kind, "columns": list(self.columns)}
        match self.kind:
            case "counts":
                return {**shared, "least": self.least, "within": str(self.within)}
            case "count" | "auc" | "accuracy":
                return {**shared, "codes": [list(each) for each in self.codes]}
            case "worst-groups":
                return {**shared, "size": self.size, "tables": self.tables}
        return shared

    @classmethod
    def from_json(cls, obj: object) -> CheckedFigure:
        """Errors: SpecError for what is no figure."""
        if not isinstance(obj, Mapping) or obj.get("kind") not in KINDS:
            raise SpecError(
                "a figure of a check is of an unknown kind",
                repair=f"choose one of {', '.join(KINDS)}",
            )
        names = {"kind", "columns"} | _FIELDS.get(obj["kind"], frozenset())
        columns = obj.get("columns")
        if set(obj) != names or not isinstance(columns, list | tuple):
            raise SpecError(
                f"a figure of the kind {obj['kind']} is an object with {', '.join(sorted(names))}",
                repair="add what is missing, and remove other keys",
            )
        figure = cls(kind=obj["kind"], columns=tuple(columns))
        if "codes" in _FIELDS.get(figure.kind, ()):
            return replace(figure, codes=_codes(obj["codes"]))
        if figure.kind == "worst-groups":
            return replace(
                figure,
                size=_whole(obj["size"], most=2, of="columns of a group"),
                tables=_whole(
                    obj["tables"], most=MAX_WORST_TABLES, of="tables that are chosen"
                ),
            )
        if figure.kind != "counts":
            return figure
        least = obj["least"]
        if type(least) is not int or not 1 <= least <= 10**12:
            raise SpecError(
                "the least count of a figure is a whole number from 1", repair="such as 500"
            )
        return replace(figure, least=least, within=_share(obj["within"]))

    @property
    def is_counted(self) -> bool:
        """Whether it needs the noisy counts of its columns."""
        return self.kind in _COUNTED

    @property
    def is_classified(self) -> bool:
        """Whether it is about a classifier."""
        return self.kind in _CLASSIFIED

    @property
    def cliques(self) -> Iterator[Clique]:
        """The marginals whose distances it needs."""
        if self.kind == "distance":
            yield self.columns
        elif self.kind == "mean-distance":
            yield from itertools.combinations(self.columns, 2)

    def candidates(self, domain: Domain) -> tuple[Clique, ...]:
        """The marginals among which worst groups are looked for, with columns in the order of the
        description: those that are short enough to be listed."""
        names = [name for name in domain.sizes if name in self.columns]
        return tuple(
            clique
            for clique in itertools.combinations(names, self.size)
            if math.prod(domain.shape(clique)) <= MAX_LISTED
        )

    def require(self, domain: Domain) -> None:
        """Errors: SpecError where it cannot be computed for this description."""
        least, most = {
            "worst-groups": (self.size, len(domain.sizes)),
            "mean-distance": (2, len(domain.sizes)),
            "ks": (1, 1),
            "auc": (2, 1 + MAX_PREDICTORS),
            "accuracy": (2, 1 + MAX_PREDICTORS),
        }.get(self.kind, (1, MAX_COLUMNS))
        if not all(isinstance(name, str) for name in self.columns) or len(
            set(self.columns)
        ) != len(self.columns):
            raise SpecError(
                "a figure names a column twice, or something that is no column",
                repair="name different columns of the description",
            )
        for name in self.columns:
            if name not in domain.sizes:
                raise SpecError(
                    f"the release has no column {name!r} that is counted",
                    repair="name columns of the release that have values of their own",
                )
        if not least <= len(self.columns) <= most:
            raise SpecError(
                f"a figure of the kind {self.kind} has {least} to {most} columns, not {len(self.columns)}",
                repair="choose fewer or more columns",
            )
        pairs = [(self.columns[0], name) for name in self.columns[1:]]
        for clique in (
            *self.cliques,
            *([self.columns] if self.is_counted else []),
            *(pairs if self.is_classified else []),
        ):
            cells = math.prod(domain.shape(clique))
            if cells > MAX_TABLE_CELLS:
                raise SpecError(
                    f"the table of {' × '.join(clique)} has {cells:,} cells, more than the "
                    f"{MAX_TABLE_CELLS:,} that are counted",
                    repair="choose columns with fewer values",
                )
        self._require_cells(domain)
        if self.kind == "worst-groups" and len(self.candidates(domain)) <= self.tables:
            raise SpecError(
                f"worst groups are those of {self.tables} of {len(self.candidates(domain))} tables of "
                f"{self.size} of the columns with up to {MAX_LISTED:,} cells, so that there is nothing to "
                "choose",
                repair="name more columns, or ask for the counts of these tables",
            )
        if self.is_classified:
            self._require_target(domain)

    def _require_target(self, domain: Domain) -> None:
        size = domain.sizes[self.columns[0]]
        chosen = self.codes[0] if len(self.codes) == 1 else ()
        if not chosen or chosen[0] < 0 or chosen[-1] >= size or len(chosen) == size:
            raise SpecError(
                f"a classifier of {self.columns[0]} needs some of its values, and not all of them",
                repair="name the values that it is to predict",
            )

    def _require_cells(self, domain: Domain) -> None:
        cells = math.prod(domain.shape(self.columns)) if self.is_counted else 0
        if self.kind == "marginal" and cells > MAX_LISTED:
            raise SpecError(
                f"the table of {' × '.join(self.columns)} has {cells:,} cells, and up to {MAX_LISTED:,} "
                "are listed",
                repair="choose fewer columns, or ask for the count of some values",
            )
        if self.kind == "ks" and not any(
            attribute.ordered for attribute in domain.modelled if attribute.name in self.columns
        ):
            raise SpecError(
                f"the values of {self.columns[0]} have no order",
                repair="ask for its distance instead",
            )
        if self.kind == "count" and (
            len(self.codes) != len(self.columns)
            or not all(
                each and each[0] >= 0 and each[-1] < domain.sizes[name]
                for name, each in zip(self.columns, self.codes, strict=True)
            )
        ):
            raise SpecError(
                "a count names values that its columns do not have",
                repair="name at least one value of each column",
            )


def _codes(value: object) -> tuple[tuple[int, ...], ...]:
    listed = (
        tuple(tuple(each) for each in value if isinstance(each, list | tuple))
        if isinstance(value, list | tuple)
        else ()
    )
    if (
        not isinstance(value, list | tuple)
        or len(listed) != len(value)
        or sum(len(each) for each in listed) > MAX_LISTED
        or not all(type(code) is int for each in listed for code in each)
        or not all(each == tuple(sorted(set(each))) for each in listed)
    ):
        raise SpecError(
            "the codes of a count are a list for each column, ascending, of whole numbers",
            repair=f"list up to {MAX_LISTED:,} codes, each one once",
        )
    return listed


def _whole(value: object, *, most: int, of: str) -> int:
    if type(value) is not int or not 1 <= value <= most:
        raise SpecError(
            f"the number of {of} is a whole number from 1 to {most}",
            repair=f"choose a number from 1 to {most}",
        )
    return value


def _share(value: object) -> Fraction:
    try:
        share = Fraction(value) if isinstance(value, str) and len(value) <= 20 else None
    except (ValueError, ZeroDivisionError):
        share = None
    if share is None or not Fraction(1, 10**4) <= share <= 1:
        raise SpecError(
            "the deviation of a figure of counts is a share from 0.0001 to 1, as text",
            repair="write 0.05 for five per cent",
        )
    return share


@dataclass(frozen=True, kw_only=True)
class CheckedRelease:
    """The release that is checked. core: the digest of the receipt of the release, which citations name.
    seed, rows: of the table that is drawn from its model."""

    core: str
    seed: str
    rows: int
    model: Model


@dataclass(frozen=True, kw_only=True)
class Precision:
    """What a check will say, from public facts alone: half the width of the interval of each distance, as a
    share, and of each count, in records. records: how many there are, about."""

    records: int
    distance: float
    counts: float


@dataclass(frozen=True, kw_only=True)
class ReleaseCheck(Mechanism):
    """Figures of a release, measured.

    Asks: `measure` of the number of records unless that is public, one `score` of all distances, and
    `measure` of each marginal
        whose counts are needed, then of those of classifiers, whose codes are merged to bins; last, for each
            figure of worst groups,
        a `select` for each of its tables, and `measure` of the tables selected.
    Privacy: discrete Laplace noise for a delta of 0, else rounded Gaussian noise; all of it under a cap that
    is fixed
        beforehand. Proof: docs/proofs/check.md.
    Public assumptions: the domain, the unit, the relation, and the model of the release.
    """

    id: ClassVar[str] = MECHANISM
    title: ClassVar[str] = "Check of a release"
    summary: ClassVar[str] = (
        "Measures with budget how far the real table is from the synthetic one."
    )
    paper: ClassVar[str] = "Dwork, McSherry, Nissim and Smith 2006"
    keeps: ClassVar[tuple[str, ...]] = ()
    parameters: ClassVar[ParameterSchema] = {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }
    relations: ClassVar[tuple[Relation, ...]] = (Relation.ADD_REMOVE, Relation.REPLACE_ONE)
    losses: ClassVar[tuple[str, ...]] = ("pure", "approximate")
    kind: ClassVar[Literal["static", "adaptive"]] = "adaptive"
    adds_up: ClassVar[Literal["zcdp", "gdp"]] = "gdp"

    of: CheckedRelease
    figures: tuple[CheckedFigure, ...]

    def calibrate(self, domain: Domain, spec: Spec, *, within: Budget | None = None) -> Plan:
        """Errors: SpecError for a figure that cannot be computed."""
        cap = within or conversion.budget_for(spec.epsilon, spec.delta, adds_up=self.adds_up)
        return CheckPlan(config=self, domain=domain, spec=spec, cap=cap)


def plan(
    of: CheckedRelease,
    figures: Sequence[CheckedFigure],
    *,
    epsilon: Fraction,
    delta: Fraction,
) -> CheckPlan:
    """Calibrate a check, from public facts alone. Errors: SpecError naming the figure that cannot be
    computed."""
    domain = of.model.domain
    if not 1 <= len(figures) <= MAX_FIGURES:
        raise SpecError(
            f"a check has 1 to {MAX_FIGURES} figures, not {len(figures)}",
            repair="choose some of them",
        )
    if len(set(figures)) < len(figures):
        raise SpecError("a figure is listed twice", repair="list each one once")
    if domain.totals is not None:
        raise SpecError(
            "a release with public totals cannot be checked with budget",
            repair="compare it with the real table instead, which stewards alone see",
        )
    for figure in figures:
        figure.require(domain)
    spec = spec_of(of, figures, epsilon=epsilon, delta=delta)
    config = ReleaseCheck(of=of, figures=tuple(figures))
    planned = config.calibrate(domain, spec)
    if not isinstance(planned, CheckPlan):
        raise TypeError("a check has a plan of another kind")
    planned.require_moderate()
    return planned


def spec_of(
    of: CheckedRelease,
    figures: Sequence[CheckedFigure],
    *,
    epsilon: Fraction,
    delta: Fraction,
) -> Spec:
    """The request for a check, as it is stored. Errors: SpecError for a loss out of range."""
    return Spec(
        mechanism=MECHANISM,
        parameters={
            "release": of.core,
            "seed": of.seed,
            "rows": of.rows,
            "figures": [figure.to_json() for figure in figures],
        },
        epsilon=epsilon,
        delta=delta,
    )


def figures_of(spec: Spec) -> tuple[CheckedFigure, ...]:
    """The figures that a stored request asks for. Errors: SpecError."""
    listed = spec.parameters.get("figures")
    if not isinstance(listed, list | tuple):
        raise SpecError("a check lists no figures", repair="give a list of them")
    return tuple(CheckedFigure.from_json(entry) for entry in listed)


@dataclass(frozen=True, kw_only=True)
class CheckAnswers:
    """The answers of a check by what they are about. total: of the number of records, None where that is
    public. classified: of each classifier, in the order of `CheckPlan.classifiers`. worst: the tables that
    were chosen for each figure of worst groups."""

    total: Measurement | None
    scores: dict[Clique, int]
    scores_noise: Noise | None
    counts: dict[Clique, Measurement]
    classified: tuple[Measurement, ...] = ()
    worst: dict[CheckedFigure, tuple[Measurement, ...]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class CheckPlan(Plan):
    """A check with its noise set. It needs no list of calls: they stand under a cap that is fixed
    beforehand."""

    config: ReleaseCheck

    @cached_property
    def distances(self) -> tuple[Clique, ...]:
        """The marginals whose distances are measured, each once, with columns in the order of the
        description."""
        return self._ordered(
            clique for figure in self.config.figures for clique in figure.cliques
        )

    @cached_property
    def counted(self) -> tuple[Clique, ...]:
        """The marginals whose counts are measured."""
        return self._ordered(
            figure.columns for figure in self.config.figures if figure.is_counted
        )

    @cached_property
    def classifiers(self) -> tuple[Classifier, ...]:
        """The measurements of classifiers, each once."""
        return tuple(self._classifier(figure) for figure in self._classified)

    @cached_property
    def _classified(self) -> tuple[CheckedFigure, ...]:
        """The figures about classifiers, one of each classifier."""
        of = {
            (figure.columns[0], frozenset(figure.columns[1:]), figure.codes): figure
            for figure in reversed(self.config.figures)
            if figure.is_classified
        }
        return tuple(reversed(of.values()))

    def classifier_index(self, figure: CheckedFigure) -> int:
        """The place of the classifier that a figure is about."""
        return next(
            index
            for index, other in enumerate(self._classified)
            if other.columns[0] == figure.columns[0]
            and set(other.columns) == set(figure.columns)
            and other.codes == figure.codes
        )

    @cached_property
    def worst(self) -> tuple[CheckedFigure, ...]:
        """The figures of worst groups."""
        return tuple(each for each in self.config.figures if each.kind == "worst-groups")

    @property
    def _choices(self) -> int:
        return sum(figure.tables for figure in self.worst)

    def _classifier(self, figure: CheckedFigure) -> Classifier:
        names = self.in_order(figure.columns)
        return trained(
            self.codes,
            sizes=[(name, self.domain.sizes[name]) for name in names],
            target=figure.columns[0],
            positive=figure.codes[0],
        )

    def in_order(self, clique: Clique) -> Clique:
        """The same columns in the order of the description."""
        return tuple(name for name in self.domain.sizes if name in clique)

    def _ordered(self, cliques: Iterator[Clique]) -> tuple[Clique, ...]:
        return tuple(dict.fromkeys(self.in_order(clique) for clique in cliques))

    @property
    def asks_total(self) -> bool:
        """Whether the number of records has to be measured: for distances, unless it is public. Where each
        person has a limited number of records, fewer of them are counted than the table has."""
        public = self.domain.rows is not None and self.domain.unit.column is None
        return bool(self.distances) and not public

    @cached_property
    def noises(self) -> tuple[Noise | None, Noise | None, tuple[Noise, ...]]:
        """Noise of the number of records, of the distances, and of each table of counts, then of those of
        classifiers and of worst groups."""
        number = len(self.distances)
        parts = iter(self._parts[: len(self._parts) - self._choices])
        of_counts = histogram_sensitivity(self.domain.unit, self.domain.relation)
        of_scores = scores_sensitivity(of_counts, number=max(1, number))
        total = budget_allocation.noise(next(parts), of_counts) if self.asks_total else None
        scores = budget_allocation.noise(next(parts), of_scores) if number else None
        return total, scores, tuple(budget_allocation.noise(part, of_counts) for part in parts)

    @property
    def choice_scale(self) -> Fraction:
        """The scale of each choice of a table of worst groups."""
        linf = histogram_sensitivity(self.domain.unit, self.domain.relation).linf
        return self._parts[-1].selection_scale(linf)

    @cached_property
    def _parts(self) -> tuple[Budget, ...]:
        """The budget of each question, in the order of `noises`; last, those of the choices.

        The parts make the sum of the errors least. Of m distances an error is in proportion to m / epsilon,
        or to (m / rho)^(1/2); that of the others to one over these. A choice among large differences needs
        less than the counts do.
        """
        cap = self._cap
        number = len(self.distances)
        power = 1 / 2 if isinstance(cap, Pure) else 1 / 3
        weights = [
            *([Fraction(1)] if self.asks_total else []),
            *([Fraction(round(number**power * 1000), 1000)] if number else []),
            *[Fraction(1)] * (len(self.counted) + len(self._classified) + self._choices),
            *[SHARE_OF_CHOICE] * self._choices,
        ]
        whole = sum(weights, Fraction(0))
        return tuple(cap.of(cap.amount * weight / whole) for weight in weights)

    @property
    def _cap(self) -> Budget:
        if self.cap is None:
            raise SpecError("a check has no cap")
        return self.cap

    def require_moderate(self) -> None:
        """Errors: SpecError for a check of too many marginals or cells, and for noise that cannot be
        drawn."""
        if len(self.distances) > MAX_DISTANCES:
            raise SpecError(
                f"the figures need {len(self.distances):,} distances, more than {MAX_DISTANCES:,}",
                repair="choose fewer columns",
            )
        looked_at = [clique for each in self.worst for clique in each.candidates(self.domain)]
        if len(looked_at) > MAX_DISTANCES:
            raise SpecError(
                f"worst groups are looked for in {len(looked_at):,} tables, more than {MAX_DISTANCES:,}",
                repair="name fewer columns",
            )
        cells = sum(
            math.prod(self.domain.shape(clique))
            for clique in (*self.distances, *self.counted, *looked_at)
        )
        if cells > MAX_CELLS:
            raise SpecError(
                f"the figures need tables of {cells:,} cells together, more than {MAX_CELLS:,}",
                repair="choose fewer columns, or columns with fewer values",
            )
        _ = self.noises
        if self.worst:
            _ = self.choice_scale

    def precision(self) -> Precision:
        """What the answers will say."""
        total, scores, counts = self.noises
        records = max(1, self.config.of.model.rows)
        radius = (0 if scores is None else scores.mean_deviation) + (
            0 if total is None else total.mean_deviation
        )
        # An interval of 95 per cent is 2.5 to 3 times the mean deviation on each side.
        return Precision(
            records=records,
            distance=min(1.0, 2.5 * radius / (2 * records)),
            counts=max((2.5 * noise.mean_deviation for noise in counts), default=0.0),
        )

    @cached_property
    def codes(self) -> Codes:
        """The codes of the table that is checked, the same on every machine."""
        of = self.config.of
        return of.model.sample(of.rows, seed=of.seed)

    def synthetic(self, clique: Clique) -> Counts:
        """The counts of the table that is checked, as many as `CheckedRelease.rows` together."""
        shape = self.domain.shape(clique)
        index = np.ravel_multi_index(
            tuple(self.codes[name].astype(np.int64) for name in clique), shape
        )
        counted = np.bincount(index, minlength=math.prod(shape))
        return counted.astype(np.int64).reshape(shape)

    def reference(self, clique: Clique) -> Counts:
        """The same, scaled to the number of records of the model and rounded."""
        generated, rows = self.config.of.rows, self.config.of.model.rows
        counts = self.synthetic(clique)
        if generated == rows:
            return counts
        # Halves are rounded up in whole numbers: floats would differ between machines.
        return (2 * counts * rows + generated) // (2 * generated)

    def ask(self, session: Session) -> None:
        total, scores, counts = self.noises
        if total is not None:
            session.measure((), noise=total)
        if scores is not None:
            session.score(
                [
                    Candidate(clique=clique, reference=self.reference(clique))
                    for clique in self.distances
                ],
                noise=scores,
            )
        number = len(self.counted)
        for clique, noise in zip(self.counted, counts[:number], strict=True):
            session.measure(clique, noise=noise)
        noises = iter(counts[number:])
        for one in self.classifiers:
            session.measure(one.clique, noise=next(noises), merged=one.merged)
        for figure in self.worst:
            for clique in self._choose(session, figure):
                session.measure(clique, noise=next(noises))

    def _choose(self, session: Session, figure: CheckedFigure) -> list[Clique]:
        """The tables in which worst groups are looked for, each chosen among those that are left."""
        left = [self._candidate(clique) for clique in figure.candidates(self.domain)]
        chosen = []
        for _ in range(figure.tables):
            index = session.select(left, scale=self.choice_scale)
            chosen.append(left.pop(index).clique)
        return chosen

    def _candidate(self, clique: Clique) -> Candidate:
        """A table, whose score is its distance less what two samples of the same people would differ by: of a
        cell of t records about 2 (t / pi)^(1/2). It is summed in whole numbers, to be the same on every
        machine."""
        reference = self.reference(clique)
        roots = np.sqrt(10_000.0 * reference).astype(np.int64)
        return Candidate(
            clique=clique, reference=reference, penalty=1128 * int(roots.sum()) // 100_000
        )

    def read(self, given: Replay) -> CheckAnswers:
        """The answers, checked to be those of this plan. Errors: InputError."""
        total = given.measurement(()) if self.asks_total else None
        scores: dict[Clique, int] = {}
        noise = None
        if self.distances:
            answer = given.next(Scores, lambda one: one.values.size == len(self.distances))
            scores = dict(zip(self.distances, answer.values.tolist(), strict=True))
            noise = answer.noise
        counts = {clique: given.measurement(clique) for clique in self.counted}
        return CheckAnswers(
            total=total,
            scores=scores,
            scores_noise=noise,
            counts=counts,
            classified=tuple(self._read_one(given, one) for one in self.classifiers),
            worst={figure: self._read_worst(given, figure) for figure in self.worst},
        )

    def _read_worst(self, given: Replay, figure: CheckedFigure) -> tuple[Measurement, ...]:
        left = list(figure.candidates(self.domain))
        chosen = [left.pop(given.selection(len(left))) for _ in range(figure.tables)]
        return tuple(given.measurement(clique) for clique in chosen)

    @staticmethod
    def _read_one(given: Replay, one: Classifier) -> Measurement:
        return given.next(
            Measurement,
            lambda each: (each.clique, each.values.shape) == (one.clique, one.shape),
        )

    def fit_replay(self, given: Replay) -> Model:
        """The model of the release, which a check leaves as it is."""
        self.read(given)
        return self.config.of.model

    def answers_bytes(self, rows: int | None = None) -> int:
        """A bound: eight bytes a cell, and the names of the marginals."""
        del rows
        cells = sum(math.prod(self.domain.shape(clique)) for clique in self.counted)
        cells += 2 * math.prod([MAX_BINS] * MAX_PREDICTORS) * len(self._classified)
        cells += MAX_LISTED * self._choices
        looked_at = [
            clique
            for each in self.worst
            for clique in each.candidates(self.domain) * each.tables
        ]
        names = sum(
            len(name) + 8 for clique in (*self.distances, *looked_at) for name in clique
        )
        return 262_144 + 8 * (cells + len(self.distances)) + 4 * names


def require_same(planned: CheckPlan, spec: Spec) -> None:
    """Errors: InputError where a stored request is of another release than the one that is given."""
    if dict(planned.spec.parameters) != dict(spec.parameters):
        raise InputError(
            "the request is of another release, or of another version of it",
            repair="ask for the check again",
        )
