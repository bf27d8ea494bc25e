"""Forms of plans over years. A share is typed as an amount, or as a percentage of the cap, and becomes the
ledger's integer."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from django import forms
from django.forms import BoundField
from django.utils.translation import gettext_lazy as _

from synth_engine.errors import SpecError
from synth_engine.privacy import loss
from synthweb.ledger import plan_years, selectors, yearly_limits
from synthweb.ledger.amounts import LETTERS, Amount, short_text
from synthweb.ledger.forms import AmountInput
from synthweb.ledger.models import BudgetAccount, PublicationPlan
from synthweb.ledger.plan_years import PlanYear
from synthweb.ledger.publication_plans import (
    LAST_YEAR,
    MOST_YEARS,
    PlanChange,
    PlanTerms,
)
from synthweb.lib.language import typed_number
from synthweb.lib.names import validate_one_line

USUAL_YEARS = 5


class ShareInput(AmountInput):
    """An amount of one currency, or a percentage of the cap, which is rounded down to the ledger's step."""

    def __init__(self, *, currency: str, cap: int, **options: Any) -> None:
        self.cap = cap
        super().__init__(currency=currency, **options)

    def clean(self, value: Any) -> int:
        text = str(value or "").strip()
        if not text.endswith("%"):
            return super().clean(value)
        if len(text) > loss.MAX_TEXT:
            raise forms.ValidationError(_("The number is too long."))
        try:
            percent = loss.parse_decimal(typed_number(text[:-1].strip()), name=str(self.label))
        except SpecError as error:
            raise forms.ValidationError(error.text) from None
        return int(Fraction(self.cap) * percent / 100)


class PlannedYearsForm(forms.Form):
    """The first and the last year, from the address: the form of shares has a line for each."""

    first = forms.IntegerField(label=_("First year"))
    last = forms.IntegerField(label=_("Last year"))

    def __init__(self, *arguments: Any, **options: Any) -> None:
        present = plan_years.present_year()
        usual = {"first": present, "last": present + USUAL_YEARS - 1}
        super().__init__(*arguments, **{"initial": usual, **options})
        for field in self.fields.values():
            if isinstance(field, forms.IntegerField):
                field.widget.attrs |= {"min": present, "max": LAST_YEAR}

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        first, last = cleaned.get("first"), cleaned.get("last")
        if first is None or last is None:
            return cleaned
        if not plan_years.present_year() <= first <= LAST_YEAR:
            self.add_error("first", _("The year is over, or too far away."))
        elif not first <= last < first + MOST_YEARS or last > LAST_YEAR:
            self.add_error(
                "last",
                _("From the first year on, at most %(years)s years.") % {"years": MOST_YEARS},
            )
        return cleaned

    @property
    def is_right(self) -> bool:
        """Whether the years are the usual ones, or others that can be planned."""
        return not self.is_bound or self.is_valid()

    @property
    def years(self) -> list[int]:
        """The years that are planned; the usual ones if nothing, or nothing right, is given."""
        usual = range(self.initial["first"], self.initial["last"] + 1)
        if not self.is_bound or not self.is_right:
            return list(usual)
        return list(range(self.cleaned_data["first"], self.cleaned_data["last"] + 1))


class _SharesForm(forms.Form):
    """A line of amounts for each year."""

    def __init__(self, *arguments: Any, account: BudgetAccount, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.account = account
        cap = selectors.balance(account).cap
        self.currencies = [
            name
            for name in selectors.counted(account.rule)
            if name != "delta" or getattr(cap, name)
        ]
        self._cap = cap
        self.years: list[int] = []

    def _offer(self, year: int, share: Amount | None) -> None:
        self.years.append(year)
        for currency in self.currencies:
            self.fields[f"{currency}_{year}"] = ShareInput(
                currency=currency,
                cap=getattr(self._cap, currency),
                label=f"{LETTERS[currency]} {year}",
                required=False,
                initial="" if share is None else short_text(currency, getattr(share, currency)),
            )

    @property
    def lines(self) -> list[tuple[int, list[BoundField]]]:
        """The fields of each year."""
        return [
            (year, [self[f"{currency}_{year}"] for currency in self.currencies])
            for year in self.years
        ]

    @property
    def other_fields(self) -> list[BoundField]:
        """The fields that are not of a year."""
        of_years = {field.name for _, fields in self.lines for field in fields}
        return [field for field in self.visible_fields() if field.name not in of_years]

    def _share(self, year: int) -> Amount:
        return Amount(**{name: self.cleaned_data[f"{name}_{year}"] for name in self.currencies})

    def _is_typed(self, year: int) -> bool:
        return any(str(self.data.get(f"{name}_{year}", "")).strip() for name in self.currencies)


def _reason() -> forms.CharField:
    return forms.CharField(
        label=_("Reason"),
        widget=forms.Textarea(attrs={"rows": 2}),
        max_length=4000,
        help_text=_("Stays in the audit log."),
    )


def _remainder(*, help_text: Any = "") -> forms.ChoiceField:
    return forms.ChoiceField(
        help_text=help_text,
        label=_("What a year leaves"),
        choices=PublicationPlan.Remainder.choices,
        initial=PublicationPlan.Remainder.NEXT,
        widget=forms.RadioSelect,
    )


class PlanForm(_SharesForm):
    """A custodian approves a plan over years. Shares begin as equal parts of what is free."""

    name = forms.CharField(
        label=_("What is published"),
        max_length=200,
        validators=[validate_one_line],
        help_text=_("For example “Commutes, every year”."),
    )
    remainder = _remainder()
    reason = _reason()

    def __init__(
        self, *arguments: Any, account: BudgetAccount, years: list[int], **options: Any
    ) -> None:
        super().__init__(*arguments, account=account, **options)
        free = yearly_limits.free(account).not_negative
        equal = Amount(**{name: value // len(years) for name, value in free.as_dict.items()})
        for year in years:
            self._offer(year, equal)

    @property
    def terms(self) -> PlanTerms:
        """The shares to approve."""
        cleaned = self.cleaned_data
        return PlanTerms(
            name=cleaned["name"],
            shares={year: self._share(year) for year in self.years},
            remainder=cleaned["remainder"],
            reason=cleaned["reason"],
        )


class ChangePlanForm(_SharesForm):
    """A custodian changes shares of years that are not over and what they leave, and may add the year after
    the last one."""

    remainder = _remainder(
        help_text=_(
            "Another rule applies to this year and later ones, and not to years that are over."
        )
    )
    reason = _reason()

    def __init__(
        self,
        *arguments: Any,
        account: BudgetAccount,
        years: list[PlanYear],
        **options: Any,
    ) -> None:
        super().__init__(*arguments, account=account, **options)
        self.initial["remainder"] = years[-1].remainder
        for year in years:
            if not year.is_over:
                self._offer(year.year, year.share)
        self.added = years[-1].year + 1
        if not years[-1].is_over:
            self._offer(self.added, None)

    @property
    def wanted(self) -> PlanChange:
        """The shares to change; the added year only if something is typed for it."""
        return PlanChange(
            shares={
                year: self._share(year)
                for year in self.years
                if year != self.added or self._is_typed(year)
            },
            remainder=self.cleaned_data["remainder"],
            reason=self.cleaned_data["reason"],
        )
