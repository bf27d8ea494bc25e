"""The commands of synthetic cities: `python -m synth_engine city check|build|verify|export …`."""

from __future__ import annotations

import argparse
import secrets
import sys
from pathlib import Path
from typing import Any

from synth_engine.commands.arguments import group, overwrites
from synth_engine.commands.parts import json_text, progress, read_json, write_json
from synth_engine.errors import InputError


def add(words: Any) -> None:
    """Add the word `city` with its commands to those of the command line."""
    about = "a database of several tables that is generated from the models of several releases"
    command = group(words, "city", about=about)
    sub = command(
        "check",
        check,
        about="say whether a city can be generated: its specification, sources, receipts and areas",
    )
    sub.add_argument("city", metavar="CITY.yaml", type=Path)
    building = command(
        "build",
        build,
        about="generate a city: post-processing, which costs nothing",
    )
    _city_arguments(building)
    building.add_argument(
        "--before",
        metavar="RECEIPT.json",
        type=Path,
        help="of an earlier build: say which tables are the same",
    )
    building.add_argument(
        "--receipt",
        metavar="RECEIPT.json",
        type=Path,
        help="a folder and a zip hold it anyway",
    )
    building.add_argument(
        "--out",
        metavar="OUT",
        type=Path,
        required=True,
        help="a new folder, .zip, .sqlite or .db",
    )
    for form in ("matsim", "populationsim"):
        building.add_argument(
            f"--{form}",
            metavar="FOLDER",
            type=Path,
            help="a new folder for what export writes, without generating twice",
        )
    verifying = command(
        "verify",
        verify,
        about="check the files of a city against its receipt, and the receipts of its sources",
    )
    verifying.add_argument("folder", metavar="FOLDER", type=Path, help="that build wrote")
    verifying.add_argument("receipts", metavar="RECEIPT.json", type=Path, nargs="*")
    exporting = command(
        "export",
        export,
        about="generate a city as files that simulations read",
    )
    _city_arguments(exporting)
    exporting.add_argument("--form", choices=("matsim", "populationsim"), required=True)
    exporting.add_argument(
        "--out", metavar="FOLDER", type=Path, required=True, help="a new folder"
    )
    overwrites(building)


def _city_arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("city", metavar="CITY.yaml", type=Path)
    sub.add_argument(
        "--seed",
        metavar="S",
        help="public; absent: that of the specification, else a fresh one, which the receipt names",
    )


def check(options: argparse.Namespace) -> None:
    """Prints what a city is made of, after a check of its specification, sources, receipts and areas."""
    from synth_engine.extras.cities import city as cities

    city = cities.load(options.city)
    outline = {
        "city": city.spec.name,
        "population": city.spec.population,
        "areas": len(city.geography),
        "sources": [source.statement for source in city.sources.values()],
        "tables": [
            {"table": table.name, "columns": list(city.columns(table))}
            for table in city.spec.tables
        ],
    }
    sys.stdout.write(json_text(outline))


def build(options: argparse.Namespace) -> None:
    """Generates a city and writes its tables, its receipt and exports: post-processing, which costs
    nothing."""
    from synth_engine import outputs
    from synth_engine.extras.cities import building, exports, files, receipt
    from synth_engine.extras.cities import city as cities
    from synth_engine.relational import files as databases

    databases.require_output(options.out)
    outputs.require(
        {"--out": options.out, "--receipt": options.receipt},
        inputs=(options.city, options.before),
        overwrite=options.overwrite,
    )
    folders = {form: getattr(options, form) for form in exports.FORMS if getattr(options, form)}
    for folder in folders.values():
        _require_new_folder(folder)
    before = None if options.before is None else read_json(options.before, name="receipt")
    city = cities.load(options.city)
    if folders:
        exports.require(city)
    seed = options.seed or city.spec.seed or secrets.token_hex(16)
    built = building.build(city, seed=seed, progress=progress())
    document = receipt.build(built)
    changes = {} if before is None else receipt.changes(before, document)
    files.write(built, document, options.out, overwrite=options.overwrite)
    if options.receipt is not None:
        write_json(options.receipt, document, overwrite=options.overwrite)
    for form, folder in folders.items():
        exports.write(built, document, folder, form=form)
    for note in built.notes:
        sys.stderr.write(
            f"note: table {note['table']!r}: {note['rows']:,} rows: {note['note']}\n"
        )
    for what, tables in changes.items():
        if tables:
            sys.stdout.write(f"{what}: {', '.join(tables)}\n")


def _require_new_folder(path: Path) -> None:
    if path.suffix or path.exists() or not path.parent.is_dir():
        raise InputError(
            "an export needs a new folder", repair="name a folder that is not there yet"
        )


def verify(options: argparse.Namespace) -> None:
    """Prints what the receipt of a city proves about its files, and what the receipts of its sources
    prove."""
    from synth_engine.extras.cities import checking, files

    receipt = read_json(options.folder / files.RECEIPT_FILE, name="receipt")
    sources = [read_json(path, name="receipt") for path in options.receipts]
    lines = checking.verify(options.folder, receipt, sources)
    sys.stdout.writelines(f"{line}\n" for line in lines)


def export(options: argparse.Namespace) -> None:
    """Generates a city and writes it as files that simulations read."""
    from synth_engine.extras.cities import building, exports, receipt
    from synth_engine.extras.cities import city as cities

    _require_new_folder(options.out)
    city = cities.load(options.city)
    exports.require(city)
    seed = options.seed or city.spec.seed or secrets.token_hex(16)
    built = building.build(city, seed=seed, progress=progress())
    exports.write(built, receipt.build(built), options.out, form=options.form)
