"""The table that a command reads: its options, and what they say: a file or --from, and how it is written."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synth_engine.commands.parts import progress, read_json
from synth_engine.errors import InputError

if TYPE_CHECKING:
    from synth_engine.formats import Dialect, Kind
    from synth_engine.pipeline import SnapshotSource
    from synth_engine.privacy.receipt import Receipt


def data_arguments(sub: argparse.ArgumentParser) -> None:
    """The table of a command: a file, or what is copied from elsewhere."""
    sub.add_argument(
        "data",
        metavar="DATA",
        type=Path,
        nargs="?",
        help="CSV, CSV.gz, Parquet, Excel, SPSS, Stata, baskets (.dat)",
    )
    sub.add_argument(
        "--from",
        metavar="ADDRESS",
        dest="source",
        help="instead of DATA: postgresql://user@host/database, duckdb:FILE, s3://bucket/object or "
        "file:///object",
    )
    sub.add_argument("--query", metavar="SQL", default="", help="of the database of --from")
    sub.add_argument(
        "--vouched-by",
        metavar="WHO",
        default="",
        help="of a query that does more than choose rows and columns, or of a workbook with formulas: who "
        "states that each record is of one person or record alone",
    )


def form_arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "--form", metavar="FORM.json", type=Path, help="how the (real) table is written"
    )
    read_argument(sub)


def read_argument(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "--read",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a fact of the form, as header=no; repeatable",
    )


@contextlib.contextmanager
def table(options: argparse.Namespace) -> Iterator[tuple[Path, Kind | None]]:
    """The table of a command and its kind: its file, or a copy of what --from names. Errors: InputError."""
    from synth_engine import pipeline

    if (options.data is None) == (options.source is None):
        raise InputError(
            "a table is given by its file or by --from", repair="give one of the two"
        )
    if options.source is None:
        if options.query:
            raise InputError("a file has no query", repair="leave out --query, or add --from")
        yield options.data, None
        return
    if options.form is not None or options.read:
        raise InputError(
            "the form of a query or object is its own", repair="leave out --form and --read"
        )
    with pipeline.snapshot(source(options), progress=progress()) as path:
        yield path, "parquet"


def source(options: argparse.Namespace) -> SnapshotSource:
    """The table that --from names. Errors: InputError."""
    from synth_engine import pipeline

    return pipeline.SnapshotSource(
        address=options.source, query=options.query, vouched_by=options.vouched_by
    )


def form(options: argparse.Namespace) -> Any:
    """Return the stated form of the table; None where nothing is stated. Errors: InputError, also where
    somebody vouches for formulas of a file that has none."""
    from synth_engine.formats import WORKBOOKS, Dialect, endings, form_options

    # Of what --from names, who vouches is a fact of its query.
    is_file = getattr(options, "source", None) is None
    voucher = getattr(options, "vouched_by", "") if is_file else ""
    read = [*options.read, *([f"vouched_by={voucher}"] if voucher else [])]
    if options.form is None and not read:
        return None
    stored = {} if options.form is None else read_json(options.form, name="form")
    form = form_options.apply(Dialect.from_json(stored), read)
    file = getattr(options, "real", None) or options.data
    if form.vouched_by and is_file and not str(file).lower().endswith(endings(WORKBOOKS)):
        raise InputError(
            "only a query or a workbook has somebody to vouch for it",
            repair="leave out --vouched-by and vouched_by",
        )
    return form


def of_source(
    document: Receipt, options: argparse.Namespace, *, form: Dialect | None
) -> Receipt:
    """The receipt with what it says of its table: which query made it, or who vouches for its formulas."""
    from synth_engine.privacy import receipt as receipts

    if options.source is not None and (digest := source(options).query_digest):
        document = receipts.of_query(
            document, query_sha256=digest, vouched_by=options.vouched_by
        )
    elif form is not None and form.vouched_by:
        document = receipts.of_formulas(document, vouched_by=form.vouched_by)
    return document
