"""The public table beside which a run reads its answers: its options, and how it is read."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import Any

from synth_engine.commands.parts import pair, read_json
from synth_engine.errors import SpecError


def read(options: argparse.Namespace) -> Any:
    """The public table beside which answers are read; None without one. Errors: SpecError, TableError."""
    from synth_engine.references import load_public_table

    if options.prior is None:
        if options.prior_source or options.prior_column or options.prior_receipt:
            raise SpecError("there is no public table", repair="name its file by --prior")
        return None
    if not options.prior_source:
        raise SpecError(
            "nobody says where the public table is published",
            repair="say it by --prior-source, such as its address",
        )
    renamed = dict(
        pair(text, what="a renamed column", option="--prior-column")
        for text in options.prior_column
    )
    table = load_public_table(options.prior, published=options.prior_source, renamed=renamed)
    if options.prior_receipt is None:
        return table
    return dataclasses.replace(table, release=_own_release(options, table.source.sha256))


def _own_release(options: argparse.Namespace, sha256: str) -> Any:
    """The earlier release of which a public table was drawn, as its receipt proves it. Errors: SpecError,
    VerificationError."""
    from synth_engine import verifier
    from synth_engine.references import OwnRelease

    receipt = read_json(options.prior_receipt, name="receipt")
    verified = verifier.verify(receipt)
    if (receipt["sample"] or {}).get("table_sha256") != sha256:
        raise SpecError(
            "the receipt is of another table than the public one",
            repair="give the receipt that was written with that table, or leave it out",
        )
    return OwnRelease(core=verified.core, guarantee=receipt["guarantee"]["sentence"])


def arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "--prior",
        metavar="PUBLIC.csv",
        type=Path,
        help="a public table of the same columns, beside which auto and on-the-map read their answers",
    )
    sub.add_argument(
        "--prior-source", metavar="TEXT", help="where anybody can get the public table"
    )
    sub.add_argument(
        "--prior-column",
        metavar="NAME=COLUMN",
        action="append",
        default=[],
        help="what the public table calls a column of the description; repeatable",
    )
    sub.add_argument(
        "--prior-receipt",
        metavar="RECEIPT.json",
        type=Path,
        help="of the earlier release from which the public table was drawn",
    )
