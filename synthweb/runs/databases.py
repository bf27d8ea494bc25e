"""Runs of databases: several tables that keys connect, released together. What one costs, whether it may be asked for, and the check
of keys before it.

A key that occurs twice is refused when the files are read, which is behind the charge. So that nothing is spent on it, keys are
checked before: by an errand of the confidential worker, whose counts its steward alone sees, and without which no run is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from synth_engine.domain.database import Database
from synth_engine.errors import SpecError
from synth_engine.relational import plan as plans
from synth_engine.relational.plan import DatabasePlan
from synth_engine.spec import Spec
from synthweb.datasets import selectors
from synthweb.datasets.models import DatabaseVersion, Dataset
from synthweb.datasets.services import records
from synthweb.ledger.protection import Protection
from synthweb.runs import errors, planning
from synthweb.runs.models import SynthesisRun, TableErrand
from synthweb.runs.proposals import PaidRequest, Proposal

MECHANISM = plans.MECHANISM


class DatabaseProposal(Proposal[DatabasePlan]):
    """A release of a database that may be asked for. version: of the root's own description."""

    def require_together(self, run: SynthesisRun) -> None:
        version = version_of(run)
        records.require_same_units(run.dataset, database_of(version), version.datasets)


@dataclass(frozen=True, kw_only=True)
class DatabaseRequest(PaidRequest[DatabaseProposal]):
    """A release of all tables below `dataset`."""

    dataset: Dataset
    epsilon: Fraction
    delta: Fraction

    def propose(self) -> DatabaseProposal:
        return propose(dataset=self.dataset, epsilon=self.epsilon, delta=self.delta)

    def is_of(self, run: SynthesisRun) -> bool:
        # It is of the tables as they were confirmed then: whoever sends a request again gets its run, even if they
        # were confirmed once more since, or their keys are not checked any longer.
        spec = Spec.from_json(run.spec)
        stated = (run.dataset_id, spec.mechanism, spec.epsilon, spec.delta)
        return stated == (self.dataset.pk, MECHANISM, self.epsilon, self.delta)


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
        """The form that is stored with the errand."""
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


def latest_check(root: Dataset) -> TableErrand | None:
    """The newest check of its keys as they and the files are now; the caller authorised. Errors: NotReady as `CheckedKeys.now`."""
    errands = TableErrand.objects.filter(kind=TableErrand.Kind.KEYS, dataset=root)
    newest = errands.order_by("-created_at", "-pk").first()
    asked = CheckedKeys.now(root).to_json()
    return newest if newest is not None and newest.extras == asked else None


def propose(*, dataset: Dataset, epsilon: Fraction, delta: Fraction) -> DatabaseProposal:
    """Plan a release of the database below `dataset`. Errors: NotReady, SpecError, DomainError, RelationMismatch."""
    version, account = planning.basis(dataset)
    confirmed = require_version(dataset)
    database = database_of(confirmed)
    planning.require_protection(Protection.of_domain(database.root.domain), account)
    check = latest_check(dataset)
    if check is None or check.state != TableErrand.State.FINISHED:
        raise errors.NotReady(
            "the keys of the tables were not checked, or a check found what has to be mended",
            repair="have the keys checked on the page of the tables",
        )
    plan = plans.plan(database, epsilon=epsilon, delta=delta)
    _root, *others = (row.dataset for row in selectors.database_tables(dataset))
    return DatabaseProposal(
        dataset=dataset,
        account=account,
        version=version,
        spec=Spec(
            mechanism=MECHANISM,
            epsilon=epsilon,
            delta=delta,
            parameters={"database": database.digest, "version": confirmed.number},
        ),
        plan=plan,
        price=planning.price_of(plan, account),
        name=planning.usual_name(dataset, "several tables"),
        others=tuple(others),
    )


def is_of_database(run: SynthesisRun) -> bool:
    """Whether a run releases a database."""
    return bool(run.spec["mechanism"] == MECHANISM)


def version_of(run: SynthesisRun) -> DatabaseVersion:
    """The confirmed database that a run was submitted for."""
    return DatabaseVersion.objects.get(
        root=run.dataset_id, number=run.spec["parameters"]["version"]
    )


def replan(run: SynthesisRun) -> DatabasePlan:
    """The plan of a run that was submitted earlier. Errors: SpecError if its database is another one."""
    spec = Spec.from_json(run.spec)
    database = Database.from_json(version_of(run).document)
    if database.digest != spec.parameters["database"]:
        raise SpecError("the run was submitted for another database", repair="submit it again")
    return plans.plan(database, epsilon=spec.epsilon, delta=spec.delta)
