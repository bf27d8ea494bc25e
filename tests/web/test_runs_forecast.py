"""The forecast where the loss is chosen: what it says, what it is reckoned from, what it advises."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from synth_engine import mechanisms
from synth_engine.domain import Domain
from synth_engine.evaluation.forecast import forecast
from synth_engine.mechanisms.pairwise.bayesian_network import BayesianNetworkPlan
from synth_engine.spec import Spec
from synthweb.datasets import stated_records
from synthweb.datasets.models import Dataset
from synthweb.ledger.amounts import Amount
from synthweb.ledger.models import BudgetRequest
from synthweb.lib.number_format import grouped
from synthweb.releases.models import Release
from synthweb.runs import accuracy, errors, planning, services, worker
from synthweb.runs.forecast import ForecastWords, in_words
from synthweb.runs.models import SynthesisRun
from tests.cast import Cast
from tests.web import scene

Open = Callable[..., Client]
pytestmark = pytest.mark.django_db


@pytest.fixture
def dataset(cast: Cast) -> Dataset:
    return scene.funded(cast)


@pytest.fixture
def say(browser: Open, cast: Cast, dataset: Dataset) -> Callable[..., str]:
    client, address = browser(cast.steward), reverse("runs:estimate", args=[dataset.code])

    def typed(**changes: Any) -> str:
        fields = {"mechanism": "independent", "epsilon": "1", "delta": "1e-9"} | changes
        return str(client.post(address, fields).text)

    return typed


def test_few_records_are_an_honest_no_with_what_would_do(say: Callable[..., str]) -> None:
    page = say(records="5")
    assert "Do not release this" in page
    assert 'role="alert"' in page
    assert 'data-columns="not found">Not found: region, age, works.' in page
    assert "Relations between columns: lost." in page
    advised = re.search(r"Enough would be about ([\d,]+) records or ε ([\d.]+)", page)
    assert advised
    assert "5 records (the number that was stated)" in page
    # What is advised would do.
    rows = advised[1].replace(",", "")
    for changed in ({"records": rows}, {"records": "5", "epsilon": advised[2]}):
        assert "Enough records" in say(**changed)


def test_what_a_release_tells_is_said_column_by_column(say: Callable[..., str]) -> None:
    page = say(records="5000")
    assert "Enough records" in page
    assert 'data-columns="found">Found: region, works.' in page
    # Where within a bin of ten years an age lies is not known.
    assert 'data-columns="coarse">Coarse: age.' in page
    assert (page.count('data-word="found"'), page.count('data-word="coarse"')) == (2, 1)
    assert "data-advice" not in page


BLOCKS = [f"block {number}" for number in range(400)]
PLACES: dict[str, Any] = {
    "attributes": [{"name": "home", "kind": "categorical", "values": BLOCKS, "other": True}],
    "points": [
        {
            "column": "home",
            "at": {block: [41 + number / 1_000, -71] for number, block in enumerate(BLOCKS)},
        }
    ],
}


def test_trees_of_places_need_fewer_records_than_a_code_each() -> None:
    domain = Domain.from_json(PLACES)

    def said(rows: int, mechanism: str) -> ForecastWords:
        spec = Spec(mechanism=mechanism, epsilon=Fraction(1))
        opens_at = mechanisms.plan(domain, spec).min_records_to_split(rows)
        return in_words(forecast(domain, spec, rows=rows, opens_at=opens_at), domain)

    by_cell = said(300, "adaptive")
    assert by_cell.level != "too-little"
    assert re.search(
        r"A cell is divided from about \d+ records on at this ε, so that about \d+ cells are",
        by_cell.notes[0],
    )
    few = said(5, "adaptive")
    least = int(str(re.search(r"from about (\d+) records on", few.notes[0])[1]))  # type: ignore[index]
    assert few.level == "too-little" and few.title == "Do not release this" and 5 < least < 300
    assert "there are 5 in all" in few.notes[0] and "about" in few.advice[0]
    assert said(least - 1, "adaptive").level == "too-little"
    assert said(least, "adaptive").level != "too-little"


def test_tables_of_other_true_numbers_and_one_stated_number_have_one_forecast(
    cast: Cast, browser: Open
) -> None:
    """What is stated counts, and never what the file has."""
    client, sections = browser(cast.steward), []
    document = {"schema": "synth_engine/domain/1", **PLACES}
    for records in (40, 4_000):
        table = "home\n" + "block_7\n" * records
        dataset = scene.funded(cast, table=table, document=document)
        fields = {"mechanism": "auto", "epsilon": "1", "delta": "1e-9", "records": "500"}
        page = client.post(reverse("runs:estimate", args=[dataset.code]), fields).text
        section = re.search(r'<section[^>]*id="forecast".*?</section>', page, re.DOTALL)
        assert section and "500 records (the number that was stated)" in page
        sections.append(section[0])
    assert sections[0] == sections[1]


@pytest.mark.parametrize("records", [{"rows": 40, "relation": "replace-one"}, {}])
def test_a_tree_in_which_nothing_would_be_divided_is_told_before_it_is_paid_for(
    cast: Cast, browser: Open, records: dict[str, Any]
) -> None:
    document = {"schema": "synth_engine/domain/1", **PLACES, **records}
    dataset = scene.funded(cast, table="home\n" + "block_7\n" * 40, document=document)
    client, address = browser(cast.steward), reverse("runs:estimate", args=[dataset.code])
    fields = {"mechanism": "adaptive", "epsilon": "0.1", "delta": "0", "records": "40"}
    page = client.post(address, fields).text
    assert "Do not release this" in page and 'role="alert"' in page
    assert re.search(
        r"A cell is divided from about \d+ records on at this ε, and there are 40 in all", page
    )
    assert ("the public number of records" if records else "the number that was stated") in page
    assert (
        "A cell is divided"
        not in client.post(address, fields | {"mechanism": "independent"}).text
    )
    divided = client.post(address, fields | {"epsilon": "3"}).text
    assert "Do not release this" not in divided and "so that about" in divided


def test_a_tree_of_texts_says_from_which_number_on_a_beginning_is_divided() -> None:
    words = {"set": "strings", "alphabet": "abc", "min_length": 1, "max_length": 4}
    domain = Domain.from_json(
        {"attributes": [{"name": "term", "kind": "weak", "values": words}]}
    )
    spec = Spec(mechanism="adaptive", epsilon=Fraction(1))
    few = in_words(forecast(domain, spec, rows=100, opens_at=101), domain)
    assert few.level == "too-little"
    assert few.notes[0].startswith("A beginning of a text is divided from about 101 records on")
    assert "which texts there are" in few.notes[0]


def test_nothing_is_forecast_before_somebody_says_about_how_many_there_are(
    say: Callable[..., str], browser: Open, cast: Cast, dataset: Dataset
) -> None:
    Dataset.objects.update(stated_records=None)
    page, client = say(), browser(cast.steward)
    new = reverse("runs:new", args=[dataset.code])
    for shown in (page, client.get(new).text):
        assert "forecast-title" not in shown
        assert str(stated_records.REQUIRED) in shown
    # It is required for a submission, too.
    fields = {"mechanism": "independent", "epsilon": "1", "delta": "1e-9"}
    assert client.post(new, fields).status_code == 200
    assert not SynthesisRun.objects.exists()
    dataset.refresh_from_db()
    with pytest.raises(errors.NotReady):
        scene.submit(steward=cast.steward, dataset=dataset)
    assert client.post(new, fields | {"records_band": "1000"}).status_code == 302
    assert Dataset.objects.get().stated_records == 1_000


@pytest.mark.parametrize("low", [low for low, _label in stated_records.BANDS])
def test_a_forecast_is_for_the_low_end_of_the_band(say: Callable[..., str], low: int) -> None:
    Dataset.objects.update(stated_records=None)
    shown = f"{grouped(low)} records (the low end of what was stated)"
    assert shown in say(records_band=str(low))
    assert shown not in say(records_band=str(low), records=str(low + 1))


def test_what_was_stated_once_begins_the_next_form_and_the_custodians_forecast(
    browser: Open, cast: Cast, dataset: Dataset
) -> None:
    Dataset.objects.update(stated_records=1_000)
    dataset.refresh_from_db()
    form = browser(cast.steward).get(reverse("runs:new", args=[dataset.code])).text
    assert re.search(r'<input[^>]*value="1000"[^>]*checked', form)
    asked = BudgetRequest.objects.get()
    amount = Amount(epsilon=asked.epsilon, delta=asked.delta)
    terms: dict[str, Any] = {"rule": asked.rule, "amount": amount, "releases": 3}
    bought = accuracy.bought(dataset, **terms)
    assert bought is not None and bought.rows == 1_000
    dataset.stated_records = None
    assert accuracy.bought(dataset, **terms) is None and accuracy.is_unstated(dataset)


@pytest.mark.parametrize("mechanism", ["dpsyn", "bayesian-network"])
def test_a_plan_that_needs_a_size_gets_what_was_stated(
    cast: Cast, dataset: Dataset, mechanism: str
) -> None:
    Dataset.objects.update(stated_records=100)
    dataset.refresh_from_db()
    spec = Spec.from_json({"mechanism": mechanism, "epsilon": "1", "delta": "1e-9"})
    given: dict[str, Any] = {"steward": cast.steward, "request_key": "a" * 40}
    request = planning.ReleaseRequest(dataset=dataset, spec=spec)
    run = services.submit(request, **given)
    assert run.spec["parameters"]["records"] == 100
    # Sent again after another number became known, it is the same run.
    Dataset.objects.update(stated_records=1_000)
    dataset.refresh_from_db()
    assert services.submit(replace(request, dataset=dataset), **given).pk == run.pk


def test_the_share_of_columns_follows_from_what_is_stated() -> None:
    domain = Domain.from_json(scene.DOMAIN)

    def share(records: int) -> Fraction:
        parameters = {"records": records}
        spec = Spec(
            mechanism="bayesian-network", epsilon=Fraction(1, 10), parameters=parameters
        )
        plan = mechanisms.plan(domain, spec)
        assert isinstance(plan, BayesianNetworkPlan)
        return plan.shares.columns

    assert share(100) > share(10_000) == share(0)


@pytest.mark.parametrize("typed", ["many", "-3", "0", "1e3"])
def test_a_guess_that_is_no_number_is_refused_at_its_field(
    say: Callable[..., str], typed: str
) -> None:
    page = say(records=typed)
    assert re.search(r'id="records-errors"[^>]*>\s*<div[^>]*>A whole number from 1', page)


def test_a_number_that_was_paid_for_comes_before_a_guess(
    say: Callable[..., str], browser: Open, cast: Cast, dataset: Dataset
) -> None:
    address = reverse("runs:new", args=[dataset.code])
    typed = {"mechanism": "independent", "epsilon": "1", "delta": "1e-9", "records": "5"}
    answer = browser(cast.steward).post(address, typed)
    assert answer.status_code == 302  # advice, never a refusal
    worker.synthesize(code=SynthesisRun.objects.get().code)
    paid = Release.objects.get().rows  # 300, and noise of a standard deviation of 6 at most
    page = say(records="5")
    assert f"{paid} records (the noisy number of an earlier release)" in page
