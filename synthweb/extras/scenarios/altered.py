"""Test data: tables that are altered on purpose by a scenario, as an archive, and a small table that shows
what the scenario does.

Both read a released model or a description alone, so that they cost no privacy. A table is made by a process
of its own (`altering`), and a person waits for it: what is wrong with a scenario is known once it is applied,
and then no half archive may have gone out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import IO, Any

import pandas as pd
from django.conf import settings
from django.http import HttpRequest

from synth_engine.domain import Domain
from synth_engine.errors import InputError, SpecError
from synth_engine.extras.scenarios import engine as scenarios
from synth_engine.extras.scenarios.engine import Scenario
from synth_engine.models.model import Model
from synth_engine.privacy import receipt as receipts
from synthweb.accounts.models import User
from synthweb.audit import services as audit
from synthweb.extras.scenarios.sources import Source
from synthweb.releases import table_process
from synthweb.releases.services import LONGEST_SEED
from synthweb.releases.slots import Slot
from synthweb.releases.table_process import MOST_CELLS

SHOWN_ROWS = 10_000
"""Rows of the table that shows what a scenario does: shares are right to about one in a hundred."""
KEPT = 4  # such tables in the memory of a web process


@dataclass(frozen=True)
class BeforeAndAfter:
    """A small table of a source: as it is drawn, and how its scenario leaves it, a text in each cell."""

    domain: Domain
    before: pd.DataFrame
    after: pd.DataFrame


def most_rows() -> int:
    """Most rows of a table on this installation."""
    most: int = settings.TEST_DATA_MAX_ROWS
    return most


def make(
    *,
    user: User,
    source: Source,
    scenario: Scenario,
    rows: int,
    seed: str,
    request: HttpRequest | None = None,
) -> IO[bytes]:
    """The archive of test data, open at its beginning; it is gone once it is closed. Raises InputError,
    TooManyDrawings and TableUnfinished. The caller authorised."""
    model = source.load()
    _require(model, scenario, rows=rows, seed=seed)
    job = {
        "model": model,
        "scenario": scenario.to_json(),
        "rows": rows,
        "seed": seed,
        "description_sha256": source.description_sha256,
    }
    with Slot(user.pk):
        out = table_process.made_by("synthweb.extras.scenarios.altering", job, request=request)
    detail = {"rows": rows, "scenario": receipts.digest(scenario.to_json())}
    if source.description_sha256:
        detail["description"] = source.description_sha256
    audit.record(
        actor=user,
        action="testdata.made" if source.description_sha256 else "sample.requested",
        target=source.target,
        organisation=source.organisation,
        detail=detail,
    )
    return out


def shown(*, user: User, source: Source, scenario: Scenario | None) -> BeforeAndAfter:
    """A small table before and after the situations of a scenario that add no rows. None: before alone.
    Raises InputError where a step of these, or a fault, cannot be had, and TooManyDrawings."""
    with Slot(user.pk):
        domain, frame = _small_table(source)
    before, _ = scenarios.alter(domain, frame, Scenario(()), seed=_SEED)
    if scenario is None:
        return BeforeAndAfter(domain, before, before)
    _require_columns(domain, scenario)
    shown_steps = tuple(step for step in scenario.steps if not step.added_rows)
    after, _ = scenarios.alter(
        domain,
        frame,
        Scenario(tuple(s for s in shown_steps if s.kind.is_situation)),
        seed=_SEED,
    )
    if not all(step.kind.is_situation for step in shown_steps):
        scenarios.alter(domain, frame, Scenario(shown_steps), seed=_SEED)
    return BeforeAndAfter(domain, before, after)


_SEED = "shown"


@lru_cache(maxsize=KEPT)
def _small_table(source: Source) -> tuple[Domain, pd.DataFrame]:
    """The small table of a source as it is drawn; a model never changes, nor does its table."""
    model = Model.from_json(source.load())
    return model.domain, scenarios.draw(model, rows=SHOWN_ROWS, seed=_SEED)


def _require_columns(domain: Domain, scenario: Scenario) -> None:
    """Refuses names that are no columns, also in steps that are not applied."""
    names = {column.name for column in domain.table_columns}
    for number, step in enumerate(scenario.steps, start=1):
        for parameter in step.kind.columns:
            name = step.parameters[parameter]
            if name and name not in names:
                raise InputError(
                    f"step {number}, {step.kind.id}: {parameter!r} names no column of the table",
                    repair="take a name from its header",
                )


def _require(model: Mapping[str, Any], scenario: Scenario, *, rows: int, seed: str) -> None:
    """Refuses what one process cannot hold."""
    if not 1 <= rows <= most_rows():
        raise SpecError(
            f"rows must be a whole number from 1 to {most_rows():,}",
            repair="ask for fewer rows, or use the command line",
        )
    if not 1 <= len(seed) <= LONGEST_SEED or not seed.isprintable():
        raise SpecError(
            f"the seed is no text of 1 to {LONGEST_SEED} printable characters",
            repair="give another one",
        )
    columns = len(Domain.from_json(model["domain"]).table_columns)
    if (rows + scenario.added_rows) * columns > MOST_CELLS:
        raise SpecError(
            f"the rows and columns of the table make more than {MOST_CELLS:,} cells",
            repair="ask for fewer rows, or use the command line",
        )
