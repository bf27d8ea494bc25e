"""The forecast below the slider of ε: what it says, that it follows, and that nothing but public facts is in it."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

import pytest
from django.test import Client
from django.urls import reverse

from synth_engine.domain import Domain
from synth_engine.mechanisms import forecast_curve
from synth_engine.spec import Spec
from synthweb.datasets.models import Dataset
from synthweb.runs.forecast import GRID, forecast, share
from tests.conftest import Cast
from tests.web import scene

Open = Callable[..., Client]
DOMAIN = Domain.from_json(scene.DOMAIN)


def spec(**changes: str) -> Spec:
    return Spec.from_json({"mechanism": "independent", "epsilon": "1", "delta": "1e-9"} | changes)


def numbers(page: str) -> dict[str, tuple[str, str]]:
    """Method → the two shares in the table below the drawing."""
    table = page[page.index("forecast-table") :].split("</table>")[0]
    rows = re.findall(r"</svg>([^<]+).*?number\">([^<]+)</td><td class=\"number\">([^<]+)<", table, flags=re.S)
    return {title.strip(): (oneway, pairs) for title, oneway, pairs in rows}


def test_every_number_is_the_engines() -> None:
    found = forecast(DOMAIN, spec=spec(), rows=1000)
    told = forecast_curve(DOMAIN, spec=spec(), epsilons=[Fraction(1)], rows=1000)
    assert [(line.oneway, line.pairs) for line in found.lines] == [
        (share(point["oneway"]), share(point["pairs"])) for point in told
    ]
    assert [line.title for line in found.lines if line.chosen] == ["Independent columns"]
    assert len(found.table) == len(GRID)


def test_the_mark_stands_where_the_thumb_of_the_slider_is() -> None:
    marks = [forecast(DOMAIN, spec=spec(epsilon=epsilon), rows=1000).mark for epsilon in ("0.01", "0.1", "10")]
    first, second, last = (mark for mark in marks if mark is not None)
    assert (second - first) * 3 == pytest.approx(last - first, abs=0.5)
    assert forecast(DOMAIN, spec=spec(epsilon="25"), rows=1000).mark is None


def test_a_method_that_cannot_do_it_is_left_out_and_says_nothing_wrong() -> None:
    one = Domain.from_json({**scene.DOMAIN, "attributes": scene.DOMAIN["attributes"][:1]})
    found = forecast(one, spec=spec(mechanism="independent", delta="0"), rows=1000)
    assert found.lines
    assert all(0 <= panel.top < panel.bottom <= found.height for panel in found.panels)


@pytest.fixture
def dataset(cast: Cast) -> Dataset:
    return scene.funded(cast)


@pytest.mark.django_db
def test_the_forecast_moves_with_the_slider_and_goes_while_a_choice_is_refused(
    browser: Open, cast: Cast, dataset: Dataset
) -> None:
    client, address = browser(cast.steward), reverse("runs:estimate", args=[dataset.code])
    typed = {"mechanism": "independent", "epsilon": "1", "delta": "1e-9", "rows": "1000"}
    page = client.get(reverse("runs:new", args=[dataset.code])).content.decode()
    assert 'id="forecast"' in page
    assert "would have to be changed" in page
    at_one = client.post(address, typed).content.decode()
    assert 'hx-swap-oob="true"' in at_one
    at_four = client.post(address, typed | {"epsilon": "4"}).content.decode()
    assert numbers(at_four).keys() == numbers(at_one).keys() != set()
    assert numbers(at_four)["Independent columns"] != numbers(at_one)["Independent columns"]
    refused = client.post(address, typed | {"epsilon": "none"}).content.decode()
    assert "<svg" not in refused
