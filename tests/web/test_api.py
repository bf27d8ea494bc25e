"""REST: the main job by programs, problems, scopes, pages of lists, streamed tables, and the example of
docs/rest.md."""

from __future__ import annotations

import copy
import csv
import io
import json
import os
import re
import socket
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from synth_engine import verifier
from synthweb.accounts import services as accounts
from synthweb.accounts.models import ApiToken, Role
from synthweb.api.serializers.releases import NewSampleSerializer
from synthweb.datasets.models import Dataset
from synthweb.ledger.models import LedgerEntry
from synthweb.runs import worker
from synthweb.runs.models import SynthesisRun, TableJob
from tests.cast import Cast
from tests.web import scene
from tests.web.addresses import rest_routes
from tests.web.rest import PROBLEM, Caller, assert_problem
from tests.web.scene import DOMAIN, TABLE, Scene


@pytest.fixture
def steward_calls(cast: Cast) -> Caller:
    return Caller(cast.steward, "read", "spend", "share")


def test_a_steward_does_the_main_job_by_rest(cast: Cast, steward_calls: Caller) -> None:
    uploaded = steward_calls.upload("name=Commutes", TABLE.encode())
    assert uploaded.status_code == 202
    code = uploaded.json()["code"]
    assert uploaded["Location"].endswith(f"/api/v1/datasets/{code}/")
    assert steward_calls.get(f"/datasets/{code}/").json()["status"] == "uploaded"
    worker.table_job(code=_job(code))
    assert steward_calls.get(f"/datasets/{code}/").json()["status"] == "ready"

    described = steward_calls.send(f"/datasets/{code}/domain/", DOMAIN, method="put")
    assert described.status_code == 201
    assert (
        steward_calls.get(f"/datasets/{code}/domain/").json()["digest"]
        == described.json()["digest"]
    )

    wanted = {
        "dataset": code,
        "rule": "basic",
        "epsilon": "2",
        "delta": "1e-8",
        "reason": "To publish.",
    }
    asked = steward_calls.send("/budget-requests/", wanted)
    assert asked.status_code == 201
    assert asked.json()["amount"] == {"epsilon": "2", "delta": "0.00000001", "rho": "0"}
    decided = Caller(cast.custodian, "read", "grant").send(
        f"/budget-requests/{asked.json()['code']}/grant/",
        {"reason": "Agreed.", "epsilon": 1.5, "delta": "1e-8"},
    )
    assert decided.json()["state"] == "granted"

    wanted = {"dataset": code, "mechanism": "independent", "epsilon": 1, "delta": "1e-9"}
    refused = assert_problem(steward_calls.send("/runs/", wanted), status=409)
    assert refused["type"] == "urn:synthweb:not-ready"  # nobody said about how many there are
    run = steward_calls.send("/runs/", wanted | {"records": 100})
    assert run.status_code == 202
    assert run["Location"].endswith(run.json()["url"])
    account = steward_calls.get(f"/accounts/{run.json()['account']}/").json()
    assert (account["cap"]["epsilon"], account["held"]["epsilon"]) == ("1.5", "1")
    worker.synthesize(code=run.json()["code"])
    finished = steward_calls.get(f"/runs/{run.json()['code']}/").json()
    assert finished["state"] == "finished"

    receipt = steward_calls.get(f"/releases/{finished['release']}/receipt/").json()
    assert verifier.verify(receipt).epsilon <= 1
    shared = steward_calls.send(
        f"/releases/{finished['release']}/grants/", {"analyst": "analyst"}
    )
    assert shared.status_code == 201
    assert Caller(cast.analyst, "read").get("/releases/").json()["count"] == 1
    taken_back = steward_calls.client.delete(
        f"/api/v1/releases/{finished['release']}/grants/analyst/"
    )
    assert taken_back.status_code == 204
    assert Caller(cast.analyst, "read").get("/releases/").json()["count"] == 0


def test_a_refused_upload_says_line_rule_and_repair(steward_calls: Caller) -> None:
    code = steward_calls.upload("name=Broken", b"a,b\n1,2\n3\n").json()["code"]
    worker.table_job(code=_job(code))
    refused = steward_calls.get(f"/datasets/{code}/").json()
    assert refused["status"] == "refused"
    assert refused["refusal"]["line"] == 3
    assert refused["refusal"]["rule"]
    assert refused["refusal"]["repair"]


def test_a_file_that_is_no_table_is_refused_at_once_and_kept_nowhere(
    steward_calls: Caller,
) -> None:
    assert_problem(
        steward_calls.upload("name=Workbook", b"PK\x03\x04" + b"x" * 600), status=422
    )
    assert steward_calls.get("/datasets/").json()["count"] == 0


@pytest.mark.parametrize(
    ("query", "body", "content_type", "status"),
    [
        ("", b"a\n1\n", "text/csv", 400),
        ("name=Empty", b"", "text/csv", 400),
        ("name=Json", b"{}", "application/json", 415),
        ("name=Not+packed", b"a\n1\n", "application/gzip", 422),
    ],
)
def test_an_upload_of_the_wrong_form_is_a_problem(
    steward_calls: Caller, query: str, body: bytes, content_type: str, status: int
) -> None:
    assert_problem(steward_calls.upload(query, body, content_type=content_type), status=status)


@pytest.mark.django_db(transaction=True)
def test_an_upload_that_ends_early_is_refused(live_server: LiveServer, cast: Cast) -> None:
    _, token = accounts.create_token(user=cast.steward, name="cut", scopes=["spend"], days=1)
    head = (
        "POST /api/v1/datasets/?name=Cut HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\n"
        f"Authorization: Bearer {token}\r\nContent-Length: {len(TABLE) + 10}\r\nConnection: close\r\n\r\n"
    )
    with socket.create_connection((live_server.thread.host, live_server.thread.port)) as line:
        line.sendall(head.encode() + TABLE.encode())
        line.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: line.recv(65536), b""))
    assert b" 422 " in answer.splitlines()[0]
    assert b"cut short" in answer
    assert not Dataset.objects.exists()


def test_every_fault_of_a_description_is_named_with_its_place(
    cast: Cast, steward_calls: Caller
) -> None:
    dataset = scene.read(scene.upload(steward=cast.steward, organisation=cast.organisation))
    wrong = copy.deepcopy(DOMAIN)
    wrong["attributes"][1]["low"] = 200
    wrong["attributes"][2]["provenance"] = "suggested"
    body = assert_problem(
        steward_calls.send(f"/datasets/{dataset.code}/domain/", wrong, method="put"), status=422
    )
    faults = {(fault["pointer"], fault["column"]) for fault in body["errors"]}
    assert faults == {("/attributes/1/low", "age"), ("/attributes/2/provenance", "works")}
    assert all(fault["rule"] and fault["repair"] for fault in body["errors"])
    assert steward_calls.get(f"/datasets/{dataset.code}/domain/").status_code == 404


@pytest.mark.parametrize(
    "document", [[], 5, None, "x", {"attributes": []}, {"schema": "other"}, {"region": 0}]
)
def test_a_document_that_is_no_description_is_a_problem(
    cast: Cast, steward_calls: Caller, document: Any
) -> None:
    dataset = scene.upload(steward=cast.steward, organisation=cast.organisation)
    assert_problem(
        steward_calls.send(f"/datasets/{dataset.code}/domain/", document, method="put"),
        status=422,
    )


def test_a_described_column_that_the_table_lacks_is_named_before_anything_is_paid(
    cast: Cast, steward_calls: Caller
) -> None:
    dataset = scene.read(scene.upload(steward=cast.steward, organisation=cast.organisation))
    document = {
        **DOMAIN,
        "attributes": [*DOMAIN["attributes"], {"name": "height", "kind": "identifier"}],
    }
    body = assert_problem(
        steward_calls.send(f"/datasets/{dataset.code}/domain/", document, method="put"),
        status=422,
    )
    assert [(fault["column"], bool(fault["repair"])) for fault in body["errors"]] == [
        ("height", True)
    ]
    assert steward_calls.get(f"/datasets/{dataset.code}/domain/").status_code == 404


def test_spending_more_than_is_left_is_a_conflict_and_holds_nothing(
    played: Scene, steward_calls: Caller
) -> None:
    before = LedgerEntry.objects.count()
    wanted = {
        "dataset": played.dataset.code,
        "mechanism": "independent",
        "epsilon": 50,
        "delta": "1e-9",
    }
    body = assert_problem(steward_calls.send("/runs/", wanted), status=409)
    assert body["type"] == "urn:synthweb:overspend"
    assert LedgerEntry.objects.count() == before


def test_the_same_idempotency_key_is_the_same_run(played: Scene, steward_calls: Caller) -> None:
    wanted = {
        "dataset": played.dataset.code,
        "mechanism": "independent",
        "epsilon": "0.1",
        "delta": "1e-9",
    }
    codes = {
        steward_calls.send("/runs/", wanted, headers={"Idempotency-Key": "once"}).json()["code"]
        for _ in range(3)
    }
    assert len(codes) == 1
    assert LedgerEntry.objects.filter(run_code__in=codes).count() == 1


def test_cancelling_before_the_charge_gives_the_hold_back(
    played: Scene, steward_calls: Caller
) -> None:
    before = steward_calls.get(f"/accounts/{played.account.code}/").json()
    assert before["held"]["epsilon"] == "0.5"
    assert (
        steward_calls.send(f"/runs/{played.waiting.code}/cancel/", None).json()["state"]
        == "cancelled"
    )
    after = steward_calls.get(f"/accounts/{played.account.code}/").json()
    assert after["held"]["epsilon"] == "0"
    assert after["charged"] == before["charged"]
    assert_problem(steward_calls.send(f"/runs/{played.waiting.code}/cancel/", None), status=409)


@pytest.mark.parametrize(
    "epsilon", ["-1", "nan", "inf", "１", "1e-400", True, None, [], "1" * 41, ""]
)
def test_an_amount_that_is_no_amount_is_a_problem(
    played: Scene, steward_calls: Caller, epsilon: Any
) -> None:
    wanted = {"dataset": played.dataset.code, "mechanism": "independent", "epsilon": epsilon}
    response = steward_calls.send("/runs/", wanted)
    assert response.status_code in (400, 422)
    assert response["Content-Type"] == PROBLEM
    assert not SynthesisRun.objects.exclude(pk__in=[played.run.pk, played.waiting.pk]).exists()


def test_a_seed_left_out_is_ones_own_for_the_release_as_docs_and_schema_say(
    played: Scene, cast: Cast
) -> None:
    reader, steward = Caller(played.reader, "read"), Caller(cast.steward, "read")
    address = f"/releases/{played.release.code}/samples/"
    first, again, given = (
        reader.send(address, {"rows": 25} | more).json()
        for more in ({}, {"seed": None}, {"seed": "tulip"})
    )
    assert first["code"] != again["code"]
    assert (first["seed"], first["commitment"]) == (again["seed"], again["commitment"])
    assert _text(reader.client.get(first["csv"])) == _text(reader.client.get(again["csv"]))
    assert given["seed"] == "tulip"
    assert steward.send(address, {"rows": 25}).json()["commitment"] != first["commitment"]
    receipt = reader.get(f"/samples/{again['code']}/receipt/").json()
    assert receipt["sample"]["seed_commitment"] == first["commitment"]
    said = NewSampleSerializer().fields["seed"].help_text
    page = " ".join((Path(__file__).parents[2] / "docs" / "rest.md").read_text().split())
    assert "your own secret one for this release" in str(said)
    assert "Without a seed, your own secret seed for this release is used" in page


def test_a_sample_is_the_same_table_at_every_download(played: Scene) -> None:
    reader = Caller(played.reader, "read")
    drawn = reader.send(f"/releases/{played.release.code}/samples/", {"rows": 40})
    assert drawn.status_code == 201
    sample = drawn.json()
    assert sample["seed"]
    texts = {_text(reader.client.get(sample["csv"])) for _ in range(2)}
    assert len(texts) == 1
    rows = list(csv.DictReader(io.StringIO(texts.pop())))
    assert len(rows) == 40
    assert set(rows[0]) == {"region", "age", "works"}
    parquet = reader.client.get(sample["parquet"])
    assert pq.read_table(io.BytesIO(b"".join(parquet.streaming_content))).num_rows == 40
    dictionary = reader.get(f"/releases/{played.release.code}/dictionary/").json()
    assert [column["column"] for column in dictionary] == ["region", "age", "works"]
    receipt = reader.get(f"/samples/{sample['code']}/receipt/").json()
    assert receipt["sample"]["rows"] == 40
    assert sample["seed"] not in json.dumps(receipt)


def test_a_word_that_is_neither_true_nor_false_is_not_taken_for_one(played: Scene) -> None:
    reader = Caller(played.reader, "read")
    for said, status in (
        ("true", 200),
        ("false", 200),
        ("1", 400),
        ("yes", 400),
        ("", 400),
        ("6e307", 400),
    ):
        answer = reader.get(f"/samples/{played.sample.code}/table.csv?for_spreadsheets={said}")
        assert answer.status_code == status, said
    assert answer["Content-Type"] == "application/problem+json"


def test_edited_descriptions_are_kept_listed_and_drawn_from(played: Scene, cast: Cast) -> None:
    steward, reader = Caller(cast.steward, "read", "share"), Caller(played.reader, "read")
    address = f"/releases/{played.release.code}"
    document = reader.get(f"{address}/description/").json()
    entry = next(entry for entry in document["columns"] if entry["column"] == "region")
    entry["shares"] = {"north": 1}
    kept = steward.send(
        f"{address}/editions/", {"note": "All in the north.", "document": document}
    )
    assert kept.status_code == 201
    code = kept.json()["code"]
    assert [
        one["edited_by"] for one in reader.get(f"{address}/editions/").json()["results"]
    ] == [cast.steward.username]
    assert reader.get(f"{address}/editions/{code}/").json()["columns"] == document["columns"]
    sample = reader.send(f"{address}/samples/", {"rows": 30, "edition": code}).json()
    assert sample["edition"] == code
    rows = list(csv.DictReader(io.StringIO(_text(reader.client.get(sample["csv"])))))
    assert {row["region"] for row in rows} == {"north"}
    receipt = reader.get(f"/samples/{sample['code']}/receipt/").json()
    assert receipt["sample"].keys() == {
        "rows",
        "seed_commitment",
        "edited_description_sha256",
    }
    assert reader.send(f"{address}/samples/", {"rows": 30}).json()["edition"] is None
    assert_problem(
        reader.send(f"{address}/samples/", {"rows": 30, "edition": "nowhere"}), status=404
    )
    entry["shares"] = {"north": 0.5}
    problem = assert_problem(
        steward.send(f"{address}/editions/", {"note": "x", "document": document}), status=422
    )
    assert problem["errors"][0]["column"] == "region"
    assert problem["errors"][0]["repair"]
    assert_problem(
        steward.send(f"{address}/editions/", {"note": "x", "document": [1]}), status=422
    )


def test_somebody_elses_sample_does_not_exist(cast: Cast, played: Scene) -> None:
    for user in (cast.steward, cast.analyst, cast.stranger, cast.auditor):
        calls = Caller(user, "read")
        for address in ("", "receipt/", "table.csv", "table.parquet"):
            assert_problem(calls.get(f"/samples/{played.sample.code}/{address}"), status=404)


@pytest.mark.parametrize("rows", [0, -1, "many", 10**12, None])
def test_a_sample_of_no_sensible_size_is_a_problem(played: Scene, rows: Any) -> None:
    response = Caller(played.reader, "read").send(
        f"/releases/{played.release.code}/samples/", {"rows": rows}
    )
    body = assert_problem(response, status=400)
    assert [fault["pointer"] for fault in body["errors"]] == ["/rows"]


def test_a_release_shared_with_nobody_else_is_not_there_for_other_analysts(
    cast: Cast, played: Scene
) -> None:
    calls = Caller(cast.analyst, "read")
    assert calls.get("/releases/").json()["results"] == []
    assert_problem(calls.get(f"/releases/{played.release.code}/"), status=404)
    assert_problem(
        calls.send(f"/releases/{played.release.code}/samples/", {"rows": 1}), status=404
    )


# --- who calls ----------------------------------------------------------------------------------------------
def test_without_a_token_the_answer_says_which_kind_is_wanted(client: Client, db: None) -> None:
    for headers in (
        {},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer nobody"},
        {"Authorization": "Bearer é"},
    ):
        response = client.get("/api/v1/me/", headers=headers)
        assert_problem(response, status=401)
        assert response["WWW-Authenticate"].startswith("Bearer")


def test_a_token_that_was_revoked_or_expired_opens_nothing(cast: Cast) -> None:
    for change in (
        {"revoked_at": timezone.now()},
        {"expires_at": timezone.now() - timedelta(seconds=1)},
    ):
        calls = Caller(cast.steward, "read")
        ApiToken.objects.filter(revoked_at=None).update(**change)
        assert_problem(calls.get("/me/"), status=401)


def test_a_token_does_what_its_scopes_say_and_no_more(cast: Cast, played: Scene) -> None:
    wanted = {
        "dataset": played.dataset.code,
        "mechanism": "independent",
        "epsilon": "0.1",
        "delta": "1e-9",
    }
    share = (f"/releases/{played.release.code}/grants/", {"analyst": "analyst"})
    for scopes, may_read, may_spend, may_share in (
        (["read"], True, False, False),
        (["spend"], False, True, False),
        (["share"], False, False, True),
    ):
        calls = Caller(cast.steward, *scopes)
        assert (calls.get("/releases/").status_code == 200) is may_read
        assert (calls.send("/runs/", wanted).status_code == 202) is may_spend
        assert (calls.send(*share).status_code == 201) is may_share
    assert_problem(Caller(cast.steward, "read").send("/runs/", wanted), status=403)


def test_a_token_never_allows_more_than_its_owners_roles(cast: Cast, played: Scene) -> None:
    calls = Caller(cast.auditor, "read", "spend", "share")
    assert_problem(calls.send(f"/runs/{played.waiting.code}/cancel/", None), status=403)
    assert_problem(
        calls.send(f"/datasets/{played.dataset.code}/domain/", DOMAIN, method="put"), status=403
    )
    assert_problem(calls.upload("name=Mine", TABLE.encode()), status=403)


def test_a_browsers_session_may_read_and_needs_a_csrf_token_to_write(
    cast: Cast, browser: Any
) -> None:
    client = browser(cast.steward, enforce_csrf_checks=True)
    assert client.get("/api/v1/me/").json() == {
        "username": "steward",
        "organisation": "Statistics Office",
        "roles": ["steward"],
        "scopes": None,
        "token_ends_at": None,
    }
    assert_problem(
        client.post("/api/v1/datasets/?name=x", b"a\n1\n", content_type="text/csv"), status=403
    )


def test_nobody_grants_their_own_request(cast: Cast, played: Scene) -> None:
    accounts.set_roles(
        actor=cast.staff,
        person=cast.steward,
        organisation=cast.organisation,
        roles=[Role.STEWARD, Role.CUSTODIAN],
    )
    calls = Caller(cast.steward, "read", "spend", "grant")
    assert_problem(
        calls.send(f"/budget-requests/{played.request.code}/grant/", {"reason": "Mine."}),
        status=403,
    )
    for verb in ("grant", "refuse"):  # a token made to spend does not decide
        address = f"/budget-requests/{played.request.code}/{verb}/"
        assert_problem(
            Caller(cast.custodian, "read", "spend", "share").send(address, {"reason": "Yes."}),
            status=403,
        )
    refused = Caller(cast.custodian, "grant").send(
        f"/budget-requests/{played.request.code}/refuse/", {"reason": "No."}
    )
    assert refused.json()["decision_reason"] == "No."


# --- form ---------------------------------------------------------------------------------------------------
def test_lists_come_in_pages_in_a_stable_order(cast: Cast, played: Scene) -> None:
    calls = Caller(cast.auditor, "read")
    address = f"/accounts/{played.account.code}/entries/"
    whole = calls.get(address).json()
    assert whole["count"] == len(whole["results"]) >= 3
    single = [
        calls.get(f"{address}?limit=1&offset={n}").json()["results"][0]
        for n in range(whole["count"])
    ]
    assert single == whole["results"]
    assert calls.get(f"{address}?limit=1").json()["next"]


def test_an_address_that_does_not_exist_is_a_problem_too(client: Client, db: None) -> None:
    assert_problem(client.get("/api/v1/nothing/"), status=404)
    assert "slash" in assert_problem(client.get("/api/v1/me"), status=404)["detail"]
    assert_problem(client.get("/api/v1/runs/a%0Ab/"), status=404)
    assert_problem(client.get("/api/v1/runs/a%00b/"), status=400)
    assert_problem(Client(enforce_csrf_checks=True).post("/api/v1/nothing/", {}), status=404)


def test_a_body_that_is_no_json_is_a_problem(steward_calls: Caller) -> None:
    response = steward_calls.client.post("/api/v1/runs/", "{", content_type="application/json")
    assert_problem(response, status=400)


def test_every_mechanism_is_listed_with_its_schema(steward_calls: Caller) -> None:
    listed = steward_calls.get("/mechanisms/").json()
    assert "independent" in {mechanism["id"] for mechanism in listed}
    assert all(mechanism["parameters"]["type"] == "object" for mechanism in listed)


def test_the_openapi_document_has_no_warnings_and_every_address(
    tmp_path: Path, db: None
) -> None:
    file = tmp_path / "schema.json"
    call_command(
        "spectacular",
        "--fail-on-warn",
        "--validate",
        "--format",
        "openapi-json",
        "--file",
        str(file),
    )
    document = json.loads(file.read_text())
    described = {re.sub(r"\{\w+\}", "*", path) for path in document["paths"]}
    hidden = {"schema", "reference", "not-found"}
    routed = {
        "/api/v1/" + re.sub(r"<\w+:\w+>", "*", route)
        for route, pattern in rest_routes().items()
        if pattern.name not in hidden
    }
    assert described == routed
    for operations in document["paths"].values():
        for operation in operations.values():
            assert PROBLEM in operation["responses"]["401"]["content"]


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_the_python_example_of_the_guide_runs_as_it_stands(
    live_server: LiveServer,
    cast: Cast,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    played = scene.play(
        steward=cast.steward, custodian=cast.custodian, organisation=cast.organisation
    )
    _, token = accounts.create_token(
        user=played.reader, name="example", scopes=["read"], days=1
    )
    guide = (settings.BASE_DIR / "docs" / "rest.md").read_text()
    example = re.search(r"```python\n(.*?)```", guide, re.S)
    assert example is not None
    monkeypatch.setitem(os.environ, "SYNTHWEB", live_server.url)
    monkeypatch.setitem(os.environ, "TOKEN", token)
    monkeypatch.chdir(tmp_path)
    exec(compile(example[1], "docs/rest.md", "exec"), {})
    assert len((tmp_path / "table.csv").read_text().splitlines()) == 1001
    said = capsys.readouterr().out
    assert played.release.code in said
    receipt = (
        Caller(played.reader, "read").get(f"/releases/{played.release.code}/receipt/").json()
    )
    assert all(sentence in said for sentence in verifier.verify(receipt).sentences), said


def _job(dataset_code: str) -> str:
    return TableJob.objects.get(dataset__code=dataset_code, kind="ingest").code


def _text(response: Any) -> str:
    assert response.status_code == 200
    return b"".join(response.streaming_content).decode()
