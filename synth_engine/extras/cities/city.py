"""A city that can be generated: its specification with sources and geography, checked against each other
before anything is generated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from synth_engine.domain import Categorical, Integer, Number
from synth_engine.errors import SpecError
from synth_engine.extras.cities import geography, sources, specification
from synth_engine.extras.cities.geography import AreaTable
from synth_engine.extras.cities.sources import CitySource
from synth_engine.extras.cities.specification import (
    AREAS,
    MAX_OWN_TOTALS,
    CitySpec,
    CityTable,
    Join,
    Located,
    Total,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class City:
    """A specification whose sources, areas and columns are there and fit together."""

    spec: CitySpec
    sources: dict[str, CitySource]
    geography: AreaTable

    def __post_init__(self) -> None:
        for table in self.spec.tables:
            _check_columns(self, table)
            for join in table.references:
                _check_join(self, table, join)
            _check_totals(self, table)
        _check_simulation(self)

    def source(self, table: CityTable) -> CitySource | None:
        """What a table's own columns are generated from."""
        return None if table.source is None else self.sources[table.source]

    def columns(self, table: CityTable) -> tuple[str, ...]:
        """The names of its columns, in the order in which they are written."""
        source = self.source(table)
        return (*table.own_columns, *(() if source is None else source.columns))

    def path(self, table: CityTable) -> tuple[tuple[CityTable, Join], ...]:
        """The joins that lead from a table to the areas. Errors: SpecError where none does, or its rows may
        refer to nothing."""
        for join in table.joins:
            if join.to == AREAS:
                return ((table, join),)
            if join.by == "size":
                return ((table, join), *self.path(self.spec.table(join.to)))
        raise table.error(
            "its rows are in no area",
            repair="join it to areas by weight, or by size to a table that is",
        )

    def area_total(self, total: Total) -> bool:
        """Whether a total is by a column of the areas."""
        return total.by in self.geography.table


def load(path: Path) -> City:
    """The city of a specification. Errors: SpecError, TableError; nothing is generated or written."""
    spec = specification.read(path)
    return City(
        spec=spec,
        sources={
            name: sources.load(name, files, folder=spec.folder)
            for name, files in spec.sources.items()
        },
        geography=geography.load(spec.areas, folder=spec.folder),
    )


def _check_columns(city: City, table: CityTable) -> None:
    source = city.source(table)
    if source is None:
        return
    for column in table.own_columns:
        if column in source.columns:
            raise table.error(
                f"its source {source.name!r} has a column of the same name",
                repair="give the key, or the column that refers, another name",
                column=column,
            )
    for column in table.population:
        _require_number(table, source, column, whole=True)


def _require_number(table: CityTable, source: CitySource, column: str, *, whole: bool) -> None:
    source.require(column, of=f"table {table.name!r}")
    described = source.columns[column]
    if not isinstance(described, Integer if whole else Integer | Number):
        raise table.error(
            f"it is no column of {'whole numbers' if whole else 'numbers'}",
            repair="name another column",
            column=column,
        )
    if whole and described.missing is not None:
        raise table.error(
            "numbers of persons can be missing",
            repair="name a column without missing values",
            column=column,
        )


def _check_join(city: City, table: CityTable, join: Join) -> None:
    where = f"table {table.name!r}, column {join.column!r}"
    if join.where is not None:
        # Of a flow, the condition is on the rows that it pairs.
        of = city.spec.table(join.to) if join.by == "flow" else table
        _require_own(city, of, (join.where.column,), where=where)
        _require_known(city, of, join.where.column, join.where.values, where=where)
    if join.by == "size":
        above = city.spec.table(join.to)
        source = city.source(above)
        if source is None:
            raise table.error(
                f"{join.to!r} has no source with its sizes",
                repair="name one",
                column=join.column,
            )
        _require_number(above, source, join.size or "", whole=True)
        _check_positions(city, table, join)
    elif join.by == "weight" and join.weight is not None:
        _check_located(city, join.weight, where=where)
    elif join.by == "nearest":
        city.path(table)
        city.path(city.spec.table(join.to))
    elif join.by == "match":
        _require_own(city, table, join.on, where=where)
        _require_own(city, city.spec.table(join.to), join.on, where=where)
    elif join.by == "flow" and table.flow is not None:
        city.path(city.spec.table(join.to))
        for located in (table.flow.origin, table.flow.destination):
            _check_located(city, located, where=where)


def _require_own(city: City, table: CityTable, columns: Sequence[str], *, where: str) -> None:
    source = city.source(table)
    for column in columns:
        if source is None:
            raise SpecError(
                f"{where}: the table {table.name!r} has no source with a column {column!r}",
                repair="name its source",
            )
        source.require(column, of=where)


def _require_known(
    city: City, table: CityTable, column: str, values: Iterable[str], *, where: str
) -> None:
    """Refuses values that a column of listed values does not have."""
    source = city.source(table)
    described = None if source is None else source.columns[column]
    if not isinstance(described, Categorical):
        return
    known = {*described.values, *(described.missing or ())}
    for value in values:
        if value not in known:
            raise SpecError(
                f"{where}: the column {column!r} of {table.name!r} has no value {value!r}",
                repair="write it as the description of its source does",
            )


def _check_positions(city: City, table: CityTable, join: Join) -> None:
    source = city.source(table)
    if join.alike is not None and source is not None:
        _require_number(table, source, join.alike, whole=False)
    if join.positions is not None:
        where = f"table {table.name!r}, column {join.column!r}"
        above, positions = city.spec.table(join.to), join.positions
        _require_own(city, table, (positions.column,), where=where)
        _require_own(city, above, (positions.by,), where=where)
        _require_known(city, above, positions.by, positions.of, where=where)
        values = [value for lists in positions.of.values() for one in lists for value in one]
        _require_known(city, table, positions.column, values, where=where)


def _check_located(city: City, located: Located, *, where: str) -> None:
    if located.source is None:
        city.geography.whole_numbers(located.column or "", of=where)
        return
    source = city.sources[located.source]
    for column in located.columns:
        source.require(column, of=where)


def _check_totals(city: City, table: CityTable) -> None:
    own = [total for total in table.totals if not city.area_total(total)]
    of_areas = [total for total in table.totals if city.area_total(total)]
    source = city.source(table)
    for total in own:
        if source is None or total.by not in source.columns:
            raise table.error(
                f"its totals are by {total.by!r}, which is a column neither of the areas nor of its source",
                repair="name one of them",
            )
    if len(own) > MAX_OWN_TOTALS:
        raise table.error(
            f"it has totals by more than {MAX_OWN_TOTALS} of its own columns",
            repair="leave one of them out",
        )
    if own and (table.population or (table.above is not None and table.above.positions)):
        raise table.error(
            f"its totals by {own[0].by!r} contradict its columns of persons or its positions, which decide "
            "which rows it has",
            repair="give totals by a column of the areas, or leave the others out",
        )
    if of_areas and (len(of_areas) > 1 or table.placement is None):
        raise table.error(
            f"its totals by {of_areas[-1].by!r} are of areas, in which it is not placed, or has totals "
            "already",
            repair="give one of them, at the table that is joined to areas by weight",
        )
    for total in of_areas:
        known = set(city.geography.require(total.by, of=f"table {table.name!r}"))
        _require_values(table, total, known)
    for first in _fixed(table):
        if isinstance(table.rows, int) and first.of == "rows":
            _require_sum(table, first, table.rows)
        if first.of == "population":
            _require_sum(table, first, city.spec.population)


def _fixed(table: CityTable) -> Iterator[Total]:
    return (total for total in table.totals if not total.scaled)


def _require_values(table: CityTable, total: Total, known: set[str]) -> None:
    for value, count in total.counts.items():
        if count and value not in known:
            raise table.error(
                f"its totals by {total.by!r} cannot be met: no area has the value {value!r}",
                repair="write it as the areas do, or leave it out",
            )


def _require_sum(table: CityTable, total: Total, rows: int) -> None:
    given = sum(total.counts.values())
    if given != rows:
        raise table.error(
            f"its totals by {total.by!r} cannot be met: they add up to {given:,}, and there are {rows:,}",
            repair="correct them, or write scaled: true to take them as shares",
        )


def require_sum(table: CityTable, total: Total, rows: int) -> None:
    """Refuses totals that are not scaled and add up to another number. Errors: SpecError."""
    if not total.scaled:
        _require_sum(table, total, rows)


def _check_simulation(city: City) -> None:
    simulation = city.spec.simulation
    if simulation is None:
        return
    city.path(city.spec.table(simulation.households))
    for person in simulation.persons:
        table = city.spec.table(person.table)
        columns = [name for name in (person.age, person.sex) if name is not None]
        _require_own(city, table, columns, where="simulation")
