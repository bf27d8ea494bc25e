"""The form that grants an allowance for validations: to whom, how much, until when."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from synth_engine.errors import SpecError
from synth_engine.privacy.loss import atto, nano, parse_decimal
from synthweb.accounts.models import User
from synthweb.ledger.amounts import Amount
from synthweb.ledger.models import Rule
from synthweb.lib.language import typed_number
from synthweb.lib.names import validate_one_line
from synthweb.releases import selectors
from synthweb.releases.models import Release
from synthweb.runs.forms import AMOUNT


class AllowanceForm(forms.Form):
    """An allowance in the currency of the account. `clean` makes `amount` of its fields."""

    analyst: forms.ModelChoiceField[User] = forms.ModelChoiceField(
        queryset=User.objects.none(),
        required=False,
        label=_("For"),
        empty_label=_("Each reader of the release"),
        widget=forms.Select(attrs={"class": "form-select"}),
        help_text=_("Each reader has as much of their own."),
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
    rho = forms.CharField(
        max_length=40,
        label=_("Privacy loss ρ"),
        error_messages=AMOUNT,
        widget=forms.TextInput(attrs={"class": "form-control", "inputmode": "decimal"}),
    )
    until = forms.DateField(
        label=_("Until the end of (UTC)"),
        widget=forms.DateInput(attrs={"type": "date", "class": "form-control"}),
        help_text=_("At most a year from today."),
    )
    note = forms.CharField(
        max_length=200,
        required=False,
        label=_("For what"),
        help_text=_("Its analysts see this note."),
        validators=[validate_one_line],
        widget=forms.TextInput(attrs={"class": "form-control"}),
    )

    def __init__(self, data: Mapping[str, Any] | None = None, *, release: Release) -> None:
        super().__init__(data, initial={"epsilon": "0.1", "delta": "0", "rho": "0.005"})
        analysts = self.fields["analyst"]
        if not isinstance(analysts, forms.ModelChoiceField):
            raise TypeError("the field has no choices")
        # The choices authorise as well: whoever does not have the release is no valid choice.
        analysts.queryset = User.objects.filter(
            pk__in=selectors.grants_of(release).values("analyst")
        ).order_by("username")
        unused = ("epsilon", "delta") if release.account.rule == Rule.ZCDP else ("rho",)
        for name in unused:
            del self.fields[name]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        amounts = {
            name: round_up(self._amount(name))
            for name, round_up in (("epsilon", nano), ("delta", atto), ("rho", nano))
            if name in self.fields
        }
        if not self.errors:
            cleaned["amount"] = Amount(**amounts)
        return cleaned

    def _amount(self, name: str) -> Any:
        try:
            return parse_decimal(typed_number(self.cleaned_data.get(name) or "0"), name=name)
        except SpecError as error:
            self.add_error(name, error.text)
            return 0
