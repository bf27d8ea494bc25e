"""Forms of the ledger. Amounts are typed as numbers and become the ledger's integers exactly, or are
refused."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

from django import forms
from django.forms import BoundField
from django.utils.translation import gettext_lazy as _

from synth_engine.errors import SpecError
from synth_engine.privacy import conversion, loss
from synthweb.datasets import stated_records
from synthweb.datasets.models import Dataset
from synthweb.ledger import proposals, selectors
from synthweb.ledger.amounts import CURRENCIES, LETTERS, NANO, Amount, scale, short_text
from synthweb.ledger.models import BudgetAccount, BudgetApproval, BudgetRequest, Earmark, Rule
from synthweb.ledger.services import Opening
from synthweb.lib import guarantee
from synthweb.lib.errors import Refused
from synthweb.lib.language import typed_number
from synthweb.lib.names import validate_one_line

NEW = ""  # the choice of no existing account
_RULES = [
    ("", _("As proposed, by the number of releases")),
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
            number = loss.parse_decimal(typed_number(text), name=str(self.label))
        except SpecError as error:
            raise forms.ValidationError(error.text) from None
        units = number * scale(self.currency)
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


_ADVANCED = ("rule", "epsilon", "releases", "delta")


class AskForm(forms.Form):
    """A steward says what is published, how often, and who reads it; ε, δ and the rule follow from that,
    unless they are typed. Under zCDP the (ε, δ) is turned into the ρ that gives it."""

    account = forms.ChoiceField(label=_("Pays from"), widget=forms.RadioSelect, required=False)
    reason = forms.CharField(
        label=_("What will be published, and what for?"),
        widget=forms.Textarea(attrs={"rows": 3, "autofocus": True}),
        max_length=4000,
        help_text=_("The custodian decides by this."),
    )
    rhythm = forms.ChoiceField(
        label=_("How often?"),
        choices=BudgetRequest.Rhythm.choices,
        widget=forms.RadioSelect,
        initial=BudgetRequest.Rhythm.YEARLY,
        required=False,
        help_text=_("A table that is made again later counts as well."),
    )
    years = forms.IntegerField(
        label=_("For how many years?"),
        min_value=1,
        max_value=proposals.MAX_YEARS,
        initial=proposals.YEARS,
        required=False,
    )
    readers = forms.ChoiceField(
        label=_("Who reads it?"),
        choices=BudgetRequest.Readers.choices,
        widget=forms.RadioSelect,
        initial=BudgetRequest.Readers.PUBLIC,
        required=False,
    )
    rule = forms.ChoiceField(
        label=_("How losses add up"), choices=_RULES, widget=forms.RadioSelect, required=False
    )
    epsilon = _epsilon(required=False)
    releases = forms.IntegerField(
        label=_("How many releases do you plan?"),
        min_value=1,
        max_value=proposals.MAX_PLANNED_RELEASES,
        required=False,
        help_text=_(
            "Left empty: as often as you said. Each one takes its part of ε, and of δ."
        ),
    )
    delta = _delta(
        help_text=_("Left empty: as proposed, far below one over the number of people.")
    )

    def __init__(self, *args: Any, dataset: Dataset, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.records = selectors.public_records(dataset)
        if self.records is None:
            self.fields |= stated_records.fields()
            self.initial = {**stated_records.initial(dataset), **self.initial}
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
            self.fields["rule"].initial = ""
        # Here, because the whole scale of words is one sentence that is put together.
        self.fields["epsilon"].help_text = _("Left empty: as proposed. %(scale)s") % {
            "scale": guarantee.strength_sentence()
        }

    @property
    def chosen(self) -> BudgetAccount | None:
        """The existing account that is to pay, if one is."""
        return self.covering or self.joinable.get(self.cleaned_data.get("account", NEW))

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if self.errors:
            return cleaned
        try:
            cleaned["stated"] = stated_records.stated_in(cleaned)
        except forms.ValidationError as error:
            self.add_error("records", error)
            return cleaned
        proposal = self.proposal
        cleaned["rule"] = proposal.rule
        cleaned["releases"] = proposal.releases
        # The raw text decides, because an empty field and a typed 0 are both cleaned to 0.
        for currency in ("epsilon", "delta"):
            if not self._typed(currency):
                cleaned[currency] = getattr(proposal, currency)
        cleaned["amount"] = self._amount(cleaned)
        return cleaned

    @property
    def proposal(self) -> proposals.BudgetProposal:
        """What follows from the answers as they stand, before they are complete as well."""
        rhythm = self._choice("rhythm", BudgetRequest.Rhythm.YEARLY)
        years = self._number("years", most=proposals.MAX_YEARS) or proposals.YEARS
        paying = self.covering or self.joinable.get(self._typed("account"))
        return proposals.propose(
            readers=self._choice("readers", BudgetRequest.Readers.PUBLIC),
            releases=self._number("releases", most=proposals.MAX_PLANNED_RELEASES)
            or proposals.releases_for(rhythm, years=years),
            rule=paying.rule if paying else self._choice("rule", ""),
            records=self.records,
        )

    @property
    def advanced(self) -> list[BoundField]:
        """The fields that are folded away, because their values are proposed."""
        return [self[name] for name in _ADVANCED if name in self.fields]

    @property
    def questions(self) -> list[BoundField]:
        """What a steward is asked."""
        return [field for field in self.visible_fields() if field.name not in _ADVANCED]

    @property
    def advanced_open(self) -> bool:
        """Whether what is folded away is wrong or was changed."""
        return any(field.errors or field.value() for field in self.advanced)

    def _typed(self, name: str) -> str:
        return str(self[name].value() or "").strip() if name in self.fields else ""

    def _choice(self, name: str, usual: str) -> str:
        typed = self._typed(name)
        field = self.fields.get(name)
        offered = isinstance(field, forms.ChoiceField) and field.valid_value(typed)
        return typed if typed and offered else usual

    def _number(self, name: str, *, most: int) -> int | None:
        """What was typed, if it is a number that the field takes."""
        typed = self._typed(name)
        # Bounded before it is read: a number of a million digits takes long.
        number = int(typed) if typed.isascii() and typed.isdigit() and len(typed) < 6 else 0
        return number if 1 <= number <= most else None

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
            "Needed only for a new account. For the people in the table the two caps add up; the audit log "
            "keeps this."
        ),
    )
    epsilon = _epsilon()
    delta = _delta()
    rho = AmountInput(currency="rho", label=_("ρ, the privacy loss under zCDP"))
    lapses_on = forms.DateField(
        label=_("Expires on"),
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
        input_formats=["%Y-%m-%d"],
        help_text=_(
            "From this day on what is unspent of it cannot be spent any more. Left empty: it never expires."
        ),
    )
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
        # What a first custodian approved, because a second one has to approve the same.
        first = next(iter(selectors.approvals_of(budget_request)), budget_request)
        # An account composes by one rule for good.
        fitting = selectors.joinable_accounts(budget_request.dataset).filter(
            rule=budget_request.rule
        )
        self.joinable = {account.code: account for account in fitting}
        for currency in CURRENCIES:
            if currency not in selectors.counted(budget_request.rule):
                del self.fields[currency]
            else:
                self.fields[currency].initial = short_text(currency, getattr(first, currency))
        self.fields["name"].initial = budget_request.dataset.name
        self.fields["lapses_on"].initial = getattr(first, "lapses_on", None)
        for field in self._unneeded():
            del self.fields[field]
        if "account" in self.fields:
            _offer(self.fields["account"], self.joinable, self.twins)
            if first.account:
                self.fields["account"].initial = first.account.code
            elif isinstance(first, BudgetApproval):
                self.fields["account"].initial = NEW

    @property
    def decision(self) -> dict[str, Any]:
        """The keyword arguments of `services.grant`."""
        cleaned = self.cleaned_data
        return {
            "amount": Amount(**{name: cleaned[name] for name in CURRENCIES if name in cleaned}),
            "opening": Opening(
                account=self.joinable.get(cleaned.get("account", NEW)),
                name=cleaned.get("name", ""),
                separate=not self.covering and not cleaned.get("account"),
                separate_reason=cleaned.get("separate_reason", ""),
            ),
            "reason": cleaned["reason"],
            "lapses_on": cleaned["lapses_on"],
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


class YearlyLimitForm(forms.Form):
    """A custodian limits what runs may take of an account in a calendar year."""

    prefix = "year"

    def __init__(self, *arguments: Any, account: BudgetAccount, **options: Any) -> None:
        super().__init__(*arguments, **options)
        main = selectors.counted(account.rule)[0]
        self.fields["most"] = AmountInput(
            currency=main,
            label=_("Most in a year (%(letter)s)") % {"letter": LETTERS[main]},
            required=False,
            help_text=_("Empty: no limit. What was taken this year counts."),
        )

    @property
    def most(self) -> int | None:
        """The limit; None for none. An empty field and a zero differ."""
        return self.cleaned_data["most"] if self.data.get(self.add_prefix("most")) else None


class RhoForm(forms.Form):
    """A custodian sets the one ρ of all columns of unknown values of their organisation."""

    prefix = "policy"
    rho = forms.FloatField(
        label=_("How sure, for all tables"),
        required=False,
        min_value=0.000001,
        max_value=0.999999,
        help_text=_("Between 0 and 1, for example 0.99. Empty: each column has its own."),
    )


class EarmarkForm(forms.Form):
    """A custodian sets aside a part of an account."""

    prefix = "earmark"
    purpose = forms.CharField(
        label=_("For"),
        max_length=200,
        validators=[validate_one_line],
        help_text=_("For example a project, or the release of a later year."),
    )
    use = forms.ChoiceField(
        label=_("Who can spend it"),
        # The share of a year comes with its plan.
        choices=[choice for choice in Earmark.Use.choices if choice[0] != Earmark.Use.PLAN],
    )
    ends_on = forms.DateField(
        label=_("Until"),
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
        input_formats=["%Y-%m-%d"],
        help_text=_(
            "From this day on what is unspent is free again. Left empty: until you free it."
        ),
    )

    def __init__(self, *arguments: Any, account: BudgetAccount, **options: Any) -> None:
        super().__init__(*arguments, **options)
        for number, currency in enumerate(selectors.counted(account.rule)):
            self.fields[currency] = AmountInput(
                currency=currency, label=LETTERS[currency], required=number == 0
            )

    @property
    def amount(self) -> Amount:
        """The amount to set aside."""
        return Amount(**{name: self.cleaned_data.get(name, 0) for name in CURRENCIES})


def add_refusal(form: forms.Form, refusal: Refused) -> None:
    """Say on the form what the service refused, at the field it is about."""
    form.add_error(refusal.field if refusal.field in form.fields else None, f"{refusal}.")


def _offer(field: Any, joinable: dict[str, BudgetAccount], twins: list[BudgetAccount]) -> None:
    same = {twin.code for twin in twins}
    field.choices = [
        *(
            (
                code,
                (
                    f"{account.name} ({code}): "
                    f"{'holds this very content' if code in same else 'protects such people too'}"
                ),
            )
            for code, account in sorted(joinable.items(), key=lambda item: item[0] not in same)
        ),
        (NEW, "A new account, for people whom no other account covers"),
    ]
    field.initial = next((code for code, _ in field.choices if code in same), NEW)
