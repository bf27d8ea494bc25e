"""What the steward's exact comparison says of the criteria of a release: not private, for the page with the
red bar alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from synth_engine.domain import Domain
from synth_engine.evaluation import criteria
from synth_engine.evaluation.criteria import Criterion
from synth_engine.evaluation.figure_origins import ExactFigure
from synthweb.lib.number_format import share
from synthweb.releases.criteria_page import VERDICTS, criteria_of, in_words
from synthweb.releases.model_cache import model_of
from synthweb.releases.models import Release


@dataclass(frozen=True, kw_only=True)
class ExactLine:
    """One criterion with its exact value, empty where the comparison does not have it."""

    stated: str
    verdict: str
    value: str


def lines_of(release: Release, report: Mapping[str, Any]) -> tuple[ExactLine, ...]:
    """Every criterion of the release. The caller authorised, and wrote that the report was opened."""
    domain = model_of(release.code).domain
    return tuple(_line(criterion, report, domain) for criterion in criteria_of(release))


def _line(criterion: Criterion, report: Mapping[str, Any], domain: Domain) -> ExactLine:
    exact, stated = _exact(criterion, report), in_words(criterion, domain)
    if exact is None:
        return ExactLine(stated=stated, verdict=str(VERDICTS["cannot-tell"]), value="")
    verdict = criteria.verdict(criterion, low=exact.value, high=exact.value, cells=0)
    return ExactLine(stated=stated, verdict=str(VERDICTS[verdict]), value=share(exact.value))


def _exact(criterion: Criterion, report: Mapping[str, Any]) -> ExactFigure | None:
    """The distance in the report; None for other figures, which it has of values in full or of other models,
    and for tables that it has not."""
    asked = criterion.asked
    if asked.kind == "mean-distance":
        mean = report["summary"].get("tvd2")
        pairs = len(asked.columns) * (len(asked.columns) - 1) // 2
        # A report of very wide tables leaves pairs out.
        complete = mean is not None and mean["of"] == pairs
        return ExactFigure(value=mean["value"]) if complete else None
    if asked.kind != "distance":
        return None
    entries = [*report["attributes"], *report["pairs"], *report["triples"]]
    for entry in entries:
        columns = entry["attributes"] if "attributes" in entry else [entry["name"]]
        if set(columns) == set(asked.columns):
            return ExactFigure(value=entry["tvd"])
    return None
