"""What test data bring into an installation."""

from __future__ import annotations

from django.utils.translation import gettext_lazy, gettext_noop

from synthweb.lib.extras import Entry, Extra

EXTRA = Extra(
    addresses="synthweb.extras.scenarios.urls",
    rest="synthweb.extras.scenarios.rest.urls",
    texts="synthweb.extras.scenarios.texts.of_steps",
    entries=(
        Entry(
            places=("datasets", "description"),
            title=gettext_lazy("Test data"),
            about=gettext_lazy(
                "A table that is wrong on purpose, to test a pipeline, a model or an audit."
            ),
            address="scenarios:described",
            need="sample",
        ),
    ),
    sentences={"testdata.made": gettext_noop("made test data from a description")},
)
