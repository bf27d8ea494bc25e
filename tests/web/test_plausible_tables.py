"""Several plausible tables of a release: asked for, made once by a worker, downloaded, and refused where
there are none."""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from collections.abc import Callable

import pandas as pd
import pytest
from django.test import Client

from synthweb import celery
from synthweb.releases import plausible
from synthweb.releases.models import Release
from synthweb.runs import paid_first, plausible_tables, worker
from synthweb.runs import services as runs
from synthweb.runs.models import ImplicatesJob, SynthesisRun
from tests.cast import Cast
from tests.web import scene
from tests.web.html import html_of

pytestmark = pytest.mark.django_db
Browse = Callable[..., Client]


@pytest.fixture
def release(cast: Cast) -> Release:
    dataset = scene.funded(cast)
    worker.synthesize(code=scene.submit(steward=cast.steward, dataset=dataset).code)
    return Release.objects.get()


def test_from_the_page_to_the_archive(cast: Cast, release: Release, browser: Browse) -> None:
    client, base = browser(cast.steward), f"/releases/{release.code}"
    assert f"{base}/implicates/making/" in html_of(client.get(f"{base}/files/"))
    assert client.get(f"{base}/implicates.zip").status_code == 302
    assert not ImplicatesJob.objects.exists()
    for _ in range(2):
        assert client.post(f"{base}/implicates/making/").status_code == 302
    job = ImplicatesJob.objects.get()
    assert 'id="waiting"' in html_of(client.get(f"{base}/implicates/making/"))
    rest = f"/api/v1{base}/implicates.zip"
    assert client.get(rest).status_code == 202
    plausible_tables.compute(code=job.code)
    job.refresh_from_db()
    assert job.state == ImplicatesJob.State.FINISHED, job.failure
    assert client.get(f"{base}/implicates/making/")["Location"] == f"{base}/files/"
    answer = client.get(rest)
    digest = base64.b64encode(hashlib.sha256(answer.content).digest()).decode()
    assert answer["Repr-Digest"] == f"sha-256=:{digest}:"
    assert client.get(f"{base}/implicates.zip").content == answer.content
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        names = archive.namelist()
        assert len(names) == 1 + 2 * plausible.NUMBER
        tables = [archive.read(name) for name in names if name.startswith("csv/")]
        frame = pd.read_parquet(io.BytesIO(archive.read("parquet/table-01.parquet")))
    assert len(set(tables)) == plausible.NUMBER
    assert list(frame.columns) == ["region", "age", "works"]
    assert len(frame) == tables[0].count(b"\n") - 1
    # The same receipt gives the same tables.
    ImplicatesJob.objects.all().delete()
    release.plausible_tables.delete()
    client.post(f"{base}/implicates/making/")
    plausible_tables.compute(code=ImplicatesJob.objects.get().code)
    assert client.get(rest).content == answer.content
    assert not SynthesisRun.objects.exclude(release_run__release=release).exists()


def test_a_paid_run_waits_for_one_of_the_tables_at_the_most(
    cast: Cast, release: Release
) -> None:
    job = runs.request_implicates(release=release)
    run = scene.submit(steward=cast.steward, dataset=release.dataset)
    plausible_tables.compute(code=job.code)
    job.refresh_from_db()
    run.refresh_from_db()
    assert job.state == ImplicatesJob.State.FINISHED, job.failure
    assert run.state == SynthesisRun.State.FINISHED, run.failure
    assert run.finished_at < job.finished_at


def test_a_worker_that_stops_begins_no_paid_run(cast: Cast, release: Release) -> None:
    run = scene.submit(steward=cast.steward, dataset=release.dataset)
    celery.note_stop()
    try:
        paid_first.do_waiting()
    finally:
        celery._STOPPING[0] = 0
    run.refresh_from_db()
    assert (run.state, run.attempts) == (SynthesisRun.State.HELD, 0)
    paid_first.do_waiting()
    run.refresh_from_db()
    assert run.state == SynthesisRun.State.FINISHED, run.failure


def test_tables_that_cannot_be_made_are_refused_in_words(
    cast: Cast, release: Release, browser: Browse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plausible, "MAX_CELLS", 10)
    client, base = browser(cast.steward), f"/releases/{release.code}"
    for _ in range(5):
        client.post(f"{base}/implicates/making/")
        for job in ImplicatesJob.objects.filter(state="waiting"):
            plausible_tables.compute(code=job.code)
    # Nobody has it tried for ever.
    assert ImplicatesJob.objects.count() == 3
    assert "--implicates" in html_of(client.get(f"{base}/implicates/making/"))
    refused = client.get(f"/api/v1{base}/implicates.zip")
    assert refused.status_code == 409
    assert "cells" in refused.json()["detail"]
