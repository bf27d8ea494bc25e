"""`python -m tests.base_map FOLDER` generates static/maps/base.json, the lines and names behind maps.

FOLDER holds `counties-10m.json` of the package us-atlas, `countries-50m.json` of the package world-atlas, and
`ne_10m_populated_places_simple.json` of Natural Earth; static/maps/README.md has their versions and licences.
"""

from __future__ import annotations

import json
import math
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Point = tuple[float, float]  # degrees east, degrees north
Line = list[Point]

FILE = Path(__file__).resolve().parent.parent / "static" / "maps" / "base.json"
FINE, COARSE = 1000, 100  # steps of a degree, of lines in the United States and elsewhere
TOLERANCES = {"coast": 0.0015, "state": 0.0015, "county": 0.005, "world": 0.04, "country": 0.04}
"""Degrees by which a simplified line may differ."""
SMALLEST_ISLANDS = {"coast": 0.01, "world": 0.16}  # degrees; smaller ones are left out
UNITED_STATES = frozenset({"840", "630", "016", "316", "580", "850"})
"""Countries of world-atlas that us-atlas has in more detail."""
MAX_TOWNS = 2_600


def main() -> None:
    folder = Path(sys.argv[1])
    kinds = {**_united_states(folder), **_world(folder)}
    lines = {
        kind: _encoded(arcs, kind, FINE if kind in {"coast", "state", "county"} else COARSE)
        for kind, arcs in kinds.items()
    }
    names, places = _towns(folder)
    document = {
        "steps": {"fine": FINE, "coarse": COARSE},
        "lines": lines,
        "towns": {"names": names, "at": places},
    }
    FILE.write_text(
        json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n", "utf-8"
    )
    sys.stdout.write(f"{FILE.stat().st_size:,} bytes, {len(names):,} towns\n")


def _united_states(folder: Path) -> dict[str, list[Line]]:
    topology = json.loads((folder / "counties-10m.json").read_text("utf-8"))
    counties = _users(topology, "counties")
    kinds: dict[str, list[Line]] = {"coast": [], "state": [], "county": []}
    for number, arc in enumerate(_arcs(topology)):
        codes = counties.get(number, set())
        states = {code[:2] for code in codes}
        if codes:
            kind = "coast" if len(codes) == 1 else "state" if len(states) > 1 else "county"
            kinds[kind].append(arc)
    return kinds


def _world(folder: Path) -> dict[str, list[Line]]:
    topology = json.loads((folder / "countries-50m.json").read_text("utf-8"))
    countries, coasts = _users(topology, "countries"), _users(topology, "land")
    kinds: dict[str, list[Line]] = {"world": [], "country": []}
    for number, arc in enumerate(_arcs(topology)):
        codes = countries.get(number, set())
        if codes and not codes & UNITED_STATES:
            kinds["world" if number in coasts else "country"].append(arc)
    return kinds


def _towns(folder: Path) -> tuple[list[str], str]:
    """Names, the largest town first, and their points as one encoded line. The United States have all towns
    of the list."""
    source = json.loads((folder / "ne_10m_populated_places_simple.json").read_text("utf-8"))
    towns = [feature["properties"] for feature in source["features"]]
    towns.sort(key=lambda town: (-town["pop_max"], town["name"]))
    ours = [town for town in towns if town["adm0_a3"] == "USA"]
    largest = {id(town) for town in [*ours, *towns][:MAX_TOWNS]}
    towns = [town for town in towns if id(town) in largest]
    points = [(town["longitude"], town["latitude"]) for town in towns]
    return [town["name"] for town in towns], _encode(_steps(points, COARSE))


# --- TopoJSON -----------------------------------------------------------------------------------------------
def _arcs(topology: dict[str, Any]) -> Iterator[Line]:
    (scale_x, scale_y), (x0, y0) = (
        topology["transform"]["scale"],
        topology["transform"]["translate"],
    )
    for arc in topology["arcs"]:
        x = y = 0
        line = []
        for dx, dy in arc:
            x, y = x + dx, y + dy
            line.append((x * scale_x + x0, y * scale_y + y0))
        yield line


def _users(topology: dict[str, Any], name: str) -> dict[int, set[str]]:
    """The identifiers of the geometries that have an arc."""
    users: dict[int, set[str]] = defaultdict(set)
    for geometry in topology["objects"][name]["geometries"]:
        for arc in _flat(geometry.get("arcs", [])):
            users[arc if arc >= 0 else ~arc].add(str(geometry.get("id")))
    return users


def _flat(arcs: Any) -> Iterator[int]:
    if isinstance(arcs, int):
        yield arcs
        return
    for arc in arcs:
        yield from _flat(arc)


# --- lines --------------------------------------------------------------------------------------------------
def _encoded(arcs: list[Line], kind: str, steps: int) -> list[str]:
    tolerance, smallest = TOLERANCES[kind], SMALLEST_ISLANDS.get(kind, 0.0)
    lines = [_simplified(line, tolerance) for line in _joined(arcs, junctions=False)]
    lines = [line for line in lines if _extent(line) >= smallest]
    # Chains across junctions share their ends: fewer lines, and fewer first points.
    rounded = [
        _distinct(_steps(line, steps)) for line in sorted(_joined(lines, junctions=True))
    ]
    return [_encode(line) for line in rounded if len(line) > 1]


def _joined(lines: list[Line], *, junctions: bool) -> list[Line]:
    """Chains of lines that share an end; where more than two do, only with `junctions`."""
    at: dict[Point, list[int]] = defaultdict(list)
    for number, line in enumerate(lines):
        for end in (line[0], line[-1]):
            at[end].append(number)
    used: set[int] = set()
    chains = []
    for number, line in enumerate(lines):
        if number in used:
            continue
        used.add(number)
        chain = list(line)
        for _ in range(2):  # from its end, then from its beginning
            while (following := _next(chain[-1], at, used, junctions=junctions)) is not None:
                used.add(following)
                more = lines[following]
                chain += (more if more[0] == chain[-1] else more[::-1])[1:]
            chain.reverse()
        chains.append(chain)
    return chains


def _next(
    end: Point, at: dict[Point, list[int]], used: set[int], *, junctions: bool
) -> int | None:
    if not junctions and len(at[end]) != 2:
        return None
    return next((number for number in at[end] if number not in used), None)


def _extent(line: Line) -> float:
    return max(max(axis) - min(axis) for axis in zip(*line, strict=True))


def _simplified(line: Line, tolerance: float) -> Line:
    """The line without points that are nearer than `tolerance` degrees to it (Douglas and Peucker 1973)."""
    flat = math.cos(math.radians(line[0][1]))
    points = [(x * flat, y) for x, y in line]
    retained = {0, len(line) - 1}
    parts = [(0, len(line) - 1)]
    while parts:
        first, last = parts.pop()
        inner = range(first + 1, last)
        farthest = max(
            inner,
            key=lambda at: _distance(points[at], points[first], points[last]),
            default=None,
        )
        if (
            farthest is not None
            and _distance(points[farthest], points[first], points[last]) > tolerance
        ):
            retained.add(farthest)
            parts += [(first, farthest), (farthest, last)]
    return [line[at] for at in sorted(retained)]


def _distance(point: Point, start: Point, end: Point) -> float:
    """Of a point from the segment."""
    along = end[0] - start[0], end[1] - start[1]
    whole = along[0] ** 2 + along[1] ** 2
    away = point[0] - start[0], point[1] - start[1]
    share = (
        min(1.0, max(0.0, (away[0] * along[0] + away[1] * along[1]) / whole)) if whole else 0.0
    )
    return math.hypot(away[0] - share * along[0], away[1] - share * along[1])


def _steps(line: Iterable[Point], steps: int) -> list[tuple[int, int]]:
    return [(round(x * steps), round(y * steps)) for x, y in line]


def _distinct(line: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return [point for at, point in enumerate(line) if not at or point != line[at - 1]]


def _encode(line: list[tuple[int, int]]) -> str:
    """Differences of points as printable letters of five bits each (the encoded polyline format of maps)."""
    text, x0, y0 = [], 0, 0
    for x, y in line:
        text += [_letters(x - x0), _letters(y - y0)]
        x0, y0 = x, y
    return "".join(text)


def _letters(number: int) -> str:
    bits = ~(number << 1) if number < 0 else number << 1
    letters = []
    while bits >= 32:
        letters.append(chr((32 | bits & 31) + 63))
        bits >>= 5
    return "".join([*letters, chr(bits + 63)])


if __name__ == "__main__":
    main()
