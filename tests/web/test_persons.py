"""A table in which a person has several rows, from the describe page to the sample: protected, made anew, and
said so."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from fractions import Fraction
from itertools import groupby
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from synth_engine import verifier
from synth_engine.spec import Spec
from synthweb.datasets import preview_store
from synthweb.datasets.models import Dataset, DomainVersion, Preview
from synthweb.ledger.models import LedgerEntry
from synthweb.releases import chain, services, tables
from synthweb.releases.models import Release
from synthweb.runs import artefacts, worker
from synthweb.runs import services as runs
from synthweb.runs.planning import ReleaseRequest
from tests.cast import Cast
from tests.web import scene
from tests.web.describe_page import SUGGESTIONS, DescribePage, ready
from tests.web.html import html_of
from tests.web.rest import Caller, assert_problem

Open = Callable[..., Client]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("places")]

VISITS = "who,region,age\n" + "".join(
    f"id-{person},{'north' if person % 3 else 'south'},{(person * 7) % 100}\n"
    for person in range(4_000)
    for _ in range(1 + person % 2)
)
"""Four thousand persons, half of whom have two rows."""
DOMAIN = {
    "relation": "add-remove",
    "unit": {"max_records": 2, "column": "who"},
    "attributes": [
        {"name": "who", "kind": "identifier", "regenerate": "random", "pattern": "P-####"},
        {"name": "region", "kind": "categorical", "values": ["north", "south"], "other": True},
        {"name": "age", "kind": "integer", "low": 0, "high": 99, "width": 10},
    ],
}


@pytest.fixture
def release(cast: Cast) -> Release:
    return scene.released(
        cast, mechanism="independent", epsilon="1", name="Visits", table=VISITS, document=DOMAIN
    )


def address(name: str, release: Release) -> str:
    return reverse(f"releases:{name}", args=[release.code])


def test_a_release_of_persons_says_whom_it_protects_and_draws_them_anew(
    release: Release, cast: Cast, browser: Open
) -> None:
    page = html_of(browser(cast.steward).get(address("about", release)))
    assert "one person, at most 2 rows, added or removed" in page
    page = html_of(browser(cast.steward).get(address("receipt", release)))
    assert "Counted the people with 1 to 2 rows each" in page
    assert "one person, at most 2 rows" in page
    sample = services.draw_sample(user=cast.steward, release=release, rows=900)
    rows = list(csv.DictReader(io.StringIO("".join(tables.stream_csv(sample)))))
    assert list(rows[0]) == ["who", "region", "age"]
    sizes = [len(list(same)) for _, same in groupby(row["who"] for row in rows)]
    assert len(sizes) == len({row["who"] for row in rows})
    assert sizes.count(2) / len(sizes) == pytest.approx(0.5, abs=0.15)
    assert verifier.verify(chain.receipt_of_sample(sample)).epsilon <= 1
    file = io.BytesIO()
    tables.write_parquet(sample, file)
    document = services.description_of(release)
    assert sum(document["rows_a_person"].values()) == pytest.approx(1)


def test_group_sizes_are_within_the_price_that_was_held(release: Release) -> None:
    assert LedgerEntry.objects.get(kind="CHARGE").epsilon == 10**9
    epsilons = [Fraction(call["cost"]["epsilon"]) for call in release.receipt["calls"]]
    assert [call["query"]["verb"] for call in release.receipt["calls"]] == [
        "group-sizes",
        "measure",
        "measure",
    ]
    assert Fraction(499, 10_000) < epsilons[0] <= Fraction(1, 20)
    assert sum(epsilons) <= 1


def test_the_comparison_shows_group_sizes_to_the_steward(
    release: Release, cast: Cast, browser: Open
) -> None:
    worker.table_job(code=runs.request_report(release=release, actor=cast.steward).code)
    page = html_of(browser(cast.steward).get(address("compare-all", release)))
    assert "How many rows a person has" in page
    assert 'href="#persons"' in page


# ---- describing
# -------------------------------------------------------------------------------------------------


@pytest.fixture
def describe_page(browser: Open, cast: Cast) -> DescribePage:
    return DescribePage(browser(cast.steward), ready(cast))


def differing(dataset: Dataset, names: list[str]) -> None:
    """The preview as a worker makes it of a table in which these columns differ in every row."""
    payload = {
        "columns": [item["name"] for item in SUGGESTIONS],
        "suggestions": [],
        "preview": [],
        "rows": 2,
    }
    preview_store.put(dataset, Preview.Kind.TABLE, "", payload | {"notes": [], "unique": names})


def test_a_column_that_is_different_in_every_row_is_said_to_tell_nobody_apart(
    describe_page: DescribePage,
) -> None:
    words = "id seems to be different in every row"
    differing(describe_page.dataset, ["id"])
    assert words not in describe_page.page()
    describe_page.press("save", max_records="3", unit_column="id")
    assert words in describe_page.page()
    differing(describe_page.dataset, ["age"])
    assert words not in describe_page.page()


def test_it_is_said_and_not_held_against_the_description(describe_page: DescribePage) -> None:
    """Whether a column repeats is a fact of the data: a refusal would be one, too."""
    describe_page.press("confirm-open")
    differing(describe_page.dataset, ["id"])
    describe_page.press("finish", max_records="3", unit_column="id")
    assert DomainVersion.objects.get().document["unit"] == {"max_records": 3, "column": "id"}


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        (
            {"max_records": "0"},
            "max_records of the privacy unit must be a whole number from 1 to 1000000",
        ),
        ({"max_records": "1.5"}, "the records per person is not a whole number"),
        ({"max_records": "-3"}, "write digits only"),
        (
            {"max_records": "99999999"},
            "give the largest number of records that one person may have",
        ),
        ({"unit_column": "nowhere"}, "the column that names people is not in this table"),
    ],
)
def test_a_wrong_unit_is_refused_in_the_form_and_nothing_is_confirmed(
    describe_page: DescribePage, terms: dict[str, str], words: str
) -> None:
    describe_page.press("confirm-open")
    answer = describe_page.press("finish", **terms)
    assert answer.status_code == 422
    assert words in answer.text
    assert not DomainVersion.objects.exists()


@pytest.mark.parametrize(
    "unit",
    [
        {"max_records": 0, "column": "who"},
        {"max_records": "2", "column": "who"},
        {"max_records": 2, "column": "nowhere"},
        {"max_records": 2, "column": ""},
        {"rows": 2},
        "who",
    ],
    ids=str,
)
def test_a_wrong_unit_is_refused_by_rest_with_rule_and_repair_and_no_budget_touched(
    cast: Cast, unit: Any
) -> None:
    dataset = scene.read(
        scene.upload(steward=cast.steward, organisation=cast.organisation, table=VISITS)
    )
    calls = Caller(cast.steward, "read", "spend")
    answer = calls.send(
        f"/datasets/{dataset.code}/domain/", DOMAIN | {"unit": unit}, method="put"
    )
    problem = assert_problem(answer, status=422)
    (error,) = problem["errors"]
    assert error["rule"]
    assert error["repair"]
    assert not LedgerEntry.objects.exists()
    assert not DomainVersion.objects.exists()


ROWS_OF_ONE = 40


def kept_of_one_person(dataset: Dataset, cast: Cast) -> list[int]:
    """How many of the rows of one person each value has, by a run whose noise is next to nothing."""
    spec = Spec.from_json({"mechanism": "independent", "epsilon": "1000", "delta": "0"})
    run = runs.submit(
        ReleaseRequest(dataset=dataset, spec=spec), steward=cast.steward, name="Once more"
    )
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.release is not None, run.failure
    answers = artefacts.get(name=run.answers_name, digest=run.answers_digest)
    (measured,) = [each for each in answers.measurements if each.clique == ("x",)]
    counts: list[int] = measured.values.tolist()
    return counts


def test_each_run_keeps_other_rows_of_a_person(cast: Cast) -> None:
    """A run that goes on keeps the same rows, another run others: each has a secret of its own. One in 10^11
    times two runs keep the same ones."""
    document = {
        "unit": {"max_records": ROWS_OF_ONE // 2, "column": "who"},
        "attributes": [
            {"name": "x", "kind": "integer", "low": 0, "high": ROWS_OF_ONE - 1, "width": 1}
        ],
    }
    table = "who,x\n" + "".join(f"ann,{number}\n" for number in range(ROWS_OF_ONE))
    dataset = scene.funded(cast, table=table, document=document, epsilon=3_000)
    first, second = (kept_of_one_person(dataset, cast) for _ in range(2))
    assert sum(first) == sum(second) == ROWS_OF_ONE // 2
    assert first != second
