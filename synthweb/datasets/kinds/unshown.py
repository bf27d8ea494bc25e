"""The set by which the values of a list are read: it comes with a description, such as that of a release, and
no input shows it."""

from __future__ import annotations

import json
from collections.abc import Mapping

from synthweb.datasets.kinds.form import Document, Fields
from synthweb.datasets.kinds.typed import TypedFields

READS = "reads"


def reading(typed: TypedFields) -> dict[str, object]:
    """The set as JSON, if there is one. Errors: DomainError."""
    return {READS: typed.json(READS)} if typed.text(READS) else {}


def with_reading(document: Document, fields: Fields) -> Fields:
    """The fields of a document with the set as it is kept in a draft."""
    known = {key: text for key, text in fields.items() if key != READS}
    if isinstance(reads := document.get(READS), Mapping):
        known[READS] = json.dumps(reads, ensure_ascii=False)
    return known


def is_not_reading(key: str, _fields: Mapping[str, str]) -> bool:
    """Whether an input is shown."""
    return key != READS
