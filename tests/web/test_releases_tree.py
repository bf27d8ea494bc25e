"""The tree of a release: its tab, maps, the way from one place to another, beginnings of texts, and files of
all of it."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse
from numpy.typing import NDArray

from synth_engine.hierarchy import StringHierarchy
from synthweb.releases import model_cache, prefix_explorer, services, tables
from synthweb.releases.models import Release
from synthweb.runs import services as runs
from synthweb.runs import worker
from tests.cast import Cast
from tests.web import scene
from tests.web.html import compact, html_of
from tests.web.rest import Caller

Open = Callable[..., Client]

RNG = np.random.default_rng(3)
ENDS = np.where(
    RNG.random((900, 1)) < 0.5, [[41.2, -71.8]], [[41.8, -71.2]]
)  # one goes where one lives
TABLE = "hn,he,wn,we\n" + "".join(
    f"{a:.3f},{b:.3f},{c:.3f},{d:.3f}\n"
    for a, b, c, d in np.hstack([ENDS, ENDS]) + RNG.normal(0, 0.02, (900, 4))
)
COLUMNS = {"hn": (41, 42), "he": (-72, -71), "wn": (41, 42), "we": (-72, -71)}
DOMAIN: dict[str, Any] = {
    "schema": "synth_engine/domain/1",
    "places": [
        {"name": "home", "latitude": "hn", "longitude": "he"},
        {"name": "work", "latitude": "wn", "longitude": "we"},
    ],
    "attributes": [
        {
            "name": name,
            "kind": "number",
            "low": low,
            "high": high,
            "outside": "clamp",
            "missing": None,
        }
        for name, (low, high) in COLUMNS.items()
    ],
}


@pytest.fixture
def release(cast: Cast) -> Release:
    return scene.released(
        cast, mechanism="adaptive", epsilon="4", name="Commutes", table=TABLE, document=DOMAIN
    )


def lines(client: Client, release: Release, query: str) -> list[dict[str, str]]:
    answer = client.get(reverse("releases:tree-csv", args=[release.code]) + query)
    assert answer.status_code == 200 and "attachment" in answer["Content-Disposition"]
    return list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))


@pytest.mark.django_db
def test_a_release_of_places_begins_with_the_method_for_them(cast: Cast, browser: Open) -> None:
    dataset = scene.funded(cast, table=TABLE, document=DOMAIN)
    page = browser(cast.steward).get(reverse("runs:new", args=[dataset.code])).text
    assert re.search(r'value="adaptive"[^>]* checked', page)
    assert "Most of this table is places or texts" in page
    assert (
        page.index('value="adaptive"')
        < page.index('value="auto"')
        < page.index("From the literature")
    )


@pytest.mark.django_db
def test_how_large_cells_are_is_said_where_a_depth_is_chosen_and_where_depths_are_shown(
    release: Release, cast: Cast, browser: Open
) -> None:
    client = browser(cast.steward)
    tab = client.get(reverse("releases:tree", args=[release.code])).text
    assert (
        ">A cell about</th>" in tab
        and "14 × 10 km (8.6 × 6.5 miles)" in tab
        and "in cells of" in tab
    )
    worker.table_job(code=runs.request_report(release=release, actor=cast.steward).code)
    beside = client.get(reverse("releases:compare-all", args=[release.code])).text
    assert ">A cell about</th>" in beside and "56 × 42 km (35 × 26 miles)" in beside

    form = client.get(reverse("runs:new", args=[release.dataset.code])).text
    said = re.search(r'<div id="depth-cells" class="form-text">([^<]*)</div>', form)
    assert said is not None and said[1].startswith(
        "From south to north and from west to east a cell is about 56 × 42 km (35 × 26 miles) at depth 1; "
    )
    address = reverse("runs:estimate", args=[release.dataset.code])
    choices = {
        "mechanism": "adaptive",
        "parameters_of": "adaptive",
        "epsilon": "1",
        "delta": "0",
    }
    moved = client.post(address, choices | {"param-halving": "one"}).text
    assert (
        'id="depth-cells" class="form-text" hx-swap-oob="true">From south to north and from west to '
        "east a cell is about home 56 × 83 km"
    ) in moved
    faulty = client.post(address, choices | {"epsilon": "x"}).text
    assert 'id="depth-cells" class="form-text" hx-swap-oob="true"></div>' in faulty
    assert (
        "depth-cells"
        not in client.post(address, {"mechanism": "auto", "epsilon": "1", "delta": "1e-9"}).text
    )


@pytest.mark.django_db
def test_the_tab_is_for_whoever_may_draw_samples_and_for_models_with_a_tree(
    release: Release, cast: Cast, browser: Open
) -> None:
    address, quality = (
        reverse(f"releases:{name}", args=[release.code]) for name in ("tree", "validation")
    )
    assert browser(cast.analyst).get(address).status_code == 404
    assert browser(cast.auditor).get(address).status_code == 403
    assert address not in html_of(browser(cast.auditor).get(quality))
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    assert browser(cast.analyst).get(address).status_code == 200
    assert f'href="{address}#card"' in html_of(browser(cast.analyst).get(quality))

    without = {key: value for key, value in release.model.items() if key != "tree"}
    Release.objects.filter(pk=release.pk).update(
        model=without
    )  # which nothing else does: what was read is kept
    model_cache.holds.cache_clear()
    assert address not in html_of(browser(cast.steward).get(quality))
    assert "keeps tables of columns" in html_of(browser(cast.steward).get(address))
    assert (
        browser(cast.steward).get(reverse("releases:tree-csv", args=[release.code])).status_code
        == 404
    )


@pytest.mark.django_db
def test_what_ended_a_tree_is_on_its_tab_on_the_comparison_and_in_rest(
    release: Release, cast: Cast, browser: Open
) -> None:
    ended = {"why": "depth", "depth": 3, "cells": 17, "share": 0.25}
    release.model |= {"notes": {"noise": False, "opened_from": 40, "ended": ended}}
    release.save(update_fields=["model"])
    steward = Caller(cast.steward, "read")
    notes = steward.get(f"/releases/{release.code}/").json()["notes"]
    assert notes["ended"] == ended and not notes["noise"] and notes["opened_from"] == 40
    (sentence,) = notes["sentences"]
    assert sentence.startswith("25% of the records lie in 17 cells of the last depth")
    worker.table_job(code=runs.request_report(release=release, actor=cast.steward).code)
    for name in ("tree", "compare"):
        assert (
            sentence
            in browser(cast.steward).get(reverse(f"releases:{name}", args=[release.code])).text
        ), name
    for name in ("look", "about"):
        assert (
            sentence
            not in browser(cast.steward)
            .get(reverse(f"releases:{name}", args=[release.code]))
            .text
        ), name
    assert (
        "notes" not in steward.get("/releases/").json()["results"][0]
    )  # models of a list stay in the database
    schema = steward.get("/schema/?format=json").json()["components"]["schemas"]
    assert {"notes"} <= schema["OneRelease"]["properties"].keys()
    assert {*schema["Notes"]["properties"]} == {*notes} and {
        *schema["Ended"]["properties"]
    } == {*ended}


@pytest.mark.django_db
def test_a_point_of_one_place_shows_where_its_records_have_the_other(
    release: Release, cast: Cast, browser: Open
) -> None:
    client, address = browser(cast.steward), reverse("releases:tree", args=[release.code])
    plain = html_of(client.get(address))
    assert 'id="place"' in plain and 'id="other-place"' not in plain
    query = "?place=home&to=work&halvings=2&size=1&north=41.2&east=-71.8"
    page = html_of(client.get(address + query))
    assert re.findall(r'data-figure="([\w-]+)"', page) == [
        "place-data",
        "other-place-data",
        "depths-data",
    ]
    squares = lines(client, release, query + "&what=other-place")
    total = sum(float(row["records"]) for row in squares)
    near = [
        row
        for row in squares
        if float(row["degrees north to"]) <= 41.5 and float(row["degrees east to"]) <= -71.5
    ]
    assert total == pytest.approx(450, abs=60)
    assert sum(float(row["records"]) for row in near) > 0.9 * total


@pytest.mark.django_db
def test_every_figure_has_its_whole_numbers_as_a_file_and_they_agree(
    release: Release, cast: Cast, browser: Open
) -> None:
    client = browser(cast.steward)
    for what in ("depths", "cells", "place"):
        rows = lines(client, release, f"?what={what}")
        assert sum(float(row["records"]) for row in rows) == pytest.approx(
            release.rows, rel=1e-4
        ), what
    assert len(lines(client, release, "?what=cells")) == sum(
        int(row["cells"]) for row in lines(client, release, "?what=depths")
    )
    for what in ("texts", "classes", "other-place", "nothing"):
        address = reverse("releases:tree-csv", args=[release.code]) + f"?what={what}"
        assert client.get(address).status_code == 404, what


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("?north=41.5", "Give both, or neither."),
        ("?north=45&east=-71.5", "Degrees north outside 41 to 42."),
        ("?north=95&east=-71.5", "less than or equal to 90"),
        ("?north=x&east=-71.5", "Enter a number."),
        ("?north=nan&east=-71.5", "Enter a number."),
        ("?place=nowhere&halvings=99&to=home&size=-1", "Where records lie"),
        ("?at=anything", "Where records lie"),
    ],
)
def test_what_cannot_be_shown_is_said_beside_its_field_and_the_map_stays(
    release: Release, cast: Cast, browser: Open, query: str, words: str
) -> None:
    page = browser(cast.steward).get(reverse("releases:tree", args=[release.code]) + query)
    assert page.status_code == 200
    assert words in html_of(page) and 'id="place"' in html_of(page)


# --- texts --------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Cells:
    hierarchy: StringHierarchy
    levels: NDArray[np.int64]
    cells: NDArray[Any]
    weights: NDArray[np.int64]


def texts(cells: dict[str, int], *, ended: tuple[str, ...] = ()) -> Cells:
    words = StringHierarchy(columns=("word",), alphabet="ab =", longest=4, case="lower")
    levels = np.array([len(text) + (text in ended) for text in cells])
    return Cells(words, levels, words.encode(list(cells)), np.array(list(cells.values())))


TREE = texts({"a": 10, "a ": 20, "ab": 30, "=b": 40}, ended=("a",))


def test_beginnings_are_listed_the_most_frequent_first_with_blanks_to_be_seen() -> None:
    top = prefix_explorer.explore(TREE, "", rows=1000)
    assert [(line.text, line.records, line.opened) for line in top.lines] == [
        ("a", "600", True),
        ("=", "400", True),
    ]
    below = prefix_explorer.explore(TREE, "A", rows=1000)  # read as the texts are
    assert (below.text, below.records, below.above) == ("a", "600", (("", "any text"),))
    assert [(line.shown, line.records, line.ended) for line in below.lines] == [
        ("ab", "300", False),
        ("a␣", "200", False),
        ("a", "100", True),
    ]
    assert prefix_explorer.explore(TREE, "abb", rows=1000).closed == "ab"


@pytest.mark.parametrize(
    ("asked", "words"), [("xyz", "not in the alphabet"), ("abab", "longer than 4 characters")]
)
def test_a_beginning_that_no_text_has_is_refused_in_words(asked: str, words: str) -> None:
    found = prefix_explorer.explore(TREE, asked, rows=1000)
    assert words in found.error and found.text == "" and found.lines


def test_the_page_of_texts_leads_one_level_down_and_back_without_scripts() -> None:
    context = {
        "texts": prefix_explorer.explore(TREE, "a", rows=1000),
        "csv": "/x.csv",
        "at": "a",
    }
    page = render_to_string("releases/_tree_texts.html", context)
    assert 'href="?at=#tree-texts"' in page and 'value="a"' in page
    assert page.count("not split</span>") == 2 and page.count("complete</span>") == 1
    page = render_to_string(
        "releases/_tree_texts.html",
        {"texts": prefix_explorer.explore(TREE, "", rows=10), "at": ""},
    )
    assert 'href="?at=a#tree-texts"' in page and 'href="?at=%3D#tree-texts"' in page
    closed = compact(
        render_to_string(
            "releases/_tree_texts.html",
            {"texts": prefix_explorer.explore(TREE, "abb", rows=10)},
        )
    )
    assert 'The tree ends at <span class="code">ab</span>' in closed


def test_the_file_of_texts_holds_every_cell_and_nothing_that_a_spreadsheet_runs() -> None:
    found = list(prefix_explorer.lines(TREE, rows=1000))
    assert found[1:] == [
        ("a", 1, "yes", "100"),
        ("a ", 2, "no", "200"),
        ("ab", 2, "no", "300"),
        ("=b", 2, "no", "400"),
    ]
    assert "'=b" in "".join(tables.stream_lines(found))
