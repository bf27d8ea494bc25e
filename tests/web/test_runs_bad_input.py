"""Bad input on the new-release page: what was typed stays, the error stands at its field, and nothing is
held."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape

import pytest
from django.test import Client
from django.urls import reverse

from synth_engine import mechanisms
from synth_engine.plans.parameters import RECORDS
from synthweb.datasets.models import Dataset
from synthweb.ledger.models import BudgetAccount, LedgerEntry
from synthweb.runs.models import OutboxMessage, SynthesisRun
from tests.cast import Cast
from tests.web import scene
from tests.web.html import html_of

Open = Callable[..., Client]
pytestmark = pytest.mark.django_db
NEVER_A_NUMBER = ["-1", "nan", "inf", "1e-400", "１", "9" * 400, "1_0", "0x10", "½", "1e400"]
WRONG_THERE = {
    "epsilon": ["0"],
    "delta": ["1"],
    "param-degree": ["3", "6"],
    "rows": ["0"],
    "param-columns_share": ["1"],
}
FIELDS = ["epsilon", "delta", "param-degree", "param-columns_share", "rows"]


@pytest.fixture
def dataset(cast: Cast) -> Dataset:
    """Three columns, described, with a budget of epsilon 4."""
    made = scene.funded(cast)
    OutboxMessage.objects.all().delete()
    return made


def typed(field: str, text: str) -> dict[str, str]:
    choices = {
        "mechanism": "bayesian-network",
        "parameters_of": "bayesian-network",
        "rows": "",
        "name": "Kept as typed",
    }
    return choices | {"epsilon": "1", "delta": "1e-9", field: text}


def errors_at(page: str, field: str) -> list[str]:
    """What stands below one field."""
    place = re.search(
        rf'<div id="{re.escape(field)}-errors"[^>]*>(.*?)</div>(?:\s*</div>)?', page, flags=re.S
    )
    return [
        unescape(text)
        for text in re.findall(r'role="alert">([^<]+)', place[1] + "<" if place else "")
    ]


@pytest.mark.parametrize("field", FIELDS)
def test_a_wrong_number_is_refused_at_its_field_kept_and_holds_nothing(
    browser: Open, cast: Cast, dataset: Dataset, field: str
) -> None:
    client = browser(cast.steward)
    before = list(LedgerEntry.objects.values()), list(BudgetAccount.objects.values())
    for text in [*NEVER_A_NUMBER, *WRONG_THERE.get(field, ())]:
        for address in ("runs:new", "runs:estimate"):
            answer = client.post(reverse(address, args=[dataset.code]), typed(field, text))
            page = html_of(answer)
            assert answer.status_code == 200
            (said,) = errors_at(page, field)
            assert any(sign in said for sign in ("; ", ": ", "from 1 to")), (
                f"rule and repair: {said}"
            )
            assert text not in said or len(text) < 3
            if address == "runs:new":
                assert f'value="{text}"' in page
                assert 'value="Kept as typed"' in page
                assert re.search(r"<button[^>]*type=\"submit\"[^>]*disabled", page)
    assert (list(LedgerEntry.objects.values()), list(BudgetAccount.objects.values())) == before
    assert not SynthesisRun.objects.exists()
    assert not OutboxMessage.objects.exists()


def test_an_error_said_as_one_types_stands_at_its_field_too_and_goes_when_it_is_mended(
    browser: Open, cast: Cast, dataset: Dataset
) -> None:
    client, address = browser(cast.steward), reverse("runs:estimate", args=[dataset.code])
    wrong = html_of(client.post(address, typed("delta", "2")))
    place = re.search(r'<div id="delta-errors"([^>]*)>', wrong)
    assert place
    assert 'hx-swap-oob="true"' in place[1]
    assert errors_at(wrong, "delta")
    mended = html_of(client.post(address, typed("delta", "1e-9")))
    assert re.search(r'<div id="delta-errors" hx-swap-oob="true"></div>', mended)


def test_every_place_of_an_error_comes_once_also_when_the_method_changes(
    browser: Open, cast: Cast, dataset: Dataset
) -> None:
    choices = typed("param-degree", "9") | {"parameters_of": "independent"}
    page = html_of(
        browser(cast.steward).post(reverse("runs:estimate", args=[dataset.code]), choices)
    )
    places = re.findall(r'id="([\w-]+-errors)"', page)
    assert sorted(set(places)) == sorted(places)
    assert {"epsilon-errors", "param-degree-errors"} <= set(places)
    assert errors_at(page, "param-degree")


def test_the_fields_of_a_method_just_chosen_come_with_their_defaults(
    browser: Open, cast: Cast, dataset: Dataset
) -> None:
    choices = {
        "mechanism": "bayesian-network",
        "parameters_of": "independent",
        "epsilon": "1",
        "delta": "1e-9",
    }
    page = html_of(
        browser(cast.steward).post(reverse("runs:estimate", args=[dataset.code]), choices)
    )
    schema = mechanisms.REGISTRY["bayesian-network"].parameters["properties"]
    for name, rule in schema.items():
        if name == RECORDS:
            continue  # asked once, for the table
        assert re.search(rf'name="param-{name}"[^>]*value="{rule["default"]}"', page), name
