"""Tables on their way out: large ones are drawn by a process of their own, few at once, and broken off if it
fails."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from django.http import HttpRequest
from django.test import Client
from pytest_django import Settings

from synth_engine import codec, mechanisms
from synth_engine.mechanisms import Model
from synth_engine.models import blocks
from synthweb.releases import drawing, model_cache, services, spool, table_writers, tables
from synthweb.releases.models import Release, Sample
from synthweb.releases.slots import Slot, TooManyDrawings
from synthweb.server.pacing import PacedSocket, Room
from tests.cast import Cast
from tests.engine.test_targets import model as refining
from tests.web import scene
from tests.web.html import html_of
from tests.web.rest import PROBLEM, Caller

Browser = Callable[..., Client]


@pytest.fixture(autouse=True)
def _own_slots(settings: Settings, tmp_path: Path) -> None:
    """Slots that an earlier test holds, in responses that Python has yet to collect, are not counted here."""
    settings.SPOOL_DIR = str(tmp_path)


@pytest.fixture
def sample(cast: Cast) -> Sample:
    return scene.play(
        steward=cast.steward, custodian=cast.custodian, organisation=cast.organisation
    ).sample


@pytest.fixture
def large(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> Sample:
    """One that is taken for large."""
    monkeypatch.setattr(spool, "SMALL", 0)
    return sample


def _another(sample: Sample, rows: int) -> Sample:
    return services.draw_sample(
        user=sample.requested_by,
        release=sample.release,
        rows=rows,
        seed="tulip",
    )


def _earlier_csv(sample: Sample, *, for_spreadsheets: bool = False) -> str:
    """As tables were written before downloads were spooled: header and first block in one."""
    model = Model.from_json(sample.model_document)
    text = ""
    blocks = mechanisms.draw_blocks(model, sample.rows, sample.seed)
    for number, block in enumerate(blocks):
        shown = codec.as_text(model.domain, block)
        if for_spreadsheets:
            shown = shown.apply(table_writers._harmless).rename(
                columns=table_writers.harmless_text
            )
        text += shown.to_csv(index=False, header=number == 0, lineterminator="\n")
    return text


# --- the same bytes -----------------------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.parametrize("for_spreadsheets", [False, True])
def test_a_table_drawn_elsewhere_is_byte_for_byte_the_one_drawn_here(
    large: Sample, monkeypatch: pytest.MonkeyPatch, for_spreadsheets: bool
) -> None:
    form: table_writers.FileFormat = "spreadsheets" if for_spreadsheets else "csv"
    for sample in (large, _another(large, 70_000)):  # of one block, and of two
        elsewhere = b"".join(spool.Download(sample, format=form))
        assert elsewhere.decode() == _earlier_csv(sample, for_spreadsheets=for_spreadsheets)
        assert elsewhere.decode() == "".join(
            tables.stream_csv(sample, for_spreadsheets=for_spreadsheets)
        )
        with monkeypatch.context() as patch:
            patch.setattr(spool, "SMALL", 10**9)
            assert b"".join(spool.Download(sample, format=form)) == elsewhere


@pytest.mark.slow
def test_parquet_drawn_elsewhere_holds_the_same_table(large: Sample) -> None:
    here = io.BytesIO()
    tables.write_parquet(large, here)
    elsewhere = io.BytesIO(b"".join(spool.Download(large, format="parquet")))
    assert elsewhere.getvalue() == here.getvalue()
    assert len(pd.read_parquet(elsewhere)) == large.rows


def test_the_first_line_is_known_before_anything_is_drawn(
    large: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(self: spool._Drawn, has_gone: object) -> Iterator[bytes]:
        raise AssertionError("something was drawn")
        yield b""

    expected = _earlier_csv(large).split("\n")[0] + "\n"
    monkeypatch.setattr(spool._Drawn, "pieces", nothing)
    download = spool.Download(large)
    assert next(download).decode() == expected
    download.close()


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "declared", "parquet", "xlsx"])
def test_a_large_table_begins_here_and_goes_on_elsewhere(
    large: Sample, form: table_writers.FileFormat
) -> None:
    Release.objects.filter(pk=large.release.pk).update(model=refining().to_json())
    large.release.refresh_from_db()
    table = _another(large, 20_000)
    domain = refining().domain
    whole = table_writers.first_line(domain, form)
    whole += b"".join(table_writers.pieces(tables.draw_of(table), form))
    assert b"".join(spool.Download(table, format=form)) == whole


@pytest.mark.slow
def test_the_first_rows_do_not_wait_for_the_process(large: Sample) -> None:
    Release.objects.filter(pk=large.release.pk).update(model=refining().to_json())
    large.release.refresh_from_db()
    download = spool.Download(_another(large, 20_000))
    assert download._drawing is not None
    download._drawing._process.kill()
    assert next(download).count(b"\n") == 1
    assert next(download).count(b"\n") == blocks.FIRST
    with pytest.raises(spool.DrawingFailed):
        list(download)


def test_the_page_that_waits_says_how_many_rows_are_drawn(
    large: Sample, browser: Browser
) -> None:
    Release.objects.filter(pk=large.release.pk).update(model=refining().to_json())
    large.release.refresh_from_db()
    table = _another(large, 40_000)
    client = browser(table.requested_by)
    page = f"/releases/{table.release.code}/samples/{table.code}/"
    # Nothing is drawn: the page waits for a press on a button.
    assert "click from:.downloads" in html_of(client.get(page))
    assert "progressbar" not in html_of(client.get(f"{page}progress/"))
    download = spool.Download(table)
    assert "of 40" in html_of(client.get(f"{page}progress/"))
    seen = set()
    for _ in download:
        rows = spool.rows_so_far(table)
        if rows is not None and rows not in seen:
            seen.add(rows)
            assert "progressbar" in html_of(client.get(f"{page}progress/"))
    # Notes follow the blocks of the process; the last one is gone with the download.
    assert seen <= {0, 8_192, 24_576, 40_000} and 40_000 in seen
    assert spool.rows_so_far(table) is None
    after = html_of(client.get(f"{page}progress/?tries=3"))
    assert "click from:.downloads" in after and "progressbar" not in after


def test_a_note_that_was_left_behind_says_nothing(sample: Sample) -> None:
    path = spool._progress_file(sample)
    path.parent.mkdir(parents=True)
    path.write_text("77")
    assert spool.rows_so_far(sample) == 77
    os.utime(path, (1, 1))
    assert spool.rows_so_far(sample) is None


# --- a process of its own -----------------------------------------------------------------------------------
def test_what_draws_knows_no_key_and_no_database(
    large: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[dict[str, str]] = []
    popen = subprocess.Popen

    def noted(*arguments: Any, **keywords: Any) -> Any:
        started.append(keywords["env"])
        return popen(*arguments, **keywords)

    monkeypatch.setenv("DATABASE_URL", "postgres://secret")
    monkeypatch.setattr(subprocess, "Popen", noted)
    spool.Download(large).close()
    assert len(started) == 1
    assert not [
        name for name in started[0] if name.startswith(("SYNTHWEB_", "DATABASE_", "DJANGO_"))
    ]


@pytest.mark.slow
def test_what_draws_imports_no_django() -> None:
    said = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import sys, {drawing.__name__}, {table_writers.__name__}; print('django' in sys.modules)",
        ],
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.strip() == "False"


@pytest.mark.slow
def test_a_process_that_dies_breaks_the_download_off(large: Sample) -> None:
    table = _another(large, 100_000)
    download = spool.Download(table)
    next(download)
    assert download._drawing is not None
    process = download._drawing._process
    process.kill()
    with pytest.raises(spool.DrawingFailed):
        list(download)
    with Slot(large.requested_by_id), Slot(large.requested_by_id):
        pass


@pytest.mark.slow
def test_whoever_leaves_ends_the_process_and_gives_the_slot_back(large: Sample) -> None:
    download = spool.Download(_another(large, 5_000_000))
    next(download)
    assert download._drawing is not None
    process = download._drawing._process
    assert process.poll() is None
    download.close()
    assert process.poll() is not None
    with Slot(large.requested_by_id), Slot(large.requested_by_id):
        pass


@pytest.mark.slow
def test_who_has_left_is_noticed_before_the_first_row(large: Sample) -> None:
    ours, client = socket.socketpair()
    with PacedSocket(ours, Room(0)) as connection, client:
        request = HttpRequest()
        request.META["gunicorn.socket"] = connection
        download = spool.Download(_another(large, 5_000_000), request=request)
        assert next(download)
        assert not connection.has_gone()
        client.close()
        assert connection.has_gone()
        with pytest.raises(spool.Left):
            next(download)
    assert download._drawing is not None
    assert download._drawing._process.poll() is not None


# --- so many at once ----------------------------------------------------------------------------------------
def test_a_person_draws_so_many_at_once_and_so_do_all(
    sample: Sample, settings: Settings
) -> None:
    settings.DRAWINGS_PER_PERSON, settings.DRAWINGS = 2, 3
    with Slot(1), Slot(1), Slot(2):
        for person in (1, 3):
            with pytest.raises(TooManyDrawings) as refused:
                Slot(person)
            assert refused.value.wait > 0
    held = [Slot(1), Slot(1)]
    with pytest.raises(TooManyDrawings, match="You have 2"):
        Slot(1)
    held.pop().close()
    Slot(1).close()


def test_a_slot_comes_back_when_its_holder_is_killed(
    sample: Sample, settings: Settings
) -> None:
    settings.DRAWINGS_PER_PERSON = 1
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        held = Slot(7)
        os.write(writer, b"x")
        signal.pause()
        held.close()
        os._exit(1)
    os.close(writer)
    assert os.read(reader, 1) == b"x"
    with pytest.raises(TooManyDrawings):
        Slot(7)
    os.kill(child, 9)
    os.waitpid(child, 0)
    Slot(7).close()
    os.close(reader)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_one_too_many_is_a_problem_document_in_rest(
    sample: Sample, settings: Settings, kind: str
) -> None:
    settings.DRAWINGS_PER_PERSON = 1
    caller = Caller(sample.requested_by, "read")
    with Slot(sample.requested_by_id):
        refused = caller.get(f"/samples/{sample.code}/table.{kind}")
    assert refused.status_code == HTTPStatus.TOO_MANY_REQUESTS
    assert refused["Content-Type"] == PROBLEM
    assert refused["Retry-After"]
    assert refused.json()["type"] == "urn:synthweb:too-many-drawings"
    given = caller.get(f"/samples/{sample.code}/table.{kind}")
    assert given.status_code == HTTPStatus.OK
    assert b"".join(given.streaming_content)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_one_too_many_is_a_page_in_the_browser(
    sample: Sample, settings: Settings, browser: Browser, kind: str
) -> None:
    settings.DRAWINGS_PER_PERSON = 1
    client = browser(sample.requested_by)
    address = f"/releases/{sample.release.code}/samples/{sample.code}/table.{kind}"
    with Slot(sample.requested_by_id):
        refused = client.get(address)
    assert refused.status_code == HTTPStatus.TOO_MANY_REQUESTS
    assert refused["Retry-After"]
    assert "Too many tables at once" in html_of(refused)
    assert address in html_of(refused)
    given = client.get(address)
    assert given.status_code == HTTPStatus.OK
    assert b"".join(given.streaming_content)


def test_a_small_table_needs_no_process(
    sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    assert b"".join(spool.Download(sample)).decode() == _earlier_csv(sample)
    assert json.dumps(sample.model_document)  # what a process would be handed


# --- large samples ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("refined", [False, True])
def test_a_large_sample_has_the_same_bytes_from_a_process_and_from_the_engine(
    sample: Sample, refined: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if refined:
        release = sample.release
        Release.objects.filter(pk=release.pk).update(model=refining().to_json())
        release.refresh_from_db()
    monkeypatch.setattr(spool, "SMALL", 0)
    another = _another(sample, 60)
    spooled = b"".join(spool.Download(another)).decode()
    assert spooled == _earlier_csv(another)


def test_the_page_says_from_how_many_rows_on_rows_are_repeated(
    cast: Cast, sample: Sample, browser: Browser
) -> None:
    address = f"/releases/{sample.release.code}/samples/"
    words = "1\u202f000\u202f000 rows or more repeats rows"
    assert words not in html_of(browser(cast.steward).get(address))
    # A model that refines its rows towards targets, by itself or of the cells of places.
    targets = {"synthesis": "finish", "targets": [{"clique": ["age"]}]}
    described = {"domain": sample.release.model["domain"]}
    for more in (targets, {"coded": targets | described}):
        model_cache.repeats_rows_from.cache_clear()
        Release.objects.update(model=sample.release.model | more)
        assert words in html_of(browser(cast.steward).get(address))
    model_cache.repeats_rows_from.cache_clear()
    Release.objects.update(model=sample.release.model | targets | {"targets": []})
    assert words not in html_of(browser(cast.steward).get(address))
