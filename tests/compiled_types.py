"""`python -m tests.compiled_types` records for which types of arguments the methods call each compiled
function.

It runs every method on small tables and writes `synth_engine/compiled_types.json`, from which a worker
compiles all of them before its first run (`synth_engine.jit.warm_up`). What is recorded and still compiles
stays, because a run meets types by the size of its tables.
"""

from __future__ import annotations

import io
import itertools
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synth_engine import jit, machine_code, mechanisms, pipeline, tables
from synth_engine.domain import Categorical, Domain
from synth_engine.measurement import Answers
from synth_engine.models.model import Model, Table, whole_weights
from synth_engine.relational import plan as database_plan
from synth_engine.spec import Spec
from tests import databases

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
RECORD = ROOT / "synth_engine" / jit.RECORD
EPSILON, DELTA = Fraction(4), Fraction(1, 10**6)
WAYS: dict[str, list[dict[str, Any]]] = {
    "generalize": [{"k": 5}],
    "dpsyn": [{}, {"synthesis": "sts"}],
    "on-the-map": [{"prior": each} for each in ("least", "programme", "zero-sample")],
}
"""Parameters of methods that have several ways to come to their records, or no value by default."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A table, its description, how many of its records are read, and by which methods."""

    name: str
    table: Path
    domain: Path
    records: int | None
    methods: tuple[str, ...]

    def file(self, folder: Path) -> Path:
        if self.records is None:
            return self.table
        path = folder / f"{self.name}.csv"
        if not path.exists():
            read = pd.read_parquet if self.table.suffix == ".parquet" else pd.read_csv
            table = read(self.table).head(self.records)
            if self is WORDS:
                table = table["occupation"].str.lower().str.extract("(?P<term>[a-z]+)").dropna()
            table.to_csv(path, index=False)
        return path

    def description(self) -> Domain:
        return Domain.from_json(json.loads(self.domain.read_text()))


TREES = ("adaptive", "adaptive-basic", "adaptive-improved", "privtree", "direct-synthesis")
COMMUTES = EXAMPLES / "commutes"
ADULT = Case(
    name="adult",
    table=EXAMPLES / "adult.csv.gz",
    domain=EXAMPLES / "adult.domain.json",
    records=3000,
    methods=tuple(set(mechanisms.REGISTRY) - {*TREES, "on-the-map", "contingency-table"}),
)
PLACES = Case(
    name="places",
    table=COMMUTES / "commutes.parquet",
    domain=COMMUTES / "commutes.domain.json",
    records=3000,
    methods=("auto", "dpsyn", *TREES),
)
POINTS = Case(
    name="points",
    table=COMMUTES / "commutes.parquet",
    domain=COMMUTES / "points.domain.json",
    records=3000,
    methods=("independent", *TREES),
)
TOWNS = Case(
    name="towns",
    table=COMMUTES / "commutes.parquet",
    domain=COMMUTES / "towns.domain.json",
    records=None,  # its totals are public
    methods=("on-the-map",),
)
WORDS = Case(
    name="words",
    table=EXAMPLES / "adult.csv.gz",
    domain=EXAMPLES / "words.domain.json",
    records=3000,
    methods=("weak-domain", *TREES),
)
CASES = (ADULT, PLACES, POINTS, TOWNS, WORDS)


def run(case: Case, method: str, folder: Path) -> None:
    """Runs by the steps of a worker, from a new table of each length of codes to drawn records, as they are
    and stored between."""
    domain = case.description()
    for parameters in WAYS.get(method, [{}]):
        spec = Spec(mechanism=method, parameters=parameters, epsilon=EPSILON, delta=DELTA)
        release = pipeline.synthesize(case.file(folder), domain=domain, spec=spec)
        draw(release.model, folder)
        stored = Answers.load(io.BytesIO(release.answers.to_bytes()))
        model = release.plan.fit(stored)
        draw(Model.from_json(json.loads(json.dumps(model.to_json()))), folder)


def draw(model: Model, folder: Path) -> None:
    tables.write(model, 500, seed="tea", path=folder / "drawn.parquet")


def draw_large_target(folder: Path) -> None:
    """Rows of a model with a target of four columns: loops of such tables are compiled by themselves."""
    names = ("a", "b", "c", "d")
    domain = Domain(
        attributes=tuple(
            Categorical(name=name, values=("0", "1"), outside="clamp") for name in names
        )
    )
    weights = whole_weights(np.ones([2] * 4))
    pairs = itertools.combinations(names, 2)
    draw(
        Model(
            mechanism="independent",
            domain=domain,
            rows=500,
            tables=tuple(
                Table(clique=(name,), weights=whole_weights(np.ones(2))) for name in names
            ),
            targets=(
                *(Table(clique=pair, weights=whole_weights(np.ones((2, 2)))) for pair in pairs),
                Table(clique=names, weights=weights),
            ),
        ),
        folder,
    )


def called() -> dict[str, set[machine_code.Types]]:
    """For which types each function was compiled or loaded in this process."""
    return {name: set(function.overloads) for name, function in jit.functions().items()}


def run_database(folder: Path) -> None:
    """A release of connected tables."""
    tables_of = databases.write(folder / "tables", databases.random_rows(homes=300))
    plan = database_plan.plan(databases.described(), epsilon=Fraction(900), delta=DELTA)
    release = pipeline.synthesize_database(tables_of, plan=plan, seed="tea")
    release.model.tables(300, seed="tea")


def run_all() -> None:
    """Every case, and connected tables."""
    with tempfile.TemporaryDirectory() as folder:
        run_database(Path(folder))
        draw_large_target(Path(folder))
        for case in CASES:
            for method in sorted(case.methods):
                run(case, method, Path(folder))


def unrecorded() -> list[str]:
    """What this process called for types that are not recorded."""
    recorded = jit.recorded()
    return [
        f"{name}{machine_code.to_json(each)}"
        for name, lists in called().items()
        for each in lists.difference(recorded.get(name, ()))
    ]


def record() -> None:
    """Add what this process called to the record."""
    lists = called()
    for name, earlier in jit.recorded().items():
        lists.setdefault(name, set()).update(earlier)
    document = {
        name: sorted((machine_code.to_json(each) for each in lists[name]), key=json.dumps)
        for name in sorted(lists)
        if lists[name]
    }
    RECORD.write_text(json.dumps(document, indent=1) + "\n")


def main(word: str) -> None:
    if word == "record":
        # What a compiled function calls is compiled with it. The second process loads both as one, and sees
        # what Python calls.
        subprocess.run([sys.executable, "-m", "tests.compiled_types", "run"], check=True)
    pipeline.warm_up()
    run_all()
    if word == "record":
        record()
    sys.stdout.write(json.dumps(unrecorded()) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:] or ["record"])
