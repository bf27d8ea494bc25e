"""Entries as a file: the JSON and the CSV both carry every field that the hashes cover, and the hashes, so
that `verify_ledger.py` can check either without us. A filtered file says that it is one, and how long the
chain is.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from django.db.models import QuerySet
from django.http import StreamingHttpResponse

from synth_engine.privacy.signing import SignedDocument
from synthweb.accounts.selectors import Person, organisation_of
from synthweb.audit import chain as audit_chain
from synthweb.audit import labels
from synthweb.audit.models import AuditEntry
from synthweb.ledger import chain, checkpoints, log_access, selectors
from synthweb.ledger.amounts import CURRENCIES, decimal_text
from synthweb.ledger.models import BudgetAccount, LedgerEntry
from synthweb.lib import hashing

_COLUMNS = (
    *("sequence", "at", "kind", *CURRENCIES, "dataset", "run", "actor", "reason", "evidence"),
    *("account", "lapses_on", "previous_hash", "hash"),
)
_AUDIT_COLUMNS = (
    *(
        "in_words",
        "sequence",
        "at",
        "actor",
        "action",
        "object_kind",
        "object_code",
        "detail",
        "organisation",
    ),
    *("previous_hash", "hash"),
)
_MEANS_MORE = ("=", "+", "-", "@", "\t", "\r", "'")  # … to a spreadsheet at the start of a cell
_TYPES = {"json": "application/json", "csv": "text/csv; charset=utf-8"}
Facts = tuple[dict[str, object], str]  # what a hash covers, and the hash
Entry = TypeVar("Entry", LedgerEntry, AuditEntry)


def of_entries(
    account: BudgetAccount,
    entries: QuerySet[LedgerEntry],
    *,
    kind: str,
    filters: Mapping[str, str],
) -> StreamingHttpResponse:
    """Entries of an account as a download, oldest first, streamed."""
    facts = (_of_entry(entry, account) for entry in _oldest_first(entries))
    if kind == "csv":
        return _download(
            _csv(_COLUMNS, facts, cells=_entry_cells), name=f"ledger-{account.code}", kind=kind
        )
    # The end of the whole chain, so that a filtered file shows what it leaves out.
    last = LedgerEntry.objects.filter(account=account).order_by("-sequence").first()
    end = {
        "length": last.sequence if last else 0,
        "head": last.hash if last else chain.first_hash(account),
    }
    return _download(
        _ledger(account, facts, end=end, filters=filters),
        name=f"ledger-{account.code}",
        kind=kind,
    )


def of_log(
    entries: QuerySet[AuditEntry], *, name: str, kind: str, filters: Mapping[str, str]
) -> StreamingHttpResponse:
    """Entries of the audit log. The chain runs through all organisations, so a file of one has gaps by its
    nature."""
    facts = (_of_deed(entry) for entry in _oldest_first(entries))
    if kind == "csv":
        return _download(_csv(_AUDIT_COLUMNS, facts, cells=_deed_cells), name=name, kind=kind)
    return _download(_log(facts, filters=filters), name=name, kind=kind)


def of_everything(user: Person) -> StreamingHttpResponse:
    """All accounts of an auditor's organisation and its part of the audit log in one file, with a signed list
    of what is in it.

    Errors: PermissionDenied for everybody else; ChainBroken, NoSigningKey.
    """
    log = log_access.whole_log(user).log
    organisation = organisation_of(user)
    accounts = list(selectors.accounts_for(user).order_by("pk"))
    signed = checkpoints.of_everything(organisation, accounts, log)
    return _download(
        _everything(signed, accounts, log),
        name=f"ledger-and-audit-{organisation.code}",
        kind="json",
    )


def _everything(
    signed: SignedDocument, accounts: Sequence[BudgetAccount], log: QuerySet[AuditEntry]
) -> Iterator[str]:
    statement = signed["statement"]
    yield '{"schema": ' + json.dumps(signed["schema"]) + ', "signed": '
    yield json.dumps(signed, ensure_ascii=False) + ', "accounts": ['
    comma = ""
    # Up to the entries that were signed: chains grow while this is read.
    for account, end in zip(accounts, statement["accounts"], strict=True):
        rows = LedgerEntry.objects.filter(account=account, sequence__lte=end["length"])
        facts = (_of_entry(entry, account) for entry in _oldest_first(rows))
        yield comma
        yield from _ledger(account, facts, end=end, filters={})
        comma = ","
    yield '], "audit": '
    rows_of_log = log.filter(sequence__lte=statement["audit"]["length"])
    yield from _log((_of_deed(entry) for entry in _oldest_first(rows_of_log)), filters={})
    yield "}\n"


def _ledger(
    account: BudgetAccount,
    facts: Iterable[Facts],
    *,
    end: Mapping[str, object],
    filters: Mapping[str, str],
) -> Iterator[str]:
    """Entries of an account as JSON. end: length and head of the whole chain."""
    head = {
        "schema": "synthweb/ledger/1",
        "account": chain.identity(account),
        "first_hash": chain.first_hash(account),
        "length": end["length"],
        "head": end["head"],
        "filters": dict(filters),
    }
    return _json(head, facts)


def _log(facts: Iterable[Facts], *, filters: Mapping[str, str]) -> Iterator[str]:
    return _json({"schema": "synthweb/audit/1", "filters": dict(filters)}, facts)


def _oldest_first(entries: QuerySet[Entry]) -> Iterator[Entry]:
    return entries.order_by("sequence").iterator(chunk_size=1000)


def _of_entry(entry: LedgerEntry, account: BudgetAccount) -> Facts:
    fields = chain.fields(entry, account_code=account.code)
    return _linked(fields, entry), entry.hash


def _of_deed(entry: AuditEntry) -> Facts:
    return _linked(audit_chain.fields(entry), entry), entry.hash


def _linked(fields: dict[str, object], entry: LedgerEntry | AuditEntry) -> dict[str, object]:
    return dict(
        hashing.plain(
            {**fields, "sequence": entry.sequence, "previous_hash": entry.previous_hash}
        )
    )


def _download(lines: Iterable[str], *, name: str, kind: str) -> StreamingHttpResponse:
    answer = StreamingHttpResponse(lines, content_type=_TYPES[kind])
    answer["Content-Disposition"] = f'attachment; filename="{name}.{kind}"'
    return answer


def _json(head: dict[str, object], facts: Iterable[Facts]) -> Iterator[str]:
    """One object: what the chain starts from, then every entry with exactly the fields that its hash
    covers."""
    # Piece by piece: the entries of a long chain are never in memory together.
    yield json.dumps(head, ensure_ascii=False)[:-1] + ', "entries": ['
    comma = ""
    for covered, digest in facts:
        yield (
            comma
            + "\n"
            + json.dumps(
                {"covered": covered, "hash": digest}, ensure_ascii=False, sort_keys=True
            )
        )
        comma = ","
    yield "\n]}\n"


def _csv(
    columns: tuple[str, ...],
    facts: Iterable[Facts],
    *,
    cells: Callable[[dict[str, object]], dict[str, object]],
) -> Iterator[str]:
    writer = csv.writer(_Echo())
    # The byte order mark: spreadsheets take UTF-8 without it for a local encoding.
    yield "\ufeff" + writer.writerow(columns)
    for covered, digest in facts:
        row = {**cells(covered), "hash": digest}
        yield writer.writerow([_safe(row[column]) for column in columns])


def _entry_cells(covered: dict[str, Any]) -> dict[str, Any]:
    """Amounts as the decimal numbers they stand for."""
    # Entries of exact counts have no amount.
    amounts = {
        currency: decimal_text(currency, covered[currency])
        for currency in CURRENCIES
        if currency in covered
    }
    return {"lapses_on": "", **dict.fromkeys(CURRENCIES, "")} | covered | amounts


def _deed_cells(covered: dict[str, Any]) -> dict[str, Any]:
    """The detail as the JSON it is hashed as; the words are for people and not part of what is hashed."""
    detail = hashing.canonical_json(covered["detail"]).decode()
    return covered | {"detail": detail, "in_words": labels.sentence(covered["action"])}


def _safe(value: Any) -> str:
    """No spreadsheet takes what somebody typed for a formula. Taking one leading ' away gives the text back
    exactly, so one that was there already gets another."""
    text = str(value)
    return f"'{text}" if text.startswith(_MEANS_MORE) else text


class _Echo:
    """A file for csv.writer that hands the line back."""

    def write(self, line: str) -> str:
        return line
