"""Copies of the keys: one file, encrypted under a passphrase, that needs none of this software to be opened.

    python -m synthweb.local.key_backup backup FILE          all keys of the folder into a new FILE
    python -m synthweb.local.key_backup restore FILE         whatever is missing in the folder, from FILE
    python -m synthweb.local.key_backup list FILE            what FILE holds, and whether the passphrase opens
                                                             it

FILE is an age file (https://age-encryption.org/v1) with a tar inside: `age -d FILE | tar x` gives the same
keys. The folder is that of this installation unless --keys names another. The passphrase is asked for, or
read from the first line of --passphrase-file. Restoring overwrites nothing: a key that differs stops it
before anything is written.
"""

from __future__ import annotations

import argparse
import getpass
import io
import os
import re
import sys
import tarfile
import time
from pathlib import Path

import pyrage

from synthweb.local import keys, paths

SHORTEST = 12
LARGEST = 64 * 1024  # bytes of one key file
_TOO_MUCH_WORK = "Excessive work"
"""The library's words for a file whose passphrase takes more work than it allows, which depends on the
machine's speed."""
_ATTEMPTS, _PAUSE = 6, 0.2
"""How often a copy is opened that seems to need too much work, and how many seconds longer each pause is than
the last."""
_RETIRED = re.compile(rf"{keys.RETIRED}/signing-[0-9a-f]{{16}}\.pub")


class BackupRefused(Exception):
    """Something cannot be done; the message says what to do instead."""


def backup(folder: Path, file: Path, passphrase: str) -> list[str]:
    """Write every key of `folder` to the new `file`; gives the names of keys that are not there."""
    if len(passphrase) < SHORTEST:
        raise BackupRefused(
            f"The passphrase is shorter than {SHORTEST} characters: choose a longer one."
        )
    contents = {name: (folder / name).read_bytes() for name in _names(folder)}
    if not contents:
        raise BackupRefused(f"There are no keys in {folder}: name their folder with --keys.")
    sealed = pyrage.passphrase.encrypt(_packed(contents), passphrase)
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise BackupRefused(
            f"{file} exists: give another name, an older copy is never overwritten."
        ) from None
    with os.fdopen(handle, "wb") as out:
        out.write(sealed)
        out.flush()
        # A backup that is reported must survive a power cut: the original may be deleted next.
        os.fsync(out.fileno())
    return [name for name in keys.FILES if name not in contents]


def restore(folder: Path, file: Path, passphrase: str) -> list[str]:
    """Put whatever is missing in `folder` back; gives the names of what was."""
    contents = read(file, passphrase)
    different = [
        name
        for name, content in contents.items()
        if (folder / name).exists() and (folder / name).read_bytes() != content
    ]
    if different:
        raise BackupRefused(
            f"{', '.join(different)} in {folder} differ from the copy. Nothing was restored: move them "
            "away first, and keep them, something may be encrypted to them."
        )
    missing = [name for name in contents if not (folder / name).exists()]
    for name in missing:
        path = folder / name
        # One by one: `parents=True` gives its mode to the last folder alone.
        for place in reversed(
            [parent for parent in path.parents if parent == folder or folder in parent.parents]
        ):
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
        keys.write_private(path, contents[name].decode("ascii"))
    return missing


def read(file: Path, passphrase: str) -> dict[str, bytes]:
    """The keys in a copy, by name."""
    plain = _opened(file, passphrase)
    contents: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(plain)) as archive:
        for member in archive:
            # Whoever wrote the archive had the passphrase, which is no reason to trust the
            # names in it: one with “..” would be written outside the folder of the keys.
            if not _is_key(member.name) or not member.isreg() or member.size > LARGEST:
                raise BackupRefused(f"{file} holds something that is no key of synthweb.")
            content = archive.extractfile(member)
            contents[member.name] = content.read() if content else b""
    return contents


def _opened(file: Path, passphrase: str) -> bytes:
    """The archive inside a copy."""
    sealed = file.read_bytes()
    for attempt in range(_ATTEMPTS):
        try:
            plain: bytes = pyrage.passphrase.decrypt(sealed, passphrase)
            return plain
        except pyrage.DecryptError as problem:
            if _TOO_MUCH_WORK not in str(problem):
                raise BackupRefused(
                    f"{file} cannot be opened: it is damaged, or the passphrase is another one."
                ) from None
        # The library times this machine at each call, and a busy one looks slow.
        time.sleep(_PAUSE * attempt)
    raise BackupRefused(
        f"{file} was made on a much faster machine, and opening it would take very long on this one. Try "
        "again when this machine is idle, or open it elsewhere: age -d FILE | tar x"
    )


def _names(folder: Path) -> list[str]:
    there = [
        path.relative_to(folder).as_posix()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    ]
    return [name for name in there if _is_key(name)]


def _is_key(name: str) -> bool:
    return name in keys.FILES or _RETIRED.fullmatch(name) is not None


def _packed(contents: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in contents.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o600
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def main(arguments: list[str] | None = None) -> int:
    """Do one of the verbs; problems are one line, not a traceback."""
    parser = argparse.ArgumentParser(
        prog="python -m synthweb.local.key_backup",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("verb", choices=["backup", "restore", "list"])
    parser.add_argument("file", type=Path)
    parser.add_argument(
        "--keys",
        type=Path,
        default=paths.of_this_machine().keys,
        help="the folder of the keys",
    )
    parser.add_argument(
        "--passphrase-file", type=Path, help="a file whose first line is the passphrase"
    )
    chosen = parser.parse_args(arguments)
    try:
        _do(chosen, _passphrase(chosen.passphrase_file, twice=chosen.verb == "backup"))
    except (BackupRefused, OSError, UnicodeError, tarfile.TarError) as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    return 0


def _do(chosen: argparse.Namespace, passphrase: str) -> None:
    match chosen.verb:
        case "backup":
            missing = backup(chosen.keys, chosen.file, passphrase)
            lines = [
                f"Written to {chosen.file}. Keep it, and its passphrase, apart from the copies of the vault."
            ]
            lines += (
                [f"Not in the copy, because not in {chosen.keys}: {', '.join(missing)}"]
                if missing
                else []
            )
        case "restore":
            put_back = restore(chosen.keys, chosen.file, passphrase)
            lines = [
                f"Restored to {chosen.keys}: {', '.join(put_back) or 'nothing, all of it is there'}."
            ]
        case _:
            lines = sorted(read(chosen.file, passphrase))
    sys.stdout.write("\n".join(lines) + "\n")


def _passphrase(file: Path | None, *, twice: bool) -> str:
    if file is not None:
        return (file.read_text(encoding="utf-8").splitlines() or [""])[0]
    first = getpass.getpass("Passphrase: ")
    if twice and getpass.getpass("Once more: ") != first:
        raise BackupRefused("The two differ: nothing was done.")
    return first


if __name__ == "__main__":
    sys.exit(main())
