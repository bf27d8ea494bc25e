"""Commands that mix real and synthetic records, or change synthetic ones by public totals and rules."""

from __future__ import annotations

import argparse
import hashlib
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synth_engine.commands import inputs
from synth_engine.commands.arguments import group, overwrites
from synth_engine.commands.parts import (
    progress,
    read_json,
    require_output,
    whole,
    write_json,
    write_text,
)
from synth_engine.commands.released import receipt_and_model
from synth_engine.errors import InputError, SpecError

if TYPE_CHECKING:
    from synth_engine.mixing.policy import FillPlan


def add(words: Any) -> None:
    """The commands that mix real and synthetic records, or weight synthetic ones, as commands of one word
    among those of tables."""
    about = (
        "counts that are filled to a policy, which are NOT private; "
        "synthetic rows that meet public totals, or are changed by a public rule"
    )
    command = group(words, "mix", about=about)
    filling = command(
        "fill",
        fill_counts,
        about="count real records by groups and add synthetic ones until each group meets a policy; NOT "
        "differentially private",
    )
    filling.add_argument("data", metavar="DATA", type=Path)
    filling.add_argument(
        "--outside-the-guarantee",
        action="store_true",
        help="say that no guarantee of this table holds afterwards; without it nothing is read",
    )
    filling.add_argument("--out", metavar="COUNTS.json", type=Path, required=True)
    filling.add_argument("--table", metavar="COUNTS.csv", type=Path)
    planning = command(
        "alternative",
        private_alternative,
        about="say what a private table of the same groups would be like; reads no row",
    )
    for sub in (filling, planning):
        _fill_arguments(sub)
    inputs.form_arguments(filling)
    repairing = command(
        "repair",
        repair_table,
        about="weight or repeat rows of a synthetic table until public totals are met; costs nothing",
    )
    repairing.add_argument("table", metavar="SYNTHETIC.csv", type=Path)
    repairing.add_argument(
        "--totals", metavar="TOTALS.csv", type=Path, nargs="+", required=True
    )
    repairing.add_argument(
        "--repeat",
        action="store_true",
        help="repeat rows and leave rows out instead of a column of weights; with one table of totals",
    )
    repairing.add_argument("--out", metavar="OUT.csv", type=Path, required=True)
    updating = command(
        "update",
        update_table,
        about="change rows of a release by a public rule, such as a year more for everybody; costs nothing",
    )
    _update_arguments(updating)
    overwrites(filling, repairing, updating)


def _update_arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("model", metavar="MODEL.json", type=Path)
    sub.add_argument("--receipt", metavar="RECEIPT.json", type=Path, required=True)
    sub.add_argument("--rule", metavar="RULE.json", type=Path, required=True)
    sub.add_argument("--rows", metavar="N", default="0", help="absent: those of the release")
    sub.add_argument(
        "--seed", metavar="S", help="stands in the record; absent: a new random one"
    )
    sub.add_argument("--out", metavar="OUT.csv", type=Path, required=True)
    sub.add_argument("--record", metavar="UPDATE.json", type=Path, required=True)


def _fill_arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--domain", metavar="DOMAIN.json", type=Path, required=True)
    sub.add_argument("--by", metavar="COLUMN", nargs="+", required=True)
    sub.add_argument("--day", metavar="COLUMN", help="of dates, for --least-days")
    sub.add_argument("--least-records", metavar="N", default="100", help="absent: 100")
    sub.add_argument(
        "--largest-share",
        metavar="SHARE",
        default="0.1",
        help="of a group's records, that one contributor may have; absent: 0.1",
    )
    sub.add_argument("--least-days", metavar="N", default="1", help="absent: 1")
    sub.add_argument(
        "--epsilon", metavar="E", default="1", help="of the private alternative; absent: 1"
    )


def fill_counts(options: argparse.Namespace) -> None:
    """Writes counts that are filled to a policy: not private, and nothing of the table is afterwards."""
    from synth_engine import outputs, pipeline
    from synth_engine.mixing.policy import NOT_PRIVATE

    outputs.require(
        {"--out": options.out, "--table": options.table},
        inputs=(options.data, options.domain, options.form),
        overwrite=options.overwrite,
    )
    plan, form = _fill_plan(options), inputs.form(options)
    if not options.outside_the_guarantee:
        raise SpecError(
            "exact counts void every guarantee of this table",
            repair="give --outside-the-guarantee to say so, or use the private alternative (mix alternative)",
        )
    pipeline.require_filling(options.data, plan=plan, dialect=form)
    pipeline.require_vouched(options.data, dialect=form)
    _say_alternative(options)
    made = pipeline.fill(options.data, plan=plan, dialect=form, progress=progress())
    write_json(options.out, made.to_json(), overwrite=options.overwrite)
    if options.table is not None:
        write_text(options.table, made.to_csv(), overwrite=options.overwrite)
    sys.stderr.write(f"note: {NOT_PRIVATE}\n")


def private_alternative(options: argparse.Namespace) -> None:
    """Prints what a private table of the same groups would be like. Reads no row."""
    _say_alternative(options)


def _fill_plan(options: argparse.Namespace) -> FillPlan:
    from synth_engine import domain as domains
    from synth_engine.mixing.policy import FillPlan, FillPolicy
    from synth_engine.privacy.loss import parse_decimal

    return FillPlan(
        domain=domains.read(options.domain),
        by=tuple(options.by),
        day=options.day,
        policy=FillPolicy(
            least_records=whole(options.least_records, name="least-records"),
            largest_share=parse_decimal(options.largest_share, name="largest-share"),
            least_days=whole(options.least_days, name="least-days"),
        ),
    )


def _say_alternative(options: argparse.Namespace) -> None:
    from synth_engine.mixing.alternative import alternative
    from synth_engine.privacy.loss import parse_decimal

    plan = _fill_plan(options)
    private = alternative(plan, epsilon=parse_decimal(options.epsilon, name="epsilon"))
    sys.stdout.write(f"{plan.groups:,} groups. {private.sentence}\n")


def repair_table(options: argparse.Namespace) -> None:
    """Writes a synthetic table whose rows are weighted or repeated so that public totals are met:
    post-processing, which costs nothing."""
    import pandas as pd

    from synth_engine import outputs
    from synth_engine.mixing import raking, repair

    require_output(options, options.table, *options.totals)
    totals = [raking.read_totals(path) for path in options.totals]
    repair.require_way(totals, "rows" if options.repeat else "weights")
    try:
        table = pd.read_csv(options.table, dtype=str, keep_default_na=False, encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError):
        raise InputError(
            "the synthetic table cannot be read as CSV", repair="check its path and encoding"
        ) from None
    if raking.WEIGHT in table:
        raise InputError(
            "the table has a column of weights already",
            repair="leave it out",
            column=raking.WEIGHT,
        )
    if options.repeat:
        made = raking.repaired(table, totals[0])
    else:
        made = table.assign(**{raking.WEIGHT: raking.weights(table, totals)})
    outputs.replace(
        options.out, lambda path: made.to_csv(path, index=False), overwrite=options.overwrite
    )


def update_table(options: argparse.Namespace) -> None:
    """Writes rows of a release after a public rule, and the receipt of that table: post-processing, which
    costs nothing."""
    import pandas as pd

    from synth_engine import outputs, tables
    from synth_engine.mixing import updating

    outputs.require(
        {"--out": options.out, "--record": options.record},
        inputs=(options.model, options.receipt, options.rule),
        overwrite=options.overwrite,
    )
    rule = updating.rule_of(read_json(options.rule, name="rule"))
    release, model = receipt_and_model(options)
    updating.require(model.domain, rule)
    seed = options.seed or secrets.token_hex(32)
    draw = tables.Drawing(
        model=model, rows=whole(options.rows, name="rows") or model.rows, seed=seed
    )
    made = updating.update(model.domain, pd.concat(draw.blocks(), ignore_index=True), rule)
    outputs.replace(
        options.out,
        lambda path: made.texts.to_csv(path, index=False, lineterminator="\n"),
        overwrite=options.overwrite,
    )
    stated = {
        "rule": rule.to_json(),
        "rows": {"generated": draw.rows, "written": len(made.texts), "left_out": made.left_out},
        "changed": list(made.changed),
        "seed": seed,
        "table_sha256": hashlib.sha256(options.out.read_bytes()).hexdigest(),
    }
    write_json(
        options.record,
        updating.receipt(release, model=model.to_json(), made=stated),
        overwrite=options.overwrite,
    )
