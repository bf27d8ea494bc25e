"""Figures that were measured and must not be used: who may say so, where it stands, and what it leaves as it
was."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction

import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from synth_engine import verifier
from synth_engine.errors import VerificationError
from synth_engine.evaluation.criteria import Criterion
from synth_engine.plans.release_check import CheckedFigure
from synth_engine.spec import Spec
from synthweb.audit.models import AuditEntry
from synthweb.ledger.amounts import Amount
from synthweb.ledger.models import LedgerEntry
from synthweb.lib.errors import Conflict, Refused
from synthweb.releases import criteria_page, paid
from synthweb.releases import services as releases
from synthweb.releases.models import CheckMark, PaidCheck, Release
from synthweb.runs import services, validations, worker
from synthweb.runs.checks import CheckRequest, ReleaseCheck
from synthweb.runs.models import SynthesisRun
from synthweb.runs.planning import PublicFacts, ReleaseRequest
from tests.cast import Cast
from tests.web import scene
from tests.web.html import html_of
from tests.web.test_validations import NEXT_WEEK

pytestmark = pytest.mark.django_db
Browse = Callable[..., Client]
FIGURES = (CheckedFigure(kind="count", columns=("age",), codes=((0, 1, 2),)),)
WHY = "The values were read in another spelling than the run read them."


@pytest.fixture
def release(cast: Cast) -> Release:
    dataset = scene.funded(cast)
    worker.synthesize(code=scene.submit(steward=cast.steward, dataset=dataset).code)
    made = Release.objects.get()
    releases.share(actor=cast.steward, release=made, analyst=cast.analyst)
    return made


@pytest.fixture
def check(cast: Cast, release: Release) -> PaidCheck:
    asked = CheckRequest(figures=FIGURES, epsilon=Fraction(1, 4))
    run = services.submit(ReleaseCheck(release=release, request=asked), steward=cast.steward)
    worker.synthesize(code=run.code)
    return PaidCheck.objects.get(run_code=run.code)


@pytest.fixture
def validation(cast: Cast, release: Release) -> SynthesisRun:
    amount = Amount(epsilon=10**9 // 2)
    validations.grant(
        actor=cast.steward,
        release=release,
        amount=amount,
        until=NEXT_WEEK,
        analyst=cast.analyst,
    )
    asked = CheckRequest(figures=FIGURES, epsilon=Fraction(1, 5))
    run = validations.submit(analyst=cast.analyst, release=release, request=asked)
    worker.synthesize(code=run.code)
    scene.let_ticks_pass()
    run.refresh_from_db()
    assert run.paid_check is not None
    return run


def ledger() -> list[tuple[object, ...]]:
    return list(LedgerEntry.objects.order_by("pk").values_list())


def void(client: Client, release: Release, code: str, reason: str = WHY) -> int:
    address = f"/api/v1/releases/{release.code}/paid/{code}/void/"
    return client.post(address, {"reason": reason}, content_type="application/json").status_code


def test_a_void_check_says_so_wherever_it_is_read_and_gives_nothing_back(
    cast: Cast, release: Release, check: PaidCheck, browser: Browse
) -> None:
    steward, reader = browser(cast.steward), browser(cast.analyst)
    base, page = f"/api/v1/releases/{release.code}/paid/", f"/releases/{release.code}/paid/"
    before, core = ledger(), check.receipt
    assert steward.get(base).json()[0]["void"] is None
    assert f'data-may-void="{check.code}"' in html_of(steward.get(page))
    assert "data-may-void" not in html_of(reader.get(page))
    figures = reader.get(base).json()[0]["figures"]
    assert void(steward, release, check.code) == 201
    for client in (steward, reader):
        (told,) = client.get(base).json()
        assert (told["void"]["reason"], told["void"]["by"]) == (WHY, cast.steward.username)
        assert told["figures"] == figures
        shown = html_of(client.get(page))
        assert f'data-void="{check.code}"' in shown
        assert WHY in shown
        assert "data-may-void" not in shown
    assert ledger() == before
    check.refresh_from_db()
    assert check.receipt == core
    entry = AuditEntry.objects.get(action="check.voided")
    assert (entry.actor, entry.object_code) == (cast.steward.username, release.code)
    assert entry.detail["reason"] == WHY
    assert entry.detail["check"] == check.code
    assert entry.detail["mark"] == CheckMark.objects.get().hash


def test_the_receipt_has_a_signed_mark_and_proves_what_it_proved(
    cast: Cast, release: Release, check: PaidCheck, browser: Browse
) -> None:
    before = verifier.verify(paid.receipt_of(check))
    releases.void_check(actor=cast.steward, check=check, reason=WHY)
    receipt = json.loads(
        browser(cast.analyst)
        .get(f"/api/v1/releases/{release.code}/paid/{check.code}/receipt/")
        .content
    )
    (mark,) = receipt["marks"]
    assert mark["kind"] == "void"
    proved = verifier.verify(receipt)
    assert (proved.epsilon, proved.delta) == (before.epsilon, before.delta)
    assert any(WHY in sentence for sentence in proved.sentences)
    assert receipt["digest"] == check.receipt["digest"]
    # A mark that was taken out is noticed.
    with pytest.raises(VerificationError):
        verifier.verify(receipt | {"marks": []})


def test_a_void_validation_is_known_to_its_analyst_and_to_who_oversees(
    cast: Cast, release: Release, validation: SynthesisRun, browser: Browse
) -> None:
    before = ledger()
    used = validations.usable_by(cast.analyst, release)[0].left
    page = f"/releases/{release.code}/validation/"
    assert f'data-may-void="{validation.code}"' in html_of(browser(cast.steward).get(page))
    address = f"/releases/{release.code}/paid/{validation.code}/void/"
    answer = browser(cast.steward).post(address, {"reason": WHY})
    assert (answer.status_code, answer["Location"]) == (302, page)
    for person in (cast.analyst, cast.steward, cast.custodian, cast.auditor):
        client = browser(person)
        shown = html_of(client.get(page))
        assert f'data-void="{validation.code}"' in shown
        assert WHY in shown
        (told,) = client.get(f"/api/v1/releases/{release.code}/validations/").json()
        assert told["void"]["reason"] == WHY
    assert ledger() == before
    assert validations.usable_by(cast.analyst, release)[0].left == used


def test_stewards_alone_declare_figures_void_and_once(
    cast: Cast, release: Release, check: PaidCheck, browser: Browse
) -> None:
    for person, status in ((cast.analyst, 403), (cast.custodian, 403), (cast.auditor, 403)):
        assert void(browser(person), release, check.code) == status
    assert not CheckMark.objects.exists()
    steward = browser(cast.steward)
    assert void(steward, release, "nowhere") == 404
    for reason in ("", " ", "two\nlines", "x" * 501):
        assert void(steward, release, check.code, reason) in (400, 422)
        with pytest.raises(Refused):
            releases.void_check(actor=cast.steward, check=check, reason=reason)
    assert not CheckMark.objects.exists()
    assert void(steward, release, check.code) == 201
    assert void(steward, release, check.code) == 409
    with pytest.raises(Conflict):
        releases.void_check(actor=cast.steward, check=check, reason="Again.")
    assert CheckMark.objects.count() == 1


def test_the_database_refuses_a_second_void_and_any_change(
    cast: Cast, check: PaidCheck
) -> None:
    mark = releases.void_check(actor=cast.steward, check=check, reason=WHY)
    again = {"paid_check": check, "kind": "void", "sequence": 2, "hash": "0" * 64}
    with pytest.raises(IntegrityError), transaction.atomic():
        CheckMark.objects.create(**again, document={})
    assert CheckMark.objects.get() == mark


def test_a_criterion_is_not_judged_by_void_figures(cast: Cast) -> None:
    stated = Criterion(
        asked=CheckedFigure(kind="distance", columns=("region",)), most=Fraction(1, 2)
    )
    run = services.submit(
        ReleaseRequest(
            dataset=scene.funded(cast),
            spec=Spec.from_json({"mechanism": "independent", "epsilon": "1", "delta": "1e-9"}),
            facts=PublicFacts(criteria=(stated,)),
        ),
        steward=cast.steward,
    )
    worker.synthesize(code=run.code)
    release = Release.objects.get()
    asked = CheckRequest(figures=(stated.asked,), epsilon=Fraction(1))
    checking = services.submit(
        ReleaseCheck(release=release, request=asked), steward=cast.steward
    )
    worker.synthesize(code=checking.code)
    assert criteria_page.page_of(release).lines[0].paid_figure is not None
    releases.void_check(
        actor=cast.steward, check=PaidCheck.objects.get(run_code=checking.code), reason=WHY
    )
    assert criteria_page.page_of(release).lines[0].paid_figure is None
