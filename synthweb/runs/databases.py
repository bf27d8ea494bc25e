"""Runs of databases: several tables that keys connect, released together. What one costs, whether it may be
asked for, and the check of keys before it.

A key that occurs twice is refused when the files are read, which is behind the charge. So that nothing is
spent on it, keys are checked before: by a job of the confidential worker, whose counts its steward alone
sees, and without which no run is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from synth_engine.domain.database import Database
from synth_engine.errors import SpecError
from synth_engine.relational import plan as plans
from synth_engine.relational.plan import DatabasePlan
from synth_engine.spec import Spec
from synthweb.datasets import selectors
from synthweb.datasets.models import DatabaseVersion, Dataset, DomainVersion
from synthweb.datasets.services import records
from synthweb.ledger.models import BudgetAccount
from synthweb.ledger.protection import Protection
from synthweb.runs import errors, planning
from synthweb.runs.models import ReleaseRun, SynthesisRun, TableJob
from synthweb.runs.proposals import (
    DomainReader,
    NumberedTable,
    PaidRequest,
    Proposal,
    RequestTerms,
    usual_name,
)

MECHANISM = plans.MECHANISM


@dataclass(frozen=True, kw_only=True)
class CheckedKeys:
    """What a check of keys was asked about: a confirmed database, and the file of each of its tables."""

    version: int
    files: Mapping[str, str]

    @classmethod
    def now(cls, root: Dataset) -> CheckedKeys:
        """Errors: NotReady without a confirmed database, and for a table that is not read."""
        version = require_version(root)
        files = {}
        for name, code in version.datasets.items():
            dataset = Dataset.objects.get(code=code)
            if dataset.status != Dataset.Status.READY:
                raise errors.NotReady(
                    f"the table {name!r} is not read, was refused or was deleted",
                    repair="wait until its status is ready, or upload a corrected file",
                )
            files[name] = dataset.vault_name
        return cls(version=version.number, files=files)

    def to_json(self) -> dict[str, Any]:
        """The form that is stored with the job."""
        return asdict(self)


def require_version(root: Dataset) -> DatabaseVersion:
    """The description of its database in force. Errors: NotReady."""
    version = selectors.newest_database(root)
    if version is None:
        raise errors.NotReady(
            "the tables of this database are not connected yet",
            repair="say their keys and confirm",
        )
    return version


def tables_of(version: DatabaseVersion) -> dict[str, Dataset]:
    """The tables of a confirmed database, by their names."""
    return {name: Dataset.objects.get(code=code) for name, code in version.datasets.items()}


def database_of(version: DatabaseVersion) -> Database:
    """What a confirmed database says; read once in a process, because it never changes."""
    return _read(version.pk)


@lru_cache(maxsize=4)
def _read(pk: int) -> Database:
    return Database.from_json(DatabaseVersion.objects.get(pk=pk).document)


def latest_check(root: Dataset) -> TableJob | None:
    """The newest check of its keys as they and the files are now; the caller authorised. Errors: NotReady as
    `CheckedKeys.now`."""
    jobs = TableJob.objects.filter(kind=TableJob.Kind.KEYS, dataset=root)
    newest = jobs.order_by("-created_at", "-pk").first()
    asked = CheckedKeys.now(root).to_json()
    return newest if newest is not None and newest.extras == asked else None


@dataclass(frozen=True, kw_only=True)
class DatabaseRequest(PaidRequest[DatabasePlan]):
    """A release of all tables below `dataset`. A request that is sent again gets its run, even if the tables
    were confirmed once more since, or their keys are not checked any longer: it is of the tables as they were
    confirmed then."""

    own_row = ReleaseRun
    result = "release"
    filled_in = frozenset({"database", "version"})
    dataset: Dataset
    epsilon: Fraction
    delta: Fraction

    def asked(self) -> RequestTerms:
        tables = [row.dataset for row in selectors.database_tables(self.dataset)]
        return RequestTerms(
            spec=Spec(mechanism=MECHANISM, epsilon=self.epsilon, delta=self.delta),
            name=usual_name(self.dataset, "several tables", self.epsilon),
            tables=[NumberedTable(table) for table in (self.dataset, *tables[1:])],
        )

    def basis(self) -> tuple[DomainVersion, BudgetAccount]:
        """Of the root's own description. Errors: NotReady, RelationMismatch."""
        version, account = planning.basis(self.dataset)
        root = database_of(require_version(self.dataset)).root
        planning.require_protection(Protection.of_domain(root.domain), account)
        check = latest_check(self.dataset)
        if check is None or check.state != TableJob.State.FINISHED:
            raise errors.NotReady(
                "the keys of the tables were not checked, or a check found what has to be mended",
                repair="have the keys checked on the page of the tables",
            )
        return version, account

    def complete(self, spec: Spec, _version: DomainVersion, /) -> Spec:
        confirmed = require_version(self.dataset)
        stated = {"database": database_of(confirmed).digest, "version": confirmed.number}
        return replace(spec, parameters=stated)

    @classmethod
    def plan_of(cls, run: SynthesisRun, _read: DomainReader, /) -> DatabasePlan:
        """Errors: SpecError if its database is another one."""
        spec = Spec.from_json(run.spec)
        database = Database.from_json(version_of(run).document)
        if database.digest != spec.parameters["database"]:
            raise SpecError(
                "the run was submitted for another database", repair="submit it again"
            )
        return plans.plan(database, epsilon=spec.epsilon, delta=spec.delta)

    def require_together(self, run: SynthesisRun) -> None:
        version = version_of(run)
        records.require_same_units(run.dataset, database_of(version), version.datasets)


DatabaseProposal = Proposal[DatabaseRequest, DatabasePlan]


def is_of_database(run: SynthesisRun) -> bool:
    """Whether a run releases a database."""
    return bool(run.spec["mechanism"] == MECHANISM)


def version_of(run: SynthesisRun) -> DatabaseVersion:
    """The confirmed database that a run was submitted for."""
    return DatabaseVersion.objects.get(
        root=run.dataset_id, number=run.spec["parameters"]["version"]
    )
