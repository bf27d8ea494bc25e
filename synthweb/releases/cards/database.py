"""The tables of a database with their first rows."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from synthweb.releases.database_views import database
from synthweb.releases.tabs import Card

CARD = Card(
    key="database",
    tab="look",
    order=10,
    title=_("Tables"),
    about=_("A hundred synthetic rows of each table, and how they are connected."),
    view=database,
    of="database",
)
