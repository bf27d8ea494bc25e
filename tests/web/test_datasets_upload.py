"""Uploading: encrypted while it comes in, all or nothing, and told plainly when it cannot be taken."""

from __future__ import annotations

import gzip
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from synth_engine.errors import TableError
from synthweb.audit.models import AuditEntry
from synthweb.datasets import sealed_names, selectors, services, vault
from synthweb.datasets.models import Dataset, Preview
from synthweb.runs import worker
from synthweb.runs.models import TableJob
from tests.cast import Cast
from tests.engine.kinds import written, zipped

pytestmark = pytest.mark.usefixtures("places")

Browser = Callable[..., Client]
CANARY = "CANARY-0ddba11"
TABLE = "name,age\n" + "".join(f"{CANARY},{age}\n" for age in range(2_000))


def send(
    client: Client,
    content: bytes | str = TABLE,
    *,
    file_name: str = "people.csv",
    field: str = "table",
    **extra: Any,
) -> Any:
    data = content.encode() if isinstance(content, str) else content
    form = {
        "name": extra.pop("name", "People"),
        "description": "",
        field: SimpleUploadedFile(file_name, data),
    }
    return client.post(reverse("pages:upload"), form | extra.pop("form", {}), **extra)


def nothing_was_kept() -> bool:
    folder = Path(django_settings.VAULT_DIR)
    return not Dataset.objects.exists() and not (folder.is_dir() and list(folder.iterdir()))


def stored_table(dataset: Dataset) -> bytes:
    with vault.open_table(dataset.vault_name) as path:
        return path.read_bytes()


def database_text() -> str:
    """Everything in the database, as text."""
    from django.apps import apps

    return "".join(str(list(model._base_manager.values())) for model in apps.get_models())


# --- what is taken ------------------------------------------------------------------------------------------
def test_a_table_is_stored_encrypted_and_queued_for_the_worker(
    browser: Browser, cast: Cast, tmp_path: Path
) -> None:
    answer = send(browser(cast.steward))
    dataset = Dataset.objects.get()
    assert answer.status_code == 302
    assert answer.url == reverse("pages:upload-status", args=[dataset.code])
    assert stored_table(dataset) == TABLE.encode()
    assert (dataset.status, dataset.file_kind, dataset.size_bytes) == (
        "uploaded",
        "csv",
        len(TABLE),
    )
    assert TableJob.objects.get().dataset == dataset
    assert AuditEntry.objects.get(action="dataset.uploaded").object_code == dataset.code
    assert not any(
        CANARY.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()
    )
    assert CANARY not in database_text()


def test_a_packed_table_is_recognised_as_the_same(browser: Browser, cast: Cast) -> None:
    send(browser(cast.steward), name="Plain")
    send(
        browser(cast.steward),
        gzip.compress(TABLE.encode()),
        file_name="people.csv.gz",
        name="Packed",
    )
    plain, packed = Dataset.objects.order_by("pk")
    assert packed.file_kind == "csv.gz"
    assert gzip.decompress(stored_table(packed)) == TABLE.encode()
    assert list(selectors.same_content(packed)) == [plain]
    assert (
        "uploaded before"
        in browser(cast.steward).get(reverse("pages:upload-status", args=[packed.code])).text
    )


@pytest.mark.parametrize("piece", [1, 500, 100_000])
def test_a_table_in_an_archive_is_kept_without_its_wrapping(cast: Cast, piece: int) -> None:
    archive = zipped(
        {"data/": b"", "data/people.csv": TABLE.encode(), "__MACOSX/._people.csv": b"x"}
    )
    inside = store(
        cast, [archive[at : at + piece] for at in range(0, len(archive), piece)], "zip"
    )
    assert (inside.file_kind, inside.size_bytes) == ("csv", len(TABLE))
    assert stored_table(inside) == TABLE.encode()
    assert list(selectors.same_content(store(cast, [TABLE.encode()]))) == [inside]
    packed = store(cast, [zipped({"people.csv.gz": gzip.compress(TABLE.encode())})], "zip")
    assert (packed.file_kind, packed.content_key) == ("csv.gz", inside.content_key)


def test_an_archive_that_unpacks_to_too_much_leaves_nothing(
    cast: Cast, settings: Settings
) -> None:
    settings.UPLOAD_MAX_BYTES = 100_000
    with pytest.raises(TableError, match="larger than"):
        store(cast, [zipped({"people.csv": b"a,b\n" + b"1,2\n" * 100_000})], "zip")
    assert nothing_was_kept()


def test_which_keys_of_objects_are_columns_is_kept_with_the_dataset(
    browser: Browser, cast: Cast
) -> None:
    lines = b'{"name": "Ann", "age": 12345678901234567}\n{"name": "Bob", "town": "Rome"}\n'
    client = browser(cast.steward)
    assert send(client, lines, file_name="people.jsonl").status_code == 302
    dataset = Dataset.objects.get()
    worker.table_job(code=TableJob.objects.get().code)
    dataset.refresh_from_db()
    assert (dataset.status, dataset.file_kind) == ("ready", "json")
    form = sealed_names.form_of(dataset)
    assert form is not None and form.names == ("name", "age", "town")
    assert (
        "an object a record, with 3 keys as columns"
        in client.get(reverse("pages:settings", args=[dataset.code])).text
    )


def test_gzip_in_several_members_is_one_table(cast: Cast) -> None:
    members = (
        gzip.compress(TABLE[:500].encode()) + gzip.compress(TABLE[500:].encode()) + b"\0" * 64
    )
    one, many = (
        store(cast, [gzip.compress(TABLE.encode())], "csv.gz"),
        store(cast, [members], "csv.gz"),
    )
    assert one.content_key == many.content_key


def test_the_same_content_elsewhere_is_not_told(cast: Cast) -> None:
    mine = store(cast, [TABLE.encode()])
    services.store_stream(
        steward=cast.stranger,
        organisation=cast.elsewhere,
        name="Theirs",
        file_kind="csv",
        chunks=[TABLE.encode()],
    )
    assert list(selectors.same_content(mine)) == []


def test_the_content_key_needs_the_key_of_this_installation(
    cast: Cast, settings: Settings, tmp_path: Path
) -> None:
    first = store(cast, [TABLE.encode()])
    settings.CONTENT_KEY_FILE = tmp_path / "other.key"
    settings.CONTENT_KEY_FILE.write_text("x" * 40)
    assert store(cast, [TABLE.encode()]).content_key != first.content_key


def store(cast: Cast, chunks: list[bytes], kind: str = "csv", **extra: Any) -> Dataset:
    return services.store_stream(
        steward=cast.steward,
        organisation=cast.organisation,
        name="People",
        file_kind=kind,
        chunks=chunks,
        **extra,
    )


@pytest.mark.parametrize("piece", [1, 7, 511, 512, 513, 100_000])
def test_the_size_of_the_pieces_does_not_matter(cast: Cast, piece: int) -> None:
    table = TABLE[:2_000].encode()
    dataset = store(
        cast, [table[start : start + piece] for start in range(0, len(table), piece)]
    )
    assert stored_table(dataset) == table


# --- what is refused ----------------------------------------------------------------------------------------
FOREIGN = {
    "people.xlsx": (b"PK\x03\x04rest", "ZIP archive"),
    "people.sav": (b"a,b\n1,2\n", "no file of the kind SPSS"),
    "people.ods": (b"PK\x03\x04rest", "neither in .csv"),
    "baskets.dat": (b"PK\x03\x04rest", "ZIP archive"),
    "baskets.dat.gz": (b"bread milk\n", "gzip"),
    "people.parquet": (b"PAR1\x15rest", "cut short"),
    "csv.parquet": (b"a,b\n1,2\n", "not a Parquet"),
    "excel.pq": (b"PK\x03\x04rest", "Excel"),
    "locked.parquet": (b"PARE\x15rest", "encrypted Parquet"),
    "empty.parquet": (b"", "not a Parquet"),
    "people": (b"a,b\n1,2\n", "neither in .csv"),
    "page.html.csv": (b"<!doctype html>\n<p>1", "web page (HTML)"),
    "page.csv.gz": (gzip.compress(b"<html><body>" + b"x" * 1000), "web page (HTML)"),
    "lines.csv": (b'{"a": 1}\n', "this is JSON"),
    "table.jsonl": (b"a,b\n1,2\n", "no JSON of objects"),
    "table.jsonl.gz": (gzip.compress(b"a,b\n1,2\n"), "no JSON of objects"),
    "two.zip": (zipped({"a.csv": b"a\n1\n", "b.csv": b"a\n1\n"}), "more than one file"),
    "path.zip": (zipped({"../a.csv": b"a\n1\n"}), "leads out of it"),
    "inner.zip": (zipped({"a.csv": b"%PDF-1.7 rest"}), "PDF"),
    "nested.zip": (zipped({"a.zip": zipped({"a.csv": b"a\n1\n"})}), "archive in an archive"),
    "cut.zip": (zipped({"a.csv": TABLE.encode()})[:-40], "damaged or cut short"),
    "cut-in-the-middle.zip": (
        zipped({"a.csv": os.urandom(3_000)})[:2_000],
        "damaged or cut short",
    ),
    "empty.zip": (zipped({"a.csv": b""}), "empty"),
    "none.zip": (zipped({"a/": b""}), "holds no file"),
    "workbook.zip": (written("xlsx"), "not a ZIP archive of one table"),
    "excel.csv": (b"PK\x03\x04" + b"x" * 1000, "ZIP archive or an Excel workbook"),
    "old-excel.csv": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old Excel workbook"),
    "parquet.csv": (b"PAR1\x15\x04\x15", "Parquet"),
    "page.csv": (b"%PDF-1.7 rest", "PDF"),
    "picture.csv": (b"\x89PNG\r\n\x1a\n", "picture"),
    "photo.csv": (b"\xff\xd8\xff\xe0", "picture"),
    "database.csv": (b"SQLite format 3\x00", "database"),
    "pickle.csv": (b"\x80\x04\x95rest", "pickle"),
    "tar.csv": (b"name" + b"\0" * 253 + b"ustar\x0000" + b"\0" * 300, "tar archive"),
    "packed.csv": (gzip.compress(b"a\n1\n"), "packed with gzip"),
    "plain.csv.gz": (b"a\n1\n", "not packed with gzip"),
    "excel.csv.gz": (gzip.compress(b"PK\x03\x04" + b"x" * 1000), "Excel"),
    "twice.csv.gz": (gzip.compress(gzip.compress(b"a\n1\n")), "packed twice"),
    "cut.csv.gz": (gzip.compress(TABLE.encode())[:-9], "ends too early"),
    "damaged.csv.gz": (gzip.compress(TABLE.encode())[:-6] + b"xxxxxx", "damaged"),
    "behind.csv.gz": (gzip.compress(b"a\n1\n") + b"more", "damaged"),
    "empty.csv": (b"", "empty"),
    "empty.csv.gz": (gzip.compress(b""), "empty"),
}


@pytest.mark.parametrize("file_name", FOREIGN)
def test_what_is_no_csv_is_refused_with_a_repair_and_leaves_nothing(
    browser: Browser, cast: Cast, file_name: str
) -> None:
    content, words = FOREIGN[file_name]
    answer = send(browser(cast.steward), content, file_name=file_name)
    assert answer.status_code == 422
    error = answer.context["form"].errors["table"][0]
    assert words in error[0].lower() + error[1:]
    assert "; " in error  # rule; repair
    assert nothing_was_kept()


@pytest.mark.parametrize(
    "header", ["PK,name", "PAR1,PAR2", "Rar!,x", "BZh,y", "GIF8,z", "MZ,a"]
)
def test_a_header_that_reads_like_the_start_of_another_file_is_a_header(
    cast: Cast, header: str
) -> None:
    assert store(cast, [f"{header}\n1,2\n".encode()]).pk


def test_a_table_over_the_limit_is_refused_while_it_comes_in(
    browser: Browser, cast: Cast, settings: Settings
) -> None:
    settings.UPLOAD_MAX_BYTES = 1 << 20
    answer = send(browser(cast.steward), b"a\n" + b"1\n" * 600_000)
    assert "larger than 1.05 MB" in answer.context["form"].errors["table"][0]
    assert nothing_was_kept()


def test_the_rest_of_a_refused_stream_is_not_read(cast: Cast, settings: Settings) -> None:
    settings.UPLOAD_MAX_BYTES = 10_000
    asked = []

    def chunks() -> Any:
        for index in range(1000):
            asked.append(index)
            yield b"1\n" * 1000

    with pytest.raises(TableError, match="larger than"):
        store(cast, chunks())
    assert len(asked) < 10
    assert nothing_was_kept()


@pytest.mark.slow
def test_a_gzip_bomb_is_stopped_at_the_limit(
    browser: Browser, cast: Cast, settings: Settings
) -> None:
    settings.UPLOAD_MAX_BYTES = 8 << 20
    bomb = gzip.compress(bytes(256 << 20), compresslevel=9)
    answer = send(browser(cast.steward), bomb, file_name="bomb.csv.gz")
    assert "larger than 8.39 MB" in answer.context["form"].errors["table"][0]
    assert nothing_was_kept()


def test_a_stream_that_breaks_leaves_nothing(cast: Cast) -> None:
    def chunks() -> Any:
        yield TABLE.encode()
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        store(cast, chunks())
    assert nothing_was_kept()


def part(disposition: str, content: str) -> str:
    return f"--edge\r\nContent-Disposition: form-data; {disposition}\r\n\r\n{content}\r\n"


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "where", ["in the file", "in the last boundary", "in a field behind the file"]
)
def test_a_connection_that_ends_early_leaves_neither_row_nor_file(
    live_server: LiveServer, browser: Browser, cast: Cast, where: str
) -> None:
    client = browser(cast.steward)
    client.get(reverse("pages:upload"))
    cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items())
    token = client.cookies[django_settings.CSRF_COOKIE_NAME].value
    fields = [
        part(f'name="{key}"', text)
        for key, text in {"csrfmiddlewaretoken": token, "name": "People"}.items()
    ]
    file = part('name="table"; filename="a.csv"', TABLE)
    behind = part('name="description"', "Of the year 1994")
    body = "".join([*fields, file, behind]) + "--edge--\r\n"
    cuts = {"in the file": body.index("1000\n"), "in the last boundary": len(body) - 6}
    sent = body[: cuts.get(where, body.index("year"))].encode()
    host, port = live_server.url.removeprefix("http://").split(":")
    head = (
        f"POST {reverse('pages:upload')} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookies}\r\n"
        f"Content-Type: multipart/form-data; boundary=edge\r\nContent-Length: {len(body)}\r\nConnection: "
        "close\r\n\r\n"
    )
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(head.encode() + sent)
        connection.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert b" 302 " not in answer.split(b"\r\n")[0]
    assert nothing_was_kept()


# --- who, and how -------------------------------------------------------------------------------------------
def test_without_the_token_of_the_form_nothing_is_kept(browser: Browser, cast: Cast) -> None:
    client = browser(cast.steward, enforce_csrf_checks=True)
    assert send(client).status_code == 403
    assert nothing_was_kept()
    client.get(reverse("pages:upload"))
    token = client.cookies[django_settings.CSRF_COOKIE_NAME].value
    for wrong in (
        {},
        {"csrfmiddlewaretoken": token[::-1]},
    ):  # now the form is read before it is refused
        assert send(client, form=wrong).status_code == 403
    assert nothing_was_kept()
    assert send(client, form={"csrfmiddlewaretoken": token}).status_code == 302
    assert send(client, headers={"X-CSRFToken": token}).status_code == 302


def test_others_are_turned_away_before_the_file_is_read(browser: Browser, cast: Cast) -> None:
    assert send(browser()).status_code == 302  # to the sign-in
    for who in ("custodian", "analyst", "auditor"):
        assert send(browser(cast.by_name()[who])).status_code == 403
    assert nothing_was_kept()


def test_a_form_that_is_wrong_otherwise_keeps_what_was_typed_and_no_file(
    browser: Browser, cast: Cast
) -> None:
    answer = send(browser(cast.steward), name="", form={"description": "Of the year 1994"})
    assert answer.status_code == 422
    assert "Of the year 1994" in answer.text
    assert nothing_was_kept()


def test_in_place_the_form_comes_back_with_its_errors_or_leads_on(
    browser: Browser, cast: Cast
) -> None:
    client = browser(cast.steward)
    refused = send(client, b"", headers={"HX-Request": "true"})
    assert refused.status_code == 200
    assert refused.text.lstrip().startswith("<form")
    assert "The file is empty" in refused.text
    taken = send(client, headers={"HX-Request": "true"})
    assert taken.headers["HX-Redirect"] == reverse(
        "pages:upload-status", args=[Dataset.objects.get().code]
    )


HOSTILE = [
    "../../etc/passwd.csv",
    "..\\..\\boot.csv",
    "C:\\Users\\me\\people.csv",
    "CONOUT$.csv",  # a device; its sign is in no token, of which the database holds some
    "x" * 300 + ".csv",
    "people\x00.csv",
    "people\r\nX-Injected: 1.csv",
    "\u202efdp.csv",
    "<script>alert(1)</script>.csv",
    "'; DROP TABLE datasets_dataset; --.csv",
    "{{7*7}}.csv",
]


@pytest.mark.parametrize("file_name", HOSTILE)
def test_of_a_file_name_nothing_but_its_ending_is_used(cast: Cast, file_name: str) -> None:
    from synth_engine.formats import kind_of

    assert kind_of(file_name) == "csv"


@pytest.mark.parametrize(
    "file_name", [name for name in HOSTILE if "\x00" not in name and "\r" not in name]
)
def test_a_hostile_file_name_goes_nowhere(
    browser: Browser, cast: Cast, file_name: str, tmp_path: Path
) -> None:
    marker = file_name.split(".csv")[0][-8:]
    answer = send(browser(cast.steward), file_name=file_name)
    assert answer.status_code == 302
    assert marker not in database_text()
    assert all(
        vault.NAME.fullmatch(path.name)
        for path in Path(django_settings.VAULT_DIR).rglob("*")
        if path.is_file()
    )
    assert "X-Injected" not in str(answer.headers)


def test_names_and_descriptions_are_shown_as_text(browser: Browser, cast: Cast) -> None:
    client = browser(cast.steward)
    send(
        client,
        name="<script>alert(1)</script>",
        form={"description": "<img src=x onerror=alert(2)>"},
    )
    for address in (
        reverse("datasets:index"),
        reverse("pages:upload-status", args=[Dataset.objects.get().code]),
    ):
        page = client.get(address).text
        assert "&lt;script&gt;alert(1)" in page
        assert "<script>alert" not in page
        assert "<img src=x" not in page


@pytest.mark.parametrize(
    "names", [["table"] * 2, ["table", "other"], [f"table{i}" for i in range(100)]]
)
def test_of_several_files_in_one_request_none_is_taken(
    browser: Browser, cast: Cast, names: list[str]
) -> None:
    files = [
        (name, SimpleUploadedFile(f"{place}.csv", TABLE.encode()))
        for place, name in enumerate(names)
    ]
    form: dict[str, Any] = {"name": "People", "description": ""}
    for name, file in files:
        form.setdefault(name, []).append(file)
    assert browser(cast.steward).post(reverse("pages:upload"), form).status_code == 400
    assert nothing_was_kept()


def test_a_file_under_another_name_is_dropped(browser: Browser, cast: Cast) -> None:
    answer = send(browser(cast.steward), field="something")
    assert answer.status_code == 422
    assert nothing_was_kept()


def test_no_other_form_spools_a_file_to_the_disk(
    browser: Browser,
    cast: Cast,
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import tempfile

    settings.FILE_UPLOAD_TEMP_DIR = str(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    send(browser(cast.steward))
    dataset = Dataset.objects.get()
    Dataset.objects.update(status="ready")
    seen: list[str] = []
    original = os.open

    def watched(path: Any, *args: Any, **kwargs: Any) -> int:
        seen.append(str(path))
        return original(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", watched)
    big = SimpleUploadedFile("big.json", TABLE.encode() * 200)
    answer = browser(cast.steward).post(
        reverse("datasets:import", args=[dataset.code]), {"document": big}, follow=True
    )
    assert "at most 2.5 MB" in answer.text
    assert not [
        path
        for path in seen
        if path.endswith(".upload") or path.startswith(str(tmp_path / "tmp"))
    ]


# --- what becomes of it -------------------------------------------------------------------------------------
def status(client: Client, dataset: Dataset, **headers: str) -> Any:
    return client.get(reverse("pages:upload-status", args=[dataset.code]), headers=headers)


def test_the_status_page_asks_again_until_the_table_is_ready(
    browser: Browser, cast: Cast
) -> None:
    client = browser(cast.steward)
    send(client)
    dataset = Dataset.objects.get()
    waiting = status(client, dataset, HX_Request="true")
    assert waiting.status_code == 200
    assert 'hx-trigger="every 1s"' in waiting.text
    worker.table_job(code=TableJob.objects.get().code)
    ready = status(client, dataset, HX_Request="true")
    assert ready.status_code == 286
    assert "hx-trigger" not in ready.text
    assert reverse("datasets:describe", args=[dataset.code]) in ready.text
    assert CANARY not in ready.text
    assert ready.headers["HX-Refresh"] == "true"
    whole = status(client, dataset)  # with the first rows as they were read, and the red bar
    assert CANARY in whole.text
    assert "red-bar" in whole.text
    assert CANARY not in status(browser(cast.custodian), dataset).text
    assert CANARY not in database_text()
    assert selectors.preview_for(cast.steward, dataset, Preview.Kind.TABLE)["rows"] == 2_000


def test_a_table_that_cannot_be_read_says_where_and_how_to_mend_it(
    browser: Browser, cast: Cast
) -> None:
    client = browser(cast.steward)
    send(client, f"name,age\nA,1\n{CANARY},2,3\n")
    dataset = Dataset.objects.get()
    worker.table_job(code=TableJob.objects.get().code)
    dataset.refresh_from_db()
    page = status(client, dataset, HX_Request="true")
    assert dataset.status == "refused"
    assert dataset.refusal is not None
    assert dataset.refusal_line == 3
    assert page.status_code == 286
    assert dataset.refusal["rule"].removeprefix("a ") in page.text
    assert CANARY not in page.text
    assert CANARY not in database_text()


def test_strangers_find_no_status(browser: Browser, cast: Cast) -> None:
    send(browser(cast.steward))
    dataset = Dataset.objects.get()
    assert status(browser(cast.stranger), dataset).status_code == 404
    assert status(browser(cast.analyst), dataset).status_code == 404
    assert status(browser(cast.auditor), dataset).status_code == 200


def test_reading_again_queues_one_job_however_often_it_is_asked(
    browser: Browser, cast: Cast
) -> None:
    client = browser(cast.steward)
    send(client)
    dataset = Dataset.objects.get()
    worker.table_job(code=TableJob.objects.get().code)
    for _ in range(3):
        client.post(reverse("pages:read-again", args=[dataset.code]))
    assert TableJob.objects.filter(state="waiting").count() == 1
    again = browser(cast.custodian).post(reverse("pages:read-again", args=[dataset.code]))
    assert again.status_code == 403


def test_the_sweep_removes_tables_without_a_row_once_they_are_old(cast: Cast) -> None:
    kept = store(cast, [TABLE.encode()])
    lost = store(cast, [TABLE.encode()])
    Dataset.objects.filter(pk=lost.pk).delete()
    assert services.sweep() == 0
    two_hours_ago = time.time() - 7200
    for dataset in (kept, lost):
        os.utime(vault.path_of(dataset.vault_name), (two_hours_ago, two_hours_ago))
    call_command("purge_previews")
    assert stored_table(kept) == TABLE.encode()
    assert not vault.path_of(lost.vault_name).exists()
