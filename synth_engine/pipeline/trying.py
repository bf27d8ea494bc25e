"""Attacks and models that are tried on a synthetic and the real table, for its steward alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from synth_engine.domain import Domain
from synth_engine.errors import (
    SpecError,
    TableError,
)
from synth_engine.formats import Dialect, Kind
from synth_engine.models.model import Model
from synth_engine.pipeline.comparing import without_units
from synth_engine.pipeline.sealing import Progress, as_stage, guarded, nobody_watches, sealed
from synth_engine.sources import opening
from synth_engine.spec import Spec
from synth_engine.strict_json import JsonObject
from synth_engine.trials import attacks, record_samples, training
from synth_engine.trials.training import TrainingAim


@dataclass(frozen=True, kw_only=True, eq=False)
class GeneratedTable:
    """A synthetic table as a model generates it. rows: how many; seed: which ones."""

    model: Model
    rows: int
    seed: str

    @property
    def domain(self) -> Domain:
        """The description of the table."""
        return self.model.domain

    def records(self) -> record_samples.RecordSample:
        """Its records in random order."""
        codes = self.model.sample(self.rows, seed=self.seed)
        return record_samples.synthetic_sample(codes, self.domain)


@dataclass(frozen=True, kw_only=True)
class WrittenTable:
    """A file that claims to be synthetic, read by the description of the real one."""

    path: Path | str
    domain: Domain

    def records(self) -> record_samples.RecordSample:
        """Its records in random order."""
        public = without_units(self.domain)
        rows = opening.open_table(self.path, public)
        return record_samples.synthetic_sample(record_samples.columns_of(rows), public)


@sealed
def train_models(
    path: Path | str,
    synthetic: GeneratedTable | WrittenTable,
    *,
    aim: TrainingAim,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
    progress: Progress = nobody_watches,
) -> JsonObject:
    """The field `models` of a report: models trained on synthetic and on real records, tested on real ones:
    *not differentially private*. A column that is not there, or a table that is too small, is said in its
    `notes`."""
    progress = guarded(progress)
    rows = opening.open_table(
        path,
        synthetic.domain,
        kind=kind,
        dialect=dialect,
        progress=as_stage("prepare-models", progress),
    )
    try:
        aim.require(synthetic.domain)
        halves = record_samples.split(rows)
        return training.train(halves, synthetic.records(), aim, progress=progress)
    except (SpecError, TableError) as error:
        return {"notes": [f"No models were trained: {error.text}."]}


@sealed
def estimate_risks(
    path: Path | str,
    synthetic: GeneratedTable | WrittenTable,
    *,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
    shadowed: Spec | None = None,
    progress: Progress = nobody_watches,
) -> JsonObject:
    """The field `risks` of a report: attacks that were tried on the synthetic table: *not differentially
    private*, and lower bounds alone. A table that is too small is said in its `notes`. shadowed: the request
    of the release, of whose method shadow models are made, which takes up to minutes; None for none."""
    progress = guarded(progress)
    rows = opening.open_table(
        path,
        synthetic.domain,
        kind=kind,
        dialect=dialect,
        progress=as_stage("prepare-attacks", progress),
    )
    try:
        halves = record_samples.split(rows)
        return attacks.attack(halves, synthetic.records(), progress=progress, shadowed=shadowed)
    except TableError as error:
        return {"notes": [f"No attacks were tried: {error.text}."]}
