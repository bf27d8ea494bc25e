"""A description is bought once: from the page to a version that later releases use, past each place at which
a worker can die, and back to nothing where it fails before the charge."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction

import pytest
from django.test import Client
from django.urls import reverse

from synth_engine import mechanisms, verifier
from synth_engine.domain import Domain
from synth_engine.errors import DomainError, SynthError, TableError
from synth_engine.spec import Spec
from synthweb.audit.models import AuditEntry
from synthweb.datasets import looks
from synthweb.datasets import services as datasets
from synthweb.datasets.domain_cache import domain_of, newest
from synthweb.datasets.models import Dataset, DomainBasis, DomainVersion, LearnedDescription
from synthweb.ledger.models import BudgetRequest, LedgerEntry
from synthweb.runs import failpoints, services, worker
from synthweb.runs.errors import NotReady
from synthweb.runs.job_kinds import description as job_kind
from synthweb.runs.models import SynthesisRun
from synthweb.runs.purchases import LearnRequest
from tests.cast import Cast
from tests.web import scene
from tests.web.html import html_of
from tests.web.rest import Caller

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("places")]
State = SynthesisRun.State
Open = Callable[..., Client]
TABLE = "region,age,works\n" + "".join(
    f"{'north' if index % 3 else 'south'},{index % 90},{'yes' if index % 2 else 'no'}\n"
    for index in range(3_000)
)
SCALE = {"name": "age", "kind": "scale", "of": "integer", "missing": [""]}


def undeclared() -> dict[str, object]:
    """The description of the scene with its column of ages left open."""
    others = [one for one in scene.DOMAIN["attributes"] if one["name"] != "age"]
    return {**scene.DOMAIN, "attributes": [SCALE, *others]}


@pytest.fixture
def dataset(cast: Cast) -> Dataset:
    """Funded, with one column to be learned."""
    funded = scene.funded(cast, table=TABLE)
    datasets.declare_domain(actor=cast.steward, dataset=funded, document=undeclared())
    return funded


def asked(dataset: Dataset, epsilon: int = 2) -> LearnRequest:
    return LearnRequest(dataset=dataset, columns=(), epsilon=Fraction(epsilon))


def submitted(cast: Cast, dataset: Dataset) -> SynthesisRun:
    return services.submit(asked(dataset), steward=cast.steward, request_key="one")


def learned(cast: Cast, dataset: Dataset) -> SynthesisRun:
    run = submitted(cast, dataset)
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.state == State.FINISHED, run.failure
    return run


def entries(run: SynthesisRun) -> list[str]:
    rows = LedgerEntry.objects.filter(run_code=run.code).order_by("sequence")
    return list(rows.values_list("kind", flat=True))


def in_force(dataset: Dataset) -> Domain:
    version = newest(dataset)
    assert version is not None
    return domain_of(version)


def test_what_is_learned_becomes_a_version_that_names_its_receipt(
    cast: Cast, dataset: Dataset
) -> None:
    run = learned(cast, dataset)
    assert entries(run) == ["HOLD", "CHARGE"]
    kept = LearnedDescription.objects.get()
    assert verifier.verify(kept.receipt).epsilon <= 2
    domain = in_force(dataset)
    assert domain.undeclared == ()
    (purchase,) = domain.bought
    assert purchase.receipt == kept.receipt["digest"]
    assert AuditEntry.objects.filter(action="description.learned").count() == 1
    worker.synthesize(code=run.code)
    assert LearnedDescription.objects.count() == 1


def test_a_release_under_it_pays_for_nothing_of_it_and_states_the_sum(
    cast: Cast, dataset: Dataset
) -> None:
    learned(cast, dataset)
    plan = mechanisms.plan(
        in_force(dataset), Spec(mechanism="independent", epsilon=Fraction(1))
    )
    assert (plan.kind, plan.cost("basic").epsilon) == ("static", 10**9)
    caveats = verifier.verify(json.loads(json.dumps(plan.receipt()))).caveats
    assert "Together with this run that is epsilon = 3." in caveats


def test_the_same_description_confirmed_again_keeps_what_was_bought(
    cast: Cast, dataset: Dataset
) -> None:
    learned(cast, dataset)
    bought = newest(dataset)
    again = datasets.declare_domain(actor=cast.steward, dataset=dataset, document=undeclared())
    assert bought is not None and again.pk == bought.pk
    whole = datasets.declare_domain(
        actor=cast.steward, dataset=dataset, document=again.document
    )
    assert whole.pk == bought.pk


def test_a_column_that_is_typed_afterwards_is_declared_after_looking(
    cast: Cast, dataset: Dataset
) -> None:
    learned(cast, dataset)
    version = datasets.declare_domain(
        actor=cast.steward, dataset=dataset, document=scene.DOMAIN
    )
    facts = set(domain_of(version).attribute("age").facts.values())
    assert facts == {"declared-after-looking"}
    assert domain_of(version).bought[0].columns == ("age",)


def test_no_document_can_state_that_facts_were_bought(cast: Cast, dataset: Dataset) -> None:
    before = newest(dataset)
    learned(cast, dataset)
    bought = newest(dataset)
    assert before is not None and bought is not None
    forged = json.loads(json.dumps(bought.document))
    forged["attributes"][0]["missing"] = None
    with pytest.raises(DomainError, match="no run of this dataset"):
        datasets.declare_domain(actor=cast.steward, dataset=dataset, document=forged)
    other = scene.read(
        scene.upload(steward=cast.steward, organisation=cast.organisation, table=scene.TABLE)
    )
    with pytest.raises(DomainError, match="no run of this dataset"):
        datasets.declare_domain(actor=cast.steward, dataset=other, document=bought.document)


def test_what_it_refuses_before_the_charge_costs_nothing(
    cast: Cast, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise TableError("a column is missing", repair="upload it again")

    monkeypatch.setattr(job_kind.DescriptionPurchase, "require", refuse)
    run = submitted(cast, dataset)
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert (run.state, entries(run)) == (State.FAILED, ["HOLD", "RELEASE"])
    assert not LearnedDescription.objects.exists()


class Killed(BaseException):
    """As if the process had died: no `except` of the worker meets it."""


@pytest.mark.parametrize(
    ("place", "left", "paid"),
    [
        (failpoints.BEFORE_CHARGE, State.HELD, ["HOLD"]),
        (failpoints.AFTER_CHARGE, State.CHARGED, ["HOLD", "CHARGE"]),
        (failpoints.CALL_STORED + "0", State.CHARGED, ["HOLD", "CHARGE"]),
        (failpoints.CALL_STORED + "1", State.CHARGED, ["HOLD", "CHARGE"]),
        (failpoints.AFTER_MEASURE, State.MEASURED, ["HOLD", "CHARGE"]),
        (failpoints.DURING_FIT, State.MEASURED, ["HOLD", "CHARGE"]),
    ],
)
def test_another_worker_goes_on_where_one_died(
    cast: Cast,
    dataset: Dataset,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
    left: str,
    paid: list[str],
) -> None:
    def reach(there: str) -> None:
        if there == place:
            raise Killed

    run = submitted(cast, dataset)
    with monkeypatch.context() as patched:
        patched.setattr(failpoints, "reach", reach)
        with pytest.raises(Killed):
            worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert (run.state, entries(run)) == (left, paid)
    assert DomainVersion.objects.filter(dataset=dataset).count() == 2
    SynthesisRun.objects.update(lease_held=False)  # the reconciler found it silent for a lease
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.state == State.FINISHED, run.failure
    assert entries(run) == ["HOLD", "CHARGE"]
    assert in_force(dataset).bought


@pytest.mark.parametrize("place", [failpoints.CALL_BEGUN, failpoints.CALL_DRAWN])
def test_a_draw_that_was_lost_ends_it_and_its_charge_stays(
    cast: Cast, dataset: Dataset, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    def reach(there: str) -> None:
        if there == f"{place}0":
            raise Killed

    run = submitted(cast, dataset)
    with monkeypatch.context() as patched:
        patched.setattr(failpoints, "reach", reach)
        with pytest.raises(Killed):
            worker.synthesize(code=run.code)
    SynthesisRun.objects.update(lease_held=False)
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert (run.state, entries(run)) == (State.FAILED, ["HOLD", "CHARGE"])
    assert in_force(dataset).bought == ()


def test_the_page_shows_the_price_first_and_spends_by_its_second_button(
    cast: Cast, dataset: Dataset, browser: Open
) -> None:
    page, client = reverse("runs:learn", args=[dataset.code]), browser(cast.steward)
    assert "age" in html_of(client.get(page))
    typed = {"columns": ["age"], "epsilon": "0.5", "delta": "0", "request_key": "k"}
    priced = client.post(page, typed)
    assert priced.status_code == 200 and not SynthesisRun.objects.exists()
    digest = priced.context["proposal"].plan.digest
    spent = client.post(page, {**typed, "confirmed": digest})
    run = SynthesisRun.objects.get()
    assert spent.status_code == 302 and entries(run) == ["HOLD"]
    worker.synthesize(code=run.code)
    shown = client.get(reverse("runs:run", args=[run.code]))
    assert shown.status_code == 200
    described = client.get(
        reverse("datasets:domain", args=[dataset.code, in_force_number(dataset)])
    )
    assert described.status_code == 200


def in_force_number(dataset: Dataset) -> int:
    version = newest(dataset)
    assert version is not None
    return version.number


def test_a_page_for_strangers_and_for_what_is_all_described(
    cast: Cast, dataset: Dataset, browser: Open
) -> None:
    page = reverse("runs:learn", args=[dataset.code])
    assert browser(cast.stranger).get(page).status_code == 404
    assert browser(cast.custodian).get(page).status_code == 403
    learned(cast, dataset)
    assert "Nothing to learn" in html_of(browser(cast.steward).get(page))


def test_a_release_says_who_paid_for_what_was_learned(
    cast: Cast, dataset: Dataset, browser: Open
) -> None:
    learned(cast, dataset)
    run = scene.submit(steward=cast.steward, dataset=dataset)
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.release is not None, run.failure
    kept, client = LearnedDescription.objects.get(), browser(cast.steward)
    digest, code = kept.receipt["digest"], run.release.code
    about = client.get(reverse("releases:about", args=[code]))
    assert f'data-paid-by="{digest}"' in about.text
    address = reverse("releases:purchase-receipt", args=[code, digest])
    handed_out = client.get(address).json()
    assert handed_out["digest"] == digest and handed_out["seal"] is not None
    assert verifier.verify(handed_out).epsilon <= 2
    other = reverse("releases:purchase-receipt", args=[code, "0" * 64])
    assert client.get(other).status_code == 404
    assert browser(cast.stranger).get(address).status_code == 404


def test_a_new_release_offers_to_learn_once_and_does_so_first_where_more_are_planned(
    cast: Cast, dataset: Dataset, browser: Open
) -> None:
    page, client = reverse("runs:new", args=[dataset.code]), browser(cast.steward)
    assert 'data-learns="here"' in client.get(page).text
    BudgetRequest.objects.update(releases=3)
    shown = client.get(page).text
    assert 'data-learns="once"' in shown
    assert reverse("runs:learn", args=[dataset.code]) in shown


def test_a_program_has_columns_learned_and_gets_the_receipt(
    cast: Cast, dataset: Dataset
) -> None:
    calls = Caller(cast.steward, "read", "spend")
    address = f"/datasets/{dataset.code}/learned/"
    assert calls.get(address).json() == []
    refused = calls.send(address, {"epsilon": "2", "columns": ["region"]})
    assert refused.status_code == 422 and not SynthesisRun.objects.exists()
    run = calls.send(address, {"epsilon": "2", "columns": ["age"]})
    assert run.status_code == 202
    worker.synthesize(code=run.json()["code"])
    (kept,) = calls.get(address).json()
    assert (kept["run"], kept["columns"]) == (run.json()["code"], ["age"])
    assert verifier.verify(kept["receipt"]).epsilon <= 2


def test_what_a_steward_did_before_stays_marked_after_a_purchase(
    cast: Cast, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    fewer = undeclared() | {"attributes": undeclared()["attributes"][:2]}  # type: ignore[index]
    with monkeypatch.context() as patched:
        patched.setattr(looks, "changed_after", lambda *_: ["region"])
        datasets.declare_domain(actor=cast.steward, dataset=dataset, document=fewer)
    before = DomainBasis.objects.get(version=newest(dataset))
    learned(cast, dataset)
    after = DomainBasis.objects.get(version=newest(dataset))
    assert after.version != before.version and after.ranges_after_looking == ["region"]
    assert (after.facts, after.reader) == (before.facts, before.reader)


def test_a_look_at_a_learned_column_is_no_change_of_its_range_once_it_is_bought(
    cast: Cast, dataset: Dataset
) -> None:
    dataset.refresh_from_db()
    dataset.draft = dataset.draft | {"looked": {"age": {}}}
    dataset.save(update_fields=["draft"])
    learned(cast, dataset)
    others = [one for one in scene.DOMAIN["attributes"] if one["name"] not in ("age", "works")]
    left = {**scene.DOMAIN, "attributes": [SCALE, *others]}
    version = datasets.declare_domain(actor=cast.steward, dataset=dataset, document=left)
    assert DomainBasis.objects.get(version=version).ranges_after_looking == []


def test_a_column_is_bought_once(cast: Cast, dataset: Dataset) -> None:
    first = submitted(cast, dataset)
    with pytest.raises(NotReady, match="about to learn the column age"):
        services.submit(asked(dataset), steward=cast.steward, request_key="two")
    worker.synthesize(code=first.code)
    wider = [SCALE | {"low": 0, "high": 200}, *undeclared()["attributes"][1:]]  # type: ignore[index]
    datasets.declare_domain(
        actor=cast.steward, dataset=dataset, document={**scene.DOMAIN, "attributes": wider}
    )
    assert [each.name for each in in_force(dataset).undeclared] == ["age"]
    with pytest.raises(SynthError):
        services.submit(asked(dataset), steward=cast.steward, request_key="three")
    assert SynthesisRun.objects.count() == 1


def test_no_document_can_state_that_facts_were_learned(cast: Cast, dataset: Dataset) -> None:
    learned(cast, dataset)
    bought = newest(dataset)
    assert bought is not None
    forged = json.loads(json.dumps(bought.document))
    del forged["bought"]
    for attribute in forged["attributes"]:
        attribute["provenance"] = "learned"
    with pytest.raises(DomainError, match="without the run that paid"):
        datasets.declare_domain(actor=cast.steward, dataset=dataset, document=forged)
