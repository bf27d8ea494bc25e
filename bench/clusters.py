"""What a three-way table costs on a cluster of this machine, against counting in the process of the run.

    python bench/clusters.py [--rows 10000000] [--tables 100] [--places parquet dask spark]

The columns of bench/counting.py as encrypted parts, counted in this process, by Dask (two worker processes) and by Spark
(`local[2]`). All counts are compared. Seconds are those of a clock, of the second question: the first one loads the workers.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ["PYTHONPATH"] = str(Path(__file__).resolve().parents[1])  # of the workers

import numpy as np

from bench.counting import NAMES, SIZES, cliques, columns
from synth_engine.codec.contingency import Axis, CountPlan, Table
from synth_engine.confidential.sources import Counting
from synth_engine.domain import Domain

BLOCK = 1 << 20


def timed(
    where: Counting, codes: list[np.ndarray], asked: CountPlan
) -> tuple[float, list[Table]]:
    """Seconds of the second question, and its counts."""
    where.require()
    writer = where.writer(Domain.from_json(dict(zip(NAMES, SIZES, strict=True))))
    for start in range(0, len(codes[0]), BLOCK):
        block = {
            name: column[start : start + BLOCK]
            for name, column in zip(NAMES, codes, strict=True)
        }
        writer.add(block, None)
    source = writer.finish(None)
    source.count(NAMES, asked)
    begun = time.monotonic()
    tables = source.count(NAMES, asked)
    return time.monotonic() - begun, tables


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--tables", type=int, default=100)
    parser.add_argument("--places", nargs="+", default=["parquet", "dask", "spark"])
    given = parser.parse_args()
    codes = columns(given.rows)
    asked = CountPlan(tuple(Axis(size) for size in SIZES), tuple(cliques(given.tables)))
    print(f"{given.tables} three-way tables of {given.rows:,} records", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        key = Path(folder) / "key"
        key.write_bytes(os.urandom(32))
        key.chmod(0o600)
        first: tuple[float, list[Table]] | None = None
        for place in given.places:
            with address_of(place) as address:
                where = Counting(place=place, address=address, folder=folder, key_file=str(key))
                found = timed(where, codes, asked)
            first = first or found
            if not all(map(np.array_equal, first[1], found[1])):
                raise SystemExit(f"{place} counts otherwise")
            print(
                f"{place} {found[0] / given.tables:.4f} s a table, {found[0] / first[0]:.1f} times {given.places[0]}",
                flush=True,
            )


class address_of:  # noqa: N801 - used like a function
    """The address of a cluster that is started, and stopped at the end."""

    def __init__(self, place: str) -> None:
        self._place, self._started = place, None

    def __enter__(self) -> str:
        if self._place != "dask":
            return "local[2]" if self._place == "spark" else ""
        import distributed

        self._started = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
        )
        return self._started.scheduler_address

    def __exit__(self, *_: object) -> None:
        if self._started is not None:
            self._started.close()


if __name__ == "__main__":
    main()
