"""Long lists of runs and releases, runs like earlier ones, and the notice of what has ended meanwhile."""

from __future__ import annotations

import re
from collections.abc import Callable
from unittest.mock import patch

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from synthweb.datasets.models import Dataset, Preview
from synthweb.lib import codes
from synthweb.releases.models import Release
from synthweb.runs import services, worker
from synthweb.runs.models import ReleaseRun, SynthesisRun
from tests.cast import Cast
from tests.web import scene
from tests.web.html import html_of

State = SynthesisRun.State
Open = Callable[..., Client]
pytestmark = pytest.mark.django_db


@pytest.fixture
def dataset(cast: Cast) -> Dataset:
    """Described, with a budget of epsilon 4."""
    return scene.funded(cast)


def finished(cast: Cast, dataset: Dataset, epsilon: str = "0.5") -> SynthesisRun:
    run = scene.submit(steward=cast.steward, dataset=dataset, epsilon=epsilon)
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.release is not None
    return run


def copies(run: SynthesisRun, number: int) -> None:
    """Many more runs and releases, as rows alone."""
    release = run.release
    assert release is not None
    for place in range(number):
        code = codes.new()
        release.pk, release.code, release.run_code, release.name = (
            None,
            codes.new(),
            code,
            f"Copy {place:03}",
        )
        release.epsilon = (place + 1) * 10**7
        release.save(force_insert=True)
        copy = scene.copy_of(run, code=code, name=f"Copy {place:03}", epsilon=release.epsilon)
        ReleaseRun.objects.create(run=copy, release=release)


def codes_in(page: str) -> list[str]:
    return re.findall(
        r'data-name="(?:Run|Release)"><span>\s*<a\s+href="/\w+/(\w+)/(?:look/)?"', page
    )


# --- lists --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "made"), [("runs", "-asked"), ("releases", "-published")])
def test_a_list_pages_sorts_and_filters_and_keeps_both(
    browser: Open, cast: Cast, dataset: Dataset, name: str, made: str
) -> None:
    copies(finished(cast, dataset), 30)
    model = {"runs": SynthesisRun, "releases": Release}[name]
    client, address = browser(cast.steward), reverse(f"{name}:index")
    key = {"runs": "price", "releases": "promise"}[name]
    price = {"runs": "-hold__epsilon", "releases": "-epsilon"}[name]
    expected = list(model.objects.order_by(price).values_list("code", flat=True))
    seen: list[str] = []
    for number in (1, 2):
        page = html_of(client.get(address, {"sort": f"-{key}", "page": number}))
        seen += codes_in(page)
        assert 'aria-sort="descending"' in page
    assert seen == expected
    assert 'rel="prev" href="?sort=-' in page
    few = html_of(client.get(address, {"q": "Copy 00", "sort": key}))
    assert len(codes_in(few)) == 10
    assert f'href="?q=Copy+00&amp;sort=-{key}"' in few, (
        "another click turns the order and keeps the words"
    )
    assert codes_in(html_of(client.get(address, {"mechanism": "bayesian-network"}))) == []
    assert (
        len(
            codes_in(
                html_of(
                    client.get(address, {"mechanism": "independent", "dataset": dataset.code})
                )
            )
        )
        == 25
    )
    usual = codes_in(html_of(client.get(address)))
    assert codes_in(html_of(client.get(address, {"sort": "nonsense"}))) == usual
    assert codes_in(html_of(client.get(address, {"sort": made}))) == usual


@pytest.mark.parametrize(
    "address", ["/", "/datasets/", "/releases/", "/runs/", "/ledger/", "dataset", "new"]
)
def test_a_page_asks_the_database_as_often_with_many_releases_as_with_one(
    browser: Open, cast: Cast, dataset: Dataset, address: str
) -> None:
    run = finished(cast, dataset)
    copies(run, 2)
    named = {
        "dataset": reverse("pages:dataset", args=[dataset.code]),
        "new": reverse("runs:new", args=[dataset.code]),
    }
    clients = [browser(person) for person in (cast.steward, cast.auditor)][
        : 1 if address == "new" else 2
    ]
    times = []
    for number in (0, 40):
        copies(run, number)
        for client in clients:
            client.get(named.get(address, address))
            with CaptureQueriesContext(connection) as asked:
                assert client.get(named.get(address, address)).status_code == 200
            times.append(len(asked))
            assert not any('"model"' in query["sql"] for query in asked), (
                "no page of many things reads models"
            )
    assert times[: len(clients)] == times[len(clients) :]


# --- like an earlier one ------------------------------------------------------------------------------------
def test_a_run_like_an_earlier_one_begins_with_its_choices_and_never_with_its_seed(
    browser: Open, cast: Cast, dataset: Dataset
) -> None:
    run = finished(cast, dataset)
    spec = {
        "mechanism": "bayesian-network",
        "epsilon": "0.25",
        "delta": "0.000000001",
        "rows": 77,
        "seed": "tulip of mine",
    }
    SynthesisRun.objects.filter(pk=run.pk).update(
        spec=spec | {"parameters": {"degree": 1, "columns_share": 0.5}}
    )
    address = reverse("runs:new", args=[dataset.code])
    page = html_of(browser(cast.steward).get(address, {"like": run.code}))
    assert re.search(r'value="bayesian-network" checked', page)
    for name, value in {
        "epsilon": "0.25",
        "delta": "1e-9",
        "rows": "77",
        "param-degree": "1",
    }.items():
        assert re.search(rf'name="{name}"[^>]*value="{value}"', page), name
    assert "First release, again" in page
    assert "Spend ε 0.25 and run" in page
    assert "tulip of mine" not in page
    assert browser(cast.steward).get(address, {"like": "nothing"}).status_code == 404
    assert f"{address}?like={run.code}" in html_of(
        browser(cast.steward).get(f"/runs/{run.code}/")
    )
    assert f"{address}?like={run.code}" in html_of(
        browser(cast.steward).get(f"/releases/{run.release.code}/about/")
    )


def test_choices_of_a_method_that_is_gone_are_left_out(
    browser: Open, cast: Cast, dataset: Dataset
) -> None:
    run = finished(cast, dataset)
    SynthesisRun.objects.filter(pk=run.pk).update(
        spec={"mechanism": "bygone", "epsilon": "3", "delta": "0"}
    )
    page = html_of(
        browser(cast.steward).get(reverse("runs:new", args=[dataset.code]), {"like": run.code})
    )
    assert re.search(r'value="auto" checked', page)


# --- the notice ---------------------------------------------------------------------------------------------
def notice(client: Client, address: str = "/docs/") -> str:
    """The words of the notice in the frame of a page."""
    found = re.search(r'id="run-notice".*?</div>', html_of(client.get(address)), flags=re.S)
    return re.sub(r"<[^>]+>|^[^>]*>", "", found[0]).strip() if found else ""


def test_the_end_of_a_run_is_told_on_every_page_of_its_asker_until_it_is_looked_at(
    browser: Open, cast: Cast, dataset: Dataset
) -> None:
    client = browser(cast.steward)
    waiting = scene.submit(steward=cast.steward, dataset=dataset)
    assert notice(client) == ""
    assert 'hx-trigger="every 10s"' in html_of(client.get("/docs/"))
    worker.synthesize(code=waiting.code)
    assert notice(client) == "1 run has finished"
    assert notice(browser(cast.auditor)) == ""
    assert "every 10s" not in html_of(client.get("/docs/"))
    client.get(f"/runs/{waiting.code}/")
    assert notice(client) == ""


def test_opening_the_release_is_looking_at_the_end_of_its_run(
    browser: Open, cast: Cast, dataset: Dataset
) -> None:
    run = finished(cast, dataset)
    assert run.release is not None
    browser(cast.auditor).get(f"/releases/{run.release.code}/")
    assert notice(browser(cast.steward)) == "1 run has finished"
    browser(cast.steward).get(f"/releases/{run.release.code}/")
    assert notice(browser(cast.steward)) == ""


def test_a_failed_run_is_told_too_and_one_that_went_on_has_a_new_end(
    browser: Open, cast: Cast, dataset: Dataset
) -> None:
    client = browser(cast.steward)
    run = scene.submit(steward=cast.steward, dataset=dataset)
    with patch.object(SynthesisRun, "plan_digest", "0" * 64):
        worker.synthesize(code=run.code)
    assert notice(client) == "1 run has failed"
    other = finished(cast, dataset)
    assert notice(client) == "2 runs have ended"
    assert set(codes_in(html_of(client.get("/runs/", {"seen": "no"})))) == {
        run.code,
        other.code,
    }
    assert client.post(reverse("runs:seen")).status_code == 302
    assert notice(client) == ""
    SynthesisRun.objects.filter(pk=other.pk).update(state=State.FAILED)
    ReleaseRun.objects.filter(run=other).update(release=None)
    Release.objects.filter(run_code=other.code).update(run_code="another")
    services.resume(actor=cast.steward, run=SynthesisRun.objects.get(pk=other.pk))
    assert notice(client) == ""
    worker.synthesize(code=other.code)
    assert notice(client).startswith("1 run has")


def test_the_page_of_a_run_that_ends_before_ones_eyes_takes_its_notice_away(
    browser: Open, cast: Cast, dataset: Dataset
) -> None:
    run = finished(cast, dataset)
    moving = html_of(
        browser(cast.steward).get(f"/runs/{run.code}/", headers={"HX-Request": "true"})
    )
    assert re.search(r'id="run-notice"[^>]*hx-swap-oob="true"[^>]*data-count="0"', moving)


# --- a comparison that has expired --------------------------------------------------------------------------
def test_an_expired_comparison_is_made_again_with_one_click(
    browser: Open, cast: Cast, dataset: Dataset
) -> None:
    client, run = browser(cast.steward), finished(cast, dataset)
    assert run.release is not None
    worker.table_job(code=services.request_report(release=run.release, actor=cast.steward).code)
    page = reverse("releases:compare", args=[run.release.code])
    assert client.get(page).status_code == 200
    Preview.objects.filter(kind=Preview.Kind.REPORT).delete()
    expired = html_of(client.get(page, follow=True))
    assert "has expired" in expired
    assert client.post(reverse("runs:report", args=[run.release.code])).status_code == 302
    worker.table_job(code=run.release.table_jobs.get(state="waiting").code)
    assert "Columns, worst first" in html_of(client.get(page, follow=True))


def test_a_comparison_that_can_no_longer_be_opened_is_made_again_too(
    browser: Open, cast: Cast, dataset: Dataset
) -> None:
    client, run = browser(cast.steward), finished(cast, dataset)
    assert run.release is not None
    worker.table_job(code=services.request_report(release=run.release, actor=cast.steward).code)
    page, kept = (
        reverse("releases:compare", args=[run.release.code]),
        Preview.objects.filter(kind=Preview.Kind.REPORT),
    )
    kept.update(store_name="0" * 32)
    assert "Make it again" in html_of(client.get(page, follow=True))
