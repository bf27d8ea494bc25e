"""The noisy tables of a release as CSV and Parquet: the stored answers, each with the deviation of its
noise."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from django.test import Client
from pytest_django import Settings

from synth_engine.domain import Domain
from synth_engine.evaluation.noisy_tables import bin_labels
from synthweb.releases.models import Release
from synthweb.runs import artefacts, released_counts
from synthweb.runs import services as runs
from synthweb.runs.models import SynthesisRun
from tests.cast import Cast
from tests.web import scene

pytestmark = pytest.mark.django_db(transaction=True)
Open = Callable[..., Client]


@pytest.fixture
def release(cast: Cast) -> Release:
    return scene.released(
        cast, mechanism="independent", epsilon="4", name="Three columns", table=scene.TABLE
    )


def frames(client: Client, release: Release) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The CSV and the Parquet file, once the confidential worker has gathered the tables."""
    released_counts.compute(code=runs.request_counts(release=release).code)
    text, binary = (
        b"".join(client.get(f"/releases/{release.code}/marginals.{ending}").streaming_content)
        for ending in ("csv", "parquet")
    )
    return (
        pd.read_csv(io.BytesIO(text), dtype={"value_1": str}, keep_default_na=False),
        pd.read_parquet(io.BytesIO(binary)),
    )


def test_every_stored_count_is_in_both_files_with_the_deviation_of_its_noise(
    release: Release, cast: Cast, browser: Open
) -> None:
    written, parquet = frames(browser(cast.steward), release)
    run = SynthesisRun.objects.get()
    stored = artefacts.get(name=run.answers_name, digest=run.answers_digest).measurements
    expected = np.concatenate([each.values.reshape(-1) for each in stored]).astype(float)
    for found in (written, parquet):
        assert found["noisy"].to_numpy().tolist() == expected.tolist()
        assert set(found["kind"]) == {"count"}
    deviations = [
        deviation
        for each in stored
        for deviation in [math.sqrt(each.noise.variance)] * each.values.size
    ]
    assert parquet["sigma"].tolist() == pytest.approx(deviations)
    assert written["sigma"].tolist() == pytest.approx(deviations)
    columns = parquet[parquet["column_1"] == "region"]["value_1"].tolist()
    domain = Domain.from_json(release.model["domain"])
    assert columns == list(domain.attribute("region").labels)


def test_sigma_is_that_of_the_receipt(release: Release, cast: Cast, browser: Open) -> None:
    _, parquet = frames(browser(cast.steward), release)
    calls = [call for call in release.receipt["calls"] if call["query"]["verb"] == "measure"]
    for number, call in enumerate(calls, start=1):
        table = parquet[parquet["table"] == number]
        assert len(table) == call["query"]["cells"]
        (sigma,) = set(table["sigma"])
        if "sigma_squared" in call["noise"]:
            squared = float(Fraction(call["noise"]["sigma_squared"]))
            # Rounding adds 1/12 to the variance of a Gaussian.
            assert squared <= sigma**2 * (1 + 1e-9) and sigma**2 <= squared + 0.09
        else:
            scale = float(Fraction(call["noise"]["scale"]))
            assert 0.5 * scale < sigma <= math.sqrt(2) * scale


def test_bins_are_named_by_their_values() -> None:
    labels = ["a", "b", "c", "d", "e", "f"]
    assert bin_labels(labels, np.array([0, 0, 0, 1, 2, 2])) == ["a … c", "d", "e … f"]
    assert bin_labels(labels, np.array([0, 1, 0, 0, 0, 0])) == ["a | c | d | 2 others", "b"]


def test_the_web_reads_no_stored_answers(
    release: Release, cast: Cast, browser: Open, settings: Settings, tmp_path: Path
) -> None:
    client = browser(cast.steward)
    waiting = client.get(f"/releases/{release.code}/marginals.csv")
    assert (waiting.status_code, waiting["Location"]) == (
        302,
        f"/releases/{release.code}/marginals/making/",
    )
    released_counts.compute(code=runs.request_counts(release=release).code)
    # Only the confidential worker has the folder of answers.
    settings.ARTEFACT_DIR = tmp_path / "elsewhere"
    for ending in ("csv", "parquet"):
        answer = client.get(f"/releases/{release.code}/marginals.{ending}")
        assert answer.status_code == 200 and b"".join(answer.streaming_content)
