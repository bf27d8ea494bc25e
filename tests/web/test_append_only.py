"""What is written once stays as it was written: in Python, in SQL, after migrations, on both databases."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import IntegrityError, connection, models, transaction

from synthweb.audit import services as audit
from synthweb.audit.models import AuditEntry
from synthweb.datasets.models import (
    DatabaseVersion,
    DomainBasis,
    DomainVersion,
    LearnedDescription,
    LearnedMark,
)
from synthweb.ledger.models import (
    BudgetApproval,
    BudgetRequest,
    Coverage,
    Earmark,
    EarmarkEnd,
    EarmarkUse,
    GrantPolicy,
    LedgerEntry,
    PlanRule,
    PublicationPlan,
    YearlyLimit,
)
from synthweb.lib import append_only
from synthweb.lib.errors import AppendOnlyViolation
from synthweb.releases.models import CheckMark, PaidCheck, Release, ReleaseMark
from synthweb.runs.models import Link, LinkSide, LinkSideMark
from tests.flush import take_triggers_down
from tests.web.ledger_setup import dataset, granted, people

TABLES = [
    AuditEntry,
    LedgerEntry,
    DomainVersion,
    DomainBasis,
    LearnedDescription,
    LearnedMark,
    DatabaseVersion,
    Coverage,
    BudgetApproval,
    GrantPolicy,
    YearlyLimit,
    Earmark,
    EarmarkEnd,
    EarmarkUse,
    PlanRule,
    PublicationPlan,
    ReleaseMark,
    CheckMark,
    LinkSideMark,
]


@pytest.fixture
def written(db):
    who = people()
    granted(who, dataset(who))
    GrantPolicy.objects.create(organisation=who.organisation, actor="system")
    BudgetApproval.objects.create(
        request=BudgetRequest.objects.get(), custodian=who.custodian, reason="Agreed."
    )
    account = Coverage.objects.get().account
    YearlyLimit.objects.create(account=account, actor="system")
    earmark = Earmark.objects.create(account=account, purpose="Later", actor="system")
    EarmarkEnd.objects.create(earmark=earmark, actor="system")
    EarmarkUse.objects.create(earmark=earmark, run_code="a")
    plan = PublicationPlan.objects.create(account=account, name="Yearly", actor="system")
    PlanRule.objects.create(plan=plan, first_year=2031, remainder="free", actor="system")
    version = DomainVersion.objects.get()
    DomainBasis.objects.create(version=version)
    learned = LearnedDescription.objects.create(
        dataset=version.dataset, version=version, run_code="a", learned={}, receipt={}
    )
    LearnedMark.objects.create(
        learned=learned, sequence=1, kind=LearnedMark.Kind.OUTSIDE, hash="0" * 64, document={}
    )
    DatabaseVersion.objects.create(
        root=version.dataset, number=1, document={}, datasets={}, confirmed_by=who.steward
    )
    release = Release.objects.create(
        dataset=version.dataset,
        account=Coverage.objects.get().account,
        domain_version=version,
        run_code="run",
        name="Release",
        mechanism="independent",
        epsilon=1,
        delta=0,
        rows=1,
        sample_rows=1,
        receipt={},
        model={},
        created_by=who.steward,
    )
    ReleaseMark.objects.create(
        release=release, sequence=1, kind=ReleaseMark.Kind.LOOKED, hash="0" * 64, document={}
    )
    check = PaidCheck.objects.create(
        release=release,
        run_code="check",
        name="Check",
        epsilon=1,
        receipt={},
        figures=[],
        created_by=who.steward,
    )
    CheckMark.objects.create(
        paid_check=check, sequence=1, kind=CheckMark.Kind.VOID, hash="0" * 64, document={}
    )
    link = Link.objects.create(name="Link", invitation="0" * 64, rows=1)
    side = LinkSide.objects.create(
        link=link,
        side="left",
        dataset=version.dataset,
        domain_version=version,
        account=account,
        steward=who.steward,
        epsilon="1",
    )
    LinkSideMark.objects.create(
        link_side=side, sequence=1, kind=LinkSideMark.Kind.OUTSIDE, hash="0" * 64, document={}
    )
    assert all(model.objects.exists() for model in TABLES)


def problems() -> list[str]:
    found = append_only.check_triggers(app_configs=None, databases=["default"])
    return [message.id for message in found]


def run(sql: str) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql)


def test_the_append_only_tables_are_these():
    assert set(append_only.protected_models()) == set(TABLES)


@pytest.mark.parametrize("model", TABLES, ids=lambda model: model.__name__)
@pytest.mark.parametrize(
    "sql",
    ["UPDATE {table} SET id = id + 1000", "UPDATE {table} SET id = id", "DELETE FROM {table}"],
)
def test_direct_sql_is_refused(written, model, sql):
    before = list(model.objects.values())
    with pytest.raises(IntegrityError, match="append-only"):
        run(sql.format(table=model._meta.db_table))
    assert list(model.objects.values()) == before


@pytest.mark.parametrize("model", TABLES, ids=lambda model: model.__name__)
def test_rows_cannot_be_replaced_or_truncated(written, model):
    table = model._meta.db_table
    before = list(model.objects.values())
    if connection.vendor == "sqlite":
        sql = f"INSERT OR REPLACE INTO {table} SELECT * FROM {table}"
    else:
        run(
            "SET CONSTRAINTS ALL IMMEDIATE"
        )  # no foreign key may still wait to be checked when TRUNCATE comes
        sql = f"TRUNCATE {table} CASCADE"
    with pytest.raises(IntegrityError, match="append-only"):
        run(sql)
    assert list(model.objects.values()) == before


@pytest.mark.parametrize("model", TABLES, ids=lambda model: model.__name__)
def test_an_upsert_is_refused(written, model):
    table = model._meta.db_table
    with pytest.raises(IntegrityError, match="append-only"):
        run(
            f"INSERT INTO {table} SELECT * FROM {table} WHERE true ON CONFLICT (id) DO UPDATE SET id = "
            "excluded.id"
        )


@pytest.mark.parametrize("model", TABLES, ids=lambda model: model.__name__)
def test_python_is_refused_before_it_reaches_the_database(written, model):
    row = model.objects.first()
    for change in (
        row.save,
        row.delete,
        model.objects.all().delete,
        lambda: model.objects.update(id=1),
        lambda: model.objects.bulk_update([row], ["id"]),
        lambda: model.objects.update_or_create(id=row.pk),
    ):
        with pytest.raises(AppendOnlyViolation, match="append-only"):
            change()


def test_the_check_is_content_with_a_migrated_database(db):
    assert problems() == []


@pytest.mark.parametrize("model", TABLES, ids=lambda model: model.__name__)
def test_the_check_notices_a_missing_trigger_and_installing_mends_it(db, model):
    take_triggers_down(tables={model._meta.db_table})
    assert problems() == ["synthweb.E001"]
    append_only.install()
    append_only.install()
    assert problems() == []


def test_the_check_belongs_to_the_database_checks(db):
    take_triggers_down(tables={AuditEntry._meta.db_table})
    with pytest.raises(SystemCheckError, match=r"synthweb\.E001"):
        call_command("check", "--database", "default")


def test_the_check_notices_when_sqlite_would_not_tell_a_trigger_about_replace(db):
    if connection.vendor != "sqlite":
        assert problems() == []
        return
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA recursive_triggers=OFF")
        try:
            assert problems() == ["synthweb.E002"]
        finally:
            cursor.execute("PRAGMA recursive_triggers=ON")


@pytest.mark.django_db(transaction=True)
def test_a_table_that_a_migration_remakes_is_protected_again():
    audit.record(actor="system", action="test.written")
    field = models.CharField(max_length=5, default="")
    field.set_attributes_from_name("extra")
    try:
        with connection.schema_editor() as editor:
            if connection.vendor == "sqlite":
                editor._remake_table(AuditEntry, create_field=field)
            else:
                editor.add_field(AuditEntry, field)
        call_command("migrate", verbosity=0, skip_checks=True)
        assert problems() == []
        with pytest.raises(IntegrityError):
            run(f"DELETE FROM {AuditEntry._meta.db_table}")
    finally:
        with connection.schema_editor() as editor:
            editor.remove_field(AuditEntry, field)
        append_only.install()
