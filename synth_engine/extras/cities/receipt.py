"""The receipt of a city: what each table was made of, with the receipts of its sources by their digests, and
which totals it meets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, cast

from synth_engine.errors import InputError
from synth_engine.extras.cities.building import BuiltCity
from synth_engine.extras.cities.specification import AREAS, CityTable
from synth_engine.privacy import receipt as receipts
from synth_engine.privacy.loss import plain, scientific
from synth_engine.strict_json import JsonObject, JsonValue

SCHEMA = "synth_engine/city-receipt/1"
STATEMENT = (
    "This city is post-processing: it was generated from the models of the releases below, from public "
    "files and from descriptions. No table was read, so that it costs no privacy beyond these releases. "
    "Each of them has a receipt, which proves its own guarantee; links between tables are generated, and "
    "say nothing about who is in two of them."
)


def build(built: BuiltCity) -> JsonObject:
    """The receipt of a generated city."""
    spec = built.city.spec
    statements = [source.statement for source in built.city.sources.values()]
    document: JsonObject = {
        "schema": SCHEMA,
        "statement": STATEMENT,
        "city": spec.name,
        "specification_sha256": receipts.digest(spec.document),
        "population": built.population,
        "seed": built.seed,
        "areas": {
            "rows": len(built.city.geography),
            "sha256": built.digests[AREAS],
            "file_sha256": built.city.geography.sha256,
            "published": spec.areas.published,
        },
        "sources": cast(JsonValue, statements),
        "sums": _sums(statements),
        "tables": [_table(built, table) for table in spec.tables],
        "notes": cast(JsonValue, built.notes),
    }
    return document | {"digest": receipts.digest(document)}


def _table(built: BuiltCity, table: CityTable) -> JsonObject:
    sources: JsonObject = {
        name: built.city.sources[name].statement["receipt"]
        for name in built.city.spec.sources_of(table)
    }
    layout = next(one for one in built.layouts if one.name == table.name)
    return {
        "table": table.name,
        "rows": len(built.frames[table.name]),
        "sha256": built.digests[table.name],
        "key": table.key,
        "references": [
            {"column": one.column, "table": one.table, "key": one.key}
            for one in layout.references
        ],
        "receipts_of_sources": sources,
        "totals": [
            {
                "by": total.by,
                "of": total.of,
                "scaled": total.scaled,
                "counts_sha256": receipts.digest(dict(total.counts)),
                "met": "exactly",
            }
            for total in table.totals
        ],
    }


def _sums(statements: list[JsonObject]) -> list[JsonValue]:
    """What a person may lose who is in the tables of several releases: losses of one relation and unit add
    up."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    counted: set[str] = set()
    for one in statements:
        # A release that is two sources was paid for once.
        if one["receipt"] is None or str(one["receipt"]) in counted:
            continue
        counted.add(str(one["receipt"]))
        key = receipts.digest({"relation": one["relation"], "unit": one["unit"]})
        groups.setdefault(key, []).append(cast(Mapping[str, Any], one))
    return [
        {
            "relation": group[0]["relation"],
            "unit": group[0]["unit"],
            "releases": [one["receipt"] for one in group],
            "epsilon": plain(_sum(group, "epsilon")),
            "delta": scientific(_sum(group, "delta")),
            "sentence": "For a unit that is in the tables of all these releases, their losses add up to "
            "this.",
        }
        for group in groups.values()
    ]


def _sum(group: Sequence[Mapping[str, Any]], name: str) -> Fraction:
    return sum((Fraction(one["guarantee"][name]) for one in group), Fraction(0))


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, list[str]]:
    """Which tables of a city are the same as in an earlier receipt, changed, new or gone. Errors:
    InputError."""
    if before.get("schema") != SCHEMA or not isinstance(before.get("tables"), list):
        raise InputError(
            "this is no receipt of a city", repair="give the file that build wrote"
        )
    old, new = (
        {str(one["table"]): one["sha256"] for one in receipt["tables"]}
        for receipt in (before, after)
    )
    return {
        "unchanged": [name for name in new if old.get(name) == new[name]],
        "changed": [name for name in new if name in old and old[name] != new[name]],
        "new": [name for name in new if name not in old],
        "gone": [name for name in old if name not in new],
    }
