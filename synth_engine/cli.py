"""The command line: `python -m synth_engine mechanisms | synthesize | describe | sample | verify | check |
verifier | compare | domain | gazetteer | …`. Which words it knows; what they do is in `commands`.

Exit code 0; 1 if a receipt does not verify or something failed; 2 for bad input, with one line on stderr that
names column, rule and repair, never a value of the table.
"""

from __future__ import annotations

import argparse
import functools
import pkgutil
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

from synth_engine import commands
from synth_engine.errors import InputError, PrivacyError, SynthError

BAD_INPUT = 2
FAILED = 1
EXTRAS = "synth_engine.extras"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns its exit code."""
    options = parsed(arguments)
    command: Callable[[argparse.Namespace], None] = options.command
    try:
        command(options)
    except (InputError, PrivacyError) as error:
        return _say(error, code=BAD_INPUT)
    except SynthError as error:
        return _say(error, code=FAILED)
    except BrokenPipeError:
        sys.stderr.close()  # nobody reads any more
        return FAILED
    # 128 plus the number of SIGINT, as shells report it.
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # noqa: BLE001  # a traceback could show cells
        return _say(f"internal error: {type(error).__name__}", code=FAILED)
    return 0


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options of a command, as its words have them."""
    return _parser().parse_args(arguments)


def _say(error: object, *, code: int) -> int:
    # Scripts read one line; a line break inside a message would hide the rest.
    sys.stderr.write("error: " + " ".join(str(error).split()) + "\n")
    return code


class _Parser(argparse.ArgumentParser):
    """A parser that reports a wrong call in one line, like any other bad input."""

    def error(self, message: str) -> NoReturn:
        sys.exit(_say(f"{message}; see {self.prog} --help", code=BAD_INPUT))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m synth_engine",
        description="Synthetic tables under differential privacy.",
        allow_abbrev=False,
    )
    words = parser.add_subparsers(required=True, metavar="COMMAND")

    command = functools.partial(add_command, words)
    command("mechanisms", commands.mechanisms, about="list the mechanisms as JSON")
    _forecast_arguments(
        command(
            "forecast",
            commands.forecast,
            about="say as JSON what a release would tell, from public facts alone",
        )
    )
    _synthesize_arguments(
        command(
            "synthesize",
            commands.synthesize,
            about="make a synthetic table from a sensitive one",
        )
    )
    _learn_arguments(
        command(
            "learn",
            commands.learn,
            about="learn undeclared columns once, for all later runs: a description with its receipt",
        )
    )
    sub = command(
        "describe",
        commands.describe,
        about="write a model as a description, to be read and edited",
    )
    sub.add_argument("model", metavar="MODEL.json", type=Path)
    sub.add_argument("--out", metavar="DESCRIPTION.json", type=Path, required=True)
    _sample_arguments(
        command(
            "sample",
            commands.sample,
            about="draw another table from a stored model or description",
        )
    )
    _verify_arguments(
        command(
            "verify", commands.verify, about="recompute epsilon and delta from a receipt alone"
        )
    )
    _check_arguments(
        command(
            "check",
            commands.check,
            about="say whether a release meets criteria that were fixed before its run, from noisy answers "
            "alone",
        )
    )
    _fit_arguments(
        command(
            "fit",
            commands.fit,
            about="regress one column on others, with intervals that include the noise, from noisy answers "
            "alone",
        )
    )
    sub = command(
        "verifier",
        commands.verifier,
        about="write the verifier of receipts as one file that needs only Python",
    )
    sub.add_argument("--out", metavar="FILE.py", type=Path, required=True)
    sub = command(
        "compare",
        commands.compare,
        about="compare with the real table; NOT differentially private",
    )
    _compare_arguments(sub)
    sub = command(
        "domain",
        commands.draft_domain,
        about="draft a domain from the data, to be edited and confirmed",
    )
    _data_arguments(sub)
    _form_arguments(sub)
    sub.add_argument("--out", metavar="DOMAIN.json", type=Path, required=True)
    _gazetteer_arguments(
        command(
            "gazetteer",
            commands.gazetteer,
            about="say by a public file where a column's codes lie, and of what they are parts",
        )
    )
    sub = command(
        "form",
        commands.guess_form,
        about="guess how a CSV is written, to be corrected and given with it",
    )
    sub.add_argument("data", metavar="DATA", type=Path)
    sub.add_argument("--out", metavar="FORM.json", type=Path, required=True)
    _read_argument(sub)
    overwrites(
        *(
            sub
            for name, sub in words.choices.items()
            if name not in ("mechanisms", "forecast", "verify", "check", "fit")
        )
    )
    _database_commands(words)
    _link_commands(words)
    _mix_commands(words)
    for add in _of_extras():
        add(words)
    return parser


def add_command(
    words: Any, name: str, function: Callable[[argparse.Namespace], None], *, about: str
) -> argparse.ArgumentParser:
    """Adds a command to the words of a parser."""
    # An abbreviation in a script would change its meaning when an option is added.
    sub: argparse.ArgumentParser = words.add_parser(
        name, help=about, description=about, allow_abbrev=False
    )
    sub.set_defaults(command=function)
    return sub


def _of_extras() -> Iterator[Callable[[Any], None]]:
    """What adds the commands of each extra: the function `add` of its module `commands`, found in
    `EXTRAS`, and of other packages by what they declare in the group `synth_engine.commands`."""
    for each in pkgutil.iter_modules(import_module(EXTRAS).__path__):
        module = f"{EXTRAS}.{each.name}.commands"
        if find_spec(module) is not None:
            yield import_module(module).add
    for declared in entry_points(group="synth_engine.commands"):
        yield declared.load()


def group(
    commands_of_tables: Any, name: str, *, about: str
) -> Callable[..., argparse.ArgumentParser]:
    """Add a word that has commands of its own; returns what adds one of these."""
    parser = commands_of_tables.add_parser(
        name, help=about, description=about, allow_abbrev=False
    )
    words = parser.add_subparsers(required=True, metavar="COMMAND")
    return functools.partial(add_command, words)


def _database_commands(commands_of_tables: Any) -> None:
    """The commands of databases, as commands of one word among those of tables."""
    about = "the same for a database of several tables that keys connect"
    command = group(commands_of_tables, "database", about=about)
    sub = command(
        "describe",
        commands.describe_database,
        about="print what a release would measure, and with which parts of the budget",
    )
    sub.add_argument("database", metavar="DATABASE.json", type=Path)
    _loss_arguments(sub)
    sub = command(
        "synthesize",
        commands.synthesize_database,
        about="make a synthetic database from a sensitive one",
    )
    sub.add_argument("database", metavar="DATABASE.json", type=Path)
    _loss_arguments(sub)
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
        commands.sample_database,
        about="generate another database from a stored model",
    )
    generating.add_argument("model", metavar="MODEL.json", type=Path)
    _database_output(generating)
    checking = command(
        "check",
        commands.check_database,
        about="count what is wrong with keys of the real database; NOT differentially private",
    )
    checking.add_argument("database", metavar="DATABASE.json", type=Path)
    comparing = command(
        "compare",
        commands.compare_databases,
        about="compare counts, over joins too, with the real database; NOT differentially private",
    )
    comparing.add_argument("database", metavar="DATABASE.json", type=Path)
    comparing.add_argument(
        "synthetic", metavar="FOLDER", type=Path, help="with files of the described names"
    )
    comparing.add_argument("--out", metavar="REPORT.json", type=Path, required=True)
    verifying = command(
        "verify",
        commands.verify_database,
        about="recompute epsilon and delta from a receipt, and check that it is of all tables",
    )
    verifying.add_argument("database", metavar="DATABASE.json", type=Path)
    verifying.add_argument("receipt", metavar="RECEIPT.json", type=Path)
    verifying.add_argument("--digest", metavar="SHA256", help="of the receipt")
    overwrites(sub, generating, comparing)


def _link_commands(commands_of_tables: Any) -> None:
    """The commands of links, as commands of one word among those of tables."""
    about = (
        "link two tables of two owners without sharing rows: noisy sketches, and what both say"
    )
    command = group(commands_of_tables, "link", about=about)
    agreeing = command(
        "agree",
        commands.agree_link,
        about="write what both sides agree on, from their public descriptions",
    )
    _link_agreement_arguments(agreeing)
    sketching = command(
        "sketch",
        commands.sketch_link,
        about="count one side by buckets of hashed texts, with noise",
    )
    sketching.add_argument("data", metavar="DATA", type=Path)
    sketching.add_argument("--link", metavar="LINK.json", type=Path, required=True)
    sketching.add_argument("--side", choices=("left", "right"), required=True)
    sketching.add_argument("--domain", metavar="DOMAIN.json", type=Path, required=True)
    _form_arguments(sketching)
    sketching.add_argument("--out", metavar="SKETCH.json", type=Path, required=True)
    sketching.add_argument("--receipt", metavar="RECEIPT.json", type=Path)
    estimating = command(
        "estimate",
        commands.estimate_link,
        about="say from two sketches how many persons both tables share, with intervals",
    )
    estimating.add_argument("link", metavar="LINK.json", type=Path)
    estimating.add_argument("first", metavar="SKETCH.json", type=Path)
    estimating.add_argument("second", metavar="SKETCH.json", type=Path)
    estimating.add_argument("--out", metavar="ESTIMATE.json", type=Path, required=True)
    drawing = command(
        "draw",
        commands.draw_link,
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


def _mix_commands(commands_of_tables: Any) -> None:
    """The commands that mix real and synthetic records, or weight synthetic ones, as commands of one word
    among those of tables."""
    about = (
        "counts that are filled to a policy, which are NOT private; "
        "synthetic rows that meet public totals, or are changed by a public rule"
    )
    command = group(commands_of_tables, "mix", about=about)
    filling = command(
        "fill",
        commands.fill_counts,
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
        commands.private_alternative,
        about="say what a private table of the same groups would be like; reads no row",
    )
    for sub in (filling, planning):
        _fill_arguments(sub)
    _form_arguments(filling)
    repairing = command(
        "repair",
        commands.repair_table,
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
        commands.update_table,
        about="change rows of a release by a public rule, such as a year more for everybody; costs nothing",
    )
    updating.add_argument("model", metavar="MODEL.json", type=Path)
    updating.add_argument("--receipt", metavar="RECEIPT.json", type=Path, required=True)
    updating.add_argument("--rule", metavar="RULE.json", type=Path, required=True)
    updating.add_argument(
        "--rows", metavar="N", default="0", help="absent: those of the release"
    )
    updating.add_argument(
        "--seed", metavar="S", help="stands in the record; absent: a new random one"
    )
    updating.add_argument("--out", metavar="OUT.csv", type=Path, required=True)
    updating.add_argument("--record", metavar="UPDATE.json", type=Path, required=True)
    overwrites(filling, repairing, updating)


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


def _loss_arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--epsilon", metavar="E", required=True)
    sub.add_argument(
        "--delta", metavar="D", default="0", help="0 (the default) asks for a pure guarantee"
    )


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


def overwrites(*writing: argparse.ArgumentParser) -> None:
    """The option of commands that write files."""
    for sub in writing:
        sub.add_argument(
            "--overwrite", action="store_true", help="replace output files that exist"
        )


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
    _form_arguments(sub)


def _form_arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "--form", metavar="FORM.json", type=Path, help="how the (real) table is written"
    )
    _read_argument(sub)


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
    _table_arguments(sub)


def _check_arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "criteria", metavar="CRITERIA.json", type=Path, help="a list, or a file of choices"
    )
    sub.add_argument(
        "--domain", metavar="DOMAIN.json", type=Path, required=True, help="as for the run"
    )
    sub.add_argument("--model", metavar="MODEL.json", type=Path, required=True)
    sub.add_argument("--receipt", metavar="RECEIPT.json", type=Path, required=True)
    sub.add_argument(
        "--answers",
        metavar="ANSWERS.npz",
        type=Path,
        help="the noisy answers; without them only the mean distance of pairs can be told",
    )


def _fit_arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("outcome", metavar="OUTCOME", help="the column that is explained")
    sub.add_argument(
        "regressors", metavar="REGRESSOR", nargs="+", help="columns that explain it"
    )
    sub.add_argument(
        "--kind", choices=("ols", "logit"), default="ols", help="least squares, or a logit"
    )
    sub.add_argument(
        "--domain", metavar="DOMAIN.json", type=Path, required=True, help="as for the run"
    )
    sub.add_argument("--receipt", metavar="RECEIPT.json", type=Path, required=True)
    sub.add_argument(
        "--answers", metavar="ANSWERS.npz", type=Path, required=True, help="the noisy answers"
    )


def _gazetteer_arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "reference",
        metavar="REFERENCE",
        type=Path,
        help="CSV or CSV.gz; a LODES crosswalk as it is",
    )
    sub.add_argument(
        "--column", metavar="NAME", required=True, help="of the description, of categories"
    )
    sub.add_argument(
        "--domain",
        metavar="DOMAIN.json",
        type=Path,
        required=True,
        help="read, and written unless --out",
    )
    sub.add_argument("--out", metavar="DOMAIN.json", type=Path)
    for role in ("code", "latitude", "longitude", "weight"):
        sub.add_argument(
            f"--{role}", metavar="COLUMN", help="of the reference; absent: by its name"
        )
    sub.add_argument(
        "--part",
        metavar="NAME=COLUMN",
        action="append",
        default=[],
        help="a partition; repeatable",
    )


def _table_arguments(sub: argparse.ArgumentParser) -> None:
    """The file of a synthetic table, and how it is written."""
    sub.add_argument(
        "--out",
        metavar="OUT",
        type=Path,
        required=True,
        help=".csv, .parquet or .xlsx; .dat or .dat.gz for baskets",
    )
    sub.add_argument(
        "--as-it-came-in",
        action="store_true",
        help="write a CSV in the form that the description declares for its file",
    )


def _read_argument(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "--read",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a fact of the form, as header=no; repeatable",
    )


def _verify_arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "receipt", metavar="RECEIPT.json", type=Path, help="a receipt, or a bundle (.zip)"
    )
    sub.add_argument(
        "--head", metavar="HEAD.json", type=Path, help="the latest signed head of its marks"
    )
    sub.add_argument(
        "--key",
        metavar="PUBLIC.pem",
        type=Path,
        help="with which receipt and head have to be signed",
    )
    sub.add_argument("--digest", metavar="SHA256", help="of its core, as a citation names it")
    sub.add_argument(
        "--answers",
        metavar="ANSWERS.npz",
        type=Path,
        help="the noisy answers of the run, from which the columns that were not found are recomputed",
    )
    sub.add_argument(
        "--domain", metavar="DOMAIN.json", type=Path, help="with --answers: as for the run"
    )
    sub.add_argument(
        "--bought",
        metavar="RECEIPT.json",
        type=Path,
        action="append",
        default=[],
        help="the receipt of a run that learned facts of the description; repeatable: all of them",
    )


def _prior_arguments(sub: argparse.ArgumentParser) -> None:
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


def _data_arguments(sub: argparse.ArgumentParser) -> None:
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


def _forecast_arguments(sub: argparse.ArgumentParser) -> None:
    _method_arguments(sub)
    sub.add_argument(
        "--records",
        metavar="N",
        required=True,
        help="about how many there are, as far as that is public",
    )
    sub.set_defaults(rows="0", seed=None)


def _learn_arguments(sub: argparse.ArgumentParser) -> None:
    _data_arguments(sub)
    _form_arguments(sub)
    sub.add_argument("--domain", metavar="DOMAIN.json", type=Path, required=True)
    _loss_arguments(sub)
    sub.add_argument(
        "--column",
        metavar="NAME",
        action="append",
        default=[],
        help="an undeclared column to learn; repeatable; absent: all of them",
    )
    sub.add_argument(
        "--out", metavar="DOMAIN.json", type=Path, required=True, help="what was learned"
    )
    sub.add_argument("--receipt", metavar="RECEIPT.json", type=Path, required=True)
    sub.add_argument("--answers", metavar="ANSWERS.npz", type=Path, required=True)
    sub.add_argument(
        "--sign-with",
        metavar="KEY.pem",
        type=Path,
        help="an Ed25519 private key that signs the receipt",
    )


def _method_arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--domain", metavar="DOMAIN.json", type=Path, required=True)
    sub.add_argument("--mechanism", metavar="ID", required=True)
    _loss_arguments(sub)
    sub.add_argument(
        "--param",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="of the mechanism; repeatable",
    )


def _synthesize_arguments(sub: argparse.ArgumentParser) -> None:
    _data_arguments(sub)
    _form_arguments(sub)
    _method_arguments(sub)
    sub.add_argument(
        "--rows", metavar="N", default="0", help="0 or absent: the noisy number of records"
    )
    sub.add_argument(
        "--seed",
        metavar="S",
        help="of the drawing, public in the receipt; absent: a secret one",
    )
    _prior_arguments(sub)
    _table_arguments(sub)
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
