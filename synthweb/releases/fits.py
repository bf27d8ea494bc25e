"""Regressions of a release for its page and REST: which one an address asks for, and its coefficients with
intervals.

They are made from the same stored counts as tables of counts (`marginals`), and cost nothing either.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.http import QueryDict

from synth_engine.domain import Domain
from synth_engine.errors import InputError
from synth_engine.evaluation import fits
from synth_engine.evaluation.fits import Coefficient, FitRequest, Regression
from synthweb.releases import marginals
from synthweb.releases.model_cache import model_of
from synthweb.releases.models import Release
from synthweb.releases.slots import Slot


@dataclass(frozen=True, kw_only=True)
class CoefficientLine:
    """A coefficient as people read it. value: of which values it is, "" for a number."""

    column: str
    value: str
    estimate: str
    low: str
    high: str
    population_low: str
    population_high: str


@dataclass(frozen=True, kw_only=True)
class FitPage:
    """What the page shows. names: the columns that it offers; fault: why there is no fit; fit: None before
    columns are chosen."""

    names: tuple[str, ...]
    outcome: str
    regressors: tuple[str, ...]
    kind: str
    fault: str
    fit: Regression | None
    lines: tuple[CoefficientLine, ...]


def request_of(
    release: Release, *, outcome: str, regressors: Sequence[str], kind: str
) -> FitRequest:
    """The fit that an address asks for. regressors: names, several in one text parted by commas. Errors:
    InputError; the caller authorised."""
    chosen = [each for each in fits.KINDS if each == kind]
    if not chosen:
        raise InputError(
            "there is no such kind of fit", repair=f"take one of {', '.join(fits.KINDS)}"
        )
    domain = model_of(release.code).domain
    request = FitRequest(
        outcome=outcome,
        regressors=tuple(marginals.columns_of(domain, regressors)),
        kind=chosen[0],
    )
    fits.require_names(domain, request)
    return request


def answer(release: Release, request: FitRequest, *, person: int) -> Regression:
    """A fit by the stored counts. person: whose slot it takes. Errors: InputError that says why none is
    offered; NotGathered, TooManyDrawings; the caller authorised."""
    published = marginals.published_of(release)
    with Slot(person):
        return fits.fit(published, request)


def page_of(release: Release, query: QueryDict, *, person: int) -> FitPage:
    """What the page shows for an address. person: who asks. Errors: NotGathered, TooManyDrawings; the caller
    authorised."""
    outcome, regressors = query.get("outcome", ""), query.getlist("regressors")
    kind = query.get("kind", fits.KINDS[0])
    fault, fit = "", None
    try:
        if outcome or regressors:
            request = request_of(release, outcome=outcome, regressors=regressors, kind=kind)
            fit = answer(release, request, person=person)
    except InputError as error:
        fault = error.text
    return FitPage(
        names=tuple(_names(model_of(release.code).domain)),
        outcome=outcome,
        regressors=tuple(regressors),
        kind=kind,
        fault=fault,
        fit=fit,
        lines=() if fit is None else tuple(_line(each) for each in fit.coefficients),
    )


def _names(domain: Domain) -> Iterator[str]:
    return (attribute.name for attribute in domain.modelled)


def _line(one: Coefficient) -> CoefficientLine:
    return CoefficientLine(
        column=one.column,
        value=one.value,
        estimate=_number(one.estimate),
        low=_number(one.of_table.low),
        high=_number(one.of_table.high),
        population_low=_number(one.of_population.low),
        population_high=_number(one.of_population.high),
    )


def _number(value: float) -> str:
    """A coefficient with four digits."""
    return f"{value:.4g}"
