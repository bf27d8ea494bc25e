"""How fast tables of counts are, against DuckDB and Polars counting the same columns in the same run.

    python bench/counting.py [--rows 10000000] [--tables 100]

Fifteen columns of 2 to 20 codes, and three-way tables that are drawn from all of them. Ratios are of processor seconds
for all tables on one thread, with the columns in memory on each side: DuckDB by GROUP BY, one query a table; Polars by
one collect_all of lazy group_by. Every count is compared. Then the same tables from a Parquet file, in batches, in a
process of its own, whose peak memory is what the system says of it; and the time for a record at three sizes.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

os.environ["POLARS_MAX_THREADS"] = "1"  # read when Polars is imported

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from synth_engine.codec.contingency import CountPlan

SIZES = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 2, 5, 20)
NAMES = tuple(f"c{number}" for number in range(len(SIZES)))
BATCH = 1 << 18


def columns(rows: int) -> list[NDArray[np.uint8]]:
    """Codes of which low ones are more frequent."""
    import numpy as np

    rng = np.random.default_rng(1)
    return [
        np.minimum(rng.geometric(2.0 / size, rows) - 1, size - 1).astype(np.uint8)
        for size in SIZES
    ]


def cliques(number: int) -> list[tuple[int, ...]]:
    import numpy as np

    every = list(itertools.combinations(range(len(SIZES)), 3))
    chosen = np.random.default_rng(2).permutation(len(every))[:number]
    return [every[place] for place in chosen.tolist()]


def plan(number: int) -> CountPlan:
    from synth_engine.codec.contingency import Axis, CountPlan

    return CountPlan(tuple(Axis(size) for size in SIZES), tuple(cliques(number)))


def processor_seconds(work: Callable[[], object], *, repeats: int) -> float:
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def ours(codes: list[NDArray[np.uint8]], number: int) -> tuple[float, list[NDArray[np.int64]]]:
    from synth_engine.codec import contingency

    contingency.warm_up()
    asked, rows = plan(number), len(codes[0])

    def work() -> list[NDArray[np.int64]]:
        return contingency.count(codes, asked, records=rows, threads=1)

    return processor_seconds(work, repeats=3), work()


def by_duckdb(table: pa.Table, number: int) -> tuple[float, list[NDArray[np.int64]]]:
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        connection.execute("SET enable_progress_bar = false")
        connection.register("given", table)
        connection.execute("CREATE TABLE records AS SELECT * FROM given")
        queries = [
            f"SELECT {', '.join(NAMES[axis] for axis in clique)}, count(*) AS n FROM records GROUP BY ALL"
            for clique in cliques(number)
        ]
        found: list[pa.Table] = []
        seconds = processor_seconds(
            lambda: found.extend(connection.sql(query).to_arrow_table() for query in queries),
            repeats=1,
        )
    return seconds, [
        dense(each, clique) for each, clique in zip(found, cliques(number), strict=True)
    ]


def by_polars(table: pa.Table, number: int) -> tuple[float, list[NDArray[np.int64]]]:
    import polars as pl

    frame = pl.DataFrame(table).lazy()
    asked = [
        frame.group_by([NAMES[axis] for axis in clique]).agg(pl.len().alias("n"))
        for clique in cliques(number)
    ]
    found: list[pl.DataFrame] = []
    seconds = processor_seconds(lambda: found.extend(pl.collect_all(asked)), repeats=1)
    return seconds, [
        dense(each.to_arrow(), clique)
        for each, clique in zip(found, cliques(number), strict=True)
    ]


def dense(table: pa.Table, clique: tuple[int, ...]) -> NDArray[np.int64]:
    import numpy as np

    shape = tuple(SIZES[axis] for axis in clique)
    places = tuple(table.column(NAMES[axis]).to_numpy() for axis in clique)
    counts = np.zeros(prod(shape), dtype=np.int64)
    counts[np.ravel_multi_index(places, shape)] = table.column("n").to_numpy()
    return counts.reshape(shape)


def write(path: str, rows: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(
        pa.table(dict(zip(NAMES, columns(rows), strict=True))), path, row_group_size=BATCH
    )


def from_parquet(path: str, number: int) -> None:
    import pyarrow.parquet as pq

    from synth_engine.codec import contingency

    contingency.warm_up()
    asked, start = plan(number), time.process_time()
    total = None
    with pq.ParquetFile(path, pre_buffer=False) as file:
        for batch in file.iter_batches(BATCH, use_threads=False):
            codes = [batch.column(name).to_numpy() for name in NAMES]
            part = contingency.count(codes, asked, records=batch.num_rows, threads=1)
            total = part if total is None else [a + b for a, b in zip(total, part, strict=True)]
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"from Parquet: {seconds:.2f} processor seconds, peak memory {peak:.2f} GB")


def in_a_process(work: Callable[[str, int], None], path: str, number: int) -> None:
    """A process begins with the peak memory of the one that starts it, so this one must still be small."""
    child = multiprocessing.get_context("spawn").Process(target=work, args=(path, number))
    child.start()
    child.join()
    if child.exitcode:
        raise SystemExit(f"{work.__name__} failed")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--tables", type=int, default=100)
    given = parser.parse_args()
    print(
        f"{given.tables} three-way tables of {given.rows:,} records x {len(SIZES)} columns, on one thread"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "codes.parquet")
        in_a_process(write, path, given.rows)
        in_a_process(from_parquet, path, given.tables)
    in_memory(given.rows, given.tables)


def in_memory(rows: int, number: int) -> None:
    import numpy as np
    import pyarrow as pa

    codes = columns(rows)
    table = pa.table(dict(zip(NAMES, codes, strict=True)))
    seconds, counts = ours(codes, number)
    speed = rows * number / seconds / 1e9
    print(f"ours {seconds:.2f} processor seconds, {speed:.2f} G record-tables a second")
    for name, other in (("duckdb", by_duckdb), ("polars", by_polars)):
        their_seconds, their_counts = other(table, number)
        if not all(map(np.array_equal, counts, their_counts)):
            raise SystemExit(f"{name} counts otherwise")
        print(f"{name} {their_seconds / seconds:.1f}")
    for part in (rows // 16, rows // 4, rows):
        of_part = ours([column[:part] for column in codes], number)[0]
        print(
            f"{part:,} records: {of_part / part / number * 1e9:.3f} ns for a record in a table"
        )


if __name__ == "__main__":
    main()
