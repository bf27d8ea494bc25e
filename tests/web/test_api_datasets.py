"""The life of a dataset and the books, by REST: everything that the pages do with the same services."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from synthweb.datasets.models import Dataset
from synthweb.runs import services as runs
from synthweb.runs import worker
from synthweb.runs.models import TableJob
from synthweb.runs.planning import ReleaseRequest
from tests.cast import Cast
from tests.web import scene
from tests.web.rest import Caller, assert_problem
from tests.web.scene import DOMAIN, TABLE, Scene


@pytest.fixture
def calls(cast: Cast) -> Caller:
    return Caller(cast.steward, "read", "spend", "share")


@pytest.fixture
def dataset(cast: Cast) -> Dataset:
    return scene.read(scene.upload(steward=cast.steward, organisation=cast.organisation))


def read(code: str) -> None:
    """A worker does what is asked for."""
    for job in TableJob.objects.filter(dataset__code=code, state=TableJob.State.WAITING):
        worker.table_job(code=job.code)


def put_file(calls: Caller, dataset: Dataset, table: bytes, **extra: Any) -> Any:
    return calls.client.put(
        f"/api/v1/datasets/{dataset.code}/file/", table, content_type="text/csv", **extra
    )


def test_a_dataset_gets_another_name_and_keeps_what_is_left_out(
    calls: Caller, dataset: Dataset
) -> None:
    address = f"/datasets/{dataset.code}/"
    assert (
        calls.send(address, {"name": "Trips", "description": "Of 2019"}, method="patch").json()[
            "name"
        ]
        == "Trips"
    )
    changed = calls.send(address, {"name": "Ways"}, method="patch").json()
    assert (changed["name"], changed["description"]) == ("Ways", "Of 2019")
    for wrong in ({"name": ""}, {"name": 5}, {"name": "x" * 201}, {"status": "ready"}, []):
        assert_problem(calls.send(address, wrong, method="patch"), status=400)
    assert calls.get(address).json()["name"] == "Ways"


def test_a_corrected_file_is_a_version_and_the_same_request_with_a_key_is_one(
    calls: Caller, dataset: Dataset
) -> None:
    table = (TABLE + "north,1,no\n").encode()
    first = put_file(calls, dataset, table, headers={"Idempotency-Key": "v2"})
    assert first.status_code == 202
    assert first.json()["table_version"] == 2
    assert (
        put_file(calls, dataset, table, headers={"Idempotency-Key": "v2"}).json()
        == first.json()
    )
    read(dataset.code)
    assert calls.get(f"/datasets/{dataset.code}/").json()["status"] == "ready"
    assert_problem(put_file(calls, dataset, table), status=422)  # the very same content


def test_a_refused_file_is_given_up_for_the_one_before(
    calls: Caller, cast: Cast, dataset: Dataset
) -> None:
    put_file(calls, dataset, b"a,b\n1,2\n3\n")
    read(dataset.code)
    refused = calls.get(f"/datasets/{dataset.code}/").json()
    assert (refused["status"], refused["refusal"]["line"]) == ("refused", 3)
    seen = Caller(cast.auditor, "read").get(f"/datasets/{dataset.code}/").json()
    assert seen["refusal"]["line"] is None, "where it is depends on the rows"
    back = calls.send(f"/datasets/{dataset.code}/go-back/", None)
    assert (back.status_code, back.json()["status"], back.json()["table_version"]) == (
        200,
        "ready",
        1,
    )


def test_the_form_of_a_csv_is_said_and_the_table_read_again(calls: Caller, cast: Cast) -> None:
    text = TABLE.replace(",", "|")
    dataset = scene.read(
        scene.upload(steward=cast.steward, organisation=cast.organisation, table=text)
    )
    address = f"/datasets/{dataset.code}/form/"
    said = {"encoding": "utf-8", "delimiter": "|", "quote": '"', "header": True}
    assert calls.send(address, said, method="put").status_code == 202
    read(dataset.code)
    form = calls.get(f"/datasets/{dataset.code}/").json()["form"]
    assert (form["delimiter"], form["units"]) == ("|", [])
    with_units = said | {"units": ["$", "kg"]}
    assert calls.send(address, with_units, method="put").status_code == 202
    read(dataset.code)
    assert calls.get(f"/datasets/{dataset.code}/").json()["form"]["units"] == ["$", "kg"]
    part_of_a_number = calls.send(address, said | {"units": ["5"]}, method="put")
    assert_problem(part_of_a_number, status=422)
    for wrong in (
        {"units": "kg"},
        {"delimiter": "||"},
        {"encoding": "ebcdic"},
        {"header": "yes"},
        {"columns": 0},
        {"comment": "#"},
    ):
        assert_problem(calls.send(address, wrong, method="put"), status=400)


def test_the_form_is_a_guess_from_rows_and_for_stewards_until_a_description_confirms_it(
    calls: Caller, cast: Cast, dataset: Dataset
) -> None:
    address, others = (
        f"/datasets/{dataset.code}/",
        [Caller(who, "read") for who in (cast.custodian, cast.auditor)],
    )
    assert calls.get(address).json()["form"]["delimiter"] == ","
    for other in others:
        assert other.get(address).json()["form"] is None
        assert other.get("/datasets/").json()["results"][0]["form"] is None
    assert calls.send(f"{address}domain/", DOMAIN, method="put").status_code == 201
    for other in others:
        assert other.get(address).json()["form"]["delimiter"] == ","


def test_a_deleted_dataset_is_listed_only_when_asked_for_and_takes_nothing_more(
    calls: Caller, dataset: Dataset
) -> None:
    assert calls.client.delete(f"/api/v1/datasets/{dataset.code}/").status_code == 204
    assert calls.get("/datasets/").json()["count"] == 0
    assert calls.get("/datasets/?state=deleted").json()["results"][0]["code"] == dataset.code
    assert_problem(put_file(calls, dataset, TABLE.encode()), status=404)
    assert_problem(calls.client.delete(f"/api/v1/datasets/{dataset.code}/"), status=404)


def test_while_a_run_is_open_file_and_dataset_stay(calls: Caller, played: Scene) -> None:
    assert_problem(put_file(calls, played.dataset, b"a\n1\n"), status=409)
    assert_problem(calls.client.delete(f"/api/v1/datasets/{played.dataset.code}/"), status=409)


def test_descriptions_are_there_by_number_and_the_draft_as_a_document(
    calls: Caller, played: Scene
) -> None:
    first = calls.get(f"/datasets/{played.dataset.code}/domain/1/").json()
    assert first == calls.get(f"/datasets/{played.dataset.code}/domain/").json()
    assert_problem(calls.get(f"/datasets/{played.dataset.code}/domain/2/"), status=404)
    draft = calls.get(f"/datasets/{played.fresh.code}/domain/draft/").json()
    assert [column["name"] for column in draft["attributes"]] == [
        column["name"] for column in DOMAIN["attributes"]
    ]


def test_the_exported_books_and_their_head_are_checked_by_the_checker_from_the_same_place(
    cast: Cast, played: Scene, tmp_path: Path
) -> None:
    calls = Caller(cast.auditor, "read")
    address = f"/accounts/{played.account.code}"
    (tmp_path / "verify_ledger.py").write_bytes(calls.get("/verify_ledger.py").content)
    (tmp_path / "signing.pub").write_bytes(calls.get("/signing.pub").content)
    (tmp_path / "entries.json").write_bytes(
        b"".join(calls.get(f"{address}/entries.json").streaming_content)
    )
    head = calls.get(f"{address}/head/").json()
    (tmp_path / "head.json").write_text(json.dumps(head))
    command = [
        sys.executable,
        "-I",
        "verify_ledger.py",
        "entries.json",
        "--head",
        "head.json",
        "--key",
        "signing.pub",
    ]
    checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    text = (tmp_path / "entries.json").read_text()
    (tmp_path / "entries.json").write_text(
        text.replace("To publish", "To publish!", 1).replace("Agreed", "Disagreed", 1)
    )
    assert (
        subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode != 0
    )
    assert head["statement"]["head"] in text
    lines = (
        b"".join(calls.get(f"{address}/entries.csv").streaming_content).decode().splitlines()
    )
    assert len(lines) == 1 + head["statement"]["length"]


def test_the_audit_log_is_narrowed_and_each_part_is_for_whom_it_is(
    cast: Cast, played: Scene
) -> None:
    auditor, steward, reader = (
        Caller(user, "read") for user in (cast.auditor, cast.steward, played.reader)
    )
    whole = auditor.get("/audit/?limit=200").json()
    assert whole["count"] > 10
    narrowed = auditor.get(f"/audit/?action=run.submitted&object={played.run.code}").json()[
        "results"
    ]
    assert [deed["actor"] for deed in narrowed] == ["steward"]
    assert narrowed[0]["in_words"] != narrowed[0]["action"]
    mine = reader.get("/me/history/?sort=sequence").json()["results"]
    assert {deed["actor"] for deed in mine if deed["object_kind"] == "token"} == {"reader"}
    assert_problem(reader.get("/audit/"), status=403)
    assert_problem(steward.get("/audit/"), status=403)
    history = steward.get(f"/datasets/{played.dataset.code}/history/").json()["results"]
    assert {deed["action"] for deed in history} >= {
        "dataset.uploaded",
        "run.submitted",
        "release.shared",
    }
    assert auditor.get("/audit/head/").json()["statement"]["length"] >= whole["count"]


def test_a_release_gets_a_name_and_is_verified(
    cast: Cast, calls: Caller, played: Scene
) -> None:
    address = f"/releases/{played.release.code}/"
    changed = calls.send(address, {"description": "For teaching"}, method="patch").json()
    assert (changed["name"], changed["description"]) == (played.release.name, "For teaching")
    assert changed["notes"] is None and calls.get(address).json() == changed  # there is no tree
    assert_problem(
        Caller(played.reader, "share").send(address, {"name": "x"}, method="patch"), status=403
    )
    said = Caller(played.reader, "read").get(f"{address}verification/").json()
    assert said["accepted"] is True
    assert float(said["epsilon"]) <= 1


def test_the_network_of_a_release_names_the_parents_of_each_column(
    cast: Cast, played: Scene, calls: Caller
) -> None:
    from synth_engine.spec import Spec

    spec = Spec.from_json({"mechanism": "bayesian-network", "epsilon": "1", "delta": "1e-9"})
    run = runs.submit(ReleaseRequest(dataset=played.dataset, spec=spec), steward=cast.steward)
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    nodes = calls.get(f"/releases/{run.release.code}/network/").json()
    names = [node["column"] for node in nodes]
    assert sorted(names) == ["age", "region", "works"]
    for place, node in enumerate(nodes):
        assert set(node["parents"]) <= set(names[:place])
    assert_problem(calls.get(f"/releases/{played.release.code}/network/"), status=404)


def test_the_log_of_a_run_is_a_list_and_only_a_failed_run_resumes(
    calls: Caller, played: Scene
) -> None:
    lines = calls.get(f"/runs/{played.run.code}/log/?sort=at").json()["results"]
    assert lines[0]["text"].startswith("Submitted")
    assert_problem(calls.send(f"/runs/{played.run.code}/resume/", None), status=409)


def test_a_dictionary_is_taken_into_the_draft_and_a_schema_comes_out(
    calls: Caller, played: Scene
) -> None:
    schema = calls.get(f"/datasets/{played.dataset.code}/domain/1/table-schema/").json()
    assert [field["type"] for field in schema["fields"]] == ["string", "integer", "boolean"]
    assert_problem(
        calls.get(f"/datasets/{played.dataset.code}/domain/2/table-schema/"), status=404
    )
    played.account.refresh_from_db()
    held = played.account.epsilon_held
    address = f"/datasets/{played.fresh.code}/domain/draft/"
    answer = calls.send(f"{address}?replaces=true", schema).json()
    assert (answer["title"], answer["columns"]) == ("Table Schema", ["region", "age", "works"])
    draft = calls.get(address).json()["attributes"]
    assert {column["provenance"] for column in draft} == {"suggested"}
    answer = calls.send(
        address, {"age": {"values": {"min": 0, "max": 9}}, "size": {"description": "Of what?"}}
    ).json()
    assert answer["columns"] == []
    assert len(answer["remarks"]) == 2
    assert_problem(calls.send(address, {"other": {"values": {"min": 0, "max": 9}}}), status=422)
    assert_problem(calls.send(address, []), status=422)
    assert_problem(calls.send(f"{address}?replaces=perhaps", schema), status=400)
    played.account.refresh_from_db()
    assert played.account.epsilon_held == held
