"""The files of a release."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from synthweb.releases.carried import files
from synthweb.releases.tabs import Card

CARD = Card(
    key="files",
    tab="download",
    order=20,
    title=_("Bundle, report and plausible tables"),
    about=_("Everything in one archive; the report, dictionary, metadata and noisy tables."),
    view=files,
)
