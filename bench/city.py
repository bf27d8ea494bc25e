"""A synthetic city from beginning to end: releases of two example tables, and a city of 100,000 people made
of their models.

    python bench/city.py [POPULATION] [--again]        or: make city

1. The commutes of examples/commutes as pairs of census blocks, by the points of examples/city/blocks.csv.gz;
   their description, with the public number of jobs of each block, is written beside them.
2. A release of commutes (`on-the-map`, epsilon 8, delta 1e-6) and one of Adult (`auto`, epsilon 2, delta
   1e-9), with receipts.
3. `city check`, `city build` with both exports, and `city verify` of examples/city/city.yaml, into
   build/city.

Each step is a command, printed with its seconds of the clock and of the processor. --again: take the releases
that are there. Ends with status 1 if a key does not resolve or a total is missed.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from scipy.stats import ks_2samp

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from synth_engine.extras.cities.geography import EARTH_KILOMETRES  # noqa: E402
from synth_engine.kinds.nearest_points import on_sphere  # noqa: E402

OUT = ROOT / "build" / "city"
CITY = ROOT / "examples" / "city" / "city.yaml"
POPULATION = 100_000


def main(arguments: list[str]) -> int:
    again = "--again" in arguments
    sizes = [int(one) for one in arguments if one.isdigit()]
    started = time.perf_counter()
    OUT.mkdir(parents=True, exist_ok=True)
    specification = CITY if not sizes else resized(sizes[0])
    if not again:
        prepare()
        release(
            "commutes",
            OUT / "commutes.parquet",
            OUT / "commutes.domain.json",
            "on-the-map",
            "8",
            "1e-6",
        )
        adult = ROOT / "examples" / "adult"
        release(
            "adults",
            adult.with_suffix(".csv.gz"),
            adult.with_suffix(".domain.json"),
            "auto",
            "2",
            "1e-9",
        )
    for name in ("database", "matsim", "populationsim"):
        shutil.rmtree(OUT / name, ignore_errors=True)
    run("city", "check", str(specification), quiet=True)
    exports = [
        part for form in ("matsim", "populationsim") for part in (f"--{form}", str(OUT / form))
    ]
    run(
        "city",
        "build",
        str(specification),
        "--seed",
        "1",
        "--out",
        str(OUT / "database"),
        *exports,
    )
    given = [str(OUT / f"{name}.receipt.json") for name in ("commutes", "adults")]
    run("city", "verify", str(OUT / "database"), *given, quiet=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"all: {time.perf_counter() - started:.0f} s of the clock, {used.ru_utime + used.ru_stime:.0f} s "
        f"of the processor, at most {used.ru_maxrss / 1024:,.0f} MB"
    )
    return report()


def resized(population: int) -> Path:
    """The specification for another population, beside the original, where its paths start."""
    document = yaml.safe_load(CITY.read_text())
    document["population"] = population
    document["sources"] = {
        name: {what: str((CITY.parent / path).resolve()) for what, path in files.items()}
        for name, files in document["sources"].items()
    }
    document["areas"]["file"] = str(CITY.parent / document["areas"]["file"])
    path = OUT / "city.yaml"
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return path


def prepare() -> None:
    """Writes commutes between blocks and their description."""
    blocks = pd.read_csv(CITY.parent / "blocks.csv.gz", dtype={"block": str})
    commutes = pd.read_parquet(ROOT / "examples" / "commutes" / "commutes.parquet")
    codes = blocks.set_index(["latitude", "longitude"])["block"]
    table = {}
    for end in ("home", "work"):
        points = pd.MultiIndex.from_frame(commutes[[f"{end}_latitude", f"{end}_longitude"]])
        table[f"{end}_block"] = codes.reindex(points).to_numpy()
    pd.DataFrame(table).to_parquet(OUT / "commutes.parquet")
    of_work = blocks[blocks["jobs"] > 0]

    def points_of(column: str, of: pd.DataFrame) -> dict[str, object]:
        places = zip(of["block"], of["latitude"], of["longitude"], strict=True)
        return {"column": column, "at": {block: [north, east] for block, north, east in places}}

    def values_of(column: str, of: pd.DataFrame) -> dict[str, object]:
        values = of["block"].tolist()
        return {
            "name": column,
            "kind": "categorical",
            "values": values,
            "outside": "clamp",
            "provenance": "public-file",
        }

    counts = dict(zip(of_work["block"], of_work["jobs"].tolist(), strict=True))
    document = {
        "relation": "replace-one",
        "totals": {"column": "work_block", "counts": counts},
        "points": [points_of("home_block", blocks), points_of("work_block", of_work)],
        "attributes": [values_of("home_block", blocks), values_of("work_block", of_work)],
    }
    (OUT / "commutes.domain.json").write_text(json.dumps(document))


def release(
    name: str, table: Path, domain: Path, mechanism: str, epsilon: str, delta: str
) -> None:
    run(
        "synthesize", str(table), "--domain", str(domain), "--mechanism", mechanism,
        "--epsilon", epsilon, "--delta", delta, "--rows", "1000", "--out", str(OUT / f"{name}.sample.csv"),
        "--receipt", str(OUT / f"{name}.receipt.json"), "--model", str(OUT / f"{name}.model.json"),
        "--overwrite",
    )  # fmt: skip


def run(*arguments: str, quiet: bool = False) -> None:
    """One command of the engine, with its seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "synth_engine", *arguments]
    subprocess.run(
        command,
        check=True,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.DEVNULL if quiet else None,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        f"{time.perf_counter() - started:4.0f} s, {processor:4.0f} s of the processor  "
        f"{' '.join(arguments[:2])}",
        flush=True,
    )


def report() -> int:
    """Prints what the city has; returns 1 if a key does not resolve or a total is missed."""
    receipt = json.loads((OUT / "database" / "city.receipt.json").read_text())
    with sqlite3.connect(OUT / "database" / "city.sqlite") as connection:
        broken = len(connection.execute("PRAGMA foreign_key_check").fetchall())

        def ask(query: str) -> list[tuple[Any, ...]]:
            return connection.execute(query).fetchall()

        ((people,),) = ask(
            "SELECT (SELECT count(*) FROM persons) + (SELECT count(*) FROM children)"
        )
        jobs = dict(
            ask("SELECT town, count(*) FROM jobs JOIN areas USING (block) GROUP BY town")
        )
        ((mean,),) = ask("SELECT avg(kilometres) FROM commutes")
        ((commutes,),) = ask("SELECT count(*) FROM commutes")
    (total,) = yaml.safe_load(CITY.read_text())["tables"]["jobs"]["totals"]
    counts, number = total["counts"], sum(jobs.values())
    farthest = max(
        abs(jobs.get(town, 0) - count * number / sum(counts.values()))
        for town, count in counts.items()
    )
    print(", ".join(f"{one['table']} {one['rows']:,}" for one in receipt["tables"]))
    print(
        f"keys that do not resolve: {broken}; people: {people:,} of {receipt['population']:,}"
    )
    print(
        f"jobs of a town: at most {farthest:.2f} from its public share; {commutes:,} commutes of "
        f"{mean:.2f} km on average"
    )
    compare()
    for one in receipt["sources"]:
        if one["receipt"] is not None:
            print(f"{one['source']}: {one['guarantee']['sentence']} Receipt {one['receipt']}")
    return int(broken > 0 or people != receipt["population"] or farthest >= 1)


def compare() -> None:
    """Prints how near the commutes of the city are to the public ones that the release was made of."""
    tables = {
        name: pd.read_parquet(OUT / "database" / f"{name}.parquet")
        for name in ("areas", "households", "persons", "jobs", "commutes")
    }
    towns = tables["areas"].set_index("block")["town"]
    persons = tables["persons"].merge(tables["households"][["household_id", "block"]])
    city = tables["commutes"].merge(persons[["person_id", "household_id", "block"]])
    city = city.merge(tables["jobs"], on="job_id", suffixes=("_home", "_work"))
    real = pd.read_parquet(ROOT / "examples" / "commutes" / "commutes.parquet")
    ends = [
        on_sphere(real[f"{end}_latitude"].to_numpy(), real[f"{end}_longitude"].to_numpy())
        for end in ("home", "work")
    ]
    kilometres = 2 * np.arcsin(np.linalg.norm(ends[0] - ends[1], axis=1) / 2) * EARTH_KILOMETRES
    flows = pd.crosstab(city["block_home"].map(towns), city["block_work"].map(towns))
    real_flows = pd.crosstab(real["home_town"], real["work_town"])
    ours = flows.reindex(
        index=real_flows.index, columns=real_flows.columns, fill_value=0
    ).to_numpy()
    distance = 0.5 * np.abs(ours / ours.sum() - real_flows.to_numpy() / len(real)).sum()
    print(
        f"commutes of the table: {kilometres.mean():.2f} km on average; Kolmogorov-Smirnov distance "
        f"{ks_2samp(kilometres, city['kilometres']).statistic:.4f}; total variation of flows between towns "
        f"{distance:.3f}"
    )
    together = city.groupby("household_id")["block_work"].agg(["size", "nunique"])
    two = together[together["size"] == 2]
    print(
        f"of {len(two):,} households with two at work, {(two['nunique'] == 1).mean():.2%} have both in one "
        "block"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
