"""A city in the files that PopulationSim writes and ActivitySim reads: synthetic households and persons, and
the geography."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from synth_engine.extras.cities import travellers
from synth_engine.extras.cities.building import BuiltCity
from synth_engine.extras.cities.travellers import Travellers


def files(built: BuiltCity) -> Iterator[tuple[str, bytes]]:
    """The files: names and content."""
    people = travellers.of(built)
    yield "synthetic_households.csv", _csv(_households(built, people))
    yield "synthetic_persons.csv", _csv(_persons(built, people))
    yield "geo_cross_walk.csv", _csv(built.city.geography.table)


def _csv(frame: pd.DataFrame) -> bytes:
    return frame.to_csv(index=False, lineterminator="\n").encode()


def _households(built: BuiltCity, people: Travellers) -> pd.DataFrame:
    """household_id, the areas of the household from the finest, NP (its persons), and its own columns."""
    table = people.table
    frame = people.households
    source = built.city.source(table)
    areas = built.city.geography.table.iloc[frame["home"].to_numpy()].reset_index(drop=True)
    columns = {"household_id": frame[table.key]}
    columns |= {str(name): areas[name] for name in areas.columns}
    sizes = people.persons.groupby("household").size()
    columns["NP"] = frame[table.key].map(sizes).fillna(0).astype("int64")
    if source is not None:
        columns |= {
            name: source.texts(frame, name) for name in source.columns if name not in columns
        }
    return pd.DataFrame(columns)


def _persons(built: BuiltCity, people: Travellers) -> pd.DataFrame:
    """household_id, per_num, person_id, age, sex, and the codes of the areas of work and school."""
    frame = people.persons
    codes = built.city.geography.table[built.city.spec.areas.key]
    columns = {
        "household_id": frame["household"],
        "per_num": frame["number"],
        "person_id": frame["id"],
        "age": frame["age"],
        "sex": frame["sex"],
    }
    for name in ("work", "school"):
        index = frame[name]
        columns[f"{name}_area"] = codes.reindex(index).fillna("").reset_index(drop=True)
    return pd.DataFrame(columns)
