"""The extras that are on, and what each declares (docs/extras.md).

An extra is a package with a module `extra` that has an `EXTRA`. Whatever else it brings stands where Django
or the core looks in every app: models, migrations, `admin`, `tasks`, `cards`, `job_kinds`, management
commands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Literal

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.functional import Promise

HOME = "synthweb.extras"
NONE = "none"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A page of an extra that is not about one object. The search finds it, and `places` link it: "releases",
    to everybody; "datasets", to whoever uploads; "description", to whoever draws from the dataset, whose code
    is the parameter `dataset`. about: what it shows, in a line. address: its name. need: the value of the
    `Need` of whoever may open it; empty for everybody."""

    places: tuple[Literal["releases", "datasets", "description"], ...]
    title: Promise
    about: Promise
    address: str
    need: str = ""


@dataclass(frozen=True, kw_only=True)
class Extra:
    """What an extra declares. Modules and functions are dotted names, which are imported when they are
    needed: beat and the workers load no page.

    addresses, rest: modules with `urlpatterns`, below / and below /api/v1/. search: a function of a user and
    words that gives groups of matches (`synthweb.pages.search_results.MatchGroup`). texts: a function that
    gives the texts of its engine's part that pages translate. sentences: its deeds in
    the audit log → what was done, in words. pages: a kind of object in the audit log → the name of its page.
    """

    addresses: str = ""
    rest: str = ""
    search: str = ""
    texts: str = ""
    entries: tuple[Entry, ...] = ()
    sentences: Mapping[str, str] = field(default_factory=dict)
    pages: Mapping[str, str] = field(default_factory=dict)


def packages(names: Sequence[str]) -> list[str]:
    """The packages of extras, each by the name of a package in `synthweb.extras` or of another one; "none"
    alone is none. Errors: ImproperlyConfigured for one that is not there."""
    return [] if list(names) == [NONE] else [_package(name.strip()) for name in names]


def _package(name: str) -> str:
    for package in (f"{HOME}.{name}", name):
        if _has_extra(package):
            return package
    raise ImproperlyConfigured(
        f"SYNTHWEB_EXTRAS: {name!r} is no package with a module `extra`; name one in {HOME} or on Python's "
        f'path, or "{NONE}"'
    )


def _has_extra(package: str) -> bool:
    try:
        return find_spec(f"{package}.extra") is not None
    except (ImportError, ValueError):
        return False


@cache
def registered() -> tuple[Extra, ...]:
    """The extras that are on, in the order of the setting."""
    return tuple(import_module(f"{package}.extra").EXTRA for package in settings.EXTRAS)


def entries() -> list[Entry]:
    """The pages of all extras that are about no one object."""
    return [entry for extra in registered() for entry in extra.entries]


def sentences() -> dict[str, str]:
    """The deeds of all extras in words."""
    return {name: words for extra in registered() for name, words in extra.sentences.items()}


def pages() -> dict[str, str]:
    """The name of the page of each kind of object that extras write to the audit log."""
    return {kind: name for extra in registered() for kind, name in extra.pages.items()}
