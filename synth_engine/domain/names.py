"""Names: what people call codes, such as those of towns, as a public table has them. They are shown beside
the codes and used for nothing else."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from synth_engine.errors import DomainError

MAX_NAME_LENGTH = 200
SEPARATOR = " · "
Names = tuple[tuple[str, str], ...]
"""Of some codes, sorted: the code and its name."""


def parse(document: object, codes: Collection[str], *, column: str) -> Names:
    """Read names from JSON, an object of codes and names; codes may lack one. Errors: DomainError."""
    if document is None:
        return ()
    if not isinstance(document, Mapping) or not document.keys() <= set(codes):
        raise DomainError(
            "names are no object of codes that there are",
            repair="name these alone",
            column=column,
        )
    if not all(
        isinstance(name, str) and name.isprintable() and 0 < len(name) <= MAX_NAME_LENGTH
        for name in document.values()
    ):
        raise DomainError(
            f"a name of a code is no text of up to {MAX_NAME_LENGTH} printable letters",
            repair="write it so",
            column=column,
        )
    return tuple(sorted(document.items()))


def titled(codes: Collection[str], names: Names) -> tuple[str, ...]:
    """Each code with its name behind it, if it has one that is another."""
    known = dict(names)
    return tuple(
        f"{code}{SEPARATOR}{known[code]}" if known.get(code, code) != code else code
        for code in codes
    )
