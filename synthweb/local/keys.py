"""Keys and secrets of an installation: made once, never overwritten, readable by their owner alone.

keys/secret.key            Django's secret
keys/vault.pub             encrypts uploads (web)
keys/worker/vault.key      decrypts them (confidential worker)
keys/preview.pub           encrypts previews and reports (confidential worker)
keys/web/preview.key       decrypts those (web)
keys/web/content.key       key of the hash that notices when the same content is uploaded again (web)
keys/signing.pub           verifies signed checkpoints of the ledger (anybody)
keys/web/signing.key       signs them (web)

`python -m synthweb.local.keys FOLDER` makes whatever is missing; `python -m synthweb.local.key_backup` keeps
copies.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable
from pathlib import Path

import pyrage
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from synthweb.lib.signatures import key_id

SECRETS = ("secret.key", "web/content.key")
PAIRS = (
    ("vault.pub", "worker/vault.key"),
    ("preview.pub", "web/preview.key"),
    ("signing.pub", "web/signing.key"),
)
FILES = (*SECRETS, *(half for pair in PAIRS for half in pair))
RETIRED = "retired"  # public halves of signing keys that were changed: what they signed can still be checked


def make(folder: Path) -> None:
    """Make whatever is missing in `folder`. A key pair is never made anew while either half of it exists: a
    lost half must be noticed, not papered over."""
    for place in (folder, folder / "web", folder / "worker"):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        place.chmod(0o700)
    for name in SECRETS:
        if not (folder / name).exists():
            write_private(folder / name, secrets.token_urlsafe(48) + "\n")
    for public, private in PAIRS:
        _make_pair(
            public=folder / public,
            private=folder / private,
            new=_signing_pair if "signing" in public else _age_pair,
        )


def change_signing_key(folder: Path) -> Path:
    """Retire the signing key and make another; gives where the old public half now lies. The old private half
    is destroyed: nobody needs it to check what it signed."""
    public, private = folder / "signing.pub", folder / "web" / "signing.key"
    retired = folder / RETIRED / f"signing-{key_id(public.read_bytes())[:16]}.pub"
    retired.parent.mkdir(mode=0o700, exist_ok=True)
    # Moved before the private half is removed: what it verifies must outlive a stop in between.
    public.rename(retired)
    private.unlink(missing_ok=True)
    make(folder)
    return retired


def write_private(path: Path, text: str) -> None:
    """Write a new file that only its owner can read; an existing file is an error."""
    # The mode is set at creation: before a later chmod, others could open the file.
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(text)


def _make_pair(*, public: Path, private: Path, new: Callable[[], tuple[str, str]]) -> None:
    if public.exists() != private.exists():
        there, missing = (public, private) if public.exists() else (private, public)
        raise FileNotFoundError(
            f"{there} exists but {missing} does not: restore it; a new pair could not open old files"
        )
    if not private.exists():
        secret, open_half = new()
        # Private half first: nothing can be encrypted to a pair whose public half is not there
        # yet.
        write_private(private, secret)
        write_private(public, open_half)


def _age_pair() -> tuple[str, str]:
    identity = pyrage.x25519.Identity.generate()
    return f"{identity}\n", f"{identity.to_public()}\n"


def _signing_pair() -> tuple[str, str]:
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return private.decode(), public.decode()


if __name__ == "__main__":
    if sys.argv[1:2] == ["change-signing-key"]:
        sys.stdout.write(
            f"The old public key is kept as {change_signing_key(Path(sys.argv[2]))}\n"
        )
    else:
        make(Path(sys.argv[1] if len(sys.argv) > 1 else "secrets"))
