"""Figures: valid for Plotly, true to the report, honest about what is real."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree

import numpy as np
import plotly.graph_objects as go
import pytest

from synth_engine.domain import Boolean, Domain, Integer
from synth_engine.evaluation import cards, report, style, view
from synth_engine.evaluation.bars import arrange
from synth_engine.evaluation.figures import dependence, pairs
from synth_engine.evaluation.figures.columns import histogram
from synth_engine.evaluation.figures.dependence import nmi_heatmap
from synth_engine.evaluation.figures.pairs import tvd_heatmap
from synth_engine.evaluation.plots import Figure
from synth_engine.evaluation.thumbnails import MAX_BARS, thumbnail
from tests.engine.evaluation.tables import DOMAIN, HOSTILE, codes, compared, tally

MADE = compared(codes(400, seed=1), codes(300, seed=2))
PRIVATE = report.compare(
    tally(codes(40, seed=1), private=True), tally(codes(40, seed=2), private=True), DOMAIN
)
RED = "Real data — not differentially private"


def every_figure(made: report.Report) -> dict[str, Figure]:
    drawn = {name: histogram(made, name) for name in made["columns"]}
    drawn |= {
        f"nmi {which}": nmi_heatmap(made, which)
        for which in ("real", "synthetic", "difference")
    }
    return drawn | {"tvd": tvd_heatmap(made)}


def traces(figure: Figure) -> dict[str, Any]:
    return {trace["name"]: trace for trace in figure["data"]}


@pytest.mark.parametrize("name", every_figure(MADE))
def test_plotly_accepts_every_figure_and_json_holds_it(name: str) -> None:
    figure = every_figure(MADE)[name]
    go.Figure(figure)
    json.dumps(figure, allow_nan=False)
    assert len(figure["layout"]["meta"]["words"]) > 30


def test_a_figure_on_real_data_says_so_in_itself_and_a_private_one_does_not() -> None:
    for figure in every_figure(MADE).values():
        assert [each["text"] for each in figure["layout"]["annotations"]] == [RED]
    for figure in every_figure(PRIVATE).values():
        assert RED not in json.dumps(figure, ensure_ascii=False)


@pytest.mark.parametrize(
    "name", ["age", "gain", "height <m>", "member", "born", "colour", "place"]
)
def test_bars_show_the_shares_of_the_report(name: str) -> None:
    entry = next(entry for entry in MADE["attributes"] if entry["name"] == name)
    drawn = traces(histogram(MADE, name))
    for side in ("real", "synthetic"):
        trace = drawn[side]
        if trace["type"] == "scatter":  # an outline: two points a bin
            heights = [height for height in trace["y"] if height is not None][::2]
        else:
            heights = trace["x"] if trace.get("orientation") == "h" else trace["y"]
        assert sum(heights) == pytest.approx(1.0)
        if name != "place":
            assert sorted(heights) == sorted(entry["shares"][side])


def test_real_is_solid_slate_blue_and_synthetic_is_orange_with_a_pattern_or_dashed() -> None:
    few, many = (
        traces(histogram(MADE, "colour")),
        traces(histogram(MADE, "age")),
    )
    assert few["real"]["marker"]["color"] == many["real"]["marker"]["color"] == style.REAL
    assert "pattern" not in few["real"]["marker"]
    assert (
        few["synthetic"]["marker"]["color"]
        == many["synthetic"]["line"]["color"]
        == style.SYNTHETIC
    )
    assert few["synthetic"]["marker"]["pattern"]["shape"] == "/"
    assert many["synthetic"]["line"]["dash"] != "solid"


def test_whole_numbers_stand_on_their_values_and_missing_stands_apart() -> None:
    figure = histogram(MADE, "age")
    bars = traces(figure)["real"]
    assert bars["x"][:3] == pytest.approx([0.0, 1.0, 2.0])
    assert bars["x"][-1] > 100
    assert figure["layout"]["xaxis"]["ticktext"][-1] == "missing"


def test_bins_of_unequal_width_are_evenly_spaced_and_named() -> None:
    figure = histogram(MADE, "gain")
    assert figure["layout"]["xaxis"]["ticktext"] == ["0", "1 to 99", "100 to 10000"]
    assert set(traces(figure)["real"]["width"]) == {0.44}


def test_categories_beyond_thirty_are_one_bar_together() -> None:
    figure = histogram(MADE, "place")
    assert figure["layout"]["yaxis"]["ticktext"][-1] == "50 more"
    assert len(figure["layout"]["yaxis"]["ticktext"]) == 31


def test_others_that_would_dwarf_the_thirty_are_told_in_numbers() -> None:
    names = [f"v{place}" for place in range(2030)]
    sides = {"real": [1e-2] * 30 + [3.5e-4] * 2000, "synthetic": [5e-3] * 30 + [4.25e-4] * 2000}
    (bars, _), layout = arrange(
        {"labels": names, "shares": sides, "ordered": False, "cuts": None}
    )
    assert layout["yaxis"]["ticktext"][-1] == "2\u202f000 more: 70%, 85%"
    assert layout["xaxis"]["range"] == [0, pytest.approx(1.1e-2)] and bars["x"][
        -1
    ] == pytest.approx(0.7)


def test_values_that_nobody_has_are_no_bars_where_there_are_many_and_a_small_rest_fits() -> (
    None
):
    names = [f"v{place}" for place in range(60)]
    shares = [0.02 * (place < 25) + 0.1 * (place < 5) for place in range(60)]
    entry = {
        "labels": names,
        "shares": {"real": shares, "synthetic": shares},
        "ordered": False,
        "cuts": None,
    }
    (bars, _), layout = arrange(entry)
    assert layout["yaxis"]["ticktext"][-1] == "35 more" and len(bars["x"]) == 26
    assert "range" not in layout["xaxis"]


def test_thousands_of_ordered_codes_are_drawn_as_a_few_hundred_bars() -> None:
    many = Domain(
        attributes=(
            Integer(name="a", low=0, high=9_000, width=1, missing=("",)),
            Integer(name="b", low=0, high=1),
        )
    )
    figure = histogram(
        compared(codes(900, seed=1, domain=many), codes(900, seed=2, domain=many), domain=many),
        "a",
    )
    bars = traces(figure)["real"]
    assert 300 < len(bars["y"]) <= 401
    assert sum(bars["y"]) == pytest.approx(1.0)
    assert bars["customdata"][0] == "0 … 22" and bars["customdata"][-1] == "(missing)"
    assert bars["x"][0] == pytest.approx(11.0) and bars["width"][0] == pytest.approx(23.0)


def test_the_two_dependence_maps_share_one_scale_and_white_is_zero_in_their_difference() -> (
    None
):
    real, synthetic, difference = (
        nmi_heatmap(MADE, which)["data"][0] for which in ("real", "synthetic", "difference")
    )
    assert (real["zmin"], real["zmax"], real["colorscale"]) == (
        0.0,
        synthetic["zmax"],
        synthetic["colorscale"],
    )
    assert difference["zmin"] == -difference["zmax"] and difference["zmid"] == 0.0
    assert dict(map(tuple, difference["colorscale"]))[0.5] == "#ffffff"
    # A triangle: names down from the second one, names across up to the last but one.
    assert difference["y"][:-1] == difference["x"][1:] and len(difference["z"]) == 6
    grey = nmi_heatmap(MADE, "difference")["data"][1]
    for row in range(6):
        for place in range(6):
            shown = [trace["z"][row][place] for trace in (difference, grey)]
            drawn = [value for value in shown if value is not None]
            assert len(drawn) == (place <= row)
            if drawn:
                # Each map rounds its own numbers to six digits.
                assert drawn[0] == pytest.approx(
                    synthetic["z"][row][place] - real["z"][row][place], abs=2e-6
                )


def test_a_category_that_looks_like_a_tag_is_not_one() -> None:
    figure = histogram(MADE, "colour")
    assert "<b>" not in json.dumps(figure["data"]) + json.dumps(figure["layout"]["yaxis"])


@pytest.mark.parametrize("entry", MADE["attributes"], ids=lambda entry: entry["name"])
def test_thumbnails_are_wellformed_small_and_named(entry: dict[str, Any]) -> None:
    picture = ElementTree.fromstring(thumbnail(entry))  # our own
    assert entry["name"] in (picture.get("aria-label") or "")
    solid = next(path for path in picture if path.get("class") == "thumb-real").get("d") or ""
    assert 1 <= solid.count("M") <= min(MAX_BARS, len(entry["labels"]))


def test_cards_come_worst_first_with_their_tables_and_texts() -> None:
    shown = view.lay_out(MADE)
    assert shown.red == RED and view.lay_out(PRIVATE).red == ""
    assert [thumb.name for thumb in shown.strip] == [
        entry["name"] for entry in MADE["attributes"]
    ]
    assert [thumb.target for thumb in shown.strip] == [card.key for card in shown.histograms]
    cards = [card for key in ("columns", "dependence", "groups") for card in shown.cards(key)]
    assert all(card and card.what and card.how and card.table.rows for card in cards)
    assert len({card.key for card in cards if card}) == len(cards)
    assert len(shown.cards("groups")[0].table.rows) == 21
    place = next(card for card in shown.histograms if card.title == "place")
    assert len(place.table.rows) == 80
    colour = next(card for card in shown.histograms if card.title == "colour")
    assert HOSTILE in [row[0] for row in colour.table.rows]


def test_a_table_says_how_many_rows_are_in_the_export_alone() -> None:
    rows = [(str(number),) for number in range(cards.MAX_TABLE_ROWS + 5)]
    assert cards.make_table("Rows", ("Row",), rows).more == 5
    first = cards.make_table("Rows", ("Row",), rows[: cards.MAX_TABLE_ROWS], of=len(rows))
    assert (len(first.rows), first.more) == (cards.MAX_TABLE_ROWS, 5)
    assert cards.make_table("Rows", ("Row",), rows[:3]).more == 0


def test_maps_of_many_pairs_list_the_first_of_them() -> None:
    domain = Domain(attributes=tuple(Boolean(name=f"b{place}") for place in range(26)))
    rng = np.random.default_rng(0)
    real, other = ({name: rng.integers(0, 2, 60) for name in domain.names} for _ in range(2))
    report = compared(real, other, domain=domain)
    made = [*dependence.FIGURE.cards(report), *pairs.FIGURE.cards(report)]
    # Of 26 columns there are 325 pairs.
    assert {(len(card.table.rows), card.table.more) for card in made} == {(300, 25)}
