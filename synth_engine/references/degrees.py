"""Read coordinates in degrees with decimals, and refuse other notations, each with its own repair."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from synth_engine.errors import TableError
from synth_engine.references.base import Reference

Point = tuple[float, float]
FAR_SOUTH = -60.0  # south of it nobody lives but in stations
_PLAIN = re.compile(r"[+-]?\d{1,9}(\.\d*)?([eE]-?\d{1,3})?")
_SIXTIETHS = re.compile(
    r"\s*[+-]?\d{1,3}\s*(°|:|\s|d|deg)\s*\d{1,2}(\.\d+)?.*"
    r"""|.*['′’"″”].*"""
    r"|[+-]?\d{1,3}(\.\d*)?°?\s*[NSEWnsew]"
)


def points(
    latitudes: Sequence[str], longitudes: Sequence[str], *, names: tuple[str, str]
) -> tuple[Point, ...]:
    """Points from texts, in degrees north and east. `names`: of the two columns. Errors: TableError."""
    _check_names(names)
    north = [
        _degrees(text, column=names[0], line=line)
        for line, text in enumerate(latitudes, start=2)
    ]
    east = [
        _degrees(text, column=names[1], line=line)
        for line, text in enumerate(longitudes, start=2)
    ]
    _check_range(north, east, names=names)
    for line, (latitude, longitude) in enumerate(zip(north, east, strict=True), start=2):
        if latitude == longitude == 0:
            raise TableError(
                "a point is at (0, 0), which stands for an unknown place in many files",
                repair="look the place up, or leave its line out", column=names[0], line=line,
            )  # fmt: skip
    return tuple(zip(north, east, strict=True))


def advice(reference: Reference) -> str:
    """Return a sentence on what looks odd about valid points; an empty text where nothing does."""
    if reference.at and all(latitude < FAR_SOUTH for latitude, _ in reference.at):
        return "Every point lies in the Antarctic: perhaps latitude and longitude are swapped."
    return ""


def _check_names(names: tuple[str, str]) -> None:
    """A column that says itself that it is the other coordinate."""
    latitude, longitude = (name.lower() for name in names)
    if (
        ("lon" in latitude or "lng" in latitude)
        and "lat" in longitude
        and "lat" not in latitude
    ):
        raise TableError(
            "latitude and longitude seem to be swapped",
            repair="choose the columns the other way round",
            column=names[0],
        )


def _degrees(text: str, *, column: str, line: int) -> float:
    if _PLAIN.fullmatch(text):
        return float(text)
    if not text:
        raise TableError(
            "a coordinate is missing",
            repair="look the place up, or leave its line out",
            column=column,
            line=line,
        )
    if _SIXTIETHS.fullmatch(text):
        raise TableError(
            "a coordinate is written in degrees and minutes, or with a direction",
            repair="write degrees with decimals, south and west below 0: minutes divided by 60, seconds by "
            "3600",
            column=column,
            line=line,
        )
    raise TableError(
        "a coordinate is no number of degrees",
        repair="write degrees with a decimal point, such as 41.824",
        column=column,
        line=line,
    )


def _check_range(
    north: Sequence[float], east: Sequence[float], *, names: tuple[str, str]
) -> None:
    if all(abs(latitude) <= 90 for latitude in north) and all(
        abs(longitude) <= 180 for longitude in east
    ):
        return
    # If most latitudes are impossible and all longitudes would be possible latitudes, the
    # columns were exchanged. Single ones are typing errors, which are named by their lines
    # below.
    beyond = sum(abs(latitude) > 90 for latitude in north)
    if 2 * beyond > len(north) and max(map(abs, north)) <= 180 and max(map(abs, east)) <= 90:
        raise TableError(
            "latitude and longitude seem to be swapped",
            repair="choose the columns the other way round",
            column=names[0],
        )
    if all(_is_packed(value) for value in (*north, *east)):
        raise TableError(
            "coordinates seem to be degrees and minutes written together",
            repair="write degrees with decimals: minutes divided by 60, added to the degrees",
            column=names[0],
        )  # fmt: skip
    for column, values, limit in ((names[0], north, 90), (names[1], east, 180)):
        for line, value in enumerate(values, start=2):
            if abs(value) > limit:
                raise TableError(
                    f"a coordinate is beyond {limit} degrees",
                    repair="correct it",
                    column=column,
                    line=line,
                )


def _is_packed(value: float) -> bool:
    """Whether it could be degrees times 100 plus minutes."""
    return 100 < abs(value) < 18_001 and math.fmod(abs(value), 100) < 60
