"""What drawing a table costs: processor seconds for each sampler, in one run.

    python bench/drawing.py [--rows 10000000] [--refined 1000000] [--samplers 2 5]

A tree of pairs over 15 columns (`mst`) is fitted to a small table and drawn to memory and to Parquet; then a model of
`auto` over the same columns, whose rows are refined. Compilation and start-up are left out; all threads count.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.counting import NAMES, SIZES
from bench.sources import write
from synth_engine import mechanisms, pipeline, tables
from synth_engine.domain import Domain
from synth_engine.models.model import Model
from synth_engine.spec import Spec


def fitted(mechanism: str, folder: str) -> Model:
    path = Path(folder) / "codes.csv"
    write(str(path), 100_000)
    attributes = [
        {"name": name, "kind": "integer", "low": 0, "high": size - 1, "provenance": "declared"}
        for name, size in zip(NAMES, SIZES, strict=True)
    ]
    domain = Domain.from_json({"attributes": attributes})
    spec = Spec.from_json({"mechanism": mechanism, "epsilon": "1", "delta": "1e-9"})
    return pipeline.synthesize(path, domain=domain, spec=spec).model


def timed(text: str, work: Callable[[], object]) -> None:
    start = time.process_time()
    work()
    print(f"{text}: {time.process_time() - start:.2f} processor seconds", flush=True)


def to_memory(model: Model, rows: int, sampler: int) -> None:
    for _ in mechanisms.draw_codes(model, rows, seed="s", sampler=sampler):
        pass


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--refined", type=int, default=1_000_000)
    parser.add_argument(
        "--samplers", type=int, nargs="+", default=[mechanisms.FAST_SAMPLER, mechanisms.SAMPLER]
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for mechanism, rows in (("mst", given.rows), ("auto", given.refined)):
            model = fitted(mechanism, folder)
            for sampler in given.samplers:
                to_memory(model, 1000, sampler)
                label = f"{mechanism}, {rows:,} rows, sampler {sampler}"
                timed(
                    f"{label}, codes in memory",
                    lambda model=model, rows=rows, sampler=sampler: to_memory(
                        model, rows, sampler
                    ),
                )
                draw = tables.Drawing(model=model, rows=rows, seed="s", sampler=sampler)
                path = Path(folder) / "drawn.parquet"
                timed(
                    f"{label}, Parquet",
                    lambda draw=draw, path=path: tables.write_drawn(draw, path=path),
                )


if __name__ == "__main__":
    main()
