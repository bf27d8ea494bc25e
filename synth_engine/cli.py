"""The command line: `python -m synth_engine mechanisms | synthesize | describe | sample | verify | check |
verifier | compare | domain | gazetteer | …`. What they do, and with which options, is in `commands`.

Exit code 0; 1 if a receipt does not verify or something failed; 2 for bad input, with one line on stderr that
names column, rule and repair, never a value of the table.
"""

from __future__ import annotations

import argparse
import pkgutil
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import Any, NoReturn

from synth_engine.commands import (
    checks,
    comparing,
    databases,
    descriptions,
    links,
    mixing,
    releases,
)
from synth_engine.errors import InputError, PrivacyError, SynthError

BAD_INPUT = 2
FAILED = 1
EXTRAS = "synth_engine.extras"
OWN = (releases, descriptions, checks, comparing, databases, links, mixing)
"""Modules whose function `add` adds their commands to the words of the parser."""


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
    for add in (*(module.add for module in OWN), *_of_extras()):
        add(words)
    return parser


def _of_extras() -> Iterator[Callable[[Any], None]]:
    """What adds the commands of each extra: the function `add` of its module `commands`, found in
    `EXTRAS`, and of other packages by what they declare in the group `synth_engine.commands`."""
    for each in pkgutil.iter_modules(import_module(EXTRAS).__path__):
        module = f"{EXTRAS}.{each.name}.commands"
        if find_spec(module) is not None:
            yield import_module(module).add
    for declared in entry_points(group="synth_engine.commands"):
        yield declared.load()
