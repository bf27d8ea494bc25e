"""Parts of the parser that several commands share: words, and options of a loss, of tables and of files that
exist."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any


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


def group(
    commands_of_tables: Any, name: str, *, about: str
) -> Callable[..., argparse.ArgumentParser]:
    """Add a word that has commands of its own; returns what adds one of these."""
    parser = commands_of_tables.add_parser(
        name, help=about, description=about, allow_abbrev=False
    )
    words = parser.add_subparsers(required=True, metavar="COMMAND")
    return functools.partial(add_command, words)


def overwrites(*writing: argparse.ArgumentParser) -> None:
    """The option of commands that write files."""
    for sub in writing:
        sub.add_argument(
            "--overwrite", action="store_true", help="replace output files that exist"
        )


def loss_arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--epsilon", metavar="E", required=True)
    sub.add_argument(
        "--delta", metavar="D", default="0", help="0 (the default) asks for a pure guarantee"
    )


def table_arguments(sub: argparse.ArgumentParser) -> None:
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
