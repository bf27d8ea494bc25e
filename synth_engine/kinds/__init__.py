"""Kinds of columns: each is one module that describes, reads, encodes, draws and exports its columns.

A module of this package that defines a class with a `kind` of its own is a kind; `schema_position` orders
them in the published JSON Schema. The class answers what `kinds.attribute.Attribute` asks of every kind.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from importlib import import_module

from synth_engine.errors import DomainError
from synth_engine.kinds.attribute import Attribute
from synth_engine.kinds.cell_form import SCHEMA as CELL_FORM
from synth_engine.kinds.cell_form import CellForm
from synth_engine.kinds.facts import PROVENANCES
from synth_engine.kinds.fields import Fields
from synth_engine.kinds.fragments import TEXTS, Schema, optional


def _discover() -> dict[str, type[Attribute]]:
    # A base class has no `kind` of its own, which is how it is told from a kind here.
    kinds = [
        member
        for info in pkgutil.iter_modules(__path__)
        for member in vars(import_module(f"{__name__}.{info.name}")).values()
        if isinstance(member, type) and issubclass(member, Attribute) and "kind" in vars(member)
    ]
    return {kind.kind: kind for kind in sorted(kinds, key=lambda kind: kind.schema_position)}


KINDS = _discover()


def parse_attribute(document: object) -> Attribute:
    """Read one attribute from its JSON; a key "why" (a sentence for people) is allowed and not stored."""
    if not isinstance(document, Mapping):
        raise DomainError(
            "an attribute is not a JSON object", repair="see docs/domain.schema.json"
        )
    name = document.get("name")
    if not isinstance(name, str):
        raise DomainError("an attribute has no name", repair="give every attribute a name")
    reader = Fields(document, column=name)
    kind = KINDS.get(reader.text("kind"))
    if kind is None:
        raise DomainError(
            "unknown kind", repair=f"use one of {', '.join(KINDS)}", column=name, field="kind"
        )
    given = kind.read_json(reader)
    # Unknown fields are refused: a misspelled one would silently leave a default in force.
    extra = (
        []
        if kind.bare
        else ["missing", "outside", "ordered", "written", "separate_markers", "protected"]
    )
    reader.only("name", "kind", "provenance", "why", *extra, *given)
    given = {
        key: value for key, value in given.items() if key in document and value is not None
    }
    if extra:
        given["missing"] = reader.texts("missing")
        given["outside"] = reader.text("outside", default=None)
        if "ordered" in document:
            given["ordered"] = reader.boolean("ordered")
        given["separate_markers"] = reader.boolean("separate_markers")
        given["protected"] = reader.boolean("protected")
        if document.get("written") is not None:
            given["written"] = CellForm.from_json(document["written"], column=name)
    return kind(name=name, provenance=reader.provenance(), **given)


def attribute_schemas() -> list[Schema]:
    """The JSON Schema of an attribute of each kind."""
    return [_schema(kind) for kind in KINDS.values()]


def _provenance(kind: type[Attribute]) -> Schema:
    word: Schema = {"enum": list(PROVENANCES)}
    facts: Schema = {
        "type": "object",
        "properties": dict.fromkeys(kind.fact_names, word),
        "required": list(kind.fact_names),
        "additionalProperties": False,
    }
    return {
        "anyOf": [word, facts],
        "description": 'Where the facts come from. "suggested" ones were read off the data and must be '
        "confirmed.",
    }


def _schema(kind: type[Attribute]) -> Schema:
    own, required = kind.json_schema()
    shared: Schema = {
        "name": {"type": "string", "minLength": 1, "maxLength": 200},
        "kind": {"const": kind.kind},
        "provenance": _provenance(kind),
        "why": {
            "type": "string",
            "description": "A sentence for people; not part of the domain.",
        },
    }
    if not kind.bare:
        shared |= {
            "missing": optional(
                TEXTS
                | {"description": "Texts that stand for a missing value; null: none can be."}
            ),
            "outside": optional({"enum": list(kind.outsides)}),
            "ordered": {"type": "boolean"},
            "written": optional(CELL_FORM),
            "separate_markers": {
                "type": "boolean",
                "description": "Whether releases measure which of several markers a missing value has.",
            },
            "protected": {
                "type": "boolean",
                "description": "Whether people must not be treated by it, such as sex or origin; it "
                "changes no release.",
            },
        }
    return {
        "type": "object",
        "description": (kind.__doc__ or "").replace("\n", " ").replace("    ", ""),
        "properties": shared | own,
        "required": ["name", "kind", *required],
        "additionalProperties": False,
    }
