"""Repaired tables of a release: rows that meet public totals."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from synthweb.releases.repaired_views import index
from synthweb.releases.tabs import Card

CARD = Card(
    key="repaired",
    tab="download",
    order=40,
    title=_("Rows that meet public totals"),
    about=_("Rows are weighted, or repeated and left out, until totals hold that are public."),
    view=index,
)
