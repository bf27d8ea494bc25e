"""How long a run takes: one forecast for every page, with a band, fitted to what finished runs of the
organisation took.

What a plan needs is computed from public facts for one machine (`synth_engine.plans.resources`). Another
machine is faster or slower, so each part of a run is scaled by the ratio of actual to predicted time in
earlier runs: the forecast by the median of the runs that are most alike, the band by the spread. Alike are
runs of the same method whose predicted times are near, which is public. How long earlier runs took depends on
their tables: only runs of the same organisation count, and stewards alone see forecasts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import Any

from synth_engine.plans.resources import START, ResourceEstimate
from synthweb.datasets.models import Dataset
from synthweb.runs import stages
from synthweb.runs.models import SynthesisRun

START_SECONDS = 0.3  # to open a table and to check the plan
LEAST_SECONDS = 0.5  # of the questions and the fit, however small the table
BYTES_A_SECOND = 20e6  # a table read and encoded on one core
READ, MODEL = "read", "measure and fit"
"""The parts of a run: up to the first question; the questions, the fitting of the model and its release."""
PARTS = (READ, MODEL)
UNFITTED = (0.3, 6.0)
"""Ratios that the band spans where no run has finished yet. `bench/run_time.py` prints what they are on one
machine; a slow one that has other work took six times as long."""
SPREAD, SPREAD_OF_FEW = 1.5, 3.0
"""The band reaches at least this many times below and above the middle ratio; farther, where few runs have
finished."""
NEAREST = 5  # runs of one method whose median ratio scales the forecast
BOUNDS = (0.02, 50.0)
"""A ratio beyond these counts as the nearest of them: something else than the machine was at work, such as a
computer that slept."""
ENOUGH = 4  # runs of which quantiles say something
SAME_METHOD = 2  # runs of the same method that are preferred to those of all methods
LOOKED_AT = 40  # newest finished runs
ROUND = (
    1,
    2,
    3,
    5,
    8,
    10,
    15,
    20,
    30,
    40,
    60,
    90,
    120,
    180,
    240,
    300,
    450,
    600,
    900,
    1200,
    1800,
    2700,
    3600,
)


@dataclass(frozen=True, kw_only=True)
class Observed:
    """One finished run: its method, the ratio of actual to predicted seconds of each part, and those
    predicted seconds."""

    method: str
    ratios: Mapping[str, float]
    predicted: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Band:
    """What a run usually takes, in seconds once a worker is free. `middle`: the forecast, between the ends of
    the band; `predicted`: of each part, before any fitting; `runs`: how many finished runs it was fitted
    to."""

    low: int
    middle: int
    high: int
    predicted: Mapping[str, float]
    runs: int = 0

    def to_json(self) -> dict[str, object]:
        return {
            "low": self.low,
            "middle": self.middle,
            "high": self.high,
            "predicted": dict(self.predicted),
            "runs": self.runs,
        }


def predicted(dataset: Dataset, *, needed: ResourceEstimate) -> dict[str, float]:
    """Seconds of each part on the machine of the constants. needed: of the plan, as the engine predicts."""
    return parts_of(unpacked(dataset), needed=needed)


def parts_of(size: float, *, needed: ResourceEstimate) -> dict[str, float]:
    """The same of a table of so many bytes. What a command spends on loading libraries, a worker has behind
    it."""
    confirming = needed.confirming_seconds
    return {
        READ: START_SECONDS + confirming + size / BYTES_A_SECOND,
        MODEL: max(LEAST_SECONDS, needed.release_seconds - confirming - START),
    }


def forecast(dataset: Dataset, *, method: str, needed: ResourceEstimate) -> Band:
    """The band that every page shows of a run of this dataset and method."""
    return band(predicted(dataset, needed=needed), method=method, history=observed(dataset))


def band(parts: Mapping[str, float], *, method: str, history: Sequence[Observed]) -> Band:
    """From predictions, and ratios of earlier runs: those of the same method where there are some."""
    same = [each for each in history if each.method == method]
    fitting = same if len(same) >= SAME_METHOD else list(history)
    # A few runs of other methods leave the band as wide as it is without them.
    unlike = not same and len(fitting) < ENOUGH
    low = middle = high = 0.0
    for part, seconds in parts.items():
        middle += _nearest_ratio(part, seconds, method=method, history=history) * seconds
        least, most = _span([each.ratios[part] for each in fitting if part in each.ratios])
        if unlike:
            least, most = min(least, UNFITTED[0]), max(most, UNFITTED[1])
        low, high = low + least * seconds, high + most * seconds
    return Band(
        low=_down(min(low, middle)),
        middle=max(1, round(middle)),
        high=_up(max(high, middle)),
        predicted=dict(parts),
        runs=len(fitting),
    )


def _nearest_ratio(
    part: str, seconds: float, *, method: str, history: Sequence[Observed]
) -> float:
    """The median ratio of the runs that are most alike; 1 before any run has finished."""
    known = [each for each in history if part in each.ratios]
    alike = [each for each in known if each.method == method] or known
    if not alike:
        return 1.0
    # The newest comes first, and stays first among equals.
    nearest = sorted(
        alike, key=lambda each: abs(math.log(each.predicted.get(part, seconds) / seconds))
    )[:NEAREST]
    return median(each.ratios[part] for each in nearest)


def _span(ratios: Sequence[float]) -> tuple[float, float]:
    """The ratios between which most runs lie."""
    if not ratios:
        return UNFITTED
    middle = median(ratios)
    # Quantiles of two or three ratios say nothing: the band takes all of them in, and a margin.
    if len(ratios) < ENOUGH:
        return min(*ratios, middle / SPREAD_OF_FEW), max(*ratios, middle * SPREAD_OF_FEW)
    tenths = quantiles(ratios, n=10, method="inclusive")
    return min(tenths[0], middle / SPREAD), max(tenths[-1], middle * SPREAD)


def _down(seconds: float) -> int:
    return (
        max([each for each in ROUND if each <= seconds + 1e-6], default=1)
        if seconds <= ROUND[-1]
        else _hours(seconds)
    )


def _up(seconds: float) -> int:
    return next((each for each in ROUND if each >= max(2.0, seconds)), _hours(seconds))


def _hours(seconds: float) -> int:
    return max(1, math.ceil(seconds / 3600)) * 3600


def observed(dataset: Dataset) -> list[Observed]:
    """What finished runs of its organisation took against what was predicted for them, the newest of them."""
    done = SynthesisRun.objects.filter(
        dataset__organisation=dataset.organisation_id,
        state=SynthesisRun.State.FINISHED,
        # A run that was claimed twice also took the silence of its first worker.
        attempts=1,
        release_run__expected__isnull=False,
    )
    observations = []
    done = done.select_related("release_run").prefetch_related("events")
    for run in done.order_by("-finished_at")[:LOOKED_AT]:
        ratios = dict(_ratios(run))
        if ratios:
            observations.append(
                Observed(
                    method=run.spec["mechanism"],
                    ratios=ratios,
                    predicted=_predicted(run),
                )
            )
    return observations


def _predicted(run: SynthesisRun) -> Mapping[str, Any]:
    """The forecast of its time in seconds, by part; empty where none was made."""
    expected: Mapping[str, Any] = (run.of_release and run.of_release.expected) or {}
    predicted: Mapping[str, Any] = expected.get("predicted", {})
    return predicted


def _ratios(run: SynthesisRun) -> Iterable[tuple[str, float]]:
    # Reversed: of a stage that was begun twice the first line counts.
    begun = {event.stage: event.at for event in reversed(run.events.all())}
    opened, asked = begun.get(stages.OPEN.name), begun.get(stages.MEASURE.name)
    predicted = _predicted(run)
    ends = {READ: (opened, asked), MODEL: (asked, run.finished_at)}
    for part, (start, end) in ends.items():
        # These are dates for people, and their clock may have been set in between.
        if start and end and end > start and predicted.get(part):
            ratio = (end - start).total_seconds() / predicted[part]
            yield part, min(BOUNDS[1], max(BOUNDS[0], ratio))


def unpacked(dataset: Dataset) -> float:
    """The size of the table unpacked, about, in bytes."""
    return dataset.size_bytes * (5.0 if dataset.file_kind.endswith("gz") else 1.0)
