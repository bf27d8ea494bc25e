"""Commands of links: two tables of two owners, who share no rows."""

from __future__ import annotations

import argparse
import dataclasses
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synth_engine.commands import inputs
from synth_engine.commands.arguments import group, overwrites
from synth_engine.commands.parts import read_json, require_output, whole, write_json
from synth_engine.commands.release_documents import LossReporter
from synth_engine.commands.released import read_model

if TYPE_CHECKING:
    from synth_engine.linking.agreement import Agreement


def add(words: Any) -> None:
    """The commands of links, as commands of one word among those of tables."""
    about = (
        "link two tables of two owners without sharing rows: noisy sketches, and what both say"
    )
    command = group(words, "link", about=about)
    agreeing = command(
        "agree",
        agree_link,
        about="write what both sides agree on, from their public descriptions",
    )
    _link_agreement_arguments(agreeing)
    sketching = command(
        "sketch",
        sketch_link,
        about="count one side by buckets of hashed texts, with noise",
    )
    sketching.add_argument("data", metavar="DATA", type=Path)
    sketching.add_argument("--link", metavar="LINK.json", type=Path, required=True)
    sketching.add_argument("--side", choices=("left", "right"), required=True)
    sketching.add_argument("--domain", metavar="DOMAIN.json", type=Path, required=True)
    inputs.form_arguments(sketching)
    sketching.add_argument("--out", metavar="SKETCH.json", type=Path, required=True)
    sketching.add_argument("--receipt", metavar="RECEIPT.json", type=Path)
    estimating = command(
        "estimate",
        estimate_link,
        about="say from two sketches how many persons both tables share, with intervals",
    )
    estimating.add_argument("link", metavar="LINK.json", type=Path)
    estimating.add_argument("first", metavar="SKETCH.json", type=Path)
    estimating.add_argument("second", metavar="SKETCH.json", type=Path)
    estimating.add_argument("--out", metavar="ESTIMATE.json", type=Path, required=True)
    drawing = command(
        "draw",
        draw_link,
        about="draw a table of each side, with ids that join as an estimate says",
    )
    drawing.add_argument("link", metavar="LINK.json", type=Path)
    drawing.add_argument("estimate", metavar="ESTIMATE.json", type=Path)
    drawing.add_argument("left", metavar="MODEL.json", type=Path)
    drawing.add_argument("right", metavar="MODEL.json", type=Path)
    drawing.add_argument("--seed", metavar="S", help="absent: a fresh secret one")
    drawing.add_argument("--left-out", metavar="OUT.csv", type=Path, required=True)
    drawing.add_argument("--right-out", metavar="OUT.csv", type=Path, required=True)
    drawing.add_argument("--record", metavar="RECORD.json", type=Path, required=True)
    overwrites(agreeing, sketching, estimating, drawing)


def _link_agreement_arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("left", metavar="LEFT_DOMAIN.json", type=Path)
    sub.add_argument("right", metavar="RIGHT_DOMAIN.json", type=Path)
    for side in ("left", "right"):
        sub.add_argument(
            f"--{side}-texts",
            metavar="COLUMN",
            nargs="+",
            required=True,
            help="that identify a person, in the order of those of the other side",
        )
        sub.add_argument(
            f"--{side}-columns", metavar="COLUMN", nargs="*", default=[], help="to be linked"
        )
        sub.add_argument(f"--{side}-epsilon", metavar="E", help="absent: --epsilon")
    sub.add_argument("--epsilon", metavar="E", required=True, help="that each side spends")
    sub.add_argument(
        "--rows",
        metavar="N",
        required=True,
        help="about how many records a side has: a public guess, never the number itself",
    )
    sub.add_argument(
        "--typos",
        metavar="SHARE",
        default="0",
        help="the largest share of persons in both tables whose texts differ, such as 0.1",
    )
    sub.add_argument(
        "--functions",
        metavar="N",
        type=int,
        help="hash functions that decide a bucket together; absent: 12, or 4 where typos are declared",
    )
    sub.add_argument("--out", metavar="LINK.json", type=Path, required=True)


def agree_link(options: argparse.Namespace) -> None:
    """Writes the agreement of two sides from their public descriptions, and says which error it leads to
    expect."""
    from synth_engine import domain as domains
    from synth_engine.linking import agreement as agreements
    from synth_engine.privacy.loss import parse_decimal

    require_output(options, options.left, options.right)
    left, right = (
        agreements.Offer(
            domain=domains.read(getattr(options, side)),
            texts=getattr(options, f"{side}_texts"),
            attributes=getattr(options, f"{side}_columns"),
            epsilon=parse_decimal(
                getattr(options, f"{side}_epsilon") or options.epsilon, name="epsilon"
            ),
        )
        for side in agreements.SIDES
    )
    agreement = agreements.agree(
        left,
        right,
        rows=whole(options.rows, name="rows"),
        typos=parse_decimal(options.typos, name="typos"),
        functions=options.functions,
        seed=secrets.token_hex(16),
    )
    write_json(options.out, agreement.to_json(), overwrite=options.overwrite)
    sys.stderr.write(f"note: {agreement.advice}\n")


def sketch_link(options: argparse.Namespace) -> None:
    """Writes the noisy sketch of one side, and its receipt: the only thing of a link that reads a table."""
    from synth_engine import domain as domains
    from synth_engine import outputs, pipeline
    from synth_engine.linking import sketch as sketches
    from synth_engine.privacy import receipt as receipts

    outputs.require(
        {"--out": options.out, "--receipt": options.receipt},
        inputs=(options.data, options.link, options.domain, options.form),
        overwrite=options.overwrite,
    )
    agreement = _read_link(options.link)
    agreement.require_description(options.side, domains.read(options.domain))
    plan = sketches.plan(agreement, options.side)
    pipeline.confirm(plan)
    form = inputs.form(options)
    pipeline.require_side(options.data, plan=plan, dialect=form)
    pipeline.require_vouched(options.data, dialect=form)
    spent = LossReporter(plan)
    with spent.report_loss():
        made = pipeline.sketch(options.data, plan=plan, dialect=form, progress=spent)
        if form is not None and form.vouched_by:
            stated = receipts.of_formulas(made.receipt, vouched_by=form.vouched_by)
            made = dataclasses.replace(made, receipt=stated)
        write_json(options.out, made.to_json(), overwrite=options.overwrite)
        if options.receipt is not None:
            write_json(options.receipt, made.receipt, overwrite=options.overwrite)
    sys.stderr.write(f"note: {agreement.sentence_of_both}\n")


def estimate_link(options: argparse.Namespace) -> None:
    """Writes what two sketches say together, after a check of both receipts: post-processing, which costs
    nothing."""
    from synth_engine import verifier
    from synth_engine.linking import estimate as estimates
    from synth_engine.linking.sketch import Sketch

    require_output(options, options.link, options.first, options.second)
    agreement = _read_link(options.link)
    made = [
        Sketch.from_json(read_json(path, name="sketch"), agreement)
        for path in (options.first, options.second)
    ]
    for each in made:
        verifier.verify(each.receipt)
    estimate = estimates.estimate(*made)
    write_json(options.out, estimate.to_json(), overwrite=options.overwrite)
    sys.stdout.writelines(f"{line}\n" for line in estimate.lines)


def draw_link(options: argparse.Namespace) -> None:
    """Draws a table of each side, with ids that join as the estimate says: post-processing, which costs
    nothing."""
    from synth_engine import outputs
    from synth_engine.linking import drawing
    from synth_engine.linking.estimate import LinkEstimate

    written = {"left": options.left_out, "right": options.right_out}
    for path in written.values():
        drawing.require_format(path)
    outputs.require(
        {
            "--left-out": options.left_out,
            "--right-out": options.right_out,
            "--record": options.record,
        },
        inputs=(options.link, options.estimate, options.left, options.right),
        overwrite=options.overwrite,
    )
    estimate = LinkEstimate.from_json(
        read_json(options.estimate, name="estimate"), _read_link(options.link)
    )
    tables = drawing.draw(
        estimate,
        {"left": read_model(options.left), "right": read_model(options.right)},
        seed=options.seed or secrets.token_hex(32),
    )
    digests = {
        side: drawing.write(tables, side, written[side], overwrite=options.overwrite)
        for side in tables.tables
    }
    write_json(
        options.record,
        tables.record | {"tables_sha256": digests},
        overwrite=options.overwrite,
    )


def _read_link(path: Path) -> Agreement:
    from synth_engine.linking.agreement import Agreement

    return Agreement.from_json(read_json(path, name="link"))
