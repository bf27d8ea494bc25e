"""Names that nobody has described, in the database: encrypted, to the keys of the web and of the vault.

A name in a file may be a cell: a key that a record has, a header that is a row, a sheet called after a
person. Readings need them as long as the table is there, and its steward sees them; nobody else does, nor who
reads a copy of the database (ADR 4). Both sides open them, because the worker reads files by names that were
typed.
"""

from __future__ import annotations

import base64
import contextlib
import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyrage
from django.conf import settings

from synth_engine.formats import Dialect
from synthweb.datasets import files
from synthweb.datasets.models import Dataset, TableVersion

logger = logging.getLogger(__name__)
SEALED = "sealed"
"""The key of what is encrypted, in a document that is otherwise in the clear."""
NAMES: dict[str, Any] = {"names": [], "sheet": ""}
"""What of the form of a file may hold a cell, and what stands in its place in the clear."""


# --- the form of a file -------------------------------------------------------------------------------------
def stored(form: Mapping[str, object] | None) -> dict[str, Any] | None:
    """The form of a file as the database keeps it: as it is, but for its names."""
    if form is None:
        return None
    clear = {key: value for key, value in form.items() if key != SEALED}
    held = {key: clear.get(key) or empty for key, empty in NAMES.items()}
    return clear | NAMES | ({SEALED: _sealed(held)} if any(held.values()) else {})


def form_of(file: Dataset | TableVersion) -> Dialect | None:
    """How a file is read. Names that no key of this process opens are left out, which the log says."""
    document = opened(file.dialect)
    return None if document is None else Dialect.from_json(document)


def opened(form: Mapping[str, object] | None) -> dict[str, Any] | None:
    """The form of a file with its names, as `form_of` finds them."""
    if form is None:
        return None
    clear = {key: value for key, value in form.items() if key != SEALED}
    return clear | _opened(form[SEALED]) if SEALED in form else clear


def without_names(form: Mapping[str, object] | None) -> dict[str, Any] | None:
    """The form of a table that is gone: its names go with it."""
    return (
        None
        if form is None
        else {key: value for key, value in form.items() if key != SEALED} | NAMES
    )


# --- the column of a refusal --------------------------------------------------------------------------------
def stored_refusal(refusal: Mapping[str, object], *, column: object) -> dict[str, Any]:
    """Why a file was refused: rule and repair in the clear, the name of the column encrypted."""
    clear = {"rule": refusal.get("rule"), "repair": refusal.get("repair")}
    return clear | ({SEALED: _sealed({"column": column})} if column else {})


def column_of(refusal: Mapping[str, object]) -> str | None:
    """The column that a refusal names."""
    column = _opened(refusal[SEALED]).get("column") if SEALED in refusal else None
    return None if column is None else str(column)


# --- keys ---------------------------------------------------------------------------------------------------
def sealed_again(document: Mapping[str, object] | None) -> dict[str, Any] | None:
    """A form or a refusal whose names the key of the vault of now opens; None where there is nothing to do.

    Worker only. Errors: StorageError if no private key of the vault opens them.
    """
    halves = (document or {}).get(SEALED)
    if document is None or not isinstance(halves, dict):
        return None
    plain = _decrypted(halves["vault"], _private(settings.VAULT_PRIVATE_KEY_FILE))
    return {**document, SEALED: {**halves, "vault": _encrypted(plain, _of_vault())}}


def _sealed(names: Mapping[str, object]) -> dict[str, Any]:
    text = json.dumps(names).encode()
    # Padded: the length of what is encrypted would be the length of the names.
    text += b" " * (-len(text) % 256)
    return {"web": _encrypted(text, _of_web()), "vault": _encrypted(text, _of_vault())}


def _opened(sealed: object) -> dict[str, Any]:
    halves = sealed if isinstance(sealed, dict) else {}
    keys = {
        "web": settings.PREVIEW_PRIVATE_KEY_FILE,
        "vault": settings.VAULT_PRIVATE_KEY_FILE,
    }
    for half, file in keys.items():
        with contextlib.suppress(files.StorageError):
            names: dict[str, Any] = json.loads(_decrypted(halves.get(half), _private(file)))
            return names
    logger.error("names of a stored table cannot be opened: they were encrypted to other keys")
    return {}


def _encrypted(text: bytes, recipient: pyrage.x25519.Recipient) -> str:
    return base64.b64encode(pyrage.encrypt(text, [recipient])).decode()


def _decrypted(sealed: object, keys: list[pyrage.x25519.Identity]) -> bytes:
    try:
        plain: bytes = pyrage.decrypt(base64.b64decode(str(sealed)), keys)
    except (pyrage.DecryptError, ValueError):
        raise files.StorageError("names that no key of this process opens") from None
    return plain


def _private(path: Path) -> list[pyrage.x25519.Identity]:
    """The private keys in a file; StorageError in a process that does not have it."""
    return [pyrage.x25519.Identity.from_str(line) for line in files.read_keys(path)]


def _of_web() -> pyrage.x25519.Recipient:
    return _public(settings.PREVIEW_PUBLIC_KEY_FILE, settings.PREVIEW_PRIVATE_KEY_FILE)


def _of_vault() -> pyrage.x25519.Recipient:
    return _public(settings.VAULT_PUBLIC_KEY_FILE, settings.VAULT_PRIVATE_KEY_FILE)


def _public(public: Path, private: Path) -> pyrage.x25519.Recipient:
    """The public half of a pair, of which each process has one file."""
    try:
        return pyrage.x25519.Recipient.from_str(files.read_key(public))
    except files.StorageError:
        # While the key of the vault is changed, the new one is the last.
        return _private(private)[-1].to_public()
