"""Databases from description to files: refusals, generation, outputs and the command line."""

from __future__ import annotations

import io
import json
import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synth_engine import cli, mechanisms, pipeline
from synth_engine.domain import views as database_views
from synth_engine.domain.database import Database, read_database
from synth_engine.errors import DomainError, InputError
from synth_engine.evaluation.expected import expected_distance
from synth_engine.inference import placement
from synth_engine.privacy.unit import PrivacyUnit
from synth_engine.relational import bounds, files
from synth_engine.relational import plan as plans
from synth_engine.relational import receipt as database_receipts
from synth_engine.relational.answers import DatabaseAnswers
from synth_engine.relational.model import DatabaseModel
from synth_engine.spec import Spec
from synth_engine.verifier import verify_database
from tests import databases
from tests.databases import HOMES, PEOPLE, TRIPS, document

SEED = "a seed"
UNITS = 300


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> pipeline.DatabaseRelease:
    """A release of 300 homes with much budget."""
    folder = databases.write(tmp_path_factory.mktemp("real"), databases.random_rows(homes=300))
    plan = plans.plan(databases.described(), epsilon=Fraction(900), delta=Fraction(1, 10**9))
    return pipeline.synthesize_database(folder, plan=plan, seed=SEED)


@pytest.fixture(scope="module")
def frames(release: pipeline.DatabaseRelease) -> dict[str, pd.DataFrame]:
    return release.model.tables(UNITS, seed=SEED)


def test_every_reference_resolves_and_no_parent_has_more_children_than_are_declared(
    frames: dict[str, pd.DataFrame],
) -> None:
    assert len(frames["homes"]) == UNITS
    for child, parent, key in (("people", "homes", "home"), ("trips", "people", "person")):
        assert frames[parent][key].is_unique
        assert frames[child][key].isin(frames[parent][key]).all()
        assert frames[child][key].value_counts().max() <= 2


def test_siblings_stand_in_their_order(frames: dict[str, pd.DataFrame]) -> None:
    people = frames["people"]
    assert people["home"].is_monotonic_increasing
    assert people.groupby("home")["age"].is_monotonic_increasing.all()


def test_counts_over_joins_are_those_of_the_real_database(
    release: pipeline.DatabaseRelease, frames: dict[str, pd.DataFrame]
) -> None:
    joined = frames["people"].merge(frames["homes"], on="home")
    # In area 1 people are older, and in area 0 nobody is of age 2.
    ages = joined.groupby("area")["age"].mean()
    assert ages[1] > ages[0] + 0.4
    trips = frames["trips"].merge(frames["people"], on="person")
    assert (trips["mode"] == trips["age"] // 2).mean() > 0.75
    assert release.units > 250


def test_the_same_seed_gives_the_same_database_from_a_stored_model(
    release: pipeline.DatabaseRelease, frames: dict[str, pd.DataFrame]
) -> None:
    stored = DatabaseModel.from_json(json.loads(json.dumps(release.model.to_json())))
    again = stored.tables(UNITS, seed=SEED)
    other = stored.tables(UNITS, seed="another")
    database = stored.database
    assert files.digest(database, again) == files.digest(database, frames)
    assert files.digest(database, other) != files.digest(database, frames)


def test_a_model_of_other_tables_is_refused(release: pipeline.DatabaseRelease) -> None:
    stored: Any = release.model.to_json()
    with pytest.raises(InputError, match="do not fit"):
        DatabaseModel.from_json({**stored, "models": {}})
    with pytest.raises(InputError, match="no model of a database"):
        DatabaseModel.from_json({**stored, "schema": "another"})


# ---- constraints across tables
# -------------------------------------------------------------------------------


def test_values_keep_to_a_bound_of_a_row_above(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    limits = rng.integers(0, 50, 200)
    homes = [(f"h{n}", limit) for n, limit in enumerate(limits)]
    people = [
        (f"h{n}p{k}", f"h{n}", rng.integers(0, limit + 1))
        for n, limit in enumerate(limits)
        for k in range(2)
    ]
    wide = [
        {"name": "area", "kind": "integer", "low": 0, "high": 49, "width": 5, "ordered": True}
    ]
    ages = [
        {"name": "age", "kind": "integer", "low": 0, "high": 49, "width": 5, "ordered": True}
    ]
    described = document(
        {**HOMES, "domain": {"attributes": wide}},
        {**PEOPLE, "key": None, "domain": {"attributes": ages}},
        constraints=[{"table": "people", "column": "age", "at_most": "homes.area"}],
    )
    database = Database.from_json(described)
    databases.write(tmp_path, {"homes": homes, "people": people})
    plan = plans.plan(database, epsilon=Fraction(20), delta=Fraction(0))
    release = pipeline.synthesize_database(tmp_path, plan=plan, seed=SEED)
    made = release.model.tables(200, seed=SEED)
    joined = made["people"].merge(made["homes"], on="home")
    assert len(joined) > 100
    assert (joined["age"] <= joined["area"]).all()


# ---- placement
# -----------------------------------------------------------------------------------------------


def test_exchanges_bring_tables_of_parents_and_of_siblings_to_their_targets() -> None:
    rng = np.random.default_rng(2)
    number = 2_000
    parents = np.repeat(np.arange(number // 2), 2)
    above = rng.integers(0, 3, number // 2)[parents]
    wanted = rng.permutation(above)
    rows = {"p": wanted, "x": (wanted + (rng.random(number) < 0.2)) % 3,
        "y": rng.integers(0, 4, number)}  # fmt: skip
    same = rng.integers(0, 4, number // 2)
    pairing = placement.Pairing(
        later={"x": np.zeros(number // 2, dtype=int), "y": same},
        earlier={"x": np.zeros(number // 2, dtype=int), "y": same},
        first=False,
    )
    task = placement.Placement(
        rows=rows,
        places={"p": above},
        parents=parents,
        sizes={"p": 3, "x": 3, "y": 4},
        own=["x", "y"],
        pairing=pairing,
    )
    assigned = task.assign(rng=rng)
    assert sorted(assigned.tolist()) == list(range(number))
    y = rows["y"][assigned].reshape(-1, 2)
    assert (y[:, 0] == y[:, 1]).mean() > 0.9
    agree = (rows["x"][assigned] == above).mean()
    assert abs(agree - (rows["x"] == rows["p"]).mean()) < 0.03


# ---- files
# ---------------------------------------------------------------------------------------------------


def test_an_order_between_tables_holds_without_changing_a_column() -> None:
    """Of rows that are at least as late as their parents in sum, few are placed where the order is broken."""
    rng = np.random.default_rng(3)
    above, days = np.repeat(np.arange(10), 60), 10
    own = np.minimum(above + rng.integers(0, 2, above.size), days - 1)
    task = placement.Placement(
        rows={"p.day": rng.permutation(above), "day": rng.permutation(own)},
        places={"p.day": above},
        parents=np.arange(above.size),
        sizes={"p.day": days, "day": days},
        own=("day",),
        forbidden={("p.day", "day"): np.arange(days)[None, :] < np.arange(days)[:, None]},
    )
    assigned = task.assign(rng=rng)
    assert sorted(assigned) == list(range(above.size))
    assert (task.rows["day"][assigned] < above).mean() < 0.02


def _column_noise(plan: Any) -> dict[str, float]:
    return {name: noise.variance**0.5 for name, noise in plan.column_noises().items()}


@pytest.mark.parametrize("most", [2, 7])
def test_the_columns_of_all_tables_have_the_same_multiple_of_their_noise_alone(
    most: int,
) -> None:
    wide: dict[str, Any] = {"domain": {"age": 30, "sex": 2, "work": 9}, "most": most}
    trips = {**TRIPS, "domain": {"mode": 5, "hour": 24}}
    homes = {**HOMES, "domain": {"area": 12, "kind": 4}}
    database = databases.described(homes, {**PEOPLE, **wide}, trips)
    epsilon, delta = Fraction(1), Fraction(1, 10**9)
    plan = plans.plan(database, epsilon=epsilon, delta=delta)
    assert sum(part.loss.amount for _, part in plan.steps) <= plan.cap.amount
    ratios = []
    for table in database.tables:
        unit = PrivacyUnit(max_records=database.max_records(table))
        spec = Spec(mechanism="auto", epsilon=epsilon, delta=delta)
        alone = mechanisms.plan(replace(table.domain, unit=unit), spec)
        here = next(_column_noise(p) for p in plan.plans if p.config.view == table.name)
        noise = _column_noise(alone)
        ratios.append(float(np.mean([here[name] / noise[name] for name in noise])))
    assert max(ratios) < 1.55
    assert max(ratios) / min(ratios) < 1.2


def test_a_bound_weighs_noise_against_rows_that_are_left_out() -> None:
    considered = database_views.bounds_of(64)
    assert considered[0] == 4 and considered[-1] == 64 and 8 in considered
    units = np.zeros(len(considered))
    units[considered.index(8)] = 1_000
    units[-1] = 10
    # Of ten units 56 rows are lost each, of which a quarter counts.
    assert bounds.bound(units, considered, price=10.0) == 8
    assert bounds.bound(units, considered, price=0.1) == 64


def test_views_are_bounded_by_what_units_have(tmp_path: Path) -> None:
    """A declared maximum of 40 costs hardly more noise than one of 2, and the receipt says by which
    bounds."""
    folder = databases.write(tmp_path, databases.random_rows(homes=2_000))
    database = databases.described(HOMES, {**PEOPLE, "most": 40}, TRIPS)
    plan = plans.plan(database, epsilon=Fraction(1), delta=Fraction(1, 10**9))
    answers = pipeline.measure_database(folder, plan=plan)
    receipt: Any = database_receipts.build(plan, answers, post_processing={})
    verified = verify_database(receipt, tables=database.digest)
    assert verified.plan == plan.digest == plans.digest_of_receipt(receipt)
    most = {
        each["mechanism"]["parameters"]["view"]: each["unit"]["max_records"]
        for each in receipt["views"]
    }
    assert most["#units"] == most["homes"] == 1
    # Which bounds they are depends on noise; that these answers give them does not.
    assert 1 <= most["people"] <= 40 and 1 <= most["trips"] <= 80
    learned = {
        view.name: view.domain.unit.max_records
        for view in plan.after_units(answers.views[0]).views
    }
    assert most == {"#units": 1, **learned}
    assert plan.fit(answers).models["people"].domain.unit.max_records == most["people"]
    stored = DatabaseAnswers.load(io.BytesIO(answers.to_bytes()))  # type: ignore[arg-type]
    assert plan.fit(stored).to_json() == plan.fit(answers).to_json()


def test_the_expected_error_of_a_column_is_what_noise_makes_of_it(tmp_path: Path) -> None:
    database = databases.described(HOMES, PEOPLE)
    folder = databases.write(tmp_path, databases.random_rows(homes=3_000))
    plan = plans.plan(database, epsilon=Fraction(1), delta=Fraction(0))
    release = pipeline.synthesize_database(folder, plan=plan, seed="e")
    receipt: Any = plan.plans[1].receipt(release.answers.views[1])
    model = release.model.models["people"]
    expected = expected_distance(model, receipt["calls"], "age")
    deviation = plan.plans[1].typical_noise(["age"])
    assert expected == pytest.approx(0.8 * 3 * deviation / (2 * model.rows), rel=0.3)
    assert expected_distance(model, [], "age") is None
    outline: Any = plan.outline()
    assert outline["views"][1]["noise_of_a_count"] > 0


def test_columns_leave_something_for_scores_and_tables() -> None:
    """A root of many columns beside a child of few has hardly a need for joins, and still a part for them."""
    homes = {**HOMES, "domain": {f"c{number}": 9 for number in range(6)}}
    database = databases.described(homes, {**PEOPLE, "domain": {"age": 3}}, TRIPS)
    for delta in (Fraction(0), Fraction(1, 10**9)):
        plan = plans.plan(database, epsilon=Fraction(1), delta=delta)
        assert all(view.columns_share() <= Fraction(92, 100) for view in plan.plans)


def test_what_columns_do_not_need_goes_to_joins() -> None:
    """With two tables columns have the noise that is aimed at; with three the joins keep their least part."""
    epsilon, delta = Fraction(1), Fraction(1, 10**9)
    parts = [
        {p.config.view: p.loss.amount / plan.cap.amount for p in plan.plans}
        for tables in ((HOMES, PEOPLE), (HOMES, PEOPLE, TRIPS))
        for plan in [plans.plan(databases.described(*tables), epsilon=epsilon, delta=delta)]
    ]
    assert parts[0]["people:pairs"] > parts[1]["people:pairs"] > Fraction(1, 200)


def test_sqlite_has_keys_that_resolve(
    release: pipeline.DatabaseRelease, frames: dict[str, pd.DataFrame], tmp_path: Path
) -> None:
    path = tmp_path / "made.sqlite"
    files.write(release.model.database, frames, path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        assert connection.execute("SELECT COUNT(*) FROM homes").fetchone() == (UNITS,)
        tables = connection.execute("PRAGMA foreign_key_list(trips)").fetchall()
        assert tables[0][2:5] == ("people", "person", "person")


def test_folder_and_zip_hold_the_same_tables(
    release: pipeline.DatabaseRelease, frames: dict[str, pd.DataFrame], tmp_path: Path
) -> None:
    database = release.model.database
    assert files.write(database, frames, tmp_path / "made") == files.write(
        database, frames, tmp_path / "made.zip"
    )
    with zipfile.ZipFile(tmp_path / "made.zip") as archive:
        for name in ("homes.csv", "people.csv", "trips.csv", "schema.sql"):
            assert archive.read(name) == (tmp_path / "made" / name).read_bytes()
    files.write(database, frames, tmp_path / "parquet", form="parquet")
    read = pd.read_parquet(tmp_path / "parquet" / "people.parquet")
    assert read.equals(pd.read_csv(tmp_path / "made" / "people.csv").astype(read.dtypes))


# ---- what is refused, before anything is read
# ----------------------------------------------------------------


def refusals() -> Iterator[tuple[str, Any, str]]:
    yield "orphan table", document(HOMES, TRIPS), "is not in the database"
    loop = {**HOMES, "parent": "people", "reference": "person"}
    yield "loop of keys", document(loop, {**PEOPLE, "file": "x"}), "run in a loop"
    yield "two roots", document(HOMES, {**HOMES, "name": "others"}), "have no parent"
    yield "same name", document(HOMES, HOMES), "have the name"
    yield "no key", document({**HOMES, "key": None}, PEOPLE), "has no key"
    childless = {**PEOPLE, "key": None}
    yield "no key of a parent", document(HOMES, childless, TRIPS), "and it has no key"
    yield "no maximum", document(HOMES, {**PEOPLE, "most": 0}), "is not from 1"
    yield "no reference", document(HOMES, {**PEOPLE, "reference": None}), "no reference"
    yield "key described", document({**HOMES, "domain": {"home": 4}}), "described as a column"
    yield "no such order", document(HOMES, {**PEOPLE, "order": "size"}), "order is no column"
    yield "no siblings", document(HOMES, {**PEOPLE, "siblings": "all"}), "siblings is unknown"
    yield "wrong domain", document({**HOMES, "domain": {"area": 0}}), "table 'homes'"
    own = {"attributes": [{"name": "area", "kind": "integer", "low": 0, "high": 1}],
        "unit": {"max_records": 3}}  # fmt: skip
    yield "own unit", document({**HOMES, "domain": own}), "privacy unit"
    bound = {"table": "homes", "column": "area", "at_most": "people.age"}
    yield "bound from below", document(HOMES, PEOPLE, constraints=[bound]), "not above it"
    yield "too many rows", document(HOMES, *huge()), "more than 1,000,000 rows"


def huge() -> list[dict[str, Any]]:
    return [{**PEOPLE, "most": 1000}, {**TRIPS, "most": 1000, "key": "trip"},
        {**TRIPS, "name": "stops", "parent": "trips", "reference": "trip", "most": 1000}]  # fmt: skip


@pytest.mark.parametrize(
    ("described", "rule"),
    [pytest.param(described, rule, id=name) for name, described, rule in refusals()],
)
def test_a_description_is_refused_by_name_with_a_repair(described: Any, rule: str) -> None:
    with pytest.raises(DomainError, match=rule) as refused:
        Database.from_json(described)
    assert refused.value.repair


def test_a_description_can_name_files_of_descriptions(tmp_path: Path) -> None:
    (tmp_path / "homes.json").write_text(json.dumps(HOMES["domain"]))
    path = databases.save(tmp_path, document({**HOMES, "domain": "homes.json"}), {})
    assert read_database(path).root.domain.sizes == {"area": 2}


# ---- the command line
# ----------------------------------------------------------------------------------------


def run(*arguments: object) -> int:
    return cli.main(["database", *(str(argument) for argument in arguments)])


def test_the_command_line_from_description_to_comparison(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    real = tmp_path / "real"
    path = databases.save(real, document(), databases.random_rows(homes=100))
    out, receipt, model = (tmp_path / name for name in ("made", "receipt.json", "model.json"))
    loss = ("--epsilon", 5, "--delta", "1e-9")
    assert run("describe", path, *loss) == 0
    outline = json.loads(capsys.readouterr().out)
    assert [view["view"] for view in outline["views"]] == [
        "#units",
        "homes", "people", "people:pairs", "trips", "trips:pairs",
    ]  # fmt: skip
    assert sum(view["part_of_budget"] for view in outline["views"]) == pytest.approx(
        1, abs=1e-3
    )
    arguments = ("synthesize", path, *loss, "--seed", "s", "--units", 50)
    written = ("--out", out, "--receipt", receipt, "--model", model)
    assert run(*arguments, *written) == 0
    assert run("verify", path, receipt) == 0
    assert "for one row of homes" in capsys.readouterr().out
    again = tmp_path / "again.zip"
    assert run("sample", model, "--seed", "s", "--units", 50, "--out", again) == 0
    with zipfile.ZipFile(again) as archive:
        assert archive.read("trips.csv") == (out / "trips.csv").read_bytes()
    report = tmp_path / "report.json"
    assert run("compare", path, out, "--out", report) == 0
    kinds = {
        (line["table"], line["kind"]) for line in json.loads(report.read_text())["summary"]
    }
    assert {("homes", "children"), ("people", "parent-child"), ("people", "siblings")} <= kinds
    assert run(*arguments, *written) == 2
    assert "exists" in capsys.readouterr().err


def test_what_is_wrong_is_said_before_anything_is_spent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = {**databases.random_rows(homes=5)}
    path = databases.save(tmp_path, document(), rows)
    loss = ("--epsilon", 5)
    assert run("synthesize", path, *loss, "--out", tmp_path / "made.xlsx") == 2
    assert "another form" in capsys.readouterr().err
    rows["homes"] = [*rows["homes"], rows["homes"][0]]
    databases.write(tmp_path, rows)
    assert run("synthesize", path, *loss, "--out", tmp_path / "made") == 2
    error = capsys.readouterr().err
    assert "table 'homes' has a key more than once" in error
    assert "spent" not in error
    (tmp_path / "people.csv").write_text("person,home\n")
    assert run("synthesize", path, *loss, "--out", tmp_path / "made") == 2
    assert "'age'" in capsys.readouterr().err


def test_units_of_one_row_and_empty_tables_are_no_special_case(tmp_path: Path) -> None:
    one = replace(databases.described().table("people"), most=1)
    database = Database(tables=(databases.described().root, one))
    databases.write(tmp_path, {})
    plan = plans.plan(database, epsilon=Fraction(1), delta=Fraction(0))
    release = pipeline.synthesize_database(tmp_path, plan=plan, seed=SEED)
    made = release.model.tables(0, seed=SEED)
    assert [len(frame) for frame in made.values()] == [0, 0]
    assert len(release.plan.views) == 2


def test_keys_are_checked_before_anything_is_spent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = {name: list(entries) for name, entries in databases.random_rows(homes=9).items()}
    path = databases.save(tmp_path, document(), rows)
    assert run("check", path) == 0
    assert json.loads(capsys.readouterr().out)["people"]["orphans"] == 0
    crowd = [("h0p9", "h0", 1), ("h0p8", "h0", 1), ("h0p7", "h0", 1)]
    faults = {
        "more than once": [rows["people"][0]],
        "no row of its parent": [("lost", "nowhere", 1)],
        "than are declared": crowd,
    }
    for rule, people in faults.items():
        databases.write(tmp_path, {**rows, "people": [*rows["people"], *people]})
        assert run("check", path) == 2
        printed = capsys.readouterr()
        assert "table 'people'" in printed.err and rule in printed.err
        assert "nowhere" not in printed.out + printed.err
