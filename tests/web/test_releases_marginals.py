"""Tables of counts of a release with intervals, on their page and by REST: from noisy answers and the model
alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from pytest_django import Settings

from synthweb.releases import marginals, services, tabs
from synthweb.releases.models import Release, ReleasedCounts
from synthweb.runs import artefacts, queue, released_counts
from synthweb.runs import services as runs
from synthweb.runs.models import CountsJob, OutboxMessage, SynthesisRun
from synthweb.runs.selectors import MOST_FAILURES
from tests.cast import Cast
from tests.web import scene
from tests.web.html import html_of
from tests.web.rest import Caller

pytestmark = pytest.mark.django_db(transaction=True)
Open = Callable[..., Client]


@pytest.fixture
def release(cast: Cast) -> Release:
    return scene.released(
        cast, mechanism="mst", epsilon="4", name="Three columns", table=scene.TABLE
    )


@pytest.fixture
def shared(cast: Cast, release: Release) -> Release:
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    return release


def gather(release: Release) -> None:
    released_counts.compute(code=runs.request_counts(release=release).code)


def test_an_analyst_asks_for_a_table_and_a_worker_gathers_the_answers_once(
    cast: Cast, release: Release, browser: Open
) -> None:
    address = f"/releases/{release.code}/marginals/"
    assert browser(cast.analyst).get(f"{address}?columns=region").status_code == 404
    assert browser(cast.analyst).get(f"{address}making/").status_code == 404
    assert not CountsJob.objects.exists()
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    client = browser(cast.analyst)
    # The form costs nothing: no worker is asked before somebody asks for a table.
    assert client.get(address).status_code == 200
    assert not CountsJob.objects.exists()
    asked = f"{address}?columns=region&columns=works&where=region%3Dnorth|south"
    waiting = client.get(asked, follow=True)
    assert 'id="waiting"' in html_of(waiting)
    job = CountsJob.objects.get()
    message = OutboxMessage.objects.get(subject_code=job.code)
    # The noisy answers are where the confidential worker is.
    assert (message.task, message.queue) == (queue.COUNTS, queue.CONFIDENTIAL)
    again = waiting.request["PATH_INFO"] + "?" + waiting.request["QUERY_STRING"]
    assert client.get(again).status_code == 200
    assert CountsJob.objects.get() == job
    released_counts.compute(code=job.code)
    arrived = client.get(again, headers={"HX-Request": "true"})
    assert arrived.headers["HX-Redirect"].startswith(address)
    page = client.get(arrived.headers["HX-Redirect"])
    assert "data-marginal" in html_of(page)
    assert "marginals" in [card.key for card in tabs.offered(cast.analyst, release)]


def test_rest_has_values_with_intervals_and_marks_the_cells_of_the_model(
    cast: Cast, shared: Release
) -> None:
    calls = Caller(cast.analyst, "read")
    address = f"/releases/{shared.code}/marginals/?columns=region,works"
    first = calls.get(address)
    assert first.status_code == 202
    assert first.headers["Location"].endswith(address)
    assert int(first.headers["Retry-After"]) > 0
    released_counts.compute(code=CountsJob.objects.get().code)
    answer = calls.get(address).json()
    assert answer["columns"] == ["region", "works"]
    assert answer["count"] == len(answer["cells"])
    assert answer["measured"] == sum(cell["measured"] for cell in answer["cells"])
    for cell in answer["cells"]:
        assert 0 <= cell["lower"] <= cell["value"] <= cell["upper"]
        assert len(cell["values"]) == 2
    # Single columns are measured by every method that counts columns.
    (line,) = calls.get(f"/releases/{shared.code}/marginals/?where=region=north|south").json()[
        "cells"
    ]
    assert line["measured"]
    assert line["values"] == []
    three = calls.get(f"/releases/{shared.code}/marginals/?columns=region,works,age").json()
    assert three["measured"] == 0


def test_cells_come_in_pages(cast: Cast, shared: Release, browser: Open) -> None:
    gather(shared)
    calls = Caller(cast.analyst, "read")
    address = f"/releases/{shared.code}/marginals/?columns=age,region"
    whole = calls.get(address).json()
    part = calls.get(f"{address}&limit=3&offset=2").json()
    assert part["cells"] == whole["cells"][2:5]
    assert (part["offset"], part["count"]) == (2, whole["count"])
    assert calls.get(f"{address}&offset=100000").json()["cells"] == []
    client = browser(cast.analyst)
    query = "columns=age&columns=region&columns=works"
    page = html_of(client.get(f"/releases/{shared.code}/marginals/?{query}"))
    number = calls.get(f"/releases/{shared.code}/marginals/?columns=age,region,works").json()[
        "count"
    ]
    assert page.count("<tr>") - 1 == min(number, marginals.PAGE_CELLS)
    assert ('rel="next"' in page) == (number > marginals.PAGE_CELLS)
    later = html_of(client.get(f"/releases/{shared.code}/marginals/?{query}&from=3"))
    assert 'rel="prev"' in later


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("", "no column"),
        ("columns=height", "no such column"),
        ("columns=region,region", "named twice"),
        ("columns=region&where=height=3", "names no column"),
        ("columns=region&where=works=perhaps", "does not have"),
        ("columns=a,b,c,d,e,f,g,h,i", "9 columns"),
    ],
)
def test_what_cannot_be_is_refused_before_a_worker_is_asked(
    cast: Cast, shared: Release, browser: Open, query: str, words: str
) -> None:
    answer = Caller(cast.analyst, "read").get(f"/releases/{shared.code}/marginals/?{query}")
    assert answer.status_code == 422
    assert words in answer.json()["detail"]
    assert not CountsJob.objects.exists()
    if query:
        client = browser(cast.analyst)
        page = client.get(f"/releases/{shared.code}/marginals/?{query}")
        assert page.status_code == 200
        assert 'role="alert"' in html_of(page)


@pytest.mark.parametrize("query", ["limit=0", "limit=x", "offset=-1", "colums=region"])
def test_a_misspelt_parameter_is_an_error(cast: Cast, shared: Release, query: str) -> None:
    address = f"/releases/{shared.code}/marginals/?columns=region&{query}"
    assert Caller(cast.analyst, "read").get(address).status_code == 400


def test_damaged_answers_end_in_words_and_can_be_gathered_again(
    cast: Cast, shared: Release, browser: Open
) -> None:
    run = SynthesisRun.objects.get(release_run__release=shared)
    path = artefacts._folder() / run.answers_name
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    gather(shared)
    assert CountsJob.objects.get().state == CountsJob.State.FAILED
    assert not ReleasedCounts.objects.exists()
    client = browser(cast.analyst)
    address = f"/releases/{shared.code}/marginals/making/?columns=region"
    assert "could not be gathered" in html_of(client.get(address))
    refused = Caller(cast.analyst, "read").get(
        f"/releases/{shared.code}/marginals/?columns=region"
    )
    assert refused.status_code == 409
    path.write_bytes(content)
    client.post(address)
    released_counts.compute(code=CountsJob.objects.get(state="waiting").code)
    assert "data-marginal" in html_of(client.get(address, follow=True))


def test_counts_of_another_version_are_gathered_again(cast: Cast, shared: Release) -> None:
    gather(shared)
    ReleasedCounts.objects.update(version="marginals/0")
    address = f"/releases/{shared.code}/marginals/?columns=region"
    assert Caller(cast.analyst, "read").get(address).status_code == 202
    gather(shared)
    assert Caller(cast.analyst, "read").get(address).status_code == 200


def test_nobody_has_the_answers_gathered_over_and_over(
    cast: Cast, shared: Release, browser: Open
) -> None:
    client = browser(cast.analyst)
    address = f"/releases/{shared.code}/marginals/making/"
    gather(shared)
    client.post(address)  # they are there
    assert CountsJob.objects.count() == 1
    ReleasedCounts.objects.all().delete()
    for _ in range(2):
        client.post(address)  # the second one finds the first one waiting
    assert CountsJob.objects.filter(state="waiting").count() == 1
    CountsJob.objects.all().delete()
    for _ in range(MOST_FAILURES):
        CountsJob.objects.create(release=shared, state=CountsJob.State.FAILED)
    client.post(address)
    assert not CountsJob.objects.filter(state="waiting").exists()


def test_a_table_takes_a_slot(
    cast: Cast, shared: Release, browser: Open, settings: Settings
) -> None:
    gather(shared)
    settings.DRAWINGS_PER_PERSON = 0
    refused = Caller(cast.analyst, "read").get(
        f"/releases/{shared.code}/marginals/?columns=region"
    )
    assert refused.status_code == 429 and refused.headers["Retry-After"]
    page = browser(cast.analyst).get(f"/releases/{shared.code}/marginals/?columns=region")
    assert page.status_code == 429
