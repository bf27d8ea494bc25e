"""The entries of an account as a file: JSON to verify the chain elsewhere, CSV to read in a spreadsheet."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from typing import Any

from django.http import StreamingHttpResponse

from synthweb.ledger import chain
from synthweb.ledger.amounts import CURRENCIES, exact
from synthweb.ledger.models import BudgetAccount, LedgerEntry
from synthweb.lib import hashing

_COLUMNS = ("sequence", "at", "kind", *CURRENCIES, "dataset", "run", "actor", "reason", "evidence", "hash")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_TYPES = {"json": "application/json", "csv": "text/csv; charset=utf-8"}


def response(account: BudgetAccount, *, kind: str) -> StreamingHttpResponse:
    """A download, streamed."""
    lines = _json_lines(account) if kind == "json" else _csv_lines(account)
    answer = StreamingHttpResponse(lines, content_type=_TYPES[kind])
    answer["Content-Disposition"] = f'attachment; filename="ledger-{account.code}.{kind}"'
    return answer


def _entries(account: BudgetAccount) -> Iterator[LedgerEntry]:
    return LedgerEntry.objects.filter(account=account).order_by("sequence").iterator(chunk_size=1000)


def _facts(entry: LedgerEntry, account: BudgetAccount) -> dict[str, Any]:
    return dict(hashing.plain({**chain.fields(entry, account_code=account.code), "sequence": entry.sequence}))


def _json_lines(account: BudgetAccount) -> Iterator[str]:
    """One object: what the chain starts from, then every entry with exactly the fields that its hash covers."""
    head = {"schema": "synthweb/ledger/1", "account": chain.identity(account), "first_hash": chain.first_hash(account)}
    yield json.dumps(head, ensure_ascii=False)[:-1] + ', "entries": ['
    comma = ""
    for entry in _entries(account):
        covered = {**_facts(entry, account), "previous_hash": entry.previous_hash}
        yield comma + "\n" + json.dumps({"covered": covered, "hash": entry.hash}, ensure_ascii=False, sort_keys=True)
        comma = ","
    yield "\n]}\n"


def _csv_lines(account: BudgetAccount) -> Iterator[str]:
    writer = csv.writer(_Echo())
    yield "\ufeff" + writer.writerow(_COLUMNS)
    for entry in _entries(account):
        facts = {**_facts(entry, account), "hash": entry.hash}
        facts |= {currency: exact(currency, getattr(entry, currency)) for currency in CURRENCIES}
        yield writer.writerow([_safe(facts[column]) for column in _COLUMNS])


def _safe(value: Any) -> str:
    """No spreadsheet takes what somebody typed for a formula."""
    text = str(value)
    return f"'{text}" if text.startswith(_FORMULA) else text


class _Echo:
    """A file for csv.writer that hands the line back."""

    def write(self, line: str) -> str:
        return line
