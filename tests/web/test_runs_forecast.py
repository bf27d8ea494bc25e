"""The forecast below the slider of ε: what it says, that it follows, and that nothing but public facts is in
it."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from synth_engine.domain import Domain
from synth_engine.mechanisms import REGISTRY, forecast_curve
from synth_engine.plans import forecast as engine
from synth_engine.spec import Spec
from synthweb.datasets.models import Dataset
from synthweb.lib.number_format import share
from synthweb.runs.forecast import CLEARLY, GRID, LABEL, _Drawing, forecast
from tests.cast import Cast
from tests.web import scene
from tests.web.html import html_of

Open = Callable[..., Client]
DOMAIN = Domain.from_json(scene.DOMAIN)


def spec(**changes: str) -> Spec:
    return Spec.from_json(
        {"mechanism": "independent", "epsilon": "1", "delta": "1e-9"} | changes
    )


def numbers(page: str) -> dict[str, tuple[str, str]]:
    """Method → the two shares in the table below the drawing."""
    table = page[page.index("forecast-table") :].split("</table>")[0]
    rows = re.findall(
        r"</svg>([^<]+).*?number\">([^<]+)</td><td class=\"number\">([^<]+)<", table, flags=re.S
    )
    return {title.strip(): (oneway, pairs) for title, oneway, pairs in rows}


def test_every_number_is_the_engines() -> None:
    found = forecast(DOMAIN, spec=spec(), rows=1000)
    told = forecast_curve(DOMAIN, spec=spec(), epsilons=[Fraction(1)], rows=1000)
    assert [(line.oneway, line.pairs) for line in found.lines] == [
        (share(point["oneway"]), share(point["pairs"])) for point in told
    ]
    assert [line.title for line in found.lines if line.chosen] == ["Independent columns"]
    assert len(found.epsilons) == len(GRID)
    for (_, rows), measure in zip(found.tables, ("oneway", "pairs"), strict=True):
        told = forecast_curve(DOMAIN, spec=spec(), epsilons=GRID, rows=1000)
        by_method = [
            [share(p[measure]) for p in told if p["mechanism"] == name] for name in REGISTRY
        ]
        assert [list(shares) for _, shares in rows] == [
            shares for shares in by_method if shares
        ]


def test_the_mark_stands_where_the_thumb_of_the_slider_is() -> None:
    marks = [
        forecast(DOMAIN, spec=spec(epsilon=epsilon), rows=1000).mark
        for epsilon in ("0.01", "0.1", "10")
    ]
    first, second, last = (mark for mark in marks if mark is not None)
    assert (second - first) * 3 == pytest.approx(last - first, abs=0.5)
    assert forecast(DOMAIN, spec=spec(epsilon="25"), rows=1000).mark is None


def test_a_method_that_cannot_do_it_is_left_out_and_says_nothing_wrong() -> None:
    one = Domain.from_json({**scene.DOMAIN, "attributes": scene.DOMAIN["attributes"][:1]})
    found = forecast(one, spec=spec(mechanism="independent", delta="0"), rows=1000)
    assert found.lines
    assert all(0 <= panel.top < panel.bottom <= found.height for panel in found.panels)


def test_while_the_slider_moves_the_engine_is_asked_for_the_chosen_method_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[str, int]] = []
    curve = engine.curve

    def counted(registry: Any, *given: Any, epsilons: Any, **more: Any) -> Any:
        asked.append((next(iter(registry)), len(epsilons)))
        return curve(registry, *given, epsilons=epsilons, **more)

    monkeypatch.setattr(engine, "curve", counted)
    forecast(DOMAIN, spec=spec(epsilon="0.5"), rows=7777)
    assert {name for name, count in asked if count == len(GRID)} == set(REGISTRY)
    for epsilon in ("0.6", "0.7", "0.6"):
        del asked[:]
        forecast(DOMAIN, spec=spec(epsilon=epsilon), rows=7777)
    assert asked == []  # 0.6 was asked for before
    forecast(DOMAIN, spec=spec(epsilon="0.8"), rows=7777)
    assert asked == [("independent", 1)]
    forecast(
        DOMAIN, spec=spec(epsilon="25"), rows=7777
    )  # beyond the drawing there is no line to read off
    assert {name for name, _ in asked} == set(REGISTRY)


def test_a_page_that_cannot_wait_has_the_chosen_method_at_once_and_the_others_once_they_were_asked_for() -> (
    None
):
    hasty = forecast(DOMAIN, spec=spec(), rows=4321, hasty=True)
    assert [line.title for line in hasty.lines] == ["Independent columns"]
    assert [(panel.dot is not None, panel.paths) for panel in hasty.panels] == [
        (True, ())
    ] * 2  # where it stands, and no line
    whole = forecast(DOMAIN, spec=spec(), rows=4321)
    assert hasty.waiting >= len(whole.lines) > 1 and whole.waiting == 0
    assert forecast(DOMAIN, spec=spec(), rows=4321, hasty=True) == whole


def test_what_is_read_off_a_line_is_near_what_the_engine_says() -> None:
    for epsilon in ("0.015", "0.3", "7"):
        found = forecast(DOMAIN, spec=spec(mechanism="random", epsilon=epsilon), rows=1000)
        told = forecast_curve(
            DOMAIN, spec=spec(mechanism="random"), epsilons=[Fraction(epsilon)], rows=1000
        )
        for line, point in zip(found.lines, told, strict=True):
            for shown, truth in ((line.oneway, point["oneway"]), (line.pairs, point["pairs"])):
                assert float(shown[:-2]) / 100 == pytest.approx(
                    truth, rel=0.35
                )  # a method may choose other questions from one ε to the next


def test_names_at_the_ends_of_lines_keep_apart_within_their_panel() -> None:
    points = {
        f"m{i}": [{"mechanism": f"m{i}", "epsilon": 10.0, "oneway": 0.001, "pairs": 0.5}]
        for i in range(9)
    }
    drawing = _Drawing(
        grid=points,
        here={},
        offered=list(points),
        titles={name: name * 9 for name in points},
        chosen="m3",
    )  # type: ignore[arg-type]
    for place in (0, 1):
        panel = drawing.panel(place)
        heights = [label.y for label in panel.labels]
        assert min(low - high for high, low in pairwise(heights)) >= LABEL - 0.11
        assert panel.top <= heights[0] and heights[-1] <= panel.bottom
        assert [label.chosen for label in panel.labels].count(True) == 1


def few_cells(*sizes: int) -> Domain:
    columns = [
        {"name": f"c{place}", "kind": "integer", "low": 0, "high": size - 1}
        for place, size in enumerate(sizes)
    ]
    return Domain.from_json({"relation": "add-remove", "attributes": columns})


def test_where_another_method_is_clearly_expected_to_be_closer_it_is_recommended() -> None:
    found = forecast(few_cells(2, 3, 2), spec=spec(epsilon="10"), rows=100_000)
    assert found.better is not None
    assert found.better.title == REGISTRY["contingency-table"].title
    assert found.better.recommended == REGISTRY["auto"].title
    assert found.better.clearly
    points = {
        point["mechanism"]: point["pairs"]
        for point in forecast_curve(
            few_cells(2, 3, 2), spec=spec(), epsilons=[Fraction(10)], rows=100_000
        )
    }
    assert CLEARLY * points["contingency-table"] < points["auto"]


@pytest.mark.parametrize("sizes", [(2, 3, 2), (40,) * 8, (2,) * 12, (5, 9, 2, 70, 30, 4)])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "10"])
def test_the_recommended_method_is_the_best_of_the_table_that_is_shown(
    sizes: tuple[int, ...], epsilon: str
) -> None:
    found = forecast(few_cells(*sizes), spec=spec(epsilon=epsilon), rows=30_000)
    pairs = {
        line.title: float(line.pairs.removesuffix(" %"))
        for line in found.lines
        if line.pairs.endswith("%")
    }
    better = found.better
    recommended = REGISTRY["auto"].title if better is None else better.title
    assert pairs[recommended] == min(pairs.values())


def test_where_no_method_is_closer_none_is_recommended_in_place_of_the_usual_one() -> None:
    wide = few_cells(*[40] * 8)
    assert forecast(wide, spec=spec(), rows=30_000).better is None
    # Not all methods were compared yet.
    assert forecast(few_cells(2, 3, 5), spec=spec(), rows=7, hasty=True).better is None


@pytest.fixture
def dataset(cast: Cast) -> Dataset:
    return scene.funded(cast)


@pytest.mark.django_db
def test_the_forecast_moves_with_the_slider_and_goes_while_a_choice_is_refused(
    browser: Open, cast: Cast, dataset: Dataset
) -> None:
    client, address = browser(cast.steward), reverse("runs:estimate", args=[dataset.code])
    typed = {"mechanism": "independent", "epsilon": "1", "delta": "1e-9", "rows": "1000"}
    page = html_of(client.get(reverse("runs:new", args=[dataset.code])))
    assert 'id="forecast"' in page
    assert "would have to change" in page
    assert page.count('hx-trigger="load delay:20ms"') <= 1
    at_one = html_of(client.post(address, typed))
    assert "in a moment" not in at_one
    assert 'hx-swap-oob="true"' in at_one
    at_four = html_of(client.post(address, typed | {"epsilon": "4"}))
    assert "in nine tables of ten: columns are off by" in at_one
    assert "depending on how strongly columns depend on one another" in at_one
    assert numbers(at_four).keys() == numbers(at_one).keys() != set()
    assert numbers(at_four)["Independent columns"] != numbers(at_one)["Independent columns"]
    refused = html_of(client.post(address, typed | {"epsilon": "none"}))
    assert "<svg" not in refused
