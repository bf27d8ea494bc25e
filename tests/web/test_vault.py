"""Tables at rest: what goes in comes out, nothing else does, and nothing readable lies about."""

from __future__ import annotations

import errno
import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pyrage
import pytest
from pytest_django import Settings

import synthweb.celery  # noqa: F401 - connects what a worker does at its start
from synthweb.datasets import files, opened_tables, vault

CANARY = b"CANARY-7f3a9c51"
TABLE = b"name,age\n" + b"".join(CANARY + b",%d\n" % age for age in range(20_000))


@pytest.fixture(autouse=True)
def places(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """A vault of this test's own, and folders in place of /dev/shm and TMPDIR."""
    settings.VAULT_DIR = tmp_path / "vault"
    for name in ("shared", "scratch"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    yield tmp_path
    assert not list(tmp_path.rglob("table*"))


def put(table: bytes = TABLE, *, piece: int = 10_000) -> str:
    with vault.Writer() as writer:
        for start in range(0, len(table), piece):
            writer.write(table[start : start + piece])
        writer.end()
        return writer.keep()


def stored(settings: Settings) -> list[str]:
    return sorted(path.name for path in Path(settings.VAULT_DIR).iterdir() if path.is_file())


def opened(name: str) -> bytes:
    with vault.open_table(name) as path:
        return path.read_bytes()


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 65_537, 300_000])
def test_a_table_comes_out_as_it_went_in(size: int) -> None:
    table = os.urandom(size)
    assert opened(put(table)) == table


def test_the_name_is_the_hash_of_the_stored_bytes_and_differs_each_time(
    settings: Settings,
) -> None:
    first, second = put(), put()
    assert first != second
    assert hashlib.sha256((Path(settings.VAULT_DIR) / first).read_bytes()).hexdigest() == first


def test_no_plaintext_touches_the_disk_while_it_is_received_or_afterwards(places: Path) -> None:
    with vault.Writer() as writer:
        writer.write(TABLE)
        writer.write(TABLE)
        assert not any(
            CANARY in path.read_bytes() for path in places.rglob("*") if path.is_file()
        )
        writer.end()
        writer.keep()
    assert not any(CANARY in path.read_bytes() for path in places.rglob("*") if path.is_file())


def test_memory_does_not_grow_with_the_table() -> None:
    piece = os.urandom(1 << 20)
    tracemalloc.start()
    with vault.Writer() as writer:
        for _ in range(96):
            writer.write(piece)
        writer.end()
        peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 * 2**20


def test_what_was_not_kept_leaves_no_file(settings: Settings) -> None:
    with vault.Writer() as writer:
        writer.write(TABLE)
    with vault.Writer() as writer:
        writer.write(TABLE)
        writer.end()
    assert stored(settings) == []


def test_only_what_was_received_to_its_end_is_kept() -> None:
    with vault.Writer() as writer:
        writer.write(TABLE)
        with pytest.raises(vault.VaultError):
            writer.keep()


def tampered(settings: Settings, name: str, change: str) -> None:
    path = Path(settings.VAULT_DIR) / name
    data = bytearray(path.read_bytes())
    match change:
        case "last byte":
            data[-1] ^= 1
        case "first byte":
            data[0] ^= 1
        case "middle":
            data[len(data) // 2] ^= 1
        case "cut":
            del data[-1000:]
        case "cut to nothing":
            data.clear()
        case "longer":
            data += b"x"
    path.write_bytes(data)


@pytest.mark.parametrize(
    "change", ["last byte", "first byte", "middle", "cut", "cut to nothing", "longer"]
)
def test_a_changed_file_is_refused_before_anything_is_handed_out(
    settings: Settings, change: str
) -> None:
    name = put()
    tampered(settings, name, change)
    handed_out = []
    with pytest.raises(vault.TamperedError), vault.open_table(name) as path:
        handed_out.append(path)
    assert handed_out == []


def test_a_file_swapped_for_another_valid_one_is_refused(settings: Settings) -> None:
    mine, other = put(), put(b"a,b\n1,2\n")
    (Path(settings.VAULT_DIR) / mine).write_bytes(
        (Path(settings.VAULT_DIR) / other).read_bytes()
    )
    with pytest.raises(vault.TamperedError):
        opened(mine)


def test_a_file_for_another_key_is_refused(settings: Settings, tmp_path: Path) -> None:
    stranger = pyrage.x25519.Identity.generate()
    sealed = pyrage.encrypt(TABLE, [stranger.to_public()])
    name = hashlib.sha256(sealed).hexdigest()
    files.private_directory(Path(settings.VAULT_DIR))
    (Path(settings.VAULT_DIR) / name).write_bytes(sealed)
    with pytest.raises(vault.TamperedError):
        opened(name)


@pytest.mark.parametrize(
    "name", ["", "../settings.py", "/etc/passwd", "a" * 63, "A" * 64, "a" * 64 + "\n", "a" * 65]
)
def test_only_names_the_vault_made_are_looked_up(name: str) -> None:
    with pytest.raises(vault.VaultError):
        vault.path_of(name)


def test_an_erased_table_is_gone_and_says_so() -> None:
    name = put()
    vault.erase(name)
    vault.erase(name)
    with pytest.raises(vault.VaultError, match="not in the vault"):
        opened(name)


def on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that memory is short: the table goes to TMPDIR."""
    monkeypatch.setattr(opened_tables, "available_memory", lambda: 0)


@pytest.mark.parametrize("short", [False, True], ids=["in memory", "on a disk"])
def test_the_opened_table_has_no_name_and_is_gone_afterwards(
    short: bool, places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if short:
        on_disk(monkeypatch)
    with vault.open_table(put()) as path:
        assert path.read_bytes() == TABLE
        assert path.stat().st_nlink == 0
        assert path.stat().st_mode & 0o777 == 0o400
        assert ("memfd" in str(path.readlink())) is not short
        assert not any(
            CANARY in found.read_bytes() for found in places.rglob("*") if found.is_file()
        )
    assert not path.exists()


def test_the_opened_table_in_memory_cannot_be_changed_any_more() -> None:
    with vault.open_table(put()) as path, pytest.raises(OSError), path.open("r+b") as file:
        os.ftruncate(file.fileno(), 0)


def test_every_opening_of_the_path_reads_from_the_beginning() -> None:
    with vault.open_table(put()) as path, path.open("rb") as first, path.open("rb") as second:
        assert first.read() == second.read() == TABLE


@pytest.mark.parametrize("short", [False, True], ids=["in memory", "on a disk"])
def test_the_opened_table_is_gone_after_an_error_too(
    short: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if short:
        on_disk(monkeypatch)
    with pytest.raises(ZeroDivisionError), vault.open_table(put()) as path:
        1 / 0  # noqa: B018
    assert not path.exists()


def test_no_room_for_an_opened_table_is_said_as_that(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space")

    on_disk(monkeypatch)
    monkeypatch.setattr(os, "posix_fallocate", full)
    with (
        pytest.raises(vault.VaultError, match="no room to open the table"),
        vault.open_table(put()),
    ):
        pass


FULL_ROOM = """
    import resource, sys
    import django
    django.setup()
    from pathlib import Path
    from django.conf import settings
    from synthweb.datasets import opened_tables, vault
    settings.VAULT_DIR = Path(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    try:
        with vault.open_table(sys.argv[2]):
            print("opened")
    except vault.VaultError as error:
        print(type(error).__name__, error)
"""


@pytest.mark.slow
def test_room_that_runs_out_while_a_table_is_opened_is_not_taken_for_damage(
    settings: Settings,
) -> None:
    """Failed before: the table was said to be damaged."""
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "synthweb.settings",
        "PYTHONPATH": ".",
    }
    command = [sys.executable, "-c", textwrap.dedent(FULL_ROOM), str(settings.VAULT_DIR), put()]
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=300, check=True
    )
    assert done.stdout == f"VaultError {vault.NO_ROOM}\n"


def test_whoever_opens_a_table_leaves_no_core_dump() -> None:
    """In a process of its own, because it is for good."""
    script = """
        import ctypes, resource
        from synthweb.lib import dumps
        dumps.forbid()
        print(resource.getrlimit(resource.RLIMIT_CORE), ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    assert done.stdout == "(0, 0) 0\n"


def test_the_web_writes_without_a_private_key_and_cannot_open(
    settings: Settings, tmp_path: Path
) -> None:
    settings.VAULT_PRIVATE_KEY_FILE = tmp_path / "nowhere"
    name = put()
    with pytest.raises(files.StorageError, match="cannot be read"):
        opened(name)


CHILD = """
    import sys, time
    import django
    django.setup()
    from pathlib import Path
    from django.conf import settings
    from synthweb.datasets import opened_tables, vault
    settings.VAULT_DIR = Path(sys.argv[1])
    if sys.argv[3] == "short":
        opened_tables.available_memory = lambda: 0
    with vault.open_table(sys.argv[2]) as path:
        print("open", flush=True)
        time.sleep(600)
"""


@pytest.mark.slow
@pytest.mark.parametrize("memory", ["enough", "short"])
def test_a_killed_worker_leaves_nothing_to_read(
    settings: Settings, places: Path, memory: str
) -> None:
    """Failed before: the table stayed in /dev/shm until somebody opened another one there."""
    name = put()
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "synthweb.settings",
        "PYTHONPATH": ".",
        "TMPDIR": str(places / "scratch"),
    }
    command = [
        sys.executable,
        "-c",
        textwrap.dedent(CHILD),
        str(settings.VAULT_DIR),
        name,
        memory,
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        process.send_signal(signal.SIGKILL)
        process.wait()
    finally:
        process.kill()
        process.wait()
    places_of_old = [Path("/dev/shm"), places]
    left = [path for place in places_of_old for path in place.rglob("*") if holds_canary(path)]
    assert left == []


def holds_canary(path: Path) -> bool:
    """Whether a file can be read and has a cell of the table; one that its owner takes away meanwhile has
    none."""
    try:
        return path.is_file() and CANARY in path.read_bytes()
    except OSError:
        return False


def test_parts_without_a_writer_are_swept_and_those_of_a_living_one_are_not(
    settings: Settings,
) -> None:
    with vault.Writer() as writer:
        writer.write(TABLE)
        deserted = Path(settings.VAULT_DIR) / f"{'0' * 32}{vault.PART}"
        deserted.write_bytes(b"half")
        assert vault.sweep_parts() == 1
        assert not deserted.exists()
        writer.end()
        assert opened(writer.keep()) == TABLE


FULL_DISK = """
    import resource, sys
    import django
    django.setup()
    from pathlib import Path
    from django.conf import settings
    from synthweb.datasets import vault
    settings.VAULT_DIR = Path(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
    try:
        with vault.Writer() as writer:
            for _ in range(100):
                writer.write(bytes(1_000_000))
            writer.end()
    except vault.VaultError as error:
        print(error, [path.name for path in settings.VAULT_DIR.iterdir()])
"""


@pytest.mark.slow
def test_a_full_disk_is_told_and_leaves_nothing(settings: Settings) -> None:
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "synthweb.settings",
        "PYTHONPATH": ".",
    }
    command = [sys.executable, "-c", textwrap.dedent(FULL_DISK), str(settings.VAULT_DIR)]
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=300, check=True
    )
    assert done.stdout == "the table could not be stored; is the disk full? []\n"
