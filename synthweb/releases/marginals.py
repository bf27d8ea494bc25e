"""Tables of counts of a release for its page and REST: which one an address asks for, and its cells with
intervals.

Everything comes from noisy answers that were paid for and from records of the model, which a worker brings
together once a release; whoever may draw samples may see all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from django.http import QueryDict
from django.utils.translation import gettext

from synth_engine.domain import Domain
from synth_engine.errors import InputError
from synth_engine.evaluation import marginals
from synth_engine.evaluation.marginals import (
    Condition,
    Marginal,
    MarginalCell,
    MarginalQuery,
    PublishedCounts,
)
from synth_engine.evaluation.thousands import grouped
from synthweb.releases.model_cache import model_of
from synthweb.releases.models import Release, ReleasedCounts
from synthweb.releases.slots import Slot

PAGE_CELLS = 100
MAX_CONDITIONS = 50
_IN_MEMORY = 2  # releases whose counts a web process holds
_FARTHEST = 10**6


class NotGathered(Exception):
    """No worker has brought the counts of the release together yet."""


@dataclass(frozen=True, kw_only=True)
class CellLine:
    """A cell as people read it. texts: its values, then what the page shows of its count."""

    texts: tuple[str, ...]
    value: str
    low: str
    high: str
    model: str
    measured: bool


@dataclass(frozen=True, kw_only=True)
class ColumnChoice:
    """A column that the page offers."""

    name: str
    values: str
    chosen: bool


@dataclass(frozen=True, kw_only=True)
class MarginalPage:
    """What the page shows. where: the conditions as they were typed; fault: why there is no table; lines:
    cells, none before columns are chosen; measured, number: how many of all cells are measured; earlier,
    later: queries of other pages."""

    choices: tuple[ColumnChoice, ...]
    where: str
    fault: str
    columns: tuple[str, ...]
    lines: tuple[CellLine, ...]
    first: int
    last: int
    number: int
    measured: int
    earlier: str
    later: str


def store(release: Release, published: PublishedCounts) -> None:
    """Keep what marginals are computed from."""
    ReleasedCounts.objects.update_or_create(
        release=release,
        defaults={"version": marginals.VERSION, "content": published.to_bytes()},
    )


def is_ready(release: Release) -> bool:
    """Whether a worker has brought the counts together. The caller authorised."""
    return ReleasedCounts.objects.filter(release=release, version=marginals.VERSION).exists()


def query_of(release: Release, columns: Sequence[str], where: Sequence[str]) -> MarginalQuery:
    """The table that an address asks for. columns: names, several in one text parted by commas; where: texts
    `column=value`, with several values parted by `|`, or `column=first..last`. Errors: InputError; the caller
    authorised."""
    domain = model_of(release.code).domain
    if len(where) > MAX_CONDITIONS:
        raise InputError(
            f"there are more than {MAX_CONDITIONS} conditions", repair="leave some out"
        )
    query = MarginalQuery(
        columns=tuple(columns_of(domain, columns)),
        where=tuple(_condition(domain, text) for text in where),
    )
    marginals.asked_of(domain, query)
    return query


def columns_of(domain: Domain, texts: Sequence[str]) -> Iterator[str]:
    """Names of columns, several in one text parted by commas; a name that has commas stands alone."""
    for text in texts:
        if text in domain.sizes:
            yield text
            continue
        yield from (name.strip() for name in text.split(",") if name.strip())


def _condition(domain: Domain, text: str) -> Condition:
    # The longest name that fits: names may hold the sign that ends them.
    names = [name for name in domain.sizes if text.startswith(f"{name}=")]
    if not names:
        raise InputError(
            "a condition names no column of the release",
            repair="write column=value, column=value|value or column=first..last",
        )
    name = max(names, key=len)
    value = text[len(name) + 1 :]
    known = value in marginals.labels_of(domain, name)
    return Condition(column=name, labels=(value,) if known else tuple(value.split("|")))


def codes_of(domain: Domain, where: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """The codes that conditions leave of each column that has some; where: as in `query_of`. Errors:
    InputError."""
    query = MarginalQuery(columns=(), where=tuple(_condition(domain, text) for text in where))
    asked = marginals.asked_of(domain, query)
    return {
        name: tuple(int(code) for code in groups[0].nonzero()[0])
        for name, groups in zip(asked.clique, asked.groups, strict=True)
    }


def answer(
    release: Release, query: MarginalQuery, *, person: int, first: int, most: int
) -> Marginal:
    """Some cells of a table, by the stored counts. person: whose slot it takes, because a large table is
    seconds of work. Errors: NotGathered, TooManyDrawings; the caller authorised."""
    published = published_of(release)
    with Slot(person):
        return marginals.answer(published, query, first=first, most=most)


def published_of(release: Release) -> PublishedCounts:
    """The stored counts of a release. Errors: NotGathered; the caller authorised."""
    if not is_ready(release):
        raise NotGathered
    return _published(release.code, marginals.VERSION)


@lru_cache(maxsize=_IN_MEMORY)
def _published(code: str, version: str) -> PublishedCounts:
    stored = ReleasedCounts.objects.get(release__code=code, version=version)
    return PublishedCounts.from_bytes(bytes(stored.content), domain=model_of(code).domain)


def asks(query: QueryDict) -> bool:
    """Whether the address of the page asks for a table, and not for the empty form."""
    return bool(query.getlist("columns") or _lines(query))


def _lines(query: QueryDict) -> list[str]:
    return [
        line.strip()
        for text in query.getlist("where")
        for line in text.splitlines()
        if line.strip()
    ]


def wanted(release: Release, query: QueryDict) -> MarginalQuery:
    """The table that the page's form asks for. Errors: InputError."""
    return query_of(release, query.getlist("columns"), _lines(query))


def page_of(release: Release, query: QueryDict, *, person: int) -> MarginalPage:
    """What the page shows for an address. person: who asks. Errors: NotGathered, TooManyDrawings; the caller
    authorised."""
    fault, table, first = "", None, _first(query)
    try:
        if asks(query):
            table = answer(
                release, wanted(release, query), person=person, first=first, most=PAGE_CELLS
            )
    except InputError as error:
        fault = error.text
    lines = () if table is None else tuple(_line(cell) for cell in table.cells)
    number = 0 if table is None else table.number
    last = first + len(lines)
    return MarginalPage(
        choices=tuple(_choices(release, query)),
        where="\n".join(_lines(query)),
        fault=fault,
        columns=() if table is None else table.columns,
        lines=lines,
        first=first + 1,
        last=last,
        number=number,
        measured=0 if table is None else table.measured,
        earlier=_page(query, max(first - PAGE_CELLS, 0)) if first and number else "",
        later=_page(query, last) if last < number else "",
    )


def _choices(release: Release, query: QueryDict) -> Iterator[ColumnChoice]:
    chosen = set(query.getlist("columns"))
    for name, size in model_of(release.code).domain.sizes.items():
        if size <= marginals.MAX_CELLS:
            values = gettext("%(number)s values") % {"number": grouped(size)}
            yield ColumnChoice(name=name, values=values, chosen=name in chosen)


def _first(query: QueryDict) -> int:
    """The place of the first cell that an address asks for; 0 for anything else."""
    text = query.get("from", "")
    return (
        min(int(text), _FARTHEST) if text.isascii() and text.isdigit() and len(text) < 9 else 0
    )


def _page(query: QueryDict, first: int) -> str:
    changed = query.copy()
    changed["from"] = str(first)
    return changed.urlencode()


def _line(cell: MarginalCell) -> CellLine:
    interval = cell.expected
    return CellLine(
        texts=cell.labels,
        value=_count(interval.estimate.value),
        low=_count(interval.low),
        high=_count(interval.high),
        model=_count(cell.model.value),
        measured=cell.measured,
    )


def _count(value: float) -> str:
    """A number of records as people read it."""
    return grouped(round(value))
