"""Commands that make tables: `mechanisms`, `forecast`, `synthesize` and `sample`."""

from __future__ import annotations

import argparse
import functools
import json
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synth_engine.commands import implicates, inputs, public_tables, release_documents
from synth_engine.commands.arguments import (
    add_command,
    loss_arguments,
    overwrites,
    table_arguments,
)
from synth_engine.commands.checks import require_criteria
from synth_engine.commands.parts import read_json, require_output, whole
from synth_engine.commands.released import read_model
from synth_engine.errors import InputError, SpecError, SynthError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from synth_engine.domain import Domain
    from synth_engine.pipeline import Release


def add(words: Any) -> None:
    """Add the commands that make tables."""
    command = functools.partial(add_command, words)
    command("mechanisms", mechanisms, about="list the mechanisms as JSON")
    _forecast_arguments(
        command(
            "forecast",
            forecast,
            about="say as JSON what a release would tell, from public facts alone",
        )
    )
    making = command(
        "synthesize", synthesize, about="make a synthetic table from a sensitive one"
    )
    _synthesize_arguments(making)
    drawing = command(
        "sample", sample, about="draw another table from a stored model or description"
    )
    _sample_arguments(drawing)
    overwrites(making, drawing)


def mechanisms(_options: argparse.Namespace) -> None:
    """Prints the list of mechanisms."""
    from synth_engine import mechanisms as registry

    sys.stdout.write(json.dumps(registry.describe(), indent=2, ensure_ascii=False) + "\n")


def forecast(options: argparse.Namespace) -> None:
    """Prints what a release would tell as JSON, from public facts alone."""
    from synth_engine import domain as domains
    from synth_engine import mechanisms as registry
    from synth_engine.evaluation import forecast as forecasts

    domain, spec = domains.read(options.domain), _spec(options)
    rows = whole(options.records, name="records")
    if not rows:
        raise SpecError(
            "a forecast is for some number of records", repair="give --records, about"
        )
    plan = registry.plan(domain, spec)
    expected = forecasts.forecast(
        domain, spec, rows=rows, opens_at=plan.min_records_to_split(rows)
    )
    sys.stdout.write(json.dumps(expected.to_json(), indent=2, ensure_ascii=False) + "\n")


def synthesize(options: argparse.Namespace) -> None:
    """Measures once, fits, draws one table, writes receipt and model if asked."""
    from synth_engine import domain as domains
    from synth_engine import mechanisms as registry
    from synth_engine import outputs, pipeline

    spec = _spec(options)
    domain = domains.read(options.domain)
    prior = public_tables.read(options)
    copies = implicates.paths(options)
    plan = registry.plan(domain, spec, prior=prior)  # refuses before anything is read
    require_criteria(options, plan)
    sys.stderr.write(f"note: {plan.advice}\n" if plan.advice else "")
    if registry.assumes_records(domain, spec):
        sys.stderr.write(
            f"note: {spec.mechanism} plans for 10,000 records, because neither the domain nor --param "
            "records=N says about how many there are; give the low end of what anybody could guess\n"
        )
    _require_files(options, domain, copies)
    # A key that cannot be used is refused before anything is paid for.
    sign = release_documents.signing(options)
    form = inputs.form(options)
    counting = pipeline.Counting(
        place=options.counting,
        address=options.cluster,
        folder=options.cluster_folder,
        key_file=options.cluster_key,
    )
    # Everything that can fail without the table has been tried by the time it is read: from
    # the first noise on the loss is spent, and a failure would waste it.
    with (
        outputs.pending(options.out, overwrite=options.overwrite) as table,
        release_documents.ReleaseDocuments(options, plan, sign, form) as documents,
        inputs.table(options) as (data, kind),
    ):
        spent = release_documents.LossReporter(spec)
        with spent.report_loss():
            release = pipeline.synthesize(
                data,
                domain=domain,
                spec=spec,
                kind=kind,
                dialect=form,
                progress=spent,
                prior=prior,
                counting=counting,
            )
            documents.write(release)
        try:
            documents.complete(release, table_sha256=_draw(release, table.temporary, options))
            table.keep()
        # The loss is spent: the model has to survive, since the table can be sampled from it
        # again.
        except (OSError, InputError):
            raise SynthError(documents.rescue(spent=str(spent))) from None
    _advise(release)
    implicates.write(release, copies, options)


def _require_files(options: argparse.Namespace, domain: Domain, copies: Sequence[Path]) -> None:
    """Refuse files that a synthesis could not write. copies: of its implicates. Errors: InputError."""
    from synth_engine import outputs, tables

    tables.require_format(options.out, domain=domain, declared=options.as_it_came_in)
    outputs.require(
        {
            "--out": options.out,
            "--receipt": options.receipt,
            "--model": options.model,
            "--answers": options.answers,
        }
        | {f"implicate {number}": path for number, path in enumerate(copies, 1)},
        inputs=(
            options.data,
            options.domain,
            options.form,
            options.prior,
            options.criteria,
        ),
        overwrite=options.overwrite,
    )


def _draw(release: Release, path: Path, options: argparse.Namespace) -> str:
    """Writes the table of a release at a path, in the format that --out names; returns its SHA-256."""
    from synth_engine import tables

    return tables.fill(
        tables.Drawing(model=release.model, rows=release.rows, seed=release.seed),
        path=path,
        form=options.out.name,
        declared=options.as_it_came_in,
    )


def _advise(release: Release) -> None:
    """Says on stderr that a release holds little but noise; from public facts and the (noisy) number of
    records alone."""
    from synth_engine.evaluation import forecast as forecasts
    from synth_engine.evaluation import tree_notes

    sys.stderr.write(
        "".join(f"note: {sentence}\n" for sentence in tree_notes.sentences(release.model))
    )
    if not_found := release.plan.not_found(release.answers):
        names = ", ".join(repr(name) for name in not_found)
        sys.stderr.write(
            f"note: not found: {names}. The noise of what was asked is larger than what a cell of the "
            "table holds, so nothing is known of these columns: they are empty, have one value only or "
            "items that noise chose, or lie anywhere in the box of their place. A larger epsilon, more "
            "records, fewer columns to be learned, or a description with bounds or values would do.\n"
        )
    if left_out := release.model.domain.enforcement.left_out:
        sys.stderr.write(
            f"note: constraints left out of this release: {'; '.join(each.sentence for each in left_out)}. "
            "With what the run learned of their columns no record could keep them; a larger epsilon, more "
            "records, or a description with bounds or values would do.\n"
        )
    if not any(measured.clique for measured in release.answers.measurements):
        return  # of the number of records alone there is enough to say
    rows = max(1, release.model.rows)
    expected = forecasts.forecast(
        release.plan.domain,
        release.plan.spec,
        rows=rows,
        opens_at=release.plan.min_records_to_split(rows),
    )
    if expected.level == "too-little":
        changes = "".join(f" Would do: {each.in_words}." for each in expected.repairs)
        sys.stderr.write(
            f"note: {len(expected.named('not found'))} of {len(expected.columns)} columns are not found: the "
            f"noise is larger than what the table holds. The release is valid, but says little.{changes}\n"
        )


def sample(options: argparse.Namespace) -> None:
    """Draws a table from a model or a description: post-processing, which costs nothing."""
    from synth_engine import row_selection, tables

    tables.require_format(options.out, declared=options.as_it_came_in)
    require_output(options, options.model, *([options.selection] if options.selection else []))
    model = read_model(options.model, says_if_edited=True)
    selection = (
        None
        if options.selection is None
        else row_selection.RowSelection.from_json(
            read_json(options.selection, name="selection")
        )
    )
    asked = whole(options.rows, name="rows")
    rows = asked or (selection and selection.rows) or model.rows
    if selection is not None:
        row_selection.require(model, selection, rows=rows)
    draw = tables.Drawing(
        model=model,
        rows=rows,
        seed=options.seed or secrets.token_hex(32),
        selection=selection,
    )
    tables.write_drawn(
        draw,
        path=options.out,
        overwrite=options.overwrite,
        declared=options.as_it_came_in,
    )


def _spec(options: argparse.Namespace) -> Any:
    from synth_engine.privacy.loss import parse_decimal
    from synth_engine.spec import Spec

    parameters: dict[str, str] = {}
    for pair in options.param:
        key, equals, value = pair.partition("=")
        if not equals or not key or key in parameters:
            raise SpecError(
                "a parameter is malformed or given twice",
                repair="write --param KEY=VALUE, each key once",
            )
        parameters[key] = value
    return Spec(
        mechanism=options.mechanism,
        parameters=parameters,
        epsilon=parse_decimal(options.epsilon, name="epsilon"),
        delta=parse_decimal(options.delta, name="delta"),
        rows=whole(options.rows, name="rows") or None,
        seed=options.seed,
    )


def _forecast_arguments(sub: argparse.ArgumentParser) -> None:
    _method_arguments(sub)
    sub.add_argument(
        "--records",
        metavar="N",
        required=True,
        help="about how many there are, as far as that is public",
    )
    sub.set_defaults(rows="0", seed=None)


def _synthesize_arguments(sub: argparse.ArgumentParser) -> None:
    inputs.data_arguments(sub)
    inputs.form_arguments(sub)
    _method_arguments(sub)
    sub.add_argument(
        "--rows", metavar="N", default="0", help="0 or absent: the noisy number of records"
    )
    sub.add_argument(
        "--seed",
        metavar="S",
        help="of the drawing, public in the receipt; absent: a secret one",
    )
    public_tables.arguments(sub)
    table_arguments(sub)
    sub.add_argument(
        "--counting",
        metavar="PLACE",
        default="",
        help="where records are counted: memory, parquet for encrypted files below TMPDIR, dask or spark; "
        "absent: by the size of the table",
    )
    sub.add_argument("--cluster", metavar="ADDRESS", default="", help="of Dask or Spark")
    sub.add_argument(
        "--cluster-folder", metavar="FOLDER", default="", help="that all its machines see"
    )
    sub.add_argument(
        "--cluster-key", metavar="FILE", default="", help="with 32 bytes, on all its machines"
    )
    sub.add_argument(
        "--implicates",
        metavar="M",
        default="0",
        help="2 to 20 further tables from the same answers, each of another plausible truth",
    )
    sub.add_argument("--receipt", metavar="RECEIPT.json", type=Path)
    sub.add_argument(
        "--sign-with",
        metavar="KEY.pem",
        type=Path,
        help="an Ed25519 private key that signs the receipt",
    )
    sub.add_argument("--model", metavar="MODEL.json", type=Path)
    sub.add_argument(
        "--answers", metavar="ANSWERS.npz", type=Path, help="the noisy answers, for check"
    )
    sub.add_argument(
        "--criteria",
        metavar="CRITERIA.json",
        type=Path,
        help="what has to hold for the release to be used; refused before the run where check could not "
        "tell it",
    )


def _method_arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--domain", metavar="DOMAIN.json", type=Path, required=True)
    sub.add_argument("--mechanism", metavar="ID", required=True)
    loss_arguments(sub)
    sub.add_argument(
        "--param",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="of the mechanism; repeatable",
    )


def _sample_arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("model", metavar="MODEL.json", type=Path)
    sub.add_argument(
        "--rows",
        metavar="N",
        default="0",
        help="0 or absent: the model's own number of records",
    )
    sub.add_argument("--seed", metavar="S", help="absent: a fresh secret one")
    sub.add_argument(
        "--selection",
        metavar="SELECTION.json",
        type=Path,
        help="which rows: conditions and quotas",
    )
    table_arguments(sub)
