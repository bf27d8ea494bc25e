"""The field of a form that says which part of a budget pays."""

from __future__ import annotations

from collections.abc import Sequence

from django import forms
from django.utils.translation import gettext_lazy as _

from synthweb.ledger.yearly_limits import EarmarkBalance
from synthweb.lib.language import written_number


def earmark_field() -> forms.ChoiceField:
    """The field, whose list `offer_earmarks` fills."""
    return forms.ChoiceField(
        required=False,
        label=_("Paid from"),
        help_text=_("A part that was set aside can be spent by runs that name it alone."),
        widget=forms.Select(attrs={"class": "form-select"}),
    )


def offer_earmarks(form: forms.Form, earmarks: Sequence[EarmarkBalance]) -> None:
    """Fill the list of a form's field `earmark`; without any the field goes."""
    select = form.fields["earmark"]
    if not earmarks:
        del form.fields["earmark"]
    elif isinstance(select, forms.ChoiceField):
        select.choices = [("", _("What is free")), *map(_earmark_choice, earmarks)]


def _earmark_choice(balance: EarmarkBalance) -> tuple[str, str]:
    """The code that a run names an earmark by, and what a list says of it."""
    earmark = balance.earmark
    words = _("%(purpose)s: %(left)s left") % {
        "purpose": earmark.purpose,
        "left": written_number(balance.left.text(earmark.account.rule)),
    }
    return balance.code, words
