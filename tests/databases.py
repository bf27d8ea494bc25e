"""Small databases for tests: homes, the people in them, and the trips of the people."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from synth_engine.domain.database import Database

HOMES = {"name": "homes", "file": "homes.csv", "key": "home", "domain": {"area": 2}}
PEOPLE = {
    "name": "people",
    "file": "people.csv",
    "key": "person",
    "parent": "homes",
    "reference": "home",
    "most": 2,
    "order": "age",
    "domain": {"age": 3},
}
TRIPS = {
    "name": "trips",
    "file": "trips.csv",
    "parent": "people",
    "reference": "person",
    "most": 2,
    "domain": {"mode": 2},
}
HEADERS = {
    "homes": ("home", "area"),
    "people": ("person", "home", "age"),
    "trips": ("person", "mode"),
}
Rows = Mapping[str, Sequence[Sequence[Any]]]


def document(*tables: dict[str, Any], constraints: Sequence[dict[str, Any]] = ()) -> Any:
    """A description of these tables, or of all three."""
    return {"tables": list(tables or (HOMES, PEOPLE, TRIPS)), "constraints": list(constraints)}


def described(*tables: dict[str, Any]) -> Database:
    """The same, read."""
    return Database.from_json(document(*tables))


def write(folder: Path, rows: Rows) -> Path:
    """Writes the files of all three tables; returns their folder."""
    folder.mkdir(exist_ok=True)
    for name, header in HEADERS.items():
        with (folder / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(header)
            writer.writerows(rows.get(name, ()))
    return folder


def random_rows(*, homes: int, seed: int = 1) -> Rows:
    """Up to three people a home, older in area 1, and up to two trips each."""
    rng = np.random.default_rng(seed)
    tables: dict[str, list[tuple[Any, ...]]] = {"homes": [], "people": [], "trips": []}
    for home in range(homes):
        area = int(rng.integers(2))
        tables["homes"].append((f"h{home}", area))
        for place in range(int(rng.integers(0, 2 + area))):
            person = f"h{home}p{place}"
            age = int(min(2, max(0, rng.integers(2) + area)))
            tables["people"].append((person, f"h{home}", age))
            tables["trips"] += [(person, age // 2)] * int(rng.integers(3))
    return tables


def save(folder: Path, description: Any, rows: Rows) -> Path:
    """Writes tables and description; returns the path of the description."""
    write(folder, rows)
    path = folder / "database.json"
    path.write_text(json.dumps(description))
    return path


def bag(columns: Iterable[np.ndarray]) -> list[tuple[int, ...]]:
    """Records of some columns, sorted."""
    return sorted(zip(*(column.tolist() for column in columns), strict=True))
