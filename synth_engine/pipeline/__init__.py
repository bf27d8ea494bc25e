"""Leads from a table to answers, a release or a report. This is the only importer of the room.

Whatever goes wrong inside the room leaves it as one of the engine's own errors without its traceback, because
the frames of a traceback hold rows.
"""

from __future__ import annotations

from synth_engine.pipeline.comparing import REPORT_ROWS, compare, report
from synth_engine.pipeline.databases import (
    DatabaseRelease,
    compare_databases,
    key_faults,
    measure_database,
    require_database,
    synthesize_database,
)
from synth_engine.pipeline.filling import fill, require_filling
from synth_engine.pipeline.linking import require_side, sketch
from synth_engine.pipeline.measuring import (
    Continuation,
    Release,
    confirm,
    measure,
    require_counting,
    synthesize,
    warm_up,
)
from synth_engine.pipeline.reading import (
    detect,
    encodings,
    evidence,
    ingest,
    require_another_file,
    require_columns,
    require_vouched,
    snapshot,
)
from synth_engine.pipeline.sealing import Progress
from synth_engine.pipeline.trying import (
    GeneratedTable,
    WrittenTable,
    estimate_risks,
    train_models,
)
from synth_engine.sources.cluster import ClusterError
from synth_engine.sources.counting import Counting
from synth_engine.sources.database import TableFile
from synth_engine.sources.parts import PartError
from synth_engine.sources.snapshot import SnapshotSource
from synth_engine.trials.training import TrainingAim

__all__ = [
    "REPORT_ROWS",
    "ClusterError",
    "Continuation",
    "Counting",
    "DatabaseRelease",
    "GeneratedTable",
    "PartError",
    "Progress",
    "Release",
    "SnapshotSource",
    "TableFile",
    "TrainingAim",
    "WrittenTable",
    "compare",
    "compare_databases",
    "confirm",
    "detect",
    "encodings",
    "estimate_risks",
    "evidence",
    "fill",
    "ingest",
    "key_faults",
    "measure",
    "measure_database",
    "report",
    "require_another_file",
    "require_columns",
    "require_counting",
    "require_database",
    "require_filling",
    "require_side",
    "require_vouched",
    "sketch",
    "snapshot",
    "synthesize",
    "synthesize_database",
    "train_models",
    "warm_up",
]
