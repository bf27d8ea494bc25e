"""Random histories of runs against a model: people submit, cancel, retry, share and delete, workers die at
any place, and the ledger, the states and the releases are those that a few lines predict."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from django.db import transaction
from django.db.models import Count
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)

from synth_engine import verifier
from synth_engine.errors import SynthError
from synth_engine.spec import Spec
from synthweb.datasets import services as datasets
from synthweb.datasets.models import Dataset
from synthweb.ledger import chain, selectors
from synthweb.ledger import services as ledger
from synthweb.ledger.models import BudgetAccount, LedgerEntry
from synthweb.lib.errors import SynthwebError
from synthweb.releases import services as releases
from synthweb.releases.models import Release, ReleaseGrant
from synthweb.runs import failpoints, leases, reconcile, services, worker
from synthweb.runs.models import SynthesisRun
from synthweb.runs.paid_job import PaidRun
from synthweb.runs.planning import ReleaseRequest
from tests.web import ledger_setup as setup
from tests.web import scene

State = SynthesisRun.State
NANO = 10**9
BUDGET = 4
KEYS = st.sampled_from(["a", "b", "c", "d", "e", "f"])
"""Request keys: one that comes again is the same request."""
COSTS = st.sampled_from(["0.5", "1", "2"])
# What a death at each place leaves behind, where the run was not further already.
SAFE, LOST = State.CHARGED, "lost"
DEATHS = {
    failpoints.BEFORE_CHARGE: State.HELD,
    failpoints.AFTER_CHARGE: SAFE,
    "begun-0": LOST,
    "drawn-1": LOST,
    "stored-0": SAFE,
    failpoints.BEFORE_STORE: SAFE,
    failpoints.AFTER_MEASURE: State.MEASURED,
    failpoints.DURING_FIT: State.MEASURED,
}
MOST_DEATHS = PaidRun.max_attempts - 1
"""A run that kills its worker more often is given up, which `test_runs_interrupted.py` shows."""


class Killed(BaseException):
    """The end of a worker, where this process has to live on."""


@dataclass
class Predicted:
    """A run as it should be. state: of the application, or `LOST` while nobody has seen that noise is
    lost."""

    cost: str
    state: str = State.HELD
    charged: bool = False
    answers: bool = False
    deaths: int = 0
    shared: bool = False

    @property
    def is_open(self) -> bool:
        return self.state in (State.HELD, State.CHARGED, State.MEASURED, LOST)

    @property
    def entries(self) -> list[str]:
        if self.charged:
            return ["HOLD", "CHARGE"]
        return ["HOLD", "RELEASE"] if self.state == State.CANCELLED else ["HOLD"]


@dataclass
class Model:
    """All runs by the name that the machine gives them, and whether the dataset is deleted."""

    runs: dict[str, Predicted] = field(default_factory=dict)
    deleted: bool = False

    def spent(self, *, charged: bool) -> int:
        """In billionths of epsilon."""
        return sum(
            int(float(run.cost) * NANO)
            for run in self.runs.values()
            if run.charged == charged and run.entries[-1] != "RELEASE"
        )


@contextmanager
def reaching(do: Callable[[str], None]) -> Iterator[None]:
    """What every worker of this process does at each place."""
    before = failpoints.reach
    failpoints.reach = do  # type: ignore[assignment]
    try:
        yield
    finally:
        failpoints.reach = before


class RunsMachine(RuleBasedStateMachine):
    """One dataset with one budget; what comes out of every deed is predicted before it is done."""

    submitted = Bundle("submitted")

    @initialize()
    def open_account(self) -> None:
        # Rolled back at the end: every look of the reconciler would ask for the open runs of all earlier
        # histories.
        self.history = transaction.atomic()
        self.history.__enter__()
        self.who = setup.people()
        steward, office = self.who.steward, self.who.organisation
        self.made = scene.read(scene.upload(steward=steward, organisation=office))
        datasets.declare_domain(actor=steward, dataset=self.made, document=scene.DOMAIN)
        request = scene.ask(steward=steward, dataset=self.made, epsilon=BUDGET)
        entry = ledger.grant(custodian=self.who.custodian, request=request, reason="Agreed.")
        self.account: BudgetAccount = entry.account
        self.model = Model()
        self.codes: dict[str, str] = {}

    def run_of(self, name: str) -> SynthesisRun:
        return SynthesisRun.objects.get(code=self.codes[name])

    def outcome(self, deed: Callable[[], object]) -> str:
        try:
            deed()
        except (SynthwebError, SynthError) as refusal:
            return type(refusal).__name__
        return "done"

    @rule(target=submitted, name=KEYS, cost=COSTS)
    def submit(self, name: str, cost: str) -> MultipleResults[str]:
        known = self.model.runs.get(name)
        free = BUDGET * NANO - sum(self.model.spent(charged=each) for each in (True, False))
        if known is not None:
            # The same request again is the same run, whatever became of it.
            expected = "done" if known.cost == cost else "KeyReused"
        elif self.model.deleted:
            expected = "NotReady"
        else:
            expected = "done" if float(cost) * NANO <= free else "Overspend"

        def deed() -> None:
            spec = Spec.from_json({"mechanism": "independent", "epsilon": cost})
            run = services.submit(
                ReleaseRequest(dataset=self.fresh(), spec=spec),
                steward=self.who.steward,
                request_key=name,
            )
            assert self.codes.setdefault(name, run.code) == run.code

        assert self.outcome(deed) == expected
        if expected == "done" and known is None:
            self.model.runs[name] = Predicted(cost=cost)
            return multiple(name)
        return multiple()

    def fresh(self) -> Dataset:
        return Dataset.objects.get(pk=self.made.pk)

    @rule(name=submitted)
    def work(self, name: str) -> None:
        worker.synthesize(code=self.codes[name])
        self.finish(self.model.runs[name])

    @precondition(lambda self: self.abandoned())
    @rule(number=st.integers(0, 5))
    def take_over(self, number: int) -> None:
        """Another worker takes a run whose worker died after the charge."""
        abandoned = self.abandoned()
        self.work(abandoned[number % len(abandoned)])

    def abandoned(self) -> list[str]:
        return [name for name, run in self.model.runs.items() if run.is_open and run.charged]

    def finish(self, run: Predicted) -> None:
        """What a worker that nothing disturbs makes of a run."""
        if run.state == LOST:
            run.state = State.FAILED
        elif run.is_open:
            run.state, run.charged, run.answers = State.FINISHED, True, True

    @rule(name=submitted, place=st.sampled_from(sorted(DEATHS)))
    def die(self, name: str, place: str) -> None:
        run = self.model.runs[name]
        if run.deaths == MOST_DEATHS:
            return
        run.deaths += 1

        def reach(there: str) -> None:
            if there == place:
                raise Killed

        try:
            with reaching(reach):
                worker.synthesize(code=self.codes[name])
        except Killed:
            # The reconciler finds it silent for a lease.
            now = 0.0
            watch = leases.Watch(clock=lambda: now)
            reconcile.reconcile(watch)
            for _ in range(100):
                if not self.run_of(name).lease_held:
                    break
                now += 10.0
                reconcile.reconcile(watch)
            assert not self.run_of(name).lease_held
            # A run that was charged goes by this place again when another worker takes it, and stays charged.
            run.state = (
                SAFE if place == failpoints.BEFORE_CHARGE and run.charged else DEATHS[place]
            )
            run.charged = run.state != State.HELD
            run.answers = run.state == State.MEASURED
        else:
            # It was further already than this place.
            self.finish(run)

    @rule(name=submitted)
    def fail_in_the_fit(self, name: str) -> None:
        run = self.model.runs[name]

        def reach(there: str) -> None:
            if there == failpoints.DURING_FIT:
                raise RuntimeError("a fault of the engine")

        with reaching(reach):
            worker.synthesize(code=self.codes[name])
        if run.is_open and run.state != LOST:
            run.state, run.charged, run.answers = State.FAILED, True, True
        elif run.state == LOST:
            run.state = State.FAILED

    # What is cancelled is not cancelled again and again.
    @rule(name=consumes(submitted))
    def cancel(self, name: str) -> None:
        run = self.model.runs[name]
        expected = "done" if run.is_open else "NotOpen"
        of_run = self.run_of(name)
        assert (
            self.outcome(lambda: services.cancel(actor=self.who.steward, run=of_run))
            == expected
        )
        if expected == "done":
            run.state = State.CANCELLED

    @rule(name=submitted)
    def retry(self, name: str) -> None:
        run = self.model.runs[name]
        # Also where the dataset is deleted: the answers are paid for, and a fit of them reads no table.
        may = run.state == State.FAILED and run.answers
        of_run = self.run_of(name)
        outcome = self.outcome(lambda: services.resume(actor=self.who.steward, run=of_run))
        assert outcome == ("done" if may else "NotOpen")
        if may:
            run.state, run.deaths = State.MEASURED, 0

    @rule(name=submitted, give=st.booleans())
    def share(self, name: str, give: bool) -> None:
        run = self.model.runs[name]
        if run.state != State.FINISHED:
            return
        release = Release.objects.get(run_code=self.codes[name])
        if give and not run.shared:
            releases.share(actor=self.who.steward, release=release, analyst=self.who.analyst)
        elif not give and run.shared:
            grant = ReleaseGrant.objects.get(release=release, revoked_at=None)
            releases.revoke(actor=self.who.steward, grant=grant)
        run.shared = give

    @precondition(lambda self: self.codes and not self.model.deleted)
    @rule()
    def delete(self) -> None:
        is_busy = any(run.is_open for run in self.model.runs.values())
        outcome = self.outcome(
            lambda: datasets.delete(actor=self.who.steward, dataset=self.fresh())
        )
        assert (outcome == "done") == (not is_busy), outcome
        self.model.deleted = not is_busy

    @invariant()
    def the_books_agree_with_the_model(self) -> None:
        if not hasattr(self, "codes"):
            return
        self.account.refresh_from_db()
        balance = selectors.balance(self.account)
        assert balance.held.epsilon == self.model.spent(charged=False)
        assert balance.charged.epsilon == self.model.spent(charged=True)
        assert chain.verify(self.account).intact
        for name, run in self.model.runs.items():
            code = self.codes[name]
            of_run = LedgerEntry.objects.filter(run_code=code).order_by("sequence")
            assert list(of_run.values_list("kind", flat=True)) == run.entries, run
            state = State.CHARGED if run.state == LOST else run.state
            assert self.run_of(name).state == state, (run, self.run_of(name).failure)

    @invariant()
    def each_finished_run_has_one_release_and_no_other_has(self) -> None:
        if not hasattr(self, "codes"):
            return
        finished = {
            self.codes[name]
            for name, run in self.model.runs.items()
            if run.state == State.FINISHED
        }
        mine = Release.objects.filter(dataset=self.made)
        counted = mine.values_list("run_code").annotate(number=Count("pk"))
        assert dict(counted) == dict.fromkeys(finished, 1)
        open_grants = ReleaseGrant.objects.filter(release__in=mine, revoked_at=None)
        shared = {self.codes[name] for name, run in self.model.runs.items() if run.shared}
        assert set(open_grants.values_list("release__run_code", flat=True)) == shared

    def teardown(self) -> None:
        if hasattr(self, "codes"):
            for release in Release.objects.filter(dataset=self.made):
                verifier.verify(release.receipt)
        if hasattr(self, "history"):
            transaction.set_rollback(True)
            self.history.__exit__(None, None, None)


def histories(*, examples: int, steps: int, derandomize: bool) -> None:
    run_state_machine_as_test(
        RunsMachine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            derandomize=derandomize,
        ),
    )


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.usefixtures("places")
def test_random_histories_of_runs_agree_with_the_model() -> None:
    histories(examples=15, steps=25, derandomize=True)


@pytest.mark.nightly
@pytest.mark.django_db
@pytest.mark.usefixtures("places")
def test_many_histories_of_runs_agree_with_the_model() -> None:
    histories(examples=400, steps=40, derandomize=False)
