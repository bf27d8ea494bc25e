"""Uploads that resume: pieces that are encrypted from the first byte, offsets that are exact, and the intake
of every table."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyrage
import pytest
from django.conf import settings as django_settings
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from synth_engine import formats
from synthweb.accounts.models import Membership, Role, User
from synthweb.audit.models import AuditEntry
from synthweb.datasets import partial_tables, services, vault
from synthweb.datasets.models import Dataset, PartialUpload, TableVersion
from synthweb.datasets.services import resuming
from synthweb.lib.errors import Gone, InUse
from synthweb.pages.templatetags.amounts import file_size
from synthweb.runs import worker
from synthweb.runs.models import TableJob
from tests.cast import Cast
from tests.engine.kinds import written, zipped
from tests.web.rest import Caller, assert_problem
from tests.web.tus import BYTES, VERSION, Tus, metadata

pytestmark = pytest.mark.usefixtures("places")

CANARY = "CANARY-0ddba11"
TABLE = ("name,age\n" + "".join(f"{CANARY},{age}\n" for age in range(2_000))).encode()


@pytest.fixture
def tus(cast: Cast) -> Tus:
    return Tus(Caller(cast.steward, "read", "spend"))


def folder() -> Path:
    return Path(django_settings.VAULT_DIR) / "uploads"


def nothing_is_left() -> bool:
    return not list(folder().glob("*"))


def stored(dataset: Dataset) -> bytes:
    with vault.open_table(dataset.vault_name) as path:
        return path.read_bytes()


# --- a table comes in pieces --------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("file_name", "content", "step"),
    [
        ("people.csv", TABLE, 1_000),
        ("people.csv", TABLE, len(TABLE)),
        ("people.csv.gz", gzip.compress(TABLE), 100),
        ("people.zip", zipped({"people.csv": TABLE}), 77),
        ("people.parquet", written("parquet"), 999),
    ],
)
def test_the_dataset_is_the_same_as_by_a_plain_upload(
    cast: Cast, tus: Tus, file_name: str, content: bytes, step: int
) -> None:
    plain = services.store_stream(
        steward=cast.steward,
        organisation=cast.organisation,
        name="People",
        file_kind=formats.kind_of(file_name),
        chunks=[content],
    )
    by_plain = AuditEntry.objects.order_by("-sequence")[0]
    code = tus.send(content, step=step, file_name=file_name)
    answer = tus.finish(code)
    assert answer.status_code == 202, answer.content
    resumed = Dataset.objects.get(code=answer.json()["code"])
    differs = {"id", "code", "vault_name", "created_at", "updated_at"}
    facts = [
        {
            key: value
            for key, value in Dataset.objects.filter(pk=one.pk).values()[0].items()
            if key not in differs
        }
        for one in (plain, resumed)
    ]
    assert facts[0] == facts[1]
    assert stored(plain) == stored(resumed)
    assert TableJob.objects.get().dataset == resumed
    by_tus = AuditEntry.objects.filter(action="dataset.uploaded").order_by("-sequence")[0]
    assert by_tus.object_code == resumed.code
    assert (by_plain.action, by_plain.actor, by_plain.detail) == (
        by_tus.action,
        by_tus.actor,
        by_tus.detail,
    )


def test_no_piece_is_in_the_clear_at_any_time(
    tus: Tus, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    code = tus.send(TABLE, step=4_000)
    on_disk = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len([path for path in on_disk if path.parent.name == code]) > 5
    assert not [path for path in on_disk if CANARY.encode() in path.read_bytes()]
    assert {path.stat().st_mode & 0o077 for path in on_disk} == {0}
    tus.finish(code)
    assert not any(
        CANARY.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()
    )
    assert nothing_is_left()
    assert CANARY not in caplog.text


def test_without_the_key_of_the_web_no_piece_opens(tus: Tus) -> None:
    code = tus.begun(len(TABLE))
    tus.append(code, 0, TABLE[:100])
    [key] = folder().glob("*/key")
    web = pyrage.x25519.Identity.from_str(
        Path(django_settings.PREVIEW_PRIVATE_KEY_FILE).read_text().splitlines()[-1]
    )
    own = pyrage.x25519.Identity.from_str(pyrage.decrypt(key.read_bytes(), [web]).decode())
    [piece] = folder().glob("*/0*")
    with pytest.raises(pyrage.DecryptError):
        pyrage.decrypt(piece.read_bytes(), [web])
    assert pyrage.decrypt(piece.read_bytes(), [own]).endswith(TABLE[:100])


def test_pieces_that_change_places_make_no_table(tus: Tus) -> None:
    code = tus.send(TABLE, step=len(TABLE) // 2 if len(TABLE) % 2 == 0 else 1_000)
    first, second, *_ = sorted(folder().glob("*/0*"))
    one, two = first.read_bytes(), second.read_bytes()
    first.write_bytes(two)
    second.write_bytes(one)
    assert_problem(tus.finish(code), status=507)
    assert not Dataset.objects.exists()


def test_asked_again_it_is_the_same_dataset(tus: Tus) -> None:
    code = tus.send(TABLE, step=10_000)
    first, again = tus.finish(code), tus.finish(code)
    assert (first.status_code, again.status_code) == (202, 202)
    assert first.json()["code"] == again.json()["code"]
    assert first["Location"] == again["Location"]
    assert Dataset.objects.count() == 1
    assert tus.offset(code) == len(TABLE)
    assert_problem(tus.append(code, len(TABLE), b""), status=410)
    assert_problem(tus.end(code), status=410)


def test_it_becomes_the_next_file_of_a_dataset(cast: Cast, tus: Tus) -> None:
    first = tus.finish(tus.send(TABLE, step=10_000)).json()["code"]
    worker.table_job(code=TableJob.objects.get().code)
    code = tus.send(TABLE + b"more,1\n", step=10_000)
    answer = tus.caller.send(f"/uploads/{code}/replace/", {"dataset": first})
    assert answer.status_code == 202, answer.content
    assert answer.json()["code"] == first
    assert TableVersion.objects.filter(dataset__code=first).count() == 2
    again = tus.caller.send(f"/uploads/{code}/replace/", {"dataset": first})
    assert again.json()["code"] == first
    assert TableVersion.objects.count() == 2
    assert_problem(tus.caller.send(f"/uploads/{code}/replace/", {"dataset": "0"}), status=404)


# --- the protocol -------------------------------------------------------------------------------------------
def test_a_server_says_what_it_speaks(tus: Tus) -> None:
    answer = tus.caller.client.options("/api/v1/uploads/")
    assert answer.status_code == 200
    assert answer["Tus-Resumable"] == answer["Tus-Version"] == "1.0.0"
    assert answer["Tus-Extension"] == "creation,expiration,termination"
    assert answer["Tus-Max-Size"] == str(django_settings.UPLOAD_MAX_BYTES)


@pytest.mark.parametrize("version", ["0.2.2", "", "1.0.0, 2.0.0"])
def test_another_version_is_refused(tus: Tus, version: str) -> None:
    code = tus.begun(len(TABLE))
    headers = {"Tus-Resumable": version}
    for answer in (
        tus.begin(10, **headers),
        tus.append(code, 0, b"x", **headers),
        tus.head(code, **headers),
    ):
        assert answer.status_code == 412
        assert answer["Tus-Version"] == "1.0.0"
    assert tus.offset(code) == 0


@pytest.mark.parametrize("length", ["", "-1", "1e3", "x", "٣", "9" * 19])
def test_a_length_has_to_be_a_number_of_bytes(tus: Tus, length: str) -> None:
    assert_problem(tus.begin(length.encode().decode("latin-1")), status=400)


def test_a_length_above_the_limit_is_refused_before_anything_is_sent(
    tus: Tus, settings: Settings
) -> None:
    settings.UPLOAD_MAX_BYTES = 1_000
    problem = assert_problem(tus.begin(1_001), status=413)
    assert "larger than" in problem["detail"]
    assert tus.begin(1_000).status_code == 201


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("", 400),
        ("filename", 400),
        ("filename !!", 400),
        ("filename YQ== YQ==", 400),
        ("filename /w==", 400),
        ("filename " + "YWFh" * 2_000, 400),
        (metadata("people.exe"), 422),
        ("filetype dGV4dA==,other," + metadata("people.csv"), 201),
    ],
)
def test_the_metadata_name_the_file(tus: Tus, text: str, status: int) -> None:
    assert tus.begin(10, **{"Upload-Metadata": text}).status_code == status


def test_of_the_name_of_a_file_nothing_is_stored_but_the_kind(tus: Tus) -> None:
    code = tus.begun(10, file_name=f"../{CANARY}.csv")
    row = PartialUpload.objects.filter(code=code).values()[0]
    assert row["file_kind"] == "csv"
    assert CANARY not in str(row)


def test_an_empty_file_is_refused_as_by_a_plain_upload(tus: Tus) -> None:
    assert "empty" in assert_problem(tus.begin(0), status=422)["detail"]


@pytest.mark.parametrize("offset", [0, 99, 101, 5_000, 10**17])
def test_bytes_continue_exactly_where_the_upload_stands(tus: Tus, offset: int) -> None:
    code = tus.begun(len(TABLE))
    assert tus.append(code, 0, TABLE[:100]).status_code == 204
    assert_problem(tus.append(code, offset, TABLE[100:200]), status=409)
    assert tus.offset(code) == 100


@pytest.mark.parametrize("offset", ["", "-1", "x", "1.0", "9" * 19])
def test_an_offset_has_to_be_a_number(tus: Tus, offset: str) -> None:
    assert_problem(tus.append(tus.begun(10), offset, b"x"), status=400)


def test_more_bytes_than_were_announced_are_refused(tus: Tus) -> None:
    code = tus.begun(10)
    assert_problem(tus.append(code, 0, b"name,age\n1,"), status=409)
    assert tus.append(code, 0, b"name,age\n").status_code == 204
    assert_problem(tus.append(code, 9, b"1,"), status=409)
    assert tus.offset(code) == 9


def test_no_bytes_change_nothing(tus: Tus) -> None:
    code = tus.begun(10)
    answer = tus.append(code, 0, b"")
    assert (answer.status_code, answer["Upload-Offset"]) == (204, "0")
    assert_problem(tus.append(code, 1, b""), status=409)


@pytest.mark.parametrize("kind", ["text/csv", "application/octet-stream", "application/json"])
@pytest.mark.parametrize("body", [b"", b"x"])
def test_bytes_have_a_type_of_their_own(tus: Tus, kind: str, body: bytes) -> None:
    code = tus.begun(10)
    assert_problem(tus.append(code, 0, body, kind=kind), status=415)
    assert tus.append(code, 0, body, kind=f"{BYTES}; charset=x").status_code == 204


def test_an_upload_is_ended_and_stays_so(tus: Tus) -> None:
    code = tus.begun(len(TABLE))
    tus.append(code, 0, TABLE[:100])
    assert tus.end(code).status_code == 204
    assert nothing_is_left()
    for answer in (tus.append(code, 100, b"x"), tus.end(code), tus.finish(code)):
        assert_problem(answer, status=410)
    assert tus.head(code).status_code == 410
    assert tus.head("nowhere").status_code == 404


def test_other_methods_can_be_sent_by_post(tus: Tus) -> None:
    code = tus.begun(10)
    client = tus.caller.client

    def post(method: str, body: bytes = b"", **headers: str) -> Any:
        return client.post(
            f"/api/v1/uploads/{code}/",
            body,
            content_type=BYTES,
            headers=VERSION | {"X-HTTP-Method-Override": method} | headers,
        )

    assert post("PATCH", b"name,age\n", **{"Upload-Offset": "0"}).status_code == 204
    assert post("HEAD")["Upload-Offset"] == "9"
    assert post("GET").status_code == 405
    assert client.post(f"/api/v1/uploads/{code}/", headers=VERSION).status_code == 405
    assert post("DELETE").status_code == 204


def test_a_table_cannot_be_finished_before_its_end(tus: Tus) -> None:
    code = tus.begun(len(TABLE))
    assert_problem(tus.finish(code), status=409)
    tus.append(code, 0, TABLE[:-1])
    assert_problem(tus.finish(code), status=409)
    tus.append(code, len(TABLE) - 1, TABLE[-1:])
    assert_problem(tus.finish(code, name=""), status=400)
    assert_problem(tus.finish(code, name="two\nlines"), status=422)
    assert tus.finish(code).status_code == 202


# --- refusals are those of a plain upload -------------------------------------------------------------------
def test_first_bytes_of_another_kind_are_refused_at_once_and_end_the_upload(tus: Tus) -> None:
    code = tus.begun(10**6)
    problem = assert_problem(tus.append(code, 0, b"%PDF-1.7\n" + b"x" * 10_000), status=422)
    assert "PDF" in problem["detail"]
    assert tus.head(code).status_code == 410
    assert nothing_is_left()


@pytest.mark.parametrize(
    ("file_name", "content", "words"),
    [
        ("people.csv.gz", gzip.compress(TABLE)[:-9], "ends too early"),
        ("people.csv.gz", gzip.compress(gzip.compress(TABLE)), "packed twice"),
        ("people.parquet", written("parquet")[:-1], "cut short"),
        ("people.zip", zipped({"a.csv": TABLE, "b.csv": TABLE}), ""),
    ],
)
def test_what_the_intake_refuses_in_the_end_leaves_nothing(
    cast: Cast, tus: Tus, file_name: str, content: bytes, words: str
) -> None:
    by_tus = assert_problem(
        tus.finish(code := tus.send(content, step=1_000, file_name=file_name)), status=422
    )
    assert words in by_tus["detail"]
    with pytest.raises(formats_error()) as plain:
        services.store_stream(
            steward=cast.steward,
            organisation=cast.organisation,
            name="People",
            file_kind=formats.kind_of(file_name),
            chunks=[content],
        )
    assert by_tus["detail"] == plain.value.text
    assert tus.head(code).status_code == 410
    assert nothing_is_left()
    assert not Dataset.objects.exists()
    assert CANARY not in str(by_tus)


def formats_error() -> type[Any]:
    from synth_engine.errors import TableError

    return TableError


def test_what_unpacks_to_too_much_is_stopped(tus: Tus, settings: Settings) -> None:
    settings.UPLOAD_MAX_BYTES = 50_000
    bomb = gzip.compress(b"a,b\n" + b"1,2\n" * 100_000)
    assert (
        "larger than"
        in assert_problem(
            tus.finish(tus.send(bomb, step=500, file_name="a.csv.gz")), status=422
        )["detail"]
    )


def test_a_full_disk_is_a_problem_document_and_keeps_what_is_there(
    tus: Tus, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = tus.begun(len(TABLE))
    tus.append(code, 0, TABLE[:100])

    def full(*_args: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(partial_tables.files, "replace", full)
        assert_problem(tus.append(code, 100, TABLE[100:]), status=507)
    assert tus.offset(code) == 100
    assert tus.append(code, 100, TABLE[100:]).status_code == 204


# --- the page of a new dataset ------------------------------------------------------------------------------
def test_the_page_lists_what_its_reader_may_continue(cast: Cast, tus: Tus) -> None:
    def page_of(user: User) -> str:
        client = Client()
        client.force_login(user)
        return " ".join(client.get(reverse("pages:upload")).content.decode().split())

    assert "Unfinished uploads" not in page_of(cast.steward)
    code = tus.begun(len(TABLE))
    assert f"0 B of {file_size(len(TABLE))} came in" in page_of(cast.steward)
    tus.append(code, 0, TABLE[:5_000])
    shown = page_of(cast.steward)
    assert f"{file_size(5_000)} of {file_size(len(TABLE))} came in" in shown
    assert CANARY not in shown
    other = User.objects.create(username="other-steward")
    Membership.objects.create(user=other, organisation=cast.organisation, role=Role.STEWARD)
    assert "Unfinished uploads" not in page_of(other)
    # What came in whole is not listed: the form has it, of its own person alone.
    tus.append(code, 5_000, TABLE[5_000:])
    whole = page_of(cast.steward)
    assert "Unfinished uploads" not in whole and f'value="{code}"' in whole
    assert code not in page_of(other)
    tus.end(code)
    assert "Unfinished uploads" not in page_of(cast.steward)


# --- limits and time ----------------------------------------------------------------------------------------
def test_one_person_has_so_many_unfinished_ones(
    cast: Cast, tus: Tus, settings: Settings
) -> None:
    settings.UPLOADS_UNFINISHED = 2
    first = tus.begun(10)
    tus.begun(10)
    answer = tus.begin(10)
    assert "unfinished" in assert_problem(answer, status=429)["detail"]
    assert 0 < int(answer["Retry-After"]) <= 24 * 3600
    listed = tus.caller.get("/uploads/").json()
    assert [one["length"] for one in listed] == [10, 10]
    assert first in {one["code"] for one in listed}
    tus.end(first)
    assert tus.begin(10).status_code == 201


def test_an_upload_that_nobody_continues_expires(tus: Tus) -> None:
    code = tus.begun(len(TABLE))
    answer = tus.append(code, 0, TABLE[:100])
    assert answer["Upload-Expires"].endswith("GMT")
    services.sweep()
    assert tus.offset(code) == 100
    PartialUpload.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert tus.head(code).status_code == 410
    assert tus.caller.get("/uploads/").json() == []
    assert services.sweep() >= 1
    assert nothing_is_left()
    assert PartialUpload.objects.get().state == "ended"
    PartialUpload.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    services.sweep()
    assert not PartialUpload.objects.exists()


def test_each_piece_gives_time_for_the_next(tus: Tus, settings: Settings) -> None:
    code = tus.begun(len(TABLE))
    soon = timezone.now() + timedelta(minutes=1)
    PartialUpload.objects.update(expires_at=soon)
    tus.append(code, 0, TABLE[:100])
    assert PartialUpload.objects.get().expires_at > soon + timedelta(hours=1)


def test_a_folder_without_an_upload_is_swept(tus: Tus) -> None:
    code = tus.begun(len(TABLE))
    tus.append(code, 0, TABLE[:100])
    other = tus.begun(len(TABLE))
    tus.append(other, 0, TABLE[:100])
    PartialUpload.objects.filter(code=code).delete()
    assert resuming.sweep_uploads() == 1
    assert [path.name for path in folder().glob("*")] == [other]
    assert tus.offset(other) == 100


def test_who_sends_single_bytes_is_stopped(tus: Tus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resuming, "MOST_PIECES", 3)
    code = tus.begun(len(TABLE))
    for offset in range(3):
        assert tus.append(code, offset, TABLE[offset : offset + 1]).status_code == 204
    assert_problem(tus.append(code, 3, TABLE[3:4]), status=409)


# --- two at once --------------------------------------------------------------------------------------------
def test_while_one_request_writes_others_are_asked_to_come_back(tus: Tus) -> None:
    code = tus.begun(len(TABLE))
    tus.append(code, 0, TABLE[:100])
    with partial_tables.locked(code):
        for answer in (tus.append(code, 100, TABLE[100:]), tus.end(code)):
            assert_problem(answer, status=423)
        assert tus.offset(code) == 100
        PartialUpload.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
        services.sweep()
        assert PartialUpload.objects.get().state == "open"
        with pytest.raises(InUse), partial_tables.locked(code):
            pass


def test_a_request_that_waited_for_its_end_writes_nothing(cast: Cast, tus: Tus) -> None:
    upload = PartialUpload.objects.get(code=tus.begun(len(TABLE)))
    tus.end(upload.code)
    with pytest.raises(Gone):
        resuming.append(upload=upload, offset=0, length=1, stream=None)


# --- whose it is --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("who", "status"),
    [("stranger", 404), ("custodian", 403), ("analyst", 403), ("auditor", 403)],
)
def test_nobody_else_reaches_an_upload(cast: Cast, tus: Tus, who: str, status: int) -> None:
    code = tus.begun(len(TABLE))
    tus.append(code, 0, TABLE[:100])
    other = Tus(Caller(cast.by_name()[who], "read", "spend"))
    for answer in (
        other.append(code, 100, TABLE[100:]),
        other.end(code),
        other.finish(code),
        other.caller.get(f"/uploads/{code}/"),
    ):
        assert_problem(answer, status=status)
    assert other.head(code).status_code == status
    if status == 404:
        assert other.caller.get("/uploads/").json() == []
    else:
        assert_problem(other.begin(10), status=403)
        assert_problem(other.caller.get("/uploads/"), status=403)
    assert tus.offset(code) == 100


def test_a_colleague_who_uploads_as_well_does_not_see_it(cast: Cast, tus: Tus) -> None:
    from synthweb.accounts.models import Role
    from synthweb.accounts.services import NewPerson, create_user

    colleague = create_user(
        actor="system",
        organisation=cast.organisation,
        person=NewPerson(username="second-steward"),
        roles=[Role.STEWARD],
        password="a long pass phrase",
    )
    code = tus.begun(len(TABLE))
    other = Tus(Caller(colleague, "read", "spend"))
    assert other.head(code).status_code == 404
    assert other.caller.get("/uploads/").json() == []


def test_a_token_that_may_only_read_sends_nothing(cast: Cast, tus: Tus) -> None:
    code = tus.begun(len(TABLE))
    reader = Tus(Caller(cast.steward, "read"))
    assert_problem(reader.begin(10), status=403)
    assert_problem(reader.append(code, 0, b"x"), status=403)
    assert_problem(reader.end(code), status=403)
    assert reader.offset(code) == 0


def test_a_session_needs_the_token_against_forgery(cast: Cast) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.get(pk=cast.steward.pk))
    headers = VERSION | {"Upload-Length": "10", "Upload-Metadata": metadata("people.csv")}

    def begin(**more: str) -> Any:
        return client.generic("POST", "/api/v1/uploads/", headers=headers | more)

    assert begin().status_code == 403
    page = client.get("/datasets/upload/").text
    [token] = set(re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page))
    secret = {"X-CSRFToken": token}
    begun = begin(**secret)
    assert begun.status_code == 201
    address = f"/api/v1/uploads/{begun.json()['code']}/"
    patch = VERSION | {"Upload-Offset": "0"}
    assert client.patch(address, b"a,b\n", content_type=BYTES, headers=patch).status_code == 403
    assert (
        client.patch(address, b"a,b\n", content_type=BYTES, headers=patch | secret).status_code
        == 204
    )


# --- the page -----------------------------------------------------------------------------------------------
def post(client: Client, address: str, **fields: str) -> Any:
    return client.post(address, {"name": "People", "description": "", **fields})


def test_the_page_takes_the_code_of_an_upload_in_place_of_a_file(
    browser: Callable[..., Client], cast: Cast, tus: Tus
) -> None:
    code = tus.send(TABLE, step=10_000)
    client, address = browser(cast.steward), reverse("pages:upload")
    first, again = (post(client, address, upload=code) for _ in range(2))
    dataset = Dataset.objects.get()
    assert stored(dataset) == TABLE
    for answer in (first, again):
        assert (answer.status_code, answer.url) == (
            302,
            reverse("pages:upload-status", args=[dataset.code]),
        )
    assert TableJob.objects.get().dataset == dataset
    assert nothing_is_left()


def test_a_mistake_in_the_form_does_not_cost_the_file(
    browser: Callable[..., Client], cast: Cast, tus: Tus
) -> None:
    code = tus.send(TABLE, step=10_000)
    client, address = browser(cast.steward), reverse("pages:upload")
    answer = post(client, address, upload=code, name="")
    assert answer.status_code == 422
    assert f'name="upload" value="{code}"' in answer.text
    assert "The file is here already" in answer.text
    assert "Choose the file again" not in answer.text
    assert post(client, address, upload=code).status_code == 302


def test_a_refused_table_is_asked_for_again(
    browser: Callable[..., Client], cast: Cast, tus: Tus
) -> None:
    code = tus.send(gzip.compress(TABLE)[:-9], step=10_000, file_name="a.csv.gz")
    client, address = browser(cast.steward), reverse("pages:upload")
    answer = post(client, address, upload=code)
    assert "ends too early" in answer.context["form"].errors["table"][0]
    assert code not in answer.text
    answer = post(client, address, upload=code)  # from another window
    assert "ended or expired" in answer.context["form"].errors["table"][0]
    assert nothing_is_left()


@pytest.mark.parametrize("upload", ["", "0", "k7mq2wz9ha", "../../etc", "x" * 17])
def test_no_upload_and_no_file_are_no_table(
    browser: Callable[..., Client], cast: Cast, upload: str
) -> None:
    answer = post(browser(cast.steward), reverse("pages:upload"), upload=upload)
    assert answer.status_code in (404, 422)
    assert not Dataset.objects.exists()


def test_an_upload_that_is_not_complete_makes_no_dataset(
    browser: Callable[..., Client], cast: Cast, tus: Tus
) -> None:
    code = tus.begun(len(TABLE))
    answer = post(browser(cast.steward), reverse("pages:upload"), upload=code)
    assert "not complete" in answer.text
    assert f'value="{code}"' in answer.text


def test_the_uploads_of_others_are_not_taken(
    browser: Callable[..., Client], cast: Cast, tus: Tus
) -> None:
    code = tus.send(TABLE, step=10_000)
    answer = post(browser(cast.stranger), reverse("pages:upload"), upload=code)
    assert answer.status_code == 404
    assert not Dataset.objects.exists()


def test_a_corrected_file_comes_by_its_code_as_well(
    browser: Callable[..., Client], cast: Cast, tus: Tus
) -> None:
    dataset = Dataset.objects.get(code=tus.finish(tus.send(TABLE, step=10_000)).json()["code"])
    worker.table_job(code=TableJob.objects.get().code)
    code = tus.send(TABLE + b"more,1\n", step=10_000)
    client, address = browser(cast.steward), reverse("pages:replace", args=[dataset.code])
    for _ in range(2):
        assert client.post(address, {"upload": code}).status_code == 302
    assert TableVersion.objects.count() == 2
    dataset.refresh_from_db()
    assert stored(dataset) == TABLE + b"more,1\n"
