"""Signed statements: a JSON document that anybody can check with a public key (Ed25519, RFC 8032).

What is signed is one spelling of schema and statement: sorted keys, no blanks, UTF-8. The verifier checks the
same and shares no code with this.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)

from synth_engine.errors import InputError


def load(path: Path) -> Ed25519PrivateKey:
    """The private key in a PEM file without a passphrase. Errors: InputError."""
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except OSError:
        raise InputError(
            "the signing key cannot be read", repair="check its path and rights"
        ) from None
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise InputError(
            "the signing key is no private key in PEM, or has a passphrase",
            repair="make one with: openssl genpkey -algorithm ed25519 -out signing.key",
        ) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError(
            "the signing key is of another kind than Ed25519",
            repair="make one with: openssl genpkey -algorithm ed25519 -out signing.key",
        )
    return key


class SignedDocument(TypedDict):
    schema: str
    statement: dict[str, Any]
    public_key: str  # in Base64, as the signature
    signature: str


def sign(
    statement: Mapping[str, object], *, schema: str, key: Ed25519PrivateKey
) -> SignedDocument:
    """The signed document of a statement of plain JSON without floats; it names the key that signed it."""
    # The name of the key is signed as well, so that it cannot be exchanged afterwards.
    named = {**statement, "key": name(key.public_key())}
    return {
        "schema": schema,
        "statement": named,
        "public_key": base64.b64encode(key.public_key().public_bytes_raw()).decode(),
        "signature": base64.b64encode(key.sign(spelled(schema, named))).decode(),
    }


def spelled(schema: str, statement: Mapping[str, object]) -> bytes:
    """The bytes that are signed: the one spelling of schema and statement."""
    document = {"schema": schema, "statement": statement}
    return json.dumps(
        document, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    ).encode("utf-8")


def name(key: Ed25519PublicKey) -> str:
    """How a public key is named: the SHA-256 of its 32 bytes, in hexadecimal."""
    return hashlib.sha256(key.public_bytes_raw()).hexdigest()
