"""The first page of a release: a hundred synthetic rows from the model alone, the same for everybody who may draw samples."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.test import Client

from synth_engine import codec
from synth_engine.models.model import Model
from synth_engine.tables import Drawing
from synthweb.releases import look, screens, services
from synthweb.releases.models import FirstLook, Release
from synthweb.runs import ranges
from synthweb.runs import services as runs
from synthweb.runs.models import RangesErrand
from tests.cast import Cast
from tests.web import scene
from tests.web.html import html_of
from tests.web.rest import Caller

pytestmark = pytest.mark.django_db(transaction=True)
Open = Callable[..., Client]

TABLE = scene.TABLE + "north,7,\n" * 20


@pytest.fixture
def release(cast: Cast) -> Release:
    return scene.released(
        cast, mechanism="independent", epsilon="4", name="Three columns", table=TABLE
    )


def rows_of(html: str) -> list[list[str]]:
    """The cells of the table of rows, as the page shows them."""
    (body,) = re.findall(r"<tbody>(.*?)</tbody>", html)
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in body.split("</tr>") if row]


def test_whoever_may_draw_samples_sees_the_same_hundred_rows(
    cast: Cast, release: Release, browser: Open
) -> None:
    address = f"/releases/{release.code}/look/"
    assert browser(cast.analyst).get(address).status_code == 404
    assert browser(cast.auditor).get(address).status_code == 403
    assert not FirstLook.objects.exists()
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    shown = rows_of(html_of(browser(cast.analyst).get(address)))
    assert len(shown) == look.ROWS and all(len(row) == 3 for row in shown)
    assert rows_of(html_of(browser(cast.steward).get(address))) == shown
    assert FirstLook.objects.get().columns == 3
    assert screens.tabs(cast.analyst, release)[0].key == "look"
    assert "look" not in [tab.key for tab in screens.tabs(cast.auditor, release)]


def test_the_rows_are_those_of_the_public_seed(release: Release) -> None:
    draw = Drawing(
        model=Model.from_json(release.model),
        rows=look.ROWS,
        seed=look.seed_of(release),
        sampler=2,
    )
    (block,) = draw.blocks()
    texts = codec.as_text(draw.model.domain, block)
    shown = look.look_of(release)
    expected = [
        [text or None for text in row] for row in texts.itertuples(index=False, name=None)
    ]
    assert [list(row.cells) for row in shown.rows] == expected


def test_rows_are_sorted_by_a_link_and_missing_values_come_last(
    cast: Cast, release: Release, browser: Open
) -> None:
    client, address = browser(cast.steward), f"/releases/{release.code}/look/"
    ages = [int(row[1]) for row in rows_of(html_of(client.get(address, {"sort": "1"})))]
    assert ages == sorted(ages) and len(ages) == look.ROWS
    page = html_of(client.get(address, {"sort": "-1"}))
    assert [int(row[1]) for row in rows_of(page)] == sorted(ages, reverse=True)
    assert 'aria-sort="descending"' in page
    for sort in ("2", "-2"):
        works = [row[2] for row in rows_of(html_of(client.get(address, {"sort": sort})))]
        assert "∅" in works and "∅" not in works[: works.index("∅")]
        assert set(works[works.index("∅") :]) == {"∅"}


def test_rows_are_filtered_by_words_in_any_column_or_in_one(
    cast: Cast, release: Release, browser: Open
) -> None:
    client, address = browser(cast.steward), f"/releases/{release.code}/look/"
    every = rows_of(html_of(client.get(address)))
    south = rows_of(html_of(client.get(address, {"q": "SOUTH"})))
    assert south == [row for row in every if row[0] == "south"] != every
    fours = rows_of(html_of(client.get(address, {"q": "4", "in": "1", "sort": "1"})))
    assert sorted(map(tuple, fours)) == sorted(tuple(row) for row in every if "4" in row[1])
    nothing = client.get(address, {"q": "<script>", "in": "0"})
    assert rows_of(html_of(nothing))[0] != every[0] and "<script>alert" not in html_of(nothing)


@pytest.mark.parametrize(
    "query",
    [
        {"sort": "9"},
        {"sort": "--1"},
        {"sort": "x"},
        {"in": "77"},
        {"from": "²"},
        {"sort": "1" * 40},
    ],
)
def test_what_an_address_says_wrongly_changes_nothing(
    cast: Cast, release: Release, browser: Open, query: dict[str, str]
) -> None:
    client, address = browser(cast.steward), f"/releases/{release.code}/look/"
    assert rows_of(html_of(client.get(address, query))) == rows_of(html_of(client.get(address)))


def test_each_column_has_a_histogram_of_the_model_and_its_dictionary(
    cast: Cast, release: Release, browser: Open
) -> None:
    page = html_of(browser(cast.steward).get(f"/releases/{release.code}/look/"))
    assert page.count('class="thumb"') == page.count('class="look-column"') == 3
    assert "0 to 99" in page and "north, south" in page
    shown = look.look_of(release)
    for column in shown.columns:
        assert column.histogram is not None
        assert sum(bar.share.value for bar in column.histogram.bars) == pytest.approx(1)
    works = shown.columns[2].histogram
    assert works is not None and works.missing is not None and 0 < works.missing.value < 1


def test_rows_of_another_version_are_drawn_again(release: Release) -> None:
    first = look.look_of(release)
    FirstLook.objects.update(version="look/0", document={})
    assert look.look_of(release) == first
    assert FirstLook.objects.get().version == look.VERSION


def test_expected_errors_stand_beside_the_columns_once_they_are_computed(
    cast: Cast, release: Release, browser: Open
) -> None:
    client, address = browser(cast.steward), f"/releases/{release.code}/look/"
    making = f"/releases/{release.code}/expected/making/?by=look"
    before = html_of(client.get(address))
    assert making in before and "data-closeness" not in before
    waiting = client.get(making, headers={"HX-Request": "true"})
    assert 'id="look-waiting"' in html_of(waiting)
    ranges.compute(code=RangesErrand.objects.get().code)
    arrived = client.get(making, headers={"HX-Request": "true"})
    assert arrived.headers["HX-Refresh"] == "true"
    page = html_of(client.get(address))
    assert page.count("data-closeness") == 3 and "data-quality" in page and making not in page
    shown = look.look_of(release)
    assert shown.quality is not None
    counts = shown.quality
    assert counts.close + counts.fair + counts.rough == 3
    for column in shown.columns:
        assert column.error is not None and column.error.lines
    assert page.count("data-band") == sum(
        len(column.error.lines) for column in shown.columns if column.error
    )


def test_a_worker_that_computes_the_errors_draws_the_rows_too(release: Release) -> None:
    ranges.compute(code=runs.request_ranges(release=release).code)
    prepared = FirstLook.objects.get()
    assert prepared.quality is not None
    shown = look.look_of(release)
    FirstLook.objects.all().delete()
    assert look.look_of(release) == shown  # from the stored ranges


def test_a_failure_to_compute_them_is_said_beside_the_rows(
    cast: Cast, release: Release, browser: Open
) -> None:
    runs.request_ranges(release=release)
    RangesErrand.objects.update(state=RangesErrand.State.FAILED)
    making = f"/releases/{release.code}/expected/making/"
    answer = browser(cast.steward).get(f"{making}?by=look", headers={"HX-Request": "true"})
    assert "hx-get" not in html_of(answer) and making in html_of(answer)


def test_lists_have_columns_quality_and_who_shared(
    cast: Cast, release: Release, browser: Open
) -> None:
    address = f"/releases/{release.code}/look/"
    steward = html_of(browser(cast.steward).get("/releases/"))
    assert address in steward and "with nobody" in steward and "data-quality" not in steward
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    ranges.compute(code=runs.request_ranges(release=release).code)
    steward = html_of(browser(cast.steward).get("/releases/"))
    assert "with 1" in steward and "data-quality" in steward and "3 columns" in steward
    analyst = html_of(browser(cast.analyst).get("/releases/"))
    assert address in analyst and "by steward" in analyst
    auditor = html_of(browser(cast.auditor).get("/releases/"))
    assert address not in auditor and f"/releases/{release.code}/" in auditor
    services.revoke(actor=cast.steward, grant=release.grants.get())
    assert "with nobody" in html_of(browser(cast.steward).get("/releases/"))


def test_rest_has_the_same_rows_and_facts(cast: Cast, release: Release) -> None:
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    calls = Caller(cast.analyst, "read")
    (listed,) = calls.get("/releases/").json()["results"]
    assert (listed["columns"], listed["quality"]) == (None, None)
    assert listed["shared_by"] == cast.steward.username
    first = calls.get(f"/releases/{release.code}/first-rows/").json()
    assert [column["closeness"] for column in first["columns"]] == [None] * 3
    ranges.compute(code=runs.request_ranges(release=release).code)
    answer = calls.get(f"/releases/{release.code}/first-rows/").json()
    shown = look.look_of(release)
    assert answer["rows"] == first["rows"] == [list(row.cells) for row in shown.rows]
    assert answer["seed"] == look.seed_of(release)
    for column, of_page in zip(answer["columns"], shown.columns, strict=True):
        assert of_page.histogram is not None and of_page.error is not None
        assert column["closeness"] == of_page.error.closeness
        shares = [bar.share.value for bar in of_page.histogram.bars]
        assert [bar["share"] for bar in column["histogram"]] == shares
    for one in (
        calls.get(f"/releases/{release.code}/").json(),
        calls.get("/releases/").json()["results"][0],
    ):
        assert one["columns"] == 3 and one["shared_by"] == cast.steward.username
        assert sum(one["quality"][level] for level in ("close", "fair", "rough")) == 3
    again = {"rows": look.ROWS, "seed": answer["seed"], "sampler": answer["sampler"]}
    sample = calls.send(f"/releases/{release.code}/samples/", again).json()
    assert sample["rows"] == look.ROWS


def test_a_wide_table_has_its_columns_on_several_pages(
    cast: Cast, release: Release, browser: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(look, "MAX_COLUMNS", 2)
    client, address = browser(cast.steward), f"/releases/{release.code}/look/"
    first, second = client.get(address), client.get(address, {"from": "2", "sort": "1"})
    assert {len(row) for row in rows_of(html_of(first))} == {2}
    assert {len(row) for row in rows_of(html_of(second))} == {1}
    assert "?from=2#rows" in html_of(first)
