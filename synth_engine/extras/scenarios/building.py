"""Draws a table from a model and alters it by a scenario."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from synth_engine.domain import Baskets, Domain
from synth_engine.errors import InputError
from synth_engine.extras.scenarios.draft import Change, Draft, Texts
from synth_engine.extras.scenarios.scenario import Scenario
from synth_engine.models.model import Model
from synth_engine.models.weights import generator
from synth_engine.privacy import receipt
from synth_engine.strict_json import JsonObject
from synth_engine.tables import Drawing

RECORD_SCHEMA = "synth_engine/scenario-record/1"
_ALTERED = (
    "This table was altered on purpose. It is test data and no release: do not draw conclusions about "
    "people from it. "
)
STATEMENT = _ALTERED + "It was made from a model alone, so that it costs no privacy."
DESCRIBED_STATEMENT = (
    _ALTERED
    + "It was made from a description, without data: no table was read for it, so that it costs no privacy."
)
CHANGES_HEADER = ("row", "column", "step", "kind", "before", "after", "group")
MAX_ROWS = 5_000_000
"""Rows of a table: all of them are in memory at once."""


@dataclass(frozen=True, kw_only=True)
class Built:
    """A table and what is known of it. table: a text in each cell, as a file has them. changes: a line for
    each altered cell and each added row, in the order of rows; rows count from 1."""

    table: pd.DataFrame
    changes: pd.DataFrame
    record: JsonObject


def build(
    model: Model,
    scenario: Scenario,
    *,
    rows: int,
    seed: str,
    description_sha256: str = "",
) -> Built:
    """The same arguments give the same table. rows: of the table before steps add some. description_sha256:
    of the description that the model stands for; empty for the model of a release. Errors: InputError, with
    the number of the step and the column."""
    every = rows + scenario.added_rows
    if every > MAX_ROWS:
        raise InputError(
            f"the table would have more than {MAX_ROWS:,} rows",
            repair="draw fewer rows, or add fewer copies or clusters",
        )
    frame = draw(model, rows=every, seed=seed)
    table, changes = alter(model.domain, frame, scenario, seed=seed)
    return Built(
        table=table,
        changes=changes,
        record={
            "schema": RECORD_SCHEMA,
            "statement": DESCRIBED_STATEMENT if description_sha256 else STATEMENT,
            "scenario": scenario.to_json(),
            "seed": seed,
            "rows": every,
            "rows_added": scenario.added_rows,
            "model_sha256": receipt.digest(model.to_json()),
            **({"description_sha256": description_sha256} if description_sha256 else {}),
            "changes": [
                {"step": number, "kind": step.kind.id, "lines": _lines(changes, number)}
                for number, step in enumerate(scenario.steps, start=1)
            ],
        },
    )


def draw(
    model: Model,
    *,
    rows: int,
    seed: str,
) -> pd.DataFrame:
    """The table before any step, as `codec.decode` has it. Errors: InputError where the model has no columns
    to alter."""
    if any(isinstance(column, Baskets) for column in model.domain.table_columns):
        raise InputError(
            "a list of baskets has no columns to alter", repair="choose a release of a table"
        )
    drawing = Drawing(model=model, rows=rows, seed=seed)
    return pd.concat(list(drawing.blocks()), ignore_index=True)


def alter(
    domain: Domain, frame: pd.DataFrame, scenario: Scenario, *, seed: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The altered table and its changes, as in `Built`. frame: what `draw` gave; of its rows, the scenario
    replaces as many as it adds. Errors: InputError, with the number of the step and the column."""
    # Added rows stand anywhere, so that their place does not give them away.
    places = generator(seed, purpose=("scenario", "places"))
    spare = places.choice(len(frame), scenario.added_rows, replace=False)
    draft = Draft.of(domain, frame, spare=spare)
    for number, step in enumerate(scenario.steps, start=1):
        rng = generator(seed, purpose=("scenario", "step", str(number)))
        try:
            step.kind.apply(draft, step.parameters, rng, number)
        except InputError as error:
            raise InputError(
                f"step {number}, {step.kind.id}: {error.rule}",
                repair=error.repair,
                column=error.column,
            ) from None
    # As objects: texts need not be looked at again.
    table = pd.DataFrame({name: draft.now(name) for name in draft.columns}, dtype=object)
    return table, _changes(draft)


def _changes(draft: Draft) -> pd.DataFrame:
    """The log as a table."""
    parts = [
        pd.DataFrame(
            {
                "row": change.rows + 1,
                "column": _column(None, change, change.column),
                "step": change.step,
                "kind": _column(None, change, change.kind),
                "before": _column(change.before, change),
                "after": _column(change.after, change),
                "group": _column(change.groups, change),
            }
        )
        for change in draft.changes
        if len(change.rows)
    ]
    if not parts:
        return pd.DataFrame(columns=list(CHANGES_HEADER))
    # A stable sort: cells of a row in the order of the steps.
    every = pd.concat(parts, ignore_index=True)
    order = np.argsort(every["row"].to_numpy(dtype=np.int64), kind="stable")
    return every.iloc[order].reset_index(drop=True)


def _column(texts: Texts | None, change: Change, otherwise: str = "") -> pd.Series:
    """The texts, or one text for every row."""
    given = np.full(len(change.rows), otherwise, dtype=object) if texts is None else texts
    return pd.Series(given, dtype=object)


def _lines(changes: pd.DataFrame, step: int) -> int:
    return int((changes["step"] == step).sum())
