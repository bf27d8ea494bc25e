"""Tables at rest: what goes in comes out, nothing else does, and nothing readable lies about."""

from __future__ import annotations

import fcntl
import hashlib
import os
import signal
import subprocess
import sys
import textwrap
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pyrage
import pytest
from pytest_django import Settings

from synthweb.datasets import files, vault

CANARY = b"CANARY-7f3a9c51"
TABLE = b"name,age\n" + b"".join(CANARY + b",%d\n" % age for age in range(20_000))


@pytest.fixture(autouse=True)
def places(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A vault and rooms of this test's own."""
    settings.VAULT_DIR = tmp_path / "vault"
    rooms = tmp_path / "rooms"
    rooms.mkdir()
    monkeypatch.setattr(vault, "RAM_DISK", rooms)
    yield tmp_path
    assert not list(rooms.rglob("table*"))


def put(table: bytes = TABLE, *, piece: int = 10_000) -> str:
    with vault.Writer() as writer:
        for start in range(0, len(table), piece):
            writer.write(table[start : start + piece])
        writer.end()
        return writer.keep()


def stored(settings: Settings) -> list[str]:
    return sorted(path.name for path in Path(settings.VAULT_DIR).iterdir())


def opened(name: str) -> bytes:
    with vault.open_table(name) as path:
        return path.read_bytes()


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 65_537, 300_000])
def test_a_table_comes_out_as_it_went_in(size: int) -> None:
    table = os.urandom(size)
    assert opened(put(table)) == table


def test_the_name_is_the_hash_of_the_stored_bytes_and_differs_each_time(settings: Settings) -> None:
    first, second = put(), put()
    assert first != second
    assert hashlib.sha256((Path(settings.VAULT_DIR) / first).read_bytes()).hexdigest() == first


def test_no_plaintext_touches_the_disk_while_it_is_received_or_afterwards(places: Path) -> None:
    with vault.Writer() as writer:
        writer.write(TABLE)
        writer.write(TABLE)
        assert not any(CANARY in path.read_bytes() for path in places.rglob("*") if path.is_file())
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


@pytest.mark.parametrize("change", ["last byte", "first byte", "middle", "cut", "cut to nothing", "longer"])
def test_a_changed_file_is_refused_before_anything_is_handed_out(settings: Settings, change: str) -> None:
    name = put()
    tampered(settings, name, change)
    handed_out = []
    with pytest.raises(vault.TamperedError), vault.open_table(name) as path:
        handed_out.append(path)
    assert handed_out == []


def test_a_file_swapped_for_another_valid_one_is_refused(settings: Settings) -> None:
    mine, other = put(), put(b"a,b\n1,2\n")
    (Path(settings.VAULT_DIR) / mine).write_bytes((Path(settings.VAULT_DIR) / other).read_bytes())
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


@pytest.mark.parametrize("name", ["", "../settings.py", "/etc/passwd", "a" * 63, "A" * 64, "a" * 64 + "\n", "a" * 65])
def test_only_names_the_vault_made_are_looked_up(name: str) -> None:
    with pytest.raises(vault.VaultError):
        vault.path_of(name)


def test_an_erased_table_is_gone_and_says_so() -> None:
    name = put()
    vault.erase(name)
    vault.erase(name)
    with pytest.raises(vault.VaultError, match="not in the vault"):
        opened(name)


def test_the_opened_table_is_for_its_owner_alone_and_gone_afterwards() -> None:
    with vault.open_table(put()) as path:
        assert path.stat().st_mode & 0o777 == 0o400
        assert path.parent.stat().st_mode & 0o777 == 0o700
    assert not path.exists()


def test_the_opened_table_is_gone_after_an_error_too() -> None:
    with pytest.raises(ZeroDivisionError), vault.open_table(put()) as path:
        1 / 0  # noqa: B018
    assert not path.parent.exists()


def test_the_web_writes_without_a_private_key_and_cannot_open(settings: Settings, tmp_path: Path) -> None:
    settings.VAULT_PRIVATE_KEY_FILE = tmp_path / "nowhere"
    name = put()
    with pytest.raises(files.StorageError, match="cannot be read"):
        opened(name)


def test_a_room_that_somebody_else_prepared_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rooms" / f"synthweb-{os.geteuid()}").symlink_to(tmp_path)
    with pytest.raises(files.StorageError, match="somebody else"):
        opened(put())
    (tmp_path / "rooms" / f"synthweb-{os.geteuid()}").unlink()


CHILD = """
    import os, sys, time
    import django
    django.setup()
    from pathlib import Path
    from django.conf import settings
    from synthweb.datasets import vault
    settings.VAULT_DIR, vault.RAM_DISK = Path(sys.argv[1]), Path(sys.argv[2])
    with vault.open_table(sys.argv[3]) as path:
        print(path, flush=True)
        time.sleep(60)
"""


def other_worker(settings: Settings, name: str) -> tuple[subprocess.Popen[str], Path]:
    """Another process that has the table open."""
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "synthweb.settings", "PYTHONPATH": "."}
    arguments = [str(settings.VAULT_DIR), str(vault.RAM_DISK), name]
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(CHILD), *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


@pytest.mark.slow
def test_what_a_killed_worker_left_is_swept_and_what_a_living_one_holds_is_not(settings: Settings) -> None:
    name = put()
    process, path = other_worker(settings, name)
    try:
        assert path.read_bytes() == TABLE
        assert vault.sweep_rooms() == 0
        assert path.exists()
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert path.exists()
        assert opened(name) == TABLE  # opening sweeps first
        assert not path.parent.exists()
    finally:
        process.kill()
        process.wait()


def test_parts_without_a_writer_are_swept_and_those_of_a_living_one_are_not(settings: Settings) -> None:
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
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "synthweb.settings", "PYTHONPATH": "."}
    command = [sys.executable, "-c", textwrap.dedent(FULL_DISK), str(settings.VAULT_DIR)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=True)
    assert done.stdout == "the table could not be stored; is the disk full? []\n"


def test_the_lock_of_a_room_is_real(tmp_path: Path) -> None:
    with vault.open_table(put()) as path, (path.parent / "owner").open("wb") as owner, pytest.raises(BlockingIOError):
        fcntl.flock(owner.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
