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
from synthweb.accounts.models import User
from synthweb.lib.names import validate_one_line
from synthweb.lib.number_format import grouped
from synthweb.releases import selectors
from synthweb.releases.models import Release
from synthweb.releases.services import LONGEST_SEED

DIGITS = re.compile(r"[0-9]{1,10}")


class SampleForm(forms.Form):
    """How many rows, and the seed of somebody who wants the same table again."""

    rows = forms.CharField(max_length=12, label=_("Rows"))
    seed = forms.CharField(
        max_length=LONGEST_SEED,
        required=False,
        label=_("Seed"),
        help_text=_(
            "Empty: your own secret one for this release, so that asking again gives the same table, byte for "
            "byte. Give another for another table."
        ),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    edition = forms.CharField(max_length=16, required=False, widget=forms.HiddenInput)

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
            raise forms.ValidationError(f"{error.text[0].upper()}{error.text[1:]}.") from None
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


class DescribeForm(forms.Form):
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
