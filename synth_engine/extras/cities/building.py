"""Generates the tables of a city, each with randomness of its own, so that a new release changes its table
and leaves the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd
import pyarrow as pa

from synth_engine.domain import Derived
from synth_engine.extras.cities import placement, rows
from synth_engine.extras.cities.city import City, require_sum
from synth_engine.extras.cities.geography import Floats, Indices
from synth_engine.extras.cities.sources import CitySource
from synth_engine.extras.cities.specification import (
    AREAS,
    POPULATION,
    CityTable,
    Flow,
    Join,
    Located,
    RowShare,
    WhichRows,
)
from synth_engine.models.weights import generator
from synth_engine.relational import layout
from synth_engine.relational.layout import ForeignKey, TableLayout
from synth_engine.strict_json import JsonObject

Progress = Callable[[str, float], None]


@dataclass(frozen=True, kw_only=True, eq=False)
class BuiltCity:
    """A generated city. layouts and frames: of the areas and of all tables, each after those that it refers
    to. areas: of the rows of each table that are in areas. notes: what could not be met, by table."""

    city: City
    population: int
    seed: str
    layouts: tuple[TableLayout, ...]
    frames: dict[str, pd.DataFrame]
    areas: dict[str, Indices]
    notes: list[JsonObject]

    @cached_property
    def digests(self) -> dict[str, str]:
        """SHA-256 of each table as CSV."""
        return {
            table.name: layout.digest(layout.arrow(table, self.frames[table.name]))
            for table in self.layouts
        }


def build(
    city: City,
    *,
    seed: str,
    progress: Progress = lambda _stage, _share: None,
) -> BuiltCity:
    """Generates all tables. The same city and seed give the same tables. Errors: SpecError where totals
    cannot be met."""
    builder = _Builder(city=city, seed=seed)
    tables = city.spec.tables
    for number, table in enumerate(tables):
        progress("generate", number / len(tables))
        builder.add(table)
    progress("generate", 1.0)
    layouts = [_areas_layout(city), *(_layout(city, table, builder) for table in tables)]
    areas = city.geography.table.reset_index(drop=True)
    return BuiltCity(
        city=city,
        population=city.spec.population,
        seed=seed,
        layouts=tuple(layouts),
        frames={AREAS: areas, **builder.frames},
        areas=builder.areas,
        notes=builder.notes,
    )


@dataclass(kw_only=True, eq=False)
class _Builder:
    """The tables that are generated so far. samples: of sources whose rows are counted by area. references:
    the index of the row that each row refers to, by table and column; -1 for none."""

    city: City
    seed: str
    frames: dict[str, pd.DataFrame] = field(default_factory=dict)
    own: dict[str, pd.DataFrame] = field(default_factory=dict)
    areas: dict[str, Indices] = field(default_factory=dict)
    references: dict[tuple[str, str], Indices] = field(default_factory=dict)
    samples: dict[str, pd.DataFrame] = field(default_factory=dict)
    notes: list[JsonObject] = field(default_factory=list)

    def add(self, table: CityTable) -> None:
        """Generates a table whose references are all generated."""
        if table.flow is not None:
            self._pair(table, table.flow)
        else:
            self._generate(table)
        number = self._rows(table)
        columns: dict[str, object] = {table.key: np.arange(1, number + 1)}
        for join in table.references:
            columns[join.column] = self._keys(table, join)
        if table.flow is not None and table.flow.kilometres is not None:
            columns[table.flow.kilometres] = self._kilometres(table, table.flow)
        own = self.own.get(table.name)
        frame = pd.DataFrame(columns)
        self.frames[table.name] = frame if own is None else pd.concat([frame, own], axis=1)

    def _rng(self, table: CityTable, *purpose: str) -> np.random.Generator:
        return generator(self.seed, purpose=("city", table.name, *purpose))

    def _generate(self, table: CityTable) -> None:
        source = self.city.source(table)
        seed = f"{self.seed}/{table.name}"
        sizes = None
        if table.population and source is not None:
            frame, sizes = rows.holding(source, table, self.city.spec.population, seed=seed)
        elif table.above is not None:
            frame = self._below(table, table.above, source, seed=seed)
        else:
            number = self._number(table)
            own = [one for one in table.totals if not self.city.area_total(one)]
            frame = (
                pd.DataFrame(index=range(number))
                if source is None
                else rows.with_totals(source, table, own, number, seed=seed)
            )
        self.own[table.name] = frame
        # The place first: what is nearest depends on it.
        if table.placement is not None:
            self._place(table, table.placement, sizes)
        for join in table.joins:
            if join.by == "nearest":
                self._nearest(table, join)
            elif join.by == "match":
                self._match(table, join)

    def _number(self, table: CityTable) -> int:
        """How many rows a table without rows above it has."""
        if isinstance(table.rows, RowShare):
            of = (
                self.city.spec.population
                if table.rows.of == POPULATION
                else len(self.frames[table.rows.of])
            )
            return max(round(table.rows.share * of), 1)
        return table.rows or 0

    def _rows(self, table: CityTable) -> int:
        if table.flow is not None:
            return int(self.references[table.name, table.flow.first.column].size)
        return len(self.own[table.name])

    def _below(
        self, table: CityTable, join: Join, source: CitySource | None, *, seed: str
    ) -> pd.DataFrame:
        """The rows of a table of which each row above says how many it has."""
        above = self.own[join.to]
        sizes = above[join.size or ""].to_numpy(dtype=np.int64).clip(0)
        parents = np.repeat(np.arange(sizes.size), sizes)
        self.references[table.name, join.column] = parents
        if join.to in self.areas:
            self.areas[table.name] = self.areas[join.to][parents]
        if source is None:
            return pd.DataFrame(index=range(parents.size))
        own = [one for one in table.totals if not self.city.area_total(one)]
        if join.positions is None:
            frame = rows.with_totals(source, table, own, parents.size, seed=seed)
            wanted: list[rows.Wanted] = [()] * parents.size
        else:
            wanted = self._wanted(join, parents, sizes)
            frame, others = rows.at_positions(source, join, wanted, seed=seed)
            if others:
                self.notes.append(
                    {
                        "table": table.name,
                        "column": join.positions.column,
                        "rows": others,
                        "note": "These rows have another value than their position asks for.",
                    }
                )
        rng = self._rng(table, "alike")
        return rows.alike(frame, join, wanted, parents, rng=rng)

    def _wanted(self, join: Join, parents: Indices, sizes: Indices) -> list[rows.Wanted]:
        """The values that the row at each position may have."""
        if join.positions is None:
            return []
        above = self.city.spec.table(join.to)
        source = self.city.source(above)
        if source is None:
            return []
        kinds = source.texts(self.own[join.to], join.positions.by).tolist()
        starts = np.cumsum(sizes) - sizes
        place = np.arange(parents.size) - starts[parents]
        of = join.positions.of
        wanted = []
        for parent, number in zip(parents.tolist(), place.tolist(), strict=True):
            lists = of.get(kinds[parent])
            wanted.append(() if lists is None else lists[min(number, len(lists) - 1)])
        return wanted

    def _located(self, located: Located) -> Indices:
        """The area of each row of a source's sample; -1 where its code is of none."""
        source = self.city.sources[located.source or ""]
        if source.name not in self.samples:
            self.samples[source.name] = source.draw(
                min(max(source.model.rows, 1), rows.MAX_POOL),
                seed=f"{self.seed}/source/{source.name}",
            )
        frame = self.samples[source.name]
        if located.column is not None:
            return self.city.geography.of_codes(source.texts(frame, located.column))
        points = [
            pd.to_numeric(frame[name], errors="coerce").to_numpy(
                dtype=np.float64, na_value=np.nan
            )
            for name in (located.latitude, located.longitude)
        ]
        known = ~np.isnan(points[0]) & ~np.isnan(points[1])
        areas = np.full(len(frame), -1, dtype=np.int64)
        areas[known] = self.city.geography.of_points(points[0][known], points[1][known])
        return areas

    def _weights(self, located: Located) -> Indices:
        geography = self.city.geography
        if located.source is None:
            return geography.whole_numbers(located.column or "", of="weight")
        areas = self._located(located)
        return np.bincount(areas[areas >= 0], minlength=len(geography)).astype(np.int64)

    def _place(self, table: CityTable, join: Join, sizes: Indices | None) -> None:
        if join.weight is None:
            return
        weights, number = self._weights(join.weight), len(self.own[table.name])
        rng = self._rng(table, "place", join.column)
        total = next((one for one in table.totals if self.city.area_total(one)), None)
        if total is None:
            areas = placement.areas_by_weight(weights, number, rng=rng)
        else:
            counted = sizes if total.of == POPULATION and sizes is not None else None
            each = np.ones(number, dtype=np.int64) if counted is None else counted
            require_sum(table, total, int(each.sum()))
            areas = placement.areas_by_total(
                table, total, self.city.geography, weights, each, rng=rng
            )
        self.areas[table.name] = areas
        self.references[table.name, join.column] = areas

    def _nearest(self, table: CityTable, join: Join) -> None:
        rng = self._rng(table, "nearest", join.column)
        near = placement.nearest(
            self.city.geography, self.areas[table.name], self.areas[join.to], rng=rng
        )
        if join.where is not None:
            near[~self._matches(table, join.where)] = -1
        self.references[table.name, join.column] = near

    def _match(self, table: CityTable, join: Join) -> None:
        other = self.city.spec.table(join.to)
        own, others = (
            [self._texts(each, column) for column in join.on] for each in (table, other)
        )
        rng = self._rng(table, "match", join.column)
        chosen, fewer = placement.matching(own, others, rng=rng)
        if fewer:
            self.notes.append(
                {
                    "table": table.name,
                    "column": join.column,
                    "rows": fewer,
                    "note": "These rows refer to a row that differs in a column of the match.",
                }
            )
        self.references[table.name, join.column] = chosen

    def _texts(self, table: CityTable, column: str) -> pd.Series:
        source = self.city.source(table)
        frame = self.own[table.name]
        return frame[column].astype(str) if source is None else source.texts(frame, column)

    def _matches(self, table: CityTable, condition: WhichRows) -> placement.Mask:
        """Which rows meet a condition."""
        right = np.ones(len(self.own[table.name]), dtype=bool)
        if condition.values:
            right &= self._texts(table, condition.column).isin(condition.values).to_numpy()
        if condition.low is not None or condition.high is not None:
            column = self.own[table.name][condition.column]
            numbers = pd.to_numeric(column, errors="coerce").to_numpy(
                dtype=np.float64, na_value=np.nan
            )
            low = -np.inf if condition.low is None else condition.low
            high = np.inf if condition.high is None else condition.high
            right &= (numbers >= low) & (numbers <= high)
        return right

    def _pair(self, table: CityTable, flow: Flow) -> None:
        origins, destinations = self._located(flow.origin), self._located(flow.destination)
        known = (origins >= 0) & (destinations >= 0)
        size = len(self.city.geography)
        pairs, numbers = np.unique(
            origins[known] * size + destinations[known], return_counts=True
        )
        first, second = self._members(flow.first), self._members(flow.second)
        people, jobs = placement.paired(
            self.areas[flow.first.to][first],
            self.areas[flow.second.to][second],
            (pairs // size, pairs % size, numbers.astype(np.int64)),
            areas=size,
            rng=self._rng(table, "flow"),
        )
        self.references[table.name, flow.first.column] = first[people]
        self.references[table.name, flow.second.column] = second[jobs]

    def _members(self, join: Join) -> Indices:
        """The rows that a flow may pair."""
        table = self.city.spec.table(join.to)
        if join.where is None:
            return np.arange(self._rows(table))
        return np.flatnonzero(self._matches(table, join.where))

    def _kilometres(self, table: CityTable, flow: Flow) -> Floats:
        ends = [
            self.areas[join.to][self.references[table.name, join.column]]
            for join in (flow.first, flow.second)
        ]
        return self.city.geography.kilometres(*ends).round(3)

    def _keys(self, table: CityTable, join: Join) -> pd.Series:
        """The keys of the rows that a column refers to."""
        index = self.references[table.name, join.column]
        if join.to == AREAS:
            codes = self.city.geography.table[self.city.spec.areas.key]
            return codes.iloc[index].reset_index(drop=True)
        keys = pd.Series(index + 1, dtype="Int64").mask(index < 0)
        return keys


def _areas_layout(city: City) -> TableLayout:
    areas = city.spec.areas
    degrees = {areas.latitude, areas.longitude}
    fields = [
        pa.field(
            str(column), pa.float64() if column in degrees else pa.string(), nullable=False
        )
        for column in city.geography.table.columns
    ]
    return TableLayout(name=AREAS, columns=pa.schema(fields), key=areas.key)


def _layout(city: City, table: CityTable, builder: _Builder) -> TableLayout:
    fields = [pa.field(table.key, pa.int64(), nullable=False)]
    references = []
    for join in table.references:
        index = builder.references[table.name, join.column]
        kind = pa.string() if join.to == AREAS else pa.int64()
        fields.append(pa.field(join.column, kind, nullable=bool((index < 0).any())))
        key = city.spec.areas.key if join.to == AREAS else city.spec.table(join.to).key
        references.append(ForeignKey(column=join.column, table=join.to, key=key))
    if table.flow is not None and table.flow.kilometres is not None:
        fields.append(pa.field(table.flow.kilometres, pa.float64(), nullable=False))
    source = city.source(table)
    if source is not None:
        domain = source.model.domain
        fields += [
            pa.field(
                column.name,
                domain.written_like(column).arrow_type,
                nullable=column.missing is not None or isinstance(column, Derived),
            )
            for column in domain.table_columns
        ]
    return TableLayout(
        name=table.name,
        columns=pa.schema(fields),
        key=table.key,
        references=tuple(references),
    )
