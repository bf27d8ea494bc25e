"""Gaps of days, last digits and markers of missing values: planted damage is seen, and a second sample is not
accused."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from synth_engine.codec import RawColumn, RawCounter, count_generated
from synth_engine.codec.value_counts import NumberCounter
from synth_engine.domain import Date, Domain, Integer, Number
from synth_engine.evaluation import page, report, tallies, view
from synth_engine.evaluation.figure import Sides
from synth_engine.evaluation.figures import date_gaps, last_digits, missing_markers
from synth_engine.evaluation.plots import Report

Json = dict[str, Any]
DOMAIN = Domain(
    attributes=(
        Date(name="sold", low=dt.date(2020, 1, 1), high=dt.date(2021, 12, 31)),
        Integer(name="price", low=0, high=1_000_000, width=100_000, missing=("NA", "", "-1")),
    )
)
RNG_ROWS = 20_000
FIRST = np.datetime64("2020-01-01")


def working_days(rng: np.random.Generator, rows: int) -> list[str]:
    days = FIRST + rng.integers(0, 730, 2 * rows)
    return [str(day) for day in days[np.is_busday(days)][:rows]]


def any_days(rng: np.random.Generator, rows: int) -> list[str]:
    return [str(day) for day in FIRST + rng.integers(0, 730, rows)]


def hundreds(rng: np.random.Generator, rows: int) -> list[str]:
    return [str(100 * price) for price in rng.integers(1, 9_000, rows)]


def singles(rng: np.random.Generator, rows: int) -> list[str]:
    return [str(price) for price in rng.integers(1, 900_000, rows)]


def one_side(table: dict[str, list[str]], *, private: bool) -> tallies.Tallies:
    """The tallies of a table of texts: of real cells, or of values of a model."""
    if private:
        price = pd.to_numeric(pd.Series(table["price"]), errors="coerce")
        sold = pd.to_datetime(pd.Series(table["sold"]))
        frame = pd.DataFrame({"sold": sold, "price": price.where(price >= 0).astype("Int64")})
        columns = count_generated(DOMAIN, [frame]).columns
    else:
        columns = {}
        for attribute in DOMAIN.attributes:
            counter = RawCounter(attribute)
            counter.add(pa.array(table[attribute.name], type=pa.string()))
            columns = {**columns, attribute.name: counter.finish()}
    # Codes of bins play no part here.
    nothing = np.zeros(len(table["sold"]), dtype=np.int64)
    return report.tally(
        tallies.CodedTable(
            codes={"sold": nothing, "price": nothing},
            domain=DOMAIN,
            private=private,
            of_values=columns,
        )
    )


def compared(real: dict[str, list[str]], synthetic: dict[str, list[str]]) -> Report:
    return report.compare(
        one_side(real, private=False), one_side(synthetic, private=True), DOMAIN
    )


def test_a_second_sample_is_not_accused_and_damage_is() -> None:
    rng = np.random.default_rng(1)
    real = {"sold": working_days(rng, RNG_ROWS), "price": hundreds(rng, RNG_ROWS)}
    second = {"sold": working_days(rng, RNG_ROWS), "price": hundreds(rng, RNG_ROWS)}
    damaged = {"sold": any_days(rng, RNG_ROWS), "price": singles(rng, RNG_ROWS)}
    for synthetic, levels in ((second, {"same"}), (damaged, {"large"})):
        made = compared(real, synthetic)
        seen = {made[field][0]["verdict"]["level"] for field in ("date_gaps", "last_digits")}
        assert seen == levels
    [gaps] = made["date_gaps"]
    assert gaps["longest"] == {"real": 2, "synthetic": 0}
    assert gaps["shares"]["real"][2] == pytest.approx(2 / 7, abs=0.01)
    assert gaps["shares"]["synthetic"][0] == 1.0
    [digits] = made["last_digits"]
    assert digits["step"] == 1.0
    assert sum(digits["shares"]["real"][1:11]) == 0
    assert digits["shares"]["synthetic"][1] == pytest.approx(0.1, abs=0.02)


def test_cards_draw_the_worst_column_and_are_red() -> None:
    rng = np.random.default_rng(2)
    real = {
        "sold": working_days(rng, 500),
        "price": [*hundreds(rng, 400), *["NA"] * 60, *["-1"] * 40],
    }
    made = compared(real, {"sold": any_days(rng, 500), "price": singles(rng, 500)})
    shown = view.lay_out(made)
    cards = list(shown.cards("written"))
    assert [card.key for card in cards] == ["gaps", "digits", "markers"]
    for card in cards:
        assert card.red and card.figure is not None and card.mark
        assert [trace["name"] for trace in card.figure["data"]] == ["real", "synthetic"]
    assert json.loads(json.dumps(made, allow_nan=False)) == made
    assert "Days without a record" in page.html(made)
    fields = ("date_gaps", "last_digits", "missing_markers")
    earlier = {key: value for key, value in made.items() if key not in fields}
    assert not view.lay_out(earlier).cards("written")


def test_fewer_records_leave_more_days_empty_and_that_is_no_difference() -> None:
    rng = np.random.default_rng(3)
    real = {"sold": working_days(rng, RNG_ROWS), "price": hundreds(rng, RNG_ROWS)}
    fewer = {"sold": working_days(rng, 600), "price": hundreds(rng, 600)}
    [gaps] = compared(real, fewer)["date_gaps"]
    assert gaps["shares"]["synthetic"][0] < gaps["shares"]["real"][0] - 0.1
    assert gaps["verdict"]["level"] == "same"
    [gaps] = compared(fewer, real)["date_gaps"]
    assert gaps["verdict"]["level"] == "same"


def test_each_marker_has_its_own_share() -> None:
    rng = np.random.default_rng(4)
    price = [*hundreds(rng, 700), *["NA"] * 100, *[""] * 150, *["-1"] * 50]
    real = {"sold": working_days(rng, 1_000), "price": price}
    made = compared(real, real)
    [markers] = made["missing_markers"]
    assert markers["labels"] == ["NA", "(empty)", "-1", "a value"]
    assert markers["shares"]["real"] == [0.1, 0.15, 0.05, 0.7]
    assert markers["shares"]["synthetic"] == [0.3, 0.0, 0.0, 0.7]
    # The first marker is written for all of them.
    assert markers["difference"] == pytest.approx(0.2)
    assert markers["verdict"]["level"] == "large"
    one = [cell if cell not in ("", "-1") else "NA" for cell in price]
    [markers] = compared(real | {"price": one}, real)["missing_markers"]
    assert markers["difference"] == 0.0 and markers["verdict"]["level"] == "same"


def test_the_last_label_of_an_axis_has_room() -> None:
    rng = np.random.default_rng(7)
    real = {"sold": working_days(rng, 500), "price": hundreds(rng, 500)}
    shown = view.lay_out(compared(real, real))
    for card in [*shown.histograms, *shown.cards("written")]:
        assert card.figure is not None
        layout = card.figure["layout"]
        last = layout["xaxis"]["ticktext"][-1]
        # Seven pixels a sign; a centred label needs half of them.
        assert layout["margin"]["r"] >= 3.5 * len(last)


def test_thinning_is_that_of_the_textbook() -> None:
    counts = np.array([3, 0, 1])
    # Of 4 records 2 are drawn: day 1 stays empty in C(1, 2) = 0 of 6 ways, day 3 in C(3, 2) = 3.
    assert date_gaps.thinned_empty_share(counts, records=2, total=4) == pytest.approx(
        (0 + 1 + 0.5) / 3
    )
    assert date_gaps.thinned_empty_share(counts, records=4, total=4) == pytest.approx(1 / 3)


def test_a_table_of_other_days_is_no_table_of_few_records() -> None:
    rng = np.random.default_rng(6)
    real = {"sold": any_days(rng, 5_000), "price": hundreds(rng, 5_000)}
    elsewhere = {**real, "sold": ["2019-12-31"] * 4_990 + ["2020-06-01"] * 10}
    [gaps] = compared(real, elsewhere)["date_gaps"]
    assert gaps["verdict"]["level"] == "large"


def test_gaps_are_runs_of_days_without_a_record() -> None:
    counts = np.array([1, 0, 0, 2, 0, 1, *[0] * 8, 1])
    assert date_gaps.gap_lengths(counts).tolist() == [2, 1, 8]
    shares = date_gaps.gap_shares(counts) * len(counts)
    assert shares.tolist() == pytest.approx([4, 1, 2, 8, 0])


def numbers(values: list[float]) -> Any:
    counter = NumberCounter()
    counter.add(np.array(values, dtype=np.float64), np.ones(len(values), dtype=np.int64))
    return counter.finish()


def test_last_digits_count_steps_from_zero() -> None:
    made = last_digits.digit_counts(
        numbers([0, 3, -3, 10, 1_200, 5_000, 70_000, 0.5]), step=1.0
    )
    assert dict(zip(last_digits.LABELS, made.tolist(), strict=True)) == {
        **dict.fromkeys(last_digits.LABELS, 0),
        "0": 1,
        "…3": 2,
        "…0": 1,
        "…00": 1,
        "…000": 2,
        "finer": 1,
    }
    cents = numbers([cents / 100 for cents in range(1_000)])
    assert last_digits.lattice_step(cents) == 0.01
    assert last_digits.digit_counts(cents, step=0.01)[-1] == 0
    assert (
        last_digits.lattice_step(numbers(np.random.default_rng(5).random(100).tolist())) is None
    )


def test_columns_for_which_a_figure_says_nothing_are_left_out() -> None:
    moment = Domain.from_json(
        {
            "attributes": [
                {
                    "name": "at",
                    "kind": "datetime",
                    "low": "2020-01-01T00:00:00",
                    "high": "2020-12-31T23:00:00",
                    "provenance": "declared",
                }
            ]
        }
    ).attribute("at")
    number = Number(name="x", low=0, high=1)
    domain = Domain(attributes=(moment, number))
    few = {"at": raw([63e9, 63e9]), "x": raw([0.1, 0.2, 0.3])}

    class Alike:
        """Both sides alike."""

        column_entries = Sides.column_entries

        def __init__(self) -> None:
            self.domain = domain

        def counted(self, _name: str) -> Json:
            return {"real": few, "synthetic": few}

    for figure in (date_gaps.FIGURE, last_digits.FIGURE, missing_markers.FIGURE):
        assert figure.entry(Alike()) is None  # type: ignore[arg-type]


def raw(values: list[float]) -> RawColumn:
    return RawColumn(private=False, records=len(values), numbers=numbers(values))


def test_a_private_comparison_has_none_of_them() -> None:
    codes = {"sold": np.array([1]), "price": np.array([1])}
    private = report.tally(tallies.CodedTable(codes=codes, domain=DOMAIN))
    made = report.compare(private, private, DOMAIN)
    assert made["date_gaps"] is made["last_digits"] is made["missing_markers"] is None
