"""An upgrade, in a process of its own: the database at DATABASE_URL is made as version 0.1 had it, its rows are put in
through the models of that time, then it is migrated to today and looked at. Prints what it found, as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import django

django.setup()

from django.core import checks  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.core.management.color import no_style  # noqa: E402
from django.db import DatabaseError, connection, models, transaction  # noqa: E402
from django.db.migrations.executor import MigrationExecutor  # noqa: E402

from synth_engine import verifier  # noqa: E402
from synthweb.audit import chain as audit_chain  # noqa: E402
from synthweb.audit import services as audit  # noqa: E402
from synthweb.audit.models import AuditEntry  # noqa: E402
from synthweb.ledger import chain  # noqa: E402
from synthweb.ledger import services as ledger  # noqa: E402
from synthweb.ledger.models import BudgetAccount, LedgerEntry  # noqa: E402
from synthweb.lib import append_only  # noqa: E402
from synthweb.releases.models import Release  # noqa: E402
from tests.web import ledger_setup  # noqa: E402

ROWS = (
    Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "released" / "0001.json"
)
OURS = ("accounts", "audit", "datasets", "ledger", "releases", "runs")


def make_old() -> None:
    """Every app of ours at its first migration, everybody else's at their last."""
    executor = MigrationExecutor(connection)
    others = [key for key in executor.loader.graph.leaf_nodes() if key[0] not in OURS]
    state = executor.migrate([*((app, "0001_initial") for app in OURS), *others])
    with connection.constraint_checks_disabled(), transaction.atomic():
        made = [_row(state.apps, facts) for facts in json.loads(ROWS.read_text())]
    with (
        connection.cursor() as cursor
    ):  # rows came with their numbers: the next ones count on from there
        for statement in connection.ops.sequence_reset_sql(
            no_style(), list(dict.fromkeys(made))
        ):
            cursor.execute(statement)


def _row(apps: Any, facts: dict[str, Any]) -> type[models.Model]:
    model: type[models.Model] = apps.get_model(facts["model"])
    row = model(pk=facts["pk"])
    for name, value in facts["fields"].items():
        field = model._meta.get_field(name)
        if not field.many_to_many:
            setattr(row, field.attname, value if field.is_relation else field.to_python(value))
    row.save_base(raw=True)  # as it stood: no time of today
    return model


def refused() -> list[str]:
    """The append-only tables whose rows cannot be changed or removed."""
    found = []
    for model in append_only.protected_models():
        table = connection.ops.quote_name(model._meta.db_table)
        for statement in (f"UPDATE {table} SET id = id + 1000", f"DELETE FROM {table}"):
            try:
                with transaction.atomic(), connection.cursor() as cursor:
                    cursor.execute(statement)
                    transaction.set_rollback(
                        True
                    )  # should nothing stop it, nothing is lost either
            except DatabaseError as error:
                if "append-only" in str(error):
                    found.append(f"{statement.split()[0]} {model._meta.label}")
    return sorted(found)


def go_on() -> list[str]:
    """Today's code writes on: a run is held and charged, the log goes on."""
    account = BudgetAccount.objects.get()
    ledger_setup.hold(account, "afterwards", (1, 0, 0))
    ledger.charge(run_code="afterwards")
    audit.record(actor="system", action="test.upgraded")
    return [*chain.verify(BudgetAccount.objects.get()).faults, *audit_chain.verify().faults]


def main() -> None:
    make_old()
    found: dict[str, Any] = {"version": connection.vendor}
    call_command("migrate", verbosity=0, interactive=False)
    found["rows"] = {
        "entries": LedgerEntry.objects.count(),
        "deeds": AuditEntry.objects.count(),
    }
    found["faults"] = [
        *chain.verify(BudgetAccount.objects.get()).faults,
        *audit_chain.verify().faults,
    ]
    found["heads"] = [chain.verify(BudgetAccount.objects.get()).head, audit_chain.verify().head]
    found["refused"] = refused()
    found["expected"] = sorted(
        f"{verb} {model._meta.label}" for model in append_only.protected_models() for verb in ("UPDATE", "DELETE")
        if model.objects.exists()
    )  # fmt: skip
    found["checks"] = [
        str(message) for message in checks.run_checks(databases=["default"], tags=["database"])
    ]
    found["receipts"] = [
        str(verifier.verify(release.receipt).epsilon) for release in Release.objects.all()
    ]
    found["after_going_on"] = go_on()
    sys.stdout.write(json.dumps(found))


main()
