"""Forms about links: what a side proposes, and with what the other one accepts."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from synth_engine.errors import SpecError
from synth_engine.linking.hashing import MAX_FUNCTIONS
from synth_engine.privacy.loss import parse_decimal
from synthweb.datasets.models import Dataset
from synthweb.ledger import selectors as ledger
from synthweb.ledger import yearly_limits
from synthweb.lib.language import typed_number
from synthweb.runs import linking
from synthweb.runs.earmark_fields import earmark_field, offer_earmarks
from synthweb.runs.figure_fields import PER_CENT
from synthweb.runs.forms import AMOUNT
from synthweb.runs.linking import LinkTerms, SideOffer

MAX_ROWS = 10**9


def _number(**options: Any) -> forms.CharField:
    """A field for a number that is read as text, exactly."""
    return forms.CharField(
        max_length=40,
        error_messages=AMOUNT,
        widget=forms.TextInput(attrs={"class": "form-control", "inputmode": "decimal"}),
        **options,
    )


class SideForm(forms.Form):
    """The columns of one side: texts, and linked columns."""

    texts = forms.CharField(
        max_length=4_000,
        label=_("Columns that identify a person"),
        help_text=_(
            "One a line, such as first name, last name and day of birth: in the same order on both sides. "
            "Identifiers of the description may be among them."
        ),
        widget=forms.Textarea(attrs={"rows": 3, "class": "form-control"}),
    )
    columns = forms.MultipleChoiceField(
        required=False,
        label=_("Linked columns"),
        help_text=_(
            "Up to four: the estimate says how they go together with those of the other side. Fewer are "
            "more accurate."
        ),
        widget=forms.CheckboxSelectMultiple(attrs={"class": "form-check-input"}),
    )

    earmark = earmark_field()

    def __init__(self, data: Mapping[str, Any] | None = None, *, dataset: Dataset) -> None:
        self.dataset = dataset
        super().__init__(data)
        account = ledger.account_of(dataset)
        offer_earmarks(self, [] if account is None else yearly_limits.usable_earmarks(account))
        names = [attribute.name for attribute in linking.linkable(dataset)]
        self.fields["columns"].choices = [(name, name) for name in names]  # type: ignore[attr-defined]

    def clean_texts(self) -> tuple[str, ...]:
        lines = (line.strip() for line in self.cleaned_data["texts"].splitlines())
        return tuple(filter(None, lines))

    @property
    def offer(self) -> SideOffer:
        """What the side offers."""
        return SideOffer(
            dataset=self.dataset,
            texts=self.cleaned_data["texts"],
            columns=tuple(self.cleaned_data["columns"]),
            earmark=self.cleaned_data.get("earmark", ""),
        )


class ProposeForm(SideForm):
    """A link that is proposed to another organisation."""

    name = forms.CharField(
        required=False,
        max_length=200,
        label=_("Name of the link"),
        help_text=_("The other side reads it."),
        widget=forms.TextInput(attrs={"class": "form-control"}),
    )
    epsilon = _number(label=_("Privacy loss ε of your side"), initial="1")
    other_epsilon = _number(label=_("Privacy loss ε of the other side"), initial="1")
    rows = _number(
        label=_("About how many records a side has"),
        help_text=_(
            "Public: give a guess, never the exact number. It decides how many buckets there are."
        ),
    )
    typos = _number(
        label=_("Typos, in per cent"),
        help_text=_(
            "The largest share of the persons in both tables whose texts differ. It cannot be estimated, "
            "and makes intervals wider."
        ),
        initial="0",
    )
    functions = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_FUNCTIONS,
        label=_("Hash functions"),
        help_text=_("Empty: twelve without typos, four with them."),
        widget=forms.NumberInput(attrs={"class": "form-control"}),
    )
    field_order = (
        "name",
        "texts",
        "columns",
        "epsilon",
        "earmark",
        "other_epsilon",
        "rows",
        "typos",
        "functions",
    )

    def clean_epsilon(self) -> Fraction:
        return self._amount("epsilon")

    def clean_other_epsilon(self) -> Fraction:
        return self._amount("other_epsilon")

    def clean_typos(self) -> Fraction:
        return self._amount("typos") / PER_CENT

    def clean_rows(self) -> int:
        rows = self._amount("rows")
        if rows.denominator != 1 or not 1 <= rows <= MAX_ROWS:
            raise forms.ValidationError(_("Give a whole number from 1 on, such as 20000."))
        return int(rows)

    def _amount(self, name: str) -> Fraction:
        try:
            return parse_decimal(typed_number(self.cleaned_data[name]), name=name)
        except SpecError as error:
            raise forms.ValidationError(error.text) from None

    @property
    def terms(self) -> LinkTerms:
        """What both sides are to agree on."""
        typed = self.cleaned_data
        return LinkTerms(
            name=typed["name"],
            epsilon=typed["epsilon"],
            other_epsilon=typed["other_epsilon"],
            rows=typed["rows"],
            typos=typed["typos"],
            functions=typed["functions"],
        )


class InvitationForm(forms.Form):
    """The invitation that the other organisation sent."""

    invitation = forms.CharField(
        max_length=100,
        label=_("Invitation"),
        help_text=_("The text that the steward of the other organisation sent you."),
        widget=forms.TextInput(attrs={"class": "form-control code", "autocomplete": "off"}),
    )


class ChosenDatasetForm(InvitationForm):
    """The dataset with which a link is accepted."""

    dataset = forms.ChoiceField(
        label=_("Your dataset"), widget=forms.Select(attrs={"class": "form-select"})
    )

    def __init__(self, data: Mapping[str, Any] | None, *, datasets: list[Dataset]) -> None:
        super().__init__(data)
        self.fields["invitation"].widget = forms.HiddenInput()
        self.fields["dataset"].choices = [  # type: ignore[attr-defined]
            ("", gettext("Choose one")),
            *((each.code, f"{each.name} ({each.code})") for each in datasets),
        ]
