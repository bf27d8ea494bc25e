"""A synthetic table that was made elsewhere: compared like any other, and marked as of unknown privacy."""

from __future__ import annotations

from synth_engine.errors import InputError
from synth_engine.strict_json import JsonObject

LONGEST = 300
NOTICE = (
    "This synthetic table was made elsewhere and has no receipt: nothing here proves that it protects "
    "anybody. A table that is close to the real one may hold rows of it. Figures beside those of a release "
    "compare usefulness alone"
)


def statement(made_by: str) -> JsonObject:
    """What a report says of the table. made_by: by whom or what, in words of whoever compares. Errors:
    InputError."""
    if not made_by.isprintable() or not 1 <= len(made_by.strip()) <= LONGEST:
        raise InputError(
            f"who made the table is no line of 1 to {LONGEST} characters",
            repair="name the program or the publisher",
        )
    return {"made_by": made_by.strip(), "privacy": "unknown", "notice": NOTICE}
