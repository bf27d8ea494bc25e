"""What the confidential worker does: the only module of the web project that opens tables and calls the pipeline.

A run is taken through charge, measurement, fit and publication; whatever state it is found in says what may still be
done. Found charged, it was interrupted between the charge and the stored answers: it goes on from its last stored answer
(`call_log`), or fails and keeps its charge if noise may have been drawn that nobody has. Failures are recorded in our own words; logs name the type of an
error and never its text, which could quote what the error met.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, TypedDict, TypeVar, cast

from django.conf import settings
from django.db import (
    DatabaseError,
    InterfaceError,
    OperationalError,
    close_old_connections,
    transaction,
)
from django.db.models.functions import Coalesce, Now

from synth_engine import formats, mechanisms, pipeline, watching
from synth_engine.domain import Domain
from synth_engine.domain.database import Database
from synth_engine.errors import (
    InputError,
    PrivacyError,
    SynthError,
    TableError,
    VerificationError,
)
from synth_engine.evaluation import paid_figures
from synth_engine.linking.sketch import SketchPlan
from synth_engine.measurement import Answers
from synth_engine.mechanisms import Plan
from synth_engine.plans.release_check import CheckPlan
from synth_engine.relational import files as database_files
from synth_engine.relational.answers import DatabaseAnswers
from synth_engine.relational.plan import MECHANISM, DatabasePlan
from synth_engine.spec import Spec
from synthweb.datasets import preview_store, sealed_names, selectors, vault
from synthweb.datasets import services as datasets
from synthweb.datasets.models import DatabaseVersion, Dataset, Preview, TableVersion
from synthweb.ledger import services as ledger
from synthweb.lib import tracing
from synthweb.lib.language import in_english
from synthweb.notifications.models import Event
from synthweb.releases import databases as released_databases
from synthweb.releases import services as releases
from synthweb.releases.models import Release
from synthweb.runs import (
    artefacts,
    call_log,
    checks,
    databases,
    errors,
    failpoints,
    filling,
    filling_services,
    lease,
    link_services,
    linking,
    planning,
    services,
    stages,
)
from synthweb.runs.extras import Extras
from synthweb.runs.models import (
    FilledCounts,
    Link,
    LinkSide,
    RunEvent,
    SynthesisRun,
    TableErrand,
)
from synthweb.runs.progress import Progress
from synthweb.runs.public_tables import StatedTable
from synthweb.runs.reconcile import INTERRUPTED, is_known

logger = logging.getLogger(__name__)

State = SynthesisRun.State
Result = TypeVar("Result")
# Claims of one run: a run that keeps killing its worker must not do so for ever.
MAX_ATTEMPTS = 5
MAX_ERRAND_ATTEMPTS = 3
# Seconds between tries to store the noisy answers; the last
# one repeats as long as the lease is held.
RECORD_PAUSES = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0)
WAITING_FOR_ROOM = "The noisy answers cannot be stored yet: disk or database do not take them. Tried again until they do."
REPORT_ROWS = 1_000_000  # of the synthetic table in a comparison; more rows change nothing that can be seen
NO_ROOM = (
    "The disk has no room for the noisy answers, so nothing was charged. Have the operator free space where "
    "the folder of artefacts lies, then submit the run again."
)
GAVE_UP = {
    "code": "gave-up",
    "text": "The worker was lost again and again on this, probably for lack of memory.",
}


@in_english
def synthesize(*, code: str) -> None:
    """Take the run of this code as far as it goes. Harmless when repeated, late or doubled."""
    pipeline.warm_up()  # before the claim: it costs no lease, and a failure no budget
    run = SynthesisRun.objects.filter(code=code).first()
    grip = lease.claim(run) if run else None
    if run is None or grip is None:
        return
    # The claim changed the row, and its state may have moved between reading and claiming.
    run.refresh_from_db()
    tracing.say({tracing.MECHANISM: run.spec.get("mechanism")})
    with lease.keep_alive(grip):
        try:
            _advance(run, grip)
        except errors.LeaseLost:
            logger.info("run %s: taken over or cancelled; this worker stops", code)
        except DatabaseError as error:  # the database is away: the lease runs out, and what is possible is done then
            logger.warning("run %s: %s; left for the reconciler", code, type(error).__name__)
        except Exception as error:  # noqa: BLE001 - whatever it was, the run gets an end and the log gets no data
            # Once the lease is lost, the error is only how the pipeline passes that on.
            if not grip.gone.is_set():
                logger.error("run %s: failed with %s", code, type(error).__name__)
            fail(run, grip, failure=_failure(error, described=run.domain_version.document))


def _advance(run: SynthesisRun, grip: lease.Lease) -> None:
    progress = Progress(grip)
    # Its worker died before all answers were stored. Noise drawn again would be a second access
    # to the data for one charge.
    stored = call_log.stored_of(run) if run.state == State.CHARGED else []
    if stored is None:
        return fail(run, grip, failure=INTERRUPTED)
    if run.attempts > MAX_ATTEMPTS:
        return fail(run, grip, failure=GAVE_UP)
    plan = _replan(run)
    # A run that is MEASURED skips this block: what is left of it is post-processing.
    if run.state in (State.HELD, State.CHARGED):
        _check_plan(run, plan)
        progress(stages.OPEN.name, 0.0)
        # What a killed worker had reserved is room for this one.
        artefacts.sweep(is_known=is_known)
        # Before the charge, because a full disk afterwards
        # would lose answers that are paid for.
        with _reserved(run, grip, plan.answers_bytes()) as (room, room_of_calls):
            log = call_log.CallLog(
                grip, room_of_calls, stored=stored, insist=partial(_insist, grip)
            )
            room_of_calls.name(call_log.name_of(run, grip))
            continuation = pipeline.Continuation(
                log=log, secret=vault.derived_secret(f"truncation/{run.code}")
            )
            answers = _measured(run, grip, plan, progress, continuation)
            failpoints.reach(failpoints.BEFORE_STORE)
            _store(run, grip, answers, progress, room)
        call_log.discard(run)
        failpoints.reach(failpoints.AFTER_MEASURE)
    if isinstance(plan, DatabasePlan):
        _publish_database(run, grip, plan, progress)
    elif isinstance(plan, CheckPlan):
        _publish_check(run, grip, plan, progress)
    elif isinstance(plan, SketchPlan):
        _publish_sketch(run, grip, plan, progress)
    else:
        _publish(run, grip, plan, progress)
    return None


def _measured(
    run: SynthesisRun,
    grip: lease.Lease,
    plan: Plan | DatabasePlan,
    progress: Progress,
    continuation: pipeline.Continuation,
) -> Answers | DatabaseAnswers:
    if isinstance(plan, DatabasePlan):
        return _charge_and_measure_database(run, grip, plan, progress, continuation)
    if isinstance(plan, SketchPlan):
        return _charge_and_sketch(run, grip, plan, progress, continuation)
    return _charge_and_measure(run, grip, plan, progress, continuation)


@contextlib.contextmanager
def _reserved(
    run: SynthesisRun, grip: lease.Lease, size: int
) -> Iterator[tuple[artefacts.Reservation, artefacts.Reservation]]:
    """Room for the file of all answers, and for that of calls. What is charged already waits for it while the lease lives."""
    with contextlib.ExitStack() as stack:

        def reserve(suffix: str) -> artefacts.Reservation:
            return stack.enter_context(artefacts.reserved(size, suffix=suffix))

        if run.state == State.HELD:
            yield reserve(artefacts.ANSWERS), reserve(artefacts.CALLS)
        else:
            yield (
                _insist(grip, lambda: reserve(artefacts.ANSWERS)),
                _insist(grip, lambda: reserve(artefacts.CALLS)),
            )


def _replan(run: SynthesisRun) -> Plan | DatabasePlan:
    if linking.is_sketch(run):
        return linking.replan(run)
    if databases.is_of_database(run):
        return databases.replan(run)
    if run.checks is not None:
        return checks.replan(run)
    # With its public table: one that was deleted is refused here, before anything is spent.
    return planning.replan(
        version=run.domain_version,
        spec=Spec.from_json(run.spec),
        account=run.account,
        table=StatedTable.from_json(run.prior),
    )


def _check_plan(run: SynthesisRun, plan: Plan | DatabasePlan) -> None:
    """The hold pays for the plan that was shown; a newer engine may plan otherwise, and then nothing is spent."""
    if plan.digest != run.plan_digest:
        raise PrivacyError(
            "the engine was updated and plans this run differently now; submit it again"
        )


def _check_table(run: SynthesisRun | FilledCounts) -> None:
    """A file is not replaced while a run waits for it; whatever else may happen to it, no run reads another one. Only what measures
    figures of a release reads the file of that release, which may be an earlier one."""
    is_of_release = isinstance(run, SynthesisRun) and run.checks is not None
    for taken in selectors.tables_of_run(run.code):
        replaced = taken.table.vault_name != taken.table.dataset.vault_name
        if taken.table.erased_at is not None or (replaced and not is_of_release):
            raise PrivacyError(
                "the table was replaced after this run was submitted; submit it again"
            )


def _charge_and_measure_database(
    run: SynthesisRun,
    grip: lease.Lease,
    plan: DatabasePlan,
    progress: Progress,
    continuation: pipeline.Continuation,
) -> DatabaseAnswers:
    """As `_charge_and_measure`, of all tables of a database."""
    _check_table(run)
    with _opened_tables(databases.version_of(run), run.code) as files:
        pipeline.require_database(files, database=plan.database)
        failpoints.reach(failpoints.BEFORE_CHARGE)
        _charge(run, grip, progress)
        failpoints.reach(failpoints.AFTER_CHARGE)
        return pipeline.measure_database(
            files, plan=plan, progress=progress, continuation=continuation
        )


@contextlib.contextmanager
def _opened_tables(
    version: DatabaseVersion, run_code: str = ""
) -> Iterator[dict[str, pipeline.TableFile]]:
    """The tables of a confirmed database, each opened as `vault.open_table` does, by their names. run_code: the files that this run
    was submitted for; without one those in force."""
    with contextlib.ExitStack() as opened:
        files = {}
        for name, code in version.datasets.items():
            file = selectors.file_of_run(Dataset.objects.get(code=code), run_code)
            path = opened.enter_context(vault.open_table(file.vault_name))
            files[name] = pipeline.TableFile(path=path, **_form(file))
        yield files


def _charge_and_measure(
    run: SynthesisRun,
    grip: lease.Lease,
    plan: Plan,
    progress: Progress,
    continuation: pipeline.Continuation,
) -> Answers:
    """What can be known without reading a row is found out before the charge: that the plan provably meets its target,
    that the vault still has the table and that it is, byte for byte, the one that was stored, and that its header names
    the columns described. A run that fails of these costs nothing. Rows are read behind the charge alone."""
    pipeline.confirm(plan, progress=lambda share: progress(stages.OPEN.name, share))
    _check_table(run)
    # A cluster that is not there, or has another version of the code, is found out before the charge, too.
    counting = pipeline.Counting(**settings.COUNTING)
    pipeline.require_counting(counting)
    # ADR 9: opening authenticates the whole file, and the check of columns reads its header
    # alone, so no outcome before the charge depends on a row.
    file = selectors.file_of_run(run.dataset, run.code)
    with vault.open_table(file.vault_name) as path:
        pipeline.require_columns(path, domain=plan.domain, **_form(file))
        failpoints.reach(failpoints.BEFORE_CHARGE)
        _charge(run, grip, progress)
        failpoints.reach(failpoints.AFTER_CHARGE)
        return pipeline.measure(
            path,
            **_form(file),
            plan=plan,
            progress=progress,
            cancelled=progress.gone,
            counting=counting,
            continuation=continuation,
        )


def _charge_and_sketch(
    run: SynthesisRun,
    grip: lease.Lease,
    plan: SketchPlan,
    progress: Progress,
    continuation: pipeline.Continuation,
) -> Answers:
    """As `_charge_and_measure`, of one side of a link: before the charge both tables are seen to be there, and both ledgers are charged
    before a row of either is read."""
    pipeline.confirm(plan)
    side = _side_of(run)
    if side.link.state == Link.State.STARTED:
        for other in linking.runs_of(side.link).exclude(pk=run.pk):
            _check_side(other)
    _check_table(run)
    with vault.open_table(run.dataset.vault_name) as path:
        pipeline.require_side(path, plan=plan, **_form(run.dataset))
        failpoints.reach(failpoints.BEFORE_CHARGE)
        _charge(run, grip, progress)
        failpoints.reach(failpoints.AFTER_CHARGE)
        return pipeline.sketch(
            path,
            plan=plan,
            **_form(run.dataset),
            progress=progress,
            continuation=continuation,
        ).answers


def _check_side(run: SynthesisRun) -> None:
    """What can be known of the other side of a link before it is charged: its plan, its file and the header of that."""
    plan = linking.replan(run)
    _check_plan(run, plan)
    _check_table(run)
    with vault.open_table(run.dataset.vault_name) as path:
        pipeline.require_side(path, plan=plan, **_form(run.dataset))


def _side_of(run: SynthesisRun) -> LinkSide:
    if run.link_side is None:
        raise TypeError("a sketch without a side of a link")
    return run.link_side


def _charge(run: SynthesisRun, grip: lease.Lease, progress: Progress) -> None:
    """The point of no return, a transaction of its own: the hold becomes a charge before any row is read. A run that goes on
    was charged."""
    if run.state == State.CHARGED:
        return
    progress(stages.CHARGE.name, 0.0)
    with transaction.atomic():
        link = None if run.link_side is None else link_services.locked(run.link_side.link)
        lease.write(
            grip,
            states=(State.HELD,),
            state=State.CHARGED,
            charged_at=Now(),
            calls_begun=0,
            progress=1.0,
        )
        # In the transaction of the fenced write: a worker that lost its lease charges nothing.
        if link is None:
            ledger.charge(run_code=run.code)
        else:
            link_services.charge(link)
    run.state = State.CHARGED


class Form(TypedDict):
    """How a table is to be read, in the pipeline's words."""

    kind: formats.Kind
    dialect: formats.Dialect | None


def _form(file: Dataset | TableVersion) -> Form:
    """What the upload was found to be, and said to be since."""
    dialect = sealed_names.form_of(file)
    return {"kind": cast(formats.Kind, file.file_kind), "dialect": dialect}


def _store(
    run: SynthesisRun,
    grip: lease.Lease,
    answers: Answers | DatabaseAnswers,
    progress: Progress,
    room: artefacts.Reservation,
) -> None:
    """Answers to their file, then their digest and the state to the row under the fence. The name carries the token,
    so that a worker that was overtaken can never overwrite what its successor stored."""
    progress(stages.STORE.name, 0.0)
    name, content = f"{run.code}-{grip.token}.npz", answers.to_bytes()
    try:
        _insist(grip, lambda: room.store(content, name=name))
        _insist(grip, lambda: _record(grip, answers_name=name, answers_digest=answers.digest))
    except errors.LeaseLost:
        # The UPDATE may have been committed although its answer was lost:
        # only a file that no row names is removed.
        if room.stored_as and not is_known(name):
            artefacts.discard(name=name)
        raise
    run.state, run.answers_name, run.answers_digest = State.MEASURED, name, answers.digest


def _insist(grip: lease.Lease, write: Callable[[], Result]) -> Result:
    """Do one of the writes that must not be lost to a full disk or a database that is away: what they keep is paid
    for and drawn once. Tried again for as long as the lease is ours; LeaseLost after that."""
    for pause in itertools.chain(RECORD_PAUSES, itertools.repeat(RECORD_PAUSES[-1])):
        try:
            return write()
        except (OSError, OperationalError, InterfaceError) as error:
            logger.warning("answers not stored yet: %s", type(error).__name__)
            # A broken connection would fail every later try as well.
            if not isinstance(error, OSError):
                close_old_connections()
            _say_waiting(grip)
        if grip.gone.wait(pause):
            break
    raise errors.LeaseLost("another worker took this over")


def _say_waiting(grip: lease.Lease) -> None:
    """One line in the log of the run, for whoever wonders why it stands still."""
    try:
        if not RunEvent.objects.filter(run_id=grip.pk, text=WAITING_FOR_ROOM).exists():
            RunEvent.objects.create(
                run_id=grip.pk, stage=stages.STORE.name, text=WAITING_FOR_ROOM
            )
    except DatabaseError as error:
        # The outage may be that of the database itself. It must not
        # end the tries that this line reports.
        logger.warning("nothing written to the log of the run: %s", type(error).__name__)


def _record(grip: lease.Lease, *, answers_name: str, answers_digest: str) -> None:
    """The file and the digest of answers, and that they are there. A try whose answer was lost may have been committed,
    so it first looks for its own result."""
    stored = {"answers_name": answers_name, "answers_digest": answers_digest}
    if not grip.rows().filter(state=State.MEASURED, **stored).exists():
        lease.write(grip, states=(State.CHARGED,), state=State.MEASURED, **stored)


def _publish(run: SynthesisRun, grip: lease.Lease, plan: Plan, progress: Progress) -> None:
    """Everything after the measurement: a function of the stored answers, repeatable, the same each time."""
    # Read back even if they were measured a moment ago: a first try and a resumed one then fit
    # the same stored answers, checked against their digest.
    answers = artefacts.get(name=run.answers_name, digest=run.answers_digest)
    progress(stages.FIT.name, 0.0)
    failpoints.reach(failpoints.DURING_FIT)
    with watching.watched(lambda share: progress(stages.FIT.name, share)):
        model = plan.fit(answers)
    release = _finish(
        run,
        grip,
        progress,
        publish=partial(
            releases.publish, origin=_origin(run), plan=plan, answers=answers, model=model
        ),
    )
    _ask_for_first_look(release)


def _publish_database(
    run: SynthesisRun, grip: lease.Lease, plan: DatabasePlan, progress: Progress
) -> None:
    """The same of a database; its first rows are generated here, because they need no room of their own."""
    answers = artefacts.get_database(name=run.answers_name, digest=run.answers_digest)
    progress(stages.FIT.name, 0.0)
    with watching.watched(lambda share: progress(stages.FIT.name, share)):
        model = plan.fit(answers)
    shown = released_databases.first_rows(model)
    _finish(
        run,
        grip,
        progress,
        publish=partial(
            released_databases.publish,
            origin=_origin(run),
            plan=plan,
            answers=answers,
            model=model,
            shown=shown,
        ),
    )


def _finish(
    run: SynthesisRun, grip: lease.Lease, progress: Progress, *, publish: Callable[[], Release]
) -> Release:
    """Publish the release, and end its run, in one fenced transaction."""
    progress(stages.PUBLISH.name, 0.0)
    with transaction.atomic():
        # The fence first: it locks the row, so that a cancellation comes before or after this.
        lease.write(grip, states=(State.MEASURED,), progress=1.0)
        release = publish()
        lease.write(
            grip,
            states=(State.MEASURED,),
            state=State.FINISHED,
            release=release,
            finished_at=Now(),
            lease_held=False,
        )
        RunEvent.objects.create(
            run=run, stage=stages.PUBLISH.name, text="The release is ready."
        )
        services.notify_end(run, Event.RUN_FINISHED)
    return release


def _publish_check(
    run: SynthesisRun, grip: lease.Lease, plan: CheckPlan, progress: Progress
) -> None:
    """The figures of a check from its stored answers: repeatable, the same each time."""
    if run.checks is None:
        raise TypeError("a check without a release")
    answers = artefacts.get(name=run.answers_name, digest=run.answers_digest)
    progress(stages.FIT.name, 0.0)
    results = paid_figures.results(plan, answers)
    progress(stages.PUBLISH.name, 0.0)
    with transaction.atomic():
        lease.write(grip, states=(State.MEASURED,), progress=1.0)
        check = releases.publish_check(
            origin=_origin(run),
            release=run.checks,
            plan=plan,
            answers=answers,
            results=results,
        )
        lease.write(
            grip,
            states=(State.MEASURED,),
            state=State.FINISHED,
            paid_check=check,
            finished_at=Now(),
            lease_held=False,
        )
        RunEvent.objects.create(
            run=run, stage=stages.PUBLISH.name, text="The figures are ready."
        )
        services.notify_end(run, Event.RUN_FINISHED)


def _publish_sketch(
    run: SynthesisRun, grip: lease.Lease, plan: SketchPlan, progress: Progress
) -> None:
    """The sketch of one side from its stored answers, and the estimate of the link with the second one: repeatable, the same each time."""
    answers = artefacts.get(name=run.answers_name, digest=run.answers_digest)
    side = _side_of(run)
    progress(stages.FIT.name, 0.0)
    sketch = plan.read(answers)
    receipt = releases.receipt_of(_origin(run), plan, answers)
    progress(stages.PUBLISH.name, 0.0)
    with transaction.atomic():
        link = link_services.locked(side.link)
        lease.write(
            grip,
            states=(State.MEASURED,),
            state=State.FINISHED,
            progress=1.0,
            finished_at=Now(),
            lease_held=False,
        )
        RunEvent.objects.create(run=run, stage=stages.PUBLISH.name, text="The sketch is ready.")
        services.notify_end(run, Event.RUN_FINISHED)
        # Last, because it writes to the audit log, behind whose head all writers wait.
        link_services.keep_sketch(link, side, sketch, receipt)


def _origin(run: SynthesisRun) -> releases.Origin:
    return releases.Origin(
        run_code=run.code,
        dataset=run.dataset,
        account=run.account,
        domain_version=run.domain_version,
        created_by=run.created_by,
        name=run.name,
        chosen_after_looking=run.looked_before,
        criteria=run.criteria,
        is_validation=run.allowance_id is not None,
    )


def _ask_for_first_look(release: Release) -> None:
    """Have another worker draw the first rows and compute the expected errors. The release is published by now: if this fails,
    whoever opens its page asks again."""
    try:
        services.request_ranges(release=release)
    except DatabaseError as error:
        logger.warning("first look at %s not asked for: %s", release.code, type(error).__name__)


def fail(run: SynthesisRun, grip: lease.Lease, *, failure: Mapping[str, object]) -> None:
    """End a run under the fence. The hold is released if the state in the database says that nothing was charged."""
    tracing.fail(str(failure["code"]))
    try:
        with transaction.atomic():
            link = None if run.link_side is None else link_services.locked(run.link_side.link)
            # The run in memory may be behind: a charge can be
            # committed although its answer never came.
            state = grip.rows().select_for_update().values_list("state", flat=True).first()
            lease.write(
                grip,
                states=run.OPEN,
                state=State.FAILED,
                failure=failure,
                finished_at=Now(),
                lease_held=False,
            )
            # The other side of a link may have been the one whose worker charged both.
            spent = state != State.HELD or (link is not None and link.charged_at is not None)
            words = "The charge stays." if spent else "Nothing was spent; the hold is released."
            RunEvent.objects.create(run=run, stage=run.stage, text=f"Failed. {words}")
            services.notify_end(run, Event.RUN_FAILED)
            if spent:
                return
            if link is None:
                ledger.release(run_code=run.code, reason="failed before any noise was drawn")
            else:
                link_services.end_unspent(link)
    except errors.LeaseLost:
        logger.info("run %s: taken over or cancelled; its failure is not recorded", run.code)


def _failure(
    error: Exception, *, described: Mapping[str, object] | None = None
) -> dict[str, object]:
    """Code and words of ours. The engine's own errors promise to hold no value; the text of any other is dropped. A run
    is seen by more than its steward, so a line, which depends on rows, and a name that nobody described stay here."""
    match error:
        case InputError():
            column = error.column if error.column in _names(described or {}) else None
            input_error = InputError(error.rule, repair=error.repair, column=column)
            return {"code": "input", "text": input_error.text, **input_error.as_dict()}
        case PrivacyError() | VerificationError():
            return {"code": "privacy", "text": str(error)}
        case vault.VaultError():
            return {"code": "vault", "text": str(error)}
        case pipeline.ClusterError() | pipeline.PartError():
            return {"code": "counting", "text": str(error)}
        case artefacts.NoRoom():
            return {"code": "no-room", "text": NO_ROOM}
        case SynthError():
            return {"code": "engine", "text": "The engine stopped."}
    return {
        "code": "internal",
        "text": f"An error of kind {type(error).__name__} stopped the worker.",
    }


def _names(document: Mapping[str, Any]) -> set[str]:
    """The columns that a description names."""
    unit = (document.get("unit") or {}).get("column")
    return {*(one["name"] for one in document.get("attributes", ())), *([unit] if unit else ())}


# --- counts outside the guarantee --------------------------------------------------------------------------------
@in_english
def fill_counts(*, code: str) -> None:
    """Take the filled counts of this code, which a custodian approved. Harmless when repeated, late or doubled."""
    counts = FilledCounts.objects.filter(code=code).first()
    grip = lease.claim(counts) if counts else None
    if counts is None or grip is None:
        return
    counts.refresh_from_db()
    with lease.keep_alive(grip):
        try:
            if counts.attempts > MAX_ERRAND_ATTEMPTS:
                _fail_counts(grip, failure=GAVE_UP)
            else:
                _fill_counts(counts, grip)
        except errors.LeaseLost:
            logger.info("counts %s: taken over; this worker stops", code)
        except DatabaseError as error:
            logger.warning("counts %s: %s; left for the reconciler", code, type(error).__name__)
        except Exception as error:  # noqa: BLE001 - see synthesize
            if not grip.gone.is_set():
                logger.error("counts %s: failed with %s", code, type(error).__name__)
            _fail_counts(
                grip, failure=_failure(error, described=counts.domain_version.document)
            )


def _fill_counts(counts: FilledCounts, grip: lease.Lease) -> None:
    """As a run: what can be known without reading a row comes first, then the entry of the ledger, and then the rows."""
    progress, plan, form = Progress(grip), filling.plan_of(counts), _form(counts.dataset)
    progress(stages.OPEN.name, 0.0)
    _check_table(counts)
    with vault.open_table(counts.dataset.vault_name) as path:
        pipeline.require_filling(path, plan=plan, **form)
        with transaction.atomic():
            # The fence first: a worker that lost its lease enters nothing.
            lease.write(
                grip, states=counts.OPEN, outside_at=Coalesce("outside_at", Now()), progress=1.0
            )
            filling_services.record_outside(counts)
        made = pipeline.fill(path, plan=plan, progress=progress, **form)
    with transaction.atomic():
        lease.write(
            grip,
            states=counts.OPEN,
            state=FilledCounts.State.PUBLISHED,
            counts=made.to_json(),
            progress=1.0,
            finished_at=Now(),
            lease_held=False,
        )
        filling_services.record_publication(counts)


def _fail_counts(grip: lease.Lease, *, failure: Mapping[str, object]) -> None:
    """End counts under the fence. An entry of the ledger that was written stays."""
    tracing.fail(str(failure["code"]))
    try:
        lease.write(
            grip,
            states=FilledCounts.OPEN,
            state=FilledCounts.State.FAILED,
            failure=failure,
            finished_at=Now(),
            lease_held=False,
        )
    except errors.LeaseLost:
        logger.info("counts: taken over; their failure is not recorded")


# --- errands: reading an upload, comparing with real data ---------------------------------------------------------
@in_english
def table_errand(*, code: str) -> None:
    """Do the errand of this code; a failure that may pass is left to the reconciler, a few times."""
    errand = TableErrand.objects.filter(code=code).first()
    grip = lease.claim(errand) if errand else None
    if errand is None or grip is None:
        return
    errand.refresh_from_db()
    with lease.keep_alive(grip):
        try:
            if errand.attempts > MAX_ERRAND_ATTEMPTS:
                _end_errand(errand, grip, failure=GAVE_UP)
            elif errand.kind == TableErrand.Kind.INGEST:
                _ingest(errand, grip)
            elif errand.kind == TableErrand.Kind.KEYS:
                _check_keys(errand, grip)
            elif errand.release is not None and errand.release.mechanism == MECHANISM:
                _report_database(errand, errand.release, grip)
            else:
                _report(errand, grip)
        except errors.LeaseLost:
            logger.info("errand %s: taken over; this worker stops", code)
        except DatabaseError as error:
            logger.warning("errand %s: %s; left for the reconciler", code, type(error).__name__)
        except Exception as error:  # noqa: BLE001 - see synthesize
            logger.error("errand %s: failed with %s", code, type(error).__name__)
            _retry_errand(errand, grip, error)


def _ingest(errand: TableErrand, grip: lease.Lease) -> None:
    """Preview and suggestions for the steward, or the refusal that says line, column, rule and repair."""
    dataset, progress, form = errand.dataset, Progress(grip), _form(errand.dataset)
    progress(stages.OPEN.name, 0.0)
    try:
        with vault.open_table(dataset.vault_name) as path:
            form["dialect"] = form["dialect"] or pipeline.detect(path, kind=form["kind"])
            if form["dialect"] is not None and form["dialect"].asked:
                # Stored before the reading, which refuses a table as long as its form is asked
                # about: the steward answers from these lines.
                seen = pipeline.evidence(path, kind=form["kind"], dialect=form["dialect"])
                preview_store.put(dataset, Preview.Kind.TABLE, preview_store.FORM, seen)
            reading = pipeline.ingest(path, **form, progress=progress)
    except InputError as error:
        guessed = form["dialect"].to_json() if form["dialect"] else None
        return _end_errand(errand, grip, refusal=error.as_dict(), dialect=guessed)
    # The preview store has no fence. A worker that lost its lease must
    # not overwrite what its successor has stored.
    progress.check()
    preview_store.put(dataset, Preview.Kind.TABLE, "", reading)
    preview_store.put(dataset, Preview.Kind.COLUMNS, "", {"columns": reading["columns"]})
    return _end_errand(errand, grip, dialect=reading["dialect"])


def _report(errand: TableErrand, grip: lease.Lease) -> None:
    """A release compared with the real table, as it was when the release was made: not private, for stewards alone, short-lived."""
    dataset, release, progress = errand.dataset, errand.release, Progress(grip)
    if release is None:
        raise PrivacyError("a comparison without a release")
    progress(stages.OPEN.name, 0.0)
    file = selectors.file_of_run(dataset, release.run_code)
    extras, form = Extras.of(errand.extras), _form(file)
    generated = pipeline.GeneratedTable(
        model=mechanisms.Model.from_json(release.model),
        rows=max(1, min(release.sample_rows, REPORT_ROWS)),
        # Fixed, so that asking again compares the same synthetic rows with the table.
        seed=f"report/{release.code}",
    )
    with vault.open_table(file.vault_name) as path:
        report = pipeline.report(
            path,
            **form,
            model=generated.model,
            rows=generated.rows,
            seed=generated.seed,
            described=Domain.from_json(release.domain_version.document),
            progress=progress,
        )
        if extras.models:
            aim = pipeline.TrainingAim(target=extras.target, protected=extras.protected)
            report["models"] = pipeline.train_models(
                path, generated, aim=aim, **form, progress=progress
            )
        if extras.risks or extras.shadows:
            shadowed = Spec.from_json(release.run.spec) if extras.shadows else None
            report["risks"] = pipeline.estimate_risks(
                path, generated, shadowed=shadowed, **form, progress=progress
            )
    progress.check()
    preview_store.put(dataset, Preview.Kind.REPORT, release.code, report)
    _end_errand(errand, grip)


def _check_keys(errand: TableErrand, grip: lease.Lease) -> None:
    """What is wrong with the keys of a database, for its steward alone; the errand fails of what a run would refuse."""
    root, progress = errand.dataset, Progress(grip)
    progress(stages.OPEN.name, 0.0)
    version = DatabaseVersion.objects.get(root=root, number=errand.extras["version"])
    database = Database.from_json(version.document)
    with _opened_tables(version) as files:
        pipeline.require_database(files, database=database)
        faults = pipeline.key_faults(files, database=database, progress=progress)
    progress.check()
    counted = {name: asdict(each) for name, each in faults.items()}
    preview_store.put(root, Preview.Kind.KEYS, "", {"tables": counted})
    repeated = next((name for name, each in faults.items() if each.repeated), None)
    if repeated is None:
        return _end_errand(errand, grip)
    error = TableError(
        f"table {repeated!r} has a key more than once, or rows without one",
        repair="give each row a key of its own, or name the column of the table's unique keys",
        column=database.table(repeated).key,
    )
    return _end_errand(errand, grip, failure={"code": "input", "text": error.text})


def _report_database(errand: TableErrand, release: Release, grip: lease.Lease) -> None:
    """A released database compared with the real one over joins: not private, for stewards alone, short-lived."""
    root, progress = errand.dataset, Progress(grip)
    progress(stages.OPEN.name, 0.0)
    version = databases.version_of(release.run)
    model = released_databases.model_of(release)
    frames = model.tables(
        released_databases.units_of(release, None), seed=f"report/{release.code}"
    )
    with (
        tempfile.TemporaryDirectory() as folder,
        _opened_tables(version, release.run_code) as files,
    ):
        generated = Path(folder) / "generated"
        database_files.write(model.database, frames, generated)
        report = pipeline.compare_databases(files, generated, database=model.database)
    progress.check()
    preview_store.put(root, Preview.Kind.REPORT, release.code, report)
    _end_errand(errand, grip)


@transaction.atomic
def _end_errand(
    errand: TableErrand,
    grip: lease.Lease,
    *,
    refusal: dict[str, str | int | None] | None = None,
    dialect: Mapping[str, object] | None = None,
    failure: Mapping[str, object] | None = None,
) -> None:
    """The errand's end and, for an upload, what became of the dataset, in one fenced transaction."""
    state = TableErrand.State.FAILED if failure else TableErrand.State.FINISHED
    if failure:
        tracing.fail(str(failure["code"]))
    lease.write(
        grip,
        states=errand.OPEN,
        state=state,
        failure=failure,
        progress=1.0,
        finished_at=Now(),
        lease_held=False,
    )
    if errand.kind != TableErrand.Kind.INGEST:
        return
    # Without a refusal the dataset would look like one that still waits for a worker.
    if failure:
        refusal = {
            "rule": "the worker could not read the table",
            "repair": "upload it again",
            "column": None,
            "line": None,
        }
    if refusal:
        datasets.mark_refused(dataset=errand.dataset, refusal=refusal, dialect=dialect)
    else:
        datasets.mark_ready(dataset=errand.dataset, dialect=dialect)


def _retry_errand(errand: TableErrand, grip: lease.Lease, error: Exception) -> None:
    """What will fail again the same way ends now; anything else waits for the reconciler to ring again."""
    try:
        if isinstance(error, SynthError) or errand.attempts >= MAX_ERRAND_ATTEMPTS:
            _end_errand(errand, grip, failure=_failure(error))
        else:
            lease.let_go(grip)
    except errors.LeaseLost:
        logger.info("errand %s: taken over; its failure is not recorded", errand.code)
