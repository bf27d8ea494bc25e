"""Convert one field of a Table Schema to an attribute, by its type. What is lost is reported as (rule,
repair)."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from typing import Any

from synth_engine import values
from synth_engine.dictionaries.base import Underspecified, attribute, numeric
from synth_engine.domain import OTHER, Attribute
from synth_engine.errors import DomainError
from synth_engine.kinds import KINDS
from synth_engine.kinds.date import ISO
from synth_engine.kinds.date_time import ISO_MOMENT

Lost = list[tuple[str, str]]
LISTED_UP_TO = 1_000
"""Texts a pattern may match for all of them to be listed as categories."""
_TRUE, _FALSE = (
    ("true", "True", "TRUE", "1"),
    ("false", "False", "FALSE", "0"),
)  # as the specification has them
_NO_BOUNDS = (
    "has a type but no minimum and maximum",
    "add both here, or constraints to the schema",
)
_NO_VALUES = (
    "has no list of values (enum, categories, or a pattern that few texts match)",
    "describe it here",
)
_BAD_BOUND = ("its minimum or maximum is not of its type", "correct the schema")
_SPELLED = (
    "its numbers are written in a way that is not read",
    "write them like 1234.5 in the table",
)
_STYLED = ("its dates may be written in any way", "say in the schema how, for example %d.%m.%Y")
_FOUND = "which of them occur is found with budget"
_MANY_TEXTS = (
    "several texts mean yes or no; they are kept apart as categories",
    "look it over",
)


def attribute_of(
    field: Mapping[str, object], *, missing: tuple[str, ...], is_key: bool = False
) -> tuple[Attribute, Lost]:
    """The attribute and what of the field it cannot say. Errors: Underspecified, when the field says too
    little."""
    constraints = field.get("constraints") or {}
    if not isinstance(constraints, Mapping):
        raise Underspecified("its constraints are no JSON object", "correct the schema")
    kind = field.get("type", "string")
    base: dict[str, object] = {
        "name": field["name"],
        "missing": None if constraints.get("required") else list(missing) or None,
    }
    if (listed := _listed(field, constraints)) is not None:
        return _categories(base, listed, ordered=field.get("categoriesOrdered") is True), []
    if (
        is_key
        or constraints.get("unique") is True
        or (kind, field.get("format")) == ("string", "uuid")
    ):
        made = {"regenerate": "uuid"} if field.get("format") == "uuid" else {}
        return attribute({"name": field["name"], "kind": "identifier", **made}), []
    reader = _READERS.get(kind if isinstance(kind, str) else "")
    if reader is not None:
        return reader(base, field, constraints)
    described = next((k for k in KINDS.values() if k.table_schema_type == kind), None)
    if described is None:
        raise Underspecified("its type has no kind here", "describe it here, or leave it out")
    try:
        return attribute(base | described.from_table_schema(field)), []
    except ValueError:
        raise Underspecified(*_BAD_BOUND) from None


def _listed(field: Mapping[str, object], constraints: Mapping[str, object]) -> list[str] | None:
    """The values it may have, as texts; version 2 may give them with labels."""
    given = constraints.get("enum", field.get("categories"))
    if given is None or field.get("type") == "boolean":
        return None
    listed = given if isinstance(given, list) else [None]
    values_of = [each.get("value") if isinstance(each, Mapping) else each for each in listed]
    if not all(
        isinstance(each, str | int | float) and not isinstance(each, bool) for each in values_of
    ):
        raise Underspecified(
            "its list of values is not usable", "write it as a list of texts or numbers"
        )
    return [str(each) for each in values_of]


def _categories(base: dict[str, Any], listed: list[str], *, ordered: bool = False) -> Attribute:
    """A list is complete, so a text beyond it is missing, or the first one; "(other)" is what a release of
    ours calls what was not listed."""
    markers = base["missing"] or ()
    texts = [text for text in listed if text not in (*markers, OTHER)]
    other = OTHER in listed
    outside = "other" if other else "missing" if markers else "clamp"
    return attribute(
        base
        | {
            "kind": "categorical",
            "values": texts,
            "other": other,
            "outside": outside,
            "ordered": ordered,
        }
    )


def _string(
    base: dict[str, object], _: Mapping[str, object], constraints: Mapping[str, object]
) -> tuple[Attribute, Lost]:
    pattern = constraints.get("pattern")
    if not isinstance(pattern, str):
        raise Underspecified(*_NO_VALUES)
    try:
        # Patterns of the specification are those of XML Schema, which match the whole text.
        # Anchors are often written all the same.
        matched = values.Pattern(pattern.removeprefix("^").removesuffix("$"))
    except DomainError as error:
        raise Underspecified(f"its pattern is not usable: {error.rule}", error.repair) from None
    if matched.size > LISTED_UP_TO:
        document = base | {"kind": "weak", "values": matched.to_json()}
        return attribute(document), [
            (f"its pattern matches {matched.size:,} texts: {_FOUND}", "look it over")
        ]
    return _categories(base, [matched.unrank(rank) for rank in range(matched.size)]), []


def _number(
    base: dict[str, object],
    field: Mapping[str, object],
    constraints: Mapping[str, object],
    *,
    whole: bool,
) -> tuple[Attribute, Lost]:
    low, high = _ends(constraints)
    cast: Callable[[Any], float] = int if whole else float
    try:
        low, high = cast(low), cast(high)
    except (TypeError, ValueError, OverflowError):
        raise Underspecified(*_BAD_BOUND) from None
    if whole:  # version 2 has bounds that do not belong to the range
        low += "minimum" not in constraints
        high -= "maximum" not in constraints
    spelled = (
        field.get("decimalChar", "."),
        field.get("groupChar", ""),
        field.get("bareNumber", True),
    )
    document = base | numeric(low, high, whole=whole)
    return attribute(document), [] if spelled == (".", "", True) else [_SPELLED]


def _ends(constraints: Mapping[str, object]) -> tuple[Any, Any]:
    low = constraints.get("minimum", constraints.get("exclusiveMinimum"))
    high = constraints.get("maximum", constraints.get("exclusiveMaximum"))
    if low is None or high is None:
        raise Underspecified(*_NO_BOUNDS)
    return low, high


def _boolean(
    base: dict[str, Any], field: Mapping[str, Any], _: Mapping[str, Any]
) -> tuple[Attribute, Lost]:
    true, false = field.get("trueValues", list(_TRUE)), field.get("falseValues", list(_FALSE))
    texts = (true, false) if isinstance(true, list) and isinstance(false, list) else ([], [])
    if not all(each and all(isinstance(text, str) for text in each) for each in texts):
        raise Underspecified(
            "its texts for yes and no are not usable", "write them as lists of texts"
        )
    if len(true) == len(false) == 1:
        return attribute(base | {"kind": "boolean", "true": true[0], "false": false[0]}), []
    if "trueValues" not in field and "falseValues" not in field:
        return attribute(base | {"kind": "boolean", "true": "true", "false": "false"}), [
            (
                "does not say how yes and no are written; “true” and “false” were taken",
                "look it over",
            )
        ]
    return _categories(base, [*false, *true]), [_MANY_TEXTS]


def _date(
    base: dict[str, object], field: Mapping[str, object], constraints: Mapping[str, object]
) -> tuple[Attribute, Lost]:
    style = _style(field, usual=ISO)
    low, high = (_moment(end, style).date() for end in _ends(constraints))
    days = (high - low).days + 1
    # Days are grouped into at most LISTED_UP_TO codes, since each code gets its own noise.
    step = -(-days // LISTED_UP_TO)
    document = {
        "kind": "date",
        "low": low.isoformat(),
        "high": high.isoformat(),
        "step_days": step,
        "format": style,
    }
    return attribute(base | document), []


def _datetime(
    base: dict[str, object], field: Mapping[str, object], constraints: Mapping[str, object]
) -> tuple[Attribute, Lost]:
    """Describe timestamps in steps of a second, as the specification has no coarser ones; bins are the
    domain's usual."""
    style = _style(field, usual=ISO_MOMENT)
    low, high = (
        _moment(end, style).replace(tzinfo=None, microsecond=0).isoformat()
        for end in _ends(constraints)
    )
    return attribute(
        base
        | {"kind": "datetime", "low": low, "high": high, "unit": "seconds", "format": style}
    ), []


def _style(field: Mapping[str, object], *, usual: str) -> str:
    style = field.get("format", "default")
    if style == "any" or not isinstance(style, str):
        raise Underspecified(*_STYLED)
    return usual if style == "default" else style


def _moment(text: Any, style: str) -> datetime.datetime:
    """An end of a range, written as the field's values are or in the usual way."""
    try:
        # A zone is passed over, as in the domain
        return datetime.datetime.strptime(text, style)  # noqa: DTZ007
    except (TypeError, ValueError):
        pass
    try:
        return datetime.datetime.fromisoformat(text)
    except (TypeError, ValueError):
        raise Underspecified(*_BAD_BOUND) from None


_Reader = Callable[
    [dict[str, object], Mapping[str, object], Mapping[str, object]], tuple[Attribute, Lost]
]
_READERS: dict[str, _Reader] = {
    "string": _string,
    "any": _string,
    "integer": lambda base, field, constraints: _number(base, field, constraints, whole=True),
    "year": lambda base, field, constraints: _number(base, field, constraints, whole=True),
    "number": lambda base, field, constraints: _number(base, field, constraints, whole=False),
    "boolean": _boolean,
    "date": _date,
    "datetime": _datetime,
}
