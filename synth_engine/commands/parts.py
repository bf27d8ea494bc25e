"""What commands share, those of extras too: documents read and written strictly, numbers, progress."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from synth_engine.errors import InputError, SpecError

MAX_DOCUMENT_BYTES = 2**30


def whole(text: str, *, name: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise SpecError(
            f"{name} is not a whole number of 0 or more",
            repair=f"write --{name} 1000, or leave it out",
        )
    return int(text)


def pair(text: str, *, what: str = "a partition", option: str = "--part") -> tuple[str, str]:
    name, equals, column = text.partition("=")
    if not equals or not name or not column:
        raise InputError(f"{what} is malformed", repair=f"write {option} NAME=COLUMN")
    return name, column


def read_json(path: Path, *, name: str) -> Any:
    """Read a JSON object strictly. Raises InputError for anything else."""
    from synth_engine import strict_json

    try:
        if path.stat().st_size > MAX_DOCUMENT_BYTES:
            raise InputError(f"the {name} is too large", repair="check the path")
        text = path.read_text(encoding="utf-8")
        # A key given twice would let one reader see the first value and the verifier the
        # second.
        document = strict_json.loads(text)
    except OSError:
        raise InputError(
            f"the {name} cannot be read", repair="check its path and rights"
        ) from None
    except (ValueError, RecursionError):
        raise InputError(
            f"the {name} is not JSON in UTF-8", repair="use the file as it was written"
        ) from None
    if not isinstance(document, dict):
        raise InputError(
            f"the {name} is not a JSON object", repair="use the file as it was written"
        )
    return document


def write_json(path: Path, document: Any, *, overwrite: bool) -> None:
    write_text(path, json_text(document), overwrite=overwrite)


def write_text(path: Path, text: str, *, overwrite: bool) -> None:
    from synth_engine import outputs

    outputs.replace(path, lambda temporary: _fill(temporary, text), overwrite=overwrite)


def _fill(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def json_text(document: Any) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def require_output(options: argparse.Namespace, *inputs: Path | None) -> None:
    """Refuses the output of a command that has one, before anything is read."""
    from synth_engine import outputs

    outputs.require({"--out": options.out}, inputs=inputs, overwrite=options.overwrite)


def progress() -> Callable[[str, float], None]:
    """A line that renews itself on a terminal; silence elsewhere."""
    if not sys.stderr.isatty():
        return lambda _stage, _fraction: None

    def show(stage: str, fraction: float) -> None:
        sys.stderr.write(f"\r{stage} {fraction:4.0%}" + ("\r\x1b[K" if fraction >= 1 else ""))
        sys.stderr.flush()

    return show
