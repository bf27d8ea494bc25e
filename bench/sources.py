"""What it costs to count a large table where it does not have to fit memory.

    python bench/sources.py [--rows 10000000] [--places memory parquet] [--mechanism auto]

A table of 15 columns of 2 to 20 codes is written as CSV, and the questions of a method are asked of it, in a
process of its own for each place: processor seconds to read and encode it, those to count and answer, those
of counting alone, and the peak memory that the system states for the process. All threads count.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

SIZES = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 2, 5, 20)
NAMES = tuple(f"c{number}" for number in range(len(SIZES)))
BATCH = 1 << 18


def write(path: str, rows: int) -> None:
    """Codes in batches, so that this process stays small as well."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import csv

    rng = np.random.default_rng(1)
    schema = pa.schema([(name, pa.uint8()) for name in NAMES])
    with csv.CSVWriter(path, schema) as writer:
        for start in range(0, rows, BATCH):
            number = min(BATCH, rows - start)
            first = rng.integers(0, 1 << 16, number)
            codes = {
                # A common cause makes columns depend on one another.
                name: np.minimum(
                    rng.geometric(2.0 / size, number) - 1 + (first >> 14), size - 1
                ).astype(np.uint8)
                for name, size in zip(NAMES, SIZES, strict=True)
            }
            writer.write_table(pa.table(codes, schema=schema))


def passes() -> list[float]:
    """Processor seconds of each pass over the records from now on. The rest of an answer is noise, and
    estimates in between."""
    from synth_engine.room.records_source import MemorySource
    from synth_engine.sources.counting import PartsSource

    seconds: list[float] = []

    def timed(count: Callable[..., object]) -> Callable[..., object]:
        def timed_count(*arguments: object) -> object:
            start = time.process_time()
            tables = count(*arguments)
            seconds.append(time.process_time() - start)
            return tables

        return timed_count

    for source in (MemorySource, PartsSource):
        source.count = timed(source.count)  # type: ignore[method-assign, assignment]
    return seconds


def measure(path: str, place: str, mechanism: str) -> None:
    from synth_engine import mechanisms, pipeline
    from synth_engine.domain import Domain
    from synth_engine.spec import Spec

    pipeline.warm_up()
    attributes = [
        {
            "name": name,
            "kind": "integer",
            "low": 0,
            "high": size - 1,
            "provenance": "declared",
        }
        for name, size in zip(NAMES, SIZES, strict=True)
    ]
    domain = Domain.from_json({"attributes": attributes})
    spec = Spec.from_json({"mechanism": mechanism, "epsilon": "1", "delta": "1e-9"})
    plan = mechanisms.plan(domain, spec)
    begun: list[float] = []

    def progress(stage: str, _fraction: float) -> None:
        if stage == "measure" and not begun:
            begun.extend([time.process_time(), time.monotonic()])

    counting = passes()
    start, clock = time.process_time(), time.monotonic()
    answers = pipeline.measure(
        Path(path),
        kind="csv",
        plan=plan,
        progress=progress,
        counting=pipeline.Counting(place=place),
    )
    end, clock_end = time.process_time(), time.monotonic()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{mechanism}, {place}: read and encode {begun[0] - start:.1f}, count and answer "
        f"{end - begun[0]:.1f} processor seconds, {clock_end - begun[1]:.1f} by the clock "
        f"({len(answers.calls)} calls, {clock_end - clock:.1f} s in all); {len(counting)} passes over the "
        f"records take {sum(counting):.1f}; peak memory {peak:.2f} GB",
        flush=True,
    )


def in_a_process(*arguments: str) -> None:
    child = multiprocessing.get_context("spawn").Process(target=measure, args=arguments)
    child.start()
    child.join()
    if child.exitcode:
        raise SystemExit("a process failed")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--places", nargs="+", default=["memory", "parquet"])
    parser.add_argument("--mechanism", default="auto")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "codes.csv")
        child = multiprocessing.get_context("spawn").Process(
            target=write, args=(path, given.rows)
        )
        child.start()
        child.join()
        print(f"{given.rows:,} records x {len(NAMES)} columns", flush=True)
        for place in given.places:
            in_a_process(path, place, given.mechanism)


if __name__ == "__main__":
    main()
