"""Signed statements: a JSON document whose facts anybody can check with the installation's public key
(Ed25519, RFC 8032).

What is signed is the canonical JSON of schema and statement, so that no other reader of the document can come
to other bytes. `verify_ledger.py`, which auditors take away with them, checks the same and shares no code
with this.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)

from synth_engine.privacy import signing
from synthweb.lib import hashing
from synthweb.lib.errors import SynthwebError


class NoSigningKey(SynthwebError):
    """This process has no key to sign with; an operator has to look."""


class BadSignature(SynthwebError):
    """The document is not what the key signed."""


def load(path: Path) -> Ed25519PrivateKey:
    """The private key in a PEM file."""
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except OSError:
        raise NoSigningKey(
            f"the signing key {path} cannot be read; docs/keys.md says how to make it"
        ) from None
    except ValueError:
        raise NoSigningKey(f"{path} holds no private key in PEM") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise NoSigningKey(f"{path} holds a key of another kind than Ed25519")
    return key


def key_id(public_pem: bytes) -> str:
    """How a public key is named: the SHA-256 of its 32 bytes."""
    key = serialization.load_pem_public_key(public_pem)
    if not isinstance(key, Ed25519PublicKey):
        raise NoSigningKey("a signing key is an Ed25519 key")
    return _name(key)


def public_pem(key: Ed25519PrivateKey) -> bytes:
    """The public half, for auditors."""
    return key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def sign(
    statement: Mapping[str, object], *, schema: str, key: Ed25519PrivateKey
) -> signing.SignedDocument:
    """The signed document of a statement."""
    return signing.sign(hashing.plain(statement), schema=schema, key=key)


def check(document: Mapping[str, Any]) -> dict[str, Any]:
    """The statement of a document whose signature fits; BadSignature otherwise. Whose key it is, its name
    says."""
    try:
        public = Ed25519PublicKey.from_public_bytes(
            base64.b64decode(document["public_key"], validate=True)
        )
        statement = dict(document["statement"])
        public.verify(
            base64.b64decode(document["signature"], validate=True),
            _bytes(str(document["schema"]), statement),
        )
    except (KeyError, TypeError, ValueError, InvalidSignature):
        raise BadSignature(
            "the signature does not fit the statement; one of them was changed"
        ) from None
    # Readers take the signer from the statement, so it has to be the key that was just checked.
    if statement.get("key") != _name(public):
        raise BadSignature("the statement names another key than the one that signed it")
    return statement


def _bytes(schema: str, statement: Mapping[str, object]) -> bytes:
    return signing.spelled(schema, hashing.plain(statement))


def _name(key: Ed25519PublicKey) -> str:
    return signing.name(key)
