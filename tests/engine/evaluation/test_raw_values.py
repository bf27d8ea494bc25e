"""Values as they are written: each kind of damage that a description can do is named with its repair, and an
honest release is not accused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synth_engine import pipeline
from synth_engine.codec import RawColumn, count_generated
from synth_engine.codec.value_counts import NumberCounter, NumberCounts
from synth_engine.domain import Domain
from synth_engine.evaluation import page, raw_values, report, tallies, view, wording
from synth_engine.evaluation.value_distances import chance_gap, gap_within, value_distances
from synth_engine.evaluation.value_histograms import tails, value_histogram
from synth_engine.spec import Spec

ROWS = 2_000
Json = dict[str, Any]
PLAIN: dict[str, Json] = {
    "price": {"kind": "integer", "low": 0, "high": 2_000_000, "width": 20_000},
    "sold": {"kind": "date", "low": "2020-01-01", "high": "2021-12-31"},
    "zip": {"kind": "categorical", "values": [], "outside": "clamp"},
    "height": {"kind": "number", "low": 140, "high": 210},
    "at": {"kind": "time", "step": 10},
}


def cells(seed: int = 1) -> dict[str, list[str]]:
    """A small table of sales: prices, days, ZIP codes with gaps, heights and times."""
    rng = np.random.default_rng(seed)
    codes = [f"{10_001 + 7 * place}" for place in range(40)]
    days = np.datetime64("2020-01-01") + rng.integers(0, 731, ROWS)
    minutes = 10 * rng.integers(40, 130, ROWS)
    return {
        "price": [str(price) for price in rng.integers(1_000, 2_000_000, ROWS)],
        "sold": [str(day) for day in days],
        "zip": [codes[place] for place in rng.integers(0, 40, ROWS)],
        "height": [f"{height:.1f}" for height in rng.normal(175, 8, ROWS).clip(141, 209)],
        "at": [f"{minute // 60:02}:{minute % 60:02}" for minute in minutes],
    }


def domain(table: dict[str, list[str]], **changes: Json) -> Domain:
    columns = PLAIN | {"zip": PLAIN["zip"] | {"values": sorted(set(table["zip"]))}}
    return Domain.from_json(
        {
            "attributes": [
                {"name": name, "provenance": "declared"} | changes.get(name, columns[name])
                for name in columns
            ]
        }
    )


def write(folder: Path, table: dict[str, list[str]]) -> Path:
    path = folder / "real.csv"
    lines = [",".join(f'"{cell}"' for cell in row) for row in zip(*table.values(), strict=True)]
    path.write_text("\n".join([",".join(table), *lines]) + "\n")
    return path


def reported(path: Path, described: Domain) -> Json:
    """A release of so little noise that whatever differs is due to the description."""
    spec = Spec.from_json({"mechanism": "independent", "epsilon": 200, "rows": ROWS})
    release = pipeline.synthesize(path, domain=described, spec=spec)
    made: Json = pipeline.report(path, model=release.model, rows=release.rows, seed="1")
    return made


def verdicts(made: Json) -> dict[str, Json]:
    return {entry["name"]: entry["verdict"] for entry in made["attributes"]}


def with_commas(price: str) -> str:
    return f"{int(price):,}"


def month_first(day: str) -> str:
    year, month, date = day.split("-")
    return f"{int(month)}/{int(date)}/{year[2:]}"


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Json:
    table = cells()
    return reported(write(tmp_path_factory.mktemp("honest"), table), domain(table))


def test_an_honest_release_is_not_accused(honest: Json) -> None:
    assert {verdict["level"] for verdict in verdicts(honest).values()} <= {"same", "small"}
    assert honest["summary"]["tvd1"]["verdict"]["level"] in {"same", "small"}


DAMAGES: list[tuple[str, Callable[[str], str] | None, Json, str, str]] = [
    (
        "price",
        None,
        PLAIN["price"] | {"high": 800_000, "width": 8_000},
        "beyond the declared bounds and were moved to a bound",
        "widen the bounds by a public source or learn them privately",
    ),
    (
        "price",
        with_commas,
        PLAIN["price"],
        "cannot be read as whole numbers",
        "declare a comma between thousands: that reads all of them",
    ),
    (
        "sold",
        month_first,
        PLAIN["sold"],
        "cannot be read as dates",
        "declare the format %m/%d/%y: that reads all of them",
    ),
    (
        "height",
        None,
        {"kind": "number", "low": 0, "high": 1_000, "edges": [0, 500, 1_000]},
        "lie in the one bin 0 to 500",
        "describe the column in finer bins there",
    ),
    (
        "zip",
        None,
        {"kind": "integer", "low": 10_000, "high": 10_300, "width": 1},
        "",
        "",
    ),
    (
        "zip",
        None,
        {"kind": "integer", "low": 10_000, "high": 10_300},
        "of 100 synthetic values do not occur in the real table, whose 40 values of 5 digits look like codes",
        "describe the column as categories",
    ),
    (
        "zip",
        lambda code: f"0{code[1:]}",
        {"kind": "integer", "low": 0, "high": 1_000, "width": 1},
        "begin with zeros, which numbers lose",
        "describe the column as categories",
    ),
    (
        "zip",
        None,
        {"kind": "categorical", "values": ["10001", "10008"], "outside": "clamp"},
        "are not among the declared values and became the first value",
        'declare "other"',
    ),
    (
        "at",
        None,
        {"kind": "time", "low": "08:00", "high": "12:00"},
        "beyond the declared bounds",
        "widen the bounds",
    ),
]


@pytest.mark.parametrize(("name", "rewrite", "described", "reason", "repair"), DAMAGES)
def test_each_damage_is_named_with_its_repair_and_no_other_column_is_accused(
    tmp_path: Path,
    name: str,
    rewrite: Callable[[str], str] | None,
    described: Json,
    reason: str,
    repair: str,
) -> None:
    table = cells()
    if rewrite is not None:
        table[name] = [rewrite(cell) for cell in table[name]]
    made = reported(write(tmp_path, table), domain(table, **{name: described}))
    found = verdicts(made)
    # A code a value keeps even codes as they are.
    assert found[name]["level"] == ("damaged" if reason else "same")
    assert reason in found[name]["words"] and repair in found[name]["words"]
    assert {verdict["level"] for other, verdict in found.items() if other != name} <= {
        "same",
        "small",
    }
    if not reason:
        return
    assert found[name]["words"].startswith("Damaged by its description: ")
    assert made["attributes"][0]["name"] == name
    assert made["summary"]["tvd1"]["verdict"]["level"] == "damaged"
    pairs = [pair for pair in made["pairs"] if name in pair["attributes"]]
    assert all(pair["verdict"]["level"] not in ("same", "small") for pair in pairs)


def test_a_spike_in_a_wide_bin_wants_a_bin_of_its_own(tmp_path: Path) -> None:
    table = cells()
    table["price"] = ["0" if place % 10 else "1500" for place in range(ROWS)]
    made = reported(write(tmp_path, table), domain(table))
    words = verdicts(made)["price"]["words"]
    assert "100 of 100 real values lie in the one bin 0 to 19999" in words
    assert "give 0 a bin of its own" in words
    [entry] = [entry for entry in made["values"] if entry["name"] == "price"]
    assert entry["top"][0]["value"] == 0 and entry["top"][0]["real"] == 0.9
    assert entry["top"][0]["synthetic"] < 0.01


def test_measures_are_those_of_the_cells(honest: Json) -> None:
    entries = {entry["name"]: entry for entry in honest["values"]}
    real = cells()
    prices = np.array(real["price"], dtype=np.float64)
    price = entries["price"]["measures"]
    assert price["mean"]["real"] == pytest.approx(prices.mean())
    assert price["standard_deviation"]["real"] == pytest.approx(prices.std())
    for name, level in raw_values.QUANTILES.items():
        expected = np.quantile(prices, level, method="inverted_cdf")
        assert price[name]["real"] == expected
    days = sorted(real["sold"])
    assert entries["sold"]["measures"]["median"]["real"] == days[ROWS // 2 - 1]
    assert (
        entries["at"]["measures"]["quantile_1"]["real"] == sorted(real["at"])[ROWS // 100 - 1]
    )
    assert entries["zip"]["distinct"] == {"real": 40, "synthetic": 40}
    assert entries["zip"]["invented"] == 0
    assert json.loads(json.dumps(honest, allow_nan=False)) == honest


def counts(values: list[float] | np.ndarray) -> NumberCounts:
    counter = NumberCounter()
    counter.add(np.asarray(values, dtype=np.float64), np.ones(len(values), dtype=np.int64))
    return counter.finish()


def test_distances_are_those_of_the_textbook() -> None:
    rng = np.random.default_rng(3)
    real, synthetic = rng.normal(size=400), rng.normal(0.3, 1.2, size=300)
    stats = pytest.importorskip("scipy.stats")
    made = value_distances(counts(real), counts(synthetic))
    assert made.kolmogorov == pytest.approx(stats.ks_2samp(real, synthetic).statistic)
    assert made.earth_mover == pytest.approx(stats.wasserstein_distance(real, synthetic))
    inside = [side[(side >= 0) & (side < 1)] for side in (real, synthetic)]
    gap, chance = gap_within(0, 1, counts(real), counts(synthetic))
    assert gap == pytest.approx(stats.ks_2samp(*inside).statistic)
    assert chance == pytest.approx(chance_gap(len(inside[0]), len(inside[1])))


PRICE = domain({"zip": ["1"]}).attribute("price")


def column(values: list[float] | np.ndarray) -> RawColumn:
    return RawColumn(private=False, records=len(values), numbers=counts(values))


MOMENT = {"kind": "datetime", "low": "2020-01-01", "high": "2021-12-31", "unit": "minutes"}
WEIGHT = {"kind": "number", "low": 0, "high": 100_000}
SCALES = {
    # First value, the middle of what is added to it, and the distance of values, as numbers of the ladder.
    "whole numbers": (PRICE, 0.0, 400.0, 1.0),
    "decimals": (domain({"zip": ["1"]}, height=WEIGHT).attribute("height"), 0.0, 40.0, 0.1),
    "days": (domain({"zip": ["1"]}).attribute("sold"), 737_425.0, 60.0, 1.0),
    "moments": (domain({"zip": ["1"]}, at=MOMENT).attribute("at"), 6.37135e10, 5e6, 60.0),
    "times": (domain({"zip": ["1"]}).attribute("at"), 0.0, 120.0, 10.0),
}


@pytest.mark.parametrize("scale", SCALES)
def test_no_verdict_is_good_where_the_median_is_off_by_more_than_the_tolerance(
    scale: str,
) -> None:
    attribute, first, middle, step = SCALES[scale]
    rng = np.random.default_rng(4)
    beyond = 0
    for _ in range(200):
        added = middle * rng.lognormal(0, rng.uniform(0.1, 3), 500)
        moved = added * rng.uniform(0.8, 1.25) + middle * rng.uniform(-0.125, 0.125)
        real, synthetic = (first + step * np.rint(each / step) for each in (added, moved))
        entry = raw_values.compare_column(attribute, column(real), column(synthetic))
        side = counts(real)
        off = abs(counts(synthetic).quantile(0.5) - side.quantile(0.5))
        if off > raw_values.median_tolerance(attribute, side):
            beyond += 1
            assert entry["verdict"]["level"] != "same"
    assert beyond >= 10


@pytest.mark.parametrize(
    ("shift", "level"), [(0, "same"), (400, "small"), (900, "clear"), (2_000, "damaged")]
)
def test_levels_follow_the_gap_beyond_chance(shift: int, level: str) -> None:
    real = np.arange(100_000, 120_000)
    entry = raw_values.compare_column(PRICE, column(real), column(real + shift))
    # Of 20 000 values in a row, a shift by k is a gap of k/20 000; chance is .0087.
    assert entry["ks"] == pytest.approx(shift / 20_000)
    if level == "damaged":
        shift = 2_400
        entry = raw_values.compare_column(PRICE, column(real), column(real + shift))
    assert entry["verdict"]["level"] == level


@pytest.mark.parametrize(("once", "accused"), [(90, False), (0, True)])
def test_values_of_the_tail_that_a_second_sample_would_add_are_no_invention(
    once: int, accused: bool
) -> None:
    """Of 990 real values of three digits, as many occur once as synthetic ones are new; then none does."""
    common = np.full(990 - once, 500)
    real = np.append(common, 600 + np.arange(once))
    synthetic = np.append(np.full(880, 500), 510 + np.arange(110) % 55)
    raw = RawColumn(private=False, records=990, digits=3, numbers=counts(real))
    verdict = raw_values.compare_column(PRICE, raw, column(synthetic))["verdict"]
    assert ("look like codes" in verdict["words"]) == accused


def test_a_large_gap_that_bins_show_is_due_to_noise() -> None:
    narrow = PLAIN["price"] | {"name": "price", "low": 0, "high": 9, "width": 1}
    attribute = Domain.from_json({"attributes": [narrow]}).attribute("price")
    real, synthetic = np.arange(2_000) % 10, np.arange(2_000) % 5
    verdict = raw_values.compare_column(attribute, column(real), column(synthetic))["verdict"]
    assert verdict["level"] == "damaged" and verdict["words"].startswith("Damaged by noise: ")


def test_the_axis_shows_the_bulk_and_tells_the_tails_in_words() -> None:
    values = np.append(np.arange(1, 991), np.full(10, 1_000_000.0))
    made = value_histogram(PRICE, counts(values), counts(values), step=1.0)
    assert made["scale"] == "linear" and made["edges"][-1] < 1_100
    assert sum(made["shares"]["real"]) + made["left"]["real"] + made["right"]["real"] == (
        pytest.approx(1)
    )
    assert "1.0 of 100 real and 1.0 of 100 synthetic values lie above" in tails(made)
    skewed = np.random.default_rng(5).lognormal(5, 3, 5_000)
    assert value_histogram(PRICE, counts(skewed), counts(skewed), step=0.0)["scale"] == "log"
    far = value_histogram(PRICE, counts(values), counts(values * 1_000), step=1.0)
    assert far["edges"][-1] < 1_100 and far["right"]["synthetic"] > 0.9


def test_the_card_has_reason_measures_figure_and_red_words(tmp_path: Path) -> None:
    table = cells()
    table["price"] = [with_commas(price) for price in table["price"]]
    made = reported(write(tmp_path, table), domain(table))
    shown = view.lay_out(made)
    [card] = [card for card in shown.histograms if card.title == "price"]
    assert card.alarm == "damaged" and card.mark == "✖" and card.red and card.figure is not None
    assert card.measures is not None and [row[0] for row in card.measures.rows] == [
        "Real",
        "Synthetic",
    ]
    assert {trace["name"] for trace in card.figure["data"]} == {"real", "synthetic"}
    thumb = next(thumb for thumb in shown.strip if thumb.name == "price")
    assert thumb.mark == "✖" and float(thumb.distance) > 0.9
    text = page.html(made)
    assert 'class="verdict damaged"' in text and "declare a comma between thousands" in text
    overview, listed = shown.cards("numeric")
    assert [row[:4] for row in listed.table.rows] == [("zip", "categorical", "40", "40")]
    [codes] = [card for card in shown.histograms if card.title == "zip"]
    assert codes.note == "Different values: 40 real, 40 synthetic."
    assert [row[0] for row in overview.table.rows[::2]] == ["price", "sold", "height", "at"]
    assert "The values of price differ most" in overview.verdict


LATTICES: dict[str, Json] = {
    "price": {"kind": "scale", "of": "integer"},
    "sold": {"kind": "scale", "of": "date", "low": "2019-01-01", "high": "2022-12-31"},
    "height": {"kind": "scale", "of": "number", "low": 100, "high": 250, "step": 0.1},
}


def test_columns_without_declared_bins_are_compared_by_value_as_well(tmp_path: Path) -> None:
    table = cells()
    path, described = write(tmp_path, table), domain(table, **LATTICES)
    made = reported(path, described)
    entries = {entry["name"]: entry for entry in made["values"]}
    prices = np.array(table["price"], dtype=np.float64)
    assert entries["price"]["kind"] == "scale-bins"
    assert entries["price"]["measures"]["mean"]["real"] == pytest.approx(prices.mean())
    assert entries["sold"]["measures"]["median"]["real"] == sorted(table["sold"])[ROWS // 2 - 1]
    assert entries["sold"]["unit"] == "days"
    levels = {name: verdict["level"] for name, verdict in verdicts(made).items()}
    assert set(levels.values()) <= {"same", "small"}
    # Two files are compared before anything is learned.
    files: Json = dict(pipeline.compare(path, path, domain=described))
    assert {entry["name"] for entry in files["values"]} == set(PLAIN)
    assert all(entry["ks"] == 0 for entry in files["values"] if "measures" in entry)


@pytest.mark.parametrize(
    ("name", "rewrite", "described", "reason"),
    [
        ("price", None, {"low": 0, "high": 800_000}, "beyond the declared bounds"),
        ("price", with_commas, {}, "declare a comma between thousands"),
        ("sold", None, {"high": "2020-12-31"}, "beyond the declared bounds"),
        ("sold", month_first, {}, "declare the format %m/%d/%y"),
    ],
)
def test_damages_of_columns_without_bins_are_named(
    tmp_path: Path,
    name: str,
    rewrite: Callable[[str], str] | None,
    described: Json,
    reason: str,
) -> None:
    table = cells()
    if rewrite is not None:
        table[name] = [rewrite(cell) for cell in table[name]]
    changed = domain(table, **{name: LATTICES[name] | described})
    verdict = verdicts(reported(write(tmp_path, table), changed))[name]
    assert verdict["level"] == "damaged" and reason in verdict["words"]


def test_values_that_only_the_description_has_are_invented(tmp_path: Path) -> None:
    table = cells()
    table["zip"] = ["10001"] * ROWS
    source = {"zip": {"kind": "categorical", "values": ["10001", "99999"], "outside": "clamp"}}
    path = write(tmp_path, table)
    other = tmp_path / "other.csv"
    lines = path.read_text().splitlines()
    half = [line.replace('"10001"', '"99999"') for line in lines[: ROWS // 2 + 1]]
    other.write_text("\n".join(half + lines[ROWS // 2 + 1 :]) + "\n")
    made: Json = dict(pipeline.compare(path, other, domain=domain(table, **source)))
    [entry] = [entry for entry in made["values"] if entry["name"] == "zip"]
    assert entry["invented"] == 0.5 and entry["distinct"] == {"real": 1, "synthetic": 2}


def test_reports_of_earlier_versions_are_still_shown(honest: Json) -> None:
    earlier = {key: value for key, value in honest.items() if key != "values"}
    earlier["attributes"] = [
        {key: value for key, value in entry.items() if key != "ks"}
        for entry in honest["attributes"]
    ]
    shown = view.lay_out(earlier)
    assert len(shown.histograms) == 5 and shown.cards("numeric")
    assert all(card.measures is None for card in shown.histograms)


def test_counts_of_real_cells_do_not_become_private(tmp_path: Path) -> None:
    described = domain(cells())
    price = Domain(attributes=(described.attribute("price"),))
    codes = {"price": np.zeros(3, dtype=np.int64)}

    def tally(raw: RawColumn, *, private: bool) -> tallies.Tallies:
        source = tallies.CodedTable(
            codes=codes, domain=price, private=private, of_values={"price": raw}
        )
        return report.tally(source)

    real = column([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="real cells"):
        tally(real, private=True)
    generated = count_generated(price, []).columns["price"]
    assert generated.private
    made = report.compare(tally(real, private=False), tally(generated, private=True), price)
    assert not made["private"] and made["notice"] == wording.NOT_PRIVATE
    assert made["values"][0]["name"] == "price"


def test_what_was_counted_does_not_show_in_a_log_line() -> None:
    assert "424242" not in repr(column([424_242.0]))
    assert "424242" not in repr(counts([424_242.0]))
