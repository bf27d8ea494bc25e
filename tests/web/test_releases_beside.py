"""Releases side by side: one line a column from stored documents of models, for whoever may draw from all of
them."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from django.http import QueryDict
from django.test import Client

from synthweb.accounts.models import Role
from synthweb.datasets.models import Dataset
from synthweb.releases import beside, look, model_relations, services
from synthweb.releases.models import FirstLook, Release
from synthweb.runs import ranges, worker
from synthweb.runs.models import RangesJob
from tests.cast import Cast
from tests.web import scene
from tests.web.html import html_of

pytestmark = pytest.mark.django_db(transaction=True)
Open = Callable[..., Client]
ADDRESS = "/releases/side-by-side/"


@pytest.fixture
def pair(cast: Cast) -> tuple[Release, Release]:
    coarse, fine = released_at(cast, "0.5", "4")
    return coarse, fine


def released_at(cast: Cast, *epsilons: str) -> list[Release]:
    """Releases of one table, a run each."""
    dataset = scene.funded(cast, epsilon=8)
    return [released_once(cast, dataset, epsilon) for epsilon in epsilons]


def released_once(cast: Cast, dataset: Dataset, epsilon: str) -> Release:
    run = scene.submit(steward=cast.steward, dataset=dataset, epsilon=epsilon)
    worker.synthesize(code=run.code)
    release = Release.objects.get(run_code=run.code)
    release.name = f"At {epsilon}"
    release.save()
    look.store(look.draw(release))
    return release


def compute(release: Release) -> None:
    """What a worker stores when somebody asks for expected ranges."""
    ranges.compute(code=RangesJob.objects.get(release=release).code)


def asked(*codes: str) -> QueryDict:
    query = QueryDict(mutable=True)
    query.setlist("release", list(codes))
    return query


def test_an_analyst_sees_what_is_shared_and_no_word_of_the_rest(
    cast: Cast, pair: tuple[Release, Release], browser: Open
) -> None:
    first, second = pair
    services.share(actor=cast.steward, release=first, analyst=cast.analyst)
    query = {"release": [first.code, second.code]}
    page = html_of(browser(cast.analyst).get(ADDRESS, query))
    assert "At 0.5" in page and "At 4" not in page
    assert f"{second.code} is not a release that you may draw from" in page
    services.share(actor=cast.steward, release=second, analyst=cast.analyst)
    page = html_of(browser(cast.analyst).get(ADDRESS, query))
    assert "At 4" in page and "is not a release" not in page
    # Nobody who may not draw samples sees what models hold.
    page = html_of(browser(cast.auditor).get(ADDRESS, query))
    assert "At 4" not in page and "<svg" not in re.sub(r"<header.*?</header>", "", page)


def test_a_release_whose_first_look_is_not_prepared_has_empty_cells(
    cast: Cast, pair: tuple[Release, Release], browser: Open
) -> None:
    FirstLook.objects.filter(release=pair[1]).delete()
    page = beside.page_of(cast.steward, asked(pair[0].code, pair[1].code))
    assert [side.columns for side in page.sides] == [3, 0] and not page.partial
    query = {"release": [pair[0].code, pair[1].code]}
    shown = html_of(browser(cast.steward).get(ADDRESS, query))
    assert f"/releases/{pair[1].code}/look/" in shown
    # What is not known yet is not said to be absent.
    assert "not in this release" not in shown
    cells = re.findall(r"<td>(.*?)</td>", shown.split('id="columns-title"')[1], re.DOTALL)
    assert sum("not computed yet" in cell for cell in cells) == 3


def test_a_grant_counts_as_long_as_its_holder_is_an_analyst(
    cast: Cast, pair: tuple[Release, Release], browser: Open
) -> None:
    release = pair[0]
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    assert len(beside.page_of(cast.analyst, asked(release.code)).sides) == 1
    cast.analyst.memberships.update(role=Role.AUDITOR)
    # As on all other pages: who audits sees that there is a release, and draws nothing from it.
    assert browser(cast.analyst).get(f"/releases/{release.code}/look/").status_code == 403
    assert not beside.page_of(cast.analyst, asked(release.code)).sides


def test_a_bar_stands_for_the_same_value_in_every_picture(
    cast: Cast, pair: tuple[Release, Release]
) -> None:
    page = beside.page_of(cast.steward, asked(pair[0].code, pair[1].code))
    assert [side.letter for side in page.sides] == ["A", "B"]
    region = next(row for row in page.page.object_list if row.name == "region")
    order = beside._order_of_values([cell.column for cell in region.cells])
    assert set(order) >= {"north", "south"}
    for cell in region.cells:
        shares = {bar.label: bar.share.value for bar in cell.column.histogram.bars}
        assert beside._shares(cell.column.histogram, order) == [shares[each] for each in order]
    # Bars of numbers are intervals of each model's own: the picture says from where to where.
    age = next(row for row in page.page.object_list if row.name == "age")
    assert all(re.fullmatch(r"\d+ – \d+", cell.span) for cell in age.cells)
    assert not page.differing and not page.partial


def test_columns_that_differ_are_named(cast: Cast, pair: tuple[Release, Release]) -> None:
    prepared = look.look_of(pair[0])
    assert prepared is not None
    other = prepared.columns
    narrower = SimpleNamespace(**(vars(other[1]) | {"values": "0 to 9"}))
    (_region, age, works) = beside._rows([other, (other[0], narrower)])
    assert age.differs and works.cells[1] is None
    assert not works.differs


def test_the_chart_has_every_release_with_a_figure(
    cast: Cast, pair: tuple[Release, Release], browser: Open
) -> None:
    coarse, fine = pair
    query = asked(coarse.code)
    assert beside.page_of(cast.steward, query).chart is None
    compute(coarse)
    compute(fine)
    chart = beside.page_of(cast.steward, query).chart
    # The release on the page comes last, over the other one of the same table.
    assert [point.letter for point in chart.points] == ["", "A"]
    other, shown = chart.points
    # A smaller ε: a larger error of columns. Neither has relations: single columns were asked for.
    assert shown.share > other.share and shown.x > other.x
    assert shown.lost_share == other.lost_share == 1.0 and shown.y == other.y == chart.top
    assert chart.left <= shown.x <= chart.right and chart.top <= shown.y <= chart.bottom
    page = html_of(browser(cast.steward).get(f"{ADDRESS}?{query.urlencode()}"))
    assert page.count("<circle") == 2
    assert page.count('data-relations="lost"') == 1 and chart.without == ()
    # A release whose model has relations that were not simulated has no place on the second axis.
    stored = FirstLook.objects.get(release=coarse)
    stored.quality |= {"related": 1, "relations": "unknown"}
    stored.save()
    page = html_of(browser(cast.steward).get(f"{ADDRESS}?{query.urlencode()}"))
    assert 'data-relations="unknown"' in page and "<circle" not in page
    both = asked(coarse.code, fine.code)
    page = html_of(browser(cast.steward).get(f"{ADDRESS}?{both.urlencode()}"))
    assert page.count("<circle") == 1 and 'data-without="A"' in page


def test_what_an_address_says_wrongly_is_named_and_changes_nothing_else(
    cast: Cast, pair: tuple[Release, Release], browser: Open
) -> None:
    wrong = ["", "no-code", "<b>", pair[0].code, pair[0].code]
    answer = browser(cast.steward).get(ADDRESS, {"release": wrong, "page": "x"})
    page = html_of(answer)
    assert answer.status_code == 200
    assert "&lt;b&gt;" in page and "<b>" not in page
    assert "At 0.5" in page


def test_five_releases_are_four(cast: Cast) -> None:
    released = released_at(cast, *["1"] * 5)
    page = beside.page_of(cast.steward, asked(*(each.code for each in released)))
    assert page.too_many and len(page.sides) == 4


def test_a_choice_after_a_look_is_said(
    cast: Cast, pair: tuple[Release, Release], browser: Open
) -> None:
    words, address = "chosen after looking at real data", f"{ADDRESS}?release={pair[0].code}"
    client = browser(cast.steward)
    assert words not in html_of(client.get(address))
    Release.objects.filter(pk=pair[0].pk).update(
        receipt=pair[0].receipt | {"chosen_after_looking": True}
    )
    assert words in html_of(client.get(address))


def test_pairs_of_columns_have_a_map_of_each_release_and_of_each_difference(
    cast: Cast, pair: tuple[Release, Release], browser: Open
) -> None:
    first, second = pair
    maps = beside.page_of(cast.steward, asked(first.code, second.code)).maps
    assert [each.label for each in maps] == ["A", "B", "B − A"]
    assert [each.is_first for each in maps] == [False, False, True]
    columns = model_relations.pairs_of(first)
    assert columns is not None
    assert all(0 <= value <= 1 for value in columns.values())
    a, b, difference = (each.card.figure["data"][0] for each in maps if each.card.figure)
    assert a["zmax"] == b["zmax"] and difference["zmin"] == -difference["zmax"]
    grey = maps[2].card.figure["data"][1]["z"]
    for row, line in enumerate(difference["z"]):
        for column, coloured in enumerate(line):
            value = grey[row][column] if coloured is None else coloured
            assert (value is None) == (column > row)
            if value is not None:
                assert value == pytest.approx(
                    b["z"][row][column] - a["z"][row][column], abs=2e-4
                )
    assert 0 < len(maps[2].most) <= beside.MOST_PAIRS
    page = html_of(browser(cast.steward).get(ADDRESS, {"release": [first.code, second.code]}))
    assert "Ten most different" in page
    assert page.count("data-figure=") == 3
    alone = beside.page_of(cast.steward, asked(first.code))
    assert alone.maps == ()


def test_releases_with_too_few_columns_in_common_have_no_map() -> None:
    assert beside._maps([{("a", "b"): 0.5}, {("c", "d"): 0.5}]) == ()
    assert beside._maps([{("a", "b"): 0.5}, None]) == ()
    (one, other, difference) = beside._maps(
        [{("a", "b"): 0.5, ("a", "c"): 0.1, ("b", "c"): 0.2}, {("b", "a"): 0.25}]
    )
    assert difference.most == (("a × b", "-0.250"),)
    assert (one.label, other.label) == ("A", "B")
