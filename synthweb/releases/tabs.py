"""The five tabs of a release, and the registry of the cards in them.

A card is a module of the package `cards` of an app, which has a `CARD`. Nothing else lists it: its address,
its place in a tab and its permission come from there.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Literal

from django.apps import apps
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.module_loading import module_has_submodule
from django.utils.translation import gettext_lazy as _

from synthweb.accounts.models import User
from synthweb.accounts.permissions import Need
from synthweb.releases import databases, selectors
from synthweb.releases.models import Release

TABS = {
    "look": _("Look"),
    "quality": _("Quality"),
    "download": _("Download"),
    "share": _("Share"),
    "receipt": _("Receipt"),
}
"""In order, by what cards say."""


@dataclass(frozen=True, kw_only=True)
class Card:
    """One part of a tab. key: the end of its address, /releases/CODE/KEY/, and the name of that in
    `releases`. tab: of `TABS`. order: its place there; the first is open where the tab is opened. about: what
    it shows, in a line. view: its page, which authorises. need: of whoever it is offered to, the same that
    the view asks for. of: releases of one table, of a database, or both. shows: whether this release has
    anything for it; its page says what is missing where not."""

    key: str
    tab: str
    order: int
    title: Promise
    about: Promise
    view: Callable[..., HttpResponseBase]
    need: Need = Need.SAMPLE
    of: Literal["table", "database", "both"] = "table"
    shows: Callable[[Release], bool] = lambda _release: True

    def address(self, release: Release) -> str:
        """Where it is open, its tab around it."""
        return reverse(f"releases:{self.key}", args=[release.code])


@cache
def registered() -> tuple[Card, ...]:
    """The cards of all apps by tab and place."""
    cards = [
        module.CARD
        for config in apps.get_app_configs()
        if config.module and module_has_submodule(config.module, "cards")
        for module in _modules(f"{config.name}.cards")
        if hasattr(module, "CARD")
    ]
    places = list(TABS)
    return tuple(sorted(cards, key=lambda card: (places.index(card.tab), card.order)))


def _modules(package: str) -> list[object]:
    path = import_module(package).__path__
    return [import_module(f"{package}.{each.name}") for each in pkgutil.iter_modules(path)]


def card_of(key: str) -> Card:
    """The card of a key. Errors: KeyError."""
    return {card.key: card for card in registered()}[key]


def offered(user: User, release: Release) -> list[Card]:
    """The cards that this person may open, without those that would be empty; the caller authorised."""
    kinds = ("database" if databases.is_database(release) else "table", "both")
    may = {need: selectors.may(user, release, need) for need in {c.need for c in registered()}}
    return [
        card
        for card in registered()
        if card.of in kinds and may[card.need] and card.shows(release)
    ]


def front(user: User, release: Release) -> Card:
    """What the address of the release itself shows: the rows, and the receipt to whoever may not draw any."""
    first = {card.tab: card for card in reversed(offered(user, release))}
    return first.get("look", first["receipt"])
