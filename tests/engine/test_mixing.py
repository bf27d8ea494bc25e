"""Counts filled to a policy, and synthetic rows that meet public totals."""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synth_engine import cli, pipeline
from synth_engine.domain import Domain
from synth_engine.errors import (
    DomainError,
    InputError,
    SpecError,
    TableError,
    VerificationError,
)
from synth_engine.mixing import raking, repair
from synth_engine.mixing.alternative import alternative
from synth_engine.mixing.policy import FilledCounts, FillPlan, FillPolicy
from synth_engine.steward import filling

CANARY = "Xanthippe-4711"
DOMAIN: dict[str, Any] = {
    "unit": {"max_records": 2, "column": "who"},
    "attributes": [
        {"name": "town", "kind": "categorical", "values": ["A", "B", "C", "D"], "other": True},
        {"name": "works", "kind": "boolean"},
        {"name": "day", "kind": "date", "low": "2026-01-01", "high": "2026-01-10"},
        {"name": "note", "kind": "identifier"},
    ],
}
DESCRIBED = Domain.from_json(DOMAIN)


def table(path: Path) -> Path:
    """Town A: 150 contributors on ten days. B: one contributor has 30 of 130. C: 3 records. D: 120 on one
    day."""
    rows: list[tuple[str, str, str, str, str]] = []
    for index in range(150):
        rows.append((f"a{index}", "A", "true", f"2026-01-{1 + index % 10:02d}", "-"))
    for index in range(130):
        who = "big" if index < 30 else f"b{index}"
        rows.append((who, "B", "true", f"2026-01-{1 + index % 10:02d}", "-"))
    rows += [(CANARY, "C", "true", "2026-01-03", CANARY)] * 3
    rows += [(f"d{index}", "D", "true", "2026-01-04", "-") for index in range(120)]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["who", "town", "works", "day", "note"])
        writer.writerows(rows)
    return path


def plan(**changes: Any) -> FillPlan:
    policy = FillPolicy(**{"least_records": 100, "largest_share": Fraction(1, 10)} | changes)
    return FillPlan(
        domain=DESCRIBED,
        by=("town", "works"),
        policy=policy,
        day="day" if policy.least_days > 1 else None,
    )


def counts(made: FilledCounts) -> dict[tuple[str, ...], int]:
    return dict(made.rows)


def nothing(size: int) -> bytes:
    """Random bytes that add no further records."""
    return bytes(size)


# --- the law of filling -------------------------------------------------------------------------------------
def test_groups_that_meet_the_policy_are_exact_and_others_are_filled(tmp_path: Path) -> None:
    made = counts(
        filling.fill(table(tmp_path / "t.csv"), plan=plan(least_days=2), random_bytes=nothing)
    )
    assert made["A", "true"] == 150
    assert made["B", "true"] == 300, "30 records of one contributor are a tenth of 300"
    assert made["C", "true"] == 100
    assert made["D", "true"] == 121, "one record on a second day"
    assert made["A", "false"] == 100, "a group without records is filled like any other"
    assert made["(other)", "true"] == 100


def test_every_record_is_counted_and_the_bound_of_the_unit_does_not_hold(
    tmp_path: Path,
) -> None:
    """The description retains two records of a person; exact counts are of all of them."""
    made = filling.fill(
        table(tmp_path / "t.csv"),
        plan=plan(largest_share=Fraction(1, 2)),
        random_bytes=nothing,
    )
    assert counts(made)["B", "true"] == 130


def test_what_is_added_is_uniform_up_to_what_was_needed() -> None:
    """Exactly: with each remainder once, a filled group gets each number of further records once, and an
    exact one none."""
    asked = plan(least_records=10)

    def number(value: int) -> Callable[[int], bytes]:
        return lambda size: value.to_bytes(size, "big")

    for records, largest, needed in ((0, 0, 10), (3, 1, 10), (12, 2, 20)):
        drawn = [
            filling._filled(
                asked, records=records, largest=largest, days=1, random_bytes=number(value)
            )
            for value in range(needed)
        ]
        assert drawn == list(range(needed, 2 * needed))
    assert {
        filling._filled(asked, records=20, largest=2, days=1, random_bytes=number(value))
        for value in range(40)
    } == {20}


def test_a_group_without_records_cannot_be_told_from_one_with_few() -> None:
    """Any group below the least number needs the same, so that its count has the same law."""
    asked = FillPolicy(least_records=100, largest_share=Fraction(1, 10))
    assert {
        asked.needed(records=records, largest=min(records, 5), days=min(records, 1))
        for records in range(51)
    } == {100}


def test_the_policy_is_met_by_what_is_published(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv")
    for _ in range(3):
        made = counts(pipeline.fill(path, plan=plan(least_days=3)))
        assert min(made.values()) >= 100
        assert made["A", "true"] == 150
        assert 300 <= made["B", "true"] < 600


@pytest.mark.parametrize(
    ("mutant", "caught"),
    [
        ("share", lambda made: made["B", "true"] != 300),
        ("days", lambda made: made["D", "true"] != 121),
        ("least", lambda made: made["C", "true"] != 100),
    ],
)
def test_mutants_of_the_policy_die(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    mutant: str,
    caught: Callable[[dict[tuple[str, ...], int]], bool],
) -> None:
    def needed(self: FillPolicy, *, records: int, largest: int, days: int) -> int:
        parts = {
            "least": self.least_records,
            "days": records + max(0, self.least_days - days),
            "share": math.ceil(largest / self.largest_share),
        }
        return max(value for name, value in parts.items() if name != mutant)

    monkeypatch.setattr(FillPolicy, "needed", needed)
    made = filling.fill(
        table(tmp_path / "t.csv"), plan=plan(least_days=2), random_bytes=nothing
    )
    assert caught(counts(made))


# --- what leaves --------------------------------------------------------------------------------------------
def test_nothing_but_filled_counts_leaves(tmp_path: Path) -> None:
    made = pipeline.fill(table(tmp_path / "t.csv"), plan=plan())
    document = made.to_json()
    assert CANARY not in json.dumps(document) + made.to_csv()
    assert set(document) == {
        "schema",
        "statement",
        "guarantee",
        "plan_sha256",
        "by",
        "policy",
        "groups",
    }
    assert document["guarantee"] is None and "NOT differentially private" in str(
        document["statement"]
    )
    assert all(set(each) == {"group", "records"} for each in document["groups"])
    # No total, and no other number that tells how many records were added.
    text = made.to_csv()
    assert text.splitlines()[0] == "town,works,records"
    assert len(list(csv.reader(io.StringIO(text)))) == 1 + plan().groups


# --- refusals -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"largest_share": Fraction(0)}, "no number of records can meet"),
        ({"largest_share": Fraction(3, 5)}, "more than half"),
        ({"least_records": 9}, "not from 10"),
        ({"least_days": 0}, "below 1"),
        ({"least_days": 11}, "no number of records can meet the policy"),
    ],
)
def test_a_policy_that_cannot_be_met_is_refused(changes: dict[str, Any], rule: str) -> None:
    with pytest.raises(SpecError, match=rule):
        plan(**changes)


def test_groups_and_days_that_are_none_are_refused_by_name() -> None:
    policy = FillPolicy()
    for by in ((), ("town", "town"), ("note",), ("who",), ("nowhere",)):
        with pytest.raises(
            InputError, match=r"different columns|cannot be made of this column"
        ):
            FillPlan(domain=DESCRIBED, by=by, policy=policy)
    with pytest.raises(SpecError, match="no column of days is named"):
        FillPlan(domain=DESCRIBED, by=("town",), policy=FillPolicy(least_days=2))
    with pytest.raises(DomainError, match="no column of dates"):
        FillPlan(domain=DESCRIBED, by=("town",), policy=policy, day="works")
    with pytest.raises(SpecError, match="at most 1 different day,"):
        FillPlan(
            domain=DESCRIBED, by=("town", "day"), policy=FillPolicy(least_days=2), day="day"
        )
    wide = {f"c{index}": 20 for index in range(4)}
    with pytest.raises(SpecError, match="160,000 groups"):
        FillPlan(domain=Domain.from_json(wide), by=tuple(wide), policy=policy)


def test_a_plan_is_read_as_it_was_written_and_refused_for_another_description() -> None:
    asked = plan(least_days=2, largest_share=Fraction(1, 3))
    read = FillPlan.from_json(json.loads(json.dumps(asked.to_json())), DESCRIBED)
    assert read == asked and read.digest == asked.digest
    other = Domain.from_json(DOMAIN | {"unit": {"max_records": 1, "column": "who"}})
    with pytest.raises(InputError, match="another description"):
        FillPlan.from_json(asked.to_json(), other)


def test_a_table_without_a_column_is_refused_by_its_header(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("town,works,day,note\nA,true,2026-01-01,x\n")
    with pytest.raises(TableError, match="no such column") as refused:
        pipeline.require_filling(path, plan=plan())
    assert refused.value.column == "who"


# --- the private alternative --------------------------------------------------------------------------------
def test_the_private_alternative_has_a_price_and_an_error() -> None:
    one, ten = (alternative(plan(), epsilon=Fraction(epsilon)) for epsilon in (1, 10))
    assert one.plan.epsilon == 1 and one.plan.domain.names == ("town", "works")
    # Two records a person: discrete Laplace of scale 2, so a deviation of about 2.8 records.
    assert one.deviation == pytest.approx(2 * math.sqrt(2), rel=0.03)
    assert ten.deviation < one.deviation / 5
    assert "standard deviation of 2.8 records a group" in one.sentence


# --- repair -------------------------------------------------------------------------------------------------
def synthetic() -> pd.DataFrame:
    rng = np.random.default_rng(7)
    return pd.DataFrame(
        {
            "town": rng.choice(["A", "B", "C"], size=400, p=[0.5, 0.3, 0.2]),
            "works": rng.choice(["yes", "no"], size=400),
        }
    )


def totals(tmp_path: Path, name: str, text: str) -> raking.PublicTotals:
    path = tmp_path / name
    path.write_text(text)
    return raking.read_totals(path)


def test_weights_meet_every_total(tmp_path: Path) -> None:
    towns = totals(tmp_path, "towns.csv", "town,count\nA,100\nB,300\nC,600\n")
    works = totals(tmp_path, "works.csv", "works,count\nyes,250\nno,750\n")
    made = synthetic()
    made["weight"] = raking.weights(made, [towns, works])
    for column, target in (("town", towns), ("works", works)):
        sums = made.groupby(column)["weight"].sum()
        for (value,), count in target.counts.items():
            assert sums[value] == pytest.approx(count, abs=1e-5)
    assert (made["weight"] > 0).all()


def test_rows_are_repeated_and_left_out_until_one_table_of_totals_is_met_exactly(
    tmp_path: Path,
) -> None:
    both = totals(
        tmp_path,
        "both.csv",
        "town,works,count\nA,yes,11\nA,no,0\nB,yes,500\nB,no,7\nC,yes,3\nC,no,90\n",
    )
    made = raking.repaired(synthetic(), both)
    found = made.groupby(["town", "works"]).size().to_dict()
    assert found == {key: count for key, count in both.counts.items() if count}


@pytest.mark.parametrize(
    ("files", "rule"),
    [
        (["town,count\nA,1\nB,1\nC,1\n", "works,count\nyes,1\nno,1\n"], "different numbers"),
        (["town,count\nA,1\nB,1\n"], "in no combination"),
        (["town,count\nA,1\nB,1\nC,1\nD,4\n"], "no row of the table is in 1 combination"),
        (["place,count\nA,1\n"], "by a column that the table has not"),
        (["town,count\nA,0\nB,0\nC,0\n"], "all totals are 0"),
    ],
)
def test_totals_that_cannot_be_met_are_refused_by_name(
    tmp_path: Path, files: list[str], rule: str
) -> None:
    read = [totals(tmp_path, f"t{index}.csv", text) for index, text in enumerate(files)]
    with pytest.raises(SpecError, match=rule):
        raking.weights(synthetic(), read)


def test_totals_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    diagonal = pd.DataFrame({"a": ["x", "y"], "b": ["x", "y"]})
    read = [
        totals(tmp_path, "a.csv", "a,count\nx,1\ny,3\n"),
        totals(tmp_path, "b.csv", "b,count\nx,3\ny,1\n"),
    ]
    with pytest.raises(SpecError, match="contradict each other"):
        raking.weights(diagonal, read)


@pytest.mark.parametrize(
    "text", ["town\nA\n", "town,count\nA,-1\n", "town,count\nA,1\nA,2\n", "count\n1\n", ""]
)
def test_files_of_totals_that_are_none_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError):
        totals(tmp_path, "t.csv", text)


# --- on the command line ------------------------------------------------------------------------------------
def test_counts_are_filled_on_the_command_line_only_if_somebody_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, domain = table(tmp_path / "t.csv"), tmp_path / "d.json"
    domain.write_text(json.dumps(DOMAIN))
    out, written = tmp_path / "counts.json", tmp_path / "counts.csv"
    asked = ["mix", "fill", str(data), "--domain", str(domain), "--by", "town", "works"]
    asked += ["--out", str(out), "--table", str(written)]
    assert cli.main(asked) == 2
    assert "--outside-the-guarantee" in capsys.readouterr().err and not out.exists()
    assert cli.main([*asked, "--outside-the-guarantee"]) == 0
    said = capsys.readouterr()
    assert "10 groups. with differential privacy" in said.out
    assert "NOT differentially private" in said.err
    assert json.loads(out.read_text())["guarantee"] is None
    assert len(written.read_text().splitlines()) == 11
    assert (
        cli.main(["mix", "alternative", "--domain", str(domain), "--by", "town", "works"]) == 0
    )
    assert "standard deviation" in capsys.readouterr().out


def test_a_synthetic_table_is_repaired_on_the_command_line(tmp_path: Path) -> None:
    made, towns = tmp_path / "s.csv", tmp_path / "towns.csv"
    synthetic().to_csv(made, index=False)
    towns.write_text("town,count\nA,100\nB,300\nC,600\n")
    weighted, whole = tmp_path / "w.csv", tmp_path / "r.csv"
    asked = ["mix", "repair", str(made), "--totals", str(towns), "--out"]
    assert cli.main([*asked, str(weighted)]) == 0
    assert pd.read_csv(weighted)["weight"].sum() == pytest.approx(1000)
    assert cli.main([*asked, str(whole), "--repeat"]) == 0
    assert pd.read_csv(whole).groupby("town").size().to_dict() == {"A": 100, "B": 300, "C": 600}
    twice = [*asked, str(tmp_path / "x.csv"), "--repeat"]
    twice.insert(4, str(towns))
    assert cli.main(twice) == 2


def test_the_room_draws_from_the_operating_system() -> None:
    assert filling.fill.__kwdefaults__["random_bytes"] is os.urandom


# --- repair of a release ------------------------------------------------------------------------------------
AGED = Domain.from_json(
    {
        "attributes": [
            {"name": "town", "kind": "categorical", "values": ["A", "B"], "missing": ["?"]},
            {"name": "age", "kind": "integer", "low": 0, "high": 29, "width": 10},
        ]
    }
)


def aged() -> pd.DataFrame:
    ages = np.arange(300) % 30
    towns = np.where(ages % 3 == 0, None, np.where(ages % 2 == 0, "A", "B"))
    return pd.DataFrame({"town": pd.array(towns, dtype="str"), "age": ages})


def test_totals_are_read_from_csv_and_from_a_document_alike() -> None:
    text = '\ufefftown,count\nA,5\n"?",7\n\n\nage,count,town\n0 to 9,12,A\n'
    read = repair.totals_of_text(text)
    assert [each.name for each in read] == ["town", "age, town"]
    assert read[1].counts == {("0 to 9", "A"): 12}
    document = repair.document_of(read)
    assert repair.totals_of_text(json.dumps(document)) == read
    assert repair.totals_of_document(document) == read


@pytest.mark.parametrize(
    "document",
    [
        None,
        {"totals": []},
        {"totals": [{"name": "a", "columns": ["a"]}]},
        {"totals": [{"name": "", "columns": ["a"], "counts": [{"values": ["x"], "count": 1}]}]},
        {"totals": [{"name": "a", "columns": [], "counts": [{"values": [], "count": 1}]}]},
        {"totals": [{"name": "a", "columns": ["a"], "counts": []}]},
        {"totals": [{"name": "a", "columns": ["a"], "counts": [{"values": ["x"]}]}]},
        {"totals": [{"name": "a", "columns": ["a"], "counts": [{"values": [1], "count": 1}]}]},
        {"totals": [{"name": "a", "columns": ["a"], "counts": [{"values": ["x"], "count": True}]}]},
        {"totals": [{"name": "a", "columns": ["a"], "counts": [{"values": ["x"], "count": -1}]}]},
        {"totals": [{"name": "a", "columns": ["a"], "counts": [{"values": ["x"], "count": 1}] * 2}]},
        {"totals": [{"name": "a", "columns": ["a"], "counts": [{"values": ["x"], "count": 1}]}] * 2},
    ],
)  # fmt: skip
def test_documents_of_totals_that_are_none_are_refused(document: object) -> None:
    with pytest.raises(SpecError):
        repair.totals_of_document(document)


@pytest.mark.parametrize(
    "text", ["", "\n\n", "{", "town\nA\n", "town,count\nA\n", "town,count\nA,1.5\n", 'a,count\n"x'],
)  # fmt: skip
def test_texts_of_totals_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(InputError):
        repair.totals_of_text(text)


def test_bins_are_named_as_in_the_description_and_values_as_in_a_file() -> None:
    totals_text = (
        "age,count\n0 to 9,10\n10 to 19,50\n20 to 29,40\n\ntown,count\nA,30\nB,30\n?,40\n"
    )
    made = repair.repair(AGED, aged(), repair.totals_of_text(totals_text), way="weights")
    assert list(made.texts.columns) == list(made.frame.columns) == ["town", "age", "weight"]
    by_age = made.frame.groupby(made.frame["age"] // 10)["weight"].sum()
    assert by_age.tolist() == pytest.approx([10, 50, 40], abs=1e-5)
    written = made.texts["weight"].map(float)
    assert written[made.texts["town"] == "?"].sum() == pytest.approx(40, abs=1e-5)
    assert [line["met"] for line in made.met] == [True, True]
    assert 0 < made.effective_rows <= 300


def test_rows_are_repeated_for_single_ages_and_the_report_counts_them_again() -> None:
    single = "age,count\n" + "".join(f"{age},{age}\n" for age in range(30))
    made = repair.repair(AGED, aged(), repair.totals_of_text(single), way="rows")
    assert made.frame["age"].value_counts().to_dict() == {age: age for age in range(1, 30)}
    assert len(made.texts) == sum(range(30)) and "weight" not in made.texts
    (line,) = made.met
    assert line["largest_difference"] == 0 and line["records"] == sum(range(30))


def test_a_receipt_of_a_repaired_table_is_of_a_release_that_verifies() -> None:
    rows = pd.DataFrame({"town": ["A", "B"] * 50, "age": list(map(str, range(25))) * 4})
    with pytest.raises(VerificationError):
        repair.receipt({"guarantee": {}}, model={}, made={})
    weighted = Domain.from_json(
        {"attributes": [{"name": "weight", "kind": "integer", "low": 0, "high": 9}]}
    )
    asked = repair.totals_of_text("weight,count\n1,1\n")
    with pytest.raises(SpecError, match="column of weights already"):
        repair.repair(weighted, rows, asked, way="weights")
