"""Convert the columns of a file to a Reference."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from synth_engine.domain.names import MAX_NAME_LENGTH as LONGEST_NAME
from synth_engine.errors import TableError
from synth_engine.references import degrees
from synth_engine.references.base import MOST_CODES, Reference, ReferenceSource, Roles
from synth_engine.references.column_roles import recognise
from synth_engine.references.sheet import MOST_BYTES, read_sheet, unpacked

LARGEST_WEIGHT = 1e12


def read(text: bytes, *, roles: Roles) -> Reference:
    """A reference from an unpacked file. Errors: TableError naming column and line."""
    sheet = read_sheet(text, wanted=roles.columns)
    codes = sheet.cells[roles.code]
    if not codes:
        raise TableError(
            "the reference table has no line below its header", repair="choose another file"
        )
    _check_codes(codes, column=roles.code, twice=roles.adds)
    weights = (
        None
        if roles.weight is None
        else _weights(sheet.cells[roles.weight], column=roles.weight)
    )
    if roles.adds and weights is not None:
        codes, weights = _summed(codes, weights)
    if len(codes) > MOST_CODES:
        raise TableError(
            f"a reference table has more than {MOST_CODES:,} codes",
            repair="take those of one region",
        )
    at = None
    if roles.latitude is not None and roles.longitude is not None:
        pair = roles.latitude, roles.longitude
        at = degrees.points(sheet.cells[pair[0]], sheet.cells[pair[1]], names=pair)
    return Reference(
        codes=tuple(codes),
        at=at,
        weights=None if weights is None else tuple(weights),
        parents={name: tuple(sheet.cells[column]) for name, column in roles.parents},
        names={
            name: _names(
                sheet.cells[dict(roles.parents)[name]], sheet.cells[column], column=column
            )
            for name, column in roles.names
        },
    )


def load(
    path: Path,
    *,
    code: str | None = None,
    latitude: str | None = None,
    longitude: str | None = None,
    weight: str | None = None,
    parents: tuple[tuple[str, str], ...] = (),
) -> tuple[Reference, ReferenceSource]:
    """A reference from a file on this machine, its columns as given, and else as their names tell."""
    try:
        with path.open("rb") as file:
            text = unpacked(file.read(MOST_BYTES + 1))
    except OSError:
        raise TableError(
            "the reference table cannot be read", repair="check its path and rights"
        ) from None
    recognised = recognise(read_sheet(text).names)
    if code is not None:
        roles = Roles(
            code=code, latitude=latitude, longitude=longitude, weight=weight, parents=parents
        )
    elif recognised is not None:
        roles = replace(
            recognised,
            latitude=latitude or recognised.latitude,
            longitude=longitude or recognised.longitude,
            weight=weight or recognised.weight,
            parents=(*recognised.parents, *parents),
        )
    else:
        raise TableError("it does not show which column is the code", repair="say the columns")
    source = ReferenceSource(
        name=path.name, version="1", sha256=hashlib.sha256(text).hexdigest()
    )
    return read(text, roles=roles), source


def _names(parts: Sequence[str], names: Sequence[str], *, column: str) -> dict[str, str]:
    """Return the name of each part, from the first line that has one."""
    names_by_part: dict[str, str] = {}
    for line, (part, name) in enumerate(zip(parts, names, strict=True), start=2):
        if len(name) > LONGEST_NAME or not name.isprintable():
            raise TableError(
                f"a name is no text of up to {LONGEST_NAME} printable letters",
                repair="mend it",
                column=column,
                line=line,
            )
        if part and name.strip():
            names_by_part.setdefault(part, name.strip())
    return names_by_part


def _check_codes(codes: Sequence[str], *, column: str, twice: bool) -> None:
    seen: set[str] = set()
    for line, code in enumerate(codes, start=2):
        if not code or not code.isprintable():
            raise TableError(
                "a code is empty, or no text to print",
                repair="mend it",
                column=column,
                line=line,
            )
        if code in seen and not twice:
            raise TableError(
                "a code stands in two lines",
                repair="leave one out, or choose the column of codes",
                column=column,
                line=line,
            )
        seen.add(code)


def _weights(texts: Sequence[str], *, column: str) -> list[float]:
    weights = []
    for line, text in enumerate(texts, start=2):
        try:
            # `float` also reads digits of other scripts, which no other program would.
            weight = float(text) if text.isascii() else -1.0
        except ValueError:
            weight = -1.0
        # NaN fails this comparison too.
        if not 0 <= weight <= LARGEST_WEIGHT:
            raise TableError(
                "a weight is no number of 0 or more",
                repair="correct it",
                column=column,
                line=line,
            )
        weights.append(weight)
    return weights


def _summed(codes: Sequence[str], weights: Sequence[float]) -> tuple[list[str], list[float]]:
    """Lines of one code as one, in the order in which codes appear."""
    total: dict[str, float] = {}
    for code, weight in zip(codes, weights, strict=True):
        total[code] = total.get(code, 0.0) + weight
    return list(total), list(total.values())
