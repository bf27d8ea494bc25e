"""One side of a link of two tables."""

from __future__ import annotations

from pathlib import Path

from synth_engine.errors import (
    PrivacyError,
)
from synth_engine.formats import Dialect, Kind
from synth_engine.linking.sketch import Sketch, SketchPlan
from synth_engine.pipeline.measuring import Continuation, log_of, random_bytes
from synth_engine.pipeline.sealing import Progress, guarded, nobody_watches, sealed
from synth_engine.sources import linking as linked_records


@sealed
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


@sealed
def sketch(
    path: Path | str,
    *,
    plan: SketchPlan,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
    progress: Progress = nobody_watches,
    continuation: Continuation | None = None,
) -> Sketch:
    """The noisy sketch of one side of a link, with its receipt. The caller has charged its loss already.
    continuation: as of `measure`. Raises TableError, BudgetExceeded."""
    from synth_engine.room import session

    progress = guarded(progress)
    rows = linked_records.open_side(
        path,
        plan=plan,
        kind=kind,
        dialect=dialect,
        progress=progress,
        **random_bytes(continuation),
    )
    progress("measure", 0.0)
    room = session.open_session(
        rows, domain=plan.domain, cap=plan.loss, planned=plan.calls, log=log_of(continuation)
    )
    answers = plan.run(room)
    if answers.calls != room.calls or answers.calls != plan.calls:
        raise PrivacyError("the calls made are not the calls planned")
    progress("measure", 1.0)
    return plan.read(answers)
