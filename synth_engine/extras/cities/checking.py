"""Checks a folder of a city against its receipt: every table, every reference, and the receipts of its
sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from synth_engine import verifier
from synth_engine.errors import VerificationError
from synth_engine.extras.cities import receipt as city_receipts
from synth_engine.extras.cities.specification import AREAS
from synth_engine.formats.damage import DAMAGED
from synth_engine.privacy import receipt as receipts
from synth_engine.relational import layout


def verify(
    folder: Path, receipt: Mapping[str, Any], sources: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Says what a receipt proves about the files of a folder. sources: receipts of releases, which are
    verified. Errors: VerificationError with the first reason found."""
    body = {name: value for name, value in receipt.items() if name != "digest"}
    if receipt.get("schema") != city_receipts.SCHEMA or receipts.digest(body) != receipt.get(
        "digest"
    ):
        raise VerificationError("the receipt is none of a city, or was changed")
    try:
        tables = dict(_tables(folder, receipt))
        _require_references(receipt, tables)
    except (KeyError, TypeError, AttributeError):
        raise VerificationError("the receipt of the city is malformed") from None
    lines = [f"{len(tables)} tables are those of the receipt, and all their keys resolve"]
    named = {one["receipt"]: one for one in receipt["sources"] if one["receipt"] is not None}
    for one in sources:
        verified = verifier.verify(one)
        if verified.core not in named:
            raise VerificationError(
                f"the city is not made of the release {verified.core[:12]}…"
            )
        name = named.pop(verified.core)["source"]
        lines.append(f"{name}: verified: {one['guarantee']['sentence']}")
    lines += [
        f"{one['source']}: its receipt {core} was not given" for core, one in named.items()
    ]
    lines += [
        f"{one['source']}: {one['statement']}"
        for one in receipt["sources"]
        if one["receipt"] is None
    ]
    return lines


def _tables(folder: Path, receipt: Mapping[str, Any]) -> Iterator[tuple[str, pa.Table]]:
    """The areas and the tables, each as the receipt says."""
    digests = {AREAS: receipt["areas"]["sha256"]}
    digests |= {one["table"]: one["sha256"] for one in receipt["tables"]}
    for name, digest in digests.items():
        try:
            rows = pq.read_table(folder / f"{name}.parquet")
        except DAMAGED:
            raise VerificationError(f"the file of table {name!r} cannot be read") from None
        if layout.digest(rows) != digest:
            raise VerificationError(f"the file of table {name!r} is not that of the receipt")
        yield name, rows


def _require_references(receipt: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
    for table in receipt["tables"]:
        for one in table["references"]:
            own, keys = tables[table["table"]][one["column"]], tables[one["table"]][one["key"]]
            if not pc.all(pc.is_in(own.drop_null(), value_set=keys.combine_chunks())).as_py():
                raise VerificationError(
                    f"table {table['table']!r}: a value of {one['column']!r} is no key of {one['table']!r}"
                )
