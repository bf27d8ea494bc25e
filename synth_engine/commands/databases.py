"""Commands of databases: several tables that keys connect."""

from __future__ import annotations

import argparse
import dataclasses
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synth_engine.commands.arguments import group, loss_arguments, overwrites
from synth_engine.commands.parts import (
    json_text,
    read_json,
    require_output,
    whole,
    write_json,
)
from synth_engine.commands.release_documents import LossReporter
from synth_engine.errors import TableError

if TYPE_CHECKING:
    from synth_engine.pipeline import DatabaseRelease
    from synth_engine.relational.plan import DatabasePlan


def add(words: Any) -> None:
    """The commands of databases, as commands of one word among those of tables."""
    about = "the same for a database of several tables that keys connect"
    command = group(words, "database", about=about)
    sub = command(
        "describe",
        describe_database,
        about="print what a release would measure, and with which parts of the budget",
    )
    sub.add_argument("database", metavar="DATABASE.json", type=Path)
    loss_arguments(sub)
    sub = command(
        "synthesize",
        synthesize_database,
        about="make a synthetic database from a sensitive one",
    )
    sub.add_argument("database", metavar="DATABASE.json", type=Path)
    loss_arguments(sub)
    _database_output(sub)
    sub.add_argument("--receipt", metavar="RECEIPT.json", type=Path)
    sub.add_argument("--model", metavar="MODEL.json", type=Path)
    sub.add_argument(
        "--bundle",
        metavar="BUNDLE.zip",
        type=Path,
        help="tables, receipt, model and report in one archive that verify checks as a whole",
    )
    generating = command(
        "sample",
        sample_database,
        about="generate another database from a stored model",
    )
    generating.add_argument("model", metavar="MODEL.json", type=Path)
    _database_output(generating)
    checking = command(
        "check",
        check_database,
        about="count what is wrong with keys of the real database; NOT differentially private",
    )
    checking.add_argument("database", metavar="DATABASE.json", type=Path)
    comparing = command(
        "compare",
        compare_databases,
        about="compare counts, over joins too, with the real database; NOT differentially private",
    )
    comparing.add_argument("database", metavar="DATABASE.json", type=Path)
    comparing.add_argument(
        "synthetic", metavar="FOLDER", type=Path, help="with files of the described names"
    )
    comparing.add_argument("--out", metavar="REPORT.json", type=Path, required=True)
    verifying = command(
        "verify",
        verify_database,
        about="recompute epsilon and delta from a receipt, and check that it is of all tables",
    )
    verifying.add_argument("database", metavar="DATABASE.json", type=Path)
    verifying.add_argument("receipt", metavar="RECEIPT.json", type=Path)
    verifying.add_argument("--digest", metavar="SHA256", help="of the receipt")
    overwrites(sub, generating, comparing)


def _database_output(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "--units",
        metavar="N",
        default="0",
        help="rows of the root table; 0 or absent: the noisy number",
    )
    sub.add_argument("--seed", metavar="S", help="absent: a fresh secret one")
    sub.add_argument(
        "--out", metavar="OUT", type=Path, required=True, help="a folder, .zip, .sqlite or .db"
    )
    sub.add_argument(
        "--format",
        choices=("csv", "parquet"),
        default="csv",
        help="of the tables in a folder or zip",
    )


def describe_database(options: argparse.Namespace) -> None:
    """Prints what a release of a database would measure, from its description alone."""
    from synth_engine.domain import database as databases
    from synth_engine.privacy.loss import parse_decimal
    from synth_engine.relational import plan as plans

    plan = plans.plan(
        databases.read_database(options.database),
        epsilon=parse_decimal(options.epsilon, name="epsilon"),
        delta=parse_decimal(options.delta, name="delta"),
    )
    sys.stdout.write(json_text(plan.outline()))


def synthesize_database(options: argparse.Namespace) -> None:
    """Measures a database once under one budget, fits, generates one database, writes receipt and model if
    asked."""
    from synth_engine import outputs, pipeline
    from synth_engine.domain import database as databases
    from synth_engine.privacy.loss import parse_decimal
    from synth_engine.relational import files
    from synth_engine.relational import plan as plans

    files.require_output(options.out)
    database = databases.read_database(options.database)
    plan = plans.plan(
        database,
        epsilon=parse_decimal(options.epsilon, name="epsilon"),
        delta=parse_decimal(options.delta, name="delta"),
    )
    units = whole(options.units, name="units") or None
    named = {
        "--out": options.out,
        "--receipt": options.receipt,
        "--model": options.model,
        "--bundle": options.bundle,
    }
    outputs.require(named, inputs=(options.database,), overwrite=options.overwrite)
    folder = options.database.parent
    pipeline.require_database(folder, database=database)
    spent = LossReporter(plan)
    with spent.report_loss():
        release = pipeline.synthesize_database(
            folder, plan=plan, units=units, seed=options.seed, progress=spent
        )
        _write_release(release, plan, options)


def _write_release(
    release: DatabaseRelease, plan: DatabasePlan, options: argparse.Namespace
) -> None:
    """Writes all files of a release of a database. The loss is spent: model and receipt come first, so that
    the tables can be generated again from the model."""
    from synth_engine.privacy import receipt as receipts
    from synth_engine.relational import bundle, files
    from synth_engine.relational import receipt as database_receipts

    overwrite, database = options.overwrite, plan.database
    model = release.model.to_json()
    if options.model is not None:
        write_json(options.model, model, overwrite=overwrite)
    frames = release.model.tables(release.units, seed=release.seed)
    sample = {
        "units": release.units,
        "tables_sha256": files.digest(database, frames),
    } | (
        {"seed": options.seed}
        if options.seed is not None
        else {"seed_commitment": receipts.seed_commitment(release.seed)}
    )
    document = database_receipts.build(
        plan,
        release.answers,
        post_processing={"model_sha256": receipts.digest(model)},
        sample=sample,
    )
    if options.receipt is not None:
        write_json(options.receipt, document, overwrite=overwrite)
    files.write(database, frames, options.out, form=options.format, overwrite=overwrite)
    if options.bundle is not None:
        bundle.write(
            plan, frames, options.bundle, receipt=document, model=model, overwrite=overwrite
        )


def sample_database(options: argparse.Namespace) -> None:
    """Generates another database from a stored model: post-processing, which costs nothing."""
    from synth_engine.relational import files
    from synth_engine.relational.model import DatabaseModel

    files.require_output(options.out)
    require_output(options, options.model)
    model = DatabaseModel.from_json(read_json(options.model, name="model"))
    units = whole(options.units, name="units") or model.units
    frames = model.tables(units, seed=options.seed or secrets.token_hex(32))
    files.write(
        model.database, frames, options.out, form=options.format, overwrite=options.overwrite
    )


def check_database(options: argparse.Namespace) -> None:
    """Prints what is wrong with the keys of a real database, and refuses one of which a release would leave
    rows out."""
    from synth_engine import pipeline
    from synth_engine.domain import database as databases

    database, folder = databases.read_database(options.database), options.database.parent
    pipeline.require_database(folder, database=database)
    faults = pipeline.key_faults(folder, database=database)
    sys.stdout.write(
        json_text({name: dataclasses.asdict(of_table) for name, of_table in faults.items()})
    )
    for name, of_table in faults.items():
        if of_table.repeated:
            raise TableError(
                f"table {name!r} has a key more than once, or rows without one",
                repair="give each row a key of its own: a row that belongs to two parents needs two rows",
                column=database.table(name).key,
            )
        if of_table.orphans:
            raise TableError(
                f"table {name!r} has rows that refer to no row of its parent; a release leaves them out",
                repair="add their parents, mend the references, or release without them",
                column=database.table(name).reference,
            )
        if of_table.crowded:
            raise TableError(
                f"table {name!r} has more rows of one parent than are declared; a release leaves some out "
                "by chance",
                repair='raise "most" of the table from what is publicly known, or release without them',
                column=database.table(name).reference,
            )


def compare_databases(options: argparse.Namespace) -> None:
    """Writes the errors of counts of columns, pairs and joins as JSON."""
    from synth_engine import pipeline
    from synth_engine.domain import database as databases

    require_output(options, options.database)
    database = databases.read_database(options.database)
    folder = options.database.parent
    for path in (folder, options.synthetic):
        pipeline.require_database(path, database=database)
    report = pipeline.compare_databases(folder, options.synthetic, database=database)
    write_json(options.out, report, overwrite=options.overwrite)


def verify_database(options: argparse.Namespace) -> None:
    """Prints what the receipt of a database proves, after a check that it is of the tables of a
    description."""
    from synth_engine import verifier
    from synth_engine.domain import database as databases

    database = databases.read_database(options.database)
    receipt = read_json(options.receipt, name="receipt")
    verified = verifier.verify_database(receipt, tables=database.digest, core=options.digest)
    sys.stdout.write(verifier.report(verified))
