"""Validations: figures that analysts have measured within an allowance."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from synthweb.accounts.permissions import Need
from synthweb.releases.tabs import Card
from synthweb.runs.validation_views import index

CARD = Card(
    key="validation",
    tab="quality",
    order=50,
    title=_("Validations"),
    about=_("Results that analysts had measured on the real table, within an allowance."),
    view=index,
    need=Need.VIEW,
)
