"""A disk without room for the noisy answers: found before the charge, or waited for after it. The disk is one
that lets no file grow beyond a limit (RLIMIT_FSIZE), in a process of its own. tests/e2e/test_faults.py does
it to a real worker."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from pytest_django import Settings

from synthweb.ledger.models import LedgerEntry
from synthweb.runs import artefacts, storing, worker
from synthweb.runs.models import SynthesisRun
from tests.cast import Cast
from tests.web import scene

LIMITED = """
    import resource, sys
    import django
    django.setup()
    from pathlib import Path
    from django.conf import settings
    from synthweb.runs import artefacts
    settings.ARTEFACT_DIR = Path(sys.argv[1])

    def limit(size):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    def files():
        return sorted((path.suffix, path.stat().st_size) for path in settings.ARTEFACT_DIR.iterdir())
"""
RESERVE = """
    limit(1000)
    try:
        with artefacts.reserved(1001):
            print("reserved")
    except artefacts.NoRoom:
        print("no room", files())
    with artefacts.reserved(1000):
        print("reserved", files())
    print(files())
"""
STORE = """
    with artefacts.reserved(10) as room:
        limit(1000)
        try:
            room.store(b"x" * 2000, name="one.npz")
        except OSError:
            print("not stored")
        limit(5000)
        room.store(b"y" * 2000, name="one.npz")
    print(files(), set((settings.ARTEFACT_DIR / "one.npz").read_bytes()) == {ord("y")})
"""


def limited(script: str, folder: Path) -> str:
    """What a script says in a process whose disk is small."""
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "synthweb.settings",
        "PYTHONPATH": ".",
    }
    command = [
        sys.executable,
        "-c",
        textwrap.dedent(LIMITED) + textwrap.dedent(script),
        str(folder),
    ]
    return subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=300, check=True
    ).stdout


def entries(run: SynthesisRun) -> list[str]:
    """What the ledger has of a run."""
    return list(
        LedgerEntry.objects.filter(run_code=run.code)
        .order_by("sequence")
        .values_list("kind", flat=True)
    )


@pytest.fixture
def folder(settings: Settings, tmp_path: Path) -> Path:
    """Answers of this test alone."""
    settings.ARTEFACT_DIR = tmp_path / "answers"
    settings.ARTEFACT_DIR.mkdir()
    return tmp_path / "answers"


@pytest.mark.slow
def test_a_reservation_takes_the_room_or_says_that_there_is_none(folder: Path) -> None:
    assert limited(RESERVE, folder) == "no room []\nreserved [('.npz', 1000)]\n[]\n"


@pytest.mark.slow
def test_answers_that_the_disk_did_not_take_are_stored_whole_when_it_does(folder: Path) -> None:
    assert limited(STORE, folder) == "not stored\n[('.npz', 2000)] True\n"


def test_answers_are_written_into_the_blocks_that_were_reserved(folder: Path) -> None:
    """Else the room could be taken by somebody else between the two."""
    with artefacts.reserved(100_000) as room:
        (part,) = folder.iterdir()
        reserved = part.stat()
        assert reserved.st_blocks * 512 >= 100_000
        room.store(b"answers", name="one.npz")
    (stored,) = folder.iterdir()
    assert (stored.name, stored.stat().st_ino, stored.read_bytes()) == (
        "one.npz",
        reserved.st_ino,
        b"answers",
    )


def test_a_sweep_leaves_reservations_of_the_living_and_answers_that_are_known(
    folder: Path,
) -> None:
    """Failed before: a clock set forward by an hour had answers swept that were not recorded yet."""
    asked = []

    def is_known(name: str) -> bool:
        asked.append(name)
        return name == "known.npz"

    for name in ("known.npz", "orphan.npz", f"{artefacts.PART}left.npz"):
        (folder / name).write_bytes(b"answers")
    with artefacts.reserved(1000) as room:
        room.store(b"drawn", name="drawn.npz")
        for path in folder.iterdir():
            os.utime(path, (0, 0))
        assert artefacts.sweep(is_known=is_known) == 2
    assert sorted(asked) == sorted(["known.npz", "orphan.npz", f"{artefacts.PART}left.npz"])
    assert sorted(path.name for path in folder.iterdir()) == ["drawn.npz", "known.npz"]


def test_a_reservation_that_was_swept_before_it_was_locked_is_made_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, taken = fcntl.flock, []

    def sweep_first(descriptor: int, how: int) -> None:
        if not taken:
            taken.append(next(folder.iterdir()))
            taken[0].unlink()
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", sweep_first)
    with artefacts.reserved(1000) as room:
        room.store(b"answers", name="one.npz")
    assert (folder / "one.npz").read_bytes() == b"answers"


@pytest.mark.django_db
def test_a_run_without_room_for_its_answers_fails_before_its_charge_and_says_what_to_do(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failed before: the budget was charged, and the answers were lost."""
    run = scene.submit(steward=cast.steward, dataset=scene.funded(cast))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert (run.state, run.failure["code"]) == (SynthesisRun.State.FAILED, "no-room")
    assert "submit the run again" in run.failure["text"]
    assert entries(run) == ["HOLD", "RELEASE"]


@pytest.mark.django_db
def test_answers_that_cannot_be_stored_at_first_are_stored_in_the_end(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failed before: one error of the disk, and the run failed with its charge kept. More errors than there
    are pauses."""
    run = scene.submit(steward=cast.steward, dataset=scene.funded(cast))
    store, errors = artefacts.Reservation.store, [OSError(28, "No space left on device")] * 9

    def full_at_first(room: artefacts.Reservation, content: bytes, *, name: str) -> None:
        if errors:
            raise errors.pop()
        store(room, content, name=name)

    monkeypatch.setattr(artefacts.Reservation, "store", full_at_first)
    monkeypatch.setattr(storing, "RECORD_PAUSES", (0.01,))
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.state == SynthesisRun.State.FINISHED, run.failure
    assert entries(run) == ["HOLD", "CHARGE"]
    assert run.events.filter(text=storing.WAITING_FOR_ROOM).count() == 1
