"""The persons and households of a generated city as simulations see them: all tables of persons in one, with
home, work and school."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from synth_engine.errors import SpecError
from synth_engine.extras.cities.building import BuiltCity
from synth_engine.extras.cities.city import City
from synth_engine.extras.cities.specification import CityTable, Simulation


@dataclass(frozen=True, kw_only=True, eq=False)
class Travellers:
    """persons: a row each, by household, with the columns id, household, number, age, sex, home, work and
    school; the last three are indices of areas, -1 for none. households: the table of households with their
    areas as `home`."""

    simulation: Simulation
    table: CityTable
    persons: pd.DataFrame
    households: pd.DataFrame


def require(city: City) -> Simulation:
    """What an export takes. Errors: SpecError where the specification does not say it."""
    if city.spec.simulation is None:
        raise SpecError(
            "the specification does not say what a simulation takes",
            repair="add simulation, with the tables of households and of persons",
        )
    return city.spec.simulation


def of(built: BuiltCity) -> Travellers:
    """The persons and households of a city. Errors: SpecError."""
    simulation = require(built.city)
    table = built.city.spec.table(simulation.households)
    parts = [_part(built, simulation, number) for number in range(len(simulation.persons))]
    persons = pd.concat(parts, ignore_index=True)
    persons = persons.sort_values("household", kind="stable", ignore_index=True)
    persons["number"] = persons.groupby("household").cumcount() + 1
    households = built.frames[table.name].assign(home=built.areas[table.name])
    return Travellers(
        simulation=simulation, table=table, persons=persons, households=households
    )


def _part(built: BuiltCity, simulation: Simulation, number: int) -> pd.DataFrame:
    """The persons of one table."""
    person = simulation.persons[number]
    table = built.city.spec.table(person.table)
    frame = built.frames[table.name]
    join = table.above
    source = built.city.source(table)
    part = pd.DataFrame(
        {
            "id": [f"{table.name}_{key}" for key in frame[table.key].tolist()],
            "household": frame[join.column if join is not None else table.key].to_numpy(
                dtype=np.int64
            ),
            "home": built.areas[table.name],
        }
    )
    for name in ("age", "sex"):
        column = getattr(person, name)
        texts = None if source is None or column is None else source.texts(frame, column)
        part[name] = "" if texts is None else texts.fillna("").to_numpy()
    part["work"] = _work(built, simulation, table)
    part["school"] = _school(built, table, person.school)
    return part


def _work(built: BuiltCity, simulation: Simulation, table: CityTable) -> np.ndarray:
    """The area in which each person works; -1 of those who do not."""
    areas = np.full(len(built.frames[table.name]), -1, dtype=np.int64)
    if simulation.commutes is None:
        return areas
    flow = built.city.spec.table(simulation.commutes).flow
    if flow is None or flow.first.to != table.name:
        return areas
    pairs = built.frames[simulation.commutes]
    people, jobs = (
        pairs[join.column].to_numpy(dtype=np.int64) - 1 for join in (flow.first, flow.second)
    )
    areas[people] = built.areas[flow.second.to][jobs]
    return areas


def _school(built: BuiltCity, table: CityTable, column: str | None) -> np.ndarray:
    """The area of the school of each person; -1 of those without one."""
    areas = np.full(len(built.frames[table.name]), -1, dtype=np.int64)
    if column is None:
        return areas
    join = next(join for join in table.joins if join.column == column)
    keys = built.frames[table.name][column]
    there = keys.notna().to_numpy()
    index = keys[there].to_numpy(dtype=np.int64) - 1
    areas[there] = built.areas[join.to][index]
    return areas
