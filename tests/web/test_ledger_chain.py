"""Tampering is found. Each test plays an owner of the database: takes the triggers down and rewrites
history."""

from __future__ import annotations

import json
import re
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from synthweb.audit import chain as audit_chain
from synthweb.audit import services as audit
from synthweb.audit.models import AuditEntry, ChainHead
from synthweb.ledger import chain, checkpoints, selectors
from synthweb.ledger import services as ledger
from synthweb.ledger.amounts import Amount
from synthweb.ledger.models import BudgetAccount, LedgerEntry
from tests.flush import take_triggers_down
from tests.web.ledger_setup import dataset, granted, hold, people

pytestmark = pytest.mark.django_db

ENTRY, ACCOUNT, LOG = (
    model._meta.db_table for model in (LedgerEntry, BudgetAccount, AuditEntry)
)


@pytest.fixture
def account():
    """An account with a grant, a charged run, a released run and a held run: six entries."""
    who = people()
    account = granted(who, dataset(who), amount=Amount(epsilon=100, delta=50))
    for run_code, epsilon in (("run1", 10), ("run2", 20), ("run3", 30)):
        hold(account, run_code, (epsilon, 1, 0))
    ledger.charge(run_code="run1")
    ledger.release(run_code="run2", reason="Cancelled.")
    assert chain.verify(account).intact
    return account


def rewrite(sql: str) -> None:
    take_triggers_down()
    with connection.cursor() as cursor:
        cursor.execute(sql)


def found(account: BudgetAccount) -> str:
    verdict = chain.verify(account)
    return " | ".join(verdict.faults)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("kind", "'GRANT'"),
        ("epsilon", "epsilon - 1"),
        ("delta", "delta + 1"),
        ("rho", "1"),
        ("dataset_code", "'other'"),
        ("run_code", "'other'"),
        ("actor", "'nobody'"),
        ("reason", "'No reason.'"),
        ("evidence", "'0'"),
        ("at", "'2020-01-01 00:00:00+00:00'"),
        ("previous_hash", "'0'"),
        ("hash", "'0'"),
    ],
)
@pytest.mark.parametrize("sequence", [2, 6])
def test_a_changed_field_of_any_entry_is_found(account, column, value, sequence):
    rewrite(f"UPDATE {ENTRY} SET {column} = {value} WHERE sequence = {sequence}")
    assert f"entry {sequence}" in found(account)


def test_an_entry_removed_from_the_middle_is_found(account):
    rewrite(f"DELETE FROM {ENTRY} WHERE sequence = 3")
    assert "entry 4" in found(account)


def test_an_entry_removed_from_the_end_is_found_by_the_sums(account):
    rewrite(f"DELETE FROM {ENTRY} WHERE sequence = 6")
    assert "epsilon_held is 30, the entries add up to 50" in found(account)


def test_two_entries_swapped_are_found(account):
    rewrite(f"UPDATE {ENTRY} SET sequence = 99 WHERE sequence = 3")
    rewrite(f"UPDATE {ENTRY} SET sequence = 3 WHERE sequence = 4")
    rewrite(f"UPDATE {ENTRY} SET sequence = 4 WHERE sequence = 99")
    assert "entry 3" in found(account)


@pytest.mark.parametrize(
    "column",
    [f"{currency}_{part}" for currency in ("epsilon", "delta") for part in ("cap", "held")],
)
def test_a_changed_sum_is_found(account, column):
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {ACCOUNT} SET {column} = {column} + 1")
    assert f"{column} is " in found(account)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("relation", "'replace-one'"),
        ("max_records", "7"),
        ("unit_column", "'person'"),
        ("rule", "'zcdp'"),
        ("code", "'x'"),
    ],
)
def test_a_change_of_what_the_account_fixed_at_its_opening_is_found(account, column, value):
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {ACCOUNT} SET {column} = {value}")
    account.refresh_from_db()
    assert "entry 1" in found(account)


def resealed(account: BudgetAccount) -> None:
    """Somebody who knows the code recomputes every hash after the change."""
    head = chain.first_hash(account)
    for entry in LedgerEntry.objects.filter(account=account).order_by("sequence"):
        entry.previous_hash = head
        head = chain.seal(entry, account_code=account.code)
        with connection.cursor() as cursor:
            cursor.execute(
                f"UPDATE {ENTRY} SET previous_hash = %s, hash = %s WHERE id = %s",
                [entry.previous_hash, head, entry.pk],
            )


def test_a_charge_made_small_with_all_hashes_recomputed_is_found_by_the_replay(account):
    rewrite(f"UPDATE {ENTRY} SET epsilon = 1 WHERE kind = 'CHARGE'")
    resealed(account)
    assert "run run1 does not hold that amount" in found(account)


def test_a_rewritten_history_that_fits_itself_is_found_by_the_head_written_down_before(
    account, tmp_path
):
    heads = tmp_path / "heads.json"
    verify("--save", str(heads))
    rewrite(f"UPDATE {ENTRY} SET actor = 'somebody-else' WHERE kind = 'GRANT'")
    resealed(account)
    assert verify() == 0
    assert verify("--against", str(heads)) == 1


def test_a_database_set_back_to_before_a_charge_is_found_by_the_head_written_down_before(
    account, tmp_path
):
    ledger.charge(run_code="run3")
    heads = tmp_path / "heads.json"
    verify("--save", str(heads))
    rewrite(f"DELETE FROM {ENTRY} WHERE run_code = 'run3' AND kind = 'CHARGE'")
    BudgetAccount.objects.update(
        epsilon_held=30, epsilon_charged=10, delta_held=1, delta_charged=1
    )
    assert verify() == 0
    assert verify("--against", str(heads)) == 1


def test_heads_written_down_stay_good_while_the_chains_grow(account, tmp_path):
    heads = tmp_path / "heads.json"
    assert verify("--save", str(heads)) == 0
    assert set(json.loads(heads.read_text())["heads"]) == {account.code, "audit"}
    ledger.charge(run_code="run3")
    assert verify("--against", str(heads)) == 0


def verify(*arguments: str) -> int:
    try:
        call_command("verify_ledger", *arguments, stdout=StringIO(), no_color=True)
    except CommandError as error:
        return error.returncode
    return 0


def test_the_command_prints_a_verdict_and_a_head_for_each_chain(account):
    said = StringIO()
    call_command("verify_ledger", stdout=said, no_color=True)
    for name, head in (
        (account.code, chain.verify(account).head),
        ("audit", audit_chain.verify().head),
    ):
        assert re.search(
            rf"^{name} +intact +\d+ entries  head {head}$", said.getvalue(), re.MULTILINE
        )


def test_the_command_exits_1_and_names_the_broken_account(account):
    rewrite(f"UPDATE {ENTRY} SET reason = 'Changed.' WHERE sequence = 1")
    said = StringIO()
    with pytest.raises(CommandError, match=account.code) as refusal:
        call_command("verify_ledger", stdout=said, no_color=True)
    assert refusal.value.returncode == 1
    assert "entry 1: its fields do not give its hash" in said.getvalue()


@pytest.mark.parametrize("content", ["", "[]", '{"schema": "other"}'])
def test_a_file_that_holds_no_heads_is_refused(db, tmp_path, content):
    (tmp_path / "heads.json").write_text(content)
    assert verify("--against", str(tmp_path / "heads.json")) == 2


# --- the audit log ------------------------------------------------------------------------------------------
@pytest.fixture
def log(db):
    for number in range(3):
        audit.record(
            actor="system",
            action="test.done",
            target=("test", str(number)),
            detail={"number": number},
        )
    assert audit_chain.verify().intact


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("actor", "'x'"),
        ("organisation_code", "'x'"),
        ("action", "'x'"),
        ("object_kind", "'x'"),
        ("object_code", "'x'"),
        ("detail", "'{}'"),
        ("at", "'2020-01-01 00:00:00+00:00'"),
        ("previous_hash", "'0'"),
        ("hash", "'0'"),
    ],
)
def test_a_changed_field_of_the_log_is_found(log, column, value):
    rewrite(f"UPDATE {LOG} SET {column} = {value} WHERE sequence = 2")
    assert "entry 2" in " | ".join(audit_chain.verify().faults)


def test_a_log_with_its_end_cut_off_is_found(log):
    rewrite(f"DELETE FROM {LOG} WHERE sequence = 3")
    assert "cut" in audit_chain.verify().faults[0]


def test_a_log_without_its_head_is_found(log):
    ChainHead.objects.all().delete()
    assert not audit_chain.verify().intact


def test_a_log_that_was_emptied_is_found(log):
    rewrite(f"DELETE FROM {LOG}")
    assert not audit_chain.verify().intact


@pytest.mark.django_db(transaction=True)
def test_a_checkpoint_is_signed_while_its_account_is_locked(
    account: BudgetAccount, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An entry that is written after the chain was verified must not be in the balance beside it."""
    locked = []
    balance = selectors.balance

    def watched(account: BudgetAccount) -> selectors.Balance:
        locked.append(connection.in_atomic_block)
        return balance(account)

    monkeypatch.setattr(selectors, "balance", watched)
    checkpoints.of_account(account)
    assert locked == [True]
