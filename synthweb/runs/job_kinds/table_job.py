"""Free work that opens a table: reading an upload, comparing a release with the real table, and checking the
keys of a database.

What it makes is for the steward alone and goes to the preview store, which has no fence: a worker that lost
its lease must not overwrite what its successor has stored.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.db import transaction

from synth_engine import mechanisms, pipeline
from synth_engine.domain import Domain
from synth_engine.domain.database import Database
from synth_engine.errors import InputError, PrivacyError, SynthError, TableError
from synth_engine.relational import files as database_files
from synth_engine.spec import Spec
from synthweb.datasets import preview_store
from synthweb.datasets import services as datasets
from synthweb.datasets.models import DatabaseVersion, Preview
from synthweb.releases import databases as released_databases
from synthweb.releases.models import Release
from synthweb.runs import databases, leases, opened, stages
from synthweb.runs.extras import Extras
from synthweb.runs.failures import failure_of
from synthweb.runs.models import TableJob
from synthweb.runs.turns import Failure, Job

REPORT_ROWS = 1_000_000  # of the synthetic table in a comparison; more rows change nothing that can be seen
READING_FAILED: dict[str, str | int | None] = {
    "rule": "the worker could not read the table",
    "repair": "upload it again",
    "column": None,
    "line": None,
}


class TableWork(Job[TableJob]):
    """A failure that may pass is left to the reconciler, a few times."""

    model = TableJob
    word = "table job"

    def do(self) -> None:
        self.progress(stages.OPEN.name, 0.0)
        job = self.row
        match job.kind:
            case TableJob.Kind.INGEST:
                _ingest(self)
            case TableJob.Kind.KEYS:
                _check_keys(self)
            case _ if job.release is not None and _is_of_database(job.release):
                _report_database(self, job.release)
            case _:
                _report(self)

    def failure(self, error: Exception) -> Failure:
        return failure_of(error)

    def stopped(self, error: Exception) -> None:
        """What will fail again the same way ends now; anything else waits until the reconciler sends it
        again."""
        if isinstance(error, SynthError) or self.row.attempts >= self.max_attempts:
            super().stopped(error)
        else:
            leases.relinquish(self.lease)

    def record_failure(self, failure: Failure) -> None:
        _end(self, failure=failure)


def _is_of_database(release: Release) -> bool:
    return release.mechanism == databases.MECHANISM


def _ingest(job: TableWork) -> None:
    """Preview and suggestions for the steward, or the refusal that says line, column, rule and repair."""
    dataset, form = job.row.dataset, opened.form_of(job.row.dataset)
    try:
        with opened.tables({"": dataset}) as files:
            path = files.path
            form["dialect"] = form["dialect"] or pipeline.detect(path, kind=form["kind"])
            if form["dialect"] is not None and form["dialect"].asked:
                # Stored before the reading, which refuses a table as long as its form is asked
                # about: the steward answers from these lines.
                seen = pipeline.evidence(path, kind=form["kind"], dialect=form["dialect"])
                preview_store.put(dataset, Preview.Kind.TABLE, preview_store.FORM, seen)
            reading = pipeline.ingest(path, **form, progress=job.progress)
    except InputError as error:
        guessed = form["dialect"].to_json() if form["dialect"] else None
        return _end(job, refusal=error.as_dict(), dialect=guessed)
    job.progress.check()
    preview_store.put(dataset, Preview.Kind.TABLE, "", reading)
    preview_store.put(dataset, Preview.Kind.COLUMNS, "", {"columns": reading["columns"]})
    return _end(job, dialect=reading["dialect"])


def _report(job: TableWork) -> None:
    """A release compared with the real table, as it was when the release was made: not private, for stewards
    alone, short-lived."""
    dataset, release, progress = job.row.dataset, job.row.release, job.progress
    if release is None:
        raise PrivacyError("a comparison without a release")
    extras = Extras.of(job.row.extras)
    generated = pipeline.GeneratedTable(
        model=mechanisms.Model.from_json(release.model),
        rows=max(1, min(release.sample_rows, REPORT_ROWS)),
        # Fixed, so that asking again compares the same synthetic rows with the table.
        seed=f"report/{release.code}",
    )
    with opened.tables({"": dataset}, release.run_code) as files:
        path, form = files.path, files.form
        report = pipeline.report(
            path,
            **form,
            model=generated.model,
            rows=generated.rows,
            seed=generated.seed,
            described=Domain.from_json(release.domain_version.document),
            progress=progress,
        )
        if extras.models:
            aim = pipeline.TrainingAim(target=extras.target, protected=extras.protected)
            report["models"] = pipeline.train_models(
                path, generated, aim=aim, **form, progress=progress
            )
        if extras.risks or extras.shadows:
            shadowed = Spec.from_json(release.release_run.run.spec) if extras.shadows else None
            report["risks"] = pipeline.estimate_risks(
                path, generated, shadowed=shadowed, **form, progress=progress
            )
    _keep_report(job, release, report)


def _keep_report(job: TableWork, release: Release, report: Mapping[str, Any]) -> None:
    job.progress.check()
    preview_store.put(job.row.dataset, Preview.Kind.REPORT, release.code, report)
    _end(job)


def _check_keys(job: TableWork) -> None:
    """Faults of the keys of a database, for its steward alone; the job fails of what a run would refuse."""
    root, progress = job.row.dataset, job.progress
    version = DatabaseVersion.objects.get(root=root, number=job.row.extras["version"])
    database = Database.from_json(version.document)
    with opened.tables(databases.tables_of(version)) as files:
        pipeline.require_database(files, database=database)
        faults = pipeline.key_faults(files, database=database, progress=progress)
    progress.check()
    counted = {name: asdict(each) for name, each in faults.items()}
    preview_store.put(root, Preview.Kind.KEYS, "", {"tables": counted})
    repeated = next((name for name, each in faults.items() if each.repeated), None)
    if repeated is None:
        return _end(job)
    error = TableError(
        f"table {repeated!r} has a key more than once, or rows without one",
        repair="give each row a key of its own, or name the column of the table's unique keys",
        column=database.table(repeated).key,
    )
    return job.fail({"code": "input", "text": error.text})


def _report_database(job: TableWork, release: Release) -> None:
    """A released database compared with the real one over joins: not private, for stewards alone,
    short-lived."""
    version = databases.version_of(release.release_run.run)
    model = released_databases.model_of(release)
    frames = model.tables(
        released_databases.units_of(release, None), seed=f"report/{release.code}"
    )
    with (
        tempfile.TemporaryDirectory() as folder,
        opened.tables(databases.tables_of(version), release.run_code) as files,
    ):
        generated = Path(folder) / "generated"
        database_files.write(model.database, frames, generated)
        report = pipeline.compare_databases(files, generated, database=model.database)
    _keep_report(job, release, report)


@transaction.atomic
def _end(
    job: TableWork,
    *,
    refusal: dict[str, str | int | None] | None = None,
    dialect: Mapping[str, object] | None = None,
    failure: Failure | None = None,
) -> None:
    """The job's end and, for an upload, what became of the dataset, in one fenced transaction."""
    state = TableJob.State.FAILED if failure else TableJob.State.FINISHED
    job.end(state=state, failure=failure, progress=1.0)
    if job.row.kind != TableJob.Kind.INGEST:
        return
    # Without a refusal the dataset would look like one that still waits for a worker.
    refusal = READING_FAILED if failure else refusal
    if refusal:
        datasets.mark_refused(dataset=job.row.dataset, refusal=refusal, dialect=dialect)
    else:
        datasets.mark_ready(dataset=job.row.dataset, dialect=dialect)
