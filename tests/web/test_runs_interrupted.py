"""A run whose worker dies after the charge goes on from its last stored answer, or ends; nothing is drawn
twice for one charge.

First by children that kill themselves at every call, with the real file of calls; then through the whole
worker, in this process.
"""

from __future__ import annotations

import dataclasses
import fcntl
import os
import signal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.conf import settings

from synth_engine import mechanisms, pipeline
from synth_engine.domain import Domain
from synth_engine.hierarchy import Growth
from synth_engine.measurement import Answers
from synth_engine.plans.plan import Plan
from synth_engine.room import session as room
from synth_engine.spec import Spec
from synthweb.ledger import chain
from synthweb.ledger.models import LedgerEntry
from synthweb.runs import artefacts, call_log, failpoints, leases, reconcile, storing, worker
from synthweb.runs.models import SynthesisRun
from tests.cast import Cast
from tests.web import scene

State = SynthesisRun.State
PLACES = (
    failpoints.CALL_COUNTED,
    failpoints.CALL_ALLOWED,
    failpoints.CALL_BEGUN,
    failpoints.CALL_DRAWN,
    failpoints.CALL_STORED,
)
SECRET = b"s" * 32


class Killed(BaseException):
    """The end of a worker, where this process has to live on."""


# --- children that kill themselves --------------------------------------------------------------------------
@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Each person has up to five records, of which two are retained by chance."""
    lines = [f"p{i % 60},{'north' if i % 3 else 'south'},{i % 90}" for i in range(200)]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["person,region,age", *lines]) + "\n")
    return path


@pytest.fixture
def plan() -> Plan:
    document = {**scene.DOMAIN, "unit": {"max_records": 2, "column": "person"}}
    document["attributes"] = document["attributes"][:2]
    spec = Spec(mechanism="mst", epsilon=Fraction(2), delta=Fraction(1, 10**6))
    return mechanisms.plan(Domain.from_json(document), spec)


@dataclasses.dataclass
class DurableState:
    """What outlives a worker: files, and the column of the row that says how many calls were begun."""

    folder: Path

    @property
    def begun(self) -> int:
        return (self.folder / "begun").stat().st_size

    @property
    def draws(self) -> int:
        return (self.folder / "draws").stat().st_size

    def note(self, name: str) -> None:
        with (self.folder / name).open("ab") as file:
            file.write(b".")

    def run(self) -> SynthesisRun:
        return SynthesisRun(code="aaaa", state=State.CHARGED, calls_begun=self.begun)


@pytest.fixture
def durable(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> DurableState:
    settings.ARTEFACT_DIR = tmp_path / "artefacts"
    made = DurableState(tmp_path)
    for name in ("begun", "draws"):
        (tmp_path / name).touch()
    monkeypatch.setattr(leases, "write", lambda *_, **__: made.note("begun"))
    draw = room.RoomSession._draw

    def counted(self: Any, question: Any, call: Any) -> Any:
        answered = draw(self, question, call)
        made.note("draws")
        return answered

    monkeypatch.setattr(room.RoomSession, "_draw", counted)
    return made


def turn(
    durable: DurableState, table: Path, plan: Plan, *, token: int, stored: list[bytes]
) -> Answers:
    """One worker's turn at the calls of a run."""
    lease = leases.Lease(subject=SynthesisRun, pk=1, token=token)
    with artefacts.reserved(plan.answers_bytes(), suffix=artefacts.CALLS) as reserved:
        log = call_log.CallLog(lease, reserved, stored=stored, retry=lambda write: write())
        reserved.name(call_log.name_of(durable.run(), lease))
        return pipeline.measure(
            table, plan=plan, continuation=pipeline.Continuation(log=log, secret=SECRET)
        )


def killed_at(durable: DurableState, table: Path, plan: Plan, point: str) -> None:
    """A child takes its turn and kills itself at this point."""
    assert died_at(durable, table, plan, point)


def died_at(durable: DurableState, table: Path, plan: Plan, point: str) -> bool:
    """A child takes its turn and kills itself at this point, if it comes there; whether it did."""
    child = os.fork()
    if child == 0:

        def reach(there: str) -> None:
            if there == point:
                os.kill(os.getpid(), signal.SIGKILL)

        failpoints.reach = reach  # type: ignore[assignment]
        try:
            turn(durable, table, plan, token=1, stored=[])
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


@pytest.fixture
def number_of_calls(table: Path, plan: Plan) -> int:
    return len(pipeline.measure(table, plan=plan).answered)


@pytest.mark.parametrize("place", PLACES)
def test_a_child_that_kills_itself_at_each_call(
    place: str, durable: DurableState, table: Path, plan: Plan, number_of_calls: int
) -> None:
    assert number_of_calls > 3
    begun, draws = durable.begun, durable.draws
    for number in range(number_of_calls):
        killed_at(durable, table, plan, f"{place}{number}")
        (file,) = artefacts.paths_of_calls("aaaa")
        row = SynthesisRun(code="aaaa", state=State.CHARGED, calls_begun=durable.begun - begun)
        stored = call_log.stored_of(row)
        if place not in (failpoints.CALL_BEGUN, failpoints.CALL_DRAWN):
            of_child = number + (place == failpoints.CALL_STORED)
            assert stored is not None
            assert len(stored) == of_child
            answers = turn(durable, table, plan, token=2, stored=stored)
            before = [answer for content in stored for answer in _loaded(content, file.parent)]
            # What was stored is in the answers as it was, and everything else was drawn once.
            assert Answers(answers.answered[:of_child]).digest == Answers(tuple(before)).digest
            assert len(answers) == number_of_calls
            # The child notes a draw when it is stored and used: not the one at which it died.
            assert durable.draws - draws == number_of_calls - (of_child - number)
        else:
            assert stored is None
            assert durable.draws - draws == number
        begun, draws = durable.begun, durable.draws
        call_log.discard(row)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("method", ["adaptive-basic", "privtree"])
def test_a_child_that_kills_itself_at_each_depth_of_a_tree(
    method: str, place: str, durable: DurableState, table: Path
) -> None:
    """Of the number of records, each depth that is grown and the counts of the leaves. How deep a tree grows
    is chance: until a child comes to its end."""
    document = {**scene.DOMAIN, "attributes": scene.DOMAIN["attributes"][:2]}
    document["unit"] = {"max_records": 2, "column": "person"}
    spec = Spec(mechanism=method, epsilon=Fraction(20))
    of_tree = mechanisms.plan(Domain.from_json(document), spec)
    parts = 0
    for number in range(100):
        begun = durable.begun
        if not died_at(durable, table, of_tree, f"{place}{number}"):
            break
        row = SynthesisRun(code="aaaa", state=State.CHARGED, calls_begun=durable.begun - begun)
        stored = call_log.stored_of(row)
        if place in (failpoints.CALL_BEGUN, failpoints.CALL_DRAWN):
            assert stored is None
        else:
            assert stored is not None
            assert len(stored) == number + (place == failpoints.CALL_STORED)
            answers = turn(durable, table, of_tree, token=2, stored=stored)
            (grown,) = answers.growths
            before = [call_log._answered(content).answer for content in stored]
            depths = [one for one in before if isinstance(one, Growth)]
            parts = max(parts, len(depths))
            for depth, one in enumerate(depths):
                # What was drawn of this depth is in the tree as it was.
                assert np.array_equal(one.opened[0], grown.opened[depth])
                if one.counts:
                    assert np.array_equal(one.counts[0], grown.counts[depth])
        call_log.discard(row)
    assert number > 3
    if place not in (failpoints.CALL_BEGUN, failpoints.CALL_DRAWN):
        assert parts > 1


def _loaded(content: bytes, folder: Path) -> Any:
    (folder / "one").write_bytes(content)
    return Answers.load(folder / "one").answered


def test_an_answer_that_was_written_by_half_or_changed_is_none(
    durable: DurableState, table: Path, plan: Plan, number_of_calls: int
) -> None:
    killed_at(durable, table, plan, f"{failpoints.CALL_STORED}{number_of_calls - 1}")
    (file,) = artefacts.paths_of_calls("aaaa")
    whole = file.read_bytes()
    stored = call_log.stored_of(durable.run())
    assert stored is not None
    end = call_log._BEGINNING + sum(len(one) + call_log._HEAD.size for one in stored)
    for damaged in (
        whole[: end - 1],
        whole[: end - len(stored[-1])],
        whole[: end - 1] + bytes([whole[end - 1] ^ 1]) + whole[end:],
        b"",
    ):
        file.write_bytes(damaged)
        assert call_log.stored_of(durable.run()) is None
    file.write_bytes(whole[:end])
    assert call_log.stored_of(durable.run()) == stored
    file.unlink()
    assert call_log.stored_of(durable.run()) is None


def test_a_call_that_was_allowed_and_not_marked_goes_on_only_where_its_worker_is_surely_dead(
    durable: DurableState, table: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed_at(durable, table, plan, f"{failpoints.CALL_ALLOWED}1")
    (file,) = artefacts.paths_of_calls("aaaa")
    assert len(call_log.stored_of(durable.run()) or ()) == 1
    # Frozen, it holds its file: it may wake up and draw.
    with file.open("rb") as held:
        fcntl.flock(held.fileno(), fcntl.LOCK_EX)
        assert call_log.stored_of(durable.run()) is None
    # After a new start of the machine a mark may be missing that was there.
    monkeypatch.setattr(call_log, "_boot", lambda: b"f" * call_log._BEGINNING)
    assert call_log.stored_of(durable.run()) is None


# --- the whole worker ---------------------------------------------------------------------------------------
@pytest.fixture
def run(cast: Cast) -> SynthesisRun:
    return scene.submit(steward=cast.steward, dataset=scene.funded(cast))


def die_at(monkeypatch: pytest.MonkeyPatch, run: SynthesisRun, point: str) -> None:
    """The worker takes the run, dies at this point, and is found to be silent."""

    def reach(there: str) -> None:
        if there == point:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(failpoints, "reach", reach)
        with pytest.raises(Killed):
            worker.synthesize(code=run.code)
    SynthesisRun.objects.filter(pk=run.pk).update(lease_held=False)


def _code(run: SynthesisRun) -> str | None:
    return run.failure["code"] if run.failure else None


def entries(run: SynthesisRun) -> list[str]:
    of_run = LedgerEntry.objects.filter(run_code=run.code).order_by("sequence")
    return list(of_run.values_list("kind", flat=True))


def check_finished(run: SynthesisRun) -> None:
    run.refresh_from_db()
    assert run.state == State.FINISHED, run.failure
    assert run.release is not None
    assert run.release.receipt["answers_sha256"] == run.answers_digest
    check_books(run)


def check_books(run: SynthesisRun) -> None:
    assert entries(run) == ["HOLD", "CHARGE"]
    assert chain.verify(run.account).intact
    for path in artefacts.paths_of_calls(run.code):
        os.utime(path, (0, 0))
    reconcile.sweep_answers()
    assert artefacts.paths_of_calls(run.code) == []


@pytest.mark.django_db
def test_a_run_goes_on_after_each_death_that_loses_no_noise(
    run: SynthesisRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    for point in ("counted-0", "stored-0", "allowed-1", failpoints.BEFORE_STORE):
        die_at(monkeypatch, run, point)
        assert reconcile.fail_interrupted() == 0
        reconcile.sweep_answers()
    worker.synthesize(code=run.code)
    check_finished(run)
    assert run.calls_begun == len(run.release.receipt["calls"])  # type: ignore[union-attr]


@pytest.mark.django_db
@pytest.mark.parametrize("point", ["begun-0", "begun-1", "drawn-1"])
def test_a_run_ends_whose_noise_may_have_been_drawn_and_is_lost(
    run: SynthesisRun, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    die_at(monkeypatch, run, point)
    drawn = int(point[-1]) + 1
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert (run.state, _code(run)) == (State.FAILED, "interrupted-after-charge")
    assert run.calls_begun == drawn
    check_books(run)


@pytest.mark.django_db
def test_a_run_does_not_go_on_without_its_file_or_from_one_that_a_backup_kept(
    run: SynthesisRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    die_at(monkeypatch, run, "stored-1")
    call_log.discard(run)
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert (run.state, _code(run)) == (State.FAILED, "interrupted-after-charge")


@pytest.mark.django_db
def test_a_worker_that_was_overtaken_begins_no_call(run: SynthesisRun) -> None:
    def overtaken(there: str) -> None:
        if there == "stored-0":
            SynthesisRun.objects.filter(pk=run.pk).update(lease_token=99)
        assert there != "begun-1"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(failpoints, "reach", overtaken)
        worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert (run.state, run.calls_begun) == (State.CHARGED, 1)


@pytest.mark.django_db
def test_a_run_that_goes_on_waits_for_room(
    run: SynthesisRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is paid for: a full disk must not end it."""
    die_at(monkeypatch, run, "stored-0")
    monkeypatch.setattr(storing, "RECORD_PAUSES", (0.01,))
    allocate, refusals = os.posix_fallocate, [1, 2, 3]

    def full(*arguments: int) -> None:
        if refusals:
            refusals.pop()
            raise OSError(28, "No space left on device")
        allocate(*arguments)

    monkeypatch.setattr(os, "posix_fallocate", full)
    worker.synthesize(code=run.code)
    assert not refusals
    check_finished(run)


@pytest.mark.django_db
def test_files_of_calls_of_charged_runs_are_not_swept(
    run: SynthesisRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    die_at(monkeypatch, run, "stored-0")
    orphan = Path(settings.ARTEFACT_DIR) / "zzzz-1.calls"
    orphan.touch()
    os.utime(orphan, (0, 0))
    reconcile.sweep_answers()
    assert not orphan.exists()
    assert len(artefacts.paths_of_calls(run.code)) == 1
