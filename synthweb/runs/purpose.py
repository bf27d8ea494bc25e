"""Fields of the new-release form for parameters that name columns: one to predict, weights of columns, groups
of columns.

The schema of a method marks such a parameter with `x-columns`. What stands in the form is plain HTML that
works without scripts: a list to choose from, a line for each column, and groups that are added and taken away
by buttons that send the form. A parameter that is a list or an object travels as JSON text, which the engine
reads.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from synth_engine.domain import Domain
from synth_engine.plans import workload
from synth_engine.plans.parameters import ParameterRule
from synthweb.runs.typed_columns import LONGEST, read

PREFIX = "param-"  # of the fields that a mechanism's own schema adds
EDIT = "edit"  # the name of the buttons that change groups of columns
PICKS = ("pick-1", "pick-2", "pick-3")
WEIGHT = re.compile(r"[0-9]{1,4}([.,][0-9]{1,9})?")
GONE = "(no longer a column)"


@dataclass(frozen=True, kw_only=True)
class Offered:
    """The columns that a form has to choose from; none where nothing is described yet."""

    columns: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()

    @classmethod
    def by(cls, domain: Domain | None) -> Offered:
        return (
            cls()
            if domain is None
            else cls(columns=domain.names, targets=workload.targets(domain))
        )


class OneColumn(forms.CharField):
    """A column out of a list, or none. One that is typed or remembered and no longer there stays in the list,
    so that it is seen; the engine says what is wrong with it."""

    columns = "one"


class WeightsOfColumns(forms.CharField):
    """Weights of columns as one JSON object. Errors name the column."""

    columns = "each"

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        parsed = read(text)
        if not isinstance(parsed, dict):
            return text  # the engine says what is wrong
        faults = [column for column, weight in parsed.items() if not _is_weight(str(weight))]
        if faults:
            named = ", ".join(f"“{column}”" for column in faults)
            most = f"{workload.MAX_WEIGHT:g}"
            raise forms.ValidationError(
                _("%(named)s: write a weight like 2 or 0.5, 0 to %(most)s.")
                % {"named": named, "most": most}
            )
        return {
            column: float(str(weight).replace(",", ".")) for column, weight in parsed.items()
        }


class GroupsOfColumns(forms.CharField):
    """Groups of columns as one JSON list of lists."""

    columns = "groups"

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        parsed = read(text)
        return parsed if isinstance(parsed, list) else text  # the engine says what is wrong


def field(rule: ParameterRule, offered: Offered, **common: Any) -> forms.CharField:
    """The form field of a parameter that names columns."""
    common |= {"max_length": LONGEST, "initial": as_text(rule.get("default"))}
    if rule["x-columns"] == "one":
        choices = [("", _("None")), *((name, name) for name in offered.targets)]
        return OneColumn(
            widget=forms.Select(choices=choices, attrs={"class": "form-select"}), **common
        )
    return (WeightsOfColumns if rule["x-columns"] == "each" else GroupsOfColumns)(**common)


def as_text(value: Any) -> Any:
    """A value as a form holds it: lists and objects as JSON text."""
    return (
        json.dumps(value, ensure_ascii=False)
        if isinstance(value, list | tuple | dict)
        else value
    )


def gathered(data: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """What was sent, with every table of weights made one text, and groups added or taken away as a button
    asks; and what hinders that, in words."""
    # Of several values of one name the last counts, as a form reads them.
    parameters = {name: data[name] for name in data}
    for name, weights in _weights(data).items():
        parameters[name] = as_text(weights)
    asked = parameters.pop(EDIT, "")
    return (parameters, "") if not asked else _edited(parameters, str(asked))


def _weights(data: Mapping[str, object]) -> dict[str, dict[str, str]]:
    """By parameter, what the lines of its columns say; 1 and nothing are left out."""
    by_field: dict[str, dict[str, str]] = {}
    for key, text in data.items():
        name, colon, column = key.partition(":")
        if not colon or not name.startswith(PREFIX) or not isinstance(text, str):
            continue
        weights = by_field.setdefault(name, {})
        if text.strip() not in ("", "1"):
            weights[column] = text.strip()
    return by_field


def _edited(data: dict[str, object], asked: str) -> tuple[dict[str, object], str]:
    """`asked`: "add:<field>" for the columns picked, or "remove:<field>:<place>"."""
    verb, _, rest = asked.partition(":")
    name, _, place = rest.partition(":")
    groups = read(data.get(name, "[]") or "[]")
    if not name.startswith(PREFIX) or not isinstance(groups, list):
        return data, ""
    # Compared as text: int() would also take signs, blanks and digits of other scripts.
    if verb == "remove" and place in map(str, range(len(groups))):
        return data | {name: as_text(groups[: int(place)] + groups[int(place) + 1 :])}, ""
    if verb == "add":
        picked = picks(data)
        if len(picked) < workload.MIN_MARGINAL_COLUMNS or len(set(picked)) < len(picked):
            return data, "Choose two or three different columns, then add them."
        if any(
            isinstance(group, list) and set(map(str, group)) == set(picked) for group in groups
        ):
            return data, "These columns are listed already."
        return data | {name: as_text([*groups, picked])} | dict.fromkeys(PICKS, ""), ""
    return data, ""


def picks(data: Mapping[str, object]) -> list[str]:
    """Columns that were picked and not added yet."""
    return [str(data[name]) for name in PICKS if data.get(name)]


def with_gone(widget: forms.Select, value: Any) -> None:
    """Have a list to choose from show what is chosen, even if it should not be there."""
    choices: list[Any] = list(widget.choices)
    if value and str(value) not in {str(name) for name, _ in choices}:
        widget.choices = [*choices, (str(value), f"{value} {GONE}")]


def _is_weight(text: str) -> bool:
    return bool(WEIGHT.fullmatch(text)) and float(text.replace(",", ".")) <= workload.MAX_WEIGHT
