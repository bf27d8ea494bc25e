"""From where to where records go: distances, curves and their gap, implicates, averages and their errors,
flows."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from plotly import graph_objects
from scipy import stats

from synth_engine.domain import Categorical, Domain, Number, Place, PointSet, Totals
from synth_engine.domain.partitions import Partition
from synth_engine.evaluation import (
    anchors,
    commute_cards,
    commute_maps,
    curves,
    page,
    regions,
    report,
    tallies,
    view,
)
from synth_engine.evaluation import commutes as figures_of
from synth_engine.evaluation.cards import Card
from synth_engine.evaluation.commute_view import CommuteView, NamedPoint
from synth_engine.evaluation.commutes import Flows
from synth_engine.evaluation.figures import commutes as commute_figure
from synth_engine.indexing import places
from synth_engine.indexing.commutes import commutes, kilometres
from synth_engine.privacy.unit import Relation

HOMES = {"hill": (41.5, -71.5), "port": (41.6, -71.4), "wood": (41.9, -71.6)}
WORKS = {"mill": (41.6, -71.4), "<dock>": (41.8, -71.4)}


def towns(*, totals: bool = False, other: bool = False) -> Domain:
    """Homes and works by name, each with a public point."""
    home = Categorical(
        name="home", values=tuple(HOMES), outside="other" if other else "clamp", other=other
    )
    work = Categorical(name="work", values=tuple(WORKS), outside="clamp")
    points = tuple(
        PointSet(column=name, at=tuple((*at, 1.0) for at in known.values()))
        for name, known in (("home", HOMES), ("work", WORKS))
    )
    public = (
        {"totals": Totals(column="work", counts=(5, 7)), "relation": Relation.REPLACE_ONE}
        if totals
        else {}
    )
    return Domain(attributes=(home, work), points=points, **public)


def cells() -> Domain:
    """Homes and works by latitude and longitude, in cells of a hundredth of a degree."""

    def number(name: str, low: float) -> Number:
        edges = tuple(round(low + 0.01 * step, 6) for step in range(51))
        return Number(name=name, low=edges[0], high=edges[-1], edges=edges, missing=("",))

    attributes = (number("a", 41.5), number("b", -71.7), number("c", 41.5), number("d", -71.7))
    home, work = (
        Place(name="home", latitude="a", longitude="b"),
        Place(name="work", latitude="c", longitude="d"),
    )
    return Domain(attributes=attributes, places=(home, work))


def drawn(domain: Domain, size: int, *, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        name: rng.integers(0, min(codes, 50), size).astype(np.uint16)
        for name, codes in domain.sizes.items()
    }


def flows(domain: Domain, codes: dict[str, np.ndarray]) -> Flows:
    (commute,) = commutes(domain)
    return Flows.of(
        commute, tallies.ContingencyTable(commute.shape, *commute.tally(codes.__getitem__))
    )


def each_record(domain: Domain, codes: dict[str, np.ndarray]) -> np.ndarray:
    """Kilometres of every record, one by one."""
    if domain.places:
        degrees = [places.centres(domain, name)[codes[name]] for name in domain.names]
        return places.great_circle(*degrees)
    home, work = (
        np.array([*known.values()])[codes[name]]
        for name, known in (("home", HOMES), ("work", WORKS))
    )
    return places.great_circle(home[:, 0], home[:, 1], work[:, 0], work[:, 1])


def shown(
    domain: Domain,
    real: dict[str, np.ndarray] | None,
    synthetic: dict[str, np.ndarray],
    **chosen: Any,
) -> CommuteView:
    sides = {"synthetic": flows(domain, synthetic)}
    sides = sides if real is None else {"real": flows(domain, real), **sides}
    (commute,) = commutes(domain)
    given = {
        "near": NamedPoint("port", 41.6, -71.4),
        "within_km": 8.0,
        "short_km": 10.0,
        "unit": curves.KILOMETRES,
        "choice": next(iter(regions.choices(commute, domain))),
    }
    return CommuteView(domain=domain, commute=commute, sides=sides, **(given | chosen))


def tally(domain: Domain, codes: dict[str, np.ndarray], *, private: bool) -> tallies.Tallies:
    return report.tally(tallies.CodedTable(codes=codes, domain=domain, private=private))


# ---- ends and distances
# ------------------------------------------------------------------------------------------


def test_two_columns_with_points_and_two_places_are_commutes_and_one_alone_is_none() -> None:
    assert [each.pair for each in commutes(towns())] == [("home", "work")]
    assert [each.pair for each in commutes(cells())] == [("home", "work")]
    assert commutes(replace(towns(), points=towns().points[:1])) == ()
    assert commutes(replace(cells(), places=cells().places[:1])) == ()


def test_a_column_with_public_totals_is_where_records_go() -> None:
    domain = towns(totals=True)
    swapped = replace(domain, attributes=domain.attributes[::-1], points=domain.points[::-1])
    assert commutes(swapped)[0].pair == ("home", "work")
    assert commutes(replace(swapped, totals=None, invariants=()))[0].pair == ("work", "home")


@pytest.mark.parametrize("domain", [towns(), cells()], ids=["towns", "cells"])
def test_tallies_hold_every_record_at_its_distance(domain: Domain) -> None:
    codes = drawn(domain, 4_000, seed=1)
    found = flows(domain, codes)
    assert found.total == 4_000 and found.missing == 0
    assert np.allclose(
        np.sort(np.repeat(found.km, found.counts)), np.sort(each_record(domain, codes))
    )
    assert found.mean_km == pytest.approx(each_record(domain, codes).mean())


def test_records_that_lie_nowhere_are_counted_apart() -> None:
    domain = towns(other=True)
    found = flows(domain, {"home": np.array([0, 3, 3]), "work": np.array([0, 0, 1])})
    assert (found.total, found.missing) == (1, 2)
    where = cells()
    codes = {name: np.array([0, 50 if name == "c" else 0]) for name in where.names}
    assert (flows(where, codes).total, flows(where, codes).missing) == (1, 1)


def test_no_cell_is_beyond_the_last_bin_and_all_are_counted() -> None:
    for domain in (towns(), cells()):
        found = flows(domain, drawn(domain, 3_000, seed=2))
        cuts = figures_of.edges(found.commute)
        assert found.km.max() <= cuts[-1]
        assert figures_of.bin_distances(found, cuts).sum() == 3_000


def test_homes_near_a_point_are_those_whose_great_circle_is_short_enough() -> None:
    domain = cells()
    codes = drawn(domain, 3_000, seed=3)
    north, east = (places.centres(domain, name)[codes[name]] for name in ("a", "b"))
    away = places.great_circle(north, east, np.full(3_000, 41.7), np.full(3_000, -71.5))
    near = flows(domain, codes).homes_within(12.0, north=41.7, east=-71.5)
    assert near.total == int((away <= 12.0).sum()) > 50
    assert flows(domain, codes).up_to(9.0).total == int(
        (each_record(domain, codes) <= 9.0).sum()
    )


# ---- curves
# ------------------------------------------------------------------------------------------------------


def test_the_gap_is_that_of_kolmogorov_and_smirnov_without_bins() -> None:
    domain = cells()
    first, second = (
        drawn(domain, 900, seed=4),
        drawn(domain, 700, seed=5) | {"c": drawn(domain, 700, seed=5)["a"]},
    )
    found, at, (low, high) = figures_of.gap(flows(domain, first), flows(domain, second))
    expected = stats.ks_2samp(each_record(domain, first), each_record(domain, second))
    assert found == pytest.approx(expected.statistic) == pytest.approx(abs(low - high))
    assert at == pytest.approx(expected.statistic_location)


def test_implicates_are_drawn_from_the_synthetic_table_and_cover_what_they_say() -> None:
    counts = np.array([300, 500, 100, 100])
    low, high = figures_of.band(counts, seed="x")
    assert (low <= counts.cumsum() / 1000).all() and (counts.cumsum() / 1000 <= high).all()
    for place, share in enumerate(counts.cumsum()[:-1] / 1000):
        law = stats.binom(1000, share)
        assert low[place] == pytest.approx(law.ppf(0.05) / 1000, abs=0.008)
        assert high[place] == pytest.approx(law.ppf(0.95) / 1000, abs=0.008)
    assert all(
        (a == b).all()
        for a, b in zip((low, high), figures_of.band(counts, seed="x"), strict=True)
    )
    assert figures_of.band(np.zeros(3, dtype=np.int64), seed="x")[1].tolist() == [0, 0, 0]


def test_the_band_of_a_comparison_does_not_depend_on_the_real_table() -> None:
    domain = cells()
    synthetic = flows(domain, drawn(domain, 500, seed=6))
    made = [
        figures_of.curve(
            {"real": flows(domain, drawn(domain, 400, seed=seed)), "synthetic": synthetic},
            seed="x",
        )
        for seed in (7, 8)
    ]
    assert made[0]["band"] == made[1]["band"]
    assert made[0]["ks"] != made[1]["ks"]


# ---- averages
# ----------------------------------------------------------------------------------------------------


def test_averages_are_those_of_each_destination() -> None:
    domain = towns()
    codes = drawn(domain, 500, seed=9)
    found = figures_of.by_destination(flows(domain, codes))
    assert found.positions.tolist() == [0, 1]
    for place in (0, 1):
        inside = codes["work"] == place
        assert found.records[place] == inside.sum()
        assert found.km[place] == pytest.approx(each_record(domain, codes)[inside].mean())


def test_errors_are_told_apart_by_real_workers_and_weighted_by_them() -> None:
    domain = towns()
    km = {
        (h, w): float(kilometres(commutes(domain)[0], np.array([h * 2 + w]))[0])
        for h in range(3)
        for w in range(2)
    }
    real = flows(
        domain, {"home": np.repeat([0, 1], [4, 30]), "work": np.repeat([0, 1], [4, 30])}
    )
    synthetic = flows(domain, {"home": np.array([2, 0]), "work": np.array([0, 1])})
    expected = [abs(km[0, 0] - km[2, 0]), abs(km[1, 1] - km[0, 1])]
    found = figures_of.errors(real, synthetic)
    assert found.workers.tolist() == [4, 30] and found.km == pytest.approx(expected)
    assert found.weighted == pytest.approx((4 * expected[0] + 30 * expected[1]) / 34)
    rows = {row["band"]: row for row in figures_of.error_rows(real, synthetic, short_km=1e4)}
    assert [
        rows[band]["destinations"] for band in ("1–5", "6–20", "21–100", "over 100", "all")
    ] == [1, 0, 1, 0, 2]
    assert (
        rows["1–5"]["all"]["mean"] == pytest.approx(expected[0]) and rows["6–20"]["all"] is None
    )
    assert rows["all"]["weighted"]["short"] == pytest.approx(found.weighted)


def test_destinations_that_the_synthetic_table_lacks_are_counted_and_not_compared() -> None:
    domain = towns()
    real = flows(domain, {"home": np.array([0, 0, 1]), "work": np.array([0, 0, 1])})
    synthetic = flows(domain, {"home": np.array([0]), "work": np.array([1])})
    found = figures_of.errors(real, synthetic)
    assert (found.km.size, found.without) == (1, 2)
    none = figures_of.errors(real, real, up_to=0.001)
    assert none.weighted is None or none.weighted == 0


# ---- parts
# -------------------------------------------------------------------------------------------------------


def test_a_matrix_by_values_is_the_contingency_table() -> None:
    domain = towns()
    codes = drawn(domain, 400, seed=10)
    (commute,) = commutes(domain)
    counts = regions.matrix(flows(domain, codes), regions.divide(commute, domain, regions.EACH))
    assert counts.tolist() == [
        [int(((codes["home"] == h) & (codes["work"] == w)).sum()) for w in (0, 1)]
        for h in (0, 1, 2)
    ]
    largest = regions.largest(counts, limit=3)
    assert [n for _, _, n in largest] == sorted(counts.ravel().tolist(), reverse=True)[:3]
    assert all(counts[a, b] == n for a, b, n in largest)


@pytest.mark.parametrize("domain", [towns(), cells()], ids=["towns", "cells"])
def test_squares_hold_the_points_that_they_are_named_for(domain: Domain) -> None:
    (commute,) = commutes(domain)
    codes = drawn(domain, 500, seed=11)
    found = flows(domain, codes)
    divided = regions.divide(commute, domain, regions.GRID)
    assert regions.matrix(found, divided).sum() == 500
    north, _ = commute.origin.at(found.origins)
    square = divided[0].of(found.origins)
    south, _, top, _ = regions.box(commute)
    side = max(top - south, 0.5 * np.cos(np.radians((south + top) / 2))) / regions.GRID_SQUARES
    assert np.abs(divided[0].north[square] - north).max() <= side / 2 + 1e-9
    assert (
        len(set(divided[0].labels)) == len(divided[0].labels) and divided[0].labels[0] == "A1"
    )


def test_a_declared_partition_adds_up_its_values_and_stands_in_their_middle() -> None:
    of = {"home": ("south", "south", "north"), "work": ("south", "north")}
    partitions = tuple(
        Partition(name="coast", column=name, of=parts_of) for name, parts_of in of.items()
    )
    domain = replace(towns(other=True), partitions=partitions)
    (commute,) = commutes(domain)
    choice = "declared:coast"
    assert list(regions.choices(commute, domain)) == [regions.EACH, choice, regions.GRID]
    divided = regions.divide(commute, domain, choice)
    assert divided[0].labels == ("north", "south") and divided[
        0
    ].north.tolist() == pytest.approx([41.9, 41.55])
    codes = {"home": np.array([0, 1, 2, 2, 3]), "work": np.array([0, 0, 0, 1, 1])}
    assert regions.matrix(flows(domain, codes), divided).tolist() == [[1, 1], [0, 2]]
    assert anchors.find("South", commute=commute, domain=domain) == NamedPoint(
        "south", pytest.approx(41.55), pytest.approx(-71.45)
    )
    assert choice not in regions.choices(commute, replace(domain, partitions=partitions[:1]))
    assert len(regions.outlines(commute, domain)) == 0, "no part has three points"


def test_outlines_hold_all_points_and_a_hull_is_convex() -> None:
    rng = np.random.default_rng(3)
    values = tuple(f"v{number}" for number in range(60))
    at = tuple((float(a), float(b), 1.0) for a, b in rng.normal((41.5, -71.5), 0.1, (60, 2)))
    attributes = tuple(
        Categorical(name=name, values=values, outside="clamp") for name in ("home", "work")
    )
    domain = Domain(
        attributes=attributes, points=tuple(PointSet(column=n, at=at) for n in ("home", "work"))
    )
    (ring,) = regions.outlines(commutes(domain)[0], domain)
    north, east = ring
    assert (north[0], east[0]) == (north[-1], east[-1])
    for a, b, _ in at:
        turns = np.diff(east) * (a - north[:-1]) - np.diff(north) * (b - east[:-1])
        assert (turns >= -1e-9).all()


def test_points_are_found_by_name_and_by_degrees_and_others_are_not() -> None:
    domain = towns()
    (commute,) = commutes(domain)
    assert anchors.find("PORT", commute=commute, domain=domain) == NamedPoint(
        "port", 41.6, -71.4
    )
    assert anchors.find("41.82, -71.41", commute=commute, domain=domain) == NamedPoint(
        "41.82, -71.41", 41.82, -71.41
    )
    for text in ("nowhere", "95, 10", "10, 200", "", "41"):
        assert anchors.find(text, commute=commute, domain=domain) is None
    assert anchors.names(commute=commute, domain=domain) == [*HOMES, *WORKS]
    busy = flows(domain, {"home": np.array([0, 0, 1]), "work": np.array([1, 1, 0])})
    assert anchors.busiest_destination(busy).name == "<dock>"


# ---- cards and reports
# -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", [towns(totals=True), cells()], ids=["towns", "cells"])
@pytest.mark.parametrize("beside", [False, True])
def test_every_card_is_drawn_with_its_table_and_says_whether_it_is_real(
    domain: Domain, beside: bool
) -> None:
    real = drawn(domain, 300, seed=12) if beside else None
    found = commute_maps.make_all(
        shown(domain, real, drawn(domain, 250, seed=13), unit=curves.MILES)
    )
    assert len(found) == (15 if beside else 8)
    for card, sheet in found:
        graph_objects.Figure(card.figure)
        json.dumps(card.figure, allow_nan=False)
        assert (
            card.key == sheet.key
            and sheet.rows
            and all(len(row) == len(sheet.head) for row in sheet.rows)
        )
        assert bool(card.red) is beside and card.price and card.figure is not None
        notes = [note["text"] for note in card.figure["layout"].get("annotations", ())]
        assert any(note.startswith("Real data") for note in notes) is beside
        assert "<dock>" not in json.dumps([trace.get("text") for trace in card.figure["data"]])
    assert len({card.key for card, _ in found}) == len(found)


def test_a_place_without_homes_leaves_words_and_no_error() -> None:
    domain = towns()
    made = commute_maps.make_all(
        shown(domain, None, drawn(domain, 50, seed=14), near=NamedPoint("sea", 0.0, 0.0))
    )
    assert "Too few records" in made[1][0].verdict


def test_a_report_has_numbers_and_both_tallies_and_gives_them_back() -> None:
    domain = towns()
    codes = drawn(domain, 300, seed=15), drawn(domain, 200, seed=16)
    made = report.compare(
        tally(domain, codes[0], private=False), tally(domain, codes[1], private=True), domain
    )
    made = json.loads(json.dumps(made, allow_nan=False))
    (entry,) = made["commutes"]
    (commute,) = commutes(domain)
    back = commute_figure.unpack_tables(entry, commute)
    assert back is not None
    for side, given in zip(("real", "synthetic"), codes, strict=True):
        expected = commute.tally(given.__getitem__)
        assert (
            back[side].cells.tolist() == expected[0].tolist()
            and back[side].counts.tolist() == expected[1].tolist()
        )
    (curve,) = made["place_distances"]
    assert curve["ks"] == pytest.approx(
        stats.ks_2samp(*(each_record(domain, each) for each in codes)).statistic
    )
    titles = [card.title for card in view.lay_out(made).cards("distances")]
    assert titles[0] == "Distance between home and work" and len(titles) == 2
    assert 'data-figure="distance-0"' in page.html(made)


def test_a_table_with_too_many_pairs_keeps_its_numbers_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(commute_figure, "MAX_PACKED_CELLS", 3)
    domain = towns()
    sides = (
        tally(domain, drawn(domain, 300, seed=17), private=False),
        tally(domain, drawn(domain, 9, seed=1), private=True),
    )
    (entry,) = report.compare(*sides, domain)["commutes"]
    assert (
        entry["cells"] == {}
        and commute_figure.unpack_tables(entry, commutes(domain)[0]) is None
    )
    assert entry["errors_km"]


def test_maps_beside_real_data_come_in_threes_and_say_what_they_name() -> None:
    domain = towns()
    view_of = shown(domain, drawn(domain, 300, seed=21), drawn(domain, 250, seed=22))
    groups = [group for group in commute_maps.make_groups(view_of) if group.sides]
    assert [group.sides for group in groups] == [("real", "synthetic", "difference")] * 3
    for group in groups:
        for card in group.cards:
            assert card.figure is not None and card.red
            meta = card.figure["layout"]["meta"]
            names = [name for name, _, _ in meta["map"]["names"]]
            assert "port" in names and meta["words"]
    private = commute_maps.make_groups(shown(domain, None, drawn(domain, 250, seed=22)))
    assert {group.sides for group in private} == {(), ("synthetic",)}


def test_a_flow_that_only_one_table_has_is_red_or_blue_and_as_wide_as_its_share() -> None:
    domain = towns()
    real = {"home": np.array([0, 0, 0, 1]), "work": np.array([0, 0, 0, 0])}
    synthetic = {"home": np.array([0, 0, 0, 1]), "work": np.array([0, 0, 0, 1])}
    many = [
        {name: np.repeat(codes, 100) for name, codes in side.items()}
        for side in (real, synthetic)
    ]
    card, _ = commute_maps.flows(shown(domain, *many), "difference")
    assert card.figure is not None and "25.0% of the records" in card.verdict
    assert sorted(text.rsplit(": ", 1)[1] for text in _changes(card)) == [
        "+25.000% of records",
        "-25.000% of records",
    ]
    # Of four records a quarter is one, which another sample of four may have as well.
    few, _ = commute_maps.flows(shown(domain, real, synthetic), "difference")
    assert [text.rsplit(": ", 1)[1] for text in _changes(few)] == [
        "±25.000% of records, no more than chance"
    ] * 2


def _changes(card: Card) -> list[str]:
    assert card.figure is not None
    return [
        text
        for trace in card.figure["data"]
        for text in trace.get("text") or ()  # type: ignore[attr-defined]
        if "of records" in text
    ]


def test_squares_of_a_grid_are_named_along_the_sides_of_the_map_of_flows() -> None:
    domain = cells()
    card, _ = commute_maps.flows(shown(domain, None, drawn(domain, 250, seed=23)), "synthetic")
    assert card.figure is not None
    layout = card.figure["layout"]
    assert layout["yaxis"]["ticktext"][0] == "A" and layout["xaxis"]["ticktext"][0] == "1"
    assert layout["meta"]["map"]["names"] == []
    (commute,) = commutes(domain)
    grid = regions.grid(commute.origin, regions.box(commute), squares=10)
    assert grid.grid is not None
    first = dict(zip(layout["xaxis"]["ticktext"], layout["xaxis"]["tickvals"], strict=True))
    at = grid.labels.index("A1")
    assert first["1"] == pytest.approx(grid.east[at], abs=1e-4)


def test_the_difference_of_two_curves_has_a_strip_of_its_own_with_its_scale_in_words() -> None:
    domain = towns()
    both = shown(domain, drawn(domain, 300, seed=24), drawn(domain, 250, seed=25))
    card, _ = commute_cards.all_records(both)
    assert card.figure is not None
    data, layout = card.figure["data"], card.figure["layout"]
    (line,) = [trace for trace in data if trace.get("name") == "synthetic minus real"]
    curves_of = {
        trace["name"]: trace["y"]
        for trace in data
        if trace.get("name") in {"real", "synthetic"}
    }
    expected = [
        100 * (b - a) for a, b in zip(curves_of["real"], curves_of["synthetic"], strict=True)
    ]  # type: ignore[call-overload]
    assert line["yaxis"] == "y2" and line["y"] == pytest.approx(expected, abs=1e-3)
    end = layout["yaxis2"]["range"][1]
    assert max(map(abs, expected)) <= end
    words = [note["text"] for note in layout["annotations"]]
    assert f"synthetic minus real, ±{end:g} points of 100" in words
    alone, _ = commute_cards.all_records(shown(domain, None, drawn(domain, 250, seed=25)))
    assert alone.figure is not None and "yaxis2" not in alone.figure["layout"]
