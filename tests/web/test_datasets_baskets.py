"""Baskets in the web application: a list of baskets or a column of them is uploaded, described on the page,
released, sampled and compared."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from synth_engine.formats import Kind
from synth_engine.spec import Spec
from synthweb.datasets import services as datasets
from synthweb.datasets.domain_cache import domain_of, newest
from synthweb.datasets.models import Dataset
from synthweb.ledger import services as ledger
from synthweb.releases import services as releases
from synthweb.releases.models import Release
from synthweb.runs import services as runs
from synthweb.runs import worker
from synthweb.runs.planning import ReleaseRequest
from tests.cast import Cast
from tests.web import scene
from tests.web.describe_page import DescribePage

Open = Callable[..., Client]
BASKETS = [["1", "2"] if n % 3 == 0 else ["2", "7"] if n % 3 == 1 else [] for n in range(1_200)]
LIST = "".join(" ".join(basket) + "\n" for basket in BASKETS).encode()
TABLE = (
    "shop,bought\n"
    + "".join(
        f"{'a' if n % 2 else 'b'},{';'.join(basket)}\n" for n, basket in enumerate(BASKETS)
    )
).encode()


def uploaded(cast: Cast, kind: Kind, content: bytes) -> Dataset:
    made = datasets.store_stream(
        steward=cast.steward,
        organisation=cast.organisation,
        name="Baskets",
        file_kind=kind,
        chunks=[content],
    )
    datasets.state_records(actor=cast.steward, dataset=made, records=scene.RECORDS)
    runs.request_ingest(dataset=made, actor=cast.steward)
    return scene.read(made)


def released(cast: Cast, dataset: Dataset, **parameters: Any) -> Release:
    ledger.grant(
        custodian=cast.custodian,
        request=scene.ask(steward=cast.steward, dataset=dataset, epsilon=8),
        reason="Agreed.",
    )
    spec = Spec.from_json(
        {"mechanism": "dpsyn", "epsilon": "8", "delta": "1e-9", "parameters": parameters}
    )
    run = runs.submit(
        ReleaseRequest(dataset=dataset, spec=spec), steward=cast.steward, name="Baskets"
    )
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.release is not None, run.failure
    return run.release


def lines_of(client: Client, release: Release, sample: Any) -> list[dict[str, str]]:
    answer = client.get(reverse("releases:sample-csv", args=[release.code, sample.code]))
    assert answer.status_code == 200
    text = b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["baskets", "baskets.gz"])
def test_a_list_of_baskets_is_described_released_sampled_and_compared(
    cast: Cast, browser: Open, kind: Kind
) -> None:
    content = gzip.compress(LIST) if kind == "baskets.gz" else LIST
    dataset = uploaded(cast, kind, content)
    assert dataset.status == Dataset.Status.READY, dataset.refusal
    client = browser(cast.steward)
    describe_page = DescribePage(client, dataset)
    assert "Baskets, items chosen by a run" in describe_page.page("?edit=0")
    describe_page.press("confirm:0", edit="0", _0_set_low="1", _0_set_high="20", _0_keep="3")
    assert describe_page.draft["columns"]["items"]["confirmed"]
    assert (
        client.post(
            describe_page.address, describe_page.inputs() | {"do": "finish"}
        ).status_code
        == 302
    )
    latest = newest(dataset)
    assert latest is not None
    (column,) = domain_of(latest).undeclared
    assert (column.kind, column.to_json()["keep"]) == ("weak-basket", 3)
    release = released(cast, dataset)
    assert set(release.model["domain"]["attributes"][0]["items"]) >= {"2"}
    sample = releases.draw_sample(user=cast.steward, release=release, rows=300, seed="7")
    rows = lines_of(client, release, sample)
    assert len(rows) == 300 and list(rows[0]) == ["items"]
    with_two = sum("2" in row["items"].split() for row in rows) / 300
    assert with_two == pytest.approx(2 / 3, abs=0.15)
    if kind == "baskets":
        worker.table_job(code=runs.request_report(release=release, actor=cast.steward).code)
        page = client.get(reverse("releases:compare-all", args=[release.code]))
        assert page.status_code == 200 and "items=2" in page.text


@pytest.mark.django_db
def test_a_column_of_baskets_beside_another_column(cast: Cast, browser: Open) -> None:
    dataset = uploaded(cast, "csv", TABLE)
    client = browser(cast.steward)
    describe_page = DescribePage(client, dataset)
    describe_page.press("confirm:0", edit="0")
    describe_page.press("kind:1", edit="1", _1_kind="basket")
    describe_page.press(
        "confirm:1",
        edit="1",
        _1_kind="basket",
        _1_items="1\n2\n7",
        _1_items_between="semicolon",
        _1_wide="on",
    )
    assert describe_page.draft["columns"]["bought"]["confirmed"], describe_page.page("?edit=1")
    assert (
        client.post(
            describe_page.address, describe_page.inputs() | {"do": "finish"}
        ).status_code
        == 302
    )
    release = released(cast, dataset, views="triples")
    sample = releases.draw_sample(user=cast.steward, release=release, rows=50, seed="7")
    rows = lines_of(client, release, sample)
    assert list(rows[0]) == ["shop", "bought=1", "bought=2", "bought=7"]
    assert {row["bought=2"] for row in rows} == {"0", "1"}


@pytest.mark.django_db
def test_a_basket_without_items_is_refused_at_its_input(cast: Cast, browser: Open) -> None:
    describe_page = DescribePage(browser(cast.steward), uploaded(cast, "csv", TABLE))
    describe_page.press("kind:1", edit="1", _1_kind="basket")
    page = describe_page.press("confirm:1", edit="1", _1_kind="basket").url
    assert "no item is listed" in describe_page.client.get(page).text.casefold()
    assert not describe_page.draft["columns"]["bought"]["confirmed"]
