"""Figures that are measured with budget: asked for a release, held, charged, published with a receipt, and
shared with it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import pytest
from django.test import Client

from synth_engine import verifier
from synth_engine.errors import SpecError
from synth_engine.plans import release_check
from synth_engine.plans.release_check import CheckedFigure, CheckPlan
from synthweb.audit.models import AuditEntry
from synthweb.datasets import services as datasets
from synthweb.ledger.errors import Overspend
from synthweb.ledger.models import BudgetAccount, LedgerEntry
from synthweb.releases.models import PaidCheck, Release
from synthweb.runs import errors, services, worker
from synthweb.runs.checks import CheckRequest, ReleaseCheck
from synthweb.runs.models import SynthesisRun
from tests.cast import Cast
from tests.web import scene
from tests.web.html import html_of

pytestmark = pytest.mark.django_db
State = SynthesisRun.State
FIGURES = (
    CheckedFigure(kind="distance", columns=("age", "region")),
    CheckedFigure(kind="mean-distance", columns=("region", "age", "works")),
    CheckedFigure(kind="counts", columns=("works",), least=20, within=Fraction(1, 5)),
)


def request(epsilon: str = "1", figures: tuple[CheckedFigure, ...] = FIGURES) -> CheckRequest:
    return CheckRequest(figures=figures, epsilon=Fraction(epsilon))


@pytest.fixture
def release(cast: Cast) -> Release:
    dataset = scene.funded(cast)
    worker.synthesize(code=scene.submit(steward=cast.steward, dataset=dataset).code)
    return Release.objects.get()


def submitted(cast: Cast, release: Release, asked: CheckRequest | None = None) -> SynthesisRun:
    return services.submit(
        ReleaseCheck(release=release, request=asked or request()), steward=cast.steward
    )


def checked(cast: Cast, release: Release) -> PaidCheck:
    run = submitted(cast, release)
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.paid_check is not None, run.failure
    return run.paid_check


def entries(run: SynthesisRun) -> list[str]:
    return list(
        LedgerEntry.objects.filter(run_code=run.code)
        .order_by("sequence")
        .values_list("kind", flat=True)
    )


def test_a_check_is_held_charged_and_published_with_a_receipt_that_verifies(
    cast: Cast, release: Release
) -> None:
    run = submitted(cast, release)
    assert (run.state, entries(run), run.price.epsilon) == (State.HELD, ["HOLD"], 10**9)
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.state == State.FINISHED, run.failure
    assert entries(run) == ["HOLD", "CHARGE"]
    check = run.paid_check
    assert check is not None
    assert run.release is None
    assert check.release == release
    proved = verifier.verify(check.receipt)
    assert (proved.epsilon, proved.plan) == (1, run.plan_digest)
    assert check.receipt["mechanism"]["parameters"]["release"] == release.receipt["digest"]
    assert [each["asked"]["kind"] for each in check.figures] == [
        figure.kind for figure in FIGURES
    ]
    for each in check.figures:
        answer = each["answer"]
        assert 0 <= answer["low"] <= answer["value"] <= answer["high"]
    assert AuditEntry.objects.filter(
        action="check.published", object_code=release.code
    ).exists()
    assert not check.receipt["chosen_after_looking"]


def test_what_a_form_showed_is_planned_once_more_by_the_worker_alone(
    cast: Cast, release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned: list[object] = []
    plan = release_check.plan

    def counted(*what: Any, **how: Any) -> CheckPlan:
        planned.append(what)
        return plan(*what, **how)

    monkeypatch.setattr(release_check, "plan", counted)
    shown = ReleaseCheck(release=release, request=request()).propose()
    run = submitted(cast, release)
    assert (len(planned), run.plan_digest) == (1, shown.plan.digest)
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert (len(planned), run.state) == (2, State.FINISHED)


def test_the_same_request_twice_is_one_run(cast: Cast, release: Release) -> None:
    one, two = (
        services.submit(
            ReleaseCheck(release=release, request=request()),
            steward=cast.steward,
            request_key="k",
        )
        for _ in range(2)
    )
    assert one == two
    with pytest.raises(errors.KeyReused):
        services.submit(
            ReleaseCheck(release=release, request=request("0.5")),
            steward=cast.steward,
            request_key="k",
        )


def test_over_the_cap_nothing_is_kept(cast: Cast, release: Release) -> None:
    with pytest.raises(Overspend):
        submitted(cast, release, request("3.5"))
    assert not SynthesisRun.objects.filter(check_run__checks=release).exists()
    assert BudgetAccount.objects.get().epsilon_held == 0


def test_a_deleted_table_is_refused_before_anything_is_held(
    cast: Cast, release: Release
) -> None:
    datasets.delete(actor=cast.steward, dataset=release.dataset)
    with pytest.raises(errors.NotReady):
        submitted(cast, Release.objects.get())


def test_another_description_is_refused(cast: Cast, release: Release) -> None:
    document = scene.DOMAIN | {"attributes": scene.DOMAIN["attributes"][:2]}
    datasets.declare_domain(actor=cast.steward, dataset=release.dataset, document=document)
    with pytest.raises(errors.NotReady):
        submitted(cast, Release.objects.get())


@pytest.mark.parametrize(
    "figure",
    [
        CheckedFigure(kind="distance", columns=("nowhere",)),
        CheckedFigure(kind="distance", columns=("age", "age")),
        CheckedFigure(kind="distance", columns=()),
        CheckedFigure(kind="mean-distance", columns=("age",)),
    ],
)
def test_a_figure_that_cannot_be_computed_is_refused(
    cast: Cast, release: Release, figure: CheckedFigure
) -> None:
    with pytest.raises(SpecError):
        ReleaseCheck(release=release, request=request(figures=(figure,))).propose()


def test_a_check_that_was_cancelled_gives_its_hold_back(cast: Cast, release: Release) -> None:
    run = submitted(cast, release)
    services.cancel(actor=cast.steward, run=run)
    assert entries(run) == ["HOLD", "RELEASE"]
    worker.synthesize(code=run.code)
    assert not PaidCheck.objects.exists()


# --- pages --------------------------------------------------------------------------------------------------
FORM = {
    "every_column": "on",
    "pairs": "on",
    "groups": "age, region",
    "counted": "works",
    "least": "20",
    "within": "5",
    "epsilon": "0.5",
    "delta": "0",
    "request_key": "one press",
}


def test_the_page_shows_the_price_first_and_spends_after_it_was_confirmed(
    cast: Cast, release: Release, browser: Callable[..., Client]
) -> None:
    client, address = browser(cast.steward), f"/releases/{release.code}/paid/new/"
    assert client.get(address).status_code == 200
    priced = client.post(address, FORM)
    assert priced.status_code == 200
    assert not SynthesisRun.objects.filter(check_run__checks=release).exists()
    confirmed = re.search(r'name="confirmed" value="([0-9a-f]{64})"', html_of(priced))
    assert confirmed is not None
    # What changed after the price was shown is priced again.
    client.post(address, FORM | {"epsilon": "0.6", "confirmed": confirmed[1]})
    assert not SynthesisRun.objects.filter(check_run__checks=release).exists()
    for _ in range(2):
        assert client.post(address, FORM | {"confirmed": confirmed[1]}).status_code == 302
    run = SynthesisRun.objects.get(check_run__checks=release)
    assert run.price.epsilon == 5 * 10**8
    worker.synthesize(code=run.code)
    assert f"/releases/{release.code}/paid/" in html_of(client.get(f"/runs/{run.code}/"))
    page = html_of(client.get(f"/releases/{release.code}/paid/"))
    check = PaidCheck.objects.get()
    assert f'data-paid="{check.code}"' in page
    assert len(check.figures) == 6
    assert client.get("/runs/").status_code == 200


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": "nothing"},
        {"epsilon": "3.9"},
        {"groups": "nowhere"},
        {"groups": "age, age"},
        {"counted": "age, region, works, more"},
        {"least": "0"},
        {"within": "0"},
        {"within": "1e9"},
        {"every_column": "", "pairs": "", "groups": "", "counted": ""},
    ],
)
def test_what_cannot_be_measured_is_said_and_typed_again(
    cast: Cast, release: Release, browser: Callable[..., Client], change: dict[str, str]
) -> None:
    client, address = browser(cast.steward), f"/releases/{release.code}/paid/new/"
    given = {key: value for key, value in (FORM | change).items() if value}
    page = html_of(client.post(address, given))
    assert 'role="alert"' in page
    assert 'name="confirmed"' not in page
    if "groups" in given:
        assert given["groups"] in page


def test_figures_are_shared_with_the_release_and_their_receipt_can_be_carried_away(
    cast: Cast, browser: Callable[..., Client]
) -> None:
    played = scene.play(
        steward=cast.steward, custodian=cast.custodian, organisation=cast.organisation
    )
    check = scene.measured(steward=cast.steward, release=played.release)
    reader = browser(played.reader)
    base = f"/releases/{played.release.code}/paid"
    assert f'data-paid="{check.code}"' in html_of(reader.get(f"{base}/"))
    receipt = json.loads(reader.get(f"{base}/{check.code}/receipt.json").content)
    assert verifier.verify(receipt).epsilon == Fraction(1, 4)
    assert reader.get(f"{base}/new/").status_code == 403
    assert browser(cast.analyst).get(f"{base}/").status_code == 404


# --- REST ---------------------------------------------------------------------------------------------------
def test_rest_prices_starts_and_reads(
    cast: Cast, release: Release, browser: Callable[..., Client]
) -> None:
    steward = browser(cast.steward)
    base = f"/api/v1/releases/{release.code}/paid/"
    body = {
        "figures": [figure.to_json() for figure in FIGURES],
        "epsilon": "0.5",
    }
    send = partial(steward.post, content_type="application/json")
    price = send(f"{base}price/", body).json()
    assert price["price"]["epsilon"] == "0.5"
    assert price["fits"] is True
    assert 0 < price["distance"] < 1
    assert not SynthesisRun.objects.filter(check_run__checks=release).exists()
    started = send(base, body)
    assert started.status_code == 202
    assert steward.get(base).json() == []
    worker.synthesize(code=started.json()["code"])
    (check,) = steward.get(base).json()
    assert [each["kind"] for each in check["figures"]] == [each.kind for each in FIGURES]
    receipt = steward.get(f"{base}{check['code']}/receipt/").json()
    assert verifier.verify(receipt).epsilon == Fraction(1, 2)
    for wrong, status in (
        ({"epsilon": "3.9"}, 409),
        ({"figures": [{"kind": "distance", "columns": ["nowhere"]}]}, 422),
        ({"figures": [{"kind": "distance", "columns": ["age"], "least": 3}]}, 400),
        ({"figures": [{"kind": "counts", "columns": ["age"]}]}, 400),
        ({"figures": []}, 422),
        ({"figures": [{"kind": "else", "columns": ["age"]}]}, 400),
    ):
        assert send(base, body | wrong).status_code == status, wrong
