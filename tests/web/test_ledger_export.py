"""What auditors take away: exports, signed checkpoints, and the program that checks both with nothing but
Python."""

from __future__ import annotations

import copy
import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from synthweb.audit import chain as audit_chain
from synthweb.audit import services as audit
from synthweb.ledger import chain, checkpoints, export, verify_ledger
from synthweb.ledger import services as ledger
from synthweb.ledger.amounts import Amount
from synthweb.ledger.models import BudgetAccount, Rule
from synthweb.lib import signatures
from synthweb.local import keys
from tests.flush import take_triggers_down
from tests.web import ledger_setup as setup
from tests.web.rest import Caller

AWKWARD = "=1+1, 'quoted' \"twice\",\r\nanother line; ε ≤ 1"


@pytest.fixture
def who(cast: Any) -> setup.People:
    return setup.People(
        cast.organisation, cast.steward, cast.custodian, cast.analyst, cast.auditor
    )


@pytest.fixture
def account(who: setup.People) -> BudgetAccount:
    """Five entries, with a reason that is hard to write into a file."""
    made = setup.dataset(who)
    asked = setup.asked(who, made, amount=Amount(epsilon=4 * 10**9, delta=10**9))
    account = ledger.grant(custodian=who.custodian, request=asked, reason=AWKWARD).account
    setup.hold(account, "abcd234567", (10**9, 3, 0), reason="'starts with an apostrophe")
    ledger.charge(run_code="abcd234567")
    setup.hold(account, "efgh234567", (5 * 10**8, 0, 0))
    ledger.release(run_code="efgh234567", reason="Cancelled.")
    return account


@pytest.fixture
def take(
    cast: Any, browser: Callable[..., Client], account: BudgetAccount, tmp_path: Path
) -> Callable[..., Path]:
    """Download something of the account as the auditor does; gives the file."""

    def download(name: str, *arguments: str, **query: str) -> Path:
        answer = browser(cast.auditor).get(reverse(f"ledger:{name}", args=arguments), query)
        assert answer.status_code == 200, answer
        path = tmp_path / answer["Content-Disposition"].split('"')[1]
        path.write_bytes(
            b"".join(answer.streaming_content) if answer.streaming else answer.content
        )
        return path

    return download


def check(*arguments: object) -> tuple[int, str]:
    """The program as an auditor runs it: a file of its own, in an interpreter that knows none of our
    packages."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


# --- exports ------------------------------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["json", "csv"])
def test_a_download_is_checked_by_the_downloaded_program_against_the_downloaded_head(
    take, account, kind
):
    program, table = take("checker"), take("entries", account.code, kind)
    head, key = take("head", account.code), take("public-key")
    code, said = check(program, table, "--head", head, "--key", key)
    assert code == 0, said
    assert (
        "Intact: 5 entries, all of the chain."
        if kind == "json"
        else "Intact: 5 entries from the first on"
    ) in said
    assert "epsilon: granted 4, held 0, charged 1, free 3" in said
    assert "delta: granted 1e-9, held 0, charged 3e-18, free 9.99999997e-10" in said
    assert "holds the signed checkpoint, entry 5" in said


@pytest.mark.parametrize("kind", ["json", "csv"])
@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("apostrophe", "apostrophy", "entry 2: its fields do not give its hash"),
        ("abcd234567", "abcd234568", "entry 2: its fields do not give its hash"),
        ("Cancelled.", "Cancelled!", "entry 5: its fields do not give its hash"),
    ],
)
def test_a_changed_export_is_found(take, account, capsys, kind, old, new, fault):
    table = take("entries", account.code, kind)
    table.write_bytes(table.read_bytes().replace(old.encode(), new.encode()))
    assert verify_ledger.main([str(table)]) == 1
    assert fault in capsys.readouterr().out


def changed(
    take: Callable[..., Path], account: BudgetAccount, change: Callable[[dict[str, Any]], None]
) -> Path:
    table = take("entries", account.code, "json")
    document = json.loads(table.read_text())
    change(document)
    table.write_text(json.dumps(document))
    return table


def rehash(document: dict[str, Any]) -> None:
    """What somebody with the rule of the hashes could do to a file."""
    head = document["first_hash"]
    for number, entry in enumerate(document["entries"], start=1):
        entry["covered"] |= {"previous_hash": head, "sequence": number}
        head = entry["hash"] = verify_ledger.digest(entry["covered"])
    document |= {"length": len(document["entries"]), "head": head}


def without(*numbers: int, forged: bool = False) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        document["entries"] = [
            entry
            for entry in document["entries"]
            if entry["covered"]["sequence"] not in numbers
        ]
        if forged:
            rehash(document)

    return change


def shorter(document: dict[str, Any]) -> None:
    """Without its third entry, and with the length that it then has."""
    without(3)(document)
    document["length"] = 4


def cheaper(document: dict[str, Any]) -> None:
    document["entries"][2]["covered"]["epsilon"] = 1
    rehash(document)


def dearer(document: dict[str, Any]) -> None:
    for entry in document["entries"][1:3]:
        entry["covered"]["epsilon"] = 10**10
    rehash(document)


def held_again(number: int) -> Callable[[dict[str, Any]], None]:
    """The hold of this entry a second time, after its run was charged or released."""

    def change(document: dict[str, Any]) -> None:
        document["entries"].append(copy.deepcopy(document["entries"][number - 1]))
        rehash(document)

    return change


def of_another_unit(document: dict[str, Any]) -> None:
    document["account"]["max_records"] = 2


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (without(5), "missing: entries 5,"),
        (without(3), "missing: entries 3,"),
        (without(1), "missing: entries 1,"),
        (without(1, 3, 4), "missing: entries 1, 3 to 4,"),
        (without(1, 2, 3, 4, 5), "missing: entries 1 to 5,"),
        (shorter, "missing: entries 3,"),
        (cheaper, "entry 3: run abcd234567 does not hold that amount"),
        (dearer, "entry 2: more is held and charged than was granted"),
        (held_again(2), "entry 6: run abcd234567 holds a second time"),
        (held_again(4), "entry 6: run efgh234567 holds a second time"),
        (of_another_unit, "not that of the account's identity"),
        (lambda document: document["entries"].reverse(), "out of order"),
    ],
)
def test_an_export_that_does_not_add_up_is_found(take, account, capsys, change, fault):
    assert verify_ledger.main([str(changed(take, account, change))]) == 1
    assert fault in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (without(4, 5, forged=True), "the end was cut off or filtered out"),
        (without(2, 3, forged=True), "the end was cut off or filtered out"),
        (
            lambda document: (
                document["entries"][0]["covered"].update(reason="x"),
                rehash(document),
            ),
            "was rewritten",
        ),
    ],
)
def test_a_chain_that_was_wholly_rewritten_is_found_by_the_head_kept_elsewhere(
    take, account, capsys, change, fault
):
    head = take("head", account.code)
    table = changed(take, account, change)
    assert verify_ledger.main([str(table)]) == 0  # alone, it cannot be told from a true one
    assert verify_ledger.main([str(table), "--head", str(head)]) == 1
    assert fault in capsys.readouterr().out


def test_a_longer_chain_still_holds_an_older_head(take, account, capsys):
    head = take("head", account.code)
    setup.hold(account, "ijkl234567", (1, 0, 0))
    assert (
        verify_ledger.main([str(take("entries", account.code, "json")), "--head", str(head)])
        == 0
    )
    assert "holds the signed checkpoint, entry 5" in capsys.readouterr().out


def test_what_spreadsheets_would_take_for_more_comes_back_exactly(take, account):
    rows = list(
        csv.DictReader(
            io.StringIO(take("entries", account.code, "csv").read_text("utf-8-sig"), newline="")
        )
    )
    assert rows[0]["reason"].startswith("'=1+1")
    read = verify_ledger.read(str(take("entries", account.code, "csv")))["entries"]
    assert read[0]["covered"]["reason"].replace("\r\n", "\n") == AWKWARD.replace("\r\n", "\n")
    assert read == verify_ledger.read(str(take("entries", account.code, "json")))["entries"]


@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_every_text_survives_the_csv(text):
    covered = {"sequence": 1, "reason": text, "account": "a"}
    lines = "".join(
        export._csv(("sequence", "reason", "account", "hash"), [(covered, "h")], cells=dict)
    )
    row = next(csv.DictReader(io.StringIO(lines.removeprefix("\ufeff"), newline="")))
    assert verify_ledger._from_row(row)["covered"]["reason"] == text
    assert not row["reason"].startswith(("=", "+", "-", "@", "\t", "\r"))


# --- filters ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["json", "csv"])
@pytest.mark.parametrize(
    ("query", "numbers", "gaps"),
    [
        ({"kind": "HOLD"}, [2, 4], "1, 3"),
        ({"actor": "custodian"}, [1], ""),
        ({"run": "efgh234567"}, [4, 5], "1 to 3"),
        ({"since": "2020-01-01", "until": "9999-12-31"}, [1, 2, 3, 4, 5], ""),
        ({"until": "2020-01-01"}, [], ""),
    ],
)
def test_filters_narrow_the_export_which_still_verifies_as_far_as_it_goes(
    take, account, capsys, kind, query, numbers, gaps
):
    table = take("entries", account.code, kind, **query)
    found = [
        entry["covered"]["sequence"] for entry in verify_ledger.read(str(table))["entries"]
    ]
    assert found == numbers
    # A CSV does not say that it is filtered: a gap does, and without one it is the beginning of a chain.
    part = kind == "json" or bool(gaps)
    assert verify_ledger.main([str(table)]) == (3 if part else 0)
    said = capsys.readouterr().out
    assert "all of the chain." not in said
    assert ("NOT the whole chain" if part else "whether more follow") in said
    assert not gaps or f"missing: entries {gaps}" in said


# --- all accounts and the audit log in one file -------------------------------------------------------------
@pytest.fixture
def everything(take: Callable[..., Path], account: BudgetAccount, who: setup.People) -> Path:
    """Of two accounts, and of a log in which another organisation has entries between those of this one."""
    other = setup.dataset(who, name="Other")
    audit.record(
        actor="system",
        action="user.signed_in",
        target=("user", "1"),
        organisation="elsewhere99",
    )
    setup.granted(who, other)
    return take("everything")


def document_of(file: Path) -> dict[str, Any]:
    return dict(json.loads(file.read_text()))


def test_one_verdict_is_given_on_all_accounts_and_the_audit_log(
    everything, take, account, capsys
):
    document, key, head = document_of(everything), take("public-key"), take("audit-head")
    assert len(document["accounts"]) == 2
    numbers = [entry["covered"]["sequence"] for entry in document["audit"]["entries"]]
    assert len(numbers) < numbers[-1]  # there is a gap, of the other organisation
    assert "elsewhere99" not in everything.read_text()
    older = take("head", account.code)
    heads = ("--head", str(older), "--head", str(head))
    assert verify_ledger.main([str(everything), "--key", str(key), *heads]) == 0
    said = capsys.readouterr().out
    assert "everything that was signed is there" in said
    assert f"{account.code}: Intact: 5 entries, all of the chain." in said
    assert "epsilon: granted 4, held 0, charged 1, free 3" in said
    # The log of one organisation alone has a gap that nobody explains.
    assert verify_ledger.main([str(take("audit-entries", "json"))]) == 3


def no_account(document: dict[str, Any]) -> None:
    del document["accounts"][0]


def twice(document: dict[str, Any]) -> None:
    document["accounts"].append(document["accounts"][0])


def renamed(document: dict[str, Any]) -> None:
    document["accounts"][0]["account"]["account"] = "another"


def gap_in_account(document: dict[str, Any]) -> None:
    without(3)(document["accounts"][0])


def gap_called_filter(document: dict[str, Any]) -> None:
    without(3)(document["accounts"][0])
    document["accounts"][0]["filters"] = {"kind": "HOLD"}


def cut_account(document: dict[str, Any]) -> None:
    """The end of a chain, and what the file says of it."""
    export = document["accounts"][0]
    without(5)(export)
    export |= {"length": 4, "head": export["entries"][-1]["hash"]}


def gap_in_log(document: dict[str, Any]) -> None:
    del document["audit"]["entries"][2]


def cut_log(document: dict[str, Any]) -> None:
    del document["audit"]["entries"][-1]


def rewritten_log(document: dict[str, Any]) -> None:
    """The last entry, with a hash that fits."""
    entry = document["audit"]["entries"][-1]
    entry["covered"]["actor"] = "somebody"
    entry["hash"] = verify_ledger.digest(entry["covered"])


def fewer_signed(document: dict[str, Any]) -> None:
    del document["signed"]["statement"]["accounts"][0]
    no_account(document)


FAULTS = {
    no_account: "it is not in the file",
    twice: "in the file more than once",
    renamed: "account another is not among those that were signed",
    gap_in_account: "missing: entries 3",
    gap_called_filter: "says that it is filtered",
    cut_account: "missing: entries 5",
    gap_in_log: "audit log: missing: entries ",
    cut_log: "audit log: missing: entries ",
    rewritten_log: "audit log: its entries are not those that were signed",
    fewer_signed: "the signature does not fit",
}


@pytest.mark.parametrize(
    ("change", "fault"), FAULTS.items(), ids=lambda each: getattr(each, "__name__", "")
)
def test_whatever_is_missing_or_changed_in_it_is_found(everything, capsys, change, fault):
    document = document_of(everything)
    document["accounts"].sort(key=lambda export: -export["length"])
    change(document)
    everything.write_text(json.dumps(document))
    assert verify_ledger.main([str(everything)]) == 1
    said = capsys.readouterr().out
    assert "NOT INTACT: " in said and fault in said
    assert "everything that was signed is there" not in said


def test_an_account_that_was_set_back_is_found_by_a_head_kept_elsewhere(
    everything, take, account, capsys
):
    setup.hold(account, "ijkl234567", (1, 0, 0))
    newer = take("head", account.code)
    assert verify_ledger.main([str(everything), "--head", str(newer)]) == 1
    assert (
        f"account {account.code}: the signed checkpoint is entry 6" in capsys.readouterr().out
    )


def test_a_file_that_grows_while_it_is_read_has_what_was_signed(cast, account, tmp_path):
    answer = export.of_everything(cast.auditor)
    setup.hold(account, "ijkl234567", (1, 0, 0))
    audit.record(actor=cast.auditor, action="user.signed_in", organisation=cast.organisation)
    file = tmp_path / "all.json"
    file.write_bytes(b"".join(answer.streaming_content))
    assert verify_ledger.main([str(file)]) == 0


def test_programs_take_the_audit_log_and_everything_by_rest(cast, account, tmp_path):
    calls = Caller(cast.auditor, "read")
    for name, code in (
        ("ledger-and-audit.json", {0}),
        ("entries.json", {0, 3}),
        ("entries.csv", {0, 3}),
    ):
        answer = calls.get(f"/audit/{name}")
        assert answer.status_code == 200
        file = tmp_path / name
        file.write_bytes(b"".join(answer.streaming_content))
        assert verify_ledger.main([str(file)]) in code


def test_the_page_narrows_like_the_export_and_keeps_the_filter_while_paging(
    cast, browser, account
):
    for number in range(60):
        setup.hold(account, f"run{number:07}", (1, 0, 0))
    page = browser(cast.auditor).get(
        reverse("ledger:account", args=[account.code]), {"kind": "HOLD"}
    )
    assert {row.entry.kind for row in page.context["entries"]} == {"HOLD"}
    assert "?kind=HOLD&amp;page=2" in page.text and "entries.csv?kind=HOLD&amp;" in page.text


@pytest.mark.parametrize(
    "query",
    [{"since": "yesterday"}, {"kind": "SPEND"}, {"since": "2026-02-02", "until": "2026-02-01"}],
)
def test_a_wrong_filter_is_said_on_the_page_and_refused_for_a_download(
    cast, browser, account, query
):
    client = browser(cast.auditor)
    page = client.get(reverse("ledger:account", args=[account.code]), query)
    assert page.status_code == 200 and 'role="alert"' in page.text
    answer = client.get(reverse("ledger:entries", args=[account.code, "csv"]), query)
    assert answer.status_code == 400


def test_the_number_of_queries_does_not_grow_with_the_entries(cast, browser, account):
    address = reverse("ledger:account", args=[account.code])
    client = browser(cast.auditor)

    def queries() -> int:
        with CaptureQueriesContext(connection) as counted:
            client.get(address)
        return len(counted)

    few = queries()
    for number in range(30):
        setup.hold(account, f"run{number:07}", (1, 0, 0))
    assert queries() == few


# --- signed checkpoints -------------------------------------------------------------------------------------
def test_a_head_says_where_the_chain_ends_and_what_the_account_holds(take, account):
    statement = signatures.check(json.loads(take("head", account.code).read_text()))
    verdict = chain.verify(account)
    assert (statement["chain"], statement["length"], statement["head"]) == (
        account.code,
        5,
        verdict.head,
    )
    assert statement["balance"]["charged"] == {"epsilon": 10**9, "delta": 3, "rho": 0}
    assert statement["key"] == checkpoints.key_name()


def test_the_head_of_a_zcdp_account_speaks_of_rho(who, take, capsys):
    other = setup.granted(
        who, setup.dataset(who, name="Other"), rule=Rule.ZCDP, amount=Amount(rho=5 * 10**8)
    )
    setup.hold(other, "mnop234567", (0, 0, 10**8))
    table, head = take("entries", other.code, "csv"), take("head", other.code)
    assert verify_ledger.main([str(table), "--head", str(head)]) == 0
    assert "rho: granted 0.5, held 0.1, charged 0, free 0.4" in capsys.readouterr().out


@pytest.mark.parametrize(
    "part", ["length", "head", "at", "key", "chain", "first_hash", "balance", "identity"]
)
def test_a_changed_head_is_found_by_both(take, account, capsys, part):
    path = take("head", account.code)
    document = json.loads(path.read_text())
    document["statement"][part] = "changed"
    path.write_text(json.dumps(document))
    with pytest.raises(signatures.BadSignature):
        signatures.check(document)
    assert verify_ledger.main(["--head", str(path)]) == 1
    assert "the signature does not fit" in capsys.readouterr().out


def test_a_head_signed_by_somebody_else_is_found_by_the_key_that_was_handed_over(
    take, account, capsys
):
    path, key = take("head", account.code), take("public-key")
    document = json.loads(path.read_text())
    statement = {
        name: value for name, value in document["statement"].items() if name != "key"
    } | {"length": 4}
    path.write_text(
        json.dumps(
            signatures.sign(
                statement, schema=checkpoints.SCHEMA, key=Ed25519PrivateKey.generate()
            )
        )
    )
    assert (
        verify_ledger.main(["--head", str(path)]) == 0
    )  # so the name of the key has to be compared
    assert verify_ledger.main(["--head", str(path), "--key", str(key)]) == 1
    assert "another key" in capsys.readouterr().out


def test_a_broken_chain_is_never_signed(cast, browser, account):
    take_triggers_down()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE ledger_ledgerentry SET reason = 'x' WHERE sequence = 2")
    answer = browser(cast.auditor).get(reverse("ledger:head", args=[account.code]))
    assert answer.status_code == 409 and "entry 2" in answer.text


def test_without_a_key_the_page_says_so_and_nothing_is_signed(
    cast, browser, account, settings, tmp_path
):
    settings.SIGNING_PRIVATE_KEY_FILE = tmp_path / "nowhere"
    client = browser(cast.auditor)
    assert (
        "no key to sign with" in client.get(reverse("ledger:account", args=[account.code])).text
    )
    answer = client.get(reverse("ledger:head", args=[account.code]))
    assert answer.status_code == 503 and str(tmp_path) not in answer.text
    assert client.get(reverse("ledger:public-key")).status_code == 503


def test_after_a_change_of_keys_old_heads_are_checked_with_the_old_key(
    take, account, settings, tmp_path, capsys
):
    keys.make(tmp_path / "keys")
    settings.SIGNING_PRIVATE_KEY_FILE = tmp_path / "keys" / "web" / "signing.key"
    before = take("head", account.code).rename(tmp_path / "before.json")
    old = keys.change_signing_key(tmp_path / "keys")
    after, new = take("head", account.code), tmp_path / "keys" / "signing.pub"
    assert verify_ledger.main(["--head", str(before), "--key", str(old)]) == 0
    assert verify_ledger.main(["--head", str(after), "--key", str(new)]) == 0
    assert verify_ledger.main(["--head", str(before), "--key", str(new)]) == 1
    assert (
        verify_ledger.main([str(take("entries", account.code, "json")), "--head", str(before)])
        == 0
    )
    capsys.readouterr()


def test_the_command_signs_every_chain_and_the_signed_files_hold_the_database_to_them(
    account, tmp_path, capsys
):
    folder = tmp_path / "kept" / "heads"
    call_command("sign_heads", str(folder))
    names = {path.name for path in folder.glob("head-*.json")}
    assert names == {
        f"head-{account.code}-5.json",
        f"head-audit-{audit_chain.verify().length}.json",
    }
    kept = [str(path) for path in folder.glob("head-*.json")]
    setup.hold(account, "qrst234567", (1, 0, 0))
    call_command("verify_ledger", against=[Path(path) for path in kept])
    take_triggers_down()
    with (
        connection.cursor() as cursor
    ):  # the last five entries cut off, and the sums set back to fit
        cursor.execute("DELETE FROM ledger_ledgerentry WHERE sequence > 1")
        cursor.execute(
            "UPDATE ledger_budgetaccount SET epsilon_held = 0, epsilon_charged = 0, delta_charged = 0"
        )
    call_command("verify_ledger")
    with pytest.raises(CommandError, match=account.code):
        call_command("verify_ledger", against=[Path(path) for path in kept])
    assert "cut off or set back" in capsys.readouterr().out


def test_the_command_makes_the_folder_that_the_steps_of_an_upgrade_name(account, tmp_path):
    folder = tmp_path / "kept" / "heads"
    call_command("sign_heads", str(folder))
    assert len(list(folder.glob("head-*.json"))) == 2
    assert folder.stat().st_mode & 0o077 == 0


def test_a_folder_that_cannot_be_made_is_named(account, tmp_path):
    (tmp_path / "heads").write_text("a file")
    with pytest.raises(CommandError, match="heads") as stopped:
        call_command("sign_heads", str(tmp_path / "heads"))
    assert stopped.value.returncode == 2


def test_the_command_signs_the_other_chains_when_one_is_broken(account, tmp_path, capsys):
    take_triggers_down()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE ledger_ledgerentry SET reason = 'x' WHERE sequence = 2")
    with pytest.raises(CommandError, match=account.code) as stopped:
        call_command("sign_heads", str(tmp_path))
    assert stopped.value.returncode == 1
    assert [path.name.split("-")[1] for path in tmp_path.glob("head-*.json")] == ["audit"]
    capsys.readouterr()


def test_the_command_signs_one_account_and_names_what_it_does_not_know(
    account, tmp_path, settings, capsys
):
    call_command("sign_heads", str(tmp_path), account=[account.code])
    assert [path.name for path in tmp_path.glob("head-*.json")] == [
        f"head-{account.code}-5.json"
    ]
    with pytest.raises(CommandError, match="no such account: nowhere"):
        call_command("sign_heads", str(tmp_path), account=["nowhere"])
    settings.SIGNING_PRIVATE_KEY_FILE = tmp_path / "nowhere"
    with pytest.raises(CommandError, match="cannot be read") as stopped:
        call_command("sign_heads", str(tmp_path))
    assert stopped.value.returncode == 2
    capsys.readouterr()


def test_a_changed_signed_head_is_no_head_to_compare_with(take, account):
    path = take("head", account.code)
    path.write_text(path.read_text().replace('"length": 5', '"length": 4'))
    with pytest.raises(CommandError, match="signature does not fit"):
        call_command("verify_ledger", against=[path])


# --- Ed25519 without a library ------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("public", "message", "signature"),
    [  # RFC 8032, section 7.1, tests 1 to 3
        (
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            "",
            (
                "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701c"
                "f9b46bd25bf5f0595bbe24655141438e7a100b"
            ),
        ),
        (
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            "72",
            (
                "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0"
                "f11d8c387b2eaeb4302aeeb00d291612bb0c00"
            ),
        ),
        (
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
            "af82",
            (
                "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f76098"
                "4dc6594a7c15e9716ed28dc027beceea1ec40a"
            ),
        ),
    ],
)
def test_the_published_examples_fit_and_nothing_beside_them(public, message, signature):
    key, text, signed = bytes.fromhex(public), bytes.fromhex(message), bytes.fromhex(signature)
    assert verify_ledger.ed25519_fits(key, text, signed)
    assert not verify_ledger.ed25519_fits(key, text + b"x", signed)
    for place in (0, 31, 32, 63):
        broken = bytes([*signed[:place], signed[place] ^ 1, *signed[place + 1 :]])
        assert not verify_ledger.ed25519_fits(key, text, broken)
    beyond = (int.from_bytes(signed[32:], "little") + verify_ledger.ORDER).to_bytes(
        32, "little"
    )
    assert not verify_ledger.ed25519_fits(
        key, text, signed[:32] + beyond
    )  # one message, one signature


def test_it_agrees_with_the_library_on_fresh_keys():
    for number in range(8):
        key, text = Ed25519PrivateKey.generate(), b"x" * number
        signed, public = key.sign(text), key.public_key().public_bytes_raw()
        assert verify_ledger.ed25519_fits(public, text, signed)
        assert not verify_ledger.ed25519_fits(public, text, signed[:32] + signed[:31:-1])


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", '{"entries": 3}', "a,b\n1,2\n", '{"entries": [{}]}', "\xff\xfe"],
)
def test_what_is_no_export_is_refused_in_a_sentence(tmp_path, capsys, text):
    path = tmp_path / "file"
    path.write_text(text)
    code = verify_ledger.main([str(path)])
    assert code == 2 or "0 entries" in capsys.readouterr().out
    assert verify_ledger.main(["--head", str(path)]) == 2


def test_a_key_of_another_kind_signs_nothing(tmp_path):
    (tmp_path / "key").write_text("nothing")
    with pytest.raises(signatures.NoSigningKey, match="no private key"):
        signatures.load(tmp_path / "key")


def test_documents_that_are_no_documents_are_bad_signatures():
    for document in ({}, {"schema": 1, "statement": [], "public_key": "x", "signature": "x"}):
        with pytest.raises(signatures.BadSignature):
            signatures.check(document)
