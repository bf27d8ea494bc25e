"""Distances between two places of a record: against known ones, binned, compared, drawn."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plotly import graph_objects
from scipy import stats

from synth_engine import pipeline
from synth_engine.domain import SCHEMA, Categorical, Domain, Integer, Number, Place
from synth_engine.errors import DomainError
from synth_engine.evaluation import distance_distribution, page, report, tallies, view
from synth_engine.evaluation.cards import Card
from synth_engine.evaluation.figures import place_distances
from synth_engine.indexing import places

EXAMPLES = Path(__file__).parents[3] / "examples"
HOME = Place(name="home", latitude="lat", longitude="lon")
WORK = Place(name="work", latitude="work lat", longitude="work lon")
PAIR = ("home", "work")


def domain_of(*, step: float = 0.01, missing: tuple[str, ...] | None = None) -> Domain:
    """A box of half a degree around Providence."""
    edges = tuple(np.round(np.arange(0.0, 0.5 + step / 2, step), 6))
    north, west = tuple(41.5 + edge for edge in edges), tuple(-71.7 + edge for edge in edges)

    def number(name: str, cuts: tuple[float, ...]) -> Number:
        return Number(name=name, low=cuts[0], high=cuts[-1], edges=cuts, missing=missing)

    attributes = (
        number("lat", north),
        number("lon", west),
        number("work lat", north),
        number("work lon", west),
    )
    return Domain(attributes=attributes, places=(HOME, WORK))


def drawn(domain: Domain, size: int, *, seed: int, near: bool = False) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    codes = {name: rng.integers(0, 50, size).astype(np.uint16) for name in domain.names}
    if near:
        codes |= {
            "work lat": codes["lat"],
            "work lon": np.minimum(codes["lon"] + 3, 49).astype(np.uint16),
        }
    return codes


def tally(domain: Domain, codes: dict[str, np.ndarray], *, private: bool) -> tallies.Tallies:
    return report.tally(tallies.CodedTable(codes=codes, domain=domain, private=private))


def compared(
    domain: Domain, real: dict[str, np.ndarray], synthetic: dict[str, np.ndarray]
) -> report.Report:
    return report.compare(
        tally(domain, real, private=False), tally(domain, synthetic, private=True), domain
    )


def distance_cards(made: report.Report) -> list[Card]:
    """The cards of curves; the section holds those of cells as well."""
    cards = view.lay_out(made).cards("distances")
    return [card for card in cards if card.key.startswith("distance-")]


# ---- kilometres
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "kilometres"),
    [
        ((0.0, 0.0), (0.0, 0.0), 0.0),
        ((0.0, 0.0), (0.0, 180.0), 20015.11),  # half a turn
        ((90.0, 0.0), (-90.0, 77.0), 20015.11),  # from pole to pole, whatever the longitude
        ((0.0, 0.0), (1.0, 0.0), 111.195),  # a degree of latitude
        ((60.0, 10.0), (60.0, 11.0), 55.597),  # of longitude, half as long there
        ((0.0, 179.5), (0.0, -179.5), 111.195),  # across the date line
        ((50.0, 8.0), (50.0 + 1e-7, 8.0), 1.1e-5),  # a centimetre is not lost to rounding
    ],
)
def test_great_circle_agrees_with_distances_known_otherwise(
    first: tuple[float, float], second: tuple[float, float], kilometres: float
) -> None:
    found = places.great_circle(*(np.array([value]) for value in (*first, *second)))[0]
    assert found == pytest.approx(kilometres, rel=1e-4, abs=1e-6)


def test_great_circle_agrees_with_the_angle_between_vectors() -> None:
    rng = np.random.default_rng(4)
    points = [
        (np.degrees(np.arcsin(rng.uniform(-1, 1, 500))), rng.uniform(-180, 180, 500))
        for _ in range(2)
    ]
    vectors = [
        np.array([np.cos(a) * np.cos(b), np.cos(a) * np.sin(b), np.sin(a)])
        for a, b in (
            (np.radians(latitude), np.radians(longitude)) for latitude, longitude in points
        )
    ]
    angles = np.arctan2(
        np.linalg.norm(np.cross(*vectors, axis=0), axis=0),
        (vectors[0] * vectors[1]).sum(axis=0),
    )
    assert np.allclose(
        places.great_circle(*points[0], *points[1]), angles * 6371.0088, rtol=1e-9, atol=1e-9
    )


# ---- bins
# --------------------------------------------------------------------------------------------------------


def test_a_cell_stands_at_its_centre_and_a_whole_number_at_itself() -> None:
    domain = domain_of(missing=("",))
    assert places.centres(domain, "lat")[0] == pytest.approx(41.505)
    assert np.isnan(places.centres(domain, "lat")[-1])
    whole = Domain(
        attributes=(
            Integer(name="x", low=-2, high=2),
            Integer(name="y", low=0, high=89, width=10),
        )
    )
    assert places.centres(whole, "x").tolist() == [-2, -1, 0, 1, 2]
    assert places.centres(whole, "y")[0] == 4.5


def test_bins_reach_from_nothing_to_the_farthest_corners_in_a_round_public_step() -> None:
    edges = places.edges(domain_of(), PAIR)
    step = edges[1]
    assert edges[0] == 0 and len(edges) <= places.MAX_BINS + 1
    assert step in (0.1, 0.2, 0.5)
    corners = places.great_circle(
        *(np.array([value]) for value in (41.505, -71.695, 41.995, -71.205))
    )[0]
    assert edges[-1] >= corners > edges[-1] - 3 * step


@pytest.mark.parametrize("box", [(-90, 90, -180, 180), (-60, -10, 20, 170), (-5, 40, -30, 60)])
def test_no_two_cells_are_beyond_the_last_bin(box: tuple[int, int, int, int]) -> None:
    low, high, west, east = box
    attributes = (
        Integer(name="lat", low=low, high=high, width=5),
        Integer(name="lon", low=west, high=east, width=5),
    )
    domain = Domain(attributes=attributes, places=(HOME, replace(HOME, name="again")))
    north, across = (places.centres(domain, name) for name in ("lat", "lon"))
    grid = [each.ravel() for each in np.meshgrid(north, across)]
    one = np.random.default_rng(1).integers(0, len(grid[0]), 50)
    farthest = max(places.great_circle(*(each[i] for each in grid), *grid).max() for i in one)
    assert places.edges(domain, ("home", "again"))[-1] >= farthest


def test_records_are_counted_at_their_distance_and_those_without_a_place_apart() -> None:
    domain = domain_of(missing=("",))
    codes = {
        "lat": np.array([0, 0, 50, 0]),  # 50 is missing
        "lon": np.array([0, 0, 0, 0]),
        "work lat": np.array([0, 10, 10, 10]),
        "work lon": np.array([0, 0, 0, 50]),
    }
    counts = places.histogram(codes.__getitem__, domain=domain, pair=PAIR)
    edges = places.edges(domain, PAIR)
    assert counts.sum() == 4 and counts[-1] == 2
    assert counts[0] == 1, "the same cell is at no distance"
    place = int(np.flatnonzero(counts[:-1])[1])
    assert edges[place] < 0.1 * 111.195 <= edges[place + 1]


def test_tables_larger_than_a_block_are_counted_whole() -> None:
    domain = domain_of()
    counts = places.histogram(
        drawn(domain, 2**16 + 7, seed=1).__getitem__, domain=domain, pair=PAIR
    )
    assert counts.sum() == 2**16 + 7


# ---- the comparison
# ----------------------------------------------------------------------------------------------


def test_the_gap_is_that_of_kolmogorov_and_smirnov_on_the_bins() -> None:
    domain = domain_of()
    real, synthetic = drawn(domain, 900, seed=1), drawn(domain, 700, seed=2, near=True)
    (entry,) = compared(domain, real, synthetic)["place_distances"]
    uppers = entry["edges_km"][1:]
    samples = [np.repeat(uppers, entry["counts"][side]) for side in ("real", "synthetic")]
    expected = stats.ks_2samp(*samples)
    assert entry["ks"] == pytest.approx(expected.statistic)
    assert entry["ks_at_km"] == pytest.approx(expected.statistic_location)
    assert entry["median_km"]["real"] == pytest.approx(
        np.quantile(samples[0], 0.5, method="inverted_cdf")
    )
    assert entry["verdict"]["level"] == "large"


def test_two_samples_of_one_law_are_about_as_far_apart_as_chance_says() -> None:
    domain = domain_of()
    gaps = [
        compared(
            domain, drawn(domain, 2_000, seed=2 * k), drawn(domain, 1_000, seed=2 * k + 1)
        )["place_distances"][0]
        for k in range(20)
    ]
    assert np.mean([gap["ks"] for gap in gaps]) == pytest.approx(
        gaps[0]["ks_by_chance"], rel=0.2
    )
    assert gaps[0]["ks_by_chance"] == pytest.approx(
        stats.kstwobign.mean() * np.sqrt(1 / 2_000 + 1 / 1_000)
    )
    assert {gap["verdict"]["level"] for gap in gaps} <= {"same", "small"}


def test_a_table_without_any_distance_is_said_to_have_none() -> None:
    domain = domain_of(missing=("",))
    without = drawn(domain, 30, seed=1) | {"lat": np.full(30, 50, dtype=np.uint16)}
    made = compared(domain, drawn(domain, 30, seed=2), without)
    (entry,) = made["place_distances"]
    assert entry["ks"] is None and entry["lacking"] == {"real": 0, "synthetic": 30}
    (card,) = distance_cards(made)
    assert "nothing to compare" in card.verdict
    assert card.table.rows[-1][0] == "a place is missing"
    assert json.loads(json.dumps(made, allow_nan=False)) == made


def test_a_domain_without_two_places_has_no_such_figure() -> None:
    domain = replace(domain_of(), places=(HOME,))
    made = compared(domain, drawn(domain, 30, seed=1), drawn(domain, 30, seed=2))
    assert made["place_distances"] == [] and distance_cards(made) == []
    assert "Distance between" not in page.html(made)


def test_a_report_from_before_there_were_places_is_still_shown() -> None:
    domain = domain_of()
    made = compared(domain, drawn(domain, 30, seed=1), drawn(domain, 30, seed=2))
    del made["place_distances"]
    assert distance_cards(made) == []


def test_noisy_answers_say_nothing_of_distances() -> None:
    domain = domain_of()
    codes = drawn(domain, 30, seed=1)
    lat = np.bincount(codes["lat"], minlength=domain.sizes["lat"])
    noisy = tallies.Tallies(private=True, n=30, counts={("lat",): lat})
    assert (
        report.compare(noisy, tally(domain, codes, private=True), domain)["place_distances"]
        == []
    )


# ---- the figure
# --------------------------------------------------------------------------------------------------


@pytest.fixture
def made() -> report.Report:
    domain = domain_of()
    return compared(domain, drawn(domain, 900, seed=1), drawn(domain, 700, seed=2, near=True))


def test_the_figure_draws_both_curves_in_their_colours_and_marks_the_gap(
    made: report.Report,
) -> None:
    figure = place_distances.place_distances(made, 0)
    graph_objects.Figure(figure)
    json.dumps(figure, allow_nan=False)
    real, synthetic, *medians, gap, more, fewer, difference = figure["data"]
    assert len(medians) == 2
    # The strip below: synthetic minus real, in points of a hundred, filled by its sign.
    assert all(trace["yaxis"] == "y2" for trace in (more, fewer, difference))
    assert difference["y"] == pytest.approx(
        [100 * (b - a) for a, b in zip(real["y"], synthetic["y"], strict=True)], abs=1e-3
    )
    assert min(more["y"]) >= 0 >= max(fewer["y"])
    assert real["line"]["color"] == "#3d5a80" and "dash" not in real["line"]
    assert synthetic["line"]["color"] == "#c8641b" and synthetic["line"]["dash"]
    assert all(
        curve["y"][0] == 0 and curve["y"][-1] == pytest.approx(1) for curve in (real, synthetic)
    )
    assert all(
        a <= b
        for curve in (real, synthetic)
        for a, b in zip(curve["y"], curve["y"][1:], strict=False)
    )
    (entry,) = made["place_distances"]
    assert abs(gap["y"][0] - gap["y"][1]) == pytest.approx(entry["ks"])
    assert figure["layout"]["annotations"][0]["text"].startswith("Real data")
    assert "Half of the records" in figure["layout"]["meta"]["words"]


def test_names_of_places_that_look_like_tags_are_not_tags(made: report.Report) -> None:
    made["place_distances"][0]["places"] = ["<b>x</b>", "y"]
    assert "<b>" not in json.dumps(place_distances.place_distances(made, 0)["layout"]["xaxis"])
    assert "<b>x</b>" not in page.html(made).split('<script type="application/json"')[0]


def test_the_table_gives_round_distances_in_kilometres_and_miles(made: report.Report) -> None:
    (card,) = distance_cards(made)
    assert card.title == "Distance between home and work"
    assert 5 <= len(card.table.rows) <= 31
    first = card.table.rows[0]
    assert float(first[1]) == pytest.approx(
        distance_distribution.miles(float(first[0].removesuffix(" km"))), abs=0.06
    )
    assert "centre of its public cell" in card.how


def test_the_offline_page_shows_it(made: report.Report) -> None:
    text = page.html(made)
    assert 'data-figure="distance-0"' in text and "Distances between places" in text


# ---- the domain
# --------------------------------------------------------------------------------------------------


def test_a_domain_keeps_its_places_and_one_without_keeps_its_digest() -> None:
    domain = domain_of()
    assert Domain.from_json(json.loads(json.dumps(domain.to_json()))) == domain
    plain = replace(domain, places=())
    assert "places" not in plain.to_json()
    assert plain.digest != domain.digest


def test_the_digest_of_adult_is_that_of_its_first_releases() -> None:
    adult = json.loads((EXAMPLES / "adult.domain.json").read_text())
    assert Domain.from_json(adult).digest == ADULT_DIGEST


ADULT_DIGEST = "c96da87624677304229de6bb564c034550e094bee5f7c9ace0de4ead8c155a7f"


def test_the_schema_knows_places() -> None:
    assert "places" in SCHEMA["anyOf"][0]["properties"]


def bad(**changes: Any) -> Domain:
    return replace(domain_of(), **changes)


@pytest.mark.parametrize(
    ("places_", "rule"),
    [
        ((replace(HOME, latitude="nowhere"), WORK), "no column of numbers"),
        ((replace(HOME, latitude="town"), WORK), "no column of numbers"),
        ((HOME, replace(WORK, name="home")), "one name"),
        ((replace(HOME, name=""), WORK), "one name"),
        ((replace(HOME, longitude="lat"), WORK), "both ends"),
        ((replace(HOME, latitude="far"), WORK), "seem to be swapped"),
        ((replace(HOME, latitude="far", longitude="wide"), WORK), "beyond 90 degrees"),
        (tuple(replace(HOME, name=str(number)) for number in range(9)), "more than 8"),
    ],
)
def test_places_that_cannot_be_are_refused(places_: tuple[Place, ...], rule: str) -> None:
    known = (
        *domain_of().attributes,
        Categorical(name="town", values=("a",), outside="clamp"),
        Number(name="far", low=0, high=91),
        Number(name="wide", low=-180, high=180),
    )
    with pytest.raises(DomainError, match=rule):
        Domain(attributes=known, places=places_)


@pytest.mark.parametrize(
    "document", ["home", [1], [{"name": "x"}], [{"name": 1}], [{"name": "a", "where": "b"}], {}]
)
def test_documents_of_places_that_are_malformed_are_refused(document: object) -> None:
    with pytest.raises(DomainError):
        Domain.from_json(domain_of().to_json() | {"places": document})


# ---- through the room
# --------------------------------------------------------------------------------------------


def test_files_are_compared_by_distance_and_the_real_side_is_marked(tmp_path: Path) -> None:
    domain = domain_of(missing=("",))
    rows = [
        "lat,lon,work lat,work lon",
        "41.505,-71.695,41.505,-71.695",
        "41.505,-71.695,41.605,-71.695",
        ",,41.6,-71.6",
    ]
    for name, lines in (("real", rows), ("synthetic", rows[:3])):
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    made = pipeline.compare(tmp_path / "real.csv", tmp_path / "synthetic.csv", domain=domain)
    (entry,) = made["place_distances"]
    assert made["private"] is False
    assert entry["lacking"] == {"real": 1, "synthetic": 0}
    assert sum(entry["counts"]["real"]) == sum(entry["counts"]["synthetic"]) == 2
    assert entry["ks"] == 0 and entry["verdict"]["level"] == "same"


def test_the_command_line_writes_distances_as_json_and_as_a_page(tmp_path: Path) -> None:
    domain = domain_of()
    (tmp_path / "domain.json").write_text(json.dumps(domain.to_json()))
    rng = np.random.default_rng(2)
    for name in ("real", "synthetic"):
        lines = [",".join(domain.names)]
        lines += [
            f"{a:.4f},{b:.4f},{a:.4f},{b:.4f}"
            for a, b in rng.uniform((41.5, -71.7), (42.0, -71.2), (50, 2))
        ]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    for out in ("report.json", "report.html"):
        command = [
            "compare",
            "real.csv",
            "synthetic.csv",
            "--domain",
            "domain.json",
            "--out",
            out,
        ]
        done = subprocess.run(
            [sys.executable, "-m", "synth_engine", *command],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(EXAMPLES.parent)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
    (entry,) = json.loads((tmp_path / "report.json").read_text())["place_distances"]
    assert entry["counts"]["real"][0] == 50 and entry["ks"] == 0
    assert "Distance between home and work" in (tmp_path / "report.html").read_text()


def test_the_commutes_of_the_examples_are_described_and_compared() -> None:
    folder = EXAMPLES / "commutes"
    domain = Domain.from_json(json.loads((folder / "commutes.domain.json").read_text()))
    domain.require_confirmed()
    assert set(domain.facts) == {"declared", "public-file"}
    assert sum(file.stat().st_size for file in folder.iterdir()) < 3_000_000
    table = folder / "commutes.parquet"
    (entry,) = pipeline.compare(table, table, domain=domain)["place_distances"]
    assert sum(entry["counts"]["real"]) == 406_052
    assert entry["median_km"] == {"real": 10.0, "synthetic": 10.0}
    assert entry["ks"] == 0
