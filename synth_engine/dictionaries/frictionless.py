"""Frictionless Table Schema, in: types, constraints, missing values, of version 1 and 2, alone or in a data
package.

Taken are `enum` and `categories`, `minimum` and `maximum`, `pattern` where few texts match it, `trueValues`
and `falseValues`, `format` and `missingValues`, of a schema or of a field. A field without them stays open: a
type alone does not say which values there may be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from synth_engine.dictionaries import fields as readers
from synth_engine.dictionaries.base import DictionaryContents, Remark, Underspecified
from synth_engine.domain import Attribute
from synth_engine.errors import DomainError

_USUAL_MISSING = ("",)  # what the specification says when a schema does not


def looks_like(document: Mapping[str, object]) -> bool:
    """Whether it is a schema, a resource with one, or a package of resources."""
    return any(
        isinstance(document.get(key), list) for key in ("fields", "resources")
    ) or _has_fields(document.get("schema"))


def _has_fields(schema: Any) -> bool:
    return isinstance(schema, Mapping) and isinstance(schema.get("fields"), list)


def read(document: Mapping[str, object]) -> DictionaryContents:
    """Attributes of the fields that say enough. Errors: DomainError for a document that is no such schema."""
    schema = _schema(document)
    missing = _markers(schema.get("missingValues", _USUAL_MISSING), column=None)
    keys = schema.get("primaryKey") or []
    keys = [keys] if isinstance(keys, str) else keys
    attributes: list[Attribute] = []
    remarks: list[Remark] = []
    names: set[str] = set()
    for field in schema["fields"]:
        name = _name(field, names)
        try:
            # A column of a key of several columns need not be unique, and is no identifier.
            column, lost = readers.attribute_of(
                field, missing=_of_field(field, missing), is_key=keys == [name]
            )
            attributes.append(column)
            remarks += [Remark(name, *each) for each in lost]
        # One field that says too little does not make the description of the others useless.
        except Underspecified as unsaid:
            remarks.append(Remark(name, unsaid.rule, unsaid.repair))
    return DictionaryContents(attributes=tuple(attributes), remarks=tuple(remarks))


def _schema(document: Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(document.get("fields"), list):
        return document
    resources = (
        document["resources"] if isinstance(document.get("resources"), list) else [document]
    )
    schemas = [
        each["schema"]
        for each in resources
        if isinstance(each, Mapping) and _has_fields(each.get("schema"))
    ]
    if len(schemas) != 1:
        raise DomainError(
            f"the package holds {len(schemas)} schemas of tables",
            repair="bring the one schema that is about this table",
        )
    schema: Mapping[str, object] = schemas[0]
    return schema


def _name(field: Any, names: set[str]) -> str:
    name = field.get("name") if isinstance(field, Mapping) else None
    if not isinstance(name, str) or not name.strip():
        raise DomainError("a field of the schema has no name", repair="give every field a name")
    if name in names:
        raise DomainError("two fields have this name", repair="keep one of them", column=name)
    names.add(name)
    return name


def _of_field(field: Mapping[str, Any], usual: tuple[str, ...]) -> tuple[str, ...]:
    """Markers of one field; those of its schema if it names none (version 2)."""
    if "missingValues" not in field:
        return usual
    return _markers(field["missingValues"], column=field["name"])


def _markers(given: Any, *, column: str | None) -> tuple[str, ...]:
    """Texts, or {"value", "label"} as version 2 has them."""
    listed = given if isinstance(given, Sequence) and not isinstance(given, str) else [None]
    texts = [each.get("value") if isinstance(each, Mapping) else each for each in listed]
    markers = [text for text in texts if isinstance(text, str)]
    if len(markers) < len(texts):
        raise DomainError(
            "missingValues is no list of texts",
            repair='write it like ["", "NA"]',
            column=column,
        )
    return tuple(dict.fromkeys(markers))
