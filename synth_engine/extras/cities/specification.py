"""The specification of a city: which releases feed which tables, which keys join them, which totals are
public."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from synth_engine.errors import SpecError
from synth_engine.extras.cities import document
from synth_engine.extras.cities.schema import SCHEMA
from synth_engine.strict_json import JsonObject

AREAS = "areas"
POPULATION = "population"
MAX_OWN_TOTALS = 2
"""Totals by columns of the table itself: two of them can always be met together where the records exist."""


@dataclass(frozen=True, kw_only=True)
class Areas:
    """The public geography. file: a CSV; key: the column of codes; published: where anybody can get it."""

    file: str
    key: str
    latitude: str
    longitude: str
    published: str


@dataclass(frozen=True, kw_only=True)
class SourceFiles:
    """A release, or a description. receipt: None where it was made without data."""

    model: str
    receipt: str | None
    described: bool


@dataclass(frozen=True, kw_only=True)
class WhichRows:
    """Which rows: those with a listed value, or with one from `low` to `high`."""

    column: str
    values: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True)
class Located:
    """Where the rows of a source lie: in a column of codes of areas, or by their points. Without a source, a
    column of the areas with numbers."""

    source: str | None
    column: str | None = None
    latitude: str | None = None
    longitude: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it names."""
        names = (self.column, self.latitude, self.longitude)
        return tuple(name for name in names if name is not None)


@dataclass(frozen=True, kw_only=True)
class Positions:
    """Which values of `column` the first, the second, … row below a row with a value of `by` has."""

    column: str
    by: str
    of: Mapping[str, tuple[tuple[str, ...], ...]]


@dataclass(frozen=True, kw_only=True)
class Join:
    """A column that refers to another table, and how the rows of that are chosen."""

    column: str
    to: str
    by: Literal["size", "weight", "nearest", "match", "flow"]
    size: str | None = None
    positions: Positions | None = None
    alike: str | None = None
    weight: Located | None = None
    where: WhichRows | None = None
    on: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Flow:
    """Pairs rows of two tables by the flows between areas that a source has. origin: where the rows of
    `first` are; destination: where those of `second` are. kilometres: the column of distances; None for
    none."""

    source: str
    first: Join
    second: Join
    origin: Located
    destination: Located
    kilometres: str | None


@dataclass(frozen=True, kw_only=True)
class Total:
    """Public totals. by: a column of the areas, or of the table. scaled: shares of the rows that there
    are."""

    by: str
    of: Literal["rows", "population"]
    scaled: bool
    counts: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class RowShare:
    """So many rows for each row of a table, or for each person of the population."""

    share: float
    of: str


@dataclass(frozen=True, kw_only=True)
class CityTable:
    """A table of the city. source: what its own columns are generated from; None where it has none.
    population: columns that say how many persons a row has."""

    name: str
    key: str
    source: str | None
    rows: int | RowShare | None
    population: tuple[str, ...]
    joins: tuple[Join, ...]
    flow: Flow | None
    totals: tuple[Total, ...]

    @property
    def references(self) -> tuple[Join, ...]:
        """All columns that refer to other tables."""
        both = () if self.flow is None else (self.flow.first, self.flow.second)
        return (*self.joins, *both)

    @property
    def above(self) -> Join | None:
        """The join that decides how many rows there are."""
        return next((join for join in self.joins if join.by == "size"), None)

    @property
    def placement(self) -> Join | None:
        """The join that places the rows in areas."""
        return next((join for join in self.joins if join.by == "weight"), None)

    @property
    def own_columns(self) -> tuple[str, ...]:
        """Columns that do not come from its source."""
        more = self.flow.kilometres if self.flow is not None else None
        names = (self.key, *(join.column for join in self.references), more)
        return tuple(name for name in names if name is not None)

    def error(self, rule: str, *, repair: str, column: str | None = None) -> SpecError:
        """A refusal that names the table."""
        return SpecError(f"table {self.name!r}: {rule}", repair=repair, column=column)


@dataclass(frozen=True, kw_only=True)
class Traveller:
    """A table of persons in a simulation, and its columns of age, sex and school."""

    table: str
    age: str | None
    sex: str | None
    school: str | None


@dataclass(frozen=True, kw_only=True)
class Simulation:
    """Which tables an export takes. commutes: a table of a flow from persons to jobs."""

    households: str
    persons: tuple[Traveller, ...]
    commutes: str | None


@dataclass(frozen=True, kw_only=True)
class CitySpec:
    """The specification. tables: in an order in which each stands after those that it refers to. folder:
    where paths start."""

    name: str
    population: int
    seed: str | None
    areas: Areas
    sources: Mapping[str, SourceFiles]
    tables: tuple[CityTable, ...]
    simulation: Simulation | None
    folder: Path
    document: JsonObject

    def __post_init__(self) -> None:
        for table in self.tables:
            _check_names(table, self)
            _check_rows(table)
            _check_totals(table)
            for join in table.references:
                _check_join(table, join, self)
        object.__setattr__(self, "tables", _in_order(self.tables))
        _check_simulation(self)

    def table(self, name: str) -> CityTable:
        """The table of a name. Errors: SpecError."""
        for table in self.tables:
            if table.name == name:
                return table
        raise SpecError(f"there is no table {name!r}", repair="name a table of the city")

    def sources_of(self, table: CityTable) -> tuple[str, ...]:
        """The sources that a table reads, its own first."""
        named = [table.source]
        named += [join.weight.source for join in table.joins if join.weight is not None]
        named += [table.flow.source] if table.flow is not None else []
        return tuple(dict.fromkeys(name for name in named if name is not None))


def read(path: Path) -> CitySpec:
    """The specification in a file. Errors: SpecError that names field, rule and repair."""
    given = document.read(path, schema=SCHEMA)
    return from_document(given, folder=path.parent)


def from_document(given: Mapping[str, Any], *, folder: Path) -> CitySpec:
    """The specification of a document that was checked against the schema. Errors: SpecError."""
    return CitySpec(
        name=given["name"],
        population=given["population"],
        seed=given.get("seed"),
        areas=Areas(**given["areas"]),
        sources={name: _source(one) for name, one in given["sources"].items()},
        tables=tuple(_table(name, one) for name, one in given["tables"].items()),
        simulation=_simulation(given.get("simulation")),
        folder=folder,
        document=cast(JsonObject, dict(given)),
    )


def _source(given: Mapping[str, Any]) -> SourceFiles:
    described = "description" in given
    model = given["description" if described else "model"]
    return SourceFiles(model=model, receipt=given.get("receipt"), described=described)


def _table(name: str, given: Mapping[str, Any]) -> CityTable:
    rows = given.get("rows")
    return CityTable(
        name=name,
        key=given["key"],
        source=given.get("source"),
        rows=RowShare(**rows) if isinstance(rows, Mapping) else rows,
        population=tuple(given.get("population", ())),
        joins=tuple(_join(one) for one in given.get("joins", ())),
        flow=_flow(given["flow"]) if "flow" in given else None,
        totals=tuple(
            Total(
                by=one["by"],
                of=one.get("of", "rows"),
                scaled=one.get("scaled", False),
                counts=one["counts"],
            )
            for one in given.get("totals", ())
        ),
    )


def _join(given: Mapping[str, Any]) -> Join:
    positions = given.get("positions")
    return Join(
        column=given["column"],
        to=given["to"],
        by=given["by"],
        size=given.get("size"),
        positions=None if positions is None else _positions(positions),
        alike=given.get("alike"),
        weight=_located(given["weight"]) if "weight" in given else None,
        where=_condition(given.get("where")),
        on=tuple(given.get("on", ())),
    )


def _positions(given: Mapping[str, Any]) -> Positions:
    of = {value: tuple(map(tuple, lists)) for value, lists in given["of"].items()}
    return Positions(column=given["column"], by=given["by"], of=of)


def _located(given: Mapping[str, Any], *, source: str | None = None) -> Located:
    return Located(
        source=given.get("source", source),
        column=given.get("column"),
        latitude=given.get("latitude"),
        longitude=given.get("longitude"),
    )


def _condition(given: Mapping[str, Any] | None) -> WhichRows | None:
    if given is None:
        return None
    return WhichRows(
        column=given["column"],
        values=tuple(given.get("in", ())),
        low=given.get("from"),
        high=given.get("to"),
    )


def _flow(given: Mapping[str, Any]) -> Flow:
    first, second = given["from"], given["into"]
    return Flow(
        source=given["source"],
        first=Join(
            column=first["column"],
            to=first["to"],
            by="flow",
            where=_condition(first.get("where")),
        ),
        second=Join(column=second["column"], to=second["to"], by="flow"),
        origin=_located(first["origin"], source=given["source"]),
        destination=_located(second["destination"], source=given["source"]),
        kilometres=given.get("kilometres"),
    )


def _simulation(given: Mapping[str, Any] | None) -> Simulation | None:
    if given is None:
        return None
    return Simulation(
        households=given["households"],
        persons=tuple(
            Traveller(
                table=one["table"],
                age=one.get("age"),
                sex=one.get("sex"),
                school=one.get("school"),
            )
            for one in given["persons"]
        ),
        commutes=given.get("commutes"),
    )


def _check_names(table: CityTable, spec: CitySpec) -> None:
    if table.name == AREAS or not table.name.isprintable():
        raise table.error("it cannot have this name", repair="give it another name")
    columns = table.own_columns
    for column in columns:
        if columns.count(column) > 1:
            raise table.error(
                "two of its columns have this name", repair="rename one", column=column
            )
    for source in spec.sources_of(table):
        if source not in spec.sources:
            raise table.error(
                f"there is no source {source!r}",
                repair=f"list it under sources, or use one of {', '.join(spec.sources)}",
            )


def _check_rows(table: CityTable) -> None:
    ways = (
        table.rows is not None,
        bool(table.population),
        table.above is not None,
        table.flow is not None,
    )
    if sum(ways) != 1:
        raise table.error(
            "its number of rows is given in no way, or in several",
            repair="give one of rows, population, a join by size, and flow",
        )
    if table.population and table.source is None:
        raise table.error(
            "its columns of persons have no source", repair="name the source of the table"
        )
    if sum(join.by == "size" for join in table.joins) > 1:
        raise table.error("it has two joins by size", repair="leave one of them out")
    if sum(join.by == "weight" for join in table.joins) > 1:
        raise table.error("it has two joins by weight", repair="leave one of them out")


def _check_totals(table: CityTable) -> None:
    for total in table.totals:
        if total.of == POPULATION and not table.population:
            raise table.error(
                f"its totals by {total.by!r} are of the population, which other tables have",
                repair="move them to the table that has population columns, or leave of out",
            )
        if not sum(total.counts.values()):
            raise table.error(
                f"its totals by {total.by!r} are all 0", repair="give the public counts"
            )


def _check_join(table: CityTable, join: Join, spec: CitySpec) -> None:
    names = {one.name for one in spec.tables}
    if join.to != AREAS and join.to not in names:
        raise table.error(
            f"it refers to {join.to!r}, which is no table of the city",
            repair="describe that table as well, or leave the join out",
            column=join.column,
        )
    if (join.by == "weight") != (join.to == AREAS):
        raise table.error(
            "areas are joined by weight, and other tables are not",
            repair="write by: weight with to: areas",
            column=join.column,
        )
    needed = {"size": join.size, "weight": join.weight, "match": join.on}
    if join.by in needed and not needed[join.by]:
        field = {"match": "on"}.get(join.by, join.by)
        raise table.error(
            f"its join by {join.by} has no field {field!r}",
            repair="give it",
            column=join.column,
        )
    given = {
        "size": join.size,
        "positions": join.positions,
        "alike": join.alike,
        "weight": join.weight,
        "where": join.where,
        "on": join.on,
    }
    allowed = {
        "size": {"size", "positions", "alike"},
        "weight": {"weight"},
        "nearest": {"where"},
        "match": {"on"},
        "flow": {"where"},
    }
    for field, value in given.items():
        if value and field not in allowed[join.by]:
            raise table.error(
                f"a join by {join.by} has no field {field!r}",
                repair="leave it out",
                column=join.column,
            )
    if (join.positions or join.alike) and table.source is None:
        raise table.error(
            "positions and alike are of its own columns, and it has no source",
            repair="name the source of the table",
            column=join.column,
        )
    located = (
        (join.weight,) if table.flow is None else (table.flow.origin, table.flow.destination)
    )
    for one in located:
        if one is not None:
            _check_located(table, one)


def _check_located(table: CityTable, located: Located) -> None:
    by_point = located.latitude is not None and located.longitude is not None
    half = (located.latitude is None) != (located.longitude is None)
    if half or by_point == (located.column is not None):
        raise table.error(
            "where rows lie is given in no way, or in two",
            repair="give a column of codes of areas, or latitude and longitude",
        )
    if by_point and located.source is None:
        raise table.error(
            "points have no source", repair="name the source whose columns they are"
        )


def _depends(table: CityTable, names: Sequence[str]) -> list[str]:
    """The tables without which it cannot be generated."""
    needed = [join.to for join in table.references]
    needed += [table.rows.of] if isinstance(table.rows, RowShare) else []
    return [name for name in needed if name in names]


def _in_order(tables: Sequence[CityTable]) -> tuple[CityTable, ...]:
    """Each after those that it refers to. Errors: SpecError that names the tables of a loop."""
    names = [table.name for table in tables]
    for table in tables:
        if isinstance(table.rows, RowShare) and table.rows.of not in (*names, POPULATION):
            raise table.error(
                f"its rows are a share of {table.rows.of!r}, which is no table of the city",
                repair="name a table, or population",
            )
    ordered: list[CityTable] = []
    waiting = list(tables)
    while waiting:
        done = {table.name for table in ordered}
        ready = [table for table in waiting if set(_depends(table, names)) <= done]
        if not ready:
            raise _loop(waiting, names)
        ordered += ready
        waiting = [table for table in waiting if table not in ready]
    return tuple(ordered)


def _loop(waiting: Sequence[CityTable], names: Sequence[str]) -> SpecError:
    by_name = {table.name: table for table in waiting}
    path = [waiting[0].name]
    while len(set(path)) == len(path):
        path.append(next(n for n in _depends(by_name[path[-1]], names) if n in by_name))
    loop = path[path.index(path[-1]) :]
    return SpecError(
        f"the keys run in a loop: {' → '.join(loop)}",
        repair=f"leave out a join or a share of rows of one of these tables, such as that of {loop[0]!r}",
    )


def _check_simulation(spec: CitySpec) -> None:
    simulation = spec.simulation
    if simulation is None:
        return
    spec.table(simulation.households)
    for person in simulation.persons:
        above = spec.table(person.table).above
        if above is None or above.to != simulation.households:
            raise SpecError(
                f"simulation: the rows of {person.table!r} are in no household",
                repair=f"join them by size to {simulation.households!r}",
            )
        columns = [join.column for join in spec.table(person.table).joins]
        if person.school is not None and person.school not in columns:
            raise SpecError(
                f"simulation: {person.table!r} has no join {person.school!r}",
                repair="name the column of a join to the table of schools",
            )
    if simulation.commutes is not None and spec.table(simulation.commutes).flow is None:
        raise SpecError(
            f"simulation: {simulation.commutes!r} has no flow",
            repair="name a table with a flow from persons to jobs",
        )
