"""How long a large table takes from a CSV to what its steward is shown, against DuckDB turning the same file
into Parquet.

    python bench/ingest.py [--rows 10000000] [--keep FOLDER]

The table has 15 mixed columns and, with ten million rows, 1.2 GB: numbers, row numbers, amounts, coordinates,
dates, moments, postcodes with leading zeros, truth values, categories few and many, notes with delimiters,
quotation marks and line ends in quoted cells, missing values. It is made in a temporary folder and removed.
Each side runs in a process of its own, one after the other, whose peak memory is what the system says of it.
The bounds are those of the project: 1.5 times DuckDB's time, and 1 GB of memory. Seconds are those of a
clock, which other work on the machine disturbs; the processor seconds of all threads beside them are
disturbed less.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

Work = Callable[[Path], tuple[float, str]]

BLOCK = 250_000
MOST_TIME, MOST_MEMORY = 1.5, 1.0  # times DuckDB, GB


def write(path: Path, *, rows: int) -> None:
    """The table, block by block, the same each time. Cells are quoted where they have to be."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    rng = np.random.default_rng(1)
    places = pa.array(
        [
            f"{name}, district {i}"
            for i, name in enumerate(["Ahse", "Bree-on-the-Water", "Cley"] * 30)
        ]
    )
    trades = pa.array(["baker", "clerk", "smith", "nurse", "driver", "teacher", "farmer", ""])
    notes = pa.array(
        [
            'moved "temporarily"',
            "see file, page 2",
            "first line\nsecond",
            "checked",
            "open",
            "",
            "",
            "",
        ]
    )
    midnight = np.datetime64("2015-01-01T00:00:00")

    def block(start: int, count: int) -> dict[str, pa.Array]:
        def drawn(texts: pa.Array) -> pa.Array:
            return texts.take(pa.array(rng.integers(0, len(texts), count)))

        moments = midnight + rng.integers(0, 10 * 365 * 86_400, count).astype("timedelta64[s]")
        ages = np.clip(rng.normal(41, 22, count), 0, 105).astype(np.int16)
        return {
            "record": pa.array(np.arange(start, start + count)),
            "age": pa.array(ages, mask=rng.random(count) < 0.02),
            "sex": drawn(pa.array(["female", "male", "other"])),
            "postcode": pc.utf8_lpad(
                pc.cast(pa.array(rng.integers(100, 99_999, count)), pa.string()), 5, "0"
            ),
            "municipality": quoted(drawn(places)),
            "trade": drawn(trades),
            "income": pa.array(np.round(rng.lognormal(10, 0.8, count), 2)),
            "rooms": pa.array(rng.integers(1, 9, count)),
            "owner": drawn(pa.array(["yes", "no"])),
            "longitude": pa.array(np.round(rng.uniform(5, 15, count), 5)),
            "latitude": pa.array(np.round(rng.uniform(47, 55, count), 5)),
            "registered": pa.array(moments.astype("datetime64[D]")),
            "last_change": pc.strftime(pa.array(moments), format="%Y-%m-%dT%H:%M:%S"),
            "file": pc.binary_join_element_wise(
                "F", pa.array(rng.integers(10**6, 10**7, count)).cast("string"), "-"
            ),
            "note": quoted(drawn(notes)),
        }

    def quoted(texts: pa.Array) -> pa.Array:
        doubled = pc.binary_join_element_wise(
            '"', pc.replace_substring(texts, '"', '""'), '"', ""
        )
        return pc.if_else(pc.match_substring_regex(texts, '[",\n]'), doubled, texts)

    with path.open("wb") as file:
        for start in range(0, rows, BLOCK):
            columns = block(start, min(BLOCK, rows - start))
            if not start:
                file.write(",".join(columns).encode() + b"\n")
            texts = [
                pc.fill_null(pc.cast(column, pa.string()), "") for column in columns.values()
            ]
            lines = pc.binary_join_element_wise(
                *texts[:-1], pc.binary_join_element_wise(texts[-1], "\n", ""), ","
            )
            file.write(
                memoryview(lines.buffers()[2])[
                    : lines.offset + pc.sum(pc.binary_length(lines)).as_py()
                ]
            )


def ours(path: Path) -> tuple[float, str]:
    """Everything that a steward is shown of it."""
    from synth_engine import pipeline

    steps: list[float] = []
    start = time.perf_counter()
    reading = pipeline.ingest(
        path, kind="csv", progress=lambda _stage, fraction: steps.append(fraction)
    )
    seconds = time.perf_counter() - start
    return (
        seconds,
        f"{reading['rows']:,} rows, {len(reading['columns'])} columns, {len(steps):,} reports of progress",
    )


def theirs(path: Path) -> tuple[float, str]:
    """What DuckDB takes it for, as Parquet."""
    import duckdb

    duckdb.sql("SET enable_progress_bar = false")
    start = time.perf_counter()
    duckdb.sql(
        f"COPY (FROM read_csv('{path}')) TO '{path.with_suffix('.parquet')}' (FORMAT parquet)"
    )
    return time.perf_counter() - start, ""


def opened(path: Path) -> tuple[float, str]:
    """Encoding for a run, under the description that was suggested."""
    from synth_engine.domain import Domain
    from synth_engine.sources import opening
    from synth_engine.steward import ingest

    draft = ingest.read(path.with_name("small.csv"), kind="csv").suggestions
    domain = Domain.from_json(
        {"attributes": [one | {"provenance": "declared"} for one in draft]}
    )
    start = time.perf_counter()
    found = opening.open_table(path, domain, kind="csv")
    return (
        time.perf_counter() - start,
        f"{found.total:,} rows, {len(domain.names)} columns encoded",
    )


def _child(work: Work, path: Path, sender: Connection) -> None:
    start = time.process_time()
    seconds, said = work(path)
    processor = f"{time.process_time() - start:.1f} processor s"
    said = f"{processor}, {said}" if said else processor
    sender.send((seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, said))


def apart(work: Work, path: Path) -> tuple[float, float, str]:
    """Seconds, peak memory in GB, and what it said of itself, in a fresh process."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(work, path, sender))
    process.start()
    sender.close()
    found: tuple[float, float, str] = receiver.recv()
    process.join()
    return found


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument(
        "--keep",
        type=Path,
        help="make the table there and leave it, or use the one that is there",
    )
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = (asked.keep or Path(folder)) / f"table-{asked.rows}.csv"
        if not path.exists():
            write(path, rows=asked.rows)
            write(path.with_name("small.csv"), rows=20_000)
        print(f"{asked.rows:,} rows, {path.stat().st_size / 1e9:.2f} GB")
        first = apart(theirs, path)
        print(f"DuckDB, COPY to Parquet: {first[0]:.1f} s, {first[1]:.2f} GB ({first[2]})")
        second = apart(ours, path)
        print(f"pipeline.ingest: {second[0]:.1f} s, {second[1]:.2f} GB ({second[2]})")
        third = apart(opened, path)
        print(f"opening.open_table: {third[0]:.1f} s, {third[1]:.2f} GB ({third[2]})")
        path.with_suffix(".parquet").unlink(missing_ok=True)
        kept = second[0] <= MOST_TIME * first[0] and second[1] < MOST_MEMORY
        print(
            f"{second[0] / first[0]:.2f} times DuckDB's time: {'within' if kept else 'NOT within'} the bounds"
        )
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
