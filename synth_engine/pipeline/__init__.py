"""Leads from a table to answers, a release or a report. This is the only importer of the room.

Whatever goes wrong inside the room leaves it as one of the engine's own errors without its traceback, because
the frames of a traceback hold rows.

Each name is loaded when it is first used: whoever has one file read loads no methods, reports or attacks.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from synth_engine.pipeline.comparing import REPORT_ROWS as REPORT_ROWS
    from synth_engine.pipeline.comparing import compare as compare
    from synth_engine.pipeline.comparing import report as report
    from synth_engine.pipeline.databases import DatabaseRelease as DatabaseRelease
    from synth_engine.pipeline.databases import compare_databases as compare_databases
    from synth_engine.pipeline.databases import key_faults as key_faults
    from synth_engine.pipeline.databases import measure_database as measure_database
    from synth_engine.pipeline.databases import require_database as require_database
    from synth_engine.pipeline.databases import synthesize_database as synthesize_database
    from synth_engine.pipeline.filling import fill as fill
    from synth_engine.pipeline.filling import require_filling as require_filling
    from synth_engine.pipeline.linking import require_side as require_side
    from synth_engine.pipeline.linking import sketch as sketch
    from synth_engine.pipeline.measuring import Continuation as Continuation
    from synth_engine.pipeline.measuring import Release as Release
    from synth_engine.pipeline.measuring import confirm as confirm
    from synth_engine.pipeline.measuring import measure as measure
    from synth_engine.pipeline.measuring import require_counting as require_counting
    from synth_engine.pipeline.measuring import synthesize as synthesize
    from synth_engine.pipeline.measuring import warm_up as warm_up
    from synth_engine.pipeline.reading import detect as detect
    from synth_engine.pipeline.reading import encodings as encodings
    from synth_engine.pipeline.reading import evidence as evidence
    from synth_engine.pipeline.reading import ingest as ingest
    from synth_engine.pipeline.reading import require_another_file as require_another_file
    from synth_engine.pipeline.reading import require_columns as require_columns
    from synth_engine.pipeline.reading import require_vouched as require_vouched
    from synth_engine.pipeline.reading import snapshot as snapshot
    from synth_engine.pipeline.sealing import Progress as Progress
    from synth_engine.pipeline.trying import GeneratedTable as GeneratedTable
    from synth_engine.pipeline.trying import WrittenTable as WrittenTable
    from synth_engine.pipeline.trying import estimate_risks as estimate_risks
    from synth_engine.pipeline.trying import train_models as train_models
    from synth_engine.sources.cluster import ClusterError as ClusterError
    from synth_engine.sources.counting import Counting as Counting
    from synth_engine.sources.database import TableFile as TableFile
    from synth_engine.sources.parts import PartError as PartError
    from synth_engine.sources.snapshot import SnapshotSource as SnapshotSource
    from synth_engine.trials.training import TrainingAim as TrainingAim

_FOUND_IN = {
    "pipeline.comparing": "REPORT_ROWS compare report",
    "pipeline.databases": "DatabaseRelease compare_databases key_faults measure_database require_database "
    "synthesize_database",
    "pipeline.filling": "fill require_filling",
    "pipeline.linking": "require_side sketch",
    "pipeline.measuring": "Continuation Release confirm measure require_counting synthesize warm_up",
    "pipeline.reading": "detect encodings evidence ingest require_another_file require_columns "
    "require_vouched snapshot",
    "pipeline.sealing": "Progress",
    "pipeline.trying": "GeneratedTable WrittenTable estimate_risks train_models",
    "sources.cluster": "ClusterError",
    "sources.counting": "Counting",
    "sources.database": "TableFile",
    "sources.parts": "PartError",
    "sources.snapshot": "SnapshotSource",
    "trials.training": "TrainingAim",
}


def __getattr__(name: str) -> Any:
    for module, names in _FOUND_IN.items():
        if name in names.split():
            return getattr(import_module(f"synth_engine.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
