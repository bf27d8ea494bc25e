"""Lists in pages: which column they are sorted by, and addresses that keep the filters. Knows no table and no
app."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import QueryDict
from django.utils.translation import gettext

PAGE = 25
LONGEST_WORDS = 200
"""Of a search in a list."""


@dataclass(frozen=True, kw_only=True)
class SortColumn:
    """A column of a list. `title` is marked for translation, which its head does. `order`: the fields it
    sorts by, the least one first; none: it does not sort. `falls`: a first click puts the largest on top."""

    key: str
    title: str
    order: tuple[str, ...] = ()
    number: bool = False
    falls: bool = False


@dataclass(frozen=True, kw_only=True)
class Head:
    """A column's head. `query`: what follows the ? to sort by it; `sorted`: ascending, descending or
    nothing."""

    title: str
    number: bool
    query: str
    sorted: str


@dataclass(frozen=True, kw_only=True)
class Listing:
    """A page of a list, its heads, and what its links keep: empty, or ending in &."""

    page: Page[Any]
    heads: tuple[Head, ...]
    filters: str

    @property
    def rows(self) -> Sequence[Any]:
        return list(self.page.object_list)


def listing(
    queryset: QuerySet[Any], query: QueryDict, *, columns: Sequence[SortColumn], usual: str
) -> Listing:
    """One page of `found`, sorted as `query` says ("-made" is made, falling), or else as `usual`; what it
    says that no column answers to changes nothing."""
    chosen = query.get("sort", "")
    known = {column.key: column for column in columns if column.order}
    if chosen.removeprefix("-") not in known:
        chosen = usual
    sign = "-" if chosen.startswith("-") else ""
    fields = [sign + field for field in known[chosen.removeprefix("-")].order]
    # The key breaks ties: without it, equal rows could appear on two pages or on none.
    page = Paginator(queryset.order_by(*fields, f"{sign}pk"), PAGE).get_page(query.get("page"))
    heads = tuple(_head(column, query, chosen) for column in columns)
    return Listing(page=page, heads=heads, filters=filters_of(query))


def _head(column: SortColumn, query: Mapping[str, object], chosen: str) -> Head:
    here = chosen.removeprefix("-") == column.key
    falling = chosen.startswith("-")
    turn = not falling if here else column.falls
    sort = f"{'-' if turn else ''}{column.key}"
    return Head(
        title=gettext(column.title),
        number=column.number,
        query=query_with(query, {"sort": sort}) if column.order else "",
        sorted=("descending" if falling else "ascending") if here else "",
    )


def words_of(query: QueryDict) -> str:
    """The words that a list is searched for."""
    return query.get("q", "")[:LONGEST_WORDS].strip()


def filters_of(query: Mapping[str, Any]) -> str:
    """What links to other pages of a list keep: empty, or ending in &."""
    return _query(query, {})


def query_with(query: Mapping[str, Any], changes: Mapping[str, str]) -> str:
    """What follows the ? in an address with the filters of `query`, without its page, and with these
    changes."""
    return _query(query, changes).removesuffix("&")


def _query(query: Mapping[str, Any], changes: Mapping[str, str]) -> str:
    """The filters of `query` without its page, with these changes; ends in &."""
    parameters = QueryDict(mutable=True)
    parameters.update(
        {key: query[key] for key in query if key != "page" and query[key]} | dict(changes)
    )
    text = parameters.urlencode()
    return f"{text}&" if text else ""
