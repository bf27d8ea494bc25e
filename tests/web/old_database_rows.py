"""What version 0.1 left behind, read as a file."""

from __future__ import annotations

import json
from pathlib import Path

PATH = Path(__file__).parent / "released" / "0001.json"


def count(model: str) -> int:
    """How many rows of a model there were."""
    return len(_of(model))


def last_hash(model: str) -> str:
    """The hash at the end of its chain."""
    return str(max(_of(model), key=lambda fields: int(str(fields["sequence"])))["hash"])


def _of(model: str) -> list[dict[str, object]]:
    return [row["fields"] for row in json.loads(PATH.read_text()) if row["model"] == model]
