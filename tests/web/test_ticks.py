"""Answers are shown on ticks: an analyst sees neither how long a validation took nor that it failed, nor
why."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

import pytest
from django.test import Client

from synth_engine.plans.release_check import CheckedFigure
from synthweb.ledger.amounts import Amount
from synthweb.ledger.models import LedgerEntry
from synthweb.releases import services as releases
from synthweb.releases.models import Release
from synthweb.runs import errors, failpoints, services, ticks, validations, worker
from synthweb.runs.checks import CheckRequest
from synthweb.runs.models import SynthesisRun
from tests.cast import Cast
from tests.web import scene
from tests.web.html import html_of
from tests.web.test_validations import NEXT_WEEK

NANO = 10**9
MINUTE = timedelta(minutes=1)
DUE = datetime(2030, 1, 1, 12, tzinfo=UTC)
ASKED = CheckRequest(
    figures=(CheckedFigure(kind="marginal", columns=("works",)),), epsilon=Fraction(1, 10)
)
Browse = Callable[..., Client]


@pytest.fixture(autouse=True)
def _long_ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    """No tick is reached while a test runs, however slow the machine is."""
    monkeypatch.setattr(ticks, "TICK", timedelta(hours=1))


@pytest.fixture
def release(cast: Cast) -> Release:
    """Shared with the analyst, who may have five validations of ε 0.1."""
    dataset = scene.funded(cast)
    worker.synthesize(code=scene.submit(steward=cast.steward, dataset=dataset).code)
    made = Release.objects.get()
    releases.share(actor=cast.steward, release=made, analyst=cast.analyst)
    validations.grant(
        actor=cast.steward, release=made, amount=Amount(epsilon=NANO // 2), until=NEXT_WEEK
    )
    return made


def ask(cast: Cast, release: Release) -> SynthesisRun:
    return validations.submit(analyst=cast.analyst, release=release, request=ASKED)


def seen(client: Client, release: Release, run: SynthesisRun) -> dict[str, Any]:
    """What REST tells of a validation."""
    address = f"/api/v1/releases/{release.code}/validations/{run.code}/"
    answer: dict[str, Any] = client.get(address).json()
    return answer


def stopped_at(place: str, run: SynthesisRun) -> None:
    """A worker that runs out of memory there."""

    def reach(name: str) -> None:
        if name == place:
            raise MemoryError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(failpoints, "reach", reach)
        worker.synthesize(code=run.code)


@pytest.mark.parametrize("seconds", [-200, -11, 0, 1, 49])
def test_what_is_done_in_time_is_shown_at_the_first_tick(seconds: int) -> None:
    done = DUE - MINUTE + timedelta(seconds=seconds)
    assert ticks.shown_at(done, due=DUE, length=MINUTE) == DUE


@pytest.mark.parametrize(("seconds", "later"), [(-9, 1), (0, 1), (50, 1), (51, 2), (3_000, 51)])
def test_what_is_done_later_is_shown_at_a_later_tick(seconds: int, later: int) -> None:
    shown = ticks.shown_at(DUE + timedelta(seconds=seconds), due=DUE, length=MINUTE)
    assert shown == DUE + later * MINUTE


def test_ticks_end() -> None:
    last = DUE + (ticks.MOST - 1) * MINUTE
    before = [DUE - MINUTE, DUE - timedelta(seconds=1), DUE, last - timedelta(seconds=1), last]
    following = [ticks.next_after(now, due=DUE, length=MINUTE) for now in before]
    assert following == [DUE, DUE, DUE + MINUTE, last, None]
    assert ticks.length(10) == ticks.TICK
    assert ticks.length(1_200_000) == 3 * ticks.TICK


@pytest.mark.django_db
def test_why_there_is_no_answer_is_for_stewards_alone(
    cast: Cast, release: Release, browser: Browse
) -> None:
    analyst, steward = browser(cast.analyst), browser(cast.steward)
    waits, early, late, cancelled = runs = [ask(cast, release) for _ in range(4)]
    before = [seen(analyst, release, run) for run in runs]
    page = f"/releases/{release.code}/validation/"
    waiting = html_of(analyst.get(page))
    stopped_at(failpoints.BEFORE_CHARGE, early)
    stopped_at(failpoints.AFTER_CHARGE, late)
    services.cancel(actor=cast.steward, run=cancelled)
    for run, state in zip(runs, ("held", "failed", "failed", "cancelled"), strict=True):
        run.refresh_from_db()
        assert run.state == state
        assert seen(steward, release, run)["state"] == state
        why = steward.get(f"/api/v1/runs/{run.code}/").json()["failure"]
        assert bool(why) is (state == "failed")
    charged = LedgerEntry.objects.filter(kind="CHARGE", run_code__in=[run.code for run in runs])
    assert [entry.run_code for entry in charged] == [late.code]
    # Nothing that its analyst is told has changed, and nothing does but at a tick.
    assert [seen(analyst, release, run) for run in runs] == before
    assert html_of(analyst.get(page)).count("data-state") == waiting.count("data-state") == 4
    assert "data-no-answer" not in html_of(analyst.get(page))
    scene.let_ticks_pass(ticks.MOST + 4)
    told = [seen(analyst, release, run) for run in runs]
    for each in told:
        assert (each["state"], each["finished_at"], each["next_at"]) == ("no-answer",) + (
            None,
        ) * 2
        assert (each["figures"], each["void"]) == ([], None)
    assert len({repr(each | {"code": "", "created_at": ""}) for each in told}) == 1
    assert html_of(analyst.get(page)).count("data-no-answer") == 4
    assert waits.paid_check is None
    # However they ended, all four stay spent: 0.1 is left.
    (use,) = validations.usable_by(cast.analyst, release)
    assert use.left == Amount(epsilon=NANO // 10)
    ask(cast, release)
    with pytest.raises(errors.BeyondAllowance):
        ask(cast, release)


@pytest.mark.django_db
def test_an_answer_and_its_receipt_are_shown_at_a_tick(
    cast: Cast, release: Release, browser: Browse
) -> None:
    analyst, steward = browser(cast.analyst), browser(cast.steward)
    first, second = ask(cast, release), ask(cast, release)
    before = seen(analyst, release, first)
    for run in (first, second):
        worker.synthesize(code=run.code)
        run.refresh_from_db()
        assert run.paid_check is not None
        assert run.check_run.due_at is not None
    # Measured, and shown to the steward, who may see how long runs take.
    assert len(seen(steward, release, first)["figures"]) == 1
    assert seen(analyst, release, first) == before
    page = f"/releases/{release.code}/validation/"
    receipt = f"/api/v1/releases/{release.code}/validations/{first.code}/receipt/"
    for address in (receipt, f"{page}{first.code}/receipt.json"):
        assert analyst.get(address).status_code == 404
        assert steward.get(address).status_code == 200
    assert "data-paid" not in html_of(analyst.get(page))
    # One answer a tick: how many are there at a tick does not tell how fast the table is read.
    assert second.check_run.due_at == first.check_run.due_at + ticks.TICK
    scene.let_ticks_pass(1)
    shown, next_one = (seen(analyst, release, run) for run in (first, second))
    assert (shown["state"], len(shown["figures"])) == ("finished", 1)
    assert next_one["state"] == "waiting"
    assert datetime.fromisoformat(shown["finished_at"]) == first.check_run.due_at - ticks.TICK
    assert datetime.fromisoformat(shown["created_at"]).second == 0
    assert analyst.get(receipt).status_code == 200
    # The moment at which a run ended is nowhere in what is told.
    SynthesisRun.objects.filter(pk=first.pk).update(
        finished_at=first.check_run.due_at - 3 * ticks.TICK
    )
    assert seen(analyst, release, first) == shown
