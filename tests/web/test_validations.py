"""Validations: analysts have figures measured on the real table within allowances, and learn of nobody
else's."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import timedelta
from fractions import Fraction
from functools import partial
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from synth_engine import verifier
from synth_engine.plans.release_check import CheckedFigure
from synthweb.accounts.models import Role, User
from synthweb.accounts.services import NewPerson, create_user
from synthweb.audit.models import AuditEntry
from synthweb.ledger.amounts import Amount
from synthweb.ledger.models import BudgetAccount, LedgerEntry
from synthweb.lib.errors import Refused
from synthweb.releases import paid
from synthweb.releases import services as releases
from synthweb.releases.models import PaidCheck, Release
from synthweb.runs import errors, services, validations, worker
from synthweb.runs.checks import CheckRequest, ReleaseCheck
from synthweb.runs.models import SynthesisRun, ValidationAllowance
from tests.cast import Cast
from tests.web import scene
from tests.web.html import html_of

pytestmark = pytest.mark.django_db
NANO = 10**9
NEXT_WEEK = timezone.now().date() + timedelta(days=7)
FIGURES = (
    CheckedFigure(kind="count", columns=("age",), codes=((0, 1, 2),)),
    CheckedFigure(kind="marginal", columns=("works", "region")),
)
Browse = Callable[..., Client]


@pytest.fixture
def release(cast: Cast) -> Release:
    """Shared with the analyst, whose budget has ε 3 left."""
    dataset = scene.funded(cast)
    worker.synthesize(code=scene.submit(steward=cast.steward, dataset=dataset).code)
    made = Release.objects.get()
    releases.share(actor=cast.steward, release=made, analyst=cast.analyst)
    return made


@pytest.fixture
def other(cast: Cast, release: Release) -> User:
    """A second analyst who has the release."""
    person = create_user(
        actor="system",
        organisation=cast.organisation,
        person=NewPerson(username="other"),
        roles=[Role.ANALYST],
        password="correct horse battery staple",
        must_change_password=False,
    )
    releases.share(actor=cast.steward, release=release, analyst=person)
    return person


def request(epsilon: str = "0.2", delta: str = "0") -> CheckRequest:
    return CheckRequest(figures=FIGURES, epsilon=Fraction(epsilon), delta=Fraction(delta))


def allow(
    cast: Cast, release: Release, *, analyst: User | None = None, epsilon: int = NANO // 2
) -> ValidationAllowance:
    return validations.grant(
        actor=cast.steward,
        release=release,
        amount=Amount(epsilon=epsilon),
        until=NEXT_WEEK,
        analyst=analyst,
        note="For the yearly report.",
    )


def ask(analyst: User, release: Release, epsilon: str = "0.2") -> SynthesisRun:
    return validations.submit(analyst=analyst, release=release, request=request(epsilon))


def measured(analyst: User, release: Release) -> SynthesisRun:
    run = ask(analyst, release)
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.paid_check is not None, run.failure
    return run


def nothing_was_spent(before: int) -> bool:
    return LedgerEntry.objects.count() == before and not SynthesisRun.objects.filter(
        check_run__allowance__isnull=False
    )


def test_a_validation_is_charged_like_a_release_with_a_receipt_of_its_own(
    cast: Cast, release: Release
) -> None:
    allowance = allow(cast, release, analyst=cast.analyst)
    run = measured(cast.analyst, release)
    kinds = LedgerEntry.objects.filter(run_code=run.code).order_by("sequence")
    assert list(kinds.values_list("kind", flat=True)) == ["HOLD", "CHARGE"]
    assert (run.allowance, run.price.epsilon) == (allowance, NANO // 5)
    check = run.paid_check
    assert check is not None
    assert verifier.verify(check.receipt).epsilon == Fraction(1, 5)
    count, table = (result for _, result in paid.results_of(check))
    assert count.unit == "records"
    assert count.figure.low <= count.figure.value <= count.figure.high
    assert len(table.table) == table.cells == 9
    (use,) = validations.usable_by(cast.analyst, release)
    assert use.left == Amount(epsilon=NANO // 2 - NANO // 5)
    assert AuditEntry.objects.filter(actor=cast.analyst.username, action="run.submitted")


def test_what_goes_beyond_an_allowance_is_refused_before_anything_is_held(
    cast: Cast, release: Release
) -> None:
    before = LedgerEntry.objects.count()
    with pytest.raises(errors.BeyondAllowance, match="no open allowance"):
        ask(cast.analyst, release)
    allow(cast, release)
    with pytest.raises(errors.BeyondAllowance, match=r"0\.6.*0\.5"):
        ask(cast.analyst, release, "0.6")
    # Its δ counts as well as its ε.
    with pytest.raises(errors.BeyondAllowance):
        validations.submit(
            analyst=cast.analyst, release=release, request=request("0.2", "1e-9")
        )
    assert nothing_was_spent(before)
    ask(cast.analyst, release, "0.3")
    with pytest.raises(errors.BeyondAllowance):
        ask(cast.analyst, release, "0.3")
    assert BudgetAccount.objects.get().epsilon_held == 3 * NANO // 10


@pytest.mark.parametrize("end", ["expired", "revoked", "of another analyst", "not shared"])
def test_an_allowance_that_is_over_or_not_theirs_pays_nothing(
    cast: Cast, release: Release, other: User, browser: Browse, end: str
) -> None:
    allowance = allow(cast, release, analyst=other if end == "of another analyst" else None)
    if end == "expired":
        ValidationAllowance.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    if end == "revoked":
        validations.revoke(actor=cast.custodian, allowance=allowance)
    if end == "not shared":
        grant = release.grants.get(analyst=cast.analyst)
        releases.revoke(actor=cast.steward, grant=grant)
    before = LedgerEntry.objects.count()
    address = f"/api/v1/releases/{release.code}/validations/"
    body = {"figures": [{"kind": "marginal", "columns": ["works"]}], "epsilon": "0.1"}
    answer = browser(cast.analyst).post(address, body, content_type="application/json")
    assert answer.status_code == (404 if end == "not shared" else 409)
    assert nothing_was_spent(before)


def test_what_is_asked_stays_spent_in_the_allowance(cast: Cast, release: Release) -> None:
    allowance = allow(cast, release)
    run = ask(cast.analyst, release, "0.5")
    assert validations.used(allowance) == Amount(epsilon=NANO // 2)
    services.cancel(actor=cast.steward, run=run)
    # The budget has it back; an analyst would learn from the allowance what became of the run.
    assert BudgetAccount.objects.get().epsilon_held == 0
    assert validations.used(allowance) == Amount(epsilon=NANO // 2)
    with pytest.raises(errors.BeyondAllowance):
        ask(cast.analyst, release, "0.1")


def test_each_reader_has_as_much_and_learns_of_nobody_elses(
    cast: Cast, release: Release, other: User, browser: Browse
) -> None:
    allow(cast, release)
    run = measured(other, release)
    check = run.paid_check
    assert check is not None
    reader = browser(cast.analyst)
    base = f"/releases/{release.code}"
    (use,) = validations.uses_for(cast.analyst, release)
    assert (use.used, use.left.epsilon, use.readers) == (Amount(), NANO // 2, ())
    for address in (
        f"{base}/validation/",
        f"{base}/paid/",
        f"{base}/about/",
        f"/api/v1{base}/paid/",
        f"/api/v1{base}/validations/",
        f"/api/v1{base}/allowances/",
        f"/api/v1{base}/criteria/",
    ):
        answer = reader.get(address)
        assert answer.status_code == 200, address
        for trace in (run.code, check.code, "other", "0.2"):
            assert trace not in answer.content.decode(), (address, trace)
    for address in (
        f"{base}/validation/{run.code}/receipt.json",
        f"{base}/paid/{check.code}/receipt.json",
        f"/api/v1{base}/validations/{run.code}/",
        f"/api/v1{base}/validations/{run.code}/receipt/",
        f"/api/v1{base}/paid/{check.code}/receipt/",
        f"/api/v1/runs/{run.code}/",
        f"/runs/{run.code}/",
    ):
        assert reader.get(address).status_code == 404, address
    assert ask(cast.analyst, release, "0.5").price.epsilon == NANO // 2


def test_what_the_budget_has_left_is_not_told(cast: Cast, release: Release) -> None:
    allow(cast, release, epsilon=2 * NANO)
    services.submit(ReleaseCheck(release=release, request=request("2.5")), steward=cast.steward)
    with pytest.raises(errors.BeyondAllowance) as refused:
        ask(cast.analyst, release, "1")
    assert not re.search(r"\d", str(refused.value))


REFUSED: tuple[tuple[dict[str, Any], str], ...] = (
    ({"amount": Amount(epsilon=4 * NANO)}, "epsilon"),
    ({"amount": Amount(delta=10)}, "epsilon"),
    ({"amount": Amount(epsilon=1, rho=1)}, "epsilon"),
    ({"until": NEXT_WEEK - timedelta(days=9)}, "until"),
    ({"until": NEXT_WEEK + timedelta(days=400)}, "until"),
    ({"analyst": "steward"}, "analyst"),
    ({"note": "two\nlines"}, "note"),
)


def test_an_allowance_that_makes_no_sense_is_refused(cast: Cast, release: Release) -> None:
    for change, field in REFUSED:
        given = {
            "actor": cast.steward,
            "release": release,
            "amount": Amount(epsilon=1),
            "until": NEXT_WEEK,
            **change,
        }
        if change.get("analyst"):
            given["analyst"] = cast.steward
        with pytest.raises(Refused) as refused:
            validations.grant(**given)
        assert refused.value.field == field
        assert not ValidationAllowance.objects.exists()


# --- pages --------------------------------------------------------------------------------------------------
FORM = {
    "records": "age=20 to 29..30 to 39; works=yes",
    "marginals": "works, region",
    "ks": "age",
    "classifiers": "works=yes; age, region",
    "worst_size": "1",
    "worst_tables": "1",
    "epsilon": "0.2",
    "delta": "0",
    "request_key": "one press",
}


def test_the_pages_from_the_allowance_to_the_answer(
    cast: Cast, release: Release, browser: Browse
) -> None:
    base = f"/releases/{release.code}/validation"
    steward, analyst = browser(cast.steward), browser(cast.analyst)
    assert 'role="alert"' not in html_of(analyst.get(f"{base}/"))
    assert analyst.get(f"{base}/new/").status_code == 200
    given = {
        "analyst": str(cast.analyst.pk),
        "epsilon": "0.5",
        "delta": "0",
        "until": f"{NEXT_WEEK:%Y-%m-%d}",
        "note": "For the yearly report.",
    }
    wrong = steward.post(f"{base}/allow/", given | {"epsilon": "9"})
    assert wrong.status_code == 422
    assert 'value="9"' in html_of(wrong)
    assert steward.post(f"{base}/allow/", given).status_code == 302
    allowance = ValidationAllowance.objects.get()
    assert f'data-allowance="{allowance.code}"' in html_of(analyst.get(f"{base}/"))
    priced = html_of(analyst.post(f"{base}/new/", FORM))
    confirmed = re.search(r'name="confirmed" value="([0-9a-f]{64})"', priced)
    assert confirmed is not None, priced
    assert not SynthesisRun.objects.filter(check_run__checks=release).exists()
    for _ in range(2):
        answer = analyst.post(f"{base}/new/", FORM | {"confirmed": confirmed[1]})
        assert answer.status_code == 302
    run = SynthesisRun.objects.get(check_run__checks=release)
    assert 'hx-trigger="every 10s"' in html_of(analyst.get(f"{base}/"))
    worker.synthesize(code=run.code)
    scene.let_ticks_pass()
    check = PaidCheck.objects.get()
    page = html_of(analyst.get(f"{base}/"))
    assert f'data-paid="{check.code}"' in page
    for picture in ("classifiers", "distances"):
        assert f'data-picture-save="{picture}-{check.code}"' in page
    assert re.search(rf'data-table-save="groups-\d+-{check.code}"', page)
    assert f'data-validation="{run.code}"' in page
    receipt = json.loads(analyst.get(f"{base}/{run.code}/receipt.json").content)
    assert verifier.verify(receipt).epsilon == Fraction(1, 5)
    for person, answers in (
        (cast.steward, True),
        (cast.custodian, False),
        (cast.auditor, False),
    ):
        seen = html_of(browser(person).get(f"{base}/"))
        assert f'data-validation="{run.code}"' in seen
        assert cast.analyst.username in seen
        assert (f'data-paid="{check.code}"' in seen) is answers
        status = browser(person).get(f"{base}/{run.code}/receipt.json").status_code
        assert status == (200 if answers else 403)
    assert browser(cast.custodian).post(f"{base}/{allowance.code}/end/").status_code == 302
    assert analyst.get(f"{base}/new/").status_code == 200
    assert not validations.usable_by(cast.analyst, release)


def test_what_cannot_be_validated_is_said_and_typed_again(
    cast: Cast, release: Release, browser: Browse
) -> None:
    allow(cast, release)
    client, address = browser(cast.analyst), f"/releases/{release.code}/validation/new/"
    for change in (
        {"records": "age=nowhere"},
        {"records": "age"},
        {"ks": "region"},
        {"classifiers": "works=yes"},
        {"classifiers": "works=yes; works"},
        {"classifiers": "works=yes|no; age; region"},
        {"worst_tables": "6"},
        {"worst_tables": "some"},
        {"worst_columns": "age"},
        {"worst_columns": "age, nowhere"},
        {"marginals": "age, age"},
        {"epsilon": "0.7"},
        {"records": "", "marginals": "", "ks": "", "classifiers": "", "worst_size": ""},
    ):
        page = html_of(client.post(address, FORM | change))
        assert 'role="alert"' in page, change
        assert 'name="confirmed"' not in page, change
    assert not SynthesisRun.objects.filter(check_run__checks=release).exists()


# --- REST ---------------------------------------------------------------------------------------------------
def test_rest_allows_prices_measures_and_ends(
    cast: Cast, release: Release, browser: Browse
) -> None:
    base = f"/api/v1/releases/{release.code}"
    steward, analyst = browser(cast.steward), browser(cast.analyst)
    send = partial(steward.post, content_type="application/json")
    until = f"{NEXT_WEEK:%Y-%m-%d}"
    body = {"epsilon": "0.5", "until": until, "analyst": cast.analyst.username}
    granted = send(f"{base}/allowances/", body)
    assert granted.status_code == 201
    assert granted.json()["left"]["epsilon"] == "0.5"
    assert send(f"{base}/allowances/", body | {"analyst": "nobody"}).status_code == 409
    assert send(f"{base}/allowances/", body | {"until": "soon"}).status_code == 400
    figures = [
        {"kind": "count", "where": ["age=20 to 29..30 to 39", "works=yes"]},
        {"kind": "marginal", "columns": ["works"]},
        {"kind": "ks", "columns": ["age"]},
        {"kind": "auc", "columns": ["age", "region"], "where": ["works=yes"]},
        {"kind": "accuracy", "columns": ["age", "region"], "where": ["works=yes"]},
        {"kind": "worst-groups", "columns": ["age", "region", "works"], "size": 2, "tables": 1},
    ]
    asked: dict[str, Any] = {"figures": figures, "epsilon": "0.2"}
    send = partial(analyst.post, content_type="application/json")
    price = send(f"{base}/validations/price/", asked).json()
    assert (price["price"]["epsilon"], price["fits"]) == ("0.2", True)
    assert not send(f"{base}/validations/price/", asked | {"epsilon": "0.6"}).json()["fits"]
    started = send(f"{base}/validations/", asked)
    assert started.status_code == 202
    assert started["Location"].endswith(f"{base}/validations/{started.json()['code']}/")
    worker.synthesize(code=started.json()["code"])
    scene.let_ticks_pass()
    answer = analyst.get(started["Location"]).json()
    count, table, distance, auc, accuracy, worst = answer["figures"]
    assert worst["groups"]
    for group in worst["groups"]:
        assert len(group["columns"]) == len(group["values"]) == 2
        assert group["lower"] <= max(group["value"], 0) <= group["upper"]
        assert group["synthetic"] >= 0
    assert (auc["kind"], auc["columns"]) == ("auc", ["works", "age", "region"])
    for share in (auc, accuracy):
        assert 0 <= share["lower"] <= share["value"] <= share["upper"] <= 1
    assert (answer["state"], count["unit"], distance["unit"]) == (
        "finished",
        "records",
        "share",
    )
    assert [cell["values"] for cell in table["table"]] == [
        ["yes"],
        ["no"],
        ["(missing)"],
    ] or len(table["table"]) == 3
    assert all(
        cell["lower"] <= max(cell["value"], 0) <= cell["upper"] for cell in table["table"]
    )
    receipt = analyst.get(f"{base}/validations/{answer['code']}/receipt/").json()
    assert verifier.verify(receipt).epsilon == Fraction(1, 5)
    (seen,) = browser(cast.auditor).get(f"{base}/allowances/").json()
    assert seen["spenders"][0]["used"]["epsilon"] == "0.2"
    (overseen,) = browser(cast.auditor).get(f"{base}/validations/").json()
    assert (overseen["analyst"], overseen["figures"]) == (cast.analyst.username, [])
    for wrong, status in (
        ({"epsilon": "0.4"}, 409),
        ({"figures": [{"kind": "count", "where": ["nowhere=1"]}]}, 422),
        ({"figures": [{"kind": "count", "columns": ["age"]}]}, 400),
        (
            {"figures": [{"kind": "worst-groups", "columns": ["age"], "size": 1, "tables": 1}]},
            422,
        ),
        ({"figures": [{"kind": "worst-groups", "columns": ["age", "region"]}]}, 400),
        ({"figures": [{"kind": "marginal", "where": ["age=20 to 29..30 to 39"]}]}, 400),
    ):
        assert send(f"{base}/validations/", asked | wrong).status_code == status, wrong
    code = granted.json()["code"]
    assert analyst.delete(f"{base}/allowances/{code}/").status_code == 403
    assert browser(cast.custodian).delete(f"{base}/allowances/{code}/").status_code == 204
    assert send(f"{base}/validations/", asked | {"epsilon": "0.1"}).status_code == 409
