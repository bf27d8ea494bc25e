"""Keys and secrets of the local installation: made once, never overwritten, readable by their owner alone.

keys/secret.key            Django's secret
keys/vault.pub             what uploads are encrypted to (web)
keys/worker/vault.key      what opens them (confidential worker)
keys/preview.pub           what previews and reports are encrypted to (confidential worker)
keys/web/preview.key       what opens those (web)
keys/web/content.key       keyed hash that notices the same content uploaded again (web)
"""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path

import pyrage


def make(folder: Path) -> None:
    """Make whatever is missing in `folder`. A key pair is never made anew while either half of it exists: a lost
    half must be noticed, not papered over."""
    for place in (folder, folder / "web", folder / "worker"):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        place.chmod(0o700)
    _make_secret(folder / "secret.key")
    _make_secret(folder / "web" / "content.key")
    _make_pair(public=folder / "vault.pub", private=folder / "worker" / "vault.key")
    _make_pair(public=folder / "preview.pub", private=folder / "web" / "preview.key")


def write_private(path: Path, text: str) -> None:
    """Write a new file that only its owner can read; an existing file is an error."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(text)


def _make_secret(path: Path) -> None:
    if not path.exists():
        write_private(path, secrets.token_urlsafe(48) + "\n")


def _make_pair(*, public: Path, private: Path) -> None:
    if public.exists() != private.exists():
        there, missing = (public, private) if public.exists() else (private, public)
        raise FileNotFoundError(
            f"{there} exists but {missing} does not: restore it; a new pair could not open old files"
        )
    if not private.exists():
        identity = pyrage.x25519.Identity.generate()
        write_private(private, f"{identity}\n")
        write_private(public, f"{identity.to_public()}\n")


if __name__ == "__main__":
    make(Path(sys.argv[1] if len(sys.argv) > 1 else "secrets"))
