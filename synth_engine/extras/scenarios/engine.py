"""What test data are made with: one place to import it from."""

from synth_engine.extras.scenarios.building import (
    DESCRIBED_STATEMENT,
    STATEMENT,
    Built,
    alter,
    build,
    draw,
)
from synth_engine.extras.scenarios.described import (
    Described,
    describe,
    is_description,
    read_description,
)
from synth_engine.extras.scenarios.draft import span_of
from synth_engine.extras.scenarios.files import archive, read, require_format, write
from synth_engine.extras.scenarios.scenario import SCHEMA, Scenario, catalogue
from synth_engine.extras.scenarios.scoring import score

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
