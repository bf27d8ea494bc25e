"""The life of a run: what is held, charged and kept, whoever dies when. The worker runs in this process here;
tests/e2e/test_faults.py kills real ones."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from django.conf import settings
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse
from kombu.simple import SimpleQueue

from synth_engine import pipeline
from synth_engine.errors import DomainError, RelationMismatch, SpecError, TableError
from synth_engine.spec import Spec
from synth_engine.trials import shadow_models
from synthweb.audit.models import AuditEntry
from synthweb.celery import app
from synthweb.datasets import selectors as datasets
from synthweb.datasets import services as datasets_services
from synthweb.datasets import vault
from synthweb.datasets.models import Dataset, DomainVersion, Preview
from synthweb.ledger import chain
from synthweb.ledger import services as ledger
from synthweb.ledger.errors import Overspend
from synthweb.ledger.models import BudgetAccount, LedgerEntry
from synthweb.releases.models import Release
from synthweb.runs import (
    errors,
    leases,
    queue,
    reconcile,
    services,
    stages,
    worker,
)
from synthweb.runs.extras import Extras
from synthweb.runs.job_kinds.table_job import TableWork
from synthweb.runs.models import (
    OutboxMessage,
    RangesJob,
    ReleaseRun,
    SynthesisRun,
    TableJob,
)
from synthweb.runs.paid_job import PaidRun
from synthweb.runs.planning import ReleaseRequest
from tests.cast import Cast
from tests.web import doorbell, scene
from tests.web.rest import Caller

State = SynthesisRun.State
pytestmark = pytest.mark.django_db
NANO = 10**9


@pytest.fixture
def dataset(cast: Cast) -> Dataset:
    """Described, with a budget of epsilon 4 and delta 1e-6."""
    return scene.funded(cast)


@pytest.fixture
def run(cast: Cast, dataset: Dataset) -> SynthesisRun:
    return scene.submit(steward=cast.steward, dataset=dataset)


def entries(run: SynthesisRun) -> list[str]:
    return list(
        LedgerEntry.objects.filter(run_code=run.code)
        .order_by("sequence")
        .values_list("kind", flat=True)
    )


def account_of(run: SynthesisRun) -> BudgetAccount:
    return BudgetAccount.objects.get(pk=run.account.pk)


class Hands:
    """The monotonic clock of a reconciler, moved by the test."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def watched(hands: Hands, look: Callable[[leases.Watch], object]) -> None:
    """A reconciler that looks as often as heartbeats come, until a lease has passed, and finds what is
    silent."""
    watch = leases.Watch(clock=hands)
    for _ in range(leases.BEATS_A_LEASE + 1):
        look(watch)
        hands.now += settings.RUN_LEASE_SECONDS / leases.BEATS_A_LEASE


def let_lease_run_out(run: SynthesisRun) -> None:
    """No heartbeat for as long as a lease lasts."""
    watched(Hands(), leases.expire)
    assert not SynthesisRun.objects.get(pk=run.pk).lease_held


def claimed(run: SynthesisRun) -> leases.Lease:
    lease = leases.claim(SynthesisRun.objects.get(pk=run.pk))
    assert lease is not None
    return lease


# --- submitting ---------------------------------------------------------------------------------------------
def test_submitting_holds_the_price_queues_and_audits(run: SynthesisRun) -> None:
    assert run.state == State.HELD
    assert (run.price.epsilon, run.price.delta, run.price.rho) == (NANO, NANO, 0)
    assert entries(run) == ["HOLD"]
    assert account_of(run).epsilon_held == NANO
    assert OutboxMessage.objects.filter(
        task="runs.synthesize", subject_code=run.code, queue="confidential"
    ).exists()
    assert AuditEntry.objects.filter(action="run.submitted", object_code=run.code).exists()


def test_a_broker_that_is_away_neither_fails_nor_delays_a_submission(run: SynthesisRun) -> None:
    message = OutboxMessage.objects.get(subject_code=run.code)
    assert message.sent_at is None  # the test settings name a socket on which nobody listens


def test_overspending_leaves_nothing_behind(cast: Cast, dataset: Dataset) -> None:
    before = AuditEntry.objects.count()
    with pytest.raises(Overspend):
        scene.submit(steward=cast.steward, dataset=dataset, epsilon="4.000000001")
    assert not SynthesisRun.objects.exists()
    assert not OutboxMessage.objects.filter(task="runs.synthesize").exists()
    assert AuditEntry.objects.count() == before


def test_the_same_request_twice_is_one_run_and_one_price(cast: Cast, dataset: Dataset) -> None:
    spec = Spec.from_json({"mechanism": "independent", "epsilon": "1"})
    first, second = (
        services.submit(
            ReleaseRequest(dataset=dataset, spec=spec),
            steward=cast.steward,
            request_key="click",
        )
        for _ in range(2)
    )
    assert first == second
    assert LedgerEntry.objects.filter(kind="HOLD").count() == 1


def test_the_same_key_with_another_request_is_refused(cast: Cast, dataset: Dataset) -> None:
    first, other = (
        Spec.from_json({"mechanism": "independent", "epsilon": epsilon})
        for epsilon in ("1", "2")
    )
    services.submit(
        ReleaseRequest(dataset=dataset, spec=first), steward=cast.steward, request_key="click"
    )
    with pytest.raises(errors.KeyReused):
        services.submit(
            ReleaseRequest(dataset=dataset, spec=other),
            steward=cast.steward,
            request_key="click",
        )
    assert LedgerEntry.objects.filter(kind="HOLD").count() == 1


def test_an_undescribed_dataset_says_what_is_missing(cast: Cast) -> None:
    made = scene.upload(steward=cast.steward, organisation=cast.organisation, name="Fresh")
    with pytest.raises(errors.NotReady, match="describe"):
        scene.submit(steward=cast.steward, dataset=made)
    datasets_services.declare_domain(actor=cast.steward, dataset=made, document=scene.DOMAIN)
    with pytest.raises(errors.NotReady, match="custodian"):
        scene.submit(steward=cast.steward, dataset=made)


def test_a_description_of_other_people_than_the_account_protects_cannot_spend(
    cast: Cast, dataset: Dataset
) -> None:
    confirmed = dataset.domain_versions.get()
    DomainVersion.objects.create(  # past the services, which refuse it too
        dataset=dataset,
        number=2,
        document=confirmed.document | {"relation": "replace-one"},
        digest="0" * 64,
        confirmed_by=cast.steward,
    )
    with pytest.raises(RelationMismatch, match="one record, replaced"):
        scene.submit(steward=cast.steward, dataset=dataset)


def test_an_unknown_mechanism_is_refused_before_anything_is_held(
    cast: Cast, dataset: Dataset
) -> None:
    with pytest.raises(SpecError):
        services.submit(
            ReleaseRequest(
                dataset=dataset, spec=Spec.from_json({"mechanism": "magic", "epsilon": 1})
            ),
            steward=cast.steward,
        )
    assert not LedgerEntry.objects.filter(kind="HOLD").exists()


# --- leases -------------------------------------------------------------------------------------------------
def test_only_one_of_two_claims_wins_and_the_next_needs_the_lease_to_run_out(
    run: SynthesisRun,
) -> None:
    same = SynthesisRun.objects.get(pk=run.pk)
    first = claimed(run)
    assert leases.claim(same) is None  # read before the first claim: a doubled message
    assert leases.claim(SynthesisRun.objects.get(pk=run.pk)) is None
    let_lease_run_out(run)
    assert claimed(run).token == first.token + 1


def test_a_worker_that_was_overtaken_can_write_nothing(run: SynthesisRun) -> None:
    zombie = claimed(run)
    let_lease_run_out(run)
    claimed(run)
    with pytest.raises(errors.LeaseLost):
        leases.write(zombie, states=(State.HELD,), state=State.CHARGED)
    assert not leases.extend(zombie)
    run.refresh_from_db()
    assert run.state == State.HELD


def test_a_run_that_is_over_cannot_be_claimed(run: SynthesisRun) -> None:
    worker.synthesize(code=run.code)
    assert leases.claim(SynthesisRun.objects.get(pk=run.pk)) is None


@pytest.mark.django_db(transaction=True)
def test_the_heartbeat_keeps_the_lease_and_notices_its_loss(
    run: SynthesisRun, settings: object
) -> None:
    settings.RUN_LEASE_SECONDS = 0.3  # type: ignore[attr-defined]
    lease = claimed(run)
    before = SynthesisRun.objects.get(pk=run.pk).heartbeats
    with leases.keep_alive(lease):
        end = time.monotonic() + 60
        while SynthesisRun.objects.get(pk=run.pk).heartbeats <= before:
            assert not lease.gone.wait(0.05)
            assert time.monotonic() < end, "no heartbeat"
        SynthesisRun.objects.filter(pk=run.pk).update(lease_token=99)
        assert lease.gone.wait(60)


# --- the worker ---------------------------------------------------------------------------------------------
def test_a_run_ends_with_one_charge_and_a_release_that_its_answers_made(
    run: SynthesisRun,
) -> None:
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.state == State.FINISHED, run.failure
    assert entries(run) == ["HOLD", "CHARGE"]
    assert run.release is not None
    assert run.release.receipt["answers_sha256"] == run.answers_digest
    assert (Path(settings.ARTEFACT_DIR) / run.answers_name).is_file()
    assert [event.stage for event in run.events.all()][:3] == ["wait", "open", "charge"]


def test_five_messages_for_one_run_are_one_charge(run: SynthesisRun) -> None:
    for _ in range(5):
        worker.synthesize(code=run.code)
    assert entries(run) == ["HOLD", "CHARGE"]
    assert Release.objects.count() == 1


def test_a_run_found_charged_fails_keeps_its_charge_and_draws_nothing(
    run: SynthesisRun,
) -> None:
    ledger.charge(run_code=run.code)
    SynthesisRun.objects.filter(pk=run.pk).update(state=State.CHARGED)
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert (run.state, run.failure["code"]) == (State.FAILED, "interrupted-after-charge")
    assert entries(run) == ["HOLD", "CHARGE"]
    assert run.answers_name == ""


def test_a_failure_before_the_charge_gives_the_hold_back(run: SynthesisRun) -> None:
    vault.path_of(run.dataset.vault_name).unlink()
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert (run.state, run.failure["code"]) == (State.FAILED, "vault")
    assert entries(run) == ["HOLD", "RELEASE"]
    assert account_of(run).epsilon_held == 0


def test_a_table_that_was_tampered_with_fails_the_run_before_its_charge(
    run: SynthesisRun,
) -> None:
    path = vault.path_of(run.dataset.vault_name)
    path.chmod(0o600)
    sealed = path.read_bytes()
    path.write_bytes(sealed[:-1] + bytes([sealed[-1] ^ 1]))
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert (run.state, run.failure["code"]) == (State.FAILED, "vault")
    assert entries(run) == ["HOLD", "RELEASE"]


@pytest.mark.parametrize(
    "change", [{"attribute": "townn"}, {"unit": "person"}], ids=["attribute", "unit column"]
)
def test_a_description_of_columns_that_the_table_lacks_costs_nothing(
    cast: Cast, dataset: Dataset, change: dict[str, str]
) -> None:
    """As the worker meets it when neither page nor REST could know the columns."""
    Preview.objects.filter(dataset=dataset).delete()
    document = copy.deepcopy(scene.DOMAIN)
    if "attribute" in change:
        document["attributes"][0]["name"] = change["attribute"]
    run = scene.submit(steward=cast.steward, dataset=dataset)
    if "unit" in change:
        document["unit"] = {"max_records": 1, "column": change["unit"]}
        # The account stands for other people: past the services, and the plan's digest
        DomainVersion.objects.create(
            dataset=dataset,
            number=2,
            document=document,
            digest="0" * 64,
            confirmed_by=cast.steward,
        )
    else:
        datasets_services.declare_domain(actor=cast.steward, dataset=dataset, document=document)
    version = dataset.domain_versions.get(number=2)
    run.domain_version = version
    digest = ReleaseRequest.plan_of(run).digest
    SynthesisRun.objects.filter(pk=run.pk).update(domain_version=version)
    with patch.object(SynthesisRun, "plan_digest", digest):
        worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.state == State.FAILED
    assert run.failure["column"] == next(iter(change.values()))
    assert entries(run) == ["HOLD", "RELEASE"]


def test_a_failed_run_tells_neither_a_line_nor_a_name_that_nobody_described(
    run: SynthesisRun, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Custodians and auditors read it too; where a table breaks a rule depends on its rows."""

    def refuse(*_: Any, **__: Any) -> None:
        raise TableError(
            "a cell is too long",
            repair="leave the column out",
            line=90_817_263_544,
            column="Jane Doe",
        )

    monkeypatch.setattr(pipeline, "measure", refuse)
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert (run.state, run.failure["rule"]) == (State.FAILED, "a cell is too long")
    shown = Caller(cast.auditor, "read").get(f"/runs/{run.code}/").text
    for secret in (
        "90817263544",
        "Jane Doe",
    ):  # more digits than digests and times have by chance
        assert secret not in shown + str(run.failure)


def test_a_table_that_is_not_read_or_was_refused_takes_no_run(
    cast: Cast, dataset: Dataset
) -> None:
    for status, words in (
        (Dataset.Status.UPLOADED, "not read yet"),
        (Dataset.Status.REFUSED, "refused"),
    ):
        Dataset.objects.filter(pk=dataset.pk).update(status=status)
        dataset.refresh_from_db()
        with pytest.raises(errors.NotReady, match=words):
            scene.submit(steward=cast.steward, dataset=dataset)
    assert not LedgerEntry.objects.filter(kind="HOLD").exists()


def test_a_description_older_than_the_reading_is_checked_when_a_run_is_asked_for(
    cast: Cast,
) -> None:
    made = scene.upload(steward=cast.steward, organisation=cast.organisation)
    document = copy.deepcopy(scene.DOMAIN)
    document["attributes"][0]["name"] = "townn"
    datasets_services.declare_domain(
        actor=cast.steward, dataset=made, document=document
    )  # nothing is known yet
    scene.read(made)
    ledger.grant(
        custodian=cast.custodian,
        request=scene.ask(steward=cast.steward, dataset=made),
        reason="Agreed.",
    )
    with pytest.raises(DomainError, match="townn"):
        scene.submit(steward=cast.steward, dataset=made)
    assert not LedgerEntry.objects.filter(kind="HOLD").exists()


def test_answers_that_went_missing_fail_the_fit_which_can_be_tried_again(
    run: SynthesisRun, cast: Cast, tmp_path: Path
) -> None:
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    digest = run.answers_digest
    unpublish(run)
    stored = Path(settings.ARTEFACT_DIR) / run.answers_name
    kept = stored.rename(tmp_path / "kept")
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert (run.state, run.failure["code"]) == (State.FAILED, "privacy")
    kept.rename(stored)
    services.resume(actor=cast.steward, run=run)
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert (run.state, run.answers_digest) == (State.FINISHED, digest)
    assert entries(run) == ["HOLD", "CHARGE"]


def test_a_run_found_measured_gives_the_release_it_would_have_given(run: SynthesisRun) -> None:
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    first = run.release
    assert first is not None
    unpublish(run)
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.release is not None
    assert (run.release.model, run.release.receipt) == (first.model, first.receipt)


def unpublish(run: SynthesisRun) -> None:
    """Put a run back to where its answers had just been stored."""
    SynthesisRun.objects.filter(pk=run.pk).update(state=State.MEASURED, lease_held=False)
    ReleaseRun.objects.filter(run=run).update(release=None)
    RangesJob.objects.filter(release__run_code=run.code).delete()
    Release.objects.filter(run_code=run.code).delete()


def test_a_plan_that_changed_since_submission_spends_nothing(run: SynthesisRun) -> None:
    with patch.object(SynthesisRun, "plan_digest", "0" * 64):
        worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.state == State.FAILED
    assert entries(run) == ["HOLD", "RELEASE"]


def test_a_file_that_is_another_than_the_run_was_submitted_for_spends_nothing(
    run: SynthesisRun, cast: Cast
) -> None:
    other = scene.upload(
        steward=cast.steward, organisation=cast.organisation, table=scene.TABLE + "north,1,no\n"
    )
    Dataset.objects.filter(pk=run.dataset.pk).update(
        vault_name="moved away"
    )  # names are unique
    Dataset.objects.filter(pk=other.pk).update(vault_name="nothing")
    Dataset.objects.filter(pk=run.dataset.pk).update(vault_name=other.vault_name)
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert (run.state, run.failure["code"]) == (State.FAILED, "privacy")
    assert "was replaced" in run.failure["text"]
    assert entries(run) == ["HOLD", "RELEASE"]


def test_a_run_that_keeps_killing_its_worker_is_given_up(run: SynthesisRun) -> None:
    SynthesisRun.objects.filter(pk=run.pk).update(attempts=PaidRun.max_attempts)
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert (run.state, run.failure["code"]) == (State.FAILED, "gave-up")
    assert entries(run) == ["HOLD", "RELEASE"]


# --- cancelling ---------------------------------------------------------------------------------------------
def test_cancelling_before_the_charge_gives_the_hold_back(
    run: SynthesisRun, cast: Cast
) -> None:
    lease = claimed(run)
    services.cancel(actor=cast.steward, run=run)
    assert entries(run) == ["HOLD", "RELEASE"]
    with pytest.raises(errors.LeaseLost):
        leases.write(lease, states=(State.HELD,), state=State.CHARGED)
    worker.synthesize(code=run.code)
    assert entries(run) == ["HOLD", "RELEASE"]


def test_cancelling_after_the_charge_forfeits_the_budget_and_the_result(
    run: SynthesisRun, cast: Cast
) -> None:
    lease = claimed(run)
    ledger.charge(run_code=run.code)
    SynthesisRun.objects.filter(pk=run.pk).update(state=State.CHARGED)
    services.cancel(actor=cast.steward, run=run)
    assert entries(run) == ["HOLD", "CHARGE"]
    with pytest.raises(errors.LeaseLost):
        leases.write(lease, states=(State.CHARGED,), state=State.MEASURED, answers_digest="x")


def test_what_is_over_cannot_be_cancelled(run: SynthesisRun, cast: Cast) -> None:
    services.cancel(actor=cast.steward, run=run)
    with pytest.raises(errors.NotOpen, match="cancelled"):
        services.cancel(actor=cast.steward, run=run)


# --- the reconciler -----------------------------------------------------------------------------------------
@pytest.fixture
def broker() -> Iterator[SimpleQueue]:
    """A broker inside this process; the confidential queue of it."""
    with doorbell.queue_at(doorbell.IN_MEMORY), app.connection_for_read() as connection:
        waiting = connection.SimpleQueue("confidential")
        waiting.clear()
        yield waiting
        waiting.clear()


def test_a_message_that_was_never_sent_is_sent_by_the_reconciler(
    run: SynthesisRun, broker: SimpleQueue
) -> None:
    assert reconcile.reconcile().sent >= 1
    codes = {broker.get(block=False).decode()[0][0] for _ in range(broker.qsize())}
    assert run.code in codes
    assert OutboxMessage.objects.get(subject_code=run.code).times_sent == 1


def test_a_message_just_sent_or_a_run_at_work_is_left_alone(
    run: SynthesisRun, broker: SimpleQueue
) -> None:
    reconcile.reconcile()
    assert reconcile.resend() == 0
    claimed(run)
    OutboxMessage.objects.update(sent_at=Now() - timedelta(hours=1))
    assert reconcile.resend() == 0


def test_a_lost_message_is_sent_again_after_a_lease(
    run: SynthesisRun, broker: SimpleQueue
) -> None:
    reconcile.reconcile()
    broker.clear()  # what a broker without persistence does when it dies
    sent: list[int] = []
    watched(Hands(), lambda watch: sent.append(reconcile.resend(watch)))
    assert sent[:-1] == [0] * leases.BEATS_A_LEASE
    assert sent[-1] >= 1
    assert broker.qsize() >= 1


def test_messages_of_runs_that_are_over_are_deleted(run: SynthesisRun, cast: Cast) -> None:
    services.cancel(actor=cast.steward, run=run)
    reconcile.reconcile()
    assert not OutboxMessage.objects.filter(subject_code=run.code).exists()


def test_a_charged_run_whose_worker_is_gone_fails_and_one_at_work_does_not(
    run: SynthesisRun,
) -> None:
    lease = claimed(run)
    ledger.charge(run_code=run.code)
    SynthesisRun.objects.filter(pk=run.pk).update(state=State.CHARGED)
    assert reconcile.fail_interrupted() == 0
    let_lease_run_out(run)
    assert reconcile.fail_interrupted() == 1
    run.refresh_from_db()
    assert run.state == State.FAILED
    with pytest.raises(errors.LeaseLost):
        leases.write(lease, states=(State.CHARGED,), state=State.MEASURED, answers_digest="x")
    assert chain.verify(account_of(run)).intact


def test_an_upload_nobody_asked_to_read_is_read_after_all(cast: Cast) -> None:
    made = datasets_services.store_stream(
        steward=cast.steward,
        organisation=cast.organisation,
        name="Left alone",
        file_kind="csv",
        chunks=[scene.TABLE.encode()],
    )
    assert reconcile.read_forgotten() == 0  # its web process may still be about to ask
    asked: list[int] = []
    watched(Hands(), lambda watch: asked.append(reconcile.read_forgotten(watch)))
    assert asked == [0] * leases.BEATS_A_LEASE + [1]
    assert scene.read(made).status == Dataset.Status.READY


# --- jobs ---------------------------------------------------------------------------------------------------
def test_an_upload_that_cannot_be_read_is_refused_with_place_and_repair_and_no_value(
    cast: Cast,
) -> None:
    made = scene.upload(
        steward=cast.steward,
        organisation=cast.organisation,
        table="a,b\n1,2\n3,canary,4\n",
        name="Broken",
    )
    scene.read(made)
    assert made.status == Dataset.Status.REFUSED
    assert made.refusal_line == 3
    assert "canary" not in str(made.refusal)


def test_asking_twice_for_a_report_is_one_job(run: SynthesisRun, cast: Cast) -> None:
    worker.synthesize(code=run.code)
    release = Release.objects.get()
    first, second = (
        services.request_report(release=release, actor=cast.steward) for _ in range(2)
    )
    assert first == second
    assert TableJob.objects.filter(kind="report").count() == 1


def test_a_report_is_readable_by_the_steward_and_marks_later_runs(
    run: SynthesisRun, cast: Cast
) -> None:
    worker.synthesize(code=run.code)
    release = Release.objects.get()
    job = services.request_report(release=release, actor=cast.steward)
    worker.table_job(code=job.code)
    job.refresh_from_db()
    assert job.state == TableJob.State.FINISHED, job.failure
    assert not scene.submit(
        steward=cast.steward, dataset=run.dataset, epsilon="0.5"
    ).looked_before
    assert datasets.preview_for(cast.steward, run.dataset, "report", release.code)
    later = scene.submit(steward=cast.steward, dataset=run.dataset, epsilon="0.5")
    assert later.looked_before
    worker.synthesize(code=later.code)
    later.refresh_from_db()
    assert later.release is not None
    assert later.release.receipt["chosen_after_looking"] is True
    assert release.receipt["chosen_after_looking"] is False


def test_a_report_has_models_and_risks_when_asked(
    run: SynthesisRun,
    cast: Cast,
    browser: Callable[..., Client],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shadow_models, "SHADOWS", 1)
    worker.synthesize(code=run.code)
    release = Release.objects.get()
    client, ask = browser(cast.steward), reverse("runs:report", args=[release.code])
    wrong = client.post(ask, {"models": "on", "target": "nowhere"})
    assert wrong.status_code == 200 and not TableJob.objects.filter(kind="report").exists()
    column = release.model["domain"]["attributes"][0]["name"]
    client.post(ask, {"models": "on", "target": column, "risks": "on", "shadows": "on"})
    job = TableJob.objects.get(kind="report")
    asked = Extras(models=True, target=column, risks=True, shadows=True)
    assert Extras.of(job.extras) == asked
    waiting = client.get(ask).content.decode()
    assert all(
        stage.title in waiting for stage in (*stages.MODELS, *stages.RISKS, stages.SHADOW)
    )
    worker.table_job(code=job.code)
    job.refresh_from_db()
    assert job.state == TableJob.State.FINISHED, job.failure
    report = datasets.preview_for(cast.steward, run.dataset, "report", release.code)
    # Figures, or in words why there are none: the comparison is there in either case.
    assert report and report["models"] and report["risks"] and report["attributes"]
    assert "Shadow models" in " ".join(report["risks"]["notes"])
    page = client.get(reverse("releases:compare-all", args=[release.code])).content.decode()
    assert 'id="risks"' in page and 'id="models"' in page


def test_a_job_that_fails_for_a_passing_reason_is_tried_three_times(
    cast: Cast, tmp_path: Path
) -> None:
    made = scene.upload(steward=cast.steward, organisation=cast.organisation, name="Unlucky")
    job = made.table_jobs.get()
    TableJob.objects.filter(pk=job.pk).update(attempts=TableWork.max_attempts)
    worker.table_job(code=job.code)
    job.refresh_from_db()
    assert job.state == TableJob.State.FAILED
    made.refresh_from_db()
    assert made.status == Dataset.Status.REFUSED


def test_every_name_that_is_sent_is_a_task_of_the_worker() -> None:
    app.loader.import_default_modules()
    assert {queue.SYNTHESIZE, queue.TABLE_JOB, queue.RECONCILE} <= set(app.tasks)
