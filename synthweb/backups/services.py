"""Making a backup while the installation runs, and restoring one to an installation that has nothing yet."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyrage
from django.conf import settings
from django.utils import timezone

from synthweb.backups import archive, database
from synthweb.backups.errors import BackupError
from synthweb.datasets import services as datasets
from synthweb.datasets import tombstones
from synthweb.lib import signatures
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


def make(file: Path, *, recipient: pyrage.x25519.Recipient) -> dict[str, int]:
    """Write a new backup. Returns the number of files of each part.

    Errors: BackupError if the file exists, no key can be read, or the database's tool fails; no file is left then.
    """
    if file.exists():
        raise BackupError(f"{file} exists: give another name, a backup is never overwritten")
    part = file.with_name(f"{file.name}.part")
    try:
        with os.fdopen(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            counts: dict[str, int] = {}
            archive.write(out, recipient=recipient, fill=lambda writer: _fill(writer, counts))
            out.flush()
            os.fsync(out.fileno())
        part.rename(file)
    finally:
        part.unlink(missing_ok=True)
    return counts


def _fill(writer: archive.ArchiveWriter, counts: dict[str, int]) -> None:
    keys = _keys()
    if not keys:
        raise BackupError("no key can be read: run this where all keys of the installation are")
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
        }
    )


def _add_folders(writer: archive.ArchiveWriter, counts: dict[str, int]) -> None:
    for part, setting in FOLDERS.items():
        folder = Path(getattr(settings, setting))
        for path in sorted(folder.rglob("*")):
            name = f"{part}/{path.relative_to(folder).as_posix()}"
            if path.is_symlink() or not path.is_file() or name in writer:
                continue
            # A run that is restored must not go on: the run of then may have done so, and would have drawn twice.
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
    destroyed: Path | None = None,
    signed_by: Path | None = None,
) -> dict[str, Any]:
    """Put everything of a backup in its place, but for what was destroyed. Returns its manifest, with `buried`, the number of tables
    that it would have brought back.

    destroyed: the signed list of destroyed keys that was kept outside the backup. signed_by: a public key that may have signed it
    besides those of the backup.

    Nothing is overwritten, and nothing is put in place before all of the file is checked. The database comes last: an
    installation without it does not start, so that one that was restored by half is not mistaken for a whole one. After
    an interruption the same backup can be restored again.

    Errors: BackupError, with nothing changed, for another key, a damaged file, a database of another kind or that is not
    empty, for files or keys of another installation that are there already, and for a list that cannot be trusted.
    """
    # First: SQLite's file may lie in it.
    scratch = Path(settings.VAR_DIR)
    scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not database.is_empty():
        raise BackupError(
            "the database is not empty: name an empty one, a restore overwrites nothing"
        )
    with tempfile.TemporaryDirectory(prefix="restoring-", dir=scratch) as folder:
        staged = Path(folder)
        with file.open("rb") as sealed:
            manifest = archive.read(sealed, identity=identity, folder=staged)
        if manifest["database"] != database.engine():
            raise BackupError(
                f"the backup is of a database of {manifest['database']}: restore it to such a database"
            )
        buried = _tombstones(staged, destroyed, signed_by)
        places = {
            source: place
            for source, place in _places(staged).items()
            if not (place.is_relative_to(settings.VAULT_DIR) and place.name in buried.names)
        }
        _require_no_others(places)
        for source, place in places.items():
            _put(source, place)
        database.restore(staged / DATABASE)
    # The database of then still names what was destroyed since, and a table that was encrypted again since then had another name.
    return manifest | {"buried": datasets.bury(buried.stones)}


def _tombstones(
    staged: Path, destroyed: Path | None, signed_by: Path | None
) -> tombstones.Tombstones:
    if destroyed is None:
        return tombstones.Tombstones(at="", stones=())
    public = [staged / SIGNING_PUBLIC, *staged.glob("keys/retired/*.pub")]
    trusted = [path.read_bytes() for path in [*public, signed_by] if path and path.is_file()]
    try:
        return tombstones.read(destroyed, trusted=trusted)
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
            f"{different[0]} is there and differs from the backup: it belongs to another installation. Move it away, and keep it"
        )


def _same(first: Path, second: Path) -> bool:
    if first.stat().st_size != second.stat().st_size:
        return False
    with first.open("rb") as left, second.open("rb") as right:
        while piece := left.read(1 << 20):
            if piece != right.read(1 << 20):
                return False
    return True


def _put(source: Path, place: Path) -> None:
    if place.exists():
        return
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = place.with_name(f"{place.name}.restoring")
    shutil.move(source, part)
    part.chmod(0o600)
    part.replace(place)
