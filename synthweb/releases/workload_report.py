"""What a release was made for (a column to predict, weights, tables that matter), and how near the synthetic
table comes to the real one in just that: from the receipt and, for the steward alone, from a stored
comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synth_engine.evaluation.cards import MARKS
from synth_engine.plans.workload import Workload
from synthweb.releases import databases, receipt_facts
from synthweb.releases.models import Release


@dataclass(frozen=True, kw_only=True)
class WorkloadLine:
    """One table that matters. `real`, `synthetic`: how much one of its two columns says about the other, 0 to
    1; None of a table of three."""

    name: str
    distance: float
    mark: str
    words: str
    real: float | None
    synthetic: float | None


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a release was made for. `with_target` and `listed`: what a comparison says about it, worst
    first."""

    target: str
    weights: tuple[tuple[str, float], ...]
    tables: tuple[str, ...]
    with_target: tuple[WorkloadLine, ...] = ()
    listed: tuple[WorkloadLine, ...] = ()

    @property
    def mean(self) -> float | None:
        """The mean distance of the pairs with the target."""
        distances = [line.distance for line in self.with_target]
        return sum(distances) / len(distances) if distances else None


def asked(release: Release, report: Mapping[str, Any] | None = None) -> Asked | None:
    """None where nothing was named, so that all pairs of columns matter alike."""
    if databases.is_database(release):
        return None
    workload = Workload.from_parameters(receipt_facts.of(release)["mechanism"]["parameters"])
    if not (workload.target or workload.weights or workload.marginals):
        return None
    entries = [] if report is None else [*report["pairs"], *report["triples"]]
    pairs = [] if report is None else report["pairs"]
    listed = [set(marginal) for marginal in workload.marginals]
    return Asked(
        target=workload.target,
        weights=tuple(sorted(workload.weights.items(), key=lambda item: (-item[1], item[0]))),
        tables=tuple(" × ".join(marginal) for marginal in workload.marginals),
        with_target=_lines(
            [each for each in pairs if workload.target in each["attributes"]],
            of=workload.target,
        ),
        listed=_lines([each for each in entries if set(each["attributes"]) in listed]),
    )


def _lines(entries: Sequence[Mapping[str, Any]], *, of: str = "") -> tuple[WorkloadLine, ...]:
    """Entries of a report, which stand worst first. `of`: a column that goes without saying."""
    return tuple(
        WorkloadLine(
            name=" × ".join(name for name in each["attributes"] if name != of),
            distance=each["tvd"],
            mark=MARKS[each["verdict"]["level"]],
            words=each["verdict"]["words"],
            real=each.get("nmi_real"),
            synthetic=each.get("nmi_synthetic"),
        )
        for each in sorted(entries, key=lambda each: -each["tvd"])
    )
