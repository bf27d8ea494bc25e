"""Public facts from documents that were not written for us: data dictionaries and Table Schemas.

A document is mapped to attributes of a domain, each fact of them "public-file". What it does not say is
reported as a remark, and never made up or looked up in a table: nothing here reads one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from synth_engine.dictionaries import frictionless, nist
from synth_engine.dictionaries.base import DictionaryContents, Remark
from synth_engine.dictionaries.export import to_schema
from synth_engine.domain.document import SCHEMA_NAME
from synth_engine.errors import DomainError

Kind = Literal["domain", "table-schema", "data-dictionary"]
TITLES: dict[Kind, str] = {
    "domain": "DOMAIN.json",
    "table-schema": "Table Schema",
    "data-dictionary": "data dictionary",
}

__all__ = ["TITLES", "DictionaryContents", "Kind", "Remark", "read", "recognise", "to_schema"]


def recognise(document: object) -> Kind:
    """Return the kind of a document. Errors: DomainError for none of the three."""
    if isinstance(document, Mapping) and document:
        if (
            isinstance(document.get("attributes"), list)
            or document.get("schema") == SCHEMA_NAME
        ):
            return "domain"
        if frictionless.looks_like(document):
            return "table-schema"
        if nist.looks_like(document):
            return "data-dictionary"
        if all(isinstance(size, int) for size in document.values()):
            return "domain"
    raise DomainError(
        "no description of a kind that is known",
        repair="bring a DOMAIN.json, a Frictionless Table Schema, or a data dictionary of the form "
        '{"column": {"description": …, "values": {…}}}',
    )


def read(document: Mapping[str, object], *, kind: Kind) -> DictionaryContents:
    """Read what a Table Schema or a data dictionary contains about columns. Errors: DomainError for an
    unsound document."""
    if kind == "domain":
        raise DomainError("a domain is no dictionary", repair="read it as a domain")
    return frictionless.read(document) if kind == "table-schema" else nist.read(document)
