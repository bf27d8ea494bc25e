"""A description as a Frictionless Table Schema, version 2: what a table drawn from a release of it looks
like.

Kinds, values, bounds and missing values are kept. Bins are not: the specification has no word for them.
Columns that are left out of releases are left out here.
"""

from __future__ import annotations

from synth_engine.domain import Attribute, Domain

SCHEMA = "https://datapackage.org/profiles/2.0/tableschema.json"


def to_schema(domain: Domain) -> dict[str, object]:
    """The schema of the tables that releases of this description give."""
    return {
        "$schema": SCHEMA,
        "fields": [_field(attribute) for attribute in domain.table_columns],
        "missingValues": [],
    }


def _field(attribute: Attribute) -> dict[str, object]:
    kind = attribute.table_schema()
    constraints = dict(kind.constraints)
    field: dict[str, object] = {"name": attribute.name, "type": kind.type, **kind.properties}
    if attribute.missing is None:
        constraints |= {"required": True}
    else:
        field["missingValues"] = list(attribute.missing)
    return field | {"constraints": constraints}
