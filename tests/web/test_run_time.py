"""The forecast of time: one for every page, a band, fitted to finished runs of the organisation; and bars
that never stand still."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from synth_engine.plans.resources import ResourceEstimate
from synthweb.datasets.models import Dataset
from synthweb.pages.templatetags import amounts
from synthweb.runs import stages, timing, worker
from synthweb.runs.models import ReleaseRun, RunEvent, SynthesisRun
from synthweb.runs.timing import MODEL, READ, Observed, band
from tests.cast import Cast
from tests.web import scene

Open = Callable[..., Client]
PARTS = {READ: 1.0, MODEL: 9.0}
TYPED = {"mechanism": "independent", "epsilon": "1", "delta": "1e-9", "rows": "", "name": ""}


def run(method: str, ratio: float) -> Observed:
    return Observed(method=method, ratios={READ: ratio, MODEL: ratio})


def test_without_any_finished_run_the_band_is_wide() -> None:
    found = band(PARTS, method="auto", history=[])
    assert (found.low, found.high, found.runs) == (3, 60, 0)


def test_the_band_follows_what_runs_took_and_narrows() -> None:
    slow = band(PARTS, method="auto", history=[run("auto", 4.0)] * 6)
    assert slow.low <= 40 / timing.SPREAD and slow.high >= 40 * timing.SPREAD
    assert slow.high / slow.low < 5
    fast = band(PARTS, method="auto", history=[run("auto", 0.5)] * 6)
    assert fast.high < slow.low


def test_runs_of_the_same_method_count_more_than_others() -> None:
    history = [run("mst", 8.0)] * 10 + [run("auto", 1.0)] * 2
    assert band(PARTS, method="auto", history=history).high == 30
    assert band(PARTS, method="aim", history=history).runs == 12


def test_one_quick_run_of_another_method_does_not_narrow_the_band() -> None:
    alone = band(PARTS, method="auto", history=[])
    after = band(PARTS, method="auto", history=[run("independent", 0.05)])
    assert after.high == alone.high and after.low <= alone.low
    assert (
        band(PARTS, method="independent", history=[run("independent", 0.05)]).high < alone.high
    )


def test_each_part_is_fitted_by_itself() -> None:
    history = [Observed(method="auto", ratios={READ: 10.0, MODEL: 1.0})] * 4
    found = band(PARTS, method="auto", history=history)
    assert found.low <= 19 <= found.high
    assert band(PARTS | {READ: 30.0}, method="auto", history=history).low > 100


def test_the_forecast_is_the_median_ratio_of_runs_of_the_same_method() -> None:
    history = [run("auto", ratio) for ratio in (2.0, 2.2, 1.8, 60.0, 2.1)] + [
        run("mst", 9.0)
    ] * 9
    found = band(PARTS, method="auto", history=history)
    assert found.middle == round(2.1 * sum(PARTS.values()))
    assert found.low <= found.middle <= found.high
    assert band(PARTS, method="auto", history=[]).middle == round(sum(PARTS.values()))
    assert band(PARTS, method="aim", history=[run("mst", 9.0)]).middle == 90


def test_runs_whose_prediction_is_near_count_first() -> None:
    small, large = {READ: 1.0, MODEL: 9.0}, {READ: 20.0, MODEL: 900.0}
    history = [
        Observed(method="auto", ratios=dict.fromkeys(PARTS, ratio), predicted=parts)
        for ratio, parts in [(3.0, small), (0.5, large)] * timing.NEAREST
    ]
    assert band(small, method="auto", history=history).middle == 30
    assert band(large, method="auto", history=history).middle == 460


def test_runs_alike_are_forecast_within_a_factor_of_one_and_a_half() -> None:
    """Machines of any speed, whose runs of a method differ by a tenth from each other."""
    for speed in (0.2, 1.0, 7.0):
        history = [run("auto", speed * each) for each in (0.9, 1.0, 1.1)]
        middle = band(PARTS, method="auto", history=history).middle
        took = speed * sum(PARTS.values())
        assert max(middle / took, took / middle) < 1.5


def test_one_run_that_took_long_by_chance_does_not_move_both_ends() -> None:
    history = [run("auto", 1.0)] * 9 + [run("auto", 100.0)]
    assert band(PARTS, method="auto", history=history).high < 1000
    assert band(PARTS, method="auto", history=history).low <= 10


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (30, 60, "30–60 s"),
        (40, 120, "40 s to 2 min"),
        (120, 300, "2–5 min"),
        (2700, 7200, "45 min to 2 h"),
        (1, 2, "1–2 s"),
    ],
)
def test_a_band_in_words(low: int, high: int, words: str) -> None:
    assert amounts.band({"low": low, "high": high}) == words
    assert (
        amounts.forecast({"low": low, "middle": 60, "high": high}) == f"about 1 min ({words})"
    )


@pytest.fixture
def dataset(cast: Cast) -> Dataset:
    return scene.funded(cast)


@pytest.mark.django_db
def test_both_pages_say_the_same_whatever_was_guessed(
    cast: Cast, dataset: Dataset, browser: Open
) -> None:
    client, new = browser(cast.steward), reverse("runs:new", args=[dataset.code])
    said = {}
    for records in ("300", "9000000"):
        page = client.post(
            reverse("runs:estimate", args=[dataset.code]), TYPED | {"records": records}
        ).text
        [said[records]] = re.findall(r"Usually ([^<]+?) once a worker is free", page)
        answer = client.post(new, TYPED | {"records": records, "epsilon": "0.5"})
        half = client.post(
            reverse("runs:estimate", args=[dataset.code]),
            TYPED | {"records": records, "epsilon": "0.5"},
        )
        [usual] = re.findall(r"Usually ([^<]+?) once", half.text)
        live = client.get(answer.url).text
        assert f"usually {usual}" in live
        assert "waiting for a worker" in live
    assert said["300"] != said["9000000"]


@pytest.mark.django_db
def test_a_finished_run_teaches_the_next_forecast(cast: Cast, dataset: Dataset) -> None:
    made = scene.submit(steward=cast.steward, dataset=dataset)
    worker.synthesize(code=made.code)
    [found] = timing.observed(dataset)
    assert found.method == "independent" and set(found.ratios) == {READ, MODEL}
    begun = timezone.now() - datetime.timedelta(hours=1)
    RunEvent.objects.filter(run=made, stage=stages.OPEN.name).update(at=begun)
    RunEvent.objects.filter(run=made, stage=stages.MEASURE.name).update(
        at=begun + datetime.timedelta(seconds=10)
    )
    SynthesisRun.objects.filter(pk=made.pk).update(
        finished_at=begun + datetime.timedelta(seconds=30)
    )
    made.refresh_from_db()
    [slow] = timing.observed(dataset)
    assert slow.ratios[READ] == pytest.approx(10 / made.release_run.expected["predicted"][READ])
    assert slow.ratios[MODEL] == pytest.approx(
        20 / made.release_run.expected["predicted"][MODEL]
    )
    assert slow.predicted == made.release_run.expected["predicted"]
    again = scene.submit(steward=cast.steward, dataset=dataset, epsilon="0.5")
    assert again.release_run.expected["middle"] == pytest.approx(30, rel=0.05)
    assert 8 <= again.release_run.expected["low"] <= 30 <= again.release_run.expected["high"]
    # A clock that was set, or a computer that slept, moves the forecast no farther than to the bounds.
    SynthesisRun.objects.filter(pk=made.pk).update(
        finished_at=begun + datetime.timedelta(days=9)
    )
    [slept] = timing.observed(dataset)
    assert slept.ratios[MODEL] == timing.BOUNDS[1]
    stranger = dataset
    stranger.organisation_id = -1
    assert timing.observed(stranger) == []  # how long others' tables take is theirs


@pytest.mark.django_db
def test_an_open_run_shows_how_long_and_a_stripe_where_no_share_is_known(
    cast: Cast, dataset: Dataset, browser: Open
) -> None:
    made = scene.submit(steward=cast.steward, dataset=dataset)
    address, client = reverse("runs:run", args=[made.code]), browser(cast.steward)
    started = timezone.now() - datetime.timedelta(hours=3)
    now = {
        "state": "measured",
        "answers_digest": "0" * 64,
        "started_at": started,
        "stage": stages.FIT.name,
    }
    SynthesisRun.objects.filter(pk=made.pk).update(**now, progress=0.0)
    page = client.get(address).text
    assert "longer than the usual" in page
    assert page.count("stage-bar stage-unknown") == 1
    bar = page[page.index("stage-bar stage-unknown") :].split(">")[0]
    assert "aria-valuenow" not in bar
    SynthesisRun.objects.filter(pk=made.pk).update(progress=0.4)
    assert "stage-unknown" not in client.get(address).text
    # One whose time was not forecast.
    ReleaseRun.objects.filter(run=made).update(expected=None)
    assert "usual" not in client.get(address).text.split("The request")[0]


def test_what_is_confirmed_before_the_charge_is_forecast_with_the_reading() -> None:
    needed = ResourceEstimate(memory_bytes=0, seconds=9.0, confirming_seconds=5.0)
    plain = ResourceEstimate(memory_bytes=0, seconds=4.0)
    with_it, without = (timing.parts_of(1e6, needed=each) for each in (needed, plain))
    assert with_it[READ] == pytest.approx(without[READ] + 5.0)
    assert with_it[MODEL] == pytest.approx(without[MODEL])
