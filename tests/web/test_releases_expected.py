"""Expected ranges of a release, on their tab and by REST: for whoever may draw samples, from model and
receipt alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from synth_engine.evaluation import expected as ranges
from synth_engine.evaluation import expected_errors
from synth_engine.evaluation.quality_words import COLUMN_WORDS
from synth_engine.models.model import Model
from synthweb.releases import expected, services, tabs
from synthweb.releases.models import ExpectedRanges, Release
from synthweb.runs import leases, queue, reconcile
from synthweb.runs import ranges as jobs
from synthweb.runs import services as runs
from synthweb.runs.models import OutboxMessage, RangesJob
from tests.cast import Cast
from tests.web import scene
from tests.web.html import html_of
from tests.web.rest import Caller

pytestmark = pytest.mark.django_db(transaction=True)
Open = Callable[..., Client]


@pytest.fixture
def release(cast: Cast) -> Release:
    return scene.released(
        cast, mechanism="independent", epsilon="4", name="Three columns", table=scene.TABLE
    )


def test_an_analyst_sees_them_once_the_release_is_shared(
    cast: Cast, release: Release, browser: Open
) -> None:
    address = f"/releases/{release.code}/expected/"
    assert browser(cast.analyst).get(address).status_code == 404
    assert browser(cast.analyst).get(f"{address}making/").status_code == 404
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    client = browser(cast.analyst)
    waiting = client.get(address, follow=True)
    assert 'id="waiting"' in html_of(waiting)
    job = RangesJob.objects.get()
    # However often it is asked for, and while a worker is at it: it is computed once.
    assert client.get(f"{address}making/").status_code == 200
    assert RangesJob.objects.get() == job
    message = OutboxMessage.objects.get(subject_code=job.code)
    assert (message.task, message.queue) == (queue.EXPECTED_RANGES, queue.DEFAULT)
    jobs.compute(code=job.code)
    arrived = client.get(f"{address}making/", headers={"HX-Request": "true"})
    assert arrived.headers["HX-Redirect"] == address
    page = client.get(address)
    assert page.status_code == 200
    # One table each for region, age and works.
    assert html_of(page).count("data-expected") == 3
    assert "expected" in [card.key for card in tabs.offered(cast.analyst, release)]


def test_rest_has_the_same_figures_with_bands_around_their_estimates(
    cast: Cast, release: Release
) -> None:
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    calls, address = Caller(cast.analyst, "read"), f"/releases/{release.code}/expected/"
    first = calls.get(address)
    assert first.status_code == 202
    assert first.json()["state"] == "waiting"
    assert first.headers["Location"].endswith(address)
    assert int(first.headers["Retry-After"]) > 0
    assert calls.get(address).status_code == 202
    jobs.compute(code=RangesJob.objects.get().code)
    answer = calls.get(address)
    assert answer.status_code == 200
    columns: list[dict[str, Any]] = answer.json()
    assert [column["name"] for column in columns] == ["region", "age", "works"]
    age = {figure["figure"]: figure for figure in columns[1]["figures"]}
    assert {"mean", "median", "standard_deviation", "quantile_95"} <= set(age)
    for column in columns:
        for figure in column["figures"]:
            assert figure["low"] <= figure["estimate"] <= figure["high"]
            assert figure["level"] == ranges.LEVEL


def test_they_follow_from_the_released_documents_alone(release: Release) -> None:
    jobs.compute(code=runs.request_ranges(release=release).code)
    again = ranges.expected_columns(Model.from_json(release.model), release.receipt["calls"])
    stored = expected.columns_of(release)
    assert stored is not None and stored == again


def test_figures_of_another_version_are_computed_again(
    cast: Cast, release: Release, browser: Open
) -> None:
    jobs.compute(code=runs.request_ranges(release=release).code)
    ExpectedRanges.objects.update(version="expected-ranges/0")
    address = f"/releases/{release.code}/expected/"
    assert 'id="waiting"' in html_of(browser(cast.steward).get(address, follow=True))
    jobs.compute(code=RangesJob.objects.get(state="waiting").code)
    assert browser(cast.steward).get(address).status_code == 200


def test_a_failure_is_said_and_a_person_asks_again(
    cast: Cast, release: Release, browser: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(expected, "compute_columns", fails)
        jobs.compute(code=runs.request_ranges(release=release).code)
    failed = RangesJob.objects.get()
    assert failed.state == "failed" and failed.failure is not None
    assert not ExpectedRanges.objects.exists()
    address = f"/releases/{release.code}/expected/"
    assert Caller(cast.steward, "read").get(address).status_code == 409
    client = browser(cast.steward)
    assert 'id="waiting"' not in html_of(client.get(address, follow=True))
    assert RangesJob.objects.count() == 1
    assert client.post(f"{address}making/").status_code == 302
    jobs.compute(code=RangesJob.objects.get(state="waiting").code)
    assert client.get(address).status_code == 200


def test_one_worker_computes_them_and_an_overtaken_one_stores_nothing(
    release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = runs.request_ranges(release=release)
    compute = expected.compute_columns

    def overtaken(*given: Any, **named: Any) -> list[ranges.ExpectedColumn]:
        RangesJob.objects.update(lease_token=job.lease_token + 2)
        return compute(*given, **named)

    with monkeypatch.context() as patched:
        patched.setattr(expected, "compute_columns", overtaken)
        jobs.compute(code=job.code)
    assert not ExpectedRanges.objects.exists()
    job.refresh_from_db()
    assert job.state == "waiting" and job.lease_held
    # A doubled message while the other one is at work.
    jobs.compute(code=job.code)
    assert not ExpectedRanges.objects.exists()


def test_the_reconciler_sends_again_and_forgets_what_is_over(release: Release) -> None:
    now = [0.0]
    watch = leases.Watch(clock=lambda: now[0])
    job = runs.request_ranges(release=release)
    assert leases.claim(job) is not None  # a worker that dies
    for _ in range(8):
        reconcile.reconcile(watch)
        now[0] += 20
    job.refresh_from_db()
    assert not job.lease_held
    jobs.compute(code=job.code)
    OutboxMessage.objects.filter(subject_code=job.code).update(sent_at=None)
    reconcile.reconcile(watch)
    assert not OutboxMessage.objects.filter(subject_code=job.code).exists()
    assert expected.columns_of(release) is not None


def test_a_method_that_scores_all_pairs_has_its_expected_error_on_the_page(
    cast: Cast, browser: Open
) -> None:
    release = scene.released(
        cast, mechanism="auto", epsilon="4", name="With errors", table=scene.TABLE
    )
    jobs.compute(code=runs.request_ranges(release=release).code)
    errors = expected.errors_of(release)
    assert errors is not None
    page = html_of(browser(cast.steward).get(f"/releases/{release.code}/expected/"))
    assert "Error of this release" in page and page.count("data-errors") == 1
    for line in expected.error_lines(release):
        assert line.label in page and line.estimate in page
    rest = Caller(cast.steward, "read").get(f"/releases/{release.code}/expected-errors/").json()
    for name, of_engine in (("single_columns", errors.columns), ("pairs", errors.pairs)):
        assert rest[name] == {
            "estimate": of_engine.estimate.value,
            "low": of_engine.low,
            "high": of_engine.high,
            "level": expected_errors.LEVEL,
        }
    columns = expected.columns_of(release)
    assert columns is not None
    assert [each["name"] for each in rest["columns"]] == [each.name for each in columns]
    words = [each["word"] for each in rest["columns"]]
    for word in COLUMN_WORDS:
        assert rest["quality"][f"{word.replace(' ', '_')}_columns"] == words.count(word)
    assert all(each["deviation"] > 0 for each in rest["columns"])
    # Another method says too little of what it misses.
    ExpectedRanges.objects.update(errors=None)
    page = html_of(browser(cast.steward).get(f"/releases/{release.code}/expected/"))
    assert "Error of this release" not in page
    rest = Caller(cast.steward, "read").get(f"/releases/{release.code}/expected-errors/").json()
    assert rest["single_columns"] is None and rest["pairs"] is None


def test_ranges_are_shown_while_the_run_is_simulated_and_it_says_how_far_it_is(
    cast: Cast, browser: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = scene.released(
        cast, mechanism="auto", epsilon="4", name="With errors", table=scene.TABLE
    )
    client, address = browser(cast.steward), f"/releases/{release.code}/expected/"
    making = f"{address}making/?lacks=errors"
    pages: list[str] = []
    written: list[tuple[str, float]] = []
    compute = expected.compute_errors

    def watched(*given: Any, progress: Any) -> Any:
        def told(step: str, share: float) -> None:
            progress(step, share)
            written.append(RangesJob.objects.values_list("stage", "progress").get())
            if step == "fit" and not pages:
                pages.append(html_of(client.get(address)))
                waits = client.get(making, headers={"HX-Request": "true"})
                pages.append(html_of(waits))

        return compute(*given, progress=told)

    monkeypatch.setattr(expected, "compute_errors", watched)
    jobs.compute(code=RangesJob.objects.get().code)
    shown, waiting = pages
    assert shown.count("data-expected") == 3 and making in shown
    # Fitting does not say how far it is: its bar moves without an end.
    assert 'id="look-waiting"' in waiting and "stage-unknown" in waiting
    assert {"ask", "refit", "match"} == {stage for stage, _ in written}
    assert "data-errors" in html_of(client.get(address))
    arrived = client.get(making, headers={"HX-Request": "true"})
    assert arrived.headers["HX-Refresh"] == "true"


def test_a_worker_that_takes_over_goes_on_after_what_is_stored(
    release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(expected, "compute_errors", fails)
        jobs.compute(code=RangesJob.objects.get().code)
    assert RangesJob.objects.get().state == "failed"
    assert expected.columns_of(release) is not None and expected.are_errors_pending(release)
    with monkeypatch.context() as patched:
        patched.setattr(expected, "compute_columns", fails)  # which is done already
        jobs.compute(code=runs.request_ranges(release=release).code)
    assert not expected.are_errors_pending(release)
