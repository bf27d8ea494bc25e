"""A backup is restored to an installation that has nothing, and the result proves itself."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from typing import cast as cast_to

import psycopg
import pyrage
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.core.management import CommandError, call_command
from django.db import connection

from synthweb.backups import archive, services
from synthweb.backups.errors import BackupError
from synthweb.datasets import services as datasets
from synthweb.datasets import tombstones
from synthweb.datasets.models import Dataset
from synthweb.ledger import checkpoints as checkpoint_documents
from synthweb.ledger.errors import OlderThanCheckpoint
from synthweb.ledger.models import LedgerEntry
from synthweb.lib import signatures
from synthweb.lib.installation_format import FORMAT
from synthweb.local import keys
from synthweb.local.paths import REPOSITORY
from synthweb.runs import worker
from tests.cast import Cast
from tests.web import scene
from tests.web.ledger_setup import dataset, granted, hold, people

pytestmark = pytest.mark.django_db(transaction=True)
PLACES = ("vault", "artefacts", "previews")


@pytest.fixture
def installation(tmp_path: Path, settings: Any) -> Path:
    """Folders and keys of this test's own."""
    here = tmp_path / "before"
    keys.make(here / "keys")
    settings.VAR_DIR, settings.KEY_DIR = here, here / "keys"
    settings.VAULT_DIR, settings.ARTEFACT_DIR, settings.PREVIEW_DIR = (
        here / name for name in PLACES
    )
    for name, file in services.KEYS.items():
        setattr(settings, file, here / name)
    return here


@pytest.fixture
def identity(tmp_path: Path) -> pyrage.x25519.Identity:
    """The private half, in `KEY` as well."""
    made = pyrage.x25519.Identity.generate()
    (tmp_path / "KEY").write_text(f"# made by age-keygen\n{made}\n")
    return made


@pytest.fixture
def backup(installation: Path, cast: Cast, identity: pyrage.x25519.Identity) -> Iterator[Path]:
    """Of an installation with a table, a charge, stored answers and a release."""
    made = scene.funded(cast)
    worker.synthesize(code=scene.submit(steward=cast.steward, dataset=made).code)
    yield _made(installation, identity)


def _made(installation: Path, identity: pyrage.x25519.Identity) -> Path:
    """A backup, whose signer is noted in `KEY` as the command says."""
    file, said = installation.parent / "copy.age", io.StringIO()
    call_command("backup", str(file), to=str(identity.to_public()), stdout=said)
    with (installation.parent / "KEY").open("a") as key:
        key.writelines(
            line for line in said.getvalue().splitlines(keepends=True) if "signed by" in line
        )
    return file


def restored(backup: Path, address: str, *more: str, key: Path, place: str = "after") -> Any:
    """What the command says that restores to folders which are not there yet. more: further arguments."""
    names = ("DATABASE_URL", "SYNTHWEB_VAR", "DJANGO_SETTINGS_MODULE", "SYNTHWEB_SECRET_KEY")
    given = (address, str(backup.parent / place), "synthweb.settings", "x" * 60)
    # The folders of the tests must not be those of what is restored.
    own = {name: text for name, text in os.environ.items() if not name.startswith("SYNTHWEB_")}
    command = [sys.executable, "manage.py", "restore", str(backup), "--key", str(key), *more]
    return subprocess.run(
        command,
        cwd=REPOSITORY,
        env=own | dict(zip(names, given, strict=True)),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_a_restored_installation_verifies_its_chains_and_opens_its_tables(
    backup: Path, installation: Path, empty_database: str
) -> None:
    if connection.vendor == "sqlite":
        # Where it lies in an installation that nobody configured: in a folder that is not there yet.
        empty_database = f"sqlite:///{backup.parent / 'after' / 'synthweb.sqlite3'}"
    done = restored(backup, empty_database, key=backup.parent / "KEY")
    assert done.returncode == 0, done.stderr
    assert "BROKEN" not in done.stdout and "LOST" not in done.stdout
    assert f"{LedgerEntry.objects.count():>8} entries" in done.stdout
    after = backup.parent / "after"
    for part in (*PLACES, "keys"):
        before = {path.name: path.read_bytes() for path in _files(installation / part)}
        assert before
        assert before == {path.name: path.read_bytes() for path in _files(after / part)}
    assert all(path.stat().st_mode & 0o077 == 0 for path in _files(after))
    # A second time the database is not empty, and nothing is touched.
    again = restored(backup, empty_database, key=backup.parent / "KEY")
    assert again.returncode == 1
    assert "the database is not empty" in again.stderr


def test_the_public_half_is_kept_where_the_private_one_alone_is_given(
    installation: Path,
) -> None:
    """As in the container of backups."""
    public = installation / "keys" / "signing.pub"
    before = public.read_bytes()
    public.unlink()
    assert services._keys()[services.SIGNING_PUBLIC] == before


@pytest.mark.slow
def test_what_was_destroyed_after_a_backup_is_not_brought_back(
    backup: Path, installation: Path, empty_database: str, cast: Cast, tmp_path: Path
) -> None:
    [gone] = Dataset.objects.all()
    datasets.delete(actor=cast.steward, dataset=gone)
    call_command("sign_heads", str(tmp_path))
    given, key = ("--tombstones", str(tmp_path / tombstones.FILE)), backup.parent / "KEY"
    # A key that was changed since is not in the backup, and has to be named.
    keys.change_signing_key(installation / "keys")
    call_command("sign_heads", str(tmp_path))
    refused = restored(backup, empty_database, *given, key=key)
    assert refused.returncode == 1
    assert "which the backup does not hold" in refused.stderr
    assert not (backup.parent / "after").exists()
    public = str(installation / "keys" / "signing.pub")
    done = restored(backup, empty_database, *given, "--signed-by", public, key=key)
    assert done.returncode == 0, done.stderr
    assert "1 tables that were destroyed after it stay destroyed" in done.stdout
    assert "LOST" not in done.stdout and "BROKEN" not in done.stdout
    after = backup.parent / "after"
    assert not [path for path in _files(after / "vault") if path.name == gone.vault_name]
    # Previews of the deleted dataset were in the backup, too.
    assert not _files(after / "previews")


@pytest.mark.slow
def test_a_key_that_changes_while_a_backup_is_made_stops_it(
    installation: Path, identity: pyrage.x25519.Identity, monkeypatch: pytest.MonkeyPatch
) -> None:
    dump = services.database.dump

    def changing(path: Path) -> None:
        dump(path)
        (installation / "keys" / "vault.pub").write_text("age1another\n")

    monkeypatch.setattr(services.database, "dump", changing)
    with pytest.raises(CommandError, match="a key was changed meanwhile"):
        call_command("backup", str(installation.parent), to=str(identity.to_public()))


@pytest.mark.slow
def test_a_restore_that_cannot_be_whole_changes_nothing(
    backup: Path, empty_database: str
) -> None:
    other = backup.parent / "OTHER"
    other.write_text(f"{pyrage.x25519.Identity.generate()}\n")
    damaged = backup.with_name("damaged.age")
    content = bytearray(backup.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(content)
    short = backup.with_name("short.age")
    short.write_bytes(backup.read_bytes()[:-1000])
    for file, key in (
        (backup, other),
        (damaged, backup.parent / "KEY"),
        (short, backup.parent / "KEY"),
    ):
        done = restored(file, empty_database, key=key)
        assert done.returncode == 1
        assert "damaged or incomplete, or was made for another key" in done.stderr
    assert not (backup.parent / "after").exists()
    # Keys of another installation are there.
    keys.make(backup.parent / "taken" / "keys")
    done = restored(backup, empty_database, key=backup.parent / "KEY", place="taken")
    assert done.returncode == 1
    assert "belongs to another installation" in done.stderr
    assert not _files(backup.parent / "taken" / "vault")


# --- backups that somebody else made ------------------------------------------------------------------------
SPARSE = 4 << 30


@dataclass(frozen=True, kw_only=True)
class Original:
    """A true backup, what is in it, and what whoever writes to its folder knows: the public key that it is
    encrypted to."""

    content: bytes
    members: dict[str, bytes]
    recipient: pyrage.x25519.Recipient
    key: Ed25519PrivateKey

    def changed(self, key: Ed25519PrivateKey, changes: dict[str, bytes]) -> bytes:
        """A whole backup, some of whose members are others, signed by `key`."""
        out, members = io.BytesIO(), self.members | changes
        manifest = json.loads(members.pop(archive.MANIFEST))["statement"]

        def fill(writer: archive.ArchiveWriter) -> None:
            for name, content in members.items():
                writer.add(name, content)
            writer.finish(
                {name: manifest[name] for name in ("at", "database", "counts")}, key=key
            )

        archive.write(out, recipient=self.recipient, fill=fill)
        return out.getvalue()

    def holding(self, *members: tarfile.TarInfo) -> bytes:
        """A file of members without content."""
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as made:
            for member in members:
                made.addfile(member, io.BytesIO(bytes(member.size)))
        return self.sealed(out.getvalue())

    def sealed(self, tar: bytes) -> bytes:
        sealed: bytes = pyrage.encrypt(tar, [self.recipient])
        return sealed


def _member(name: str, **facts: Any) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    for fact, value in facts.items():
        setattr(member, fact, value)
    return member


def _flipped(original: Original) -> bytes:
    content = bytearray(original.content)
    content[len(content) // 2] ^= 1
    return bytes(content)


def _sparse(original: Original) -> bytes:
    """A header of GNU tar: a file of 4 GiB, of which 512 bytes follow."""
    block = bytearray(_member("vault/large", size=512).tobuf(tarfile.GNU_FORMAT))
    block[156:157] = tarfile.GNUTYPE_SPARSE
    block[386:410] = b"00000000000\000000001000\0"
    block[483:495] = b"%011o\0" % SPARSE
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return original.sealed(bytes(block) + bytes(512) + bytes(1024))


def _sparse_by_pax(original: Original) -> bytes:
    facts = {"GNU.sparse.map": "0,512", "GNU.sparse.size": str(SPARSE)}
    return original.holding(_member("vault/large", size=512, pax_headers=facts))


def _declared(original: Original) -> bytes:
    """A header of 4 GiB, of which nothing follows."""
    return original.sealed(_member("vault/large", size=SPARSE).tobuf(tarfile.GNU_FORMAT))


def _by_somebody(original: Original, **changes: bytes) -> bytes:
    """With keys of the attacker, and a signature by them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        keys.make(folder / "keys")
        own = {str(path.relative_to(folder)): path.read_bytes() for path in _files(folder)}
        key = signatures.load(folder / services.SIGNING_PRIVATE)
    return original.changed(key, own | changes)


def _unsigned(original: Original) -> bytes:
    """The same members, with a list that nobody signed."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as made:
        for name, content in original.members.items():
            if name == archive.MANIFEST:
                document = json.loads(content)
                content = json.dumps(
                    document["statement"] | {"schema": document["schema"]}
                ).encode()
            made.addfile(_member(name, size=len(content)), io.BytesIO(content))
    return original.sealed(out.getvalue())


def _damaged(original: Original) -> bytes:
    """What the installation itself signed, after its database was damaged."""
    content = original.members["database"]
    return original.changed(original.key, {"database": content[:100] + content[2000:]})


TAMPERED: dict[str, Callable[[Original], bytes]] = {
    "a bit is flipped": _flipped,
    "the end is cut off": lambda original: original.content[:-1000],
    "no file of age": lambda original: b"synthweb" * 1000,
    "above": lambda original: original.holding(_member("../beside")),
    "absolute": lambda original: original.holding(_member("/etc/passwd")),
    "a link": lambda original: original.holding(
        _member("keys", type=tarfile.SYMTYPE, linkname="/etc")
    ),
    "another folder": lambda original: original.changed(original.key, {"elsewhere/file": b"x"}),
    "forged, and no database": lambda original: _by_somebody(original, database=b"no database"),
    "forged, and whole": _by_somebody,
    "not signed": _unsigned,
    "sparse": _sparse,
    "sparse by PAX": _sparse_by_pax,
    "larger than it is": _declared,
    "twice": lambda original: original.holding(_member("database"), _member("database")),
    "a damaged database": _damaged,
    "an empty database": lambda original: original.changed(original.key, {"database": b""}),
}


@pytest.mark.slow
@pytest.mark.parametrize("tampering", TAMPERED.values(), ids=TAMPERED)
def test_a_tampered_backup_changes_nothing_and_leaves_nothing(
    installation: Path,
    identity: pyrage.x25519.Identity,
    empty_database: str,
    tampering: Callable[[Original], bytes],
) -> None:
    file = _made(installation, identity)
    with tarfile.open(
        fileobj=io.BytesIO(pyrage.decrypt(file.read_bytes(), [identity]))
    ) as opened:
        members = {
            member.name: cast_to(IO[bytes], opened.extractfile(member)).read()
            for member in opened
        }
    original = Original(
        content=file.read_bytes(),
        members=members,
        recipient=identity.to_public(),
        key=signatures.load(installation / services.SIGNING_PRIVATE),
    )
    file.write_bytes(tampering(original))
    before = _everything(file.parent)
    done = restored(file, empty_database, key=file.parent / "KEY")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr and len(done.stderr.splitlines()) == 1
    assert not (file.parent / "after").exists()
    assert _everything(file.parent) == before
    assert not _tables(empty_database)


@pytest.mark.slow
def test_a_backup_of_another_format_changes_nothing(
    installation: Path,
    identity: pyrage.x25519.Identity,
    empty_database: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(archive, "SCHEMA", f"synthweb/backup/{FORMAT + 1}")
    file = _made(installation, identity)
    done = restored(file, empty_database, key=file.parent / "KEY")
    assert done.returncode == 1
    assert f"not of format {FORMAT}, which alone this version restores" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (file.parent / "after").exists()
    assert not _tables(empty_database)


@pytest.mark.slow
def test_a_key_that_is_not_noted_is_named_at_the_command(
    installation: Path, identity: pyrage.x25519.Identity, empty_database: str
) -> None:
    file = _made(installation, identity)
    key = file.parent / "KEY"
    key.write_text(f"{identity}\n")
    [name] = {signatures.key_id((installation / services.SIGNING_PUBLIC).read_bytes())}
    # Keys that lie in their folder may come out of the same backup.
    shutil.copytree(installation / "keys", file.parent / "after" / "keys")
    refused = restored(file, empty_database, key=key)
    assert refused.returncode == 1
    assert f"--signed-by {name}" in refused.stderr
    assert (
        "neither the file of a public key"
        in restored(file, empty_database, "--signed-by", name[:16], key=key).stderr
    )
    done = restored(file, empty_database, "--signed-by", name, key=key)
    assert done.returncode == 0, done.stderr
    assert "You named this key" in done.stdout


@pytest.mark.slow
def test_what_cannot_be_put_in_place_is_taken_back(
    installation: Path, identity: pyrage.x25519.Identity, empty_database: str
) -> None:
    (installation / "vault").mkdir()
    (installation / "vault" / "table").write_bytes(b"sealed")
    file = _made(installation, identity)
    # Where the folder of tables should be; keys come before it.
    after = file.parent / "after"
    after.mkdir()
    (after / "vault").touch()
    done = restored(file, empty_database, key=file.parent / "KEY")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert list(after.iterdir()) == [after / "vault"]
    assert not _tables(empty_database)


def _everything(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in _files(folder)}


def _tables(address: str) -> list[str]:
    """The tables of a database, which is not made by asking."""
    if address.startswith("sqlite:///"):
        assert not Path(address.removeprefix("sqlite:///")).exists()
        return []
    with psycopg.connect(address) as other:
        rows = other.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        return [name for (name,) in rows]


def test_a_file_that_is_no_key_is_named(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("ε\n")
    with pytest.raises(CommandError, match="is no file of a private key"):
        call_command("restore", str(tmp_path / "copy.age"), key=tmp_path / "text")


def test_a_backup_needs_a_public_key_and_overwrites_nothing(
    installation: Path, identity: pyrage.x25519.Identity
) -> None:
    file = installation.parent / "copy.age"
    with pytest.raises(CommandError, match="no public key"):
        call_command("backup", str(file), to="age1nonsense")
    assert not file.exists()
    call_command("backup", str(file), to=str(identity.to_public()))
    assert file.stat().st_mode & 0o077 == 0
    with pytest.raises(CommandError, match="never overwritten"):
        call_command("backup", str(file), to=str(identity.to_public()))


def test_a_failure_while_a_backup_is_written_leaves_no_file(
    installation: Path, identity: pyrage.x25519.Identity, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_path: Path) -> None:
        raise BackupError("pg_dump failed: no connection")

    monkeypatch.setattr("synthweb.backups.database.dump", fail)
    with pytest.raises(CommandError, match="no connection"):
        call_command("backup", str(installation.parent), to=str(identity.to_public()))
    assert [path.name for path in installation.parent.glob("*.age*")] == []


@pytest.mark.parametrize("name", ["/etc/passwd", "../beside", "keys/../../beside"])
def test_names_that_lead_elsewhere_are_refused(
    tmp_path: Path, identity: pyrage.x25519.Identity, name: str
) -> None:
    sealed = tmp_path / "sealed.age"
    with sealed.open("wb") as out:
        archive.write(
            out, recipient=identity.to_public(), fill=lambda writer: writer.add(name, b"x")
        )
    folder = tmp_path / "folder"
    folder.mkdir()
    with sealed.open("rb") as file, pytest.raises(BackupError, match="no part of a backup"):
        archive.read(file, identity=identity, folder=folder, signers=())
    assert not _files(folder)


def test_a_file_larger_than_a_pipe_comes_back(
    tmp_path: Path, identity: pyrage.x25519.Identity
) -> None:
    content, key = os.urandom(3 << 20), Ed25519PrivateKey.generate()
    (tmp_path / "large").write_bytes(content)

    def fill(writer: archive.ArchiveWriter) -> None:
        writer.add_file("vault/large", tmp_path / "large")
        writer.finish({"at": "now"}, key=key)

    sealed, folder = tmp_path / "sealed.age", tmp_path / "folder"
    folder.mkdir()
    with sealed.open("wb") as out:
        archive.write(out, recipient=identity.to_public(), fill=fill)
    signer = signatures.key_id(signatures.public_pem(key))
    with sealed.open("rb") as file:
        manifest = archive.read(file, identity=identity, folder=folder, signers={signer})
    assert (manifest["at"], manifest["key"]) == ("now", signer)
    assert (folder / "vault" / "large").read_bytes() == content


# --- a database that is older than what is kept outside -----------------------------------------------------
@pytest.fixture
def checkpoints(tmp_path: Path, settings: Any) -> Path:
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    settings.CHECKPOINT_DIR = str(folder)
    return folder


def test_an_account_that_was_set_back_does_not_spend(
    checkpoints: Path, tmp_path: Path, settings: Any
) -> None:
    who = people()
    account = granted(who, dataset(who))
    call_command("sign_heads", str(checkpoints))
    hold(account, "first")
    assert LedgerEntry.objects.filter(kind="HOLD").count() == 1
    # The same folder as somebody keeps it who saw one entry more than this database has.
    [newest] = checkpoints.glob(f"head-{account.code}-*.json")
    _signed_head(newest, settings, length=99)
    with pytest.raises(OlderThanCheckpoint, match="set back to an older copy"):
        hold(account, "second")
    newest.write_text("{}")
    with pytest.raises(OlderThanCheckpoint, match="is damaged"):
        hold(account, "second")
    settings.CHECKPOINT_DIR = str(tmp_path / "gone")
    with pytest.raises(OlderThanCheckpoint, match="cannot be read"):
        hold(account, "second")
    settings.CHECKPOINT_DIR = ""
    hold(account, "second")


def _signed_head(path: Path, settings: Any, *, length: int) -> None:
    statement = dict(json.loads(path.read_text())["statement"]) | {"length": length}
    key = signatures.load(Path(settings.SIGNING_PRIVATE_KEY_FILE))
    path.write_text(
        json.dumps(signatures.sign(statement, schema=checkpoint_documents.SCHEMA, key=key))
    )


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())
