"""Setting the same for several columns at once: a function of a column and of what is asked for all of
them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from django.utils.translation import gettext_lazy as _

from synthweb.datasets import draft as drafts
from synthweb.datasets.draft import Column
from synthweb.datasets.kinds import FORMS
from synthweb.datasets.kinds.form import Fields
from synthweb.datasets.kinds.typed import CHECKED
from synthweb.datasets.list_fields import normalise, split

MISSING = {
    "none": _("none: no value is missing"),
    "empty": _("an empty cell"),
    "typed": _("the markers typed here"),
    "both": _("an empty cell, and the markers typed here"),
}
OUTSIDES = {
    "other": _("is kept as “other” (categories)"),
    "missing": _("counts as missing"),
    "clamp": _("moves to the nearest bound (categories: the first, yes or no: no)"),
}
_CUTS = ("bins", "width", "edges", "step_days")


@dataclass(frozen=True, kw_only=True)
class BulkChange:
    """The requested changes; an empty text leaves things as they are."""

    kind: str = ""
    origin: str = ""
    outside: str = ""
    missing: str = ""
    markers: str = ""
    bins: str = ""

    @property
    def anything(self) -> bool:
        return bool(self.kind or self.origin or self.outside or self.missing or self.bins)


@dataclass(kw_only=True)
class ChangedColumn:
    """A column as asked for, and what of it could not be had: (rule, repair)."""

    column: Column
    remarks: list[tuple[str, str]] = field(default_factory=list)


def change(column: Column, asked: BulkChange) -> ChangedColumn:
    """The column with what is asked for, as far as its kind has it."""
    kind = asked.kind or str(column.get("kind") or "")
    old: Fields = (
        column["fields"]
        if kind == column.get("kind")
        else drafts.shared_fields(column["fields"], kind)
    )
    changed = ChangedColumn(
        column={
            "kind": kind,
            "origin": asked.origin or column.get("origin") or "declared",
            "fields": {key: old.get(key, "") for key in drafts.FIELDS.get(kind, ())},
        }
    )
    if not kind:
        changed.remarks.append(("its kind is not chosen", "choose the kind as well"))
        return changed
    _set_missing(changed, asked)
    _set_outside(changed, asked)
    _set_bins(changed, asked)
    return changed


def differs(before: Column, after: Column) -> bool:
    """Whether anything that is typed or shown is another."""
    if (before.get("kind"), before.get("origin") or "declared") != (
        after["kind"],
        after["origin"],
    ):
        return True
    return any(
        normalise(before["fields"].get(key, "")) != normalise(text)
        for key, text in after["fields"].items()
    )


def _set_missing(column: ChangedColumn, asked: BulkChange) -> None:
    fields = column.column["fields"]
    if not asked.missing:
        return
    if "missing" not in fields:
        column.remarks.append(
            ("an identifier has no missing values", "choose another kind for it")
        )
        return
    typed = (
        [marker for marker in split(asked.markers) if marker]
        if asked.missing in ("typed", "both")
        else []
    )
    if asked.missing == "typed" and not typed:
        column.remarks.append(("no marker is typed", "type one, for example NA"))
        return
    fields["missing_empty"] = CHECKED if asked.missing in ("empty", "both") else ""
    fields["missing"] = drafts.markers(typed)
    if asked.missing == "none" and fields["outside"] == "missing":
        fields["outside"] = FORMS[column.column["kind"]].usual_outside(False)
        rule = drafts.OUTSIDES[column.column["kind"]][fields["outside"]]
        column.remarks.append(
            (
                f"nothing can be missing now, so a value outside {rule}",
                "choose otherwise if you like",
            )
        )


def _set_outside(column: ChangedColumn, asked: BulkChange) -> None:
    kind, fields = column.column["kind"], column.column["fields"]
    if not asked.outside:
        return
    if asked.outside not in drafts.OUTSIDES.get(kind, {}):
        column.remarks.append(
            (f"“{asked.outside}” is nothing for its kind", "choose another rule for it")
        )
    elif asked.outside == "missing" and not (fields["missing_empty"] or fields["missing"]):
        column.remarks.append(
            ("it declares no missing values", "set its missing values as well")
        )
    else:
        fields["outside"] = asked.outside


def _set_bins(column: ChangedColumn, asked: BulkChange) -> None:
    fields = column.column["fields"]
    if not asked.bins:
        return
    if "most_bins" in fields:
        fields["most_bins"] = asked.bins
        return
    if "bins" not in fields:
        column.remarks.append(
            ("its kind has no bins", "choose whole number, number or a date for it")
        )
        return
    # Only one of these inputs may be filled in; the others would make the line wrong.
    fields.update({key: "" for key in _CUTS if key in fields} | {"bins": asked.bins})


def remark_lines(remarks: Iterable[tuple[str, str, str]]) -> list[str]:
    """One line for each rule, naming the columns: from (column, rule, repair)."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for name, rule, repair in remarks:
        grouped.setdefault((rule, repair), []).append(name)
    return [f"{named(names)}: {rule}; {repair}." for (rule, repair), names in grouped.items()]


def named(names: list[str]) -> str:
    """Columns by name, the first few of many."""
    most = 8
    listed = ", ".join(f"“{name}”" for name in names[:most])
    word = "Column" if len(names) == 1 else "Columns"
    return (
        f"{word} {listed} and {len(names) - most} more"
        if len(names) > most
        else f"{word} {listed}"
    )
