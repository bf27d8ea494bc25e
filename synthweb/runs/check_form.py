"""The form of a check: which figures of a release are measured with budget, and for how much of it."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from synth_engine.domain import Domain
from synth_engine.errors import InputError, SpecError
from synth_engine.plans.release_check import MAX_WORST_TABLES, CheckedFigure
from synth_engine.privacy.loss import parse_decimal
from synthweb.datasets.stated_records import DIGITS
from synthweb.lib.language import typed_number
from synthweb.runs.checks import CheckRequest, classifier_of, count_of
from synthweb.runs.figure_fields import columns_of, share_of
from synthweb.runs.forms import AMOUNT

MOST_VALUES, MOST_VALUES_IN_PAIRS = 100_000, 1_000
"""Values of a column up to which the form measures it, and measures it with every other one."""
LONGEST_GROUPS = 20_000


class CheckForm(forms.Form):
    """Figures from a list, and a loss. `clean` makes `request` of them; whether they can be computed, the
    engine says."""

    every_column = forms.BooleanField(
        required=False,
        label=_("The distance of every column"),
        help_text=_("The share of records that would have to change, column by column."),
    )
    pairs = forms.BooleanField(
        required=False,
        label=_("The mean distance of all pairs of columns"),
        help_text=_("One figure for how well dependence between columns is kept."),
    )
    groups = forms.CharField(
        required=False,
        max_length=LONGEST_GROUPS,
        label=_("The distance of single tables"),
        help_text=_("One table a line: one to three columns, separated by commas."),
        widget=forms.Textarea(attrs={"rows": 3, "class": "form-control"}),
    )
    counted = forms.CharField(
        required=False,
        max_length=2_000,
        label=_("Counts of"),
        help_text=_("One to three columns, separated by commas."),
        widget=forms.TextInput(attrs={"class": "form-control"}),
    )
    least = forms.CharField(
        required=False,
        max_length=12,
        label=_("of at least"),
        widget=forms.TextInput(attrs={"class": "form-control", "inputmode": "numeric"}),
    )
    within = forms.CharField(
        required=False,
        max_length=10,
        label=_("within per cent"),
        widget=forms.TextInput(attrs={"class": "form-control", "inputmode": "decimal"}),
    )
    ks = forms.CharField(
        required=False,
        max_length=2_000,
        label=_("The Kolmogorov–Smirnov distance of"),
        help_text=_("Columns whose values have an order, separated by commas."),
        widget=forms.TextInput(attrs={"class": "form-control"}),
    )
    marginals = forms.CharField(
        required=False,
        max_length=LONGEST_GROUPS,
        label=_("Counts of the real table, with noise"),
        help_text=_("One table a line: one to three columns, separated by commas."),
        widget=forms.Textarea(attrs={"rows": 2, "class": "form-control"}),
    )
    records = forms.CharField(
        required=False,
        max_length=LONGEST_GROUPS,
        label=_("The number of records with"),
        help_text=_(
            "One count a line: one to three conditions, separated by semicolons, such as "
            "“region=north|south; works=yes”. Values are those of the card Counts."
        ),
        widget=forms.Textarea(attrs={"rows": 2, "class": "form-control"}),
    )
    classifiers = forms.CharField(
        required=False,
        max_length=LONGEST_GROUPS,
        label=_("AUC and accuracy of a classifier of"),
        help_text=_(
            "One classifier a line: what it predicts, a semicolon, and the one to three columns that it "
            "predicts it from, such as “works=yes; age, region”. It is trained on the synthetic table and "
            "tested on the real one."
        ),
        widget=forms.Textarea(attrs={"rows": 2, "class": "form-control"}),
    )
    worst_size = forms.ChoiceField(
        required=False,
        label=_("Worst groups"),
        choices=[
            ("", _("none")),
            ("1", _("of one column")),
            ("2", _("of two columns")),
        ],
        widget=forms.Select(attrs={"class": "form-select"}),
    )
    worst_tables = forms.CharField(
        required=False,
        max_length=2,
        label=_("tables"),
        widget=forms.TextInput(attrs={"class": "form-control", "inputmode": "numeric"}),
    )
    worst_columns = forms.CharField(
        required=False,
        max_length=LONGEST_GROUPS,
        label=_("among"),
        help_text=_(
            "Columns, separated by commas; empty for all. Groups of records whose numbers in the real and "
            "in the synthetic table differ most: tables are chosen by how far they differ, and then "
            "counted."
        ),
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

    def __init__(
        self, data: Mapping[str, Any] | None = None, *, domain: Domain, **suggested: str | bool
    ) -> None:
        """domain: of the release. suggested: what the form begins with."""
        self.domain = domain
        begun = {
            "every_column": True,
            "pairs": True,
            "least": "500",
            "within": "5",
            "worst_tables": "1",
            "request_key": secrets.token_urlsafe(24),
        }
        super().__init__(data, initial=begun | suggested)

    @property
    def choices(self) -> list[forms.BoundField]:
        """The figures that are chosen by a tick alone."""
        return [self["every_column"], self["pairs"]]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        amounts = {name: self._amount(name) for name in ("epsilon", "delta")}
        figures = (
            []
            if self.errors
            else [
                *self._figures(cleaned),
                *self._of_real(cleaned),
                *self._of_classifiers(cleaned),
                *self._of_worst_groups(cleaned),
            ]
        )
        if not self.errors and not figures:
            self.add_error(None, _("Choose at least one figure."))
        if not self.errors:
            cleaned["request"] = CheckRequest(figures=tuple(dict.fromkeys(figures)), **amounts)
        return cleaned

    def _figures(self, cleaned: Mapping[str, Any]) -> Iterator[CheckedFigure]:
        if cleaned["every_column"]:
            for name in self._up_to(MOST_VALUES):
                yield CheckedFigure(kind="distance", columns=(name,))
        if cleaned["pairs"]:
            yield CheckedFigure(kind="mean-distance", columns=self._up_to(MOST_VALUES_IN_PAIRS))
        for line in cleaned["groups"].splitlines():
            if line.strip():
                yield CheckedFigure(kind="distance", columns=columns_of(line, self.domain))
        if cleaned["counted"].strip():
            yield from self._counts(cleaned)

    def _of_real(self, cleaned: Mapping[str, Any]) -> Iterator[CheckedFigure]:
        """Counts of the real table, and distances of cumulative ones."""
        for name in columns_of(cleaned["ks"], self.domain):
            yield CheckedFigure(kind="ks", columns=(name,))
        for line in cleaned["marginals"].splitlines():
            if line.strip():
                yield CheckedFigure(kind="marginal", columns=columns_of(line, self.domain))
        for line in cleaned["records"].splitlines():
            where = [text.strip() for text in line.split(";") if text.strip()]
            try:
                if where:
                    yield count_of(self.domain, where)
            except InputError as error:
                self.add_error("records", error.text)

    def _of_classifiers(self, cleaned: Mapping[str, Any]) -> Iterator[CheckedFigure]:
        for line in cleaned["classifiers"].splitlines():
            where, _separator, predictors = line.rpartition(";")
            try:
                if line.strip():
                    columns = columns_of(predictors, self.domain)
                    yield from classifier_of(self.domain, where.strip(), columns)
            except InputError as error:
                self.add_error("classifiers", error.text)

    def _of_worst_groups(self, cleaned: Mapping[str, Any]) -> Iterator[CheckedFigure]:
        if not cleaned["worst_size"]:
            return
        tables = cleaned["worst_tables"].strip()
        if not DIGITS.fullmatch(tables) or not 1 <= int(tables) <= MAX_WORST_TABLES:
            self.add_error(
                "worst_tables",
                _("A whole number from 1 to %(most)s.") % {"most": MAX_WORST_TABLES},
            )
            return
        named = columns_of(cleaned["worst_columns"], self.domain)
        yield CheckedFigure(
            kind="worst-groups",
            columns=named or tuple(self.domain.sizes),
            size=int(cleaned["worst_size"]),
            tables=int(tables),
        )

    def _counts(self, cleaned: Mapping[str, Any]) -> Iterator[CheckedFigure]:
        least = cleaned["least"].strip()
        if not DIGITS.fullmatch(least) or int(least) < 1:
            self.add_error("least", _("A whole number from 1, such as 500."))
            return
        try:
            within = share_of(cleaned["within"])
        except SpecError as error:
            self.add_error("within", error.text)
            return
        if not Fraction(1, 10_000) <= within <= 1:
            self.add_error("within", _("A number from 0.01 to 100, such as 5."))
            return
        yield CheckedFigure(
            kind="counts",
            columns=columns_of(cleaned["counted"], self.domain),
            least=int(least),
            within=within,
        )

    def _up_to(self, values: int) -> tuple[str, ...]:
        return tuple(name for name, size in self.domain.sizes.items() if size <= values)

    def _amount(self, name: str) -> Any:
        try:
            return parse_decimal(typed_number(self.cleaned_data.get(name) or "0"), name=name)
        except SpecError as error:
            self.add_error(name, error.text)
