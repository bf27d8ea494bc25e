"""Lead from a table to answers, a release or a report. This is the only importer of the room.

Whatever goes wrong inside the room leaves it as one of the engine's own errors without its traceback, because
the frames of a traceback hold rows.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import gzip
import hashlib
import itertools
import secrets
import traceback
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ParamSpec, TypedDict, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_engine import codec, jit, mechanisms, readers, verifier, watching
from synth_engine.constraints import counting
from synth_engine.domain import Domain, Weak, WeakBasket
from synth_engine.domain import views as database_views
from synth_engine.domain.database import Database
from synth_engine.domain.views import DatabaseView
from synth_engine.errors import (
    Cancelled,
    DomainError,
    PrivacyError,
    SpecError,
    SynthError,
    TableError,
)
from synth_engine.evaluation import joins, trees
from synth_engine.evaluation import report as comparison
from synth_engine.evaluation.figures import texts
from synth_engine.evaluation.tallies import CodedTable
from synth_engine.evaluation.trees import OccupiedCells
from synth_engine.formats import Dialect, Kind
from synth_engine.hierarchy import StringHierarchy
from synth_engine.indexing import contingency
from synth_engine.linking.sketch import Sketch, SketchPlan
from synth_engine.measurement import Answers, CallLog, NoCallLog
from synth_engine.mixing.policy import FilledCounts, FillPlan
from synth_engine.models import blocks as model_blocks
from synth_engine.models import group_sizes
from synth_engine.models.model import Model
from synth_engine.models.trees import factory
from synth_engine.plans.plan import Plan
from synth_engine.privacy import certificate
from synth_engine.privacy.unit import PrivacyUnit
from synth_engine.references import PublicTable
from synth_engine.relational.answers import DatabaseAnswers
from synth_engine.relational.model import DatabaseModel
from synth_engine.relational.plan import DatabasePlan, ViewPlan
from synth_engine.room import counts, noise
from synth_engine.room.rows import Rows
from synth_engine.sources import database as database_reading
from synth_engine.sources import linking as linked_records
from synth_engine.sources import opening
from synth_engine.sources import snapshot as snapshots
from synth_engine.sources.cluster import ClusterError as ClusterError
from synth_engine.sources.counting import Counting as Counting
from synth_engine.sources.database import Files as DatabaseFiles
from synth_engine.sources.database import KeyFaults
from synth_engine.sources.database import TableFile as TableFile
from synth_engine.sources.parts import PartError as PartError
from synth_engine.sources.snapshot import SnapshotSource as SnapshotSource
from synth_engine.spec import Spec
from synth_engine.steward import exact_counts, filling, raw_cells
from synth_engine.steward import ingest as reading
from synth_engine.strict_json import JsonObject
from synth_engine.trials import attacks, record_samples, training
from synth_engine.trials.training import TrainingAim as TrainingAim
from synth_engine.values.strings import Strings

Progress = Callable[[str, float], None]
Given = ParamSpec("Given")
Result = TypeVar("Result")

REPORT_ROWS = comparison.MAX_ROWS


def _nobody_watches(_stage: str, _fraction: float) -> None:
    pass


def _nobody_cancels() -> bool:
    return False


def _as_stage(stage: str, progress: Progress) -> Progress:
    """Progress of a part that is a stage of its own, whatever the part calls it."""
    return lambda _stage, fraction: progress(stage, fraction)


# A BaseException, so that no `except Exception` inside the room can catch or wrap it.
class _FromCaller(BaseException):
    """Carries an error of the caller's own callback through the room untouched."""

    def __init__(self, error: Exception) -> None:
        self.error = error


def _guarded(callback: Callable[Given, Result]) -> Callable[Given, Result]:
    def guarded(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        try:
            return callback(*args, **kwargs)
        except Exception as error:  # noqa: BLE001  # not ours to judge; it is raised again outside
            raise _FromCaller(error) from None

    return guarded


def _sealed(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Errors leave without traceback, cause or context; foreign ones by the name of their type and place
    alone. What a guarded callback raises is the caller's own, has no frame of the room, and passes as it
    is."""

    @functools.wraps(function)
    def sealed(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except _FromCaller as carried:
            clean: Exception = carried.error
        except SynthError as error:
            clean = _stripped(error)
        except Exception as error:  # noqa: BLE001  # named below, without what it says
            # The place is in our own code and public; the message may quote a cell.
            place = traceback.extract_tb(error.__traceback__)[-1]
            clean = SynthError(
                f"the room failed: {type(error).__name__} at {Path(place.filename).name}:{place.lineno}"
            )
        # Raised outside of the `except` blocks: inside, Python would attach the original error
        # as context, and with it the frames that hold rows.
        raise clean

    return sealed


def _stripped(error: SynthError) -> SynthError:
    error.__traceback__ = error.__cause__ = error.__context__ = None
    return error


@dataclass(frozen=True, kw_only=True, eq=False)
class Release:
    """A model fitted to noisy answers. `seed` is the one given, or a fresh secret."""

    plan: Plan
    answers: Answers
    model: Model
    rows: int
    seed: str


@_sealed
def detect(path: Path | str, *, kind: Kind | None = None) -> Dialect | None:
    """Guess how a CSV is written, from its content, for its steward to look at; None for other kinds of
    files."""
    return readers.detect(path, kind=kind)


@_sealed
def encodings(path: Path | str, *, kind: Kind | None = None) -> dict[str, list[str]]:
    """The encodings that the bytes of a delimited text allow, the likeliest first, with words of the table in
    each: for its steward alone."""
    return readers.encodings(path, kind=kind)


@_sealed
def evidence(path: Path | str, *, kind: Kind | None = None, dialect: Dialect) -> JsonObject:
    """Return what a steward, and nobody else, looks at to answer the open questions about the form: `lines`,
    the first ones of the table as cells, and `words`, as `encodings` gives them."""
    words = readers.encodings(path, kind=kind) if "encoding" in dialect.asked else {}
    return {"lines": readers.first_lines(path, kind=kind, dialect=dialect), "words": words}


@_sealed
def ingest(
    path: Path | str,
    *,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
    progress: Progress = _nobody_watches,
) -> reading.ReadingDocument:
    """Return what the steward, and nobody else, sees of a table: columns, suggestions with hints and
    questions, unique columns, preview, rows, line_count, dialect, notes. Raises TableError for a table that
    is not well formed."""
    return reading.read(path, kind=kind, dialect=dialect, progress=_guarded(progress)).to_json()


def warm_up() -> None:
    """Load the exact samplers and all compiled loops, which take their time: a machine on which they do not
    load has to fail here, before anything is charged, and no run waits for a compiler."""
    from synth_engine.room import selection  # takes its time to load

    jit.warm_up()
    contingency.warm_up()
    noise.warm_up()
    selection.warm_up()


def confirm(plan: Plan, *, progress: Callable[[float], None] = lambda _share: None) -> None:
    """Prove that a static plan meets its target before anything is charged or any noise is drawn: by the
    verifier, from the receipt that there will be, and for a composition of privacy-loss distributions by
    somebody else's accountant as well. progress: is given the share that is done. Raises VerificationError,
    PrivacyError."""
    if not plan.calls:
        return  # an adaptive one has its cap, a formula, and nothing else to look at yet
    # The verifier shares no code with the accountant, so that one error cannot hide in both.
    verifier.verify(plan.receipt(), progress=progress)
    if plan.certificate == "pld":
        certificate.confirm(
            [(call.query.verb, call.event) for call in plan.calls],
            epsilon=plan.epsilon,
            delta=plan.delta,
            unit=plan.domain.unit,
            relation=plan.domain.relation,
        )


@_sealed
def require_columns(
    path: Path | str,
    *,
    domain: Domain,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
) -> None:
    """Raises TableError for a table without a column that the domain needs. It reads the header and no row,
    so that it may be asked before anything is charged."""
    opening.require_columns(path, domain, kind=kind, dialect=dialect)


@_sealed
def require_vouched(
    path: Path | str, *, kind: Kind | None = None, dialect: Dialect | None = None
) -> None:
    """Raises TableError for a workbook with results of formulas for which nobody vouches. It reads rows, so
    what it says is for the steward alone, before anything is charged; a file that the web application stores
    has been read like this at its upload."""
    readers.require_vouched(path, kind=kind, dialect=dialect)


@_sealed
def require_another_file(path: Path | str, prior: PublicTable) -> None:
    """Raises SpecError if the public table is the very file that is to be protected, packed or not. It
    compares digests and reads no row, so that it may be asked before anything is charged."""
    digests = set()
    with Path(path).open("rb") as file:
        digests.add(hashlib.file_digest(file, "sha256").hexdigest())
    with contextlib.suppress(OSError, EOFError, zlib.error), gzip.open(path) as file:
        digests.add(hashlib.file_digest(file, "sha256").hexdigest())
    if prior.source.sha256 in digests:
        raise SpecError(
            "the public table is the table that is to be protected",
            repair="take a table from where anybody can get it, or leave it out",
        )


@_sealed
def require_counting(counting: Counting) -> None:
    """Raises SpecError or ClusterError where records cannot be counted there. It reads no row, so that it may
    be asked before anything is charged."""
    counting.require()


@dataclass(frozen=True, kw_only=True)
class Continuation:
    """What lets a run go on where it was interrupted (docs/proofs/interrupted.md). log: the answers that it
    has. secret: at least 32 random bytes, always the same in this run, which nobody knows who may not open
    the table; which records of a unit are retained follows from it."""

    log: CallLog
    secret: bytes = field(repr=False)


class _GuardedLog:
    """The caller's log, whose errors leave the room as they are."""

    def __init__(self, log: CallLog) -> None:
        self.next_stored = _guarded(log.next_stored)
        self.begin = _guarded(log.begin)
        self.store = _guarded(log.store)


def _log(continuation: Continuation | None) -> CallLog:
    return NoCallLog() if continuation is None else _GuardedLog(continuation.log)


class _RandomBytes(TypedDict, total=False):
    """The random bytes of truncation, as an argument of the readers."""

    random_bytes: Callable[[int], bytes]


def _random_bytes(continuation: Continuation | None) -> _RandomBytes:
    return (
        {} if continuation is None else {"random_bytes": opening.expanded(continuation.secret)}
    )


@contextlib.contextmanager
def snapshot(source: SnapshotSource, *, progress: Progress = _nobody_watches) -> Iterator[Path]:
    """A copy of a table that lies elsewhere, encrypted at rest, for the time of the block: a Parquet file
    that this process can read. Nothing is spent by it. Raises InputError, TableError where the source refuses
    or goes away."""
    with contextlib.ExitStack() as stack:
        yield _taken(stack, source, progress)


@_sealed
def _taken(stack: contextlib.ExitStack, source: SnapshotSource, progress: Progress) -> Path:
    # Sealed by itself: what a database's library raises has frames with rows.
    return stack.enter_context(snapshots.taken(source, progress=_guarded(progress)))


@_sealed
def measure(
    path: Path | str,
    *,
    plan: Plan,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
    progress: Progress = _nobody_watches,
    cancelled: Callable[[], bool] = _nobody_cancels,
    counting: Counting | None = None,
    continuation: Continuation | None = None,
) -> Answers:
    """The noisy answers that a plan asks for. The caller has charged its loss already: whatever happens in
    here, it stays charged. counting: where records are counted. continuation: what lets an interrupted run go
    on. Raises TableError, BudgetExceeded, Cancelled."""
    from synth_engine.room import session  # its exact sampler takes its time to load

    progress, cancelled = _guarded(progress), _guarded(cancelled)
    _stop_if(cancelled)
    rows = opening.open_counted(
        path,
        plan.domain,
        counting=counting or Counting(),
        kind=kind,
        dialect=dialect,
        progress=progress,
        **_random_bytes(continuation),
    )
    _stop_if(cancelled)
    # Callers count the loss as spent from this call on: no noise may be drawn before it.
    progress("measure", 0.0)
    room = session.open_session(
        rows, domain=plan.domain, cap=plan.loss, planned=plan.calls, log=_log(continuation)
    )
    # Inside the room, too: what is told is how many questions and steps are done, never what they found.
    with watching.watched(lambda share: progress("measure", share)):
        answers = plan.run(room)
    # The receipt states the planned calls. If others were made, it would prove a loss that is
    # not the one spent.
    if answers.calls != room.calls or (plan.calls and answers.calls != plan.calls):
        raise PrivacyError("the calls made are not the calls planned")
    progress("measure", 1.0)
    return answers


def synthesize(
    path: Path | str,
    *,
    domain: Domain,
    spec: Spec,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
    progress: Progress = _nobody_watches,
    cancelled: Callable[[], bool] = _nobody_cancels,
    prior: PublicTable | None = None,
    counting: Counting | None = None,
) -> Release:
    """Plan, measure, fit. Nothing after `measure` looks at a row. prior: a public table beside which answers
    are read. counting: where records are counted.
    Raises DomainError, SpecError, TableError."""
    plan = mechanisms.plan(domain, spec, prior=prior)
    if prior is not None:
        require_another_file(path, prior)
    confirm(plan, progress=lambda share: progress("confirm", share))
    if counting is not None:
        require_counting(counting)
    require_vouched(path, kind=kind, dialect=dialect)
    answers = measure(
        path,
        plan=plan,
        kind=kind,
        dialect=dialect,
        progress=progress,
        cancelled=cancelled,
        counting=counting,
    )
    _stop_if(cancelled)
    progress("fit", 0.0)
    with watching.watched(lambda share: progress("fit", share)):
        model = plan.fit(answers)
    progress("fit", 1.0)
    seed = secrets.token_hex(32) if spec.seed is None else spec.seed
    return Release(
        plan=plan, answers=answers, model=model, rows=spec.rows or model.rows, seed=seed
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class DatabaseRelease:
    """A model of a database fitted to the noisy answers about each view. units: rows of the root table to
    generate."""

    plan: DatabasePlan
    answers: DatabaseAnswers
    model: DatabaseModel
    units: int
    seed: str


@_sealed
def require_database(folder: DatabaseFiles, *, database: Database) -> None:
    """Raises TableError for a file of a database without a column that is described. It reads headers and no
    row."""
    database_reading.require_columns(database, folder=folder)


@_sealed
def measure_database(
    folder: DatabaseFiles,
    *,
    plan: DatabasePlan,
    progress: Progress = _nobody_watches,
    continuation: Continuation | None = None,
) -> DatabaseAnswers:
    """The noisy answers about each view of a database, under one budget. folder: where the paths of its files
    start. The database is read and truncated once. continuation: as of `measure`. Raises TableError, before
    any noise is drawn, and BudgetExceeded."""
    from synth_engine.room import session

    progress = _guarded(progress)
    # One stream of random bytes, which the files and then the views go on with.
    secret = _random_bytes(continuation)
    rows = database_reading.open_database(
        plan.database, folder=folder, progress=progress, **secret
    )
    # One log of all views, in their order.
    log = _log(continuation)
    progress("measure", 0.0)

    def measured(view: DatabaseView, part: ViewPlan) -> Answers:
        room = session.open_session(
            rows.view(view, **secret), domain=view.domain, cap=part.loss, log=log
        )
        given = part.run(room)
        if given.calls != room.calls:
            raise PrivacyError("the calls made are not the calls answered")
        return given

    answers = []
    if plan.units is not None:
        answers.append(measured(*plan.units))
        plan = plan.after_units(answers[0])
    with watching.watched(lambda share: progress("measure", share)):
        for view, part in watching.each(list(zip(plan.views, plan.plans, strict=True))):
            answers.append(measured(view, part))
    progress("measure", 1.0)
    return DatabaseAnswers(tuple(answers))


@_sealed
def key_faults(
    folder: DatabaseFiles, *, database: Database, progress: Progress = _nobody_watches
) -> dict[str, KeyFaults]:
    """Faults of the keys of each table, for its steward alone: *not differentially private*. Raises
    TableError."""
    progress = _guarded(progress)
    return database_reading.key_faults(database, folder=folder, progress=progress)


def synthesize_database(
    folder: Path | str,
    *,
    plan: DatabasePlan,
    units: int | None = None,
    seed: str | None = None,
    progress: Progress = _nobody_watches,
) -> DatabaseRelease:
    """Measure and fit. units: rows of the root table to generate, None for the noisy number; seed: None for a
    fresh secret one."""
    for file in database_reading.files_of(plan.database, folder=folder):
        require_vouched(file.path, kind=file.kind, dialect=file.dialect)
    answers = measure_database(folder, plan=plan, progress=progress)
    progress("fit", 0.0)
    with watching.watched(lambda share: progress("fit", share)):
        model = plan.fit(answers)
    progress("fit", 1.0)
    return DatabaseRelease(
        plan=plan,
        answers=answers,
        model=model,
        units=model.units if units is None else units,
        seed=secrets.token_hex(32) if seed is None else seed,
    )


@_sealed
def compare_databases(
    folder: DatabaseFiles, synthetic: DatabaseFiles, *, database: Database
) -> JsonObject:
    """The steward's comparison of a synthetic database with the real one: *not differentially private*. Both
    folders hold the files that the description names."""
    real, generated = (
        database_reading.open_database(database, folder=path) for path in (folder, synthetic)
    )
    errors = []
    for view in database_views.views(database):
        first, second = real.view(view), generated.view(view)
        for clique in joins.cliques(database, view):
            tables = [counts.contingency(rows, clique.columns) for rows in (first, second)]
            errors.append(joins.JoinError.of(clique, *tables))
    return joins.report(errors)


@_sealed
def require_side(
    path: Path | str,
    *,
    plan: SketchPlan,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
) -> None:
    """Raises TableError for a table without a column that its side of a link needs. It reads the header and
    no row, so that it may be asked before anything is charged."""
    linked_records.require_columns(path, plan=plan, kind=kind, dialect=dialect)


@_sealed
def sketch(
    path: Path | str,
    *,
    plan: SketchPlan,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
    progress: Progress = _nobody_watches,
    continuation: Continuation | None = None,
) -> Sketch:
    """The noisy sketch of one side of a link, with its receipt. The caller has charged its loss already.
    continuation: as of `measure`. Raises TableError, BudgetExceeded."""
    from synth_engine.room import session

    progress = _guarded(progress)
    rows = linked_records.open_side(
        path,
        plan=plan,
        kind=kind,
        dialect=dialect,
        progress=progress,
        **_random_bytes(continuation),
    )
    progress("measure", 0.0)
    room = session.open_session(
        rows, domain=plan.domain, cap=plan.loss, planned=plan.calls, log=_log(continuation)
    )
    answers = plan.run(room)
    if answers.calls != room.calls or answers.calls != plan.calls:
        raise PrivacyError("the calls made are not the calls planned")
    progress("measure", 1.0)
    return plan.read(answers)


@_sealed
def require_filling(
    path: Path | str,
    *,
    plan: FillPlan,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
) -> None:
    """Raises TableError for a table without a column that filled counts need. It reads the header and no
    row."""
    filling.require_columns(path, plan=plan, kind=kind, dialect=dialect)


@_sealed
def fill(
    path: Path | str,
    *,
    plan: FillPlan,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
    progress: Progress = _nobody_watches,
) -> FilledCounts:
    """Counts of real records by groups, filled to a policy: *not differentially private*, so that no
    guarantee of the table holds afterwards. The caller has recorded that before. Raises TableError."""
    return filling.fill(
        path, plan=plan, kind=kind, dialect=dialect, progress=_guarded(progress)
    )


@_sealed
def report(
    path: Path | str,
    *,
    model: Model,
    rows: int,
    seed: str,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
    described: Domain | None = None,
    progress: Progress = _nobody_watches,
) -> JsonObject:
    """The steward's comparison of a sample with the real table, under what is known of it, or was learned:
    *not differentially private*. described: as it was before anything was learned, which says how texts are
    read."""
    progress = _guarded(progress)
    domain = model.domain
    progress("draw-table", 0.0)
    # Drawing and refining records takes longest of all, so that it happens once.
    coded_blocks = list(model.sample_blocks(rows, seed=seed))
    codes = model_blocks.together(coded_blocks)
    ends = model.group_ends(rows, seed=seed)
    blocks = _counted(
        mechanisms.draw_blocks(model, rows, seed, codes=coded_blocks),
        rows=rows,
        progress=progress,
    )
    first_block = next(blocks)
    generated = codec.count_generated(domain, itertools.chain([first_block], blocks))
    synthetic = CodedTable(
        codes=codes,
        domain=domain,
        sizes_of_groups=None
        if ends is None
        else group_sizes.counted(ends, most=domain.unit.max_records),
        of_texts=_synthetic_texts(model, rows, seed),
        of_values=generated.columns,
        of_pairs=generated.pairs,
    )
    unenforced = model.unconstrained.sample(rows, seed=seed) if domain.constraints else codes
    form: _Form = {"kind": kind, "dialect": dialect}
    texts_of = _text_reading(model, described)
    table = _open_file(path, domain=domain, progress=progress, texts_of=texts_of, **form)
    first = codec.as_text(domain, first_block.head(REPORT_ROWS))
    shown = [name for name in domain.columns if name in first]
    tallies = (
        comparison.tally(table, progress=progress),
        comparison.tally(synthetic, progress=_as_stage("count-synthetic", progress)),
    )
    progress("compare-figures", 0.0)
    return comparison.compare(
        *tallies,
        domain,
        fits=_fits(table),
        rows=comparison.SampleRows(
            real=_first_rows(path, domain=domain, **form),
            synthetic=_records(shown, first[shown].to_numpy().tolist()),
        ),
        unenforced=counting.count_violations(unenforced.__getitem__, domain=domain),
    )


@_sealed
def compare(
    path: Path | str,
    synthetic_path: Path | str,
    *,
    domain: Domain,
    model: Model | None = None,
    dialect: Dialect | None = None,
    progress: Progress = _nobody_watches,
) -> JsonObject:
    """The same of two files, the second of which claims to be synthetic. `dialect` is the form of the real
    one. model: by which the second was generated; the tables are then compared under its description, and the
    texts that it learned are counted. Errors: DomainError where model and description have other columns."""
    described = domain
    if model is not None:
        domain = _domain_of(model, described)
    for attribute in domain.undeclared:
        if isinstance(attribute, WeakBasket):
            raise attribute.error(
                "the items to be compared are not known", repair='list them: kind "basket"'
            )
    public = _without_units(domain)
    progress = _guarded(progress)
    reading_of_texts = None if model is None else _text_reading(model, described)
    real = _open_file(
        path, domain=domain, dialect=dialect, progress=progress, texts_of=reading_of_texts
    )
    written = None if reading_of_texts is None else reading_of_texts.of_written()
    synthetic = _open_file(synthetic_path, domain=public, progress=progress, texts_of=written)
    tallies = (
        comparison.tally(real, progress=progress),
        comparison.tally(synthetic, progress=_as_stage("count-synthetic", progress)),
    )
    progress("compare-figures", 0.0)
    return comparison.compare(
        *tallies,
        domain,
        fits=_fits(real),
        rows=comparison.SampleRows(
            real=_first_rows(path, domain=domain, dialect=dialect),
            synthetic=_first_rows(synthetic_path, domain=domain),
        ),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class GeneratedTable:
    """A synthetic table as a model generates it. rows: how many; seed: which ones."""

    model: Model
    rows: int
    seed: str

    @property
    def domain(self) -> Domain:
        """The description of the table."""
        return self.model.domain

    def records(self) -> record_samples.RecordSample:
        """Its records in random order."""
        codes = self.model.sample(self.rows, seed=self.seed)
        return record_samples.synthetic_sample(codes, self.domain)


@dataclass(frozen=True, kw_only=True)
class WrittenTable:
    """A file that claims to be synthetic, read by the description of the real one."""

    path: Path | str
    domain: Domain

    def records(self) -> record_samples.RecordSample:
        """Its records in random order."""
        public = _without_units(self.domain)
        rows = opening.open_table(self.path, public)
        return record_samples.synthetic_sample(record_samples.columns_of(rows), public)


@_sealed
def train_models(
    path: Path | str,
    synthetic: GeneratedTable | WrittenTable,
    *,
    aim: TrainingAim,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
    progress: Progress = _nobody_watches,
) -> JsonObject:
    """The field `models` of a report: models trained on synthetic and on real records, tested on real ones:
    *not differentially private*. A column that is not there, or a table that is too small, is said in its
    `notes`."""
    progress = _guarded(progress)
    rows = opening.open_table(
        path,
        synthetic.domain,
        kind=kind,
        dialect=dialect,
        progress=_as_stage("prepare-models", progress),
    )
    try:
        aim.require(synthetic.domain)
        halves = record_samples.split(rows)
        return training.train(halves, synthetic.records(), aim, progress=progress)
    except (SpecError, TableError) as error:
        return {"notes": [f"No models were trained: {error.text}."]}


@_sealed
def estimate_risks(
    path: Path | str,
    synthetic: GeneratedTable | WrittenTable,
    *,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
    shadowed: Spec | None = None,
    progress: Progress = _nobody_watches,
) -> JsonObject:
    """The field `risks` of a report: attacks that were tried on the synthetic table: *not differentially
    private*, and lower bounds alone. A table that is too small is said in its `notes`. shadowed: the request
    of the release, of whose method shadow models are made, which takes up to minutes; None for none."""
    progress = _guarded(progress)
    rows = opening.open_table(
        path,
        synthetic.domain,
        kind=kind,
        dialect=dialect,
        progress=_as_stage("prepare-attacks", progress),
    )
    try:
        halves = record_samples.split(rows)
        return attacks.attack(halves, synthetic.records(), progress=progress, shadowed=shadowed)
    except TableError as error:
        return {"notes": [f"No attacks were tried: {error.text}."]}


def _counted(
    blocks: Iterator[pd.DataFrame], *, rows: int, progress: Progress
) -> Iterator[pd.DataFrame]:
    """The blocks of a table of so many rows; progress counts their rows."""
    counted = 0
    for block in blocks:
        counted += len(block)
        progress("draw-table", counted / max(1, rows))
        yield block


def _without_units(domain: Domain) -> Domain:
    """The description of a synthetic file: its records belong to nobody, one a row."""
    return dataclasses.replace(domain, unit=PrivacyUnit(), repeats=None)


def _domain_of(model: Model, described: Domain) -> Domain:
    """The description in a model, which has learned what the one before the run left open."""
    if model.domain.columns != described.columns:
        raise DomainError(
            "the model has other columns than the description",
            repair="give the model and the description of one release",
        )
    return model.domain


def _open_file(
    path: Path | str,
    *,
    domain: Domain,
    progress: Progress,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
    texts_of: _TextReading | None = None,
) -> _RoomTable:
    """The rows of a file as a source of exact tables, hence marked as not private. texts_of: how its texts
    are counted."""
    # One reading of the file serves all descriptions of its columns.
    rows, *text_rows = opening.open_tables(
        path,
        [domain, *(texts_of.domains if texts_of else ())],
        kind=kind,
        dialect=dialect,
        progress=progress,
    )
    return _RoomTable(
        rows,
        of_texts=texts_of.count(text_rows) if texts_of else (),
        cells=raw_cells.count_raw_columns(
            path,
            domain,
            kind=kind,
            dialect=dialect,
            progress=_as_stage("read-values", progress),
        ),
    )


class _RoomTable:
    """Rows of the room as a source of exact counts, which are confidential."""

    private = False

    def __init__(
        self,
        rows: Rows,
        *,
        of_texts: Sequence[OccupiedCells] = (),
        cells: codec.RawTable,
    ) -> None:
        self.domain = rows.domain
        self.records = rows.total
        self.contingency = functools.partial(counts.contingency, rows)
        self.occupied_cells = functools.partial(exact_counts.occupied_cells, rows)
        self.distances = functools.partial(exact_counts.distances, rows)
        self.commutes = functools.partial(exact_counts.commutes, rows)
        self.occupied = functools.partial(exact_counts.occupied, rows)
        self.breaking = functools.partial(exact_counts.count_violations, rows)
        self._rows, self._of_texts, self._cells = rows, of_texts, cells

    def group_sizes(self) -> NDArray[np.int64] | None:
        return None if self.domain.grouped is None else counts.group_sizes(self._rows)

    def texts(self) -> Sequence[OccupiedCells]:
        return self._of_texts

    def raw_columns(self) -> Mapping[str, codec.RawColumn]:
        return self._cells.columns

    def raw_pairs(self) -> codec.RawPairs:
        return self._cells.pairs


def _fits(table: _RoomTable) -> dict[str, codec.Fit]:
    """Return how the cells of each column fit its description."""
    return {name: raw.fit for name, raw in table.raw_columns().items() if raw.fit is not None}


def _synthetic_texts(model: Model, rows: int, seed: str) -> list[OccupiedCells]:
    """Count how often the model generates each text; nothing for a model that is no tree of texts."""
    if (tree := factory.texts(model.tree)) is None:
        return []
    written = model.written(rows, seed=seed)
    return [texts.count_texts(tree.hierarchy, *column) for column in written.values()]


@dataclass(frozen=True, kw_only=True)
class _TextReading:
    """Descriptions under which a column of texts is read in order to count its texts and how they were read.

    `declared`: with the declared rules for case and characters, truncated by unit. `whole`: the same for all
    records. `as_written`: for all records and without rules.
    """

    hierarchy: StringHierarchy
    declared: Domain
    whole: Domain
    as_written: Domain

    @property
    def domains(self) -> tuple[Domain, Domain, Domain]:
        """All of them, in the order of the rows that `count` takes."""
        return self.declared, self.whole, self.as_written

    def of_written(self) -> _TextReading:
        """How the texts of a synthetic file are counted: as they are, all of them."""
        return dataclasses.replace(self, declared=self.as_written, whole=self.as_written)

    def count(self, rows: Sequence[Rows]) -> list[OccupiedCells]:
        """Records by text, and how many were read in which way."""
        declared, whole, as_written = rows
        column = self.hierarchy.columns[0]
        outside, missing = exact_counts.unread(whole, column)
        fitting = whole.total - outside - missing
        written = as_written.total - sum(exact_counts.unread(as_written, column))
        cells = trees.aggregate(
            self.hierarchy, *exact_counts.occupied(declared, self.hierarchy)
        )
        read = {
            "as written": written,
            "changed": fitting - written,
            "outside": outside,
            "missing": missing,
        }
        return [dataclasses.replace(cells, read=read)]


def _text_reading(model: Model, described: Domain | None) -> _TextReading | None:
    """Return how the texts of a tree of texts are counted in the real table; None for another model."""
    if (tree := factory.texts(model.tree)) is None:
        return None
    strings = tree.hierarchy
    plain = Strings(strings.alphabet, strings.shortest, strings.longest)
    values = _declared_texts(described, columns=tree.columns)
    values = plain if values is None else values
    declared, as_written = (_text_domain(model, strings, each) for each in (values, plain))
    return _TextReading(
        hierarchy=strings,
        declared=declared,
        whole=dataclasses.replace(declared, unit=PrivacyUnit()),
        as_written=dataclasses.replace(as_written, unit=PrivacyUnit()),
    )


def _text_domain(model: Model, strings: StringHierarchy, values: Strings) -> Domain:
    """The column of texts alone, as one of unknown texts of this set."""
    known = model.domain.attribute(strings.columns[0])
    column = Weak(
        name=known.name,
        values=values,
        missing=known.missing,
        outside="other",
        provenance=known.facts["kind"],
    )
    return Domain(attributes=(column,), unit=model.domain.unit, relation=model.domain.relation)


def _declared_texts(described: Domain | None, *, columns: Sequence[str]) -> Strings | None:
    """The texts of the first of these columns that was described as one of unknown texts."""
    for attribute in () if described is None else described.undeclared:
        if attribute.name in columns and isinstance(attribute, Weak):
            return attribute.values if isinstance(attribute.values, Strings) else None
    return None


class _Form(TypedDict):
    """The form of a file, as arguments of the readers."""

    kind: Kind | None
    dialect: Dialect | None


def _first_rows(
    path: Path | str,
    *,
    domain: Domain,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
) -> list[dict[str, object]]:
    return _records(
        domain.columns, reading.head(path, domain.columns, kind=kind, dialect=dialect)
    )


def _records(columns: Sequence[str], rows: list[list[str]]) -> list[dict[str, object]]:
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _stop_if(cancelled: Callable[[], bool]) -> None:
    if cancelled():
        raise Cancelled("the run was cancelled")
