"""The commands of test data: `python -m synth_engine scenarios | scenario | scenario-score`."""

from __future__ import annotations

import argparse
import functools
import json
import secrets
import sys
from pathlib import Path
from typing import Any

from synth_engine.commands.arguments import add_command, overwrites
from synth_engine.commands.parts import read_json, require_output, whole, write_json
from synth_engine.commands.released import say_if_edited


def add(words: Any) -> None:
    """Add the commands of test data to those of the command line."""
    command = functools.partial(add_command, words)
    command(
        "scenarios",
        scenarios,
        about="list the situations and faults that a scenario can have, as JSON",
    )
    drawing = command(
        "scenario",
        scenario,
        about="draw test data that are wrong on purpose, with a record of every change",
    )
    _scenario_arguments(drawing)
    scoring = command(
        "scenario-score",
        scenario_score,
        about="say how many changes of a scenario a pipeline found",
    )
    scoring.add_argument("changes", metavar="CHANGES", type=Path, help=".csv or .parquet")
    scoring.add_argument(
        "findings",
        metavar="FINDINGS",
        type=Path,
        help=".csv or .parquet with the columns row and column",
    )
    scoring.add_argument("--out", metavar="SCORE.json", type=Path, required=True)
    overwrites(drawing, scoring)


def _scenario_arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("model", metavar="MODEL.json|DESCRIPTION.json|DOMAIN.json", type=Path)
    sub.add_argument("--scenario", metavar="SCENARIO.json", type=Path, required=True)
    sub.add_argument(
        "--rows",
        metavar="N",
        default="0",
        help="before steps add some; 0 or absent: the number of records that the document says, or 10,000",
    )
    sub.add_argument("--seed", metavar="S", help="absent: a fresh one, which the record names")
    sub.add_argument("--out", metavar="OUT", type=Path, required=True, help=".csv or .parquet")
    sub.add_argument(
        "--changes",
        metavar="CHANGES",
        type=Path,
        required=True,
        help="a line for each changed cell and added row: .csv or .parquet",
    )
    sub.add_argument("--record", metavar="RECORD.json", type=Path, required=True)


def scenarios(_options: argparse.Namespace) -> None:
    """Prints the catalogue of situations and faults."""
    from synth_engine.extras.scenarios import engine

    sys.stdout.write(json.dumps(engine.catalogue(), indent=2, ensure_ascii=False) + "\n")


def scenario(options: argparse.Namespace) -> None:
    """Draws a table from a model or a description and alters it: post-processing, which costs nothing."""
    from synth_engine import outputs
    from synth_engine.extras.scenarios import engine
    from synth_engine.models.model import Model

    for path in (options.out, options.changes):
        engine.require_format(path)
    outputs.require(
        {"--out": options.out, "--changes": options.changes, "--record": options.record},
        inputs=(options.model, options.scenario),
        overwrite=options.overwrite,
    )
    wanted = engine.Scenario.from_json(read_json(options.scenario, name="scenario"))
    document = read_json(options.model, name="model")
    sha256 = ""
    if engine.is_description(document):
        described = engine.read_description(document)
        model, sha256 = described.model, described.sha256
        say_if_edited(document, model)
    else:
        model = Model.from_json(document)
    built = engine.build(
        model,
        wanted,
        rows=whole(options.rows, name="rows") or model.rows,
        seed=options.seed or secrets.token_hex(32),
        description_sha256=sha256,
    )
    engine.write(
        built,
        table=options.out,
        changes=options.changes,
        record=options.record,
        overwrite=options.overwrite,
    )
    sys.stderr.write(f"note: {built.record['statement']}\n")


def scenario_score(options: argparse.Namespace) -> None:
    """Writes how many of the changes of a scenario were found."""
    from synth_engine.extras.scenarios import engine

    require_output(options, options.changes, options.findings)
    result = engine.score(engine.read(options.changes), engine.read(options.findings))
    write_json(options.out, result, overwrite=options.overwrite)
