"""Functions of other columns."""

from __future__ import annotations

import csv
from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from synth_engine.domain import Derived
from synth_engine.kinds.derived import NUMBER_RULES
from synth_engine.kinds.formulas import FORMULAS, number_text
from synthweb.datasets.kinds.form import NUMBER_CELLS, Document, Fields, KindForm
from synthweb.datasets.kinds.typed import TypedFields
from synthweb.datasets.list_fields import join, quoted, split

RULES: Mapping[str, str | Promise] = {
    "sum": _("the sum of these columns"),
    "difference": _("the first of these columns less the second"),
    "copy": _("a copy of this column"),
    "year": _("the year of this column"),
    "month": _("the month of this column"),
    "weekday": _("the weekday of this column, 1 to 7 from Monday"),
    "lookup": _("what a public list has beside a value of this column, or of two columns"),
    "nearest": _("what the nearest point of a public list has, by latitude and longitude"),
    "product": _("the product of these columns, times a constant if you give one"),
    "ratio": _("the first of these columns divided by the second, or by a constant"),
    "power": _("this column to the power of a constant, such as 2 for its square"),
    "log": _(
        "the natural logarithm of this column, or to the base that you give as the constant"
    ),
    "clock": _("100 times the first of these columns plus the second, as of hour and minute"),
    "complement": _("1, or a constant, less these columns"),
}


def _derived(typed: TypedFields) -> dict[str, object]:
    rule = typed.text("function") or "sum"
    document: dict[str, object] = {"rule": rule, "of": split(typed.text("sources"))}
    if rule in NUMBER_RULES and typed.text("rounded"):
        document["decimals"] = typed.whole("rounded")
    if rule in FORMULAS and typed.text("constant"):
        document["constant"] = typed.number("constant")
    if rule == "lookup":
        document["table"] = [
            _row(line, typed) for line in typed.text("beside").splitlines() if line
        ]
    if rule == "nearest":
        document["points"] = [
            _point(line, typed) for line in typed.text("located").splitlines() if line
        ]
    if typed.text("marker"):
        document["marker"] = typed.text("marker")
    return document


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in next(csv.reader([line], skipinitialspace=True), [])]


def _row(line: str, typed: TypedFields) -> list[str]:
    cells = _cells(line)
    if len(cells) != len(split(typed.text("sources"))) + 1:
        raise typed.wrong(
            "a line of the list is not a value of each column and one beside them",
            "write the values and what stands beside them, with commas between",
            "beside",
        )
    return cells


def _point(line: str, typed: TypedFields) -> list[float | str]:
    cells = _cells(line)
    try:
        latitude, longitude, text = cells
        return [float(latitude), float(longitude), text]
    except ValueError:
        raise typed.wrong(
            "a line of the list is not a latitude, a longitude and a text",
            "write degrees with decimals, such as 41.49, -71.31, Newport",
            "located",
        ) from None


def _constant_text(constant: object) -> str:
    return number_text(float(constant)) if isinstance(constant, int | float) else ""


def _as_typed(document: Document, fields: Fields) -> Fields:
    table, points, of = (document.get(key) for key in ("table", "points", "of"))
    lines = (
        [", ".join(quoted(text, comma=True) for text in row) for row in table]
        if isinstance(table, list)
        else []
    )
    located = (
        [f"{north}, {east}, {quoted(text, comma=True)}" for north, east, text in points]
        if isinstance(points, list)
        else []
    )
    return fields | {
        "function": str(document.get("rule") or ""),
        "sources": join(map(str, of)) if isinstance(of, list) else "",
        "rounded": str(document.get("decimals") or ""),
        "constant": _constant_text(document.get("constant")),
        "beside": "\n".join(lines),
        "located": "\n".join(located),
        "marker": str(document.get("marker") or ""),
    }


def _is_shown(key: str, fields: Mapping[str, str]) -> bool:
    rule = fields.get("function") or "sum"
    if key in ("beside", "located"):
        return rule == ("lookup" if key == "beside" else "nearest")
    if key == "constant":
        return rule in FORMULAS
    return rule in NUMBER_RULES if key == "rounded" or key in NUMBER_CELLS else True


def _summary(attribute: Derived) -> str:
    return f"not modelled; computed as {attribute.sentence}"


FORM = KindForm(
    kind="derived",
    label=_("Computed from other columns"),
    position=110,
    fields=(
        "function",
        "sources",
        "constant",
        "rounded",
        "beside",
        "located",
        "marker",
        *NUMBER_CELLS,
    ),
    document=_derived,
    summary=_summary,
    inputs={
        "rule": "function",
        "of": "sources",
        "decimals": "rounded",
        "constant": "constant",
        "table": "beside",
        "points": "located",
    },
    choices={"function": (RULES, "sum")},
    redraws=("function",),
    as_typed=_as_typed,
    is_shown=_is_shown,
)
