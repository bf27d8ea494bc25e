"""Forms of releases: draw a sample, share, describe. Numbers are read strictly and what was typed is kept."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext_lazy as _

from synth_engine.domain.document import MAX_BYTES
from synth_engine.errors import InputError
from synth_engine.models import description
from synth_engine.row_selection import RowSelection
from synthweb.accounts.models import User
from synthweb.datasets.stated_records import DIGITS
from synthweb.lib.errors import sentence
from synthweb.lib.names import validate_one_line
from synthweb.lib.number_format import grouped
from synthweb.lib.saved_meanwhile import MergedForm
from synthweb.releases import selectors
from synthweb.releases.licences import LicenceChoice
from synthweb.releases.models import Release
from synthweb.releases.services import LONGEST_SEED

_CONDITIONS = 3
_RANGE = re.compile(r"(?P<low>\S*)\s*(?:\.\.)\s*(?P<high>\S*)")
_MISSING = "(missing)"


def _values_of(text: str) -> list[object]:
    """The values of a condition as its field has them: separated by semicolons, ranges as 20..40."""
    values: list[object] = []
    for part in (part.strip() for part in text.split(";")):
        span = _RANGE.fullmatch(part)
        if part == _MISSING:
            values.append(None)
        elif span and (span["low"] or span["high"]):
            ends = {"from": span["low"], "to": span["high"]}
            values.append({key: end for key, end in ends.items() if end})
        elif part:
            values.append(part)
    return values


class ComparisonForm(forms.Form):
    """What a comparison computes besides its figures, because it takes longer: models that are trained,
    attacks that are tried."""

    models = forms.BooleanField(
        required=False,
        label=_("Train models"),
        help_text=_(
            "Prediction, clusters and propensity: trained on synthetic records, tested on real ones."
        ),
    )
    target = forms.ChoiceField(required=False, label=_("Column to predict"))
    protected = forms.ChoiceField(
        required=False,
        label=_("Groups to compare"),
        help_text=_("A column whose groups models should treat alike, such as sex."),
    )
    risks = forms.BooleanField(
        required=False,
        label=_("Estimate risk"),
        help_text=_(
            "Attacks that are tried on real records: lower bounds, never the guarantee."
        ),
    )
    shadows = forms.BooleanField(
        required=False,
        label=_("with shadow models"),
        help_text=_(
            "The method releases up to 64 small parts of the table, and a model learns to tell who was in "
            "them: up to two minutes more."
        ),
    )

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        columns: Sequence[str],
        initial: Mapping[str, Any],
    ) -> None:
        super().__init__(data, initial=dict(initial))
        for name in ("target", "protected"):
            field = self.fields[name]
            if not isinstance(field, forms.ChoiceField):
                raise TypeError("the field has no choices")
            field.choices = [("", _("none")), *((column, column) for column in columns)]
            field.widget.attrs["class"] = "form-select"
        for name in ("models", "risks", "shadows"):
            self.fields[name].widget.attrs["class"] = "form-check-input"

    @property
    def column_fields(self) -> list[forms.BoundField]:
        """The fields that choose a column, for the page."""
        return [self["target"], self["protected"]]


class SampleForm(forms.Form):
    """How many rows, and the seed of somebody who wants the same table again."""

    rows = forms.CharField(max_length=12, label=_("Rows"))
    seed = forms.CharField(
        max_length=LONGEST_SEED,
        required=False,
        label=_("Seed"),
        help_text=_(
            "Empty: your own secret one for this release, so that asking again gives the same table, byte "
            "for byte. Give another for another table."
        ),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    edition = forms.CharField(max_length=16, required=False, widget=forms.HiddenInput)
    quota_column = forms.ChoiceField(required=False, label=_("Rows of each value of"))
    quota_rows = forms.CharField(
        max_length=20_000,
        required=False,
        label=_("Rows of each value"),
        help_text=_("A line for each value: the value, a colon, and how many rows."),
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    def __init__(self, *args: Any, columns: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offered = [("", "–"), *((name, name) for name in columns)]
        for number in range(1, _CONDITIONS + 1):
            self.fields[f"column_{number}"] = forms.ChoiceField(
                required=False, choices=offered, label=_("Column")
            )
            self.fields[f"values_{number}"] = forms.CharField(
                max_length=2_000, required=False, label=_("Values")
            )
        quota = self.fields["quota_column"]
        if not isinstance(quota, forms.ChoiceField):
            raise TypeError("the field has no choices")
        quota.choices = offered

    @property
    def conditions(self) -> list[tuple[forms.BoundField, forms.BoundField]]:
        """The fields of the conditions, in pairs."""
        return [
            (self[f"column_{number}"], self[f"values_{number}"])
            for number in range(1, _CONDITIONS + 1)
        ]

    def clean(self) -> dict[str, Any]:
        """With the selection; with quotas, their sum is the number of rows."""
        given = super().clean() or {}
        self._refuse_values_without_a_column(given)
        document: dict[str, Any] = {}
        where = [
            {"column": given[f"column_{n}"], "values": _values_of(given[f"values_{n}"])}
            for n in range(1, _CONDITIONS + 1)
            if given.get(f"column_{n}")
        ]
        if where:
            document["where"] = where
        if given.get("quota_column"):
            document["quotas"] = {
                "column": given["quota_column"],
                "rows": self._quota_rows(given.get("quota_rows", "")),
            }
        selection: RowSelection | None = None
        if document and not self.errors:
            try:
                selection = RowSelection.from_json(document)
            except InputError as error:
                self.add_error(None, error.text)
        return {
            "rows": None if selection and selection.rows else given.get("rows"),
            "seed": given.get("seed"),
            "edition": given.get("edition"),
            "selection": selection,
        }

    def _refuse_values_without_a_column(self, given: Mapping[str, Any]) -> None:
        """What was typed and would have no effect."""
        for number in range(1, _CONDITIONS + 1):
            if given.get(f"values_{number}") and not given.get(f"column_{number}"):
                self.add_error(None, _("Choose the column of the values."))
        if given.get("quota_rows", "").strip() and not given.get("quota_column"):
            self.add_error(None, _("Choose the column of the rows of each value."))

    def _quota_rows(self, text: str) -> dict[str, int]:
        rows: dict[str, int] = {}
        for line in text.splitlines():
            value, _colon, count = line.rpartition(":")
            if not line.strip():
                continue
            if not value.strip() or not DIGITS.fullmatch(count.strip()):
                self.add_error("quota_rows", _("Each line is a value, a colon, and a number."))
                return {}
            if value.strip() in rows:
                self.add_error("quota_rows", _("Name each value once."))
                return {}
            rows[value.strip()] = int(count)
        return rows

    def clean_rows(self) -> int:
        text = self.cleaned_data["rows"]
        if not DIGITS.fullmatch(text) or not 1 <= int(text) <= settings.SAMPLE_MAX_ROWS:
            raise forms.ValidationError(
                _("A whole number from 1 to %(most)s.")
                % {"most": grouped(settings.SAMPLE_MAX_ROWS)}
            )
        return int(text)


class EditionForm(forms.Form):
    """A description of the release that somebody edited. Read in memory, as every upload is."""

    document = forms.FileField(
        label=_("Edited description"),
        widget=forms.FileInput(attrs={"accept": ".json,application/json"}),
        error_messages={"required": "No file came in: choose a JSON file of at most 2.5 MB."},
    )
    note = forms.CharField(
        max_length=300,
        label=_("What was changed"),
        help_text=_("Analysts read it beside every sample."),
    )

    def clean_document(self) -> dict[str, object]:
        try:
            # One byte more than allowed is enough to refuse it.
            document = description.parse(self.cleaned_data["document"].read(MAX_BYTES + 1))
        except InputError as error:
            raise forms.ValidationError(sentence(error)) from None
        if not isinstance(document, dict):
            raise forms.ValidationError(
                _("A description is a JSON object; see docs/description.md.")
            )
        return document


class ShareForm(forms.Form):
    """One analyst of the organisation who does not have the release yet."""

    analyst: forms.ModelChoiceField[User] = forms.ModelChoiceField(
        queryset=User.objects.none(), label=_("Analyst")
    )

    def __init__(self, data: Any = None, *, release: Release) -> None:
        super().__init__(data)
        field = self.fields["analyst"]
        if not isinstance(field, forms.ModelChoiceField):
            raise TypeError("the field has no choices")
        # The choices authorise as well: an analyst of another organisation is no valid choice.
        field.queryset = selectors.analysts_for(release)
        field.empty_label = "Choose an analyst"
        analysts = field.queryset[:2]
        if len(analysts) == 1:
            self.initial["analyst"] = str(analysts[0].pk)


class LicenceForm(forms.Form):
    """Under which licence a release may be passed on."""

    licence = forms.ChoiceField(
        choices=LicenceChoice.choices,
        required=False,
        label=_("Licence"),
        widget=forms.RadioSelect,
    )
    text = forms.CharField(
        max_length=300,
        required=False,
        label=_("Your own words"),
        help_text=_("What others may do with the data, in one line."),
    )
    address = forms.CharField(
        max_length=500,
        required=False,
        label=_("Address"),
        help_text=_("Of its text, if it has one."),
    )

    def __init__(self, data: Any = None, *, release: Release) -> None:
        initial = {
            "licence": release.licence,
            "text": release.licence_text,
            "address": release.licence_address,
        }
        super().__init__(data, initial=initial)

    @property
    def own_words(self) -> list[forms.BoundField]:
        """The fields of a licence in the steward's own words."""
        return [self["text"], self["address"]]


class PublicLinkForm(forms.Form):
    """Until when a public link opens the release, and for whom it is meant."""

    until = forms.DateField(
        label=_("Until the end of (UTC)"),
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text=_("At most a year from today."),
    )
    note = forms.CharField(
        max_length=200,
        required=False,
        label=_("For whom"),
        help_text=_("Your own note; visitors do not see it."),
        validators=[validate_one_line],
    )


class DescribeForm(MergedForm):
    """What analysts read about a release."""

    name = forms.CharField(max_length=200, label=_("Name"), validators=[validate_one_line])
    description = forms.CharField(
        max_length=5000,
        required=False,
        label=_("Description"),
        widget=forms.Textarea(attrs={"rows": 4}),
    )


class MapForm(forms.Form):
    """What the maps of commutes show. All of it is public, and stands in the address."""

    pair = forms.ChoiceField(required=False, label=_("Between"))
    near = forms.CharField(
        max_length=200,
        required=False,
        label=_("Homes near"),
        widget=forms.TextInput(
            attrs={
                "list": "map-names",
                "autocomplete": "off",
                "placeholder": "a name, or 41.82, -71.41",
            }
        ),
    )
    within = forms.FloatField(
        min_value=0.1, max_value=20_000, required=False, label=_("Within")
    )
    short = forms.FloatField(
        min_value=0.1, max_value=20_000, required=False, label=_("Short: up to")
    )
    unit = forms.ChoiceField(
        choices=[("km", "km"), ("miles", _("miles"))], required=False, label=_("Unit")
    )
    by = forms.ChoiceField(required=False, label=_("Parts"))

    def __init__(
        self, *args: Any, pairs: Sequence[str], choices: Mapping[str, str], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        fields = {"pair": [(name, name) for name in pairs], "by": list(choices.items())}
        for name, offered in fields.items():
            field = self.fields[name]
            if not isinstance(field, forms.ChoiceField):
                raise TypeError("the field has no choices")
            field.choices = offered
            if len(offered) < 2:
                field.widget = forms.HiddenInput()
