"""The stages of a run, in our own words: what the run page lists and the log says. Nothing here depends on
data."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _


@dataclass(frozen=True, kw_only=True)
class Stage:
    """`name` is what is stored; `title` what people read, translated where a page shows it, like `text`;
    `spends` tells the stages from which noise may be drawn."""

    name: str
    title: str
    text: str


WAIT = Stage(
    name="wait",
    title=_("Wait for a worker"),
    text=_("Budget is held. A confidential worker will take the run."),
)
OPEN = Stage(
    name="open",
    title=_("Open the table"),
    text=_("It is decrypted inside the worker; its header is checked."),
)
CHARGE = Stage(
    name="charge",
    title=_("Charge the budget"),
    text=_("The hold becomes a charge before any row is read."),
)
READ = Stage(
    name="read", title=_("Read and encode"), text=_("Rows become codes of the declared domain.")
)
MEASURE = Stage(
    name="measure",
    title=_("Measure with noise"),
    text=_("Counts are taken and noise is added."),
)
STORE = Stage(
    name="store",
    title=_("Store the noisy answers"),
    text=_("From here nothing looks at rows any more."),
)
FIT = Stage(
    name="fit", title=_("Fit the model"), text=_("Post-processing of the noisy answers; free.")
)
PUBLISH = Stage(
    name="publish", title=_("Make the release"), text=_("Receipt and model become a release.")
)

# CHARGE stands before READ: no row is read that is not paid for (ADR 5).
RUN = (WAIT, OPEN, CHARGE, READ, MEASURE, STORE, FIT, PUBLISH)
REPORT = (
    WAIT,
    OPEN,
    Stage(
        name="draw-table",
        title=_("Draw the synthetic table"),
        text=_("Its records are drawn from the model, and their values are counted."),
    ),
    READ,
    Stage(
        name="read-values",
        title=_("Read the values"),
        text=_("Real cells are counted as they are written."),
    ),
    Stage(
        name="count",
        title=_("Count the real table"),
        text=_("Records are counted by one, two and more columns."),
    ),
    Stage(
        name="count-synthetic",
        title=_("Count the synthetic table"),
        text=_("The same columns are counted."),
    ),
    Stage(
        name="compare-figures",
        title=_("Compare both"),
        text=_("All figures of the comparison are computed."),
    ),
)
IMPLICATE = Stage(
    name="implicate",
    title=_("Fit and draw each table"),
    text=_("Post-processing of the noisy answers; free."),
)
IMPLICATES = (WAIT, IMPLICATE)
MODELS = (
    Stage(
        name="prepare-models",
        title=_("Read the table for models"),
        text=_("Records are split into some to train on and some to test on."),
    ),
    Stage(
        name="predict",
        title=_("Train models"),
        text=_("Models are trained on real and on synthetic records, and tested on real ones."),
    ),
    Stage(
        name="cluster",
        title=_("Find clusters"),
        text=_("Clusters of both tables are compared."),
    ),
    Stage(
        name="tell",
        title=_("Tell both tables apart"),
        text=_("A model learns to tell real from synthetic records."),
    ),
)
RISKS = (
    Stage(
        name="prepare-attacks",
        title=_("Read the table for attacks"),
        text=_("Records are split into some that are attacked and some for the control."),
    ),
    Stage(
        name="single-out",
        title=_("Try to single out"),
        text=_("Combinations of values that only one record has are searched for."),
    ),
    Stage(name="link", title=_("Try to link"), text=_("Halves of records are linked.")),
    Stage(
        name="infer",
        title=_("Try to infer"),
        text=_("Single values are guessed from all others."),
    ),
    Stage(
        name="recognise",
        title=_("Try to recognise"),
        text=_("Records are searched for in the synthetic table."),
    ),
)
SHADOW = Stage(
    name="shadow",
    title=_("Make shadow models"),
    text=_("The method releases small parts of the table, with and without some records."),
)
SIMULATE = Stage(
    name="simulate",
    title=_("Simulate the noise"),
    text=_("The answers about each column are simulated from the model and the receipt."),
)
DRAW = Stage(
    name="draw",
    title=_("Draw the first rows"),
    text=_("A hundred rows are drawn from the model, the same for everybody."),
)
ASK = Stage(
    name="ask",
    title=_("Repeat the run on generated records"),
    text=_("The questions of the run are asked of records that the model generates."),
)
REFIT = Stage(
    name="refit",
    title=_("Fit them again"),
    text=_("A model is fitted to the simulated answers."),
)
MATCH = Stage(
    name="match",
    title=_("Measure the distance"),
    text=_("Its records are compared with those that the questions were asked of."),
)
RANGES = (WAIT, DRAW, SIMULATE, ASK, REFIT, MATCH)
GATHER = Stage(
    name="gather",
    title=_("Gather the noisy answers"),
    text=_("The answers that were paid for are read again, with the columns that each counts."),
)
GENERATE = Stage(
    name="generate",
    title=_("Generate records of the model"),
    text=_("They fill what no answer counts."),
)
COUNTS = (WAIT, GATHER, GENERATE)
NAMES = tuple(stage.name for stage in RUN)

TITLES = {
    stage.name: stage.title
    for stage in (*RUN, *REPORT, *MODELS, *RISKS, SHADOW, *RANGES, GATHER, GENERATE)
}


def position(name: str) -> int:
    """Where a stage stands in a run; unknown names count as the first."""
    return NAMES.index(name) if name in NAMES else 0


def title(name: str) -> str:
    """What people read for a stage, of runs and jobs alike."""
    return gettext(TITLES.get(name, name.replace("-", " ").capitalize()))
