"""What a release counted together: a map, a table, bins and advice, from the receipt and the model alone."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse

from synth_engine.mechanisms import Model
from synthweb.releases import measurements, screens, services
from synthweb.releases.models import Release
from tests.cast import Cast
from tests.web import scene
from tests.web.html import html_of

Open = Callable[..., Client]


TABLE = "region,age,works\n" + "".join(
    f"{'north' if index % 2 else 'south'},{40 * (index % 2) + index % 20},{'yes' if index % 2 else 'no'}\n"
    for index in range(600)
)


@pytest.fixture
def release(cast: Cast) -> Release:
    """Of a Bayesian network over columns that depend on one another beyond doubt, shared with nobody."""
    return scene.released(
        cast, mechanism="bayesian-network", epsilon="4", name="A network", table=TABLE
    )


# --- of a release as it is ----------------------------------------------------------------------------------
@pytest.mark.django_db
def test_every_group_that_was_counted_is_there_with_its_noise_and_the_strength_of_the_models_table(
    release: Release,
) -> None:
    found = measurements.measured(release)
    calls = [call for call in release.receipt["calls"] if len(call["query"]["clique"]) > 1]
    assert (
        {group.columns for group in found.groups}
        == {tuple(call["query"]["clique"]) for call in calls}
        != set()
    )
    tables = {table.clique: table for table in Model.from_json(release.model).tables}
    for group in found.groups:
        assert group.in_network and not group.binned
        assert group.cells == tables[group.columns].weights.size
        if len(group.columns) == 2:
            assert group.strength == pytest.approx(tables[group.columns].strength, abs=1e-4)
    deviations = {round(group.deviation, 6) for group in found.groups}
    told = {round(math.sqrt(Fraction(call["noise"]["sigma_squared"])), 6) for call in calls}
    assert deviations == told


@pytest.mark.django_db
def test_the_page_is_for_whoever_may_see_the_release_and_holds_the_same_in_words(
    release: Release, cast: Cast, browser: Open
) -> None:
    address = reverse("releases:measured", args=[release.code])
    assert browser(cast.analyst).get(address).status_code == 404
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    page = html_of(browser(cast.analyst).get(address))
    found = measurements.measured(release)
    for group in found.groups:
        assert group.name in page
    assert page.count('<rect class="pairs-cell') >= len(found.map.spots)
    assert f'href="{address}#card"' in html_of(
        browser(cast.analyst).get(reverse("releases:validation", args=[release.code]))
    )


@pytest.mark.django_db
def test_a_method_that_counts_single_columns_has_no_such_tab_and_says_so(
    release: Release, cast: Cast, browser: Open
) -> None:
    Release.objects.filter(pk=release.pk).update(mechanism="independent")
    client, address = browser(cast.steward), reverse("releases:measured", args=[release.code])
    assert address not in html_of(
        client.get(reverse("releases:validation", args=[release.code]))
    )
    assert "No tables of several columns" in html_of(client.get(address))


@pytest.mark.django_db
def test_a_budget_too_small_for_pairs_is_said_with_advice_and_is_no_error(
    release: Release, cast: Cast, browser: Open
) -> None:
    alone = [call for call in release.receipt["calls"] if len(call["query"]["clique"]) < 2]
    Release.objects.filter(pk=release.pk).update(receipt=release.receipt | {"calls": alone})
    page = html_of(browser(cast.steward).get(reverse("releases:measured", args=[release.code])))
    assert "No two columns were counted together" in page
    assert '<svg class="pairs"' not in page


@pytest.mark.django_db
def test_relations_of_three_columns_that_were_looked_for_and_not_counted_are_said_to_be_absent(
    release: Release, cast: Cast, browser: Open
) -> None:
    client, address = browser(cast.steward), reverse("releases:measured", args=[release.code])
    words = "Relations of three columns that pairs do not show were looked for"
    assert words not in html_of(client.get(address))
    calls = release.receipt["calls"]
    pairs = [call for call in calls if len(call["query"]["clique"]) < 3]
    names = ["region", "age", "works"]
    select = {"query": {"verb": "select", "clique": [], "cells": 1, "candidates": [names]}}
    groups = [call for call in pairs if call["query"]["verb"] == "measure"]
    receipt = release.receipt | {"calls": [*groups, select]}
    Release.objects.filter(pk=release.pk).update(receipt=receipt)
    assert words in html_of(client.get(address))
    triple = {
        "query": {"verb": "measure", "clique": names, "cells": 8},
        "noise": {"scale": "3"},
    }
    receipt = release.receipt | {"calls": [*groups, select, triple]}
    Release.objects.filter(pk=release.pk).update(receipt=receipt)
    assert words not in html_of(client.get(address))


@pytest.mark.django_db
def test_a_table_of_all_columns_has_its_group_and_no_tab_of_single_columns(
    cast: Cast, browser: Open
) -> None:
    release = scene.released(
        cast, mechanism="contingency-table", epsilon="4", name="All of them", table=TABLE
    )
    found = measurements.measured(release)
    (group,) = found.groups
    assert group.columns == ("region", "age", "works")
    assert group.strength is not None and group.strength > 0.3
    assert len(found.map.spots) == 3 and all(spot.inside for spot in found.map.spots)
    client = browser(cast.steward)
    quality = html_of(client.get(reverse("releases:validation", args=[release.code])))
    assert reverse("releases:measured", args=[release.code]) in quality
    # A table of all columns is described by shares of its cells.
    download = html_of(client.get(reverse("releases:samples", args=[release.code])))
    assert reverse("releases:description", args=[release.code]) in download
    address = reverse("releases:measured", args=[release.code])
    assert group.name in html_of(client.get(address))


# --- of receipts and models with bins, triples and a hundred columns ----------------------------------------
def names(count: int) -> list[str]:
    return [f"a column with quite a long name {place}" for place in range(count)]


def made(
    columns: dict[str, int], calls: list[dict[str, Any]], *, rows: int = 1000, **model: Any
) -> Release:
    domain = {
        "schema": "synth_engine/domain/1",
        "attributes": [
            {"name": name, "kind": "integer", "low": 0, "high": size - 1, "width": 1}
            for name, size in columns.items()
        ],
    }
    tables = [{"clique": [name], "weights": [1] * size} for name, size in columns.items()]
    document = {"domain": domain, "tables": tables} | model
    return Release(mechanism="x", rows=rows, receipt={"calls": calls}, model=document)


def call(*clique: str, bins: list[int] | None = None, sigma: float = 2) -> dict[str, Any]:
    query = {"verb": "measure", "clique": list(clique), "cells": 1} | (
        {"bins": bins} if bins else {}
    )
    return {
        "query": query,
        "noise": {"law": "rounded-gaussian", "sigma_squared": f"{int(sigma**2)}/1"},
    }


def test_a_column_cut_into_bins_says_how_many_and_what_lies_within_them() -> None:
    codes = [place // 4 for place in range(16)]
    release = made(
        {"a": 16, "b": 2},
        [call("a", "b", bins=[4, 2])],
        merged=[{"attribute": "a", "bins": codes, "within": [7] * 16}],
        targets=[{"clique": ["a", "b"], "weights": [1, 0, 0, 1, 1, 0, 0, 1]}],
    )
    found = measurements.measured(release)
    (group,) = found.groups
    assert (group.shape, group.whole, group.binned) == ((4, 2), (16, 2), True)
    assert group.strength == pytest.approx(0.5)
    assert group.clearness == pytest.approx(1000 / 8 / 2)
    (cut,) = found.cuts
    assert (cut.column, cut.codes, cut.fewest, cut.most) == ("a", 16, 4, 4)
    assert cut.lost == pytest.approx(1 - math.log(4) / math.log(16))
    (spot,) = found.map.spots
    assert spot.binned and spot.shade == 5


def test_bins_that_differ_from_group_to_group_are_told_as_a_range() -> None:
    release = made(
        {"a": 16, "b": 2, "c": 3}, [call("a", "b", bins=[4, 2]), call("a", "c", bins=[8, 3])]
    )
    (cut,) = measurements.measured(release).cuts
    assert (cut.fewest, cut.most, cut.lost) == (4, 8, None)


def test_pairs_within_a_larger_group_are_on_the_map_and_marked() -> None:
    weights = np.ones((2, 3, 2))
    weights[0, 0, 0] = 30
    release = made(
        {"a": 2, "b": 3, "c": 2},
        [call("a", "b", "c"), call("a", "b")],
        targets=[{"clique": ["a", "b", "c"], "weights": weights.ravel().tolist()}],
    )
    found = measurements.measured(release)
    assert (found.pairs, found.triples) == (1, 1)
    assert sorted(spot.inside for spot in found.map.spots) == [False, True, True]
    triple = next(group for group in found.groups if len(group.columns) == 3)
    assert triple.strength is not None and 0 < triple.strength < 1


def test_noise_that_outweighs_the_cells_is_marked_and_advised_about() -> None:
    found = measurements.measured(
        made({"a": 10, "b": 10}, [call("a", "b", sigma=100)], rows=1000)
    )
    assert found.groups[0].faint and found.faint == 1
    assert "read their relations as hints" in found.advice[0]
    clear = measurements.measured(
        made({"a": 10, "b": 10}, [call("a", "b", sigma=1)], rows=1000)
    )
    assert not clear.advice


def test_a_hundred_columns_stay_within_the_drawing_and_the_table_within_its_bound() -> None:
    columns = names(100)
    calls = [call(one, other) for place, one in enumerate(columns) for other in columns[:place]]
    found = measurements.measured(made(dict.fromkeys(columns, 2), calls))
    assert (found.pairs, found.of_pairs) == (4950, 4950)
    assert (len(found.groups), found.more) == (measurements.LISTED, 4950 - measurements.LISTED)
    assert len({(spot.x, spot.y) for spot in found.map.spots}) == 4950
    assert all(spot.x < spot.y for spot in found.map.spots)
    assert max(spot.y for spot in found.map.spots) + found.map.side <= found.map.height
    assert all(len(name.text) <= measurements.LONGEST_NAME for name in found.map.names)


def test_independent_columns_have_no_strength_and_determined_ones_much() -> None:
    assert measurements.strength(np.outer([1.0, 3.0], [2.0, 5.0, 1.0])) == pytest.approx(0)
    assert measurements.strength(np.eye(10)) == pytest.approx(0.9)


def test_receipts_name_scores_bins_and_rounded_noise_in_words() -> None:
    common = {"sensitivity": {"l2_squared": 1}, "cost": {"rho": "1/8"}}
    line = screens.call_line(1, call("a", "b", bins=[4, 2]) | common, pure=False)
    line_query = {
        "verb": "score",
        "clique": [],
        "cells": 9,
        "candidates": [["a", "b"], ["a", "c"]],
    }
    scored = screens.call_line(
        2, {"query": line_query, "noise": call()["noise"]} | common, pure=False
    )
    assert line.what == "Counted by bins a (4) × b (2)"
    assert re.match("rounded Gaussian noise, standard deviation 2", line.noise)
    assert scored.what == "Scored 2 groups of columns"


@pytest.mark.django_db
def test_a_release_says_among_how_many_groups_of_three_relations_were_looked_for_and_what_was_found(
    cast: Cast, browser: Open
) -> None:
    release = scene.released(
        cast, mechanism="auto", epsilon="1", name="Nothing in three", table=TABLE
    )
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    found = release.model["findings"]["triples"]
    assert found["candidates"] == found["scored"] == 1
    assert found["largest"]["columns"] == ["region", "age", "works"]
    assert found["largest"]["distance"] >= 0 and 0 < found["noise"] < found["by_noise"]
    for tab in ("about", "measured"):
        address = reverse(f"releases:{tab}", args=[release.code])
        page = html_of(browser(cast.analyst).get(address))
        assert "Relations of three columns that pairs do not show were looked for" in page
        assert "differs most from what its pairs say is region × age × works" in page
    # The rest of the sentence follows from what was counted.
    for measured, words in ((0, "None was clear enough"), (1, "1 of them was counted")):
        changed = {"triples": found | {"measured": measured, "candidates": 286}}
        model = release.model | {"findings": changed}
        Release.objects.filter(pk=release.pk).update(model=model)
        page = html_of(browser(cast.analyst).get(address))
        assert words in page and "among 286 groups of three" in page


@pytest.mark.django_db
def test_the_legend_and_the_search_for_triples_are_german_on_german_pages(
    cast: Cast, browser: Open
) -> None:
    release = scene.released(cast, mechanism="auto", epsilon="1", name="Drei", table=TABLE)
    found = {"columns": ["region", "age", "works"], "distance": 0.074}
    search = {"candidates": 454, "measured": 0, "largest": found}
    findings = {"triples": search | {"noise": 0.003, "by_noise": 0.0061}}
    Release.objects.filter(pk=release.pk).update(model=release.model | {"findings": findings})
    client = browser(cast.steward)
    address = reverse("releases:measured", args=[release.code])
    page = html_of(client.get(address, headers={"accept-language": "de"}))
    assert "unter 0,02" in page and "0,02 bis 0,05" in page and "0,4 und mehr" in page
    assert "ist die Gruppe region × age × works entfernt: 7,4 % der Datensätze" in page
    assert "Rauschen allein eine größte Zahl von etwa 0,61 %" in page


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("language", "measured", "words"),
    [
        ("en", 0, "None was clear enough"),
        ("en", 1, "1 of them was counted"),
        (
            "en",
            1,
            "The group with the largest figure is a × b × c × label: 43 % of the records",
        ),
        ("de", 2, "2 davon wurden gezählt"),
        ("de", 0, "in 365 Gruppen schmaler Spalten gesucht"),
        ("de", 0, "so ergäben Rauschen und Zufall allein eine Zahl von etwa 1,2 %"),
    ],
)
def test_a_release_says_whether_relations_of_four_to_six_columns_were_seen(
    cast: Cast, browser: Open, language: str, measured: int, words: str
) -> None:
    release = scene.released(cast, mechanism="auto", epsilon="1", name="Four", table=TABLE)
    client = browser(cast.steward)
    addresses = [
        reverse(f"releases:{tab}", args=[release.code]) for tab in ("about", "measured")
    ]
    # A table of three columns has no larger groups.
    assert "four to six columns" not in html_of(client.get(addresses[1]))
    largest = {"columns": ["a", "b", "c", "label"], "distance": 0.43}
    search = {"candidates": 365, "scored": 3, "measured": measured, "largest": largest}
    changed = {"groups": search | {"noise": 0.003, "by_noise": 0.012}}
    Release.objects.filter(pk=release.pk).update(model=release.model | {"findings": changed})
    for address in addresses:
        assert words in html_of(client.get(address, headers={"accept-language": language}))
