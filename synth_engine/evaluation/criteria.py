"""Criteria: what has to hold for a release to be used, stated before its run, and what released figures say
of them.

Each verdict rests on one kind of figure. The private one comes from noisy answers, the paid one from a check.
A verdict says "cannot be told" where the interval of the figure has both outcomes in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from synth_engine.domain import Domain
from synth_engine.errors import SpecError
from synth_engine.evaluation import expected_errors, marginals
from synth_engine.evaluation.figure_origins import ExpectedRange, ModelFigure
from synth_engine.evaluation.marginals import EstimatedTable, MarginalQuery, PublishedCounts
from synth_engine.evaluation.paid_figures import CheckedResult
from synth_engine.evaluation.thousands import grouped
from synth_engine.measurement import Answers
from synth_engine.models.model import Model
from synth_engine.plans.multi_stage import MultiStagePlan
from synth_engine.plans.plan import Plan
from synth_engine.plans.release_check import CRITERION_KINDS, CheckedFigure
from synth_engine.strict_json import JsonObject

LEVEL = marginals.LEVEL
MAX_CRITERIA = 20
_MEAN_OF_NORMAL = math.sqrt(2 / math.pi)
_DEVIATIONS = 2.0

_LARGEST_SUM = 2.5
"""Deviations of a whole sum that it exceeds with chance 0.05/4, so that partial sums, which are as far twice
as often, stay below it."""

_BOUNDS = ("most", "at_least")

Verdict = Literal["met", "not-met", "cannot-tell"]


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """A figure and what it has to be. most: of a distance, the largest value. at_least: of an area under the
    curve, the smallest. Of counts neither: all of them have to be near."""

    asked: CheckedFigure
    most: Fraction | None = None
    at_least: Fraction | None = None

    def to_json(self) -> JsonObject:
        bounds = {name: getattr(self, name) for name in _BOUNDS}
        stated = {name: str(bound) for name, bound in bounds.items() if bound is not None}
        return {**self.asked.to_json(), **stated}

    @classmethod
    def from_json(cls, obj: object) -> Criterion:
        """Errors: SpecError for what is no criterion."""
        if not isinstance(obj, Mapping):
            raise SpecError(
                "a criterion is no object", repair="write kind, columns and what has to hold"
            )
        asked = CheckedFigure.from_json({key: obj[key] for key in obj if key not in _BOUNDS})
        if asked.kind not in CRITERION_KINDS:
            raise SpecError(
                "a criterion is of an unknown kind",
                repair=f"choose one of {', '.join(CRITERION_KINDS)}",
            )
        if asked.kind == "counts":
            if set(_BOUNDS) & set(obj):
                raise SpecError(
                    "a criterion of counts has no largest value",
                    repair="give least and within",
                )
            return cls(asked=asked)
        if asked.kind == "auc":
            return cls(asked=asked, at_least=_bound(obj, "at_least"))
        return cls(asked=asked, most=_bound(obj, "most"))

    def require(self, domain: Domain, *, scores_pairs: bool) -> None:
        """scores_pairs: whether the method looks at every pair of columns, so that their error can be
        estimated.

        Errors: SpecError where no private figure of a release, and no check of it, could ever say whether it
        holds."""
        if domain.undeclared:
            names = {attribute.name for attribute in domain.undeclared}
            if names & set(self.asked.columns) or self.asked.kind == "mean-distance":
                raise SpecError(
                    "a criterion is about a column whose values the run has yet to learn",
                    repair="state it of declared columns, or declare the column",
                )
        try:
            self.asked.require(domain)
        except SpecError as error:
            raise SpecError(
                f"a criterion cannot be computed: {error.rule}", repair=error.repair
            ) from None
        if self.asked.kind != "mean-distance":
            return
        if set(self.asked.columns) != set(domain.sizes):
            raise SpecError(
                "a criterion of the mean distance is about all pairs of all columns",
                repair="list every column, or state distances of single tables",
            )
        if not scores_pairs:
            raise SpecError(
                "a criterion of the mean distance cannot be computed: this method does not look at every "
                "pair of columns",
                repair="choose auto, or state criteria of single columns",
            )


def _bound(obj: Mapping[str, object], name: str) -> Fraction:
    """The bound of a criterion, which is the only one. Errors: SpecError."""
    text = obj.get(name)
    try:
        share = Fraction(text) if isinstance(text, str) and len(text) <= 20 else None
    except (ValueError, ZeroDivisionError):
        share = None
    if share is None or not 0 < share < 1 or set(_BOUNDS) & set(obj) != {name}:
        raise SpecError(
            f"the bound of a criterion, {name}, is a share between 0 and 1, as text",
            repair="write 0.05 for five per cent",
        )
    return share


def from_document(document: Mapping[str, object]) -> tuple[Criterion, ...]:
    """The criteria of a file: an object whose `criteria` lists them, such as a file of choices. Errors:
    SpecError."""
    listed = document.get("criteria")
    if not isinstance(listed, list) or not listed:
        raise SpecError(
            "a file of criteria has no list of them",
            repair='write {"criteria": […]} with one object for each criterion',
        )
    return tuple(Criterion.from_json(each) for each in listed)


def require(plan: Plan, criteria: Sequence[Criterion]) -> None:
    """Errors: SpecError for a criterion of which a release of this plan could never say whether it holds."""
    if len(criteria) > MAX_CRITERIA or len(set(criteria)) < len(criteria):
        raise SpecError(
            f"there are more than {MAX_CRITERIA} criteria, or one is listed twice",
            repair="leave some out",
        )
    traits = plan.config
    if criteria and not traits.has_columns:
        raise SpecError(
            "releases of this method cannot be described column by column, so no criterion can be computed",
            repair="choose auto, or state no criteria",
        )
    scores_pairs = traits.looks_at_all_pairs and not isinstance(plan, MultiStagePlan)
    for criterion in criteria:
        criterion.require(plan.domain, scores_pairs=scores_pairs)


def in_words(criterion: Criterion) -> str:
    """What has to hold, as an English sentence without its full stop."""
    asked = criterion.asked
    columns = " × ".join(asked.columns)
    if criterion.at_least is not None:
        return (
            f"the area under the curve of a classifier of {asked.columns[0]} by "
            f"{', '.join(asked.columns[1:])} is at least {float(criterion.at_least):.3g}"
        )
    if criterion.most is None:
        return (
            f"every count of {columns} of at least {grouped(asked.least)} "
            f"is within {float(100 * asked.within):.3g} %"
        )
    if asked.kind == "mean-distance":
        return (
            f"the mean distance of all pairs of columns is at most {float(criterion.most):.3g}"
        )
    if asked.kind == "ks":
        return f"the Kolmogorov-Smirnov distance of {columns} is at most {float(criterion.most):.3g}"
    return f"the distance of {columns} is at most {float(criterion.most):.3g}"


def range_in_words(criterion: Criterion, figure: CriterionRange) -> str:
    """The interval of a figure."""
    low, high = figure.expected.low, figure.expected.high
    if criterion.asked.kind == "counts":
        return f"{round(low)} to {round(high)} of {grouped(figure.cells)} counts"
    return f"{low:.3g} to {high:.3g}"


@dataclass(frozen=True, kw_only=True)
class CriterionRange:
    """A private figure of a criterion. cells: of counts, how many are looked at."""

    expected: ExpectedRange
    cells: int


def verdict(criterion: Criterion, *, low: float, high: float, cells: int) -> Verdict:
    """Whether the criterion holds, by the ends of an interval of its figure."""
    if criterion.at_least is not None:
        least = float(criterion.at_least)
        return "met" if low >= least else "not-met" if high < least else "cannot-tell"
    if criterion.most is None:
        return "met" if low >= cells else "not-met" if high < cells else "cannot-tell"
    most = float(criterion.most)
    return "met" if high <= most else "not-met" if low > most else "cannot-tell"


def verdict_of_paid(criterion: Criterion, result: CheckedResult) -> Verdict:
    """What a check says."""
    return verdict(
        criterion, low=result.figure.low, high=result.figure.high, cells=result.cells
    )


def verdict_of_private(criterion: Criterion, figure: CriterionRange | None) -> Verdict:
    """What the noisy answers say; "cannot-tell" without a figure."""
    if figure is None:
        return "cannot-tell"
    return verdict(
        criterion, low=figure.expected.low, high=figure.expected.high, cells=figure.cells
    )


def private_figure(published: PublishedCounts, criterion: Criterion) -> CriterionRange | None:
    """The figure of a distance or of counts by the noisy answers; None where they do not count all cells that
    matter, and of a classifier, of which they say nothing."""
    if criterion.asked.kind == "auc":
        return None
    asked = marginals.asked_of(published.domain, MarginalQuery(columns=criterion.asked.columns))
    table = marginals.table_of(published, asked)
    if criterion.asked.kind == "counts":
        return _near(table, criterion.asked)
    if criterion.asked.kind == "ks":
        return _largest_gap(table, records=published.rows) if table.measured.all() else None
    return _distance(table, records=published.rows) if table.measured.all() else None


def private_figures(
    criteria: Sequence[Criterion],
    *,
    model: Model,
    plan: Plan,
    answers: Answers | None,
    progress: Callable[[str, float], None] = lambda _step, _share: None,
) -> tuple[CriterionRange | None, ...]:
    """The figures of criteria by a model and, where they are at hand, the noisy answers: distances of single
    tables and counts need them. progress: is told a step and its share. Errors: InputError for answers of
    another plan."""
    published = None
    if answers is not None:
        published = marginals.publish(model, plan, answers, progress=progress)
    errors = None
    if any(criterion.asked.kind == "mean-distance" for criterion in criteria):
        errors = expected_errors.simulated(model, plan, progress=progress)
    figures: list[CriterionRange | None] = []
    for criterion in criteria:
        if criterion.asked.kind == "mean-distance":
            figures.append(
                None if errors is None else CriterionRange(expected=errors.pairs, cells=0)
            )
        else:
            figures.append(None if published is None else private_figure(published, criterion))
    return tuple(figures)


def _distance(table: EstimatedTable, *, records: int) -> CriterionRange:
    """The total variation distance. With estimates v of the counts c and the counts m of the model, ‖m − c‖₁
    is within ‖v − c‖₁ of ‖m − v‖₁, and ‖v − c‖₁ is a sum of absolute noise: its mean, and two of its standard
    deviations."""
    sd = np.maximum(table.upper - table.values, 0.0) / 1.96
    noise = _MEAN_OF_NORMAL * sd.sum() + _DEVIATIONS * math.sqrt(
        (1 - 2 / math.pi) * float((sd**2).sum())
    )
    distance = float(np.abs(table.model - table.values).sum())
    scale = 2 * max(1, records)
    low, high = max(0.0, distance - noise) / scale, min(1.0, (distance + noise) / scale)
    return CriterionRange(
        expected=ExpectedRange(
            estimate=ModelFigure(value=min(max(distance / scale, low), high)),
            low=low,
            high=high,
            level=LEVEL,
        ),
        cells=table.values.size,
    )


def _largest_gap(table: EstimatedTable, *, records: int) -> CriterionRange:
    """The Kolmogorov-Smirnov distance of an ordered column. Partial sums of symmetric noise exceed a number
    at most twice as often as the whole sum does (Lévy's inequality), as in `paid_figures`."""
    sd = np.maximum(table.upper - table.values, 0.0) / 1.96
    off = _LARGEST_SUM * math.sqrt(float((sd**2).sum()))
    real, model = np.cumsum(table.values.ravel()), np.cumsum(table.model.ravel())
    share = float(real[-1]) / max(1.0, float(model[-1]))
    gap, scale = float(np.abs(real - share * model).max()), max(1, records)
    low, high = max(0.0, gap - off) / scale, min(1.0, (gap + off) / scale)
    return CriterionRange(
        expected=ExpectedRange(
            estimate=ModelFigure(value=min(max(gap / scale, low), high)),
            low=low,
            high=high,
            level=LEVEL,
        ),
        cells=table.values.size,
    )


def _near(table: EstimatedTable, asked: CheckedFigure) -> CriterionRange | None:
    """How many counts of the model are near, with the chance of error divided among the cells."""
    model = table.model.ravel()
    large = model >= asked.least
    if not table.measured.ravel()[large].all():
        return None
    cells = int(large.sum())
    model, values = model[large], table.values.ravel()[large]
    half = table.upper.ravel()[large] - values
    # The quantile of a Laplace value grows faster with the number of cells than any other one here.
    wide = half * (math.log(max(1, cells) / (1 - LEVEL)) / math.log(1 / (1 - LEVEL)))
    within = float(asked.within)
    least = model / (1 + within)
    most = model / (1 - within) if within < 1 else np.full_like(model, np.inf)
    return CriterionRange(
        expected=ExpectedRange(
            estimate=ModelFigure(value=float(((values >= least) & (values <= most)).sum())),
            low=float(((values - wide >= least) & (values + wide <= most)).sum()),
            high=float(((values + wide >= least) & (values - wide <= most)).sum()),
            level=LEVEL,
        ),
        cells=cells,
    )
