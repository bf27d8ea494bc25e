"""Real public tables, from the file to a release, as a steward gets them there: with nothing typed by
hand."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from synth_engine import verifier
from synth_engine.domain import Domain
from synth_engine.spec import Spec
from synthweb.datasets.models import Dataset, DomainVersion
from synthweb.ledger import services as ledger
from synthweb.releases import services as releases
from synthweb.releases import tables
from synthweb.runs import services as runs
from synthweb.runs import worker
from synthweb.runs.planning import ReleaseRequest
from tests.cast import Cast
from tests.shared import needs
from tests.web import scene
from tests.web.describe_page import DescribePage

pytestmark = [pytest.mark.slow, pytest.mark.shared_data, pytest.mark.django_db]


@pytest.fixture(autouse=True)
def places(settings: Settings, tmp_path: Path) -> None:
    settings.VAULT_DIR, settings.PREVIEW_DIR = tmp_path / "vault", tmp_path / "previews"
    settings.ARTEFACT_DIR = tmp_path / "artefacts"


def uploaded(cast: Cast, path: Path) -> Dataset:
    made = scene.upload(
        steward=cast.steward,
        organisation=cast.organisation,
        table=gzip.decompress(path.read_bytes()).decode(),
        name=path.stem,
    )
    return scene.read(made)


def released(cast: Cast, dataset: Dataset) -> pd.DataFrame:
    """A table drawn from a release of single columns at ε = 4.

    These tests are about reading, so the method is the one whose error has a simple law: the noise of a share
    is below 0.001, that of a draw of 20,000 rows below 0.004, and the limits of the tests are more than ten
    times as wide.
    """
    request = scene.ask(steward=cast.steward, dataset=dataset)
    ledger.grant(custodian=cast.custodian, request=request, reason="Agreed.")
    spec = Spec.from_json({"mechanism": "independent", "epsilon": "4", "delta": "0"})
    run = runs.submit(
        ReleaseRequest(dataset=dataset, spec=spec), steward=cast.steward, name="All of it"
    )
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.release is not None, run.failure
    verifier.verify(run.release.receipt)
    sample = releases.draw_sample(user=cast.steward, release=run.release, rows=20_000)
    return read("".join(tables.stream_csv(sample)))


def read(text: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)


def distance(first: pd.Series, second: pd.Series) -> float:
    """Total variation between two columns."""
    shares = [column.value_counts(normalize=True) for column in (first, second)]
    return float(shares[0].subtract(shares[1], fill_value=0).abs().sum()) / 2


def test_the_national_excerpt_with_its_dictionary_and_no_hand_edits(
    browser: Callable[..., Client], cast: Cast
) -> None:
    path = needs("data/nist_acs/national2019.csv.gz")
    dataset = uploaded(cast, path)
    describe_page = DescribePage(browser(cast.steward), dataset)
    file = SimpleUploadedFile(
        "d.json", needs("data/nist_acs/data_dictionary.json").read_bytes()
    )
    address = reverse("datasets:import", args=[dataset.code])
    page = describe_page.client.post(
        address, describe_page.inputs() | {"do": "save", "document": file}, follow=True
    ).text
    assert "data dictionary: 24 columns were taken" in page
    assert "Column “INDP”: the dictionary does not say which values it has" in page
    describe_page.press("confirm-open")
    assert describe_page.press("finish").status_code == 302
    domain = Domain.from_json(DomainVersion.objects.get().document)
    assert set(domain.facts) == {"public-file"}
    assert len(domain.attributes) == 24
    drawn, real = released(cast, dataset), read(gzip.decompress(path.read_bytes()).decode())
    assert list(drawn) == list(real)
    listed = [
        attribute.name for attribute in domain.modelled if attribute.kind == "categorical"
    ]
    assert len(listed) == 15
    assert max(distance(real[name], drawn[name]) for name in listed) < 0.1
    assert all(
        abs((drawn[name] == "N").mean() - (real[name] == "N").mean()) < 0.05 for name in drawn
    )


def test_adult_raw_with_one_confirmation_a_column(
    browser: Callable[..., Client], cast: Cast
) -> None:
    path = needs("data/adult/adult.csv.gz")
    dataset = uploaded(cast, path)
    describe_page = DescribePage(browser(cast.steward), dataset)
    real = read(gzip.decompress(path.read_bytes()).decode())
    for index in range(len(real.columns)):
        describe_page.press(f"confirm:{index}", in_place=True)
    assert describe_page.press("finish").status_code == 302
    drawn = released(cast, dataset)
    assert list(drawn) == list(real)
    assert (
        max(
            distance(real[name], drawn[name])
            for name in ("sex", "race", "workclass", "education", "income")
        )
        < 0.1
    )
