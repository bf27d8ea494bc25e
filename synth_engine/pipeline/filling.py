"""Counts that are filled to a policy, and are not private."""

from __future__ import annotations

from pathlib import Path

from synth_engine.formats import Dialect, Kind
from synth_engine.mixing.policy import FilledCounts, FillPlan
from synth_engine.pipeline.sealing import Progress, guarded, nobody_watches, sealed
from synth_engine.steward import filling


@sealed
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


@sealed
def fill(
    path: Path | str,
    *,
    plan: FillPlan,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
    progress: Progress = nobody_watches,
) -> FilledCounts:
    """Counts of real records by groups, filled to a policy: *not differentially private*, so that no
    guarantee of the table holds afterwards. The caller has recorded that before. Raises TableError."""
    return filling.fill(path, plan=plan, kind=kind, dialect=dialect, progress=guarded(progress))
