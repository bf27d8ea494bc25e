"""Everything that leaves the room: noisy answers, the calls that produced them, and the
protocol by which to ask.

Everything here is safe to store with a release. Nothing here has seen a row."""

from synth_engine.measurement.answer import (
    BoxChoices,
    BoxCounts,
    Discovery,
    GroupSizes,
    Leaves,
    Measurement,
    Scores,
    Selection,
)
from synth_engine.measurement.answers import SCHEMA, Answer, AnsweredCall, Answers
from synth_engine.measurement.call_log import CallLog, NoCallLog
from synth_engine.measurement.noise import Noise, NoiseLaw
from synth_engine.measurement.question import (
    MAX_TABLE_CELLS,
    Call,
    Candidate,
    Clique,
    Counts,
    Merged,
    Query,
    Truth,
)
from synth_engine.measurement.session import Session

__all__ = [
    "MAX_TABLE_CELLS",
    "SCHEMA",
    "Answer",
    "AnsweredCall",
    "Answers",
    "BoxChoices",
    "BoxCounts",
    "Call",
    "CallLog",
    "Candidate",
    "Clique",
    "Counts",
    "Discovery",
    "GroupSizes",
    "Leaves",
    "Measurement",
    "Merged",
    "NoCallLog",
    "Noise",
    "NoiseLaw",
    "Query",
    "Scores",
    "Selection",
    "Session",
    "Truth",
]
