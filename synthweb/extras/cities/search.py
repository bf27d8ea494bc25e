"""Cities in the search."""

from __future__ import annotations

from collections.abc import Iterator

from django.urls import reverse
from django.utils.translation import gettext as _

from synthweb.accounts.models import User
from synthweb.extras.cities import selectors
from synthweb.pages.search_results import Match, MatchGroup, group_of


def matches(user: User, words: str) -> Iterator[MatchGroup]:
    """The cities of this person whose names and codes have all words."""
    yield group_of(
        _("Synthetic cities"),
        (
            Match(
                title=city.name,
                about=f"{city.code} · {city.get_state_display()}",
                address=reverse("cities:city", args=[city.code]),
            )
            for city in selectors.cities_for(user, search=words)
        ),
        reverse("cities:index"),
    )
