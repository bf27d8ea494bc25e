"""Entries of the audit log as lines that people read: names for codes and numbers, words for actions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.urls import NoReverseMatch, reverse

from synthweb.accounts.models import Organisation, User
from synthweb.audit import labels
from synthweb.audit.models import AuditEntry
from synthweb.datasets.models import Dataset
from synthweb.ledger.amounts import short_text
from synthweb.ledger.models import BudgetAccount
from synthweb.lib import extras
from synthweb.lib.language import written_number
from synthweb.lib.number_format import in_letters

_PAGES = {
    "dataset": "ledger:history-dataset",
    "account": "ledger:account",
    "release": "releases:release",
    "run": "runs:run",
    "link": "runs:link",
    "counts": "runs:filled",
    "user": "ledger:history-person",
}

_SOFTWARE = ("worker", "system", "anonymous")


@dataclass(frozen=True, kw_only=True)
class Deed:
    """One line."""

    entry: AuditEntry
    person: bool  # whether somebody did it, and no part of the software
    sentence: str
    known: bool  # whether the table of words knows the action
    kind: str
    name: str  # of the object; its code where it has none
    address: str  # of the object's page
    facts: list[tuple[str, str]]
    dataset: str  # what real rows were of
    seen: str  # what of them


def lines(entries: Iterable[AuditEntry]) -> list[Deed]:
    """The entries of a page. Names are fetched for all of them at once."""
    page = list(entries)
    names = _Names(page)
    return [_line(entry, names) for entry in page]


class _Names:
    """What codes and numbers stand for; an object that is gone keeps its code."""

    def __init__(self, page: list[AuditEntry]) -> None:
        wanted: dict[str, set[str]] = {
            "user": set(),
            "dataset": set(),
            "account": set(),
            "organisation": set(),
        }
        for entry in page:
            for kind, code in (
                (entry.object_kind, entry.object_code),
                ("dataset", entry.detail.get("dataset")),
            ):
                if kind in wanted and isinstance(code, str) and code:
                    wanted[kind].add(code)
        # Stored codes need not be keys: a query by another text would raise.
        numbers = [int(number) for number in wanted["user"] if number.isdecimal()]
        users = User.objects.filter(pk__in=numbers).values_list("pk", "username")
        self.by_reference = {("user", str(pk)): name for pk, name in users}
        for kind, model in (
            ("dataset", Dataset),
            ("account", BudgetAccount),
            ("organisation", Organisation),
        ):
            rows = model.objects.filter(code__in=wanted[kind]).values_list("code", "name")
            self.by_reference |= {(kind, code): name for code, name in rows}

    def of(self, kind: str, code: str) -> str:
        return self.by_reference.get((kind, code), code)


def _line(entry: AuditEntry, names: _Names) -> Deed:
    name = names.of(entry.object_kind, entry.object_code)
    return Deed(
        entry=entry,
        person=entry.actor not in _SOFTWARE,
        sentence=labels.sentence(entry.action),
        known=entry.action in labels.known(),
        kind="person" if entry.object_kind == "user" else entry.object_kind,
        name=name,
        address=_address(entry, name),
        facts=facts(entry, names),
        dataset=name if entry.object_kind == "dataset" else "",
        seen=labels.what_was_seen(entry.action),
    )


def _address(entry: AuditEntry, name: str) -> str:
    route, argument = (
        (_PAGES | extras.pages()).get(entry.object_kind),
        name if entry.object_kind == "user" else entry.object_code,
    )
    try:
        return reverse(route, args=[argument]) if route and argument else ""
    except NoReverseMatch:
        return ""


def facts(entry: AuditEntry, names: _Names | None = None) -> list[tuple[str, str]]:
    """The detail of an entry as words; what is empty is left out, hashes are shortened."""
    return [
        _fact(name, value, names)
        for name, value in entry.detail.items()
        if value not in ("", [], {})
    ]


def _fact(name: str, value: Any, names: _Names | None) -> tuple[str, str]:
    """Integers of the ledger, such as `epsilon_nano`, read as amounts."""
    if name == "dataset" and names and isinstance(value, str):
        return name, names.of("dataset", value)
    currency, _, step = name.rpartition("_")
    if step in ("nano", "atto") and isinstance(value, int):
        amount = short_text(currency.rpartition("_")[2], value)
        return in_letters(currency.replace("_", " ")), written_number(amount)
    return name.replace("_", " "), _words(value)


def _words(value: Any) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case dict():
            return "; ".join(f"{key}: {_words(item)}" for key, item in value.items())
        case list():
            return ", ".join(_words(item) for item in value)
        case str() if len(value) == 64 and set(value) <= set("0123456789abcdef"):
            return f"{value[:12]}…"
    return str(value)
