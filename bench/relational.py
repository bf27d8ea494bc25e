"""Errors, time and memory of releases of databases.

    python bench/relational.py households FOLDER [RUNS]     # FOLDER holds nist_acs/national2019.csv.gz
    python bench/relational.py orders [SCALE] [RUNS]        # laws of TPC-H; scale 0.1 by default
    python bench/relational.py size                         # 100,000 parents with 500,000 children

The first two print, for epsilon = 1 and delta = 1e-9, mean total variation distances of tables of counts by
table and kind (`evaluation/joins.py`), of three releases: *relational*, one release of all tables;
*separate*, each table by `auto` with an equal part of the same budget, and rows joined to parents at random;
*flat*, each table by `auto` with all of the budget, under the same unit and maximum. Then the ratios that
matter, for each run and for the means of all: joins against separate tables, columns against flat ones. And
that every reference resolves.

*Households* are made of the people of the file, who come without households. People of one area (PUMA) and
tenure are neighbours. Married men and women among them, each sorted by age, are couples; a fifth of the other
adults share with the next one; group quarters are households of one. Children below 18 go to a random
household of their area and tenure in which somebody is 18 to 45 years older, or to any, as long as it has
fewer than 8 people. Everything is drawn with one fixed seed.

*Orders* follow the public laws of the TPC-H specification (clause 4.2.3): customers with a nation, a segment
and a balance, all uniform; ten orders for each customer on average, none for every third one; uniform dates
of orders; one to seven lines with quantities, discounts, taxes and days of shipping, commitment and receipt
after the order, and the flags that follow from these.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from synth_engine import mechanisms, pipeline
from synth_engine.domain import database as databases
from synth_engine.domain.database import Database
from synth_engine.privacy import conversion
from synth_engine.privacy.loss import GaussianDP
from synth_engine.privacy.unit import PrivacyUnit
from synth_engine.relational import files
from synth_engine.relational import plan as plans
from synth_engine.spec import Spec

EPSILON, DELTA = Fraction(1), Fraction(1, 10**9)
MADE = 2019
JOINS = ("children", "parent-child", "siblings")


def integer(name: str, low: int, high: int, **more: Any) -> dict[str, Any]:
    return {"name": name, "kind": "integer", "low": low, "high": high, "ordered": True, **more}


def categories(name: str, values: list[str]) -> dict[str, Any]:
    return {"name": name, "kind": "categorical", "values": values, "outside": "clamp"}


def described(*attributes: dict[str, Any]) -> dict[str, Any]:
    return {"schema": "synth_engine/domain/1", "attributes": list(attributes)}


def households(source: Path, folder: Path) -> dict[str, Any]:
    """Makes households of the people of the file; returns the description."""
    people = pd.read_csv(source, dtype=str, keep_default_na=False)
    people["age"] = people["AGEP"].astype(int)
    rng = np.random.default_rng(MADE)
    members: list[list[int]] = []
    areas: list[tuple[str, str]] = []
    for (place, tenure), rows in people.groupby(["PUMA", "OWN_RENT"], sort=True):
        area = str(place), str(tenure)
        new = _households_of(rows, rng, quarters=area[1] == "0")
        members += new
        areas += [area] * len(new)
    first = people.iloc[[each[0] for each in members]]
    pd.DataFrame(
        {
            "household_id": np.arange(len(members)) + 1,
            "tenure": first["OWN_RENT"].to_numpy(),
            "housing": first["HOUSING_TYPE"].to_numpy(),
            "density": first["DENSITY"].to_numpy(),
        }
    ).to_csv(folder / "households.csv", index=False)
    order = np.concatenate(members)
    own = people.iloc[order]
    pd.DataFrame(
        {
            "household_id": np.repeat(np.arange(len(members)) + 1, [len(m) for m in members]),
            "age": own["age"].to_numpy(),
            "sex": own["SEX"].to_numpy(),
            "marital": own["MSP"].to_numpy(),
            "race": own["RAC1P"].to_numpy(),
            "hispanic": own["HISP"].to_numpy(),
            "education": own["EDU"].to_numpy(),
            "income": own["PINCP_DECILE"].to_numpy(),
            "walking": own["DPHY"].to_numpy(),
        }
    ).to_csv(folder / "people.csv", index=False)
    edges = [0, 50, 150, 300, 700, 1500, 3000, 6000, 60000]
    density = {
        "name": "density",
        "kind": "number",
        "low": 0,
        "high": 60000,
        "edges": edges,
        "ordered": True,
    }
    return {
        "tables": [
            {
                "name": "households", "file": "households.csv", "key": "household_id",
                "domain": described(
                    categories("tenure", list("012")), categories("housing", list("123")), density
                ),
            },
            {
                "name": "people", "file": "people.csv", "parent": "households", "reference": "household_id",
                "most": 8, "order": {"column": "age", "descending": True},
                "domain": described(
                    integer("age", 0, 99, width=5),
                    categories("sex", list("12")),
                    categories("marital", list("N123456")),
                    categories("race", list("123456789")),
                    categories("hispanic", list("01234")),
                    categories("education", ["N", *(str(n) for n in range(1, 13))]),
                    categories("income", ["N", *(str(n) for n in range(10))]),
                    categories("walking", list("N12")),
                ),
            },
        ]
    }  # fmt: skip


def _households_of(
    rows: pd.DataFrame, rng: np.random.Generator, *, quarters: bool
) -> list[list[int]]:
    """The people of one area and tenure by household, as row numbers of the file."""
    if quarters:
        return [[index] for index in rows.index]
    ages = rows["age"]
    married = rows["MSP"] == "1"
    men, women = (
        ages[married & (rows["SEX"] == sex)].sort_values(kind="stable").index.tolist()
        for sex in "12"
    )
    couples = [list(pair) for pair in zip(men, women, strict=False)]
    paired = {index for couple in couples for index in couple}
    adults = [index for index in rng.permutation(rows.index[ages >= 18]) if index not in paired]
    made = couples
    while adults:
        share = 2 if rng.random() < 0.2 and len(adults) > 1 else 1
        made.append([adults.pop() for _ in range(share)])
    for child in rows.index[ages < 18]:
        free = [each for each in made if len(each) < 8]
        fitting = [
            each for each in free if any(18 <= ages[one] - ages[child] <= 45 for one in each)
        ]
        if not free:
            made.append([child])
            continue
        choice = fitting or free
        choice[rng.integers(len(choice))].append(child)
    return [[int(index) for index in each] for each in made]


def orders(folder: Path, *, scale: float) -> dict[str, Any]:
    """Makes customers, orders and lines by the laws of TPC-H; returns the description."""
    rng = np.random.default_rng(MADE)
    number = round(150_000 * scale)
    keys = np.arange(1, number + 1)
    segments = ["AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"]
    priorities = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"]
    modes = ["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"]
    instructions = ["COLLECT COD", "DELIVER IN PERSON", "NONE", "TAKE BACK RETURN"]
    pd.DataFrame(
        {
            "custkey": keys,
            "nation": rng.integers(0, 25, number),
            "segment": rng.choice(segments, number),
            "balance": rng.integers(-99_999, 1_000_000, number) / 100,
        }
    ).to_csv(folder / "customer.csv", index=False)
    # Every third customer has no order.
    total = 10 * number
    customers = rng.choice(keys[keys % 3 != 0], total)
    start, end = np.datetime64("1992-01-01"), np.datetime64("1998-08-02")
    days = (end - start).astype(int)
    placed = start + rng.integers(0, days + 1, total)
    lines = rng.integers(1, 8, total)
    of = np.repeat(np.arange(total), lines)
    shipped = placed[of] + rng.integers(1, 122, of.size)
    committed = placed[of] + rng.integers(30, 91, of.size)
    received = shipped + rng.integers(1, 31, of.size)
    today = np.datetime64("1995-06-17")
    returned = np.where(received <= today, rng.choice(["R", "A"], of.size), "N")
    status = np.where(shipped > today, "O", "F")
    is_open = np.bincount(of, weights=status == "O", minlength=total)
    order_status = np.where(is_open == lines, "O", np.where(is_open == 0, "F", "P"))
    quantity = rng.integers(1, 51, of.size)
    part = rng.integers(1, round(200_000 * scale) + 1, of.size)
    price = (90_000 + (part // 10) % 20_001 + 100 * (part % 1000)) / 100
    pd.DataFrame(
        {
            "orderkey": np.arange(total) + 1,
            "custkey": customers,
            "status": order_status,
            "date": placed.astype(str),
            "priority": rng.choice(priorities, total),
        }
    ).to_csv(folder / "orders.csv", index=False)
    pd.DataFrame(
        {
            "orderkey": of + 1,
            "quantity": quantity,
            "price": np.round(quantity * price, 2),
            "discount": rng.integers(0, 11, of.size),
            "tax": rng.integers(0, 9, of.size),
            "returned": returned,
            "line_status": status,
            "shipped": shipped.astype(str),
            "committed": committed.astype(str),
            "mode": rng.choice(modes, of.size),
            "instruction": rng.choice(instructions, of.size),
        }
    ).to_csv(folder / "lines.csv", index=False)

    def date(name: str) -> dict[str, Any]:
        return {"name": name, "kind": "date", "low": "1992-01-01", "high": "1998-12-31", "step_days": 183,
            "ordered": True}  # fmt: skip

    def number_of(name: str, low: float, high: float, edges: list[float]) -> dict[str, Any]:
        return {"name": name, "kind": "number", "low": low, "high": high, "edges": edges,
            "ordered": True}  # fmt: skip

    return {
        "tables": [
            {
                "name": "customer", "file": "customer.csv", "key": "custkey",
                "domain": described(
                    categories("nation", [str(n) for n in range(25)]),
                    categories("segment", segments),
                    number_of("balance", -1000, 10000, [-1000, *range(0, 10001, 1000)]),
                ),
            },
            {
                "name": "orders", "file": "orders.csv", "key": "orderkey", "parent": "customer",
                "reference": "custkey",
                "most": 32, "order": "date",
                "domain": described(
                    categories("status", list("FOP")), date("date"), categories("priority", priorities)
                ),
            },
            {
                "name": "lines", "file": "lines.csv", "parent": "orders", "reference": "orderkey",
                "most": 7, "siblings": "none",
                "domain": described(
                    integer("quantity", 1, 50, width=10),
                    number_of("price", 0, 110_000,
                        [0, 10_000, 20_000, 30_000, 40_000, 60_000, 80_000, 110_000]),
                    integer("discount", 0, 10),
                    integer("tax", 0, 8),
                    categories("returned", list("RAN")),
                    categories("line_status", list("OF")),
                    date("shipped"), date("committed"),
                    categories("mode", modes),
                    categories("instruction", instructions),
                ),
            },
        ],
        "constraints": [{"table": "lines", "column": "shipped", "at_least": "orders.date"}],
    }  # fmt: skip


def relational(folder: Path, database: Database, out: Path, *, seed: str) -> None:
    """One release of all tables, written to `out`."""
    plan = plans.plan(database, epsilon=EPSILON, delta=DELTA)
    release = pipeline.synthesize_database(folder, plan=plan, seed=seed)
    frames = release.model.tables(release.units, seed=seed)
    files.write(database, frames, out)
    for table in database.tables[1:]:
        parent = database.parent_of(table)
        assert frames[table.name][table.reference].isin(frames[parent.name][parent.key]).all()


def by_table(
    folder: Path, database: Database, out: Path, *, seed: str, share: Fraction
) -> None:
    """A release of each table by itself with this share of the budget, and rows joined to parents at
    random."""
    rng = np.random.default_rng(int(seed))
    whole = conversion.budget_for(EPSILON, DELTA, adds_up="gdp")
    epsilon = conversion.epsilon_for_mu(whole.amount * share, DELTA)
    numbers: dict[str, int] = {}
    frames = {}
    for table in database.tables:
        domain = replace(
            table.domain, unit=PrivacyUnit(max_records=database.max_records(table))
        )
        spec = Spec(mechanism="auto", epsilon=epsilon, delta=DELTA)
        release = pipeline.synthesize(
            folder / table.file, domain=domain, spec=replace(spec, seed=seed)
        )
        frame = mechanisms.draw_table(release.model, release.rows, seed)
        numbers[table.name] = len(frame)
        if table.key is not None:
            frame.insert(0, table.key, np.arange(1, len(frame) + 1))
        if table.reference is not None:
            parents = numbers[table.parent or ""]
            frame.insert(0, table.reference, rng.integers(1, parents + 1, len(frame)))
        frames[table.name] = frame
    files.write(database, frames, out)


def compare(folder: Path, database: Database, *, runs: int) -> None:
    """Prints errors of the three releases, and ratios."""
    table_count = len(database.tables)
    errors: dict[tuple[str, str], dict[str, list[float]]] = {}
    assert isinstance(conversion.budget_for(EPSILON, DELTA, adds_up="gdp"), GaussianDP)
    shares = {"separate": Fraction(1, table_count), "flat": Fraction(1)}
    for run in range(1, runs + 1):
        with tempfile.TemporaryDirectory() as scratch:
            for name in ("relational", *shares):
                started = time.process_time()
                out = Path(scratch) / name
                if name == "relational":
                    relational(folder, database, out, seed=str(run))
                else:
                    by_table(folder, database, out, seed=str(run), share=shares[name])
                report: Any = pipeline.compare_databases(folder, out, database=database)
                for line in report["summary"]:
                    cell = errors.setdefault((line["table"], line["kind"]), {})
                    cell.setdefault(name, []).append(line["mean_error"])
                print(f"# run {run}, {name}: {time.process_time() - started:.0f} s", flush=True)
    print(f"{'table':12}{'counts':14}{'relational':>12}{'separate':>12}{'flat':>12}")
    means = {
        key: {n: float(np.mean(v)) for n, v in cell.items()} for key, cell in errors.items()
    }
    for (table, kind), mean in means.items():
        print(
            f"{table:12}{kind:14}{mean['relational']:12.4f}{mean['separate']:12.4f}{mean['flat']:12.4f}"
        )
    for run in range(runs):
        of_run = {
            key: {name: found[run] for name, found in cell.items()}
            for key, cell in errors.items()
        }
        print(f"run {run + 1}:", "; ".join(_ratios(of_run, ("column",))))
    print("\n".join(_ratios(means, ("column", "pair"))))


def _ratios(
    errors: dict[tuple[str, str], dict[str, float]], kinds: tuple[str, ...]
) -> list[str]:
    """Of joins, the mean error as a part of that of separate tables; of other kinds of counts, as a part of
    that of flat ones."""
    joins = [cell for (_, kind), cell in errors.items() if kind in JOINS]
    mean = {
        name: np.mean([cell[name] for cell in joins]) for name in ("relational", "separate")
    }
    ratio = mean["relational"] / mean["separate"]
    return [f"joins: {ratio:.2f} of separate tables joined at random"] + [
        f"{table} {kind}: {cell['relational'] / cell['flat']:.2f} of flat"
        for (table, kind), cell in errors.items()
        if kind in kinds
    ]


def size() -> None:
    """Prints time and memory of a release of 100,000 parents with 500,000 children."""
    rng = np.random.default_rng(MADE)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        parents = 100_000
        numbers = rng.multinomial(500_000 - parents, np.full(parents, 1 / parents)) + 1
        region = rng.integers(0, 20, parents)
        pd.DataFrame(
            {"id": np.arange(parents), "region": region, "kind": rng.integers(0, 5, parents)}
        ).to_csv(folder / "parents.csv", index=False)
        of = np.repeat(np.arange(parents), numbers)
        columns = {
            f"c{k}": (rng.integers(0, 12, of.size) + region[of] * (k % 2)) % 12
            for k in range(8)
        }
        pd.DataFrame({"id": of, **columns}).to_csv(folder / "children.csv", index=False)
        document = {
            "tables": [
                {"name": "parents", "file": "parents.csv", "key": "id", "domain": {"region": 20, "kind": 5}},
                {"name": "children", "file": "children.csv", "parent": "parents", "reference": "id",
                    "most": 20,
                 "domain": dict.fromkeys(columns, 12)},
            ]
        }  # fmt: skip
        database = Database.from_json(document)
        started, processor = time.perf_counter(), time.process_time()
        relational(folder, database, folder / "out", seed="1")
        print(
            f"{time.perf_counter() - started:.0f} s, {time.process_time() - processor:.0f} s of processor"
        )
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"peak memory {peak:.2f} GB")


def main(arguments: list[str]) -> None:
    which = arguments[0] if arguments else ""
    if which == "size":
        size()
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if which == "households":
            source = Path(arguments[1]) / "nist_acs" / "national2019.csv.gz"
            document, rest = households(source, folder), arguments[2:]
        elif which == "orders":
            document = orders(folder, scale=float(arguments[1]) if arguments[1:] else 0.1)
            rest = arguments[2:]
        else:
            sys.exit(__doc__)
        (folder / "database.json").write_text(json.dumps(document))
        database = databases.read_database(folder / "database.json")
        compare(folder, database, runs=int(rest[0]) if rest else 2)


if __name__ == "__main__":
    main(sys.argv[1:])
