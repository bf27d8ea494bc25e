"""The stages of a run, in our own words: what the run page lists and the log says. Nothing here depends on data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Stage:
    """`name` is what is stored; `title` what people read; `spends` tells the stages from which noise may be drawn."""

    name: str
    title: str
    text: str


WAIT = Stage(
    name="wait",
    title="Wait for a worker",
    text="Budget is held. A confidential worker will take the run.",
)
OPEN = Stage(
    name="open",
    title="Open the table",
    text="It is decrypted inside the worker; its header is checked.",
)
CHARGE = Stage(
    name="charge",
    title="Charge the budget",
    text="The hold becomes a charge before any row is read.",
)
READ = Stage(
    name="read", title="Read and encode", text="Rows become codes of the declared domain."
)
MEASURE = Stage(
    name="measure", title="Measure with noise", text="Counts are taken and noise is added."
)
STORE = Stage(
    name="store",
    title="Store the noisy answers",
    text="From here nothing looks at rows any more.",
)
FIT = Stage(
    name="fit", title="Fit the model", text="Post-processing of the noisy answers; free."
)
PUBLISH = Stage(
    name="publish", title="Make the release", text="Receipt and model become a release."
)

# CHARGE stands before READ: no row is read that is not paid for (ADR 9).
RUN = (WAIT, OPEN, CHARGE, READ, MEASURE, STORE, FIT, PUBLISH)
COUNT = Stage(
    name="count",
    title="Count and compare",
    text="Real and synthetic tables are counted and compared.",
)
REPORT = (WAIT, OPEN, READ, COUNT)
SIMULATE = Stage(
    name="simulate",
    title="Simulate the noise",
    text="The answers about each column are simulated from the model and the receipt.",
)
RANGES = (WAIT, SIMULATE)
NAMES = tuple(stage.name for stage in RUN)

TITLES = {stage.name: stage.title for stage in (*RUN, COUNT, SIMULATE)}


def position(name: str) -> int:
    """Where a stage stands in a run; unknown names count as the first."""
    return NAMES.index(name) if name in NAMES else 0


def title(name: str) -> str:
    """What people read for a stage, of runs and errands alike."""
    return TITLES.get(name, name.replace("-", " ").capitalize())
