"""What was measured of a database."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from synthweb.releases.database_views import measured
from synthweb.releases.tabs import Card

CARD = Card(
    key="database-measured",
    tab="quality",
    order=10,
    title=_("What was measured"),
    about=_("Which tables were counted together, and for which part of the budget."),
    view=measured,
    of="database",
)
