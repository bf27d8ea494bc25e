"""Idempotency-Key: a request that is sent again has its effect once, also when both are sent at once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from synthweb.api.idempotency import REPLAYED
from synthweb.api.models import KeptAnswer
from synthweb.audit.models import AuditEntry
from synthweb.datasets.models import Dataset
from synthweb.ledger.models import BudgetRequest, LedgerEntry
from synthweb.releases.models import ReleaseGrant, Sample
from synthweb.runs.models import SynthesisRun, TableJob
from tests.cast import Cast
from tests.web import scene
from tests.web.rest import Caller, assert_problem
from tests.web.scene import Scene
from tests.web.test_ledger_hammer import at_once

COUNTED = (
    Dataset,
    TableJob,
    BudgetRequest,
    LedgerEntry,
    SynthesisRun,
    Sample,
    ReleaseGrant,
    AuditEntry,
)
SCOPES = ("read", "spend", "share", "grant")
Send = Callable[[Scene, str], Any]


def everything() -> dict[str, int]:
    return {model.__name__: model.objects.count() for model in COUNTED}


def spec(played: Scene, **changed: Any) -> dict[str, Any]:
    wanted = {
        "dataset": played.dataset.code,
        "mechanism": "independent",
        "epsilon": "0.1",
        "delta": "1e-9",
    }
    return {**wanted, **changed}


def upload(cast: Cast, played: Scene, key: str, *, other: bool = False) -> Any:
    table = scene.TABLE.encode() + b"north,7,yes\n" * other
    return Caller(cast.steward, *SCOPES).upload(
        "name=Again", table, headers={"Idempotency-Key": key}
    )


def run(cast: Cast, played: Scene, key: str, *, other: bool = False) -> Any:
    body = spec(played, **({"epsilon": "0.2"} if other else {}))
    return Caller(cast.steward, *SCOPES).send("/runs/", body, headers={"Idempotency-Key": key})


def cancel(cast: Cast, played: Scene, key: str, *, other: bool = False) -> Any:
    code = played.run.code if other else played.waiting.code
    return Caller(cast.steward, *SCOPES).send(
        f"/runs/{code}/cancel/", {}, headers={"Idempotency-Key": key}
    )


def budget(cast: Cast, played: Scene, key: str, *, other: bool = False) -> Any:
    body = {
        "dataset": played.dataset.code,
        "rule": "basic",
        "epsilon": 2 if other else 1,
        "reason": "More.",
    }
    return Caller(cast.steward, *SCOPES).send(
        "/budget-requests/", body, headers={"Idempotency-Key": key}
    )


def grant(cast: Cast, played: Scene, key: str, *, other: bool = False) -> Any:
    body = {"reason": "Agreed." if other else "Yes."}
    address = f"/budget-requests/{played.request.code}/grant/"
    return Caller(cast.custodian, *SCOPES).send(address, body, headers={"Idempotency-Key": key})


def refuse(cast: Cast, played: Scene, key: str, *, other: bool = False) -> Any:
    body = {"reason": "Not now." if other else "No."}
    address = f"/budget-requests/{played.request.code}/refuse/"
    return Caller(cast.custodian, *SCOPES).send(address, body, headers={"Idempotency-Key": key})


def sample(cast: Cast, played: Scene, key: str, *, other: bool = False) -> Any:
    address = f"/releases/{played.release.code}/samples/"
    body = {"rows": 4 if other else 3}
    return Caller(played.reader, *SCOPES).send(address, body, headers={"Idempotency-Key": key})


def share(cast: Cast, played: Scene, key: str, *, other: bool = False) -> Any:
    address = f"/releases/{played.release.code}/grants/"
    body = {"analyst": "reader" if other else "analyst"}
    return Caller(cast.steward, *SCOPES).send(address, body, headers={"Idempotency-Key": key})


EVERY = [upload, run, cancel, budget, grant, refuse, sample, share]


@pytest.mark.parametrize("send", EVERY, ids=lambda send: send.__name__)
def test_the_same_request_with_the_same_key_has_its_effect_once(
    cast: Cast, played: Scene, send: Any
) -> None:
    first = send(cast, played, "once")
    assert first.status_code in (200, 201, 202), first.content
    assert REPLAYED not in first
    before = everything()
    before["AuditEntry"] += 1  # the token that the second call is made with
    second = send(cast, played, "once")
    assert (second.status_code, second.json(), second.get("Location")) == (
        first.status_code,
        first.json(),
        first.get("Location"),
    )
    assert second[REPLAYED] == "true"
    assert everything() == before


@pytest.mark.parametrize("send", EVERY, ids=lambda send: send.__name__)
def test_another_request_with_the_same_key_is_refused_and_does_nothing(
    cast: Cast, played: Scene, send: Any
) -> None:
    send(cast, played, "once")
    before = everything()
    before["AuditEntry"] += 1
    refused = assert_problem(send(cast, played, "once", other=True), status=409)
    assert refused["type"] == "urn:synthweb:key-reused"
    assert refused["errors"][0]["pointer"] == "/Idempotency-Key"
    assert everything() == before


def test_a_key_of_another_address_is_taken_too(cast: Cast, played: Scene) -> None:
    run(cast, played, "once")
    assert_problem(budget(cast, played, "once"), status=409)


def test_each_person_has_keys_of_their_own_whatever_the_token(
    cast: Cast, played: Scene
) -> None:
    address = f"/releases/{played.release.code}/samples/"
    codes = [
        Caller(user, "read")
        .send(address, {"rows": 3}, headers={"Idempotency-Key": "once"})
        .json()["code"]
        for user in (played.reader, cast.steward, played.reader)
    ]
    assert codes[0] == codes[2] != codes[1]


def test_without_a_key_every_request_counts(cast: Cast, played: Scene) -> None:
    assert sample(cast, played, "").json()["code"] != sample(cast, played, "").json()["code"]
    assert not KeptAnswer.objects.exists()


def test_what_was_refused_leaves_the_key_free_for_the_mended_request(
    cast: Cast, played: Scene
) -> None:
    calls = Caller(cast.steward, *SCOPES)
    headers = {"Idempotency-Key": "once"}
    assert_problem(
        calls.send("/runs/", spec(played, epsilon="50"), headers=headers), status=409
    )
    assert not KeptAnswer.objects.exists()
    assert calls.send("/runs/", spec(played), headers=headers).status_code == 202


def test_an_answer_is_kept_for_the_stated_time_and_a_run_is_still_not_doubled_after_it(
    cast: Cast, played: Scene, settings: Settings
) -> None:
    settings.IDEMPOTENCY_HOURS = 24
    drawn, ran = sample(cast, played, "s").json()["code"], run(cast, played, "r").json()["code"]
    KeptAnswer.objects.update(created_at=timezone.now() - timedelta(hours=23))
    assert sample(cast, played, "s").json()["code"] == drawn
    KeptAnswer.objects.update(created_at=timezone.now() - timedelta(hours=25))
    assert sample(cast, played, "s").json()["code"] != drawn
    assert run(cast, played, "r").json()["code"] == ran


def test_what_is_kept_of_an_upload_confirms_no_guess_about_its_rows(
    cast: Cast, played: Scene
) -> None:
    """Whoever has the database and knows all records but one could try all values of that one against a plain
    digest."""
    assert upload(cast, played, "once").status_code == 202
    guess = hashlib.sha256(scene.TABLE.encode()).hexdigest()
    kept = KeptAnswer.objects.get().request_digest
    for content in (guess, scene.TABLE):
        parts = ["POST", "/api/v1/datasets/", "name=Again", content]
        assert kept != hashlib.sha256(json.dumps(parts).encode()).hexdigest()


@pytest.mark.parametrize("key", ["x" * 65, "é", "a\tb"])
def test_a_key_that_is_none_is_a_problem(cast: Cast, played: Scene, key: str) -> None:
    before = LedgerEntry.objects.count()
    body = assert_problem(run(cast, played, key), status=400)
    assert body["errors"][0]["pointer"] == "/Idempotency-Key"
    assert LedgerEntry.objects.count() == before


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("send", EVERY, ids=lambda send: send.__name__)
def test_the_same_request_many_times_at_once_has_its_effect_once(cast: Cast, send: Any) -> None:
    played = scene.play(
        steward=cast.steward, custodian=cast.custodian, organisation=cast.organisation
    )
    before = everything()
    answers = at_once(*(lambda: send(cast, played, "once") for _ in range(6)))
    assert len({(answer.status_code, answer.content) for answer in answers}) == 1, answers
    assert answers[0].status_code in (200, 201, 202), answers[0].content
    assert sorted(REPLAYED in answer for answer in answers) == [
        False,
        True,
        True,
        True,
        True,
        True,
    ]
    after = everything()
    effect = {name: after[name] - before[name] for name in after if name != "AuditEntry"}
    assert set(effect.values()) <= {0, 1}, effect
    assert KeptAnswer.objects.get().status == answers[0].status_code


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_of_different_requests_with_one_key_at_once_exactly_one_wins(cast: Cast) -> None:
    played = scene.play(
        steward=cast.steward, custodian=cast.custodian, organisation=cast.organisation
    )
    before = SynthesisRun.objects.count()
    answers = at_once(
        *(
            lambda other=other: run(cast, played, "once", other=other)
            for other in (True, False) * 3
        )
    )
    statuses = [answer.status_code for answer in answers]
    assert sorted(statuses) == [202, 202, 202, 409, 409, 409]
    assert SynthesisRun.objects.count() == before + 1
