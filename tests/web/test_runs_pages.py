"""Pages of runs in a browser of each role: what they show, refuse and keep."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from unittest.mock import patch

import pytest
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse

from synth_engine.spec import Spec
from synthweb.datasets import services as datasets
from synthweb.datasets.models import Dataset
from synthweb.runs import failure_words, services, silence, worker
from synthweb.runs.models import SynthesisRun
from synthweb.runs.planning import ReleaseRequest
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


def typed(**changes: str) -> dict[str, str]:
    return {
        "mechanism": "independent",
        "epsilon": "1",
        "delta": "1e-9",
        "rows": "",
        "name": "Mine",
    } | changes


def post(client: Client, dataset: Dataset, **changes: str):
    return client.post(reverse("runs:new", args=[dataset.code]), typed(**changes))


# --- asking -------------------------------------------------------------------------------------------------
def test_the_page_names_the_price_on_its_button_and_shows_the_ledger_after_it(
    browser: Open, cast: Cast, dataset: Dataset
) -> None:
    page = html_of(browser(cast.steward).get(reverse("runs:new", args=[dataset.code])))
    assert "Spend ε 1 and run" in page
    assert "differential privacy for one record added or removed" in page
    assert "this run 1" in page
    for column in ("region", "age", "works"):
        assert f">{column}</th>" in page


def test_the_right_side_follows_what_is_typed(
    browser: Open, cast: Cast, dataset: Dataset
) -> None:
    address = reverse("runs:estimate", args=[dataset.code])
    page = html_of(browser(cast.steward).post(address, typed(epsilon="0.5")))
    assert "Spend ε 0.5 and run" in page
    assert not SynthesisRun.objects.exists()


@pytest.mark.parametrize(
    "wrong",
    ["0", "-1", "nan", "inf", "1e-400", "１", "1_0", "", "1/0", "0x1", "1e400", "9" * 41],
)
def test_what_is_no_privacy_loss_is_refused_at_its_field_and_stays_typed(
    browser: Open, cast: Cast, dataset: Dataset, wrong: str
) -> None:
    answer = post(browser(cast.steward), dataset, epsilon=wrong)
    page = html_of(answer)
    assert answer.status_code == 200
    assert re.search(r'id="epsilon-errors"><div class="invalid-feedback', page)
    assert f'value="{wrong}"' in page
    assert 'value="Mine"' in page
    assert not SynthesisRun.objects.exists()


@pytest.mark.parametrize(
    ("field", "wrong"), [("delta", "2"), ("delta", "x"), ("rows", "0"), ("rows", "１２")]
)
def test_other_fields_say_what_is_wrong_with_them(
    browser: Open, cast: Cast, dataset: Dataset, field: str, wrong: str
) -> None:
    page = html_of(post(browser(cast.steward), dataset, **{field: wrong}))
    assert re.search(rf'id="{field}-errors"><div class="invalid-feedback', page)
    assert f'value="{wrong}"' in page


def test_spending_leads_to_the_run(browser: Open, cast: Cast, dataset: Dataset) -> None:
    answer = post(browser(cast.steward), dataset)
    run = SynthesisRun.objects.get()
    assert answer.url == reverse("runs:run", args=[run.code])
    assert run.price.epsilon == 10**9


def test_a_second_click_on_the_same_button_spends_nothing_more(
    browser: Open, cast: Cast, dataset: Dataset
) -> None:
    client = browser(cast.steward)
    page = html_of(client.get(reverse("runs:new", args=[dataset.code])))
    found = re.search(r'name="request_key" value="([^"]+)"', page)
    assert found
    for _ in range(2):
        post(client, dataset, request_key=found[1])
    assert SynthesisRun.objects.count() == 1


def test_more_than_half_of_what_is_left_is_asked_for_twice(
    browser: Open, cast: Cast, dataset: Dataset
) -> None:
    client = browser(cast.steward)
    first = post(client, dataset, epsilon="3", delta="3e-9")
    assert not SynthesisRun.objects.exists()
    found = re.search(r'name="confirmed" value="([0-9a-f]{64})"', html_of(first))
    assert found
    assert (
        post(client, dataset, epsilon="3", delta="3e-9", confirmed="0" * 64).status_code == 200
    )
    assert not SynthesisRun.objects.exists()
    assert (
        post(client, dataset, epsilon="3", delta="3e-9", confirmed=found[1]).status_code == 302
    )
    assert SynthesisRun.objects.get().price.epsilon == 3 * 10**9


def test_what_cannot_be_paid_has_no_button_and_cannot_be_posted(
    browser: Open, cast: Cast, dataset: Dataset
) -> None:
    client = browser(cast.steward)
    page = html_of(
        client.post(reverse("runs:estimate", args=[dataset.code]), typed(epsilon="4.1"))
    )
    assert re.search(r"<button[^>]*disabled", page)
    found = re.search(
        r'name="confirmed" value="([0-9a-f]{64})"',
        html_of(post(client, dataset, epsilon="4.1")),
    )
    answer = post(client, dataset, epsilon="4.1", confirmed=found[1] if found else "")
    assert "left" in html_of(answer)
    assert not SynthesisRun.objects.exists()


@pytest.mark.parametrize("name", ["new", "propose-link", "ask-filled"])
def test_a_page_before_its_time_leads_to_the_step_that_is_missing(
    name: str, browser: Open, cast: Cast
) -> None:
    made = scene.read(
        scene.upload(steward=cast.steward, organisation=cast.organisation, name="Fresh")
    )
    client, address = browser(cast.steward), reverse(f"runs:{name}", args=[made.code])

    def button() -> str:
        page = html_of(client.get(address))
        return page.split('class="empty"')[1].split('href="')[1].split('"')[0]

    assert button() == reverse("datasets:describe", args=[made.code])
    datasets.declare_domain(actor=cast.steward, dataset=made, document=scene.DOMAIN)
    assert button() == reverse("ledger:ask", args=[made.code])


# --- watching -----------------------------------------------------------------------------------------------
def test_the_moving_part_asks_again_until_the_run_is_over(
    browser: Open, cast: Cast, dataset: Dataset
) -> None:
    run = scene.submit(steward=cast.steward, dataset=dataset)
    client, address = browser(cast.steward), reverse("runs:run", args=[run.code])
    moving = client.get(address, headers={"HX-Request": "true"})
    assert moving.status_code == 200
    assert 'hx-trigger="every 1s"' in html_of(moving)
    worker.synthesize(code=run.code)
    over = client.get(address, headers={"HX-Request": "true"})
    assert over.status_code == 286
    assert "hx-trigger" not in html_of(over)
    run.refresh_from_db()
    assert run.release is not None
    assert reverse("releases:release", args=[run.release.code]) in html_of(over)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (State.HELD, "goes back to the budget"),
        (State.CHARGED, "stays spent"),
        (State.MEASURED, "give up"),
    ],
)
def test_cancelling_says_what_it_forfeits_before_it_does(
    browser: Open, cast: Cast, dataset: Dataset, state: str, words: str
) -> None:
    run = scene.submit(steward=cast.steward, dataset=dataset)
    SynthesisRun.objects.filter(pk=run.pk).update(state=state, answers_digest="x")
    address = reverse("runs:cancel", args=[run.code])
    client = browser(cast.steward)
    assert words in html_of(client.get(address))
    run.refresh_from_db()
    assert run.state == state
    client.post(address)
    run.refresh_from_db()
    assert run.state == State.CANCELLED


def test_a_failed_run_shows_our_words_and_whether_anything_was_spent(
    browser: Open, cast: Cast, dataset: Dataset
) -> None:
    run = scene.submit(steward=cast.steward, dataset=dataset)
    with patch.object(SynthesisRun, "plan_digest", "0" * 64):
        worker.synthesize(code=run.code)
    page = html_of(browser(cast.steward).get(reverse("runs:run", args=[run.code])))
    assert "plans this run differently" in page
    assert "Nothing was spent" in page
    said = failure_words.of_run(SynthesisRun.objects.get(pk=run.pk))
    assert said is not None
    assert f'data-failure="{said.code}"' in page
    assert all(html.escape(words) in page for words in (said.what, said.where, said.how))


def test_a_run_whose_worker_is_silent_says_so(
    browser: Open, cast: Cast, dataset: Dataset
) -> None:
    run = scene.submit(steward=cast.steward, dataset=dataset)
    client, address = browser(cast.steward), reverse("runs:run", args=[run.code])

    def is_gone(**asked: int) -> bool:
        return "data-worker-gone" in html_of(client.get(address, asked))

    assert not is_gone(beats=0, asked=1000)  # nobody has begun it
    SynthesisRun.objects.filter(pk=run.pk).update(
        started_at=Now(), lease_held=True, lease_seconds=60, heartbeats=7
    )
    assert not is_gone()
    assert not is_gone(beats=7, asked=39)
    assert is_gone(beats=7, asked=40)
    assert not is_gone(beats=6, asked=1000)  # it has beaten since
    assert "beats=7&amp;asked=12" in html_of(client.get(address, {"beats": 7, "asked": 11}))
    SynthesisRun.objects.filter(pk=run.pk).update(lease_held=False)
    assert is_gone()


@pytest.mark.parametrize("sent", ["", "-1", "x", "٣", "1" * 5000])
def test_what_is_no_number_of_heartbeats_counts_as_a_first_look(sent: str) -> None:
    run = SynthesisRun(heartbeats=3, lease_held=True, lease_seconds=60)
    assert silence.of_run(run, {"beats": sent, "asked": "5"}).asked == 0


def test_the_list_filters_by_state_and_words(
    browser: Open, cast: Cast, dataset: Dataset
) -> None:
    kept = scene.submit(steward=cast.steward, dataset=dataset)
    client, address = browser(cast.steward), reverse("runs:index")
    assert kept.code in html_of(client.get(address, {"state": "held", "q": "first"}))
    assert kept.code not in html_of(client.get(address, {"state": "finished"}))
    assert kept.code not in html_of(client.get(address, {"q": "elsewhere"}))
    assert kept.code in html_of(client.get(address, {"state": "nonsense", "page": "999"}))


# --- who may ------------------------------------------------------------------------------------------------
def test_strangers_and_analysts_find_no_run_and_readers_cannot_act(
    browser: Open, cast: Cast, dataset: Dataset
) -> None:
    run = scene.submit(steward=cast.steward, dataset=dataset)
    page, cancel = (reverse(f"runs:{name}", args=[run.code]) for name in ("run", "cancel"))
    for person in (cast.stranger, cast.analyst):
        assert browser(person).get(page).status_code == 404
        assert browser(person).post(cancel).status_code == 404
    for person in (cast.auditor, cast.custodian):
        assert browser(person).get(page).status_code == 200
        assert browser(person).post(cancel).status_code == 403
    assert browser().get(page).status_code == 302
    assert (
        browser(cast.stranger).get(reverse("runs:new", args=[dataset.code])).status_code == 404
    )
    assert (
        browser(cast.auditor).get(reverse("runs:new", args=[dataset.code])).status_code == 403
    )


def test_a_form_gone_back_to_and_changed_is_another_run_and_sent_twice_the_same(
    cast: Cast, dataset: Dataset, browser: Open
) -> None:
    client = browser(cast.steward)
    for epsilon in ("0.5", "0.5", "0.25"):
        assert (
            post(client, dataset, epsilon=epsilon, request_key="key-of-the-form").status_code
            == 302
        )
    assert sorted(run.spec["epsilon"] for run in SynthesisRun.objects.all()) == ["0.25", "0.5"]


def test_a_run_that_nobody_named_is_called_after_its_dataset_its_method_and_its_loss(
    cast: Cast, dataset: Dataset
) -> None:
    dataset.name = "Diary " + "x" * 194  # as long as names may be
    dataset.save()
    spec = Spec.from_json({"mechanism": "independent", "epsilon": "1/4"})
    run = services.submit(ReleaseRequest(dataset=dataset, spec=spec), steward=cast.steward)
    assert re.fullmatch(
        r"Diary x+: Independent columns, ε 0\.25, [0-9]{4}-[0-9]{2}-[0-9]{2}", run.name
    )
    assert len(run.name) == 200
