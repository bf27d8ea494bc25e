"""Rules between columns that hold in the data are told, and nothing that chance explains is."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from synth_engine.domain import parse_attribute
from synth_engine.steward import ingest, relations
from synth_engine.steward.relations import RowSample

ROWS = 400


def told(tmp_path: Path, columns: dict[str, list[str]]) -> dict[str, list[str]]:
    """The remarks about a file with these columns, each without what all of them end with."""
    path = tmp_path / "table.csv"
    lines = [",".join(columns), *(",".join(row) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")
    hints = ingest.read(path, kind="csv").hints
    assert set(hints) == set(columns)
    remarks = {name: hint["remarks"] for name, hint in hints.items() if hint["remarks"]}
    for sentences in remarks.values():
        assert all(
            each.endswith("declare it only if it is written somewhere.") for each in sentences
        )
    return {
        name: [each.split(" This holds")[0] for each in sentences]
        for name, sentences in remarks.items()
    }


def numbers(seed: int, high: int = 1_000, low: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(low, high, size=ROWS)


def texts(values: np.ndarray) -> list[str]:
    return [str(value) for value in values.tolist()]


def test_sums_and_differences(tmp_path: Path) -> None:
    a, b = numbers(1), numbers(2)
    remarks = told(
        tmp_path, {"a": texts(a), "b": texts(b), "total": texts(a + b), "c": texts(numbers(3))}
    )
    assert remarks == {"total": ["total = a + b in every row."]}


def test_sums_of_decimals_and_of_several_columns(tmp_path: Path) -> None:
    a, b, c = numbers(1) / 10, numbers(2) / 10, numbers(3) / 10
    columns = {
        "total": [f"{value:.1f}" for value in (a + b + c).tolist()],
        **{name: texts(value) for name, value in zip("abc", (a, b, c), strict=True)},
    }
    assert told(tmp_path, columns)["total"][0] == "total = a + b + c in every row."


def test_one_row_that_breaks_a_rule_ends_it(tmp_path: Path) -> None:
    a, b = numbers(1), numbers(2)
    total = a + b
    total[ROWS // 2] += 1
    assert (
        told(tmp_path, {"a": texts(a), "b": texts(b), "total": texts(total)}).get("total")
        is None
    )


def test_missing_cells_do_not_break_a_rule(tmp_path: Path) -> None:
    a, b = numbers(1), numbers(2)
    total = [
        "" if index % 7 == 0 else str(value) for index, value in enumerate((a + b).tolist())
    ]
    remarks = told(tmp_path, {"a": texts(a), "b": texts(b), "total": total})
    assert remarks["total"] == ["total = a + b in every row."]


def test_orders_that_chance_would_break(tmp_path: Path) -> None:
    loan = numbers(1, 10_000)
    funded = loan - numbers(2, 3_000).clip(0, loan)
    columns = {
        "loan": texts(loan),
        "funded": texts(funded),
        "age": texts(numbers(3, 90)),
        "pay": texts(numbers(4, 9_000_000, 100_000)),
    }
    assert told(tmp_path, columns) == {"funded": ["funded is never above loan."]}


def test_orders_and_parts_of_dates(tmp_path: Path) -> None:
    start = datetime.date(2015, 1, 1)
    ordered = [start + datetime.timedelta(days=int(day)) for day in numbers(1, 2_000)]
    shipped = [
        day + datetime.timedelta(days=int(gap))
        for day, gap in zip(ordered, numbers(2, 60), strict=True)
    ]
    columns = {
        "ordered": [f"{day:%d.%m.%Y}" for day in ordered],
        "shipped": [f"{day:%Y-%m-%d}" for day in shipped],
        "year": [str(day.year) for day in ordered],
        "month": [str(day.month) for day in shipped],
    }
    remarks = told(tmp_path, columns)
    assert remarks["ordered"] == ["ordered is never after shipped."]
    assert remarks["year"] == ["year is the year of ordered in every row."]
    assert remarks["month"] == ["month is the month of shipped in every row."]


def test_columns_that_are_shifted_or_the_same(tmp_path: Path) -> None:
    a = numbers(1)
    columns = {"a": texts(a), "b": texts(a + 5), "c": texts(2_000 - a), "d": texts(a)}
    remarks = told(tmp_path, columns)
    assert "b is always a plus 5." in remarks["b"]
    assert "a and c add up to 2000 in every row." in remarks["c"]
    assert "d is always the same as a." in remarks["d"]


def test_the_town_of_a_place(tmp_path: Path) -> None:
    place = numbers(1, 12)
    columns = {
        "place": [f"p{each}" for each in place.tolist()],
        "town": [f"t{each % 5}" for each in place.tolist()],
        "other": [f"o{each}" for each in numbers(2, 4).tolist()],
    }
    assert told(tmp_path, columns) == {
        "town": ["place decides town: each value occurs with one alone."]
    }


def test_where_values_are_missing(tmp_path: Path) -> None:
    age, married = numbers(1, 90), numbers(2, 3)
    columns = {
        "age": texts(age),
        "pay": [
            "" if each < 15 else str(1_000 + int(value))
            for each, value in zip(age.tolist(), numbers(3).tolist(), strict=True)
        ],
        "status": [("single", "married", "widowed")[each] for each in married.tolist()],
        "spouse": [
            "N/A" if each != 1 else f"s{value}"
            for each, value in zip(married.tolist(), numbers(4, 4).tolist(), strict=True)
        ],
        "random": [
            "" if each < 20 else "x" if each < 60 else "y" for each in numbers(5, 90).tolist()
        ],
    }
    remarks = told(tmp_path, columns)
    assert remarks["pay"] == ["pay is missing exactly where age is below 15."]
    assert remarks["spouse"] in (
        [
            ["spouse is missing exactly where status is “single”, “widowed”."],
            ["spouse is missing exactly where status is “widowed”, “single”."],
        ]
    )
    assert "random" not in remarks


@pytest.mark.parametrize("seed", range(5))
def test_independent_columns_have_no_remarks(tmp_path: Path, seed: int) -> None:
    columns = {
        f"n{i}": texts(numbers(10 * seed + i, high))
        for i, high in enumerate((5, 20, 1_000, 10**6))
    }
    columns |= {
        f"c{i}": [f"v{each}" for each in numbers(100 * seed + i + 7, 6).tolist()]
        for i in range(3)
    }
    assert told(tmp_path, columns) == {}


def test_a_column_of_zeros_makes_no_sum_of_its_neighbour(tmp_path: Path) -> None:
    a = numbers(1)
    zeros = np.zeros(ROWS, dtype=int)
    zeros[:3] = [1, 2, 3]
    other = a + zeros
    assert (
        told(tmp_path, {"a": texts(a), "z": texts(zeros), "b": texts(other)}).get("b") is None
    )


def test_few_rows_say_nothing(tmp_path: Path) -> None:
    assert told(tmp_path, {"a": ["1", "2", "3"], "b": ["2", "3", "4"]}) == {}


@pytest.mark.parametrize(("blocks", "length"), [(1, 30), (7, 13), (40, 1_000), (300, 3)])
def test_a_sample_of_rows_is_bounded_and_evenly_spread(
    blocks: int, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relations, "MAX_ROWS", 500)
    sample = RowSample(["a", "b"])
    for block in range(blocks):
        values = [str(block * length + row) for row in range(length)]
        sample.add({"a": pa.array(values), "b": pa.array([f"b{value}" for value in values])})
    rows = [int(text) for text in sample.columns()["a"].to_pylist()]
    assert len(rows) <= 1_000
    steps = set(np.diff(rows).tolist())
    assert len(steps) <= 1  # every so many rows, across blocks
    assert rows[0] == 0
    assert rows[-1] + max(steps) >= blocks * length
    assert sample.columns()["b"].to_pylist() == [f"b{row}" for row in rows]


def test_rules_name_columns_and_hold_no_value_of_the_table(tmp_path: Path) -> None:
    """What fills in a form: whoever knows where a rule is written writes its values down."""
    age, loan = numbers(1, 90), numbers(2, 10_000)
    start = datetime.date(2015, 1, 1)
    days = [start + datetime.timedelta(days=int(day)) for day in numbers(3, 2_000)]
    columns = {
        "age": texts(age),
        "pay": ["" if each < 15 else "many" for each in age.tolist()],
        "bonus": ["" if each < 15 else "some" for each in age.tolist()],
        "loan": texts(loan),
        "funded": texts(loan - numbers(4, 3_000).clip(0, loan)),
        "day": [f"{day:%Y-%m-%d}" for day in days],
        "year": [str(day.year) for day in days],
    }
    path = tmp_path / "table.csv"
    lines = [",".join(columns), *(",".join(row) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")
    reading = ingest.read(path, kind="csv")
    facts = {(rule["column"], rule["kind"]): rule["facts"] for rule in reading.rules}
    assert facts["funded", "order"] == {"first": "funded", "second": "loan"}
    assert facts["year", "derived"] == {"rule": "year", "of": ["day"]}
    assert facts["pay", "missing-iff"] == {"column": "pay", "when": "age"}
    assert facts["bonus", "missing-iff"]["when"] in ("age", "pay")
    sentences = {rule["sentence"] for rule in reading.rules}
    assert sentences == {each for hint in reading.hints.values() for each in hint["remarks"]}


# --- formulas -----------------------------------------------------------------------------------------------
def offered(tmp_path: Path, columns: dict[str, list[str]]) -> dict[str, dict[str, object]]:
    """The computed columns that are offered for a file, by name."""
    path = tmp_path / "table.csv"
    lines = [",".join(columns), *(",".join(row) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")
    rules = ingest.read(path, kind="csv").rules
    for rule in rules:
        if rule["kind"] == "derived":
            facts: dict[str, object] = dict(rule["facts"])  # type: ignore[call-overload]
            parse_attribute({"name": rule["column"], "kind": "derived"} | facts)
    return {
        str(rule["column"]): dict(rule["facts"])  # type: ignore[call-overload]
        for rule in rules
        if rule["kind"] == "derived"
    }


def test_formulas_of_one_column(tmp_path: Path) -> None:
    age, ounces = numbers(1, 90, 18), numbers(2, 200, 40)
    income = numbers(3, 90_000, 5_000)
    assert offered(
        tmp_path,
        {
            "age": texts(age),
            "agesq": texts(age**2),
            "agecu": texts(age**3),
            "ounces": texts(ounces),
            "pounds": [f"{each / 16:.4f}" for each in ounces.tolist()],
            "income": texts(income),
            "lincome": [f"{np.log(each):.6f}" for each in income.tolist()],
            "yearly": texts(12 * income),
        },
    ) == {
        "agesq": {"rule": "power", "of": ["age"], "constant": 2.0},
        "agecu": {"rule": "power", "of": ["age"], "constant": 3.0},
        "pounds": {"rule": "ratio", "of": ["ounces"], "constant": 16.0, "decimals": 4},
        "lincome": {"rule": "log", "of": ["income"], "decimals": 6},
        "yearly": {"rule": "product", "of": ["income"], "constant": 12.0},
    }


def test_formulas_of_two_columns(tmp_path: Path) -> None:
    hour, minute = numbers(1, 24), numbers(2, 60)
    price, pieces = numbers(3, 900, 100), numbers(4, 40, 2)
    miles, hours = numbers(5, 900, 100), numbers(6, 9, 2)
    assert offered(
        tmp_path,
        {
            "hour": texts(hour),
            "minute": texts(minute),
            "clock": texts(100 * hour + minute),
            "price": texts(price),
            "pieces": texts(pieces),
            "paid": texts(price * pieces),
            "miles": texts(miles),
            "hours": texts(hours),
            "speed": [f"{each:.2f}" for each in (miles / hours).tolist()],
        },
    ) == {
        "clock": {"rule": "clock", "of": ["hour", "minute"]},
        "paid": {"rule": "product", "of": ["price", "pieces"]},
        "speed": {"rule": "ratio", "of": ["miles", "hours"], "decimals": 2},
    }


def test_complements_and_groups_of_which_one_is_1(tmp_path: Path) -> None:
    race = numbers(1, 3)
    approved = (numbers(2, 10) < 7).astype(int)
    columns = {
        "approve": texts(approved),
        "reject": texts(1 - approved),
        **{f"race{k}": texts((race == k).astype(int)) for k in range(3)},
    }
    assert offered(tmp_path, columns) == {"reject": {"rule": "complement", "of": ["approve"]}}
    remarks = told(tmp_path, columns)
    assert remarks["race2"] == ["Exactly one of race0, race1, race2 is 1 in every row."]


def test_a_formula_that_could_not_have_failed_is_not_offered(tmp_path: Path) -> None:
    """A square of 0 and 1, a factor that is 1 but for one row, and one row that breaks a square."""
    flag, mostly = (numbers(1, 2)), np.ones(ROWS, dtype=int)
    mostly[0] = 3
    a, b = numbers(2, 90, 5), numbers(3, 90, 5)
    squares = b**2
    squares[-1] += 1
    columns = {
        "flag": texts(flag),
        "mostly": texts(mostly),
        "a": texts(a),
        "b": texts(b),
        "squares": texts(squares),
    }
    assert offered(tmp_path, columns) == {}
