"""Forms of the ledger. Amounts are typed as numbers and become the ledger's integers exactly, or are refused."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from synth_engine.errors import SpecError
from synth_engine.privacy import conversion, loss
from synthweb.datasets.models import Dataset
from synthweb.ledger import proposals, selectors
from synthweb.ledger.amounts import CURRENCIES, NANO, Amount, scale, short_text
from synthweb.ledger.models import BudgetAccount, BudgetRequest, Rule
from synthweb.ledger.services import Opening
from synthweb.lib.errors import Refused

NEW = ""  # the choice of no existing account
_RULES = [
    (
        Rule.BASIC.value,
        _("Basic: ε and δ of the runs add up. Easy to explain; right for a few runs."),
    ),
    (
        Rule.ZCDP.value,
        _(
            "zCDP: ρ adds up. Pays for many more runs of Gaussian noise with the same final (ε, δ)."
        ),
    ),
]


class AmountInput(forms.CharField):
    """A number of one currency, in plain digits: `1`, `0.5`, `1e-9`."""

    def __init__(self, *, currency: str, **options: Any) -> None:
        self.currency = currency
        super().__init__(**{"max_length": loss.MAX_TEXT, **options})

    def clean(self, value: Any) -> int:
        """The ledger's integer; an amount finer than the ledger counts is refused, not rounded."""
        text = super().clean(value)
        if not text:
            return 0
        try:
            units = loss.parse_decimal(text, name=str(self.label)) * scale(self.currency)
        except SpecError as error:
            raise forms.ValidationError(error.text) from None
        if units.denominator != 1:
            raise forms.ValidationError(
                _("%(label)s: the ledger counts in steps of %(step)s")
                % {"label": self.label, "step": f"{Decimal(1) / scale(self.currency):e}"}
            )
        return units.numerator


def _epsilon(**options: Any) -> AmountInput:
    return AmountInput(currency="epsilon", label=_("ε, the privacy loss"), **options)


def _delta(**options: Any) -> AmountInput:
    usual = {"help_text": _("Well below one over the number of people, for example 1e-9.")}
    return AmountInput(
        currency="delta",
        label=_("δ, the chance that the guarantee fails"),
        required=False,
        **{**usual, **options},
    )


class AskForm(forms.Form):
    """A steward asks for budget. Under zCDP the (ε, δ) they have in mind is turned into the ρ that gives it."""

    account = forms.ChoiceField(label=_("Pays from"), widget=forms.RadioSelect, required=False)
    rule = forms.ChoiceField(
        label=_("How losses add up"), choices=_RULES, widget=forms.RadioSelect, required=False
    )
    epsilon = _epsilon(
        initial="1",
        help_text=_("1 is a common, careful choice; 0.1 is strict; above 5 says little."),
    )
    releases = forms.IntegerField(
        label=_("How many releases do you plan?"),
        min_value=1,
        max_value=proposals.MAX_PLANNED_RELEASES,
        initial=proposals.PLANNED,
        required=False,
        help_text=_(
            "Tables made again later count as well. Each one takes its part of ε, and of δ."
        ),
    )
    delta = _delta(
        help_text=_(
            "Left empty: 1e-9 for each planned release, which stays far below one over the number of people."
        )
    )
    reason = forms.CharField(
        label=_("What for"),
        widget=forms.Textarea(attrs={"rows": 3, "autofocus": True}),
        max_length=4000,
        help_text=_(
            "The custodian decides by this: what will be published, for whom, and how often."
        ),
    )

    def __init__(self, *args: Any, dataset: Dataset, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.records = selectors.public_records(dataset)
        self.covering = selectors.account_of(dataset)
        self.twins = selectors.accounts_with_same_content(dataset)
        self.joinable = {
            account.code: account for account in selectors.joinable_accounts(dataset)
        }
        if self.covering or not self.joinable:
            del self.fields["account"]
        else:
            _offer(self.fields["account"], self.joinable, self.twins)
        if self.covering:
            del self.fields["rule"]
        else:
            self.fields["rule"].initial = Rule.BASIC.value

    @property
    def chosen(self) -> BudgetAccount | None:
        """The existing account that is to pay, if one is."""
        return self.covering or self.joinable.get(self.cleaned_data.get("account", NEW))

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        cleaned["rule"] = (
            self.chosen.rule if self.chosen else cleaned.get("rule") or Rule.BASIC.value
        )
        cleaned["releases"] = cleaned.get("releases") or proposals.PLANNED
        # The raw text decides, because an empty field and a typed 0 are both cleaned to 0.
        if not self.errors and not str(self["delta"].value() or "").strip():
            cleaned["delta"] = self.proposed_delta(cleaned["releases"], rule=cleaned["rule"])
        if not self.errors:
            cleaned["amount"] = self._amount(cleaned)
        return cleaned

    def proposed_delta(self, releases: int, *, rule: str) -> int:
        """δ where nobody typed one: for all planned releases under the basic rule. Under zCDP it is that of the whole account,
        in which the ρ of releases adds up."""
        return proposals.delta_for(releases if rule == Rule.BASIC else 1, records=self.records)

    @property
    def advanced_open(self) -> bool:
        """Whether what is folded away is wrong or was changed."""
        return bool(self["delta"].errors or self["delta"].value())

    def _amount(self, cleaned: dict[str, Any]) -> Amount | None:
        if cleaned["rule"] == Rule.BASIC:
            return Amount(epsilon=cleaned["epsilon"], delta=cleaned["delta"])
        if not cleaned["delta"]:
            self.add_error("delta", _("Under zCDP δ must be above 0: write for example 1e-9."))
            return None
        try:
            rho = conversion.rho_for(
                Fraction(cleaned["epsilon"], scale("epsilon")),
                Fraction(cleaned["delta"], scale("delta")),
            )
        except SpecError as error:
            self.add_error("epsilon", error.text)
            return None
        return Amount(
            rho=int(rho * NANO)
        )  # a cap is rounded down, so that it keeps what it promises


class GrantForm(forms.Form):
    """A custodian grants a request: as asked, or another amount."""

    account = forms.ChoiceField(label=_("Pays from"), widget=forms.RadioSelect, required=False)
    name = forms.CharField(
        label=_("Name of the new account"),
        max_length=200,
        required=False,
        help_text=_(
            "Call it by the people it protects: tables on the same people should share it."
        ),
    )
    separate_reason = forms.CharField(
        label=_("Why a separate budget for the same content"),
        widget=forms.Textarea(attrs={"rows": 2}),
        max_length=4000,
        required=False,
        help_text=_(
            "Needed only for a new account. For the people in the table the two caps add up; the audit log keeps this."
        ),
    )
    epsilon = _epsilon()
    delta = _delta()
    rho = AmountInput(currency="rho", label=_("ρ, the privacy loss under zCDP"))
    reason = forms.CharField(
        label=_("Reason"),
        widget=forms.Textarea(attrs={"rows": 2}),
        max_length=4000,
        help_text=_("Stays in the ledger."),
    )

    def __init__(self, *args: Any, budget_request: BudgetRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.covering = selectors.account_of(budget_request.dataset)
        self.twins = selectors.accounts_with_same_content(budget_request.dataset)
        # An account composes by one rule for good.
        fitting = selectors.joinable_accounts(budget_request.dataset).filter(
            rule=budget_request.rule
        )
        self.joinable = {account.code: account for account in fitting}
        for currency in CURRENCIES:
            if currency not in selectors.counted(budget_request.rule):
                del self.fields[currency]
            else:
                self.fields[currency].initial = short_text(
                    currency, getattr(budget_request, currency)
                )
        self.fields["name"].initial = budget_request.dataset.name
        for field in self._unneeded():
            del self.fields[field]
        if "account" in self.fields:
            _offer(self.fields["account"], self.joinable, self.twins)
            if budget_request.account:
                self.fields["account"].initial = budget_request.account.code

    @property
    def decision(self) -> dict[str, Any]:
        """The keyword arguments of `services.grant`."""
        cleaned = self.cleaned_data
        return {
            "amount": Amount(**{name: cleaned[name] for name in CURRENCIES if name in cleaned}),
            "account": self.joinable.get(cleaned.get("account", NEW)),
            "opening": Opening(
                name=cleaned.get("name", ""),
                separate=not self.covering and not cleaned.get("account"),
                separate_reason=cleaned.get("separate_reason", ""),
            ),
            "reason": cleaned["reason"],
        }

    def _unneeded(self) -> list[str]:
        if self.covering:
            return ["account", "name", "separate_reason"]
        return [
            name
            for name, needed in (("account", self.joinable), ("separate_reason", self.twins))
            if not needed
        ]


class RefuseForm(forms.Form):
    """A custodian refuses a request."""

    prefix = "refuse"
    reason = forms.CharField(
        label=_("Reason"),
        widget=forms.Textarea(attrs={"rows": 2}),
        max_length=4000,
        help_text=_("The steward reads this."),
    )


def add_refusal(form: forms.Form, refusal: Refused) -> None:
    """Say on the form what the service refused, at the field it is about."""
    form.add_error(refusal.field if refusal.field in form.fields else None, f"{refusal}.")


def _offer(field: Any, joinable: dict[str, BudgetAccount], twins: list[BudgetAccount]) -> None:
    same = {twin.code for twin in twins}
    field.choices = [
        *(
            (
                code,
                f"{account.name} ({code}): {'holds this very content' if code in same else 'protects such people too'}",
            )
            for code, account in sorted(joinable.items(), key=lambda item: item[0] not in same)
        ),
        (NEW, "A new account, for people whom no other account covers"),
    ]
    field.initial = next((code for code, _ in field.choices if code in same), NEW)
