"""The ground of maps: the file of public lines and names, and that pages hand it to the scripts that draw
it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from tests import base_map

MAX_BYTES = 300_000
FOLDER = Path(settings.BASE_DIR) / "static" / "maps"


@pytest.fixture(scope="module")
def ground() -> dict[str, Any]:
    read: dict[str, Any] = json.loads(base_map.FILE.read_text("utf-8"))
    return read


def decoded(text: str, steps: int) -> list[tuple[float, float]]:
    """The points of an encoded line, east and north."""
    numbers: list[int] = []
    bits = shift = 0
    for letter in text:
        value = ord(letter) - 63
        bits |= (value & 31) << shift
        shift += 5
        if value < 32:
            numbers.append(~(bits >> 1) if bits & 1 else bits >> 1)
            bits = shift = 0
    points, x, y = [], 0, 0
    for dx, dy in zip(numbers[::2], numbers[1::2], strict=True):
        x, y = x + dx, y + dy
        points.append((x / steps, y / steps))
    return points


def test_the_ground_of_maps_is_small_and_its_sources_are_stated() -> None:
    sizes = sum(path.stat().st_size for path in FOLDER.iterdir())
    assert sizes < MAX_BYTES
    words = (FOLDER / "README.md").read_text("utf-8")
    assert "Natural Earth" in words and "Census Bureau" in words
    assert words.count("public domain") >= 3


def test_lines_lie_on_the_earth_and_towns_where_they_are(ground: dict[str, Any]) -> None:
    for kind, lines in ground["lines"].items():
        steps = ground["steps"]["fine" if kind in {"coast", "state", "county"} else "coarse"]
        for text in lines:
            points = decoded(text, steps)
            assert len(points) > 1
            assert all(abs(east) <= 180.01 and abs(north) <= 90 for east, north in points)
    towns = dict(
        zip(
            ground["towns"]["names"],
            decoded(ground["towns"]["at"], ground["steps"]["coarse"]),
            strict=True,
        )
    )
    assert towns["Providence"] == pytest.approx((-71.42, 41.82), abs=0.03)
    assert towns["Newport"] == pytest.approx((-71.31, 41.49), abs=0.03)
    assert ground["towns"]["names"][0] == "Tokyo"  # the largest comes first


def test_a_line_is_encoded_and_decoded_without_change() -> None:
    points = [(-71_412, 41_824), (-71_400, 41_800), (0, 0), (179_999, -89_999)]
    assert decoded(base_map._encode(points), 1) == points


def test_a_straight_line_loses_its_middle_and_a_bent_one_does_not() -> None:
    straight = [(0.0, 0.0), (1.0, 0.001), (2.0, 0.0)]
    bent = [(0.0, 0.0), (1.0, 0.5), (2.0, 0.0)]
    assert base_map._simplified(straight, 0.01) == [straight[0], straight[2]]
    assert base_map._simplified(bent, 0.01) == bent
