"""The command `compare`: a synthetic table beside the real one."""

from __future__ import annotations

import argparse
import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synth_engine.commands import inputs
from synth_engine.commands.arguments import add_command, overwrites
from synth_engine.commands.parts import (
    progress,
    read_json,
    require_output,
    write_json,
    write_text,
)
from synth_engine.commands.released import read_model
from synth_engine.errors import InputError

if TYPE_CHECKING:
    from synth_engine.spec import Spec


def add(words: Any) -> None:
    """Add the command that compares."""
    sub = add_command(
        words,
        "compare",
        compare,
        about="compare with the real table; NOT differentially private",
    )
    _compare_arguments(sub)
    overwrites(sub)


def compare(options: argparse.Namespace) -> None:
    """Writes the comparison as JSON, or as one HTML file."""
    if options.out.suffix not in (".json", ".html"):
        raise InputError(
            "the report has another format", repair="end its name in .json or .html"
        )
    from synth_engine import domain as domains
    from synth_engine import pipeline
    from synth_engine.evaluation import outside, page, raw_values

    require_output(
        options, options.real, options.synthetic, options.domain, options.model, options.form
    )
    _require_together(options)
    shadowed = _request_of(options.shadows) if options.shadows else None
    domain = domains.read(options.domain)
    model = None if options.model is None else read_model(options.model)
    form = inputs.form(options)
    aim = pipeline.TrainingAim(target=options.target, protected=options.protected)
    aim.require(domain)
    report = pipeline.compare(
        options.real,
        options.synthetic,
        domain=domain,
        model=model,
        dialect=form,
        progress=progress(),
    )
    if options.outside:
        report["outside"] = outside.statement(options.outside)
    compared = domain if model is None else model.domain
    synthetic = pipeline.WrittenTable(path=options.synthetic, domain=compared)
    if options.models:
        report["models"] = pipeline.train_models(
            options.real, synthetic, aim=aim, dialect=form, progress=progress()
        )
    if options.risks:
        report["risks"] = pipeline.estimate_risks(
            options.real, synthetic, dialect=form, shadowed=shadowed, progress=progress()
        )
    if damaged := raw_values.damaged_columns(report):
        # Reasons quote values, which belong in the report alone.
        sys.stderr.write(f"note: damaged, as the report says why: {', '.join(damaged)}\n")
    if options.out.suffix == ".json":
        write_json(options.out, report, overwrite=options.overwrite)
        return
    write_text(options.out, page.html(report), overwrite=options.overwrite)


def _require_together(options: argparse.Namespace) -> None:
    """Refuse options of which one is about another that is not given. Errors: InputError."""
    if (options.target or options.protected) and not options.models:
        raise InputError("a column for models without --models", repair="add --models")
    if options.shadows and not options.risks:
        raise InputError("--shadows without --risks", repair="add --risks")
    if options.outside and (options.model or options.shadows):
        raise InputError(
            "a table that was made elsewhere is of no model or run here",
            repair="leave out --outside, or --model and --shadows",
        )


def _request_of(path: Path) -> Spec:
    """The request that a receipt states."""
    from synth_engine.spec import Spec

    receipt = read_json(path, name="the receipt")
    try:
        return Spec(
            mechanism=receipt["mechanism"]["id"],
            parameters=receipt["mechanism"]["parameters"],
            epsilon=Fraction(receipt["target"]["epsilon"]),
            delta=Fraction(receipt["target"]["delta"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            "the receipt states no method and target", repair="give the receipt of the release"
        ) from error


def _compare_arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("real", metavar="REAL", type=Path)
    sub.add_argument("synthetic", metavar="SYNTHETIC", type=Path)
    sub.add_argument("--domain", metavar="DOMAIN.json", type=Path, required=True)
    sub.add_argument(
        "--model",
        metavar="MODEL.json",
        type=Path,
        help="of the synthetic table: compare under what its run learned, and count recovered texts",
    )
    sub.add_argument(
        "--outside",
        metavar="WORDS",
        default="",
        help="the synthetic table was made elsewhere, by whom or what: the report says that nothing proves "
        "its privacy",
    )
    sub.add_argument("--out", metavar="REPORT", type=Path, required=True, help=".json or .html")
    sub.add_argument(
        "--models",
        action="store_true",
        help="train models on synthetic records and test them on real ones",
    )
    sub.add_argument("--target", metavar="COLUMN", default="", help="with --models: to predict")
    sub.add_argument(
        "--protected",
        metavar="COLUMN",
        default="",
        help="with --models: whose groups are compared",
    )
    sub.add_argument(
        "--risks", action="store_true", help="try attacks: lower bounds, never the guarantee"
    )
    sub.add_argument(
        "--shadows",
        metavar="RECEIPT.json",
        type=Path,
        help="with --risks: make shadow models by the method that this receipt states, for up to two minutes",
    )
    inputs.form_arguments(sub)
