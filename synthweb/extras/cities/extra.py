"""What synthetic cities bring into an installation."""

from __future__ import annotations

from django.utils.translation import gettext_lazy, gettext_noop

from synthweb.lib.extras import Entry, Extra

EXTRA = Extra(
    addresses="synthweb.extras.cities.urls",
    rest="synthweb.extras.cities.rest.urls",
    search="synthweb.extras.cities.search.matches",
    entries=(
        Entry(
            places=("releases",),
            title=gettext_lazy("Synthetic cities"),
            about=gettext_lazy("several tables that keys connect, made from releases"),
            address="cities:index",
        ),
    ),
    sentences={
        "city.requested": gettext_noop("had a synthetic city generated"),
        "city.generated": gettext_noop("generated a synthetic city"),
        "city.deleted": gettext_noop("deleted a synthetic city"),
    },
    pages={"city": "cities:city"},
)
