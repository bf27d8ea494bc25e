"""Test data of a release: tables that are wrong on purpose."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from synthweb.extras.scenarios.views import test_data
from synthweb.releases.tabs import Card

CARD = Card(
    key="test-data",
    tab="download",
    order=50,
    title=_("Test data"),
    about=_("A table that is wrong on purpose, to test a pipeline, a model or an audit."),
    view=test_data,
)
