"""Tables in which a person has several rows, from file to file: how many rows a person has is asked for
first, whatever the method, within one budget, and comes back in the synthetic table."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Hashable
from dataclasses import replace
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synth_engine import mechanisms, pipeline, verifier
from synth_engine.cli import main
from synth_engine.domain import Domain
from synth_engine.errors import (
    BudgetExceeded,
    DomainError,
    InputError,
    PrivacyError,
    TableError,
    VerificationError,
)
from synth_engine.evaluation import page, view
from synth_engine.measurement import GroupSizes
from synth_engine.plans import group_size_stage
from synth_engine.plans.group_size_stage import GroupedPlan
from synth_engine.plans.two_stage import StagedPlan
from synth_engine.privacy.loss import Pure, ZeroConcentrated
from synth_engine.privacy.unit import Relation, group_sizes_sensitivity
from synth_engine.room.rows import Rows
from synth_engine.room.session import RoomSession
from synth_engine.spec import Spec
from synth_engine.verifier import standalone
from tests.answers import replaced
from tests.privacy import exact
from tests.privacy import test_law_of_group_sizes as tiny

SHARES = {1: 0.5, 2: 0.3, 3: 0.15, 7: 0.05}
"""Of persons by how many rows they have; seven is more than the tables below allow."""
KEPT = {1: 0.5, 2: 0.3, 3: 0.2}


def domain_of(**changed: Any) -> Domain:
    document = {
        "relation": "add-remove",
        "unit": {"max_records": 3, "column": "who"},
        "attributes": [
            {
                "name": "who",
                "kind": "identifier",
                "regenerate": "random",
                "pattern": "P-######",
            },
            {
                "name": "shop",
                "kind": "categorical",
                "values": ["north", "south"],
                "other": True,
            },
            {"name": "spent", "kind": "integer", "low": 0, "high": 99, "width": 10},
        ],
    }
    return Domain.from_json(document | changed)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six thousand persons; the file is sorted by shop, so that a person's rows are apart."""
    rng = np.random.default_rng(11)
    sizes = rng.choice(list(SHARES), size=6_000, p=list(SHARES.values()))
    people = np.repeat(np.arange(sizes.size), sizes)
    shops = np.where(rng.random(people.size) < 0.3, "north", "south")
    spent = np.clip(rng.normal(40, 15, people.size), 0, 99).astype(int)
    path = tmp_path_factory.mktemp("persons") / "visits.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["who", "shop", "spent"])
        writer.writerows(
            sorted(
                zip((f"id-{p}" for p in people), shops, spent, strict=True),
                key=lambda row: row[1],
            )
        )
    return path


def spec_of(mechanism: str, *, delta: str = "0", epsilon: str = "1") -> Spec:
    return Spec(mechanism=mechanism, epsilon=Fraction(epsilon), delta=Fraction(delta))


def sizes_of(names: list[str]) -> dict[int, float]:
    """Shares of persons by rows; the rows of one stand together."""
    runs = Counter(len(list(same)) for _, same in groupby(names))
    assert len(set(names)) == sum(runs.values())
    return {size: number / sum(runs.values()) for size, number in sorted(runs.items())}


@pytest.mark.parametrize("delta", ["0", "1e-9"])
@pytest.mark.parametrize(
    "mechanism", ["random", "independent", "bayesian-network", "contingency-table"]
)
def test_groups_come_back_in_their_sizes_under_fresh_names(
    table: Path, mechanism: str, delta: str
) -> None:
    spec = spec_of(mechanism, delta=delta, epsilon="3")
    release = pipeline.synthesize(table, domain=domain_of(), spec=spec)
    drawn = mechanisms.draw_table(release.model, release.rows, "a seed")
    assert list(drawn) == ["who", "shop", "spent"]
    found = sizes_of(drawn["who"].tolist())
    assert max(found) <= 3
    assert found == pytest.approx(KEPT, abs=0.04)
    assert drawn["who"].str.fullmatch("P-[0-9]{6}").all()


@pytest.mark.parametrize("delta", ["0", "1e-9"])
@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize(
    "mechanism", ["random", "independent", "bayesian-network", "contingency-table"]
)
def test_the_receipt_proves_the_whole_and_names_the_person(
    table: Path, mechanism: str, relation: Relation, delta: str
) -> None:
    domain = domain_of(relation=relation.value)
    release = pipeline.synthesize(table, domain=domain, spec=spec_of(mechanism, delta=delta))
    receipt = release.plan.receipt(release.answers)
    found = verifier.verify(receipt)
    assert found.epsilon <= 1
    assert "one person, at most 3 rows" in receipt["guarantee"]["sentence"]
    verbs = [call["query"]["verb"] for call in receipt["calls"]]
    assert verbs.count("group-sizes") == 1
    assert verbs[0] == "group-sizes"
    one = 1 if relation is Relation.ADD_REMOVE else 2
    assert set(receipt["calls"][0]["sensitivity"].values()) == {one}
    assert (
        min(value for call in receipt["calls"][1:] for value in call["sensitivity"].values())
        >= 3 * one
    )


def test_the_verifier_of_one_file_proves_it_too(table: Path, tmp_path: Path) -> None:
    plan = mechanisms.plan(domain_of(), spec_of("independent", delta="1e-9"))
    receipt = plan.receipt(pipeline.measure(table, plan=plan))
    (tmp_path / standalone.NAME).write_text(standalone.text())
    (tmp_path / "receipt.json").write_text(json.dumps(receipt))
    called = [
        sys.executable,
        "-I",
        str(tmp_path / standalone.NAME),
        str(tmp_path / "receipt.json"),
    ]
    found = subprocess.run(called, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    assert "one person, at most 3 rows" in found.stdout


def test_a_static_receipt_with_group_sizes_twice_or_last_is_refused() -> None:
    plan = mechanisms.plan(domain_of(), spec_of("independent"))
    first, *rest = plan.calls
    for calls in ((first, first, *rest), (*rest, first)):
        forged = replace(plan, calls=calls)
        with pytest.raises(VerificationError, match="not the ones that this mechanism makes"):
            verifier.verify(forged.receipt())


def test_group_sizes_cost_the_share_that_is_public_and_no_more() -> None:
    for delta in ("0", "1e-9"):
        plan = mechanisms.plan(domain_of(), spec_of("independent", delta=delta))
        assert isinstance(plan, GroupedPlan)
        price = plan.calls[0].event.pure_epsilon()
        assert price is not None
        assert 0.04999 < price <= group_size_stage.SHARE
    plan = mechanisms.plan(domain_of(), spec_of("bayesian-network", delta="1e-9"))
    assert isinstance(plan, StagedPlan)
    assert plan.sizes is not None
    assert isinstance(plan.cap, ZeroConcentrated)
    rho = plan.sizes.event(group_sizes_sensitivity(Relation.ADD_REMOVE)).rho()
    assert 0.04999 < rho / plan.cap.rho <= group_size_stage.SHARE
    assert plan.left == ZeroConcentrated(rho=plan.cap.rho - rho)


@pytest.mark.parametrize(
    ("columns", "rule", "certificate"),
    [(2, "basic", "basic"), (60, "basic", "zcdp"), (2, "zcdp", "zcdp")],
    ids=["few columns", "many columns", "an account of rho"],
)
def test_a_static_method_stays_static_unless_rho_is_the_better_sum(
    columns: int, rule: mechanisms.Rule, certificate: str
) -> None:
    names = [
        {"name": f"c{number}", "kind": "integer", "low": 0, "high": 9}
        for number in range(columns)
    ]
    domain = domain_of(
        attributes=[{"name": "who", "kind": "identifier", "regenerate": "uuid"}, *names]
    )
    plan = mechanisms.plan(
        domain, spec_of("independent", delta="1e-9", epsilon="0.5"), rule=rule
    )
    assert plan.certificate == certificate
    assert plan.kind == ("static" if certificate == "basic" else "adaptive")
    assert plan.cost(rule)[0 if rule == "basic" else 2] > 0
    pipeline.confirm(plan)


def test_a_composition_of_distributions_certifies_group_sizes_too() -> None:
    """Many columns under Laplace noise, whose epsilons would add up to more."""
    names = [
        {"name": f"c{number}", "kind": "integer", "low": 0, "high": 9} for number in range(60)
    ]
    domain = domain_of(
        attributes=[{"name": "who", "kind": "identifier", "regenerate": "uuid"}, *names]
    )
    spec = replace(
        spec_of("independent", delta="1e-9", epsilon="0.5"), parameters={"noise": "laplace"}
    )
    plan = mechanisms.plan(domain, spec)
    assert plan.certificate == "pld"
    assert isinstance(plan.loss, Pure)
    assert plan.loss.epsilon > Fraction(1, 2)
    pipeline.confirm(plan)


def test_a_stage_that_were_not_paid_for_would_be_refused_by_the_room(table: Path) -> None:
    plan = mechanisms.plan(domain_of(), spec_of("independent", delta="1e-9"), rule="zcdp")
    assert isinstance(plan, StagedPlan)
    assert plan.cap is not None
    with pytest.raises(BudgetExceeded):
        pipeline.measure(table, plan=replace(plan, left=plan.cap))
    static = mechanisms.plan(domain_of(), spec_of("independent"))
    assert isinstance(static, GroupedPlan)
    with pytest.raises(PrivacyError, match="not the next one planned"):
        pipeline.measure(table, plan=replace(static, calls=static.calls[1:]))


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"unit": {"max_records": 1, "column": "who"}}, id="one row a person"),
        pytest.param(
            {"unit": {"max_records": 3, "column": None}}, id="a promise without a column"
        ),
        pytest.param(
            {"unit": {"max_records": 3, "column": "elsewhere"}},
            id="a column that is not described",
        ),
    ],
)
def test_nothing_is_asked_and_nothing_is_paid_where_no_person_is_made_anew(
    changed: dict[str, Any],
) -> None:
    plan = mechanisms.plan(domain_of(**changed), spec_of("independent"))
    assert not isinstance(plan, StagedPlan | GroupedPlan)
    assert [call.query.verb for call in plan.calls] == ["measure", "measure"]


def test_the_forecast_reckons_with_what_group_sizes_cost() -> None:
    plain = domain_of(unit={"max_records": 3, "column": "elsewhere"})
    for mechanism in ("independent", "bayesian-network", "contingency-table"):
        spec = spec_of(mechanism, delta="1e-9")
        with_sizes, without = (
            mechanisms.plan(each, spec).expected_error(rows=5_000)
            for each in (domain_of(), plain)
        )
        assert without.mean < with_sizes.mean < 1.2 * without.mean


def test_open_columns_are_learned_beside_group_sizes(table: Path) -> None:
    domain = domain_of(
        attributes=[
            {"name": "who", "kind": "identifier", "regenerate": "sequence"},
            {
                "name": "shop",
                "kind": "weak",
                "values": {"set": "list", "values": ["east", "north", "south", "west"]},
            },
            {"name": "spent", "kind": "range", "of": "integer", "low": 0, "high": 100_000},
        ]
    )
    # Noise of scale 0.15 takes none of the hundred thousand empty cells to the six records that stand out,
    # but once in 10¹² times.
    release = pipeline.synthesize(
        table, domain=domain, spec=spec_of("independent", epsilon="300")
    )
    assert verifier.verify(release.plan.receipt(release.answers)).epsilon <= 300
    drawn = mechanisms.draw_table(release.model, 6_000, "a seed")
    assert sizes_of(drawn["who"].tolist()) == pytest.approx(KEPT, abs=0.04)
    assert {"north", "south"} <= set(drawn["shop"])
    assert int(drawn["spent"].max()) < 1_000
    weak = pipeline.synthesize(table, domain=domain, spec=spec_of("weak-domain", epsilon="3"))
    assert verifier.verify(weak.plan.receipt(weak.answers)).epsilon <= 3
    assert sizes_of(
        mechanisms.draw_table(weak.model, 6_000, "s")["who"].tolist()
    ) == pytest.approx(KEPT, abs=0.04)


def test_answers_of_another_plan_are_refused(table: Path) -> None:
    plan = mechanisms.plan(domain_of(), spec_of("independent"))
    answers = pipeline.measure(table, plan=plan)
    assert answers.group_sizes is not None
    shorter = GroupSizes(noise=answers.group_sizes.noise, values=answers.group_sizes.values[:2])
    for other in ((), (shorter,)):
        with pytest.raises(InputError, match="not of this plan"):
            plan.fit(replaced(answers, GroupSizes, other))


@pytest.mark.parametrize("relation", list(Relation))
def test_the_whole_run_tells_neighbours_apart_by_no_more_than_epsilon(
    relation: Relation, tmp_path: Path
) -> None:
    """The exact law of `random` with group sizes: all answers together, on tables as the room reads them."""
    document = tiny.domain_of(2, relation).to_json()
    document["attributes"].append(
        {"name": "who", "kind": "identifier", "regenerate": "sequence"}
    )  # type: ignore[attr-defined]
    domain = Domain.from_json(document)
    epsilon = Fraction(7, 10)
    plan = mechanisms.plan(domain, Spec(mechanism="random", epsilon=epsilon))

    def program(session: RoomSession, _: Rows) -> Hashable:
        answers = plan.run(session)
        assert answers.group_sizes is not None
        return (
            *answers.group_sizes.values.tolist(),
            int(answers.measurements[0].values),
            session.calls,
        )

    laws = {
        persons: exact.law_on(
            program, tiny.opened(persons, domain, tmp_path), cap=plan.loss, high=4
        )
        for persons in tiny.tables(persons=1)
    }
    ratio, compared = exact.worst_ratio(laws, tiny.pairs(domain, persons=1))  # type: ignore[arg-type]
    assert compared > 10
    assert exact.proves(ratio, epsilon=epsilon)


# ---- what is refused
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unit", "words"),
    [
        ({"max_records": 0, "column": "who"}, "max_records"),
        ({"max_records": "3", "column": "who"}, "max_records"),
        ({"max_records": 2_000_000, "column": "who"}, "max_records"),
        ({"max_records": 3, "column": ""}, "column"),
        ({"max_records": 3, "column": 7}, "column"),
        ({"max_records": 3, "kolumn": "who"}, "other keys"),
        ([3, "who"], "max_records and column"),
    ],
)
def test_a_unit_that_is_none_is_refused_with_its_repair(unit: object, words: str) -> None:
    with pytest.raises(DomainError, match=words) as caught:
        domain_of(unit=unit)
    assert caught.value.repair


def test_a_table_without_the_column_of_persons_is_refused_by_its_header_alone(
    tmp_path: Path,
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("shop,spent\nnorth,1\n")
    with pytest.raises(TableError, match="no such column") as caught:
        pipeline.require_columns(path, domain=domain_of())
    assert caught.value.column == "who"


def test_the_command_line_draws_groups_again_from_the_stored_model(
    table: Path, tmp_path: Path
) -> None:
    domain = tmp_path / "domain.json"
    domain.write_text(json.dumps(domain_of().to_json()))
    out, model, receipt = (
        tmp_path / name for name in ("out.csv", "model.json", "receipt.json")
    )
    asked = ["--mechanism", "independent", "--epsilon", "3", "--seed", "7"]
    files = ["--out", str(out), "--model", str(model), "--receipt", str(receipt)]
    assert main(["synthesize", str(table), "--domain", str(domain), *asked, *files]) == 0
    assert main(["verify", str(receipt)]) == 0
    assert (
        main(["sample", str(model), "--seed", "7", "--out", str(tmp_path / "again.csv")]) == 0
    )
    assert (tmp_path / "again.csv").read_bytes() == out.read_bytes()
    with out.open() as file:
        assert sizes_of([row["who"] for row in csv.DictReader(file)]) == pytest.approx(
            KEPT, abs=0.04
        )


def test_rows_that_belong_to_nobody_are_one_person(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("who,shop,spent\n" + ",north,1\n" * 500 + "a,south,2\n")
    plan = mechanisms.plan(domain_of(), spec_of("random", epsilon="1000"))
    answers = pipeline.measure(path, plan=plan)
    assert answers.group_sizes is not None
    assert answers.group_sizes.values.tolist() == pytest.approx([1, 0, 1], abs=1)
    assert int(answers.measurements[0].values) == pytest.approx(4, abs=1)


# ---- what the steward is shown
# -------------------------------------------------------------------------------------


def test_the_report_puts_group_sizes_beside_the_real_ones(table: Path) -> None:
    release = pipeline.synthesize(
        table, domain=domain_of(), spec=spec_of("independent", epsilon="3")
    )
    report = pipeline.report(table, model=release.model, rows=release.rows, seed="s")
    entry = report["group_sizes"]
    assert entry["persons"]["real"] == 6_000, "nobody is lost by truncation"
    for side in ("real", "synthetic"):
        assert entry["shares"][side] == pytest.approx(list(KEPT.values()), abs=0.04)
    assert entry["verdict"]["level"] in ("same", "small")
    assert "persons would have to change" in entry["verdict"]["words"]
    [card] = view.lay_out(report).cards("persons")
    assert card is not None
    assert card.red
    assert card.figure is not None
    assert card.figure["layout"]["yaxis"]["title"]["text"] == "share of persons"
    assert [row[0] for row in card.table.rows] == ["1", "2", "3"]
    assert "How many rows a person has" in page.html(report)


def test_a_report_of_single_records_has_no_group_sizes(table: Path) -> None:
    single = domain_of(unit={"max_records": 1, "column": None})
    release = pipeline.synthesize(table, domain=single, spec=spec_of("independent"))
    report = pipeline.report(table, model=release.model, rows=100, seed="s")
    assert report["group_sizes"] is None
    assert view.lay_out(report).cards("persons") == []


@pytest.mark.parametrize(
    ("columns", "unique"),
    [
        pytest.param({"who": ["a", "b", "c"], "x": ["1", "1", "2"]}, ["who"], id="few texts"),
        pytest.param(
            {"who": ["a", "b", "a"], "x": ["1", "2", "3"]}, ["x"], id="a person twice"
        ),
        pytest.param(
            {"who": ["a", "", ""], "x": ["", "", ""], "y": ["1", "1", "1"]},
            ["who"],
            id="missing ones do not repeat",
        ),
        pytest.param({"who": [f"p{i}" for i in range(30_000)]}, ["who"], id="many texts"),
        pytest.param(
            {"who": [f"p{i // 2}" for i in range(60_000)]}, [], id="many texts, each twice"
        ),
        pytest.param({"who": [str(7 * i) for i in range(30_000)]}, ["who"], id="many numbers"),
        pytest.param(
            {"who": [str(i % 25_000) for i in range(50_000)]}, [], id="many numbers, each twice"
        ),
    ],
)
def test_the_steward_alone_learns_which_columns_differ_in_every_row(
    columns: dict[str, list[str]], unique: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    assert pipeline.ingest(path)["unique"] == unique
