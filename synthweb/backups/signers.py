"""Whose signature a restore accepts: keys that the operator names, outside of any backup.

Keys of the folder of keys do not count: after a loss they come out of a backup themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from synthweb.backups.errors import BackupError
from synthweb.lib import signatures

SIGNED_BY = "# signed by "
"""Begins a line of the file of the private key, a comment to age, which names a key that signs backups."""
_NAME = re.compile("[0-9a-f]{64}")


def noted(key_file: Path) -> set[str]:
    """The names of keys that the file of the private key has in its comments. The file can be read."""
    lines = key_file.read_text(encoding="ascii").splitlines()
    return {
        line.removeprefix(SIGNED_BY).strip() for line in lines if line.startswith(SIGNED_BY)
    }


def named(given: Iterable[str]) -> set[str]:
    """The names of keys, each given as its name or as the file of its public half. Errors: BackupError for
    another text."""
    return {text if _NAME.fullmatch(text) else _of_file(Path(text)) for text in given}


def _of_file(path: Path) -> str:
    try:
        return signatures.key_id(path.read_bytes())
    except (OSError, ValueError, signatures.NoSigningKey):
        raise BackupError(
            f"{path} is neither the file of a public key, such as signing.pub, nor a key's name of 64 "
            "characters 0-9a-f"
        ) from None
