"""A paid kind that the product does not have goes the one path of all kinds: from a request to a published
result, past each place at which a worker can die, and back to nothing where it fails before the charge (ADR
177)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from synth_engine.errors import TableError
from synth_engine.spec import Spec
from synthweb.datasets.models import Dataset
from synthweb.ledger.models import LedgerEntry
from synthweb.releases.models import Release
from synthweb.runs import errors, failpoints, paid_job, services, worker
from synthweb.runs.job_kinds.filled import Filled
from synthweb.runs.models import SynthesisRun
from tests import made_up_paid_kind
from tests.cast import Cast
from tests.made_up_paid_kind import MadeUp, MadeUpRequest
from tests.web import scene

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("places")]
State = SynthesisRun.State


@pytest.fixture(autouse=True)
def known() -> Iterator[None]:
    with made_up_paid_kind.known():
        yield


@pytest.fixture
def dataset(cast: Cast) -> Dataset:
    return scene.funded(cast)


def asked(dataset: Dataset, epsilon: str = "1") -> MadeUpRequest:
    spec = {"mechanism": "independent", "epsilon": epsilon, "delta": "1e-9"}
    return MadeUpRequest(dataset=dataset, spec=Spec.from_json(spec))


def submitted(cast: Cast, dataset: Dataset) -> SynthesisRun:
    return services.submit(asked(dataset), steward=cast.steward, request_key="one")


def entries(run: SynthesisRun) -> list[str]:
    rows = LedgerEntry.objects.filter(run_code=run.code).order_by("sequence")
    return list(rows.values_list("kind", flat=True))


def test_it_goes_from_a_request_to_its_result(cast: Cast, dataset: Dataset) -> None:
    run = submitted(cast, dataset)
    assert (run.state, run.spec["mechanism"]) == (State.HELD, "made-up")
    assert entries(run) == ["HOLD"]
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.state == State.FINISHED, run.failure
    assert entries(run) == ["HOLD", "CHARGE"]
    assert run.release == Release.objects.get(name="Made up")
    assert run.events.filter(text=MadeUp.ready).exists()
    worker.synthesize(code=run.code)
    assert Release.objects.count() == 1


def test_one_key_is_one_run_of_it(cast: Cast, dataset: Dataset) -> None:
    run = submitted(cast, dataset)
    assert submitted(cast, dataset).pk == run.pk
    with pytest.raises(errors.KeyReused):
        services.submit(asked(dataset, "2"), steward=cast.steward, request_key="one")
    assert entries(run) == ["HOLD"]


def test_what_it_refuses_before_the_charge_costs_nothing(
    cast: Cast, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise TableError("a column is missing", repair="upload it again")

    monkeypatch.setattr(MadeUp, "require", refuse)
    run = submitted(cast, dataset)
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert (run.state, run.failure["code"]) == (State.FAILED, "input")
    assert entries(run) == ["HOLD", "RELEASE"]


class Killed(BaseException):
    """As if the process had died: no `except` of the worker meets it."""


@pytest.mark.parametrize(
    ("place", "left", "paid"),
    [
        (failpoints.BEFORE_CHARGE, State.HELD, ["HOLD"]),
        (failpoints.AFTER_CHARGE, State.CHARGED, ["HOLD", "CHARGE"]),
        (failpoints.CALL_STORED + "0", State.CHARGED, ["HOLD", "CHARGE"]),
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
    SynthesisRun.objects.update(lease_held=False)  # the reconciler found it silent for a lease
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.state == State.FINISHED, run.failure
    assert entries(run) == ["HOLD", "CHARGE"]


PATH = (
    "do",
    "measured_now",
    "require_plan",
    "require_tables",
    "_charge",
    "_publish",
    "fail",
    "record_failure",
)


def test_no_kind_has_a_path_of_its_own() -> None:
    """A hook says what differs; the order of the steps is written once."""
    assert len(paid_job.KINDS) >= 5
    for kind in (*paid_job.KINDS.values(), Filled):
        common = (*paid_job.PaidRun.__mro__,)
        own = {name for one in kind.__mro__ if one not in common for name in vars(one)}
        assert not own & set(PATH), kind
