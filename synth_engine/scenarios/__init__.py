"""Test data that are wrong on purpose: unfair, shifted or faulty tables from a model, with a record of every
change.

Post-processing of a model or a description, so that it costs no privacy. What comes out is no release: it
says so, and names what was altered.
"""

from synth_engine.scenarios.building import (
    DESCRIBED_STATEMENT,
    STATEMENT,
    Built,
    alter,
    build,
    draw,
)
from synth_engine.scenarios.described import (
    Described,
    describe,
    is_description,
    read_description,
)
from synth_engine.scenarios.draft import span_of
from synth_engine.scenarios.files import archive, read, require_format, write
from synth_engine.scenarios.scenario import SCHEMA, Scenario, catalogue
from synth_engine.scenarios.scoring import score

__all__ = [
    "DESCRIBED_STATEMENT",
    "SCHEMA",
    "STATEMENT",
    "Built",
    "Described",
    "Scenario",
    "alter",
    "archive",
    "build",
    "catalogue",
    "describe",
    "draw",
    "is_description",
    "read",
    "read_description",
    "require_format",
    "score",
    "span_of",
    "write",
]
