"""The first card of Quality: what a release is good for, from what was released alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from synthweb.datasets import preview_store, vault
from synthweb.releases import (
    expected,
    look,
    model_relations,
    quality,
    quality_page,
    services,
    tabs,
)
from synthweb.releases.models import PaidCheck, Release
from synthweb.runs import ranges
from synthweb.runs.models import RangesJob
from tests.cast import Cast
from tests.web import scene
from tests.web.html import html_of
from tests.web.scene import Scene
from tests.web.test_canary import assert_clean, marked_table
from tests.web.test_public_links import make
from tests.web.test_releases_look import OPEN_COLUMNS, OPEN_TABLE

pytestmark = pytest.mark.django_db(transaction=True)
Open = Callable[..., Client]


def address(release: Release) -> str:
    return reverse("releases:quality", args=[release.code])


def levels(html: str) -> dict[str, str]:
    return dict(re.findall(r'data-part="(\w+)" data-level="(\w+)"', html))


def verdict_in(html: str) -> tuple[str, str]:
    (level, least), *others = re.findall(r'data-verdict="(\w*)" data-least-group="(\d*)"', html)
    assert others == []
    return level, least


def test_it_is_what_quality_opens_with_and_says_what_everybody_may_know(
    cast: Cast, played: Scene, browser: Open
) -> None:
    """Single columns alone were counted, of 300 records: their relations are lost."""
    release = played.release
    assert browser(cast.stranger).get(address(release)).status_code == 404
    assert browser(cast.auditor).get(address(release)).status_code == 403
    shown = html_of(browser(played.reader).get(address(release)))
    assert levels(shown)["pairs"] == levels(shown)["triples"] == "lost"
    assert set(levels(shown)) == {"counts", "averages", "pairs", "triples"}
    level, least = verdict_in(shown)
    assert (level, int(least) >= 100) == ("lost", True)
    (first, *_) = [c for c in tabs.offered(played.reader, release) if c.tab == "quality"]
    assert first.key == "quality"
    link = make(cast, release)
    public = html_of(Client().get(reverse("public:release", args=[link.token])))
    assert verdict_in(public) == (level, least)
    assert levels(public) == levels(shown)


def test_nothing_real_reaches_it(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, browser: Open
) -> None:
    """Markers of real cells are on no page, and the page is the same where nothing real can be opened."""
    monkeypatch.setattr(scene, "TABLE", marked_table())
    defaults = scene.upload.__kwdefaults__ or {}
    monkeypatch.setattr(scene.upload, "__kwdefaults__", {**defaults, "table": marked_table()})
    made = scene.play(
        steward=cast.steward, custodian=cast.custodian, organisation=cast.organisation
    )
    client = browser(made.reader)
    before = content(client.get(address(made.release)))
    assert verdict_in(before)
    assert_clean(before, "the verdict")
    opened = _closed(monkeypatch)
    assert content(client.get(address(made.release))) == before
    assert opened == []


def content(answer: Any) -> str:
    """What is on a page, without its frame, in which tokens of forms differ each time."""
    return html_of(answer).split("<main")[1].split("</main>")[0]


def _closed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what is opened from now on that real data are in."""
    opened: list[str] = []

    def refuse(name: str) -> Callable[..., Any]:
        def opens(*_: object, **__: object) -> Any:
            opened.append(name)
            raise AssertionError(name)

        return opens

    for module in (vault, preview_store):
        for name in [each for each in vars(module) if not each.startswith("_")]:
            if (
                callable(getattr(module, name))
                and getattr(module, name).__module__ == module.__name__
            ):
                monkeypatch.setattr(module, name, refuse(name))
    return opened


@pytest.mark.usefixtures("nothing_by_chance")
def test_columns_that_were_not_found_are_named_and_no_part_is_better(
    cast: Cast, browser: Open
) -> None:
    made = scene.released(
        cast,
        mechanism="independent",
        epsilon="0.1",
        name="Twelve",
        table=OPEN_TABLE,
        document=OPEN_COLUMNS,
    )
    ranges.compute(code=RangesJob.objects.get().code)
    facts = model_relations.facts_of(made)
    assert facts is not None
    assert facts.learned == {"height": "not found", "weight": "not found"}
    page = html_of(browser(cast.steward).get(address(made)))
    (named,) = re.findall(r'data-columns="not found">([^<]*)<', page)
    assert "height" in named and "weight" in named
    assert levels(page)["counts"] == "lost"


def test_a_worker_is_asked_for_what_the_verdict_takes(
    cast: Cast, browser: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No request reads a model: before the worker has, the page waits; between its steps, it has what is
    there."""
    made = scene.released(
        cast, mechanism="independent", epsilon="4", name="Later", table=scene.TABLE
    )
    client = browser(cast.steward)
    page = html_of(client.get(address(made)))
    assert "lacks=rows" in page and "data-verdict" not in page
    look.store(look.draw(made))
    page = html_of(client.get(address(made)))
    assert "lacks=ranges" in page and "data-verdict" not in page
    expected.store_columns(made, expected.compute_columns(made, progress=lambda _: None))
    page = html_of(client.get(address(made)))
    assert "lacks=errors" in page and verdict_in(page)


def test_a_paid_figure_makes_it_worse_until_somebody_takes_it_back(
    cast: Cast, played: Scene
) -> None:
    check = scene.measured(steward=cast.steward, release=played.release)
    before = quality.evidence_of(played.release)
    assert before is not None
    ((distance),) = before.distances
    assert distance.columns == 1
    (figure, *_) = check.figures
    figure["answer"] |= {"value": 0.5, "low": 0.4, "high": 0.6}
    PaidCheck.objects.filter(pk=check.pk).update(figures=check.figures)
    answer = quality.answer_of(played.release)
    assert answer is not None
    assert {part.key: part.level for part in answer.parts}["counts"] == "lost"
    services.void_check(actor=cast.steward, check=check, reason="Wrong table.")
    evidence = quality.evidence_of(played.release)
    assert evidence is not None
    assert evidence.distances == []


def test_a_hundred_columns_are_light_and_found_by_pages_and_by_words(
    cast: Cast, played: Scene, browser: Open
) -> None:
    names = [f"column-{number:03}" for number in range(100)]
    first_look = played.release.first_look
    (column, *_) = first_look.document["columns"]
    first_look.document["columns"] = [column | {"name": name} for name in names]
    first_look.document["cells"] = [[cell[0]] * 100 for cell in first_look.document["cells"]]
    first_look.document["ranks"] = [[rank[0]] * 100 for rank in first_look.document["ranks"]]
    first_look.document["pairs"] = {
        "columns": names,
        "dependence": [0.1234] * 4_950,
        "related": 4_950,
        "together": [1] * 4_950,
    }
    first_look.save()
    stored = played.release.expected_ranges
    stored.columns = [stored.columns[0] | {"name": name} for name in names]
    stored.save()
    client = browser(cast.steward)

    def shown(query: str) -> tuple[list[str], int]:
        answer = client.get(address(played.release) + query)
        return re.findall(r'data-column="([\w-]+)"', html_of(answer)), len(answer.content)

    first, size = shown("")
    assert size <= 150_000
    second, _ = shown("?page=2")
    assert len(first) == len(second) == quality_page.COLUMNS_A_PAGE
    assert not set(first) & set(second)
    assert set(shown("?q=N-01")[0]) == set(names[10:20])


def test_figures_are_drawn_of_what_goes_together_and_of_commutes(
    cast: Cast, played: Scene, browser: Open
) -> None:
    """Nothing but chance is no map."""
    client = browser(cast.steward)
    assert "data-figure=" not in html_of(client.get(address(played.release)))
    first_look = played.release.first_look
    first_look.document["pairs"] |= {"dependence": [0.5, 0.0, 0.0], "together": [1, 0, 0]}
    first_look.document["curves"] = [
        {
            "ends": ["home", "work"],
            "edges_km": [0, 1, 2],
            "within": [0.24, 0.6, 1.0],
            "median_km": 0.8,
        }
    ]
    first_look.save()
    together, distance = quality_page.figures_of(played.release)
    assert together.figure is not None and distance.figure is not None
    shown, grey = together.figure["data"]
    values = [value for row in shown["z"] for value in row if value is not None]  # type: ignore[attr-defined]
    assert values == [0.5]
    assert grey["meta"] == "chance"
    assert (shown["zmin"], shown["zmax"]) == (0, 1)
    assert "24" in distance.figure["layout"]["annotations"][1]["text"]
    page = html_of(client.get(address(played.release)))
    assert re.findall(r'data-figure="([\w-]+)"', page) == ["together-data", "distance-0-data"]
