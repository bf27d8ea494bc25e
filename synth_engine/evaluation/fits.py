"""Regressions from noisy answers: coefficients with intervals that include the noise of privacy.

*Which table.* A fit is one of the binned table (`fit_columns`): its target is the coefficient that least
squares, or a logit, gives on the real records when each counts as the number of its group. Least squares
needs sums over pairs of columns alone (Ferrando and Sheldon 2025), a logit the joint table of all its
columns. Where answers count these, `sums` estimates them without bias and with the exact covariance of the
noise; where they do not, no fit is offered, because a model alone has no error that could be said.

*How far off.* With features f, outcome y and coefficients b, both fits solve U(b) = Σ f (y - m(b'f)) = 0, a
sum over records, and so a linear function of the noisy answers, whose noise at given b has a known variance.
Along the path d on which one coefficient moves and the others are solved for again, U moves by -I each unit,
I = Σ m' (d'f)². A step t is not ruled out if

    (t I)² ≤ z² Var(d'U - t I),

which is Fieller's interval (1954): it counts the noise of I as well. Where the noise could make I zero the
interval has no end, and long before that a fit is refused.

*Two targets.* `of_table` is about the real table: privacy noise alone. `of_population` adds the sampling of
its records: s² I for least squares with errors of one variance, I for a logit. Naive standard errors of
synthetic rows contain neither.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np
import numpy.typing as npt

from synth_engine.domain import Domain
from synth_engine.errors import InputError
from synth_engine.evaluation import fit_columns, fit_equations
from synth_engine.evaluation.fit_columns import FitColumn
from synth_engine.evaluation.fit_equations import Solved
from synth_engine.evaluation.marginals import PublishedCounts
from synth_engine.evaluation.thousands import grouped
from synth_engine.inference.sums import Sums
from synth_engine.measurement import Answers
from synth_engine.measurement.paid_counts import paid_counts
from synth_engine.plans.plan import Plan

Kind = Literal["ols", "logit"]
KINDS: tuple[Kind, ...] = ("ols", "logit")
LEVEL = 0.95
MAX_REGRESSORS = 8
MAX_TERMS = 30
LEAST_SIGNAL = 4.0
"""What tells a coefficient apart, I, is at least so many standard deviations of its noise, or there is no
fit."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class FitRequest:
    """Which fit: of an outcome on regressors, by least squares or as a logit."""

    outcome: str
    regressors: tuple[str, ...]
    kind: Kind = "ols"


@dataclass(frozen=True, kw_only=True)
class FitRange:
    """An error and a 95 % interval of a coefficient; the interval need not have the estimate in its
    middle."""

    standard_error: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Coefficient:
    """What one more of a number, or a value in place of the base, adds to the outcome, or to its log-odds.
    column: "" for the constant; value: the values that it is of, "" for a number; of_table: where the
    coefficient of the real binned table lies; of_population: where that of the population lies, of which the
    table is a random sample."""

    column: str
    value: str
    estimate: float
    of_table: FitRange
    of_population: FitRange


@dataclass(frozen=True, kw_only=True)
class Regression:
    """A fit. outcome_is: the values of the outcome that count as 1, "" for a number; records: about how many
    there are; columns: what their groups count as, the outcome last."""

    request: FitRequest
    outcome_is: str
    records: float
    coefficients: tuple[Coefficient, ...]
    columns: tuple[FitColumn, ...]


def is_number(domain: Domain, name: str) -> bool:
    """Whether a column is a number in a fit, or a day or moment of the calendar, and not values without
    order."""
    return fit_columns.attribute_of(domain, name).is_comparable


def published(plan: Plan, answers: Answers) -> PublishedCounts:
    """What fits are made from, without a model, of which they use nothing. Errors: InputError for answers of
    another plan."""
    tables, domain = paid_counts(plan, answers, domain=plan.domain)
    counted = (each for each in tables if all(name in domain.sizes for name in each.clique))
    return PublishedCounts(domain=domain, rows=0, tables=tuple(counted), records={})


def refusal(counts: PublishedCounts, request: FitRequest) -> InputError | None:
    """Why a fit is not offered; None where it is."""
    try:
        fit(counts, request)
    except InputError as error:
        return error
    return None


def fit(counts: PublishedCounts, request: FitRequest) -> Regression:
    """Fit. Errors: InputError that says why none is offered, and what to change."""
    design = _designed(counts, request)
    solved = (
        fit_equations.least_squares(design)
        if request.kind == "ols"
        else fit_equations.logit(design)
    )
    names = [("", ""), *((c.name, term) for c in design.columns[:-1] for term in c.terms)]
    return Regression(
        request=request,
        outcome_is=design.columns[-1].terms[0],
        records=solved.records,
        coefficients=tuple(
            _coefficient(column, value, solved, place)
            for place, (column, value) in enumerate(names)
        ),
        columns=design.columns,
    )


def _designed(counts: PublishedCounts, request: FitRequest) -> fit_equations.FitDesign:
    domain, tables = counts.domain, counts.tables
    names = (*request.regressors, request.outcome)
    require_names(domain, request)
    cliques = [names] if request.kind == "logit" else list(itertools.combinations(names, 2))
    used = {clique: fit_columns.sources(tables, clique) for clique in cliques}
    missing = [clique for clique, sources in used.items() if not sources]
    if missing:
        raise InputError(_unmeasured(request, missing), repair=_measured_instead(request))
    counted = list(itertools.chain.from_iterable(used.values()))
    columns = [fit_columns.described(domain, name, counted, tables) for name in names]
    columns[-1] = _outcome(columns[-1], request.kind)
    if sum(len(each.terms) for each in columns) > MAX_TERMS:
        largest = max(columns, key=lambda each: len(each.terms))
        raise InputError(
            f"the fit has more than {MAX_TERMS} coefficients, of which this column has {len(largest.terms)}",
            repair="leave it out of the fit",
            column=largest.name,
        )
    return fit_equations.FitDesign(
        columns=tuple(columns),
        sums=Sums(
            [each for each in tables if set(names) & set(each.clique)],
            {each.name: each.groups for each in columns},
            total=counts.total,
        ),
    )


def require_names(domain: Domain, request: FitRequest) -> None:
    """Check the columns of a fit. Errors: InputError."""
    names = (*request.regressors, request.outcome)
    if len(names) < 2:
        raise InputError("no regressor is named", repair="name one column or more")
    if len(names) > MAX_REGRESSORS + 1:
        raise InputError(
            f"{len(names) - 1} regressors are named, and a fit has up to {MAX_REGRESSORS}",
            repair="leave some out",
        )
    if len(set(names)) < len(names):
        raise InputError("a column of the fit is named twice", repair="name each column once")
    for name in names:
        fit_columns.attribute_of(domain, name)


def _unmeasured(request: FitRequest, missing: Sequence[Sequence[str]]) -> str:
    if request.kind == "logit":
        return (
            "no answer counts the joint table of the columns of this logit, and a model alone has no error "
            "that could be said"
        )
    pairs = ", ".join(f"{one!r} with {other!r}" for one, other in missing[:3])
    more = f" and {grouped(len(missing) - 3)} more" if len(missing) > 3 else ""
    return f"no answer counts {pairs}{more}, and a model alone has no error that could be said"


def _measured_instead(request: FitRequest) -> str:
    if request.kind == "logit" and len(request.regressors) > 1:
        return "take fewer regressors, or least squares, for which pairs are enough"
    return "leave out regressors, or release the table by auto, which measures pairs"


def _outcome(column: FitColumn, kind: Kind) -> FitColumn:
    """The outcome as one number: its own, or whether it is the second of two values. Errors: InputError."""
    if len(column.terms) > 1 and not column.base:
        raise InputError(
            "values of the outcome are missing, and pairs do not say what else those records hold",
            repair="take another outcome",
            column=column.name,
        )
    if column.size != 2 and (kind == "logit" or column.base):
        raise InputError(
            f"the outcome has {column.size} groups of values"
            + (", and a logit is of two" if kind == "logit" else " without order"),
            repair="take an outcome with two values"
            + ("" if kind == "logit" else " or of numbers"),
            column=column.name,
        )
    if kind == "ols" and not column.base:
        return column
    return FitColumn(
        name=column.name,
        groups=column.groups,
        numbers=np.array([[0.0], [1.0]]),
        terms=(column.labels[1],),
        labels=column.labels,
        base=column.labels[0],
    )


def _coefficient(column: str, value: str, solved: Solved, place: int) -> Coefficient:
    noise, information = solved.noise[place], float(solved.information[place])
    if information < LEAST_SIGNAL * math.sqrt(noise[1, 1]):
        raise fit_equations.too_noisy(column)
    estimate = float(solved.estimates[place])
    return Coefficient(
        column=column,
        value=value,
        estimate=estimate,
        of_table=_range(estimate, information, noise, 0.0),
        of_population=_range(estimate, information, noise, float(solved.sampling[place])),
    )


def _range(estimate: float, information: float, noise: Floats, sampling: float) -> FitRange:
    """Fieller's interval: all steps t with (t I)² ≤ z² (Var d'U - 2 t Cov + t² Var I)."""
    z = NormalDist().inv_cdf((1 + LEVEL) / 2)
    variance = float(noise[0, 0]) + sampling
    curved = information**2 - z**2 * float(noise[1, 1])
    middle = -(z**2) * float(noise[0, 1]) / curved
    half = math.sqrt(max(middle**2 + z**2 * variance / curved, 0.0))
    return FitRange(
        standard_error=math.sqrt(max(variance, 0.0)) / information,
        low=estimate + middle - half,
        high=estimate + middle + half,
    )
