"""The comparison begins with an answer; every check opens in its place; a hundred columns are as light as
three."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from django.http import QueryDict
from django.test import Client
from django.urls import reverse

from synth_engine.evaluation import summaries, view
from synth_engine.evaluation.plots import Report
from synth_engine.evaluation.worst_means import worst_means
from synthweb.audit.models import AuditEntry
from synthweb.datasets import selectors as datasets
from synthweb.releases import compare_page
from tests.cast import Cast
from tests.engine.evaluation.tables import compared
from tests.engine.evaluation.test_summaries import WIDE, wide
from tests.web.html import html_of
from tests.web.scene import Scene

pytestmark = pytest.mark.django_db
Open = Callable[..., Client]

BYTES = 150_000
"""Of a page when it opens."""


@pytest.fixture(scope="module")
def of_a_hundred() -> Report:
    """A hundred columns that are all right, and lost all of their relations."""
    rng = np.random.default_rng(3)
    return compared(
        wide(seed=1),
        {name: rng.permutation(column) for name, column in wide(seed=2).items()},
        domain=WIDE,
    )


def address(played: Scene, key: str = "") -> str:
    code = played.release.code
    if key:
        return reverse("releases:compare-part", args=[code, key])
    return reverse("releases:compare", args=[code])


def test_every_check_of_the_list_opens_in_its_place_and_is_logged(
    cast: Cast, played: Scene, browser: Open
) -> None:
    client = browser(cast.steward)
    page = html_of(client.get(address(played)))
    checks = dict(re.findall(r'data-check="([\w-]+)" data-level="(\w*)"', page))
    assert {"columns", "dependence", "groups", "rows"} <= set(checks)
    (counted,) = re.findall(r'data-fine="(\d+)" data-differ="(\d+)"', page)
    judged = [level for level in checks.values() if level]
    fine = sum(level in summaries.KEPT_LEVELS for level in judged)
    assert tuple(map(int, counted)) == (fine, len(judged) - fine)
    assert set(re.findall(r'data-column="(\w+)"', page)) == {"region", "age", "works"}
    before = AuditEntry.objects.filter(action="report.opened").count()
    for number, key in enumerate(checks, start=1):
        part = client.get(address(played, key), headers={"HX-Request": "true"})
        text = html_of(part)
        assert f'data-part-of="{key}"' in text, key
        assert "<html" not in text, key
        assert "data-figure=" in text or "<td" in text, key
        whole = html_of(client.get(address(played, key)))
        assert '<div class="red-bar"' in whole, key
        logged = AuditEntry.objects.filter(action="report.opened").count()
        assert logged == before + 2 * number, key
    assert client.get(address(played, "nothing")).status_code == 404


def test_nobody_but_stewards_opens_a_check(cast: Cast, played: Scene, browser: Open) -> None:
    for person in (played.reader, cast.auditor, cast.custodian):
        assert browser(person).get(address(played, "rows")).status_code == 403
    assert browser(cast.stranger).get(address(played, "rows")).status_code == 404


def test_a_hundred_columns_are_found_by_pages_and_by_words(of_a_hundred: Report) -> None:
    comparison = view.lay_out(of_a_hundred)

    def shown(query: str) -> list[str]:
        page = compare_page.page_of(of_a_hundred, comparison, QueryDict(query), further=())
        return [each.name for each in page.columns]

    first, second = shown(""), shown("page=2")
    assert len(first) == len(second) == compare_page.COLUMNS_A_PAGE
    assert not set(first) & set(second)
    assert set(shown("q=C1")) == {f"c{number}" for number in range(10, 20)}
    assert shown("q=nothing") == []


def test_the_answer_is_that_of_the_worst_part(of_a_hundred: Report) -> None:
    comparison = view.lay_out(of_a_hundred)
    page = compare_page.page_of(of_a_hundred, comparison, QueryDict(), further=())
    assert page.level == "large"
    assert re.findall(r"\d+", page.sentences[0]) == ["66", "0"]
    levels = {check.key: check.level for check in page.checks}
    assert levels["dependence"] == levels["groups"] == "large"
    (changed, *_) = page.figures
    assert changed.figure is not None
    names = {*changed.figure["data"][0]["x"], *changed.figure["data"][0]["y"]}  # type: ignore[misc]
    assert len(names) == compare_page.MOST_ON_MAP
    # The twelve columns whose relations were lost are on it.
    assert {f"c{number:02}" for number in range(12)} <= names


def test_a_page_of_a_hundred_columns_is_light(
    cast: Cast,
    played: Scene,
    browser: Open,
    of_a_hundred: Report,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def opened(*_: Any) -> Report:
        return of_a_hundred

    monkeypatch.setattr(datasets, "preview_for", opened)
    page = browser(cast.steward).get(address(played))
    assert len(page.content) <= BYTES
    assert html_of(page).count("data-column=") == compare_page.COLUMNS_A_PAGE
    code = played.release.code
    part = browser(cast.steward).get(
        reverse("releases:compare-part", args=[code, "columns"]) + "?q=c1&page=1",
        headers={"HX-Request": "true"},
    )
    assert html_of(part).count("data-figure=") == 10


def means(**group: Any) -> dict[str, Any]:
    worst = {
        "of": "price",
        "by": "class",
        "spread": 10.0,
        "real": 100.0,
        "difference": -30.0,
        "by_chance": 1.0,
        "records": {"real": 50, "synthetic": 40},
    } | group
    return {
        "rows": {"real": 10_000, "synthetic": 10_000},
        "conditional_means": {"level": "large", "pairs": [{}], "worst": [worst]},
    }


@pytest.mark.parametrize(
    ("report", "part", "is_small"),
    [
        (means(), 0.3, True),
        (means(records={"real": 5_000, "synthetic": 40}), 0.3, False),
        (means(real=0.01), None, True),  # of nearly nothing there is no share
        (means(difference=None), None, True),
    ],
)
def test_means_within_groups_are_said_with_how_far_they_are_off(
    report: dict[str, Any], part: float | None, is_small: bool
) -> None:
    found = worst_means(report)
    assert found is not None
    assert (found.of, found.by, found.is_small) == ("price", "class", is_small)
    assert found.off == (part if part is None else pytest.approx(part))


def test_means_that_are_nearly_right_are_not_said() -> None:
    report = means()
    report["conditional_means"]["level"] = "small"
    assert worst_means(report) is None
