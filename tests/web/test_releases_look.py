"""The first page of a release: a hundred synthetic rows from the model alone, the same for everybody who may
draw samples."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client

from synth_engine import codec
from synth_engine.evaluation.expected import ExpectedColumn
from synth_engine.evaluation.quality_words import COLUMN_WORDS
from synth_engine.models.model import Model
from synth_engine.tables import Drawing
from synthweb.releases import (
    expected,
    learned_domain,
    look,
    selectors,
    services,
    tables,
    tabs,
)
from synthweb.releases.models import FirstLook, Release
from synthweb.runs import ranges
from synthweb.runs import services as runs
from synthweb.runs.models import OutboxMessage, RangesJob
from tests.cast import Cast
from tests.web import scene
from tests.web.html import html_of
from tests.web.rest import Caller

pytestmark = pytest.mark.django_db(transaction=True)
Open = Callable[..., Client]

TABLE = scene.TABLE + "north,7,\n" * 20


@pytest.fixture
def published(cast: Cast) -> Release:
    """As the worker of the run leaves it: nothing of the page is prepared yet."""
    return scene.released(
        cast, mechanism="independent", epsilon="4", name="Three columns", table=TABLE
    )


@pytest.fixture
def release(published: Release) -> Release:
    """After the worker that was called when it was published."""
    ranges.compute(code=RangesJob.objects.get().code)
    return published


def seen(release: Release) -> look.Look:
    shown = look.look_of(release)
    assert shown is not None
    return shown


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
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    shown = rows_of(html_of(browser(cast.analyst).get(address)))
    assert len(shown) == look.ROWS and all(len(row) == 3 for row in shown)
    assert rows_of(html_of(browser(cast.steward).get(address))) == shown
    assert FirstLook.objects.get().columns == 3
    assert tabs.offered(cast.analyst, release)[0].key == "look"
    assert "look" not in {card.tab for card in tabs.offered(cast.auditor, release)}


def test_the_rows_are_those_of_the_public_seed(release: Release) -> None:
    draw = Drawing(
        model=Model.from_json(release.model),
        rows=look.ROWS,
        seed=look.seed_of(release),
    )
    (block,) = draw.blocks()
    texts = codec.as_text(draw.model.domain, block)
    shown = seen(release)
    drawn = [[text or None for text in row] for row in texts.itertuples(index=False, name=None)]
    assert [list(row.cells) for row in shown.rows] == drawn


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
    shown = seen(release)
    for column in shown.columns:
        assert column.histogram is not None
        assert sum(bar.share.value for bar in column.histogram.bars) == pytest.approx(1)
    works = shown.columns[2].histogram
    assert works is not None and works.missing is not None and 0 < works.missing.value < 1


def test_a_run_that_ends_has_a_worker_called_for_what_the_page_needs(
    published: Release,
) -> None:
    job = RangesJob.objects.get()
    assert job.release == published and job.is_open
    assert OutboxMessage.objects.filter(subject_code=job.code).exists()


def test_a_release_is_published_although_nobody_can_be_asked_for_its_first_look(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(**_: object) -> None:
        raise OperationalError

    monkeypatch.setattr(runs, "request_ranges", away)
    release = scene.released(
        cast, mechanism="independent", epsilon="4", name="Three columns", table=TABLE
    )
    assert release.release_run.run.state == "finished"
    assert not RangesJob.objects.exists()


def test_no_request_draws_the_rows(
    cast: Cast, published: Release, browser: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, address = browser(cast.steward), f"/releases/{published.code}/look/"
    making = f"/releases/{published.code}/expected/making/"
    with monkeypatch.context() as patched:
        patched.setattr(Model, "from_json", _refused)
        page = html_of(client.get(address))
        assert f"{making}?lacks=rows" in page and "<tbody>" not in page
        waiting = client.get(f"{making}?lacks=rows", headers={"HX-Request": "true"})
        assert 'id="look-waiting"' in html_of(waiting) and "stage-bar" in html_of(waiting)
        rest = Caller(cast.steward, "read").get(f"/releases/{published.code}/first-rows/")
        assert rest.status_code == 202 and rest.headers["Retry-After"]
    ranges.compute(code=RangesJob.objects.get().code)
    arrived = client.get(f"{making}?lacks=rows", headers={"HX-Request": "true"})
    assert arrived.headers["HX-Refresh"] == "true"
    with monkeypatch.context() as patched:
        patched.setattr(Model, "from_json", _refused)
        assert len(rows_of(html_of(client.get(address)))) == look.ROWS


def _refused(*_: object, **__: object) -> None:
    raise AssertionError("a request read the model")


def test_an_older_release_has_its_rows_drawn_when_somebody_opens_it(
    cast: Cast, release: Release, browser: Open
) -> None:
    first = seen(release)
    FirstLook.objects.update(version="look/0", document={})
    client, address = browser(cast.steward), f"/releases/{release.code}/look/"
    assert "lacks=rows" in html_of(client.get(address))
    making = f"/releases/{release.code}/expected/making/?lacks=rows"
    client.get(making, headers={"HX-Request": "true"})
    ranges.compute(code=RangesJob.objects.get(state="waiting").code)
    assert seen(release) == first
    assert FirstLook.objects.get().version == look.VERSION
    assert len(rows_of(html_of(client.get(address)))) == look.ROWS


def test_rows_stand_on_the_page_before_their_expected_errors(
    cast: Cast, published: Release, browser: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = published
    client, address = browser(cast.steward), f"/releases/{release.code}/look/"
    making = f"/releases/{release.code}/expected/making/?lacks=ranges"
    pages: list[str] = []
    compute = expected.compute_columns

    def watched(*given: Any, **named: Any) -> list[ExpectedColumn]:
        pages.append(html_of(client.get(address)))
        pages.append(html_of(client.get(making, headers={"HX-Request": "true"})))
        return compute(*given, **named)

    monkeypatch.setattr(expected, "compute_columns", watched)
    ranges.compute(code=RangesJob.objects.get().code)
    before, waiting = pages
    assert len(rows_of(before)) == look.ROWS and making in before
    assert "data-word" not in before
    assert 'id="look-waiting"' in waiting and "Simulate the noise" in waiting
    arrived = client.get(making, headers={"HX-Request": "true"})
    assert arrived.headers["HX-Refresh"] == "true"
    page = html_of(client.get(address))
    assert page.count("data-word") == 3 and "data-quality" in page and making not in page
    shown = seen(release)
    assert shown.quality is not None
    counts = shown.quality
    assert counts.found_columns + counts.coarse_columns + counts.not_found_columns == 3
    for column in shown.columns:
        assert column.error is not None and column.error.lines
    assert page.count("data-band") == sum(
        len(column.error.lines) for column in shown.columns if column.error
    )


def test_a_failure_to_compute_them_is_said_beside_the_rows(
    cast: Cast, published: Release, browser: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(expected, "compute_columns", fails)
        ranges.compute(code=RangesJob.objects.get().code)
    client, making = browser(cast.steward), f"/releases/{published.code}/expected/making/"
    answer = client.get(f"{making}?lacks=ranges", headers={"HX-Request": "true"})
    assert "hx-get" not in html_of(answer) and making in html_of(answer)
    assert len(rows_of(html_of(client.get(f"/releases/{published.code}/look/")))) == look.ROWS
    client.post(making)
    ranges.compute(code=RangesJob.objects.get(state="waiting").code)
    assert seen(published).quality is not None


def test_lists_have_columns_quality_and_who_shared(
    cast: Cast, published: Release, browser: Open
) -> None:
    release = published
    address = f"/releases/{release.code}/look/"
    steward = html_of(browser(cast.steward).get("/releases/"))
    assert address in steward and "with nobody" in steward and "data-quality" not in steward
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    ranges.compute(code=runs.request_ranges(release=release).code)
    steward = html_of(browser(cast.steward).get("/releases/"))
    assert "with 1" in steward and "data-quality" in steward
    # The method asked for single columns alone: they may be close, and their relations are lost.
    assert 'data-relations="lost"' in steward
    assert 'data-relations="lost"' in html_of(browser(cast.steward).get(address))
    assert re.search(r'data-name="Columns">\s*3\s*<', steward)
    analyst = html_of(browser(cast.analyst).get("/releases/"))
    assert address in analyst and "by steward" in analyst
    auditor = html_of(browser(cast.auditor).get("/releases/"))
    assert address not in auditor and f"/releases/{release.code}/" in auditor
    services.revoke(actor=cast.steward, grant=release.grants.get())
    assert "with nobody" in html_of(browser(cast.steward).get("/releases/"))


def test_lists_are_sorted_by_quality_columns_and_sharing(
    cast: Cast, release: Release, browser: Open
) -> None:
    qualities = {
        "not found": {
            "found_columns": 1,
            "coarse_columns": 0,
            "not_found_columns": 2,
            "unknown_columns": 0,
        },
        "not known": {
            "found_columns": 0,
            "coarse_columns": 0,
            "not_found_columns": 0,
            "unknown_columns": 3,
        },
        "coarse": {
            "found_columns": 1,
            "coarse_columns": 1,
            "not_found_columns": 1,
            "unknown_columns": 1,
        },
        "not computed yet": None,
        "found": {
            "found_columns": 2,
            "coarse_columns": 1,
            "not_found_columns": 1,
            "unknown_columns": 9,
        },
    }
    first = FirstLook.objects.get()
    for number, (name, quality) in enumerate(qualities.items()):
        Release.objects.filter(pk=release.pk).update(name=name)
        copied = Release.objects.get(pk=release.pk)
        copied.pk, copied.code, copied.run_code = None, f"copy{number}", f"run{number}"
        copied.save()
        FirstLook.objects.create(
            release=copied,
            version=first.version,
            columns=10 - number,
            document=first.document,
            quality=quality,
        )
    Release.objects.filter(pk=release.pk).update(name="the first")
    shared = Release.objects.get(name="coarse")
    services.share(actor=cast.steward, release=shared, analyst=cast.analyst)
    client = browser(cast.steward)

    def listed(sort: str) -> list[str]:
        page = html_of(client.get("/releases/", {"sort": sort}))
        names = re.findall(r'/look/"[^>]*>([^<]+)</a>', page)
        return [name.strip() for name in names if name.strip() != "the first"]

    order = ["found", "coarse", "not found", "not known", "not computed yet"]
    assert listed("quality") == order and listed("-quality") == order[::-1]
    assert listed("-columns") == list(qualities)
    assert listed("-shared")[0] == "coarse"
    # Of releases whose columns are as close, those that keep relations come first.
    FirstLook.objects.filter(release__name__in=("not found", "coarse", "found")).update(
        quality=qualities["found"] | {"relations": "weak"}
    )
    for name, relations in (("not found", "kept"), ("coarse", "lost")):
        FirstLook.objects.filter(release__name=name).update(
            quality=qualities["found"] | {"relations": relations}
        )
    assert listed("quality")[:3] == ["not found", "found", "coarse"]
    for release in selectors.with_quality(Release.objects.all()):
        word = look.quality_of(release.first_look)
        assert release.word_place == (4 if word is None else COLUMN_WORDS.index(word.word))


def test_rest_has_the_same_rows_and_facts(cast: Cast, published: Release) -> None:
    release = published
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    calls = Caller(cast.analyst, "read")
    (listed,) = calls.get("/releases/").json()["results"]
    assert (listed["columns"], listed["quality"]) == (None, None)
    assert listed["shared_by"] == cast.steward.username
    assert calls.get(f"/releases/{release.code}/first-rows/").status_code == 202
    look.store(look.draw(release))
    first = calls.get(f"/releases/{release.code}/first-rows/").json()
    assert [column["word"] for column in first["columns"]] == [None] * 3
    ranges.compute(code=runs.request_ranges(release=release).code)
    answer = calls.get(f"/releases/{release.code}/first-rows/").json()
    shown = seen(release)
    assert answer["rows"] == first["rows"] == [list(row.cells) for row in shown.rows]
    assert answer["seed"] == look.seed_of(release)
    for column, of_page in zip(answer["columns"], shown.columns, strict=True):
        assert of_page.histogram is not None and of_page.error is not None
        assert column["word"] == of_page.error.word
        shares = [bar.share.value for bar in of_page.histogram.bars]
        assert [bar["share"] for bar in column["histogram"]] == shares
    for one in (
        calls.get(f"/releases/{release.code}/").json(),
        calls.get("/releases/").json()["results"][0],
    ):
        assert one["columns"] == 3 and one["shared_by"] == cast.steward.username
        assert (
            sum(
                one["quality"][f"{level}_columns"] for level in ("found", "coarse", "not_found")
            )
            == 3
        )
        assert one["quality"]["relations"] == "lost"
        assert (one["quality"]["related"], one["quality"]["pairs"]) == (0, 3)
    errors = calls.get(f"/releases/{release.code}/expected-errors/").json()
    assert errors["quality"] == one["quality"] and errors["relations"] is None
    again = {"rows": look.ROWS, "seed": answer["seed"]}
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


OPEN_TABLE = "region,height,weight\n" + "".join(
    f"{'north' if place % 2 else 'south'},{160 + place},{60 + place}\n" for place in range(12)
)
OPEN_COLUMNS = {
    "attributes": [
        {
            "name": "region",
            "kind": "categorical",
            "values": ["north", "south"],
            "outside": "clamp",
        },
        *(
            {"name": name, "kind": "scale", "of": "integer", "missing": None}
            for name in ("height", "weight")
        ),
    ]
}


@pytest.mark.usefixtures("nothing_by_chance")
def test_columns_that_were_not_found_are_named_wherever_the_release_is_shown(
    cast: Cast, browser: Open
) -> None:
    """Of twelve records at ε = 0.1 nothing is learned: the bounds of what could be are on no page."""
    made = scene.released(
        cast,
        mechanism="independent",
        epsilon="0.1",
        name="Twelve",
        table=OPEN_TABLE,
        document=OPEN_COLUMNS,
    )
    ranges.compute(code=RangesJob.objects.get().code)
    client = browser(cast.steward)
    for page in ("", "look/", "about/", "report.html"):
        html = html_of(client.get(f"/releases/{made.code}/{page}"))
        assert "height, weight" in html, page
        assert "00000000000" not in html, page
        if page != "report.html":
            assert 'data-not-found="2"' in html, page
    rows = rows_of(html_of(client.get(f"/releases/{made.code}/look/")))
    assert {cell for row in rows for cell in row[1:]} <= set(rows[0][1:])
    assert learned_domain.not_found(made) == ("height", "weight")
    assert [each.is_found for each in learned_domain.learned(made)] == [False, False]
    assert made.receipt["post_processing"]["not_found"] == ["height", "weight"]
    (_, height, weight) = tables.data_dictionary(made)
    assert height["values"] == weight["values"] == "not found"
    document = Caller(cast.steward, "read").get(f"/releases/{made.code}/").json()
    assert document["not_found"] == ["height", "weight"]


@pytest.mark.usefixtures("nothing_by_chance")
def test_a_basket_whose_items_noise_chose_is_named_wherever_the_release_is_shown(
    cast: Cast, browser: Open
) -> None:
    items = {"set": "integers", "low": 0, "high": 999}
    made = scene.released(
        cast,
        mechanism="independent",
        epsilon="0.1",
        name="Baskets",
        table="items\n" + "7 11\n" * 3,
        document={
            "attributes": [{"name": "items", "kind": "weak-basket", "values": items, "keep": 4}]
        },
    )
    client = browser(cast.steward)
    for page in ("", "look/", "about/"):
        assert 'data-not-found="1"' in html_of(client.get(f"/releases/{made.code}/{page}")), (
            page
        )
    document = Caller(cast.steward, "read").get(f"/releases/{made.code}/").json()
    assert document["not_found"] == made.receipt["post_processing"]["not_found"] == ["items"]
