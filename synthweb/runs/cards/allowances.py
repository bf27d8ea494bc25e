"""Allowances for validations, for whoever may grant them."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from synthweb.accounts.permissions import Need
from synthweb.releases.tabs import Card
from synthweb.runs.validation_views import allowances

CARD = Card(
    key="allowances",
    tab="share",
    order=30,
    title=_("Allowance for checks"),
    about=_("How much budget analysts may spend on having results measured on the real table."),
    view=allowances,
    need=Need.ALLOW,
)
