"""Making a backup while the installation runs, and restoring one to an installation that has nothing yet."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyrage
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings
from django.utils import timezone

from synthweb.backups import archive, database
from synthweb.backups.errors import BackupError
from synthweb.datasets import services as datasets
from synthweb.datasets import tombstones
from synthweb.lib import installation_format, signatures
from synthweb.runs import artefacts

DATABASE = "database"
FOLDERS = {"vault": "VAULT_DIR", "artefacts": "ARTEFACT_DIR", "previews": "PREVIEW_DIR"}
"""Parts of a backup, and the settings that name their folders. What is spooled can be drawn again."""
SECRET, SIGNING_PUBLIC = "keys/secret.key", "keys/signing.pub"
SIGNING_PRIVATE = "keys/web/signing.key"
KEYS = {
    "keys/vault.pub": "VAULT_PUBLIC_KEY_FILE",
    "keys/worker/vault.key": "VAULT_PRIVATE_KEY_FILE",
    "keys/preview.pub": "PREVIEW_PUBLIC_KEY_FILE",
    "keys/web/preview.key": "PREVIEW_PRIVATE_KEY_FILE",
    "keys/web/content.key": "CONTENT_KEY_FILE",
    SIGNING_PRIVATE: "SIGNING_PRIVATE_KEY_FILE",
}


@dataclass(frozen=True, kw_only=True)
class Backup:
    """What was written. counts: the number of files of each part; signer: the name of the key that signed
    it."""

    counts: Mapping[str, int]
    signer: str


def make(file: Path, *, recipient: pyrage.x25519.Recipient) -> Backup:
    """Write a new backup, signed by the installation's key.

    Errors: BackupError if the installation is of another format, the file exists, no key can be read, there
    is none to sign with, or the database's tool fails; no file is left then.
    """
    try:
        installation_format.require()
    except installation_format.OtherFormat as problem:
        raise BackupError(str(problem)) from None
    if file.exists():
        raise BackupError(f"{file} exists: give another name, a backup is never overwritten")
    try:
        signing = signatures.load(Path(settings.SIGNING_PRIVATE_KEY_FILE))
    except signatures.NoSigningKey as problem:
        raise BackupError(f"a backup is signed, and {problem}") from None
    part = file.with_name(f"{file.name}.part")
    try:
        with os.fdopen(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            counts: dict[str, int] = {}
            archive.write(
                out, recipient=recipient, fill=lambda writer: _fill(writer, counts, signing)
            )
            out.flush()
            os.fsync(out.fileno())
        part.rename(file)
    finally:
        part.unlink(missing_ok=True)
    return Backup(counts=counts, signer=signatures.key_id(signatures.public_pem(signing)))


def _fill(
    writer: archive.ArchiveWriter, counts: dict[str, int], signing: Ed25519PrivateKey
) -> None:
    keys = _keys()
    for name, content in keys.items():
        writer.add(name, content)
    counts["keys"] = len(keys)
    # Files before the database and again after it: what the copy of the database names was there before or
    # came meanwhile. A file never changes, so one that was added is not looked at again.
    _add_folders(writer, counts)
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / DATABASE
        database.dump(copy)
        writer.add_file(DATABASE, copy)
    _add_folders(writer, counts)
    if _keys() != keys:
        raise BackupError(
            "a key was changed meanwhile, which some tables need: make the backup again"
        )
    writer.finish(
        {
            "at": timezone.now().isoformat(),
            "database": database.engine(),
            "counts": dict(counts),
        },
        key=signing,
    )


def _add_folders(writer: archive.ArchiveWriter, counts: dict[str, int]) -> None:
    for part, setting in FOLDERS.items():
        folder = Path(getattr(settings, setting))
        for path in sorted(folder.rglob("*")):
            name = f"{part}/{path.relative_to(folder).as_posix()}"
            if path.is_symlink() or not path.is_file() or name in writer:
                continue
            # A run that is restored must not go on: the run of then may have done so, and would have drawn
            # twice.
            if path.suffix == artefacts.CALLS:
                continue
            # What is deleted meanwhile was deleted by somebody who meant it.
            with suppress(FileNotFoundError):
                writer.add_file(name, path)
                counts[part] = counts.get(part, 0) + 1


def _keys() -> dict[str, bytes]:
    keys = {name: path.read_bytes() for name, path in _key_files() if path.is_file()}
    # A container or a service may be given the private half alone.
    if SIGNING_PRIVATE in keys and SIGNING_PUBLIC not in keys:
        private = signatures.load(Path(settings.SIGNING_PRIVATE_KEY_FILE))
        keys[SIGNING_PUBLIC] = signatures.public_pem(private)
    return keys


def _key_files() -> Iterator[tuple[str, Path]]:
    for name, setting in KEYS.items():
        yield name, Path(getattr(settings, setting))
    folder = Path(settings.KEY_DIR)
    yield SECRET, Path(os.environ.get("SYNTHWEB_SECRET_KEY_FILE") or folder / "secret.key")
    yield SIGNING_PUBLIC, folder / "signing.pub"
    for path in sorted(folder.glob("retired/*.pub")):
        yield f"keys/retired/{path.name}", path


def restore(
    file: Path,
    *,
    identity: pyrage.x25519.Identity,
    signers: Collection[str],
    destroyed: Path | None = None,
) -> dict[str, Any]:
    """Put everything of a backup in its place, but for what was destroyed. Returns its manifest, with
    `buried`, the number of tables that it would have brought back.

    signers: names of the keys of which one must have signed the backup, known from elsewhere than the backup.
    destroyed: the signed list of destroyed keys that was kept outside the backup; one of them or a key of the
    backup must have signed it.

    Nothing is overwritten, and nothing is put in place before all of the file is checked. The database comes
    last: an installation without it does not start, so that one that was restored by half is not mistaken for
    a whole one. After an interruption the same backup can be restored again.

    Errors: BackupError, with nothing changed and nothing left behind, for another key, a damaged file, a
    signature of another key, a database of another kind or that is not empty or damaged, for files or keys of
    another installation that are there already, and for a list that cannot be trusted.
    """
    if not database.is_empty():
        raise BackupError(
            "the database is not empty: name an empty one, a restore overwrites nothing"
        )
    with _all_or_nothing() as made:
        # First: SQLite's file may lie in it.
        scratch = Path(settings.VAR_DIR)
        _make_folder(scratch, made)
        with tempfile.TemporaryDirectory(prefix="restoring-", dir=scratch) as folder:
            staged = Path(folder)
            with file.open("rb") as sealed:
                manifest = archive.read(
                    sealed, identity=identity, folder=staged, signers=signers
                )
            if manifest["database"] != database.engine():
                raise BackupError(
                    f"the backup is of a database of {manifest['database']}: restore it to such a database"
                )
            database.check(staged / DATABASE)
            buried = _tombstones(staged, destroyed, signers)
            places = {
                source: place
                for source, place in _places(staged).items()
                if not (place.is_relative_to(settings.VAULT_DIR) and place.name in buried.names)
            }
            _require_no_others(places)
            for source, place in places.items():
                _put(source, place, made)
            database.restore(staged / DATABASE)
            made.clear()  # it is whole: nothing takes it back
    # The database of then still names what was destroyed since, and a table that was encrypted again since
    # then had another name.
    return manifest | {"buried": datasets.bury(buried.stones)}


@contextmanager
def _all_or_nothing() -> Iterator[list[Path]]:
    """Files and folders that the body adds to the list, in the order in which it made them, are gone again if
    it fails."""
    made: list[Path] = []
    try:
        yield made
    except BaseException:
        for path in reversed(made):
            with suppress(OSError):  # a folder that somebody else has put something into
                path.rmdir() if path.is_dir() else path.unlink()
        raise


def _make_folder(folder: Path, made: list[Path]) -> None:
    """Make a folder and those above it, and add the ones that were not there to `made`, the highest first."""
    for path in reversed([path for path in (folder, *folder.parents) if not path.exists()]):
        path.mkdir(mode=0o700)
        made.append(path)


def _tombstones(
    staged: Path, destroyed: Path | None, signers: Collection[str]
) -> tombstones.Tombstones:
    if destroyed is None:
        return tombstones.Tombstones(at="", stones=())
    public = [staged / SIGNING_PUBLIC, *staged.glob("keys/retired/*.pub")]
    own = {signatures.key_id(path.read_bytes()) for path in public if path.is_file()}
    try:
        return tombstones.read(destroyed, signers=own.union(signers))
    except tombstones.BadTombstones as problem:
        raise BackupError(str(problem)) from None


def _places(staged: Path) -> dict[Path, Path]:
    """Where each file goes. Errors: BackupError for one that has no place."""
    places = {}
    for source in sorted(path for path in staged.rglob("*") if path.is_file()):
        name = source.relative_to(staged).as_posix()
        part, _, rest = name.partition("/")
        if name in (DATABASE, archive.MANIFEST):
            continue
        if name in KEYS:
            places[source] = Path(getattr(settings, KEYS[name]))
        elif part == "keys":
            places[source] = Path(settings.KEY_DIR) / rest
        elif part in FOLDERS:
            places[source] = Path(getattr(settings, FOLDERS[part])) / rest
        else:
            raise BackupError("the file holds something that is no part of a backup")
    return places


def _require_no_others(places: Mapping[Path, Path]) -> None:
    different = [
        place for source, place in places.items() if place.exists() and not _same(source, place)
    ]
    if different:
        raise BackupError(
            f"{different[0]} is there and differs from the backup: it belongs to another installation. "
            "Move it away, and keep it"
        )


def _same(first: Path, second: Path) -> bool:
    if first.stat().st_size != second.stat().st_size:
        return False
    with first.open("rb") as left, second.open("rb") as right:
        while piece := left.read(1 << 20):
            if piece != right.read(1 << 20):
                return False
    return True


def _put(source: Path, place: Path, made: list[Path]) -> None:
    """Move a file to its place, if nothing is there, and add what was made to `made`."""
    if place.exists():
        return
    _make_folder(place.parent, made)
    part = place.with_name(f"{place.name}.restoring")
    made.append(part)
    shutil.move(source, part)
    part.chmod(0o600)
    made.append(place)
    part.replace(place)
