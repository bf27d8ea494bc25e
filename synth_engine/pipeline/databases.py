"""Databases of several tables."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path

from synth_engine import watching
from synth_engine.domain import views as database_views
from synth_engine.domain.database import Database
from synth_engine.domain.views import DatabaseView
from synth_engine.errors import (
    PrivacyError,
)
from synth_engine.evaluation import joins
from synth_engine.measurement import Answers
from synth_engine.pipeline.measuring import Continuation, log_of, random_bytes
from synth_engine.pipeline.reading import require_vouched
from synth_engine.pipeline.sealing import Progress, guarded, nobody_watches, sealed
from synth_engine.relational.answers import DatabaseAnswers
from synth_engine.relational.model import DatabaseModel
from synth_engine.relational.plan import DatabasePlan, ViewPlan
from synth_engine.room import counts
from synth_engine.sources import database as database_reading
from synth_engine.sources.database import Files as DatabaseFiles
from synth_engine.sources.database import KeyFaults
from synth_engine.strict_json import JsonObject


@dataclass(frozen=True, kw_only=True, eq=False)
class DatabaseRelease:
    """A model of a database fitted to the noisy answers about each view. units: rows of the root table to
    generate."""

    plan: DatabasePlan
    answers: DatabaseAnswers
    model: DatabaseModel
    units: int
    seed: str


@sealed
def require_database(folder: DatabaseFiles, *, database: Database) -> None:
    """Raises TableError for a file of a database without a column that is described. It reads headers and no
    row."""
    database_reading.require_columns(database, folder=folder)


@sealed
def measure_database(
    folder: DatabaseFiles,
    *,
    plan: DatabasePlan,
    progress: Progress = nobody_watches,
    continuation: Continuation | None = None,
) -> DatabaseAnswers:
    """The noisy answers about each view of a database, under one budget. folder: where the paths of its files
    start. The database is read and truncated once. continuation: as of `measure`. Raises TableError, before
    any noise is drawn, and BudgetExceeded."""
    from synth_engine.room import session

    progress = guarded(progress)
    # One stream of random bytes, which the files and then the views go on with.
    secret = random_bytes(continuation)
    rows = database_reading.open_database(
        plan.database, folder=folder, progress=progress, **secret
    )
    # One log of all views, in their order.
    log = log_of(continuation)
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


@sealed
def key_faults(
    folder: DatabaseFiles, *, database: Database, progress: Progress = nobody_watches
) -> dict[str, KeyFaults]:
    """Faults of the keys of each table, for its steward alone: *not differentially private*. Raises
    TableError."""
    progress = guarded(progress)
    return database_reading.key_faults(database, folder=folder, progress=progress)


def synthesize_database(
    folder: Path | str,
    *,
    plan: DatabasePlan,
    units: int | None = None,
    seed: str | None = None,
    progress: Progress = nobody_watches,
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


@sealed
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
