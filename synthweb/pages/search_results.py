"""One search over everything that a person may see: tables, releases, runs, accounts, documentation and
pages.

Each group asks the selectors of its own app, which decide who sees what; nothing is indexed apart from the
documentation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from django.urls import reverse
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _

from synthweb.accounts.models import Role, User
from synthweb.accounts.permissions import Need
from synthweb.accounts.selectors import can, roles_of
from synthweb.datasets import selectors as datasets
from synthweb.ledger import selectors as ledger
from synthweb.lib import extras
from synthweb.lib.number_format import shortened
from synthweb.pages import docs
from synthweb.pages.docs import Passage
from synthweb.releases import selectors as releases
from synthweb.runs import selectors as runs

LONGEST_WORDS = 200
MOST = 6
"""Matches of each group; the list of that group has the rest."""
_AROUND = 60
"""Characters that are shown before the first word of a match in the documentation."""
_EXCERPT = 180
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_MARKS = str.maketrans({"*": "", "`": "", "#": " ", "|": " "})


@dataclass(frozen=True, kw_only=True)
class Match:
    """Something to open. about: a line that says what it is."""

    title: str
    about: str
    address: str


@dataclass(frozen=True, kw_only=True)
class MatchGroup:
    """Matches of one kind. more: the address of the list that has all of them, empty without one."""

    title: str
    matches: tuple[Match, ...]
    more: str = ""


def matches(user: User, words: str) -> list[MatchGroup]:
    """Groups with a match for all words, case apart. words: empty for the pages that this person may open."""
    if not words:
        return [MatchGroup(title=_("Pages"), matches=tuple(_pages_of(user)))]
    groups = [
        group_of(_("Pages"), _pages(user, words)),
        *_of_data(user, words),
        *_of_extras(user, words),
        group_of(_("Documentation"), _documentation(words)),
    ]
    return [group for group in groups if group.matches]


def group_of(title: str, every: Iterable[Match], more: str = "") -> MatchGroup:
    return MatchGroup(title=title, matches=tuple(islice(every, MOST)), more=more)


def _of_data(user: User, words: str) -> Iterator[MatchGroup]:
    """Lists of the database: a person without the role for one has none of it."""
    query = {"q": words}
    if can(user, Need.VIEW):
        yield group_of(
            _("Datasets"),
            (
                Match(
                    title=each.name,
                    about=each.code,
                    address=reverse("pages:dataset", args=[each.code]),
                )
                for each in datasets.datasets_of(user, search=words)[:MOST]
            ),
            reverse("datasets:index", query=query),
        )
    yield _of_releases(user, words)
    if can(user, Need.VIEW):
        yield group_of(
            _("Runs"),
            (
                Match(
                    title=each.name,
                    about=f"{each.code} · {each.dataset.name} · {each.get_state_display()}",
                    address=reverse("runs:run", args=[each.code]),
                )
                for each in runs.filtered(runs.runs_for(user), query)[:MOST]
            ),
            reverse("runs:index", query=query),
        )
        accounts = ledger.accounts_for(user)
        for word in words.split():
            accounts = accounts.filter(name__icontains=word)
        yield group_of(
            _("Budget accounts"),
            (
                Match(
                    title=each.name,
                    about=each.code,
                    address=reverse("ledger:account", args=[each.code]),
                )
                for each in accounts[:MOST]
            ),
        )


def _of_releases(user: User, words: str) -> MatchGroup:
    """Releases, each with the address at which the person may open it."""
    drawable = releases.to_draw_from(user).values_list("code", flat=True)
    visible = releases.releases_for(user, search=words)[:MOST]
    may_look = set(drawable.filter(code__in=[each.code for each in visible]))
    return group_of(
        _("Releases"),
        (
            Match(
                title=each.name,
                about=f"{each.code} · {each.dataset.name}",
                address=reverse(
                    "releases:look" if each.code in may_look else "releases:release",
                    args=[each.code],
                ),
            )
            for each in visible
        ),
        reverse("releases:index", query={"q": words}),
    )


def _of_extras(user: User, words: str) -> Iterator[MatchGroup]:
    for extra in extras.registered():
        if extra.search:
            yield from import_string(extra.search)(user, words)


def _pages(user: User, words: str) -> Iterator[Match]:
    """The pages whose title or line has all words."""
    for page in _pages_of(user):
        if _contains_all(f"{page.title} {page.about}", words):
            yield page


def _pages_of(user: User) -> Iterator[Match]:
    """What somebody of these roles can open or begin."""
    roles = roles_of(user)
    every: list[tuple[bool, str, str, str]] = [
        (True, _("Home"), _("what is next"), "pages:home"),
        (Role.STEWARD in roles, _("Upload a table"), _("a new dataset"), "pages:upload"),
        (can(user, Need.VIEW), _("Datasets"), _("every table"), "datasets:index"),
        (True, _("Releases"), _("every release that you may see"), "releases:index"),
        (
            True,
            _("Releases side by side"),
            _("compare two to four releases"),
            "releases:side-by-side",
        ),
        (can(user, Need.VIEW), _("Runs"), _("what waits, runs or has ended"), "runs:index"),
        (
            can(user, Need.VIEW),
            _("Budget"),
            _("privacy budget and its entries"),
            "ledger:index",
        ),
        (True, _("Documentation"), _("guides, proofs and decisions"), "pages:docs"),
        (True, _("REST reference"), _("every address of the API"), "api:reference"),
        (True, _("API tokens"), _("make or revoke a token"), "accounts:tokens"),
        (
            True,
            _("Notifications"),
            _("what you get by e-mail, and deliveries"),
            "notifications:index",
        ),
        (True, _("Webhooks"), _("programs that are called"), "notifications:webhooks"),
        (True, _("Your account"), _("name, password, roles"), "accounts:profile"),
        (user.is_staff, _("People"), _("accounts and roles"), "accounts:people"),
    ]
    for shown, title, about, name in every:
        if shown:
            yield Match(title=title, about=about, address=reverse(name))
    for entry in extras.entries():
        if entry.need and not can(user, Need(entry.need)):
            continue
        yield Match(
            title=str(entry.title), about=str(entry.about), address=reverse(entry.address)
        )


def _documentation(words: str) -> Iterator[Match]:
    """Parts of the documentation, the best first: by heading, then by heading and title of the page, then by
    the text; of each those with the words as they were typed before those that have them apart."""
    ranks: list[Callable[[Passage], str]] = [
        lambda passage: passage.heading,
        lambda passage: f"{passage.page.title} {passage.heading}",
        lambda passage: f"{passage.page.title} {passage.heading} {passage.text}",
    ]
    phrase = " ".join(words.casefold().split())
    listed: set[str] = set()
    for text_of in ranks:
        matching = [each for each in docs.passages() if _contains_all(text_of(each), words)]
        # A stable sort: the order of the pages decides between equals.
        matching.sort(key=lambda each: phrase not in text_of(each).casefold())
        for passage in matching:
            if passage.address not in listed:
                listed.add(passage.address)
                yield _match_of(passage, words)


def _match_of(passage: Passage, words: str) -> Match:
    page = passage.page.title
    is_page = passage.heading in ("", page)
    return Match(
        title=page if is_page else f"{passage.heading} · {page}",
        about=_excerpt(passage.text, words),
        address=passage.address,
    )


def _contains_all(text: str, words: str) -> bool:
    text = text.casefold()
    return all(word in text for word in words.casefold().split())


def _excerpt(text: str, words: str) -> str:
    """The text around the first of the words, without the signs of Markdown."""
    plain = " ".join(_LINK.sub(r"\1", text).translate(_MARKS).split())
    places = [plain.casefold().find(word) for word in words.casefold().split()]
    first = min((place for place in places if place >= 0), default=0)
    start = plain.rfind(" ", 0, max(first - _AROUND, 0)) + 1
    return ("…" if start else "") + shortened(plain[start:], most=_EXCERPT)
