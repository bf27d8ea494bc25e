"""Forms about filled counts: what a steward asks for, and a custodian's reason."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from synth_engine.domain import Date
from synth_engine.errors import SpecError
from synth_engine.mixing import policy as policies
from synth_engine.mixing.policy import FillPolicy
from synth_engine.privacy.loss import parse_decimal
from synthweb.datasets.models import Dataset
from synthweb.lib.language import typed_number
from synthweb.runs import planning
from synthweb.runs.figure_fields import PER_CENT
from synthweb.runs.filling import FillRequest
from synthweb.runs.forms import AMOUNT

_TEXT = {"class": "form-control"}


def _whole(label: Any, help_text: Any, initial: int) -> forms.IntegerField:
    return forms.IntegerField(
        min_value=1,
        max_value=policies.MOST_RECORDS,
        label=label,
        help_text=help_text,
        initial=initial,
        widget=forms.NumberInput(attrs=_TEXT),
    )


def _number(label: Any, help_text: Any, initial: str) -> forms.CharField:
    """A field for a number that is read as text, exactly."""
    return forms.CharField(
        max_length=40,
        label=label,
        help_text=help_text,
        initial=initial,
        error_messages=AMOUNT,
        widget=forms.TextInput(attrs=_TEXT | {"inputmode": "decimal"}),
    )


class FillForm(forms.Form):
    """The groups, the policy, and what the counts are for."""

    name = forms.CharField(
        required=False,
        max_length=200,
        label=_("Name of the counts"),
        widget=forms.TextInput(attrs=_TEXT),
    )
    purpose = forms.CharField(
        max_length=1_000,
        label=_("Why no private release will do"),
        help_text=_("The custodian decides by it, and the ledger keeps it."),
        widget=forms.Textarea(attrs=_TEXT | {"rows": 3}),
    )
    by = forms.MultipleChoiceField(
        label=_("Groups"),
        help_text=_("Each combination of values of these columns is a group."),
        widget=forms.CheckboxSelectMultiple(attrs={"class": "form-check-input"}),
    )
    least_records = _whole(_("Least records of a group"), _("Usually 100."), 100)
    largest_share = _number(
        _("Largest share of one contributor, in per cent"), _("Usually 10."), "10"
    )
    day = forms.ChoiceField(
        required=False,
        label=_("Column of days"),
        widget=forms.Select(attrs={"class": "form-select"}),
    )
    least_days = _whole(_("Least days"), _("Different days on which a group has records."), 1)
    epsilon = _number(
        _("Privacy loss ε of the private alternative"),
        _("What the same groups would be like with differential privacy, and what that costs."),
        "1",
    )

    def __init__(self, data: Mapping[str, Any] | None = None, *, dataset: Dataset) -> None:
        self.dataset = dataset
        super().__init__(data)
        domain = planning.described(dataset)
        columns = [] if domain is None else policies.groupable(domain)
        self.fields["by"].choices = [(each.name, each.name) for each in columns]  # type: ignore[attr-defined]
        self.fields["day"].choices = [  # type: ignore[attr-defined]
            ("", gettext("none")),
            *((each.name, each.name) for each in columns if isinstance(each, Date)),
        ]

    def clean_largest_share(self) -> Fraction:
        return self._amount("largest_share") / PER_CENT

    def clean_epsilon(self) -> Fraction:
        return self._amount("epsilon")

    def _amount(self, name: str) -> Fraction:
        try:
            return parse_decimal(typed_number(self.cleaned_data[name]), name=name)
        except SpecError as error:
            raise forms.ValidationError(error.text) from None

    @property
    def request(self) -> FillRequest:
        """The requested policy. Errors: SpecError for a policy that no group can meet."""
        typed = self.cleaned_data
        return FillRequest(
            dataset=self.dataset,
            by=tuple(typed["by"]),
            day=typed["day"] or None,
            policy=FillPolicy(
                least_records=typed["least_records"],
                largest_share=typed["largest_share"],
                least_days=typed["least_days"],
            ),
            epsilon=typed["epsilon"],
        )


class DecisionForm(forms.Form):
    """Why a custodian approves or refuses."""

    reason = forms.CharField(
        max_length=1_000,
        label=_("Reason"),
        widget=forms.Textarea(attrs=_TEXT | {"rows": 2}),
    )
