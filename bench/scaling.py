"""How cost grows with rows, columns, cells and nodes of a tree: processor seconds and peak memory of one
release each.

    python bench/scaling.py [FOLDER] [--curves rows columns cells nodes] [--rows 10000 …] [--columns 5 …]
                            [--methods auto mst] [--limit 120] [--figure docs/images/scaling.svg]

- columns: 42,000 records and the first N of the columns of `fire`, `adult` and `national2019` side by side,
  in other orders once they are used up (FOLDER, or the environment variable SYNTHWEB_BENCHMARK, holds
  tools/split.py and data/);
- rows: 15 columns of 2 to 20 codes;
- cells: four columns of up to 48 codes, whose whole table `contingency-table` measures;
- nodes: words of eight letters in a tree (`adaptive`), by the number of nodes that it opens.

Every point is a process of its own with one thread. Printed are the seconds until the noisy answers are there
(reading, counting, noise), of the fit, of drawing as many records, all of them as they were predicted, and
the peak memory; last how `auto` compares with `mst` of the same table. A curve ends at a point that takes
more than `--limit` processor seconds. --figure draws what was printed.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

MEASURED_ROWS = 42_000
ROWS = (10_000, 100_000, 1_000_000, 10_000_000)
COLUMNS = (5, 15, 30, 48, 100, 200)
CELLS = tuple(size**4 for size in (6, 10, 18, 31))  # the last is near the largest table
WORDS = (1_000, 10_000, 100_000, 1_000_000)  # of which a tree is grown
METHODS = ("auto", "mst")
ALPHABET = "abcdefgh"
WIDTH, HEIGHT = 240, 200
COLORS = {
    "auto": "#c2570c",
    "mst": "#475569",
    "contingency-table": "#2563eb",
    "adaptive": "#15803d",
}


@dataclass(frozen=True, kw_only=True)
class Point:
    """What one release took: processor seconds and megabytes. forecast: the seconds that were predicted."""

    curve: str
    method: str
    size: int
    measure: float
    fit: float
    draw: float
    memory: float
    forecast: float = 0.0

    @property
    def seconds(self) -> float:
        return self.measure + self.fit + self.draw

    def __str__(self) -> str:
        return (
            f"{self.curve:8} {self.method:18} {self.size:>11,}  measure {self.measure:7.2f}  fit "
            f"{self.fit:7.2f}  draw {self.draw:7.2f}  in all {self.seconds:7.2f} s (forecast "
            f"{self.forecast:7.2f})  {self.memory:6,.0f} MB"
        )


def wide_table(folder: Path, path: Path, columns: int) -> dict[str, object]:
    """Real columns side by side, resampled; columns of one source keep their relations."""
    import numpy as np
    import pandas as pd

    from bench import auto

    rng = np.random.default_rng(0)
    blocks: list[npt.NDArray[np.int64]] = []
    sizes: list[int] = []
    while len(sizes) < columns:
        for source in ("fire", "adult", "national2019"):
            data = auto.read(folder, source, path.parent)
            chosen = rng.integers(0, len(data.codes), MEASURED_ROWS)
            blocks.append(data.codes[chosen].T)
            sizes += data.sizes.values()
    names = [f"c{number}" for number in range(columns)]
    table = pd.DataFrame(np.concatenate(blocks)[:columns].T, columns=names)
    table.to_csv(path, index=False)
    return _described(dict(zip(names, sizes, strict=False)))


def long_table(path: Path, rows: int) -> dict[str, object]:
    from bench.sources import NAMES, SIZES, write

    write(str(path), rows)
    return _described(dict(zip(NAMES, SIZES, strict=True)))


def cell_table(path: Path, cells: int) -> dict[str, object]:
    import numpy as np
    import pandas as pd

    size = round(cells**0.25)
    rng = np.random.default_rng(0)
    names = [f"c{number}" for number in range(4)]
    codes = rng.binomial(size - 1, rng.random((MEASURED_ROWS, 1)), (MEASURED_ROWS, 4))
    pd.DataFrame(codes, columns=names).to_csv(path, index=False)
    return _described(dict.fromkeys(names, size))


def word_table(path: Path, number: int) -> dict[str, object]:
    """So many words, which are as frequent as Zipf's law says; twenty records a word."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(0)
    letters = np.array(list(ALPHABET))[rng.integers(0, len(ALPHABET), (number, 8))]
    words = np.array(["".join(word) for word in letters])
    chance = 1 / np.arange(1.0, number + 1)
    drawn = rng.choice(words, 20 * number, p=chance / chance.sum())
    pd.DataFrame({"word": drawn}).to_csv(path, index=False)
    values = {"set": "strings", "alphabet": ALPHABET, "min_length": 1, "max_length": 8}
    word = {"name": "word", "kind": "weak", "values": values}
    return {"attributes": [word]}


def _described(sizes: dict[str, int]) -> dict[str, object]:
    return {
        "attributes": [
            {"name": name, "kind": "integer", "low": 0, "high": max(size, 2) - 1}
            | {"provenance": "declared"}
            for name, size in sizes.items()
        ]
    }


def measure(curve: str, method: str, size: int, folder: Path) -> Point:
    """One release in this process, which has compiled and drawn before the clock starts."""
    from synth_engine import mechanisms, pipeline
    from synth_engine.domain import Domain
    from synth_engine.plans import resources
    from synth_engine.spec import Spec

    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "table.csv"
        with multiprocessing.get_context("spawn").Pool(1) as elsewhere:
            # Made elsewhere, so that the peak of memory is that of the release.
            described = elsewhere.apply(_make, (curve, folder, path, size))
        pipeline.warm_up()
        loss = {"epsilon": "1", "delta": "0" if method == "adaptive" else "1e-9"}
        spec = Spec.from_json({"mechanism": method} | loss)
        plan = mechanisms.plan(Domain.from_json(described), spec)
        start = time.process_time()
        answers = pipeline.measure(path, kind="csv", plan=plan)
        measured = time.process_time()
        model = plan.fit(answers)
        fitted = time.process_time()
        rows = size if curve == "rows" else MEASURED_ROWS
        # Libraries are loaded already.
        forecast = plan.needs(rows).seconds - resources.START
        for _ in model.sample_blocks(rows, seed="s"):
            pass
        drawn = time.process_time()
        # How large the tree becomes is known once it is grown.
        nodes = sum(opened.size for tree in answers.growths for opened in tree.opened)
    return Point(
        curve=curve,
        method=method,
        size=nodes if curve == "nodes" else size,
        measure=measured - start,
        fit=fitted - measured,
        draw=drawn - fitted,
        memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6,
        forecast=forecast,
    )


def _make(curve: str, folder: Path, path: Path, size: int) -> dict[str, object]:
    """Write the table of a point and return its description."""
    if curve == "rows":
        return long_table(path, size)
    if curve == "columns":
        return wide_table(folder, path, size)
    return cell_table(path, size) if curve == "cells" else word_table(path, size)


def in_a_process(
    curve: str, method: str, size: int, folder: Path, limit: float
) -> Point | None:
    """A point, None where it takes more processor seconds than the limit."""
    context = multiprocessing.get_context("spawn")
    out, into = context.Pipe(duplex=False)
    child = context.Process(target=_send, args=(into, curve, method, size, folder, limit))
    child.start()
    into.close()
    try:
        point: Point | None = out.recv()
    except EOFError:  # the system ended it at its limit
        point = None
    child.join()
    return point


def _send(into: Connection, *given: object) -> None:
    *arguments, limit = given
    seconds = int(float(str(limit)))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    into.send(measure(*arguments))  # type: ignore[arg-type]
    into.close()


def curves(given: argparse.Namespace) -> Iterator[tuple[str, str, Sequence[int]]]:
    """Each curve that was asked for: its name, its method and its sizes."""
    sizes = {"rows": given.rows, "columns": given.columns, "cells": CELLS, "nodes": WORDS}
    methods = {"cells": ["contingency-table"], "nodes": ["adaptive"]}
    for curve in given.curves:
        for method in methods.get(curve, given.methods):
            yield curve, method, sizes[curve]


def compare(points: Sequence[Point]) -> None:
    """Print how far `auto` is from three times `mst` and ten seconds."""
    of = {(point.curve, point.method, point.size): point for point in points}
    for (curve, method, size), point in of.items():
        other = of.get((curve, "mst", size))
        if method == "auto" and other is not None:
            most = 3 * other.seconds + 10
            print(
                f"{curve} {size:,}: auto {point.seconds:.1f} s, 3 x mst + 10 s = {most:.1f} s"
            )


def chart(points: Sequence[Point]) -> str:
    """An SVG: both axes logarithmic, a panel for each curve, a line for each method."""
    names = list(dict.fromkeys(point.curve for point in points))
    panels = [
        f'<g transform="translate({number * (WIDTH + 70) + 55} 20)">{_panel(name, points)}</g>'
        for number, name in enumerate(names)
    ]
    size = f'width="{len(names) * (WIDTH + 70) + 20}" height="{HEIGHT + 70}"'
    style = "<style>text{font:11px sans-serif;fill:#475569}</style>"
    back = '<rect width="100%" height="100%" fill="#ffffff"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{style}{back}{"".join(panels)}</svg>\n'
    )


def _panel(name: str, points: Sequence[Point]) -> str:
    own = [point for point in points if point.curve == name]
    across = Scale.of([point.size for point in own], 0, WIDTH)
    up = Scale.of([point.seconds for point in own], HEIGHT, 0)
    parts = [f'<rect width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#94a3b8"/>']
    for tick in across.ticks:
        at = across.place(tick)
        parts.append(
            f'<text x="{at:.0f}" y="{HEIGHT + 16}" text-anchor="middle">{tick:,.0f}</text>'
        )
    for tick in up.ticks:
        parts.append(
            f'<text x="-6" y="{up.place(tick) + 4:.0f}" text-anchor="end">{tick:g}</text>'
        )
    parts.append(f'<text x="0" y="{HEIGHT + 34}">{name}; processor seconds</text>')
    for number, method in enumerate(dict.fromkeys(point.method for point in own)):
        line = [point for point in own if point.method == method]
        places = [(across.place(point.size), up.place(point.seconds)) for point in line]
        color = COLORS[method]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>'
        )
        parts += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>' for x, y in places
        ]
        parts.append(f'<text x="8" y="{16 + 14 * number}" style="fill:{color}">{method}</text>')
    return "".join(parts)


@dataclass(frozen=True)
class Scale:
    """A logarithmic axis between two powers of ten, from `start` to `end` in pixels."""

    low: int
    high: int
    start: float
    end: float

    @classmethod
    def of(cls, values: Sequence[float], start: float, end: float) -> Scale:
        low = math.floor(math.log10(min(values)))
        return cls(low, max(math.ceil(math.log10(max(values))), low + 1), start, end)

    @property
    def ticks(self) -> list[float]:
        return [10.0**power for power in range(self.low, self.high + 1)]

    def place(self, value: float) -> float:
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "folder", nargs="?", default=os.environ.get("SYNTHWEB_BENCHMARK", "../shared")
    )
    parser.add_argument(
        "--curves",
        nargs="+",
        default=["rows", "columns", "cells", "nodes"],
        choices=["rows", "columns", "cells", "nodes"],
    )
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    parser.add_argument("--columns", type=int, nargs="+", default=COLUMNS)
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--limit", type=float, default=120.0)
    parser.add_argument("--figure", type=Path)
    given = parser.parse_args()
    points: list[Point] = []
    for curve, method, sizes in curves(given):
        for size in sizes:
            point = in_a_process(curve, method, size, Path(given.folder), given.limit)
            if point is None:
                print(f"{curve:8} {method:18} {size:>11,}  more than {given.limit:.0f} s")
                break
            print(point, flush=True)
            points.append(point)
    compare(points)
    if given.figure is not None:
        given.figure.write_text(chart(points))


if __name__ == "__main__":
    # One thread of linear algebra, in children too, before they load it.
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    main()
