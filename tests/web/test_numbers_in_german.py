"""Numbers that people read on German pages have a comma, and those that programs read have a point."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from django.test import Client
from django.utils import translation

from synthweb.lib import language, number_format
from synthweb.pages.templatetags import amounts, compact
from tests.cast import Cast
from tests.web import addresses, scene
from tests.web.test_criteria import CRITERIA
from tests.web.test_languages import GERMAN, NOT_TRANSLATED, GermanTexts

Browser = Callable[..., Client]
POINT = re.compile(r"(?<![\w.])[0-9]+\.[0-9]+(?![0-9]*\.[0-9])")
"""A decimal point between digits; dates and versions of three parts have more points."""
EXCEPTIONS = re.compile(
    r"(?:CC BY|CC0|ODbL) [0-9.]+"  # licences
    r"|Python [0-9.]+ oder neuer"
    r"|\(41\.824, −71\.413\)"  # how coordinates stand in a file
)
"""What has a point in German, too."""


def pointed(html: str) -> list[str]:
    """The texts of a German page with a decimal point in a number, also those of choices."""
    html = re.sub(r"<(/?)option\b", r"<\1span", html)
    return [text for text in GermanTexts(html).texts if POINT.search(EXCEPTIONS.sub("", text))]


@pytest.fixture
def played(cast: Cast, places: None) -> scene.Scene:
    """The main job with criteria and figures that were measured with budget."""
    made = scene.play(
        steward=cast.steward, custodian=cast.custodian, organisation=cast.organisation
    )
    made.release.criteria = [each.to_json() for each in CRITERIA]
    made.release.save(update_fields=["criteria"])
    scene.measured(steward=cast.steward, release=made.release)
    return made


def visited(client: Client, cast: Cast, played: scene.Scene) -> Iterator[tuple[str, str]]:
    """Address and HTML of each page that this person may see, and of releases side by side."""
    routes = [route for route in addresses.routes() if not route.startswith(NOT_TRANSLATED)]
    pages = [addresses.fill(route, scene=played, cast=cast) for route in routes]
    pages.append(f"/releases/side-by-side/?release={played.release.code}")
    for address in pages:
        if language.is_read_by_programs(address.partition("?")[0]):
            continue
        answer = client.get(address, headers=GERMAN)
        if answer.status_code == 200 and not answer.streaming:
            yield address, answer.content.decode()


@pytest.mark.same_on_every_database  # asks what the table of test_authorisation_matrix.py asks
def test_no_number_of_a_german_page_has_a_decimal_point(
    cast: Cast, played: scene.Scene, browser: Browser
) -> None:
    faults, seen, commas = [], set(), set()
    for person in (cast.steward, cast.custodian, cast.auditor, played.reader):
        for address, html in visited(browser(person), cast, played):
            seen.add(address)
            faults += [f"{address}: {text}" for text in pointed(html)]
            if re.search(r"[0-9],[0-9]", " ".join(GermanTexts(html).texts)):
                commas.add(address)
    assert not faults, "\n".join(sorted(set(faults)))
    of_release, of_table = (
        f"/releases/{played.release.code}",
        f"/datasets/{played.dataset.code}",
    )
    # Each of these has shares or amounts, so that the walk saw numbers at all.
    assert commas >= {
        *(
            f"{of_release}/{tab}/"
            for tab in ("look", "criteria", "paid", "expected", "compare")
        ),
        f"{of_release}/receipt/",
        f"{of_table}/releases/new/",
        f"/releases/side-by-side/?release={played.release.code}",
        f"/ledger/accounts/{played.account.code}/",
    }
    assert len(seen) > 60


@pytest.mark.parametrize("text", ["12.5 %", "ε 0.5, δ 1e-9", "von 0.1 bis 1.25", "etwa 4.3."])
def test_a_decimal_point_would_be_noticed(text: str) -> None:
    page = (
        f"<p>{text}</p><svg><text>{text}</text></svg><option>{text}</option><code>{text}</code>"
    )
    assert pointed(page) == [text] * 3
    assert pointed(f'<i title="{text}">x</i>') == [text]
    with translation.override("de"):
        assert pointed(f"<p>{language.written_number(text)}</p>") == []


@pytest.mark.parametrize("text", ["28.11.2026 00:44", "numpy 2.4.6", "CC BY 4.0", "3. Spalte"])
def test_what_is_no_decimal_number_has_its_points(text: str) -> None:
    assert pointed(f"<p>{text}</p>") == []


def test_dates_and_versions_stay_where_numbers_are_written() -> None:
    with translation.override("de"):
        assert language.written_number("28.11.2026") == "28.11.2026"
        assert language.written_number("0.16.0 und 1.5") == "0.16.0 und 1,5"
        assert language.written_number("-0.25e-3 bis +12.75.") == "-0,25e-3 bis +12,75."


def test_shares_and_figures_are_written_by_the_language_of_the_page() -> None:
    rows = [[("3.5", False), ("0.25", True), ("1.5", False)]]
    with translation.override("de"):
        assert number_format.share(0.0434) == "4,3 %"
        assert amounts.written("± 2.6") == "± 2,6"
        # Values of a table are no numbers of the page.
        assert "<td>3.5</td>" in compact.figure_rows(rows)
        assert ">0,25</td>" in compact.figure_rows(rows)
        assert language.translated("most frequent: 1.5 to 2: 3.9 %, x: 4 %") == (
            "am häufigsten: 1.5 to 2: 3,9 %, x: 4 %"
        )
        assert language.translated("ε 1 charged, 0.55 held, 2.45 free of 4") == (
            "ε 1 abgebucht, 0,55 vorgemerkt, 2,45 frei von 4"
        )
    assert number_format.share(0.0434) == "4.3 %"
    assert ">0.25</td>" in compact.figure_rows(rows)
