"""Forms about databases: how their tables are connected, a description from elsewhere, and a release of all
tables."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from synth_engine.domain.database import MAX_CHILDREN, Siblings
from synth_engine.domain.lookups import Lookup, parse_csv, read_referring_column
from synth_engine.errors import DomainError, SpecError
from synth_engine.privacy.loss import parse_decimal
from synth_engine.strict_json import JsonObject
from synthweb.datasets.basis import MAX_STATEMENT_LENGTH
from synthweb.datasets.forms import DocumentForm
from synthweb.datasets.models import DatabaseTable
from synthweb.lib.language import typed_number
from synthweb.lib.names import validate_one_line
from synthweb.runs.forms import AMOUNT

_BOUND = re.compile(r"\s*([^.\s]+)\.(.+?)\s*(<=|>=|≤|≥)\s*([^.\s]+)\.(.+?)\s*")
_AT_LEAST = (">=", "≥")
SIBLINGS = {
    Siblings.CONSECUTIVE.value: _("each row with the one before it"),
    Siblings.FIRST.value: _("each row with the first one"),
    Siblings.NONE.value: _("not counted together"),
}


class KeysForm(forms.Form):
    """How one table is connected to the others. Nothing typed is lost: what does not fit is said by the
    engine when all tables are confirmed together."""

    name = forms.CharField(max_length=100, label=_("Name"))
    key = forms.CharField(required=False, max_length=500, label=_("Column of unique keys"))
    parent = forms.ChoiceField(
        required=False,
        label=_("Rows refer to a row of"),
        widget=forms.Select(attrs={"class": "form-select"}),
    )
    reference = forms.CharField(
        required=False, max_length=500, label=_("by the column that holds its key")
    )
    most = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_CHILDREN,
        label=_("Most rows for one of them"),
    )
    order = forms.CharField(required=False, max_length=500, label=_("Sorted by the column"))
    descending = forms.BooleanField(required=False, label=_("largest first"))
    siblings = forms.ChoiceField(
        required=False,
        choices=SIBLINGS.items(),
        label=_("Rows that refer to the same row"),
        widget=forms.Select(attrs={"class": "form-select"}),
    )

    def __init__(
        self, data: Mapping[str, Any] | None, *, row: DatabaseTable, names: Iterable[str]
    ) -> None:
        self.row = row
        facts = row.facts
        order = facts.get("order") or {}
        initial = {**facts, "order": order.get("column", ""), "descending": False} | {
            "descending": bool(order.get("descending"))
        }
        super().__init__(data, prefix=row.dataset.code, initial=initial)
        for name in ("name", "key", "reference", "most", "order"):
            self.fields[name].widget.attrs["class"] = "form-control"
        others = [(name, name) for name in names if name != facts.get("name")]
        parents = [("", _("no table: it is the root")), *others]
        self.fields["parent"].choices = parents  # type: ignore[attr-defined]

    @property
    def facts(self) -> JsonObject:
        """What was typed, as the engine's description of a database has it."""
        typed = self.cleaned_data
        facts: JsonObject = {"name": typed["name"].strip(), "key": typed["key"].strip()}
        if self.row.is_root:
            return facts
        facts |= {
            "parent": typed["parent"],
            "reference": typed["reference"].strip(),
            "most": typed["most"],
            "siblings": typed["siblings"],
        }
        if column := typed["order"].strip():
            facts["order"] = {"column": column, "descending": typed["descending"]}
        return facts


class ConstraintsForm(forms.Form):
    """Constraints across tables, one a line."""

    bounds = forms.CharField(
        required=False,
        max_length=20_000,
        label=_("Constraints across tables"),
        help_text=_(
            "One a line: a column, <= or >=, and a column of a table above, such as people.age <= "
            "households.oldest."
        ),
        widget=forms.Textarea(attrs={"rows": 2, "class": "form-control"}),
    )

    def clean_bounds(self) -> list[JsonObject]:
        bounds: list[JsonObject] = []
        for line in filter(str.strip, self.cleaned_data["bounds"].splitlines()):
            matched = _BOUND.fullmatch(line)
            if matched is None:
                raise forms.ValidationError(
                    _("A line is no constraint: write TABLE.COLUMN <= TABLE.COLUMN, or >=.")
                )
            table, column, sign, above, other = matched.groups()
            which = "at_least" if sign in _AT_LEAST else "at_most"
            bounds.append({"table": table, "column": column, which: f"{above}.{other}"})
        return bounds


def bounds_text(bounds: Sequence[Mapping[str, str]]) -> str:
    """Constraints as they are typed."""
    return "\n".join(
        f"{each['table']}.{each['column']} "
        + (f">= {each['at_least']}" if "at_least" in each else f"<= {each['at_most']}")
        for each in bounds
    )


class LookupForm(forms.Form):
    """A public look-up table: its rows as a CSV, its key, and the columns that refer to it. The file is read
    in memory."""

    name = forms.CharField(max_length=100, label=_("Name"), validators=[validate_one_line])
    file = forms.FileField(
        label=_("Rows, as CSV"),
        widget=forms.FileInput(attrs={"accept": ".csv,text/csv"}),
        help_text=_("Every row becomes public: no row may be of the real tables."),
    )
    key = forms.CharField(max_length=500, label=_("Column of unique keys"))
    references = forms.CharField(
        max_length=5_000,
        label=_("Columns that refer to it"),
        help_text=_("Such as customers.nation; several are separated by commas."),
    )

    def __init__(self, data: Any = None, files: Any = None) -> None:
        # The form of keys on the same page has a field of the same name.
        super().__init__(data, files, auto_id="lookup-%s")
        for field in self.fields.values():
            field.widget.attrs["class"] = "form-control"

    def clean(self) -> dict[str, Any]:
        typed = super().clean() or {}
        if self.errors:
            return typed
        try:
            typed["lookup"] = self._read(typed)
        except DomainError as error:
            self.add_error(None, error.text)
        return typed

    def _read(self, typed: Mapping[str, Any]) -> Lookup:
        content = typed["file"].read()
        try:
            columns, rows = parse_csv(typed["name"], content.decode("utf-8-sig"))
        except UnicodeDecodeError:
            raise DomainError(
                f"look-up table {typed['name']!r}: its file cannot be read as text",
                repair="save it as UTF-8",
            ) from None
        named = [text.strip() for text in typed["references"].split(",")]
        return Lookup(
            name=typed["name"],
            key=typed["key"],
            columns=columns,
            rows=rows,
            references=tuple(
                read_referring_column(typed["name"], text) for text in named if text
            ),
        )

    @property
    def lookup(self) -> Lookup:
        """What was typed, once it is valid."""
        lookup: Lookup = self.cleaned_data["lookup"]
        return lookup


class DatabaseDocumentForm(DocumentForm):
    """A DATABASE.json, and where its facts are written."""

    because = forms.CharField(
        max_length=MAX_STATEMENT_LENGTH,
        label=_("Where this is written"),
        widget=forms.TextInput(attrs={"class": "form-control"}),
    )


class DatabaseReleaseForm(forms.Form):
    """The privacy loss of a release of all tables."""

    name = forms.CharField(
        required=False,
        max_length=200,
        label=_("Name of the release"),
        widget=forms.TextInput(attrs={"class": "form-control"}),
    )
    epsilon = forms.CharField(
        max_length=40,
        label=_("Privacy loss ε"),
        error_messages=AMOUNT,
        widget=forms.TextInput(attrs={"class": "form-control", "inputmode": "decimal"}),
    )
    delta = forms.CharField(
        max_length=40,
        required=False,
        label=_("δ"),
        error_messages=AMOUNT,
        widget=forms.TextInput(attrs={"class": "form-control"}),
    )
    request_key = forms.CharField(max_length=64, required=False, widget=forms.HiddenInput)
    confirmed = forms.CharField(max_length=64, required=False, widget=forms.HiddenInput)

    def __init__(self, data: Mapping[str, Any] | None = None, **suggested: str) -> None:
        super().__init__(data, initial={"request_key": secrets.token_urlsafe(24)} | suggested)

    def clean_epsilon(self) -> Fraction:
        return self._amount("epsilon")

    def clean_delta(self) -> Fraction:
        return self._amount("delta")

    def _amount(self, name: str) -> Fraction:
        try:
            return parse_decimal(typed_number(self.cleaned_data.get(name) or "0"), name=name)
        except SpecError as error:
            raise forms.ValidationError(error.text) from None
