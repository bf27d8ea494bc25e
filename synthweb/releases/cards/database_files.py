"""The files of a database."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from synthweb.releases.database_views import database_files
from synthweb.releases.tabs import Card

CARD = Card(
    key="database-files",
    tab="download",
    order=10,
    title=_("All tables"),
    about=_("Each file has all tables."),
    view=database_files,
    of="database",
)
