"""The JSON Schema of a specification of a city, published as docs/city.schema.json."""

from __future__ import annotations

from typing import Any

SCHEMA_NAME = "synth_engine/city/1"
MAX_TABLES = 20
MAX_POPULATION = 5_000_000
_Schema = dict[str, Any]
_NAME: _Schema = {"type": "string", "minLength": 1, "maxLength": 60}
_FILE: _Schema = {"type": "string", "minLength": 1, "maxLength": 500}
_COUNT: _Schema = {"type": "integer", "minimum": 0, "maximum": 1_000_000_000}


def _object(properties: _Schema, *required: str, about: str = "") -> _Schema:
    return {
        "type": "object",
        **({"description": about} if about else {}),
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _list(items: _Schema, *, most: int) -> _Schema:
    return {"type": "array", "items": items, "minItems": 1, "maxItems": most}


def _map(values: _Schema, *, most: int, about: str = "") -> _Schema:
    return {
        "type": "object",
        **({"description": about} if about else {}),
        "additionalProperties": values,
        "minProperties": 1,
        "maxProperties": most,
    }


_WHERE = _object(
    {
        "column": _NAME,
        "in": _list({"type": "string", "maxLength": 200}, most=200),
        "from": {"type": "number"},
        "to": {"type": "number"},
    },
    "column",
    about="Which rows: those whose value is listed, or lies from one number to another.",
)
_LOCATED: _Schema = {
    "source": _NAME,
    "column": {**_NAME, "description": "With codes of areas."},
    "latitude": {**_NAME, "description": "With longitude: each point is in the nearest area."},
    "longitude": _NAME,
}
_WEIGHT = _object(
    _LOCATED,
    about="How many rows areas have: a column of the areas, or, with a source, where its rows lie.",
)
_POSITIONS = _object(
    {
        "column": {**_NAME, "description": "Of this table."},
        "by": {**_NAME, "description": "A column of the table above."},
        "of": _map(
            _list(_list({"type": "string", "maxLength": 200}, most=50), most=50),
            most=50,
            about="For each value of the column above, which values the first, the second, … row has; the "
            "last list goes on.",
        ),
    },
    "column",
    "by",
    "of",
)
_JOIN = _object(
    {
        "column": {**_NAME, "description": "The column that refers."},
        "to": {**_NAME, "description": "The table, or areas."},
        "by": {
            "enum": ["size", "weight", "nearest", "match"],
            "description": "size: as many rows as a column of the table above says; weight: areas by "
            "weights; nearest: the nearest row of the other table; match: a row with the same values.",
        },
        "size": _NAME,
        "positions": _POSITIONS,
        "alike": {
            **_NAME,
            "description": "A column of numbers: rows with one row above have near values.",
        },
        "weight": _WEIGHT,
        "where": _WHERE,
        "on": _list(_NAME, most=5),
    },
    "column",
    "to",
    "by",
)
_FLOW = _object(
    {
        "source": _NAME,
        "from": _object(
            {"column": _NAME, "to": _NAME, "where": _WHERE, "origin": _object(_LOCATED)},
            "column",
            "to",
            "origin",
        ),
        "into": _object(
            {"column": _NAME, "to": _NAME, "destination": _object(_LOCATED)},
            "column",
            "to",
            "destination",
        ),
        "kilometres": {
            **_NAME,
            "description": "The name of a column with the distance as the crow flies.",
        },
    },
    "source",
    "from",
    "into",
    about="Pairs rows of two tables, each once, by the flows between areas that a source has.",
)
_TOTAL = _object(
    {
        "by": {
            **_NAME,
            "description": "A column of the areas in which the rows lie, or of the table.",
        },
        "of": {
            "enum": ["rows", "population"],
            "description": "population: of the persons in the rows.",
        },
        "scaled": {
            "type": "boolean",
            "description": "Counts are shares of the rows that there are.",
        },
        "counts": _map(_COUNT, most=100_000),
    },
    "by",
    "counts",
    about="Public totals, which the table meets exactly.",
)
_TABLE = _object(
    {
        "source": _NAME,
        "key": _NAME,
        "rows": {
            "anyOf": [
                {**_COUNT, "minimum": 1},
                _object(
                    {
                        "share": {"type": "number", "exclusiveMinimum": 0, "maximum": 100},
                        "of": {**_NAME, "description": "A table, or population."},
                    },
                    "share",
                    "of",
                ),
            ]
        },
        "population": {
            **_list(_NAME, most=10),
            "description": "Columns that say how many persons a row has; all rows together have the "
            "population of the city.",
        },
        "joins": _list(_JOIN, most=10),
        "flow": _FLOW,
        "totals": _list(_TOTAL, most=3),
    },
    "key",
)
_SOURCE: _Schema = {
    "anyOf": [
        _object({"model": _FILE, "receipt": _FILE}, "model", "receipt"),
        _object({"description": _FILE, "receipt": _FILE}, "description"),
    ],
    "description": "A release: its model and its receipt; or a description that was written without data.",
}
_SIMULATION = _object(
    {
        "households": _NAME,
        "persons": _list(
            _object(
                {"table": _NAME, "age": _NAME, "sex": _NAME, "school": _NAME},
                "table",
            ),
            most=5,
        ),
        "commutes": _NAME,
    },
    "households",
    "persons",
    about="What exports for MATSim and PopulationSim take as households, persons and ways to work and "
    "school.",
)
SCHEMA: _Schema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "A synthetic city",
    **_object(
        {
            "schema": {"const": SCHEMA_NAME},
            "name": {"type": "string", "minLength": 1, "maxLength": 200},
            "population": {"type": "integer", "minimum": 1, "maximum": MAX_POPULATION},
            "seed": {"type": "string", "minLength": 1, "maxLength": 200},
            "areas": _object(
                {
                    "file": _FILE,
                    "key": _NAME,
                    "latitude": _NAME,
                    "longitude": _NAME,
                    "published": {
                        "type": "string",
                        "minLength": 1,
                        "maxLength": 500,
                        "description": "Where anybody can get the file.",
                    },
                },
                "file",
                "key",
                "latitude",
                "longitude",
                "published",
                about="The geography that all tables share: a public table (CSV) with a row for each area.",
            ),
            "sources": _map(_SOURCE, most=50),
            "tables": {
                **_map(_TABLE, most=MAX_TABLES),
                "propertyNames": {"pattern": "^[A-Za-z][A-Za-z0-9_]{0,59}$"},
            },
            "simulation": _SIMULATION,
        },
        "schema",
        "name",
        "population",
        "areas",
        "sources",
        "tables",
    ),
}
