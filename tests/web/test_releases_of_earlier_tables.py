"""A release goes with the version of the table that it was made of, also after another version was uploaded,
as long as that file is kept; afterwards pages and REST say that it was erased."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from synthweb.audit.models import AuditEntry
from synthweb.datasets import selectors, services
from synthweb.datasets.models import Dataset, Preview, RunTable, TableVersion
from synthweb.lib.errors import Conflict
from synthweb.releases.models import PaidCheck, Release
from synthweb.runs import retention, worker
from synthweb.runs import services as runs
from synthweb.runs.models import TableJob
from tests.cast import Cast
from tests.web import scene
from tests.web.html import html_of
from tests.web.rest import Caller, assert_problem

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("places")]
Browser = Callable[..., Client]
NORTH_COUNT = sum(line.startswith("north") for line in scene.TABLE.splitlines())
LATER = scene.TABLE.splitlines()[0] + "\n" + "south,40,yes\n" * 20_000
"""A table so different that no noise of this file's epsilon takes one for the other."""
COUNT = {"figures": [{"kind": "count", "where": ["region=north"]}], "epsilon": "1"}


@pytest.fixture
def release(cast: Cast) -> Release:
    dataset = scene.funded(cast)
    worker.synthesize(code=scene.submit(steward=cast.steward, dataset=dataset).code)
    return Release.objects.get()


@pytest.fixture
def replace(
    cast: Cast, release: Release, django_capture_on_commit_callbacks: Any
) -> Callable[..., Dataset]:
    """Uploads a corrected file, and has it read."""

    def replaced(content: str = LATER) -> Dataset:
        with (
            django_capture_on_commit_callbacks(execute=True),
            services.Intake("csv") as upload,
        ):
            upload.receive(content.encode())
            changed = services.replace_file(
                actor=cast.steward, dataset=release.dataset, upload=upload
            )
            runs.request_ingest(dataset=changed, actor=cast.steward)
            return scene.read(changed)

    return replaced


def kept() -> dict[int, bool]:
    """Number of a version → whether its file is in the vault."""
    there = {path.name for path in Path(settings.VAULT_DIR).iterdir()}
    versions = TableVersion.objects.order_by("number")
    assert all((each.erased_at is None) == (each.vault_name in there) for each in versions)
    return {each.number: each.vault_name in there for each in versions}


def compared(cast: Cast, release: Release, client: Client) -> Any:
    """The comparison that its page asks for."""
    assert client.post(reverse("runs:report", args=[release.code])).status_code == 302
    worker.table_job(code=TableJob.objects.filter(kind="report").latest("pk").code)
    return selectors.preview_for(
        cast.steward, release.dataset, Preview.Kind.REPORT, release.code
    )


def test_a_release_is_compared_with_the_table_that_it_was_made_of(
    cast: Cast, release: Release, replace: Callable[..., Dataset], browser: Browser
) -> None:
    client = browser(cast.steward)
    before = compared(cast, release, client)
    assert replace().table_number == 2
    assert kept() == {1: True, 2: True}
    # What was made of it is kept, too.
    assert selectors.preview_exists(release.dataset, Preview.Kind.REPORT, release.code)
    assert compared(cast, release, client) == before
    page = html_of(client.get(reverse("releases:compare", args=[release.code])))
    assert 'data-table="earlier"' in page


def test_figures_are_measured_with_the_table_that_the_release_was_made_of(
    cast: Cast, release: Release, replace: Callable[..., Dataset]
) -> None:
    replace()
    program = Caller(cast.steward, "read", "spend")
    assert program.send(f"/releases/{release.code}/paid/price/", COUNT).status_code == 200
    accepted = program.send(f"/releases/{release.code}/paid/", COUNT)
    assert accepted.status_code == 202, accepted.content
    code = accepted.json()["code"]
    assert RunTable.objects.get(run_code=code).table.number == 1
    worker.synthesize(code=code)
    [figure] = PaidCheck.objects.get(run_code=code).figures
    # The later table has none.
    assert abs(figure["answer"]["value"] - NORTH_COUNT) < NORTH_COUNT / 2
    # A new release is of the table in force.
    submitted = scene.submit(steward=cast.steward, dataset=Dataset.objects.get(), epsilon="0.5")
    assert RunTable.objects.get(run_code=submitted.code).table.number == 2


def test_an_earlier_file_is_kept_for_releases_alone_and_as_long_as_they_are(
    release: Release,
    replace: Callable[..., Dataset],
    django_capture_on_commit_callbacks: Any,
) -> None:
    replace()
    # Of the second version nothing was made.
    replace(LATER + "south,41,yes\n")
    assert kept() == {1: True, 2: False, 3: True}
    Dataset.objects.update(releases_until=timezone.now().date() - timedelta(days=2))
    with django_capture_on_commit_callbacks(execute=True):
        assert retention.delete_due() == 1
    assert kept() == {1: False, 2: False, 3: True}


def test_the_day_of_the_table_ends_all_its_versions(
    release: Release,
    replace: Callable[..., Dataset],
    django_capture_on_commit_callbacks: Any,
) -> None:
    replace()
    Dataset.objects.update(table_until=timezone.now().date() - timedelta(days=2))
    with django_capture_on_commit_callbacks(execute=True):
        assert retention.delete_due() == 1
    assert kept() == {1: False, 2: False}


@pytest.mark.parametrize("by", ["page", "rest"])
def test_the_steward_erases_earlier_files_at_once(
    cast: Cast,
    release: Release,
    replace: Callable[..., Dataset],
    browser: Browser,
    by: str,
    django_capture_on_commit_callbacks: Any,
) -> None:
    client, program = browser(cast.steward), Caller(cast.steward, "read", "spend")
    compared(cast, release, client)
    code = release.dataset.code
    button = reverse("pages:erase-earlier", args=[code])
    settings_page = reverse("pages:settings", args=[code])
    assert f'action="{button}"' not in html_of(client.get(settings_page))
    assert_problem(program.send(f"/datasets/{code}/erase-earlier/", None), status=409)
    replace()
    assert f'action="{button}"' in html_of(client.get(settings_page))
    with django_capture_on_commit_callbacks(execute=True):
        if by == "page":
            assert client.post(button).status_code == 302
        else:
            answer = program.send(f"/datasets/{code}/erase-earlier/", None)
            assert (answer.status_code, answer.json()["table_version"]) == (200, 2)
    assert kept() == {1: False, 2: True}
    assert not selectors.preview_exists(release.dataset, Preview.Kind.REPORT, release.code)
    entry = AuditEntry.objects.get(action="dataset.earlier_erased")
    assert (entry.object_code, entry.detail["keys_destroyed"]) == (code, 1)


def test_where_the_file_was_erased_pages_and_programs_are_told_so(
    cast: Cast, release: Release, replace: Callable[..., Dataset], browser: Browser
) -> None:
    replace()
    TableVersion.objects.filter(number=1).update(erased_at=timezone.now())
    client, address = browser(cast.steward), reverse("runs:report", args=[release.code])
    page = client.get(address)
    assert 'data-table="erased"' in html_of(page)
    assert f'action="{address}"' not in html_of(page)
    assert client.post(address, follow=True).status_code == 200
    assert not TableJob.objects.filter(kind="report").exists()
    with pytest.raises(Conflict, match="erased"):
        runs.request_report(release=release, actor=cast.steward)
    program = Caller(cast.steward, "read", "spend")
    for end in ("paid/price/", "paid/"):
        problem = assert_problem(
            program.send(f"/releases/{release.code}/{end}", COUNT), status=409
        )
        assert "erased" in problem["title"] + problem["detail"]
