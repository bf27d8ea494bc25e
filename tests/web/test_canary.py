"""Marker values in the cells of a table, followed through the whole main job: afterwards they are in nothing
but the pages that show real data to its steward. Searched: every row of the database and the files it lies
in, the broker, every file the application wrote, every line that any part of it logged at the most talkative
level, and every answer to everybody, error pages included."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from django.conf import settings
from django.db import connection
from django.test import Client

from synthweb.accounts.models import User
from synthweb.datasets import selectors as datasets
from synthweb.datasets import services
from synthweb.datasets.models import Dataset, Preview
from synthweb.runs import services as runs
from synthweb.runs import worker
from tests import services as started
from tests.cast import Cast
from tests.web import addresses, doorbell, scene
from tests.web.scene import Scene

pytestmark = [pytest.mark.slow, pytest.mark.services, pytest.mark.django_db(transaction=True)]

WORD = "cnry" + secrets.token_hex(8)
NUMBER = f"{secrets.randbelow(10**9) + 10**9}{secrets.randbelow(10**9):09d}"


def marked_table() -> str:
    """The table of the scene with a marker in each column: a word, a number far out of bounds, a strange
    answer."""
    return scene.TABLE + f"{WORD},41,yes\nnorth,{NUMBER},no\nsouth,30,{WORD}\n"


BROKEN = {  # tables that are refused, each because of the very cell that holds a marker
    "a line too long": f"a,b\n1,2\n3,4,{WORD}\n",
    "a line too short": f"a,b\n1,2\n{WORD}\n",
    "no header, and a cell twice": f"{WORD},2,{WORD}\n1,2,3\n",
    "no header, and a line too short": f"5,{WORD}\n3\n",
    "an open quote": f'a,b\n1,2\n3,"{WORD}\n',
    "text after a quote": f'a,b\n1,2\n3,"x"{WORD}\n',
    "a byte that is no text": f"a,b\n1,2\n3,{WORD}\x81\n",
    "a zero byte": f"a,b\n1,2\n3,{WORD}\0\n",
}


@pytest.fixture
def broker() -> Iterator[str]:
    """A real Redis behind the task queue."""
    with started.start_redis() as address, doorbell.queue_at(address):
        yield address


@pytest.fixture
def played(
    everything_logged: Path, cast: Cast, broker: str, monkeypatch: pytest.MonkeyPatch
) -> Scene:
    monkeypatch.setattr(scene, "TABLE", marked_table())
    monkeypatch.setattr(
        scene.upload, "__kwdefaults__", {**scene.upload.__kwdefaults__, "table": marked_table()}
    )
    return scene.play(
        steward=cast.steward, custodian=cast.custodian, organisation=cast.organisation
    )


def hits(text: str | bytes) -> list[str]:
    """Which markers are in it, in any spelling a program might give them."""
    data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    spellings = {WORD, NUMBER, f"{int(NUMBER):,}", repr(float(NUMBER)), WORD.upper()}
    found = {spelling for spelling in spellings if spelling.encode() in data}
    return sorted(found | {s for s in (WORD, NUMBER) if s.encode("utf-16-le") in data})


def assert_clean(text: str | bytes, where: object) -> None:
    assert not hits(text), f"a marker is in {where}"


def test_the_markers_went_in_and_their_steward_sees_them(cast: Cast, played: Scene) -> None:
    """Without this the others could pass because nothing was ever read."""
    shown = datasets.preview_for(cast.steward, played.dataset, Preview.Kind.TABLE)
    assert hits(repr(shown))
    client = Client()
    client.force_login(cast.steward)
    undescribed = scene.read(
        scene.upload(steward=cast.steward, organisation=cast.organisation, name="Undescribed")
    )
    page = client.get(f"/datasets/{undescribed.code}/describe/")
    assert page.status_code == 200
    assert hits(page.content)


def test_nothing_that_is_stored_holds_a_marker(
    cast: Cast, played: Scene, broker: str, everything_logged: Path
) -> None:
    _refuse_all(cast)
    assert_clean(_database(), "the database")
    assert_clean(_redis(broker), "the broker")
    for path in _files():
        with contextlib.suppress(
            FileNotFoundError
        ):  # a test beside this one has taken its own file away
            assert_clean(path.read_bytes(), path)
    log = everything_logged.read_text(errors="surrogateescape")
    assert len(log.splitlines()) > 100
    assert_clean(log, "the log")


@pytest.mark.same_on_every_database  # asks what the table of test_authorisation_matrix.py asks
def test_no_answer_holds_a_marker_but_the_stewards_pages_of_real_data(
    cast: Cast, played: Scene
) -> None:
    real = {
        "datasets/<slug:code>/describe/",
        "releases/<slug:code>/compare/",
        "releases/<slug:code>/compare/all/",
        "releases/<slug:code>/compare/part/<slug:key>/",
        "releases/<slug:code>/compare/report.json",
    }
    people: list[User | None] = [
        None,
        cast.steward,
        cast.custodian,
        cast.auditor,
        cast.staff,
        played.reader,
    ]
    for person in [*people, cast.analyst, cast.stranger]:
        client = Client(raise_request_exception=False)
        if person is not None:
            client.force_login(person)
        for route in addresses.routes():
            if route.startswith(addresses.ADMIN) or "logout" in route:
                continue
            response = client.get(
                addresses.fill(route, scene=played, cast=cast), headers={"Accept": "*/*"}
            )
            if not (person == cast.steward and route in real):
                assert_clean(_body(response), f"{route} as {person}")


def test_a_refusal_names_the_place_and_not_the_cell(
    cast: Cast, everything_logged: Path, broker: str
) -> None:
    client = Client()
    client.force_login(cast.steward)
    for why, dataset in _refuse_all(cast).items():
        assert dataset.status == Dataset.Status.REFUSED, why
        assert dataset.refusal["rule"], why
        assert_clean(repr(dataset.refusal), why)
        for address in (
            f"/datasets/{dataset.code}/",
            f"/datasets/{dataset.code}/upload/",
            f"/api/v1/datasets/{dataset.code}/",
        ):
            response = client.get(address)
            assert response.status_code == 200
            if dataset.dialect["asked"] and address.endswith("/upload/"):
                # How the file is to be read is asked beside its first lines: real data, for the steward
                # alone.
                assert b"Real data, not differentially private" in response.content
            else:
                assert_clean(response.content, (why, address))
            for person in (cast.custodian, cast.auditor, cast.analyst, cast.stranger):
                assert_clean(_as(person, address), (why, address, person))
    assert_clean(everything_logged.read_bytes(), "the log")


def _as(person: User, address: str) -> bytes:
    client = Client()
    client.force_login(person)
    return client.get(address).content


def test_a_worker_that_breaks_on_a_cell_says_nothing_of_it(
    cast: Cast, played: Scene, everything_logged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_with_data(*_: object, **__: object) -> Any:
        raise ValueError(f"could not convert {WORD} of row {NUMBER}")

    monkeypatch.setattr("synth_engine.room.counts.contingency", break_with_data)
    run = scene.submit(steward=cast.steward, dataset=played.dataset, epsilon="0.2")
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.state == run.State.FAILED
    client = Client()
    client.force_login(cast.steward)
    for address in (
        f"/runs/{run.code}/",
        f"/api/v1/runs/{run.code}/",
        f"/datasets/{played.dataset.code}/",
    ):
        assert_clean(client.get(address).content, address)
    assert_clean(_database(), "the database")
    assert_clean(everything_logged.read_bytes(), "the log")


def _refuse_all(cast: Cast) -> dict[str, Dataset]:
    made = {}
    for why, table in BROKEN.items():
        dataset = services.store_stream(
            steward=cast.steward,
            organisation=cast.organisation,
            name=why,
            file_kind="csv",
            chunks=[table.encode("latin-1")],
        )
        job = runs.request_ingest(dataset=dataset, actor=cast.steward)
        worker.table_job(code=job.code)
        dataset.refresh_from_db()
        made[why] = dataset
    return made


def _database() -> str:
    """Every row of every table, as text."""
    rows = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')
            rows += [repr(row) for row in cursor.fetchall()]
    assert len(rows) > 50
    return "\n".join(rows)


def _redis(address: str) -> bytes:
    """Everything the broker holds."""
    store = redis.Redis(unix_socket_path=address.removeprefix("redis+socket://"))
    held = []
    for key in store.scan_iter():
        kind = store.type(key)
        read = {
            b"list": lambda k: store.lrange(k, 0, -1),
            b"set": store.smembers,
            b"hash": store.hgetall,
        }
        held.append(key + repr(read.get(kind, store.dump)(key)).encode())
    assert any(b"runs.synthesize" in one or b"confidential" in one for one in held)
    return b"\n".join(held)


def _files() -> list[Path]:
    """Every file below the application's folder and beside the database."""
    name = Path(connection.settings_dict["NAME"])
    places = [
        Path(settings.VAR_DIR),
        Path(settings.VAULT_DIR),
        Path(settings.PREVIEW_DIR),
        Path(settings.ARTEFACT_DIR),
    ]
    found = {path for place in places for path in place.rglob("*") if path.is_file()}
    found |= set(name.parent.glob(f"{name.name}*"))
    assert any(Path(settings.VAULT_DIR) in path.parents for path in found)
    return sorted(found)


def _body(response: Any) -> bytes:
    return b"".join(response.streaming_content) if response.streaming else response.content
