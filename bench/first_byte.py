"""How long the first rows of a sample take, all of them, and how much memory: each sampler, in one run.

    python bench/first_byte.py MODEL.json … [--rows N …] [--format csv] [--times 3]

MODEL.json is what `synthesize --model` wrote. For each model, number of rows (absent: that of the model) and sampler a process
of its own draws the table as a download does, after a first small one that loads the compiled loops. Printed are wall-clock and
processor seconds from the call to the first piece of rows and to the last one (medians), the largest resident memory, and the
mean total variation distance of the rows to the model's targets, where it has some and none of its columns has bins.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def drawn(path: Path, rows: int, *, sampler: int, form: str, times: int) -> dict[str, float]:
    """The figures of one table, measured in this process."""
    import numpy as np

    from synth_engine import mechanisms
    from synth_engine.models.model import Model
    from synth_engine.tables import Drawing
    from synthweb.releases import table_writers

    model = Model.from_json(json.loads(path.read_text()))
    rows = rows or model.rows
    mechanisms.draw_table(model, 100, "warm", sampler=sampler)
    figures: dict[str, list[float]] = {"first": [], "first_cpu": [], "all": [], "all_cpu": []}
    for number in range(times):
        wall, used = time.monotonic(), time.process_time()
        draw = Drawing(model=model, rows=rows, seed=str(number), sampler=sampler)
        for place, piece in enumerate(table_writers.pieces(draw, form)):  # type: ignore[arg-type]
            if place == 0:
                assert piece
                figures["first"].append(time.monotonic() - wall)
                figures["first_cpu"].append(time.process_time() - used)
        figures["all"].append(time.monotonic() - wall)
        figures["all_cpu"].append(time.process_time() - used)
    found = {name: statistics.median(every) for name, every in figures.items()}
    found["rows"] = rows
    found["megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if model.targets and not model.merged:
        codes = list(mechanisms.draw_codes(model, rows, seed="0", sampler=sampler))
        distances = []
        for table in model.targets:
            places = [np.concatenate([part[name] for part in codes]) for name in table.clique]
            flat = np.ravel_multi_index(places, table.weights.shape)
            shares = np.bincount(flat, minlength=table.weights.size) / rows
            wanted = table.weights.ravel() / table.weights.sum()
            distances.append(float(np.abs(shares - wanted).sum()) / 2)
        found["distance"] = statistics.fmean(distances)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--rows", nargs="+", type=int, default=[0])
    parser.add_argument("--format", default="csv", choices=["csv", "parquet", "xlsx"])
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--sampler", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    if options.sampler:
        found = drawn(
            options.models[0],
            options.rows[0],
            sampler=options.sampler,
            form=options.format,
            times=options.times,
        )
        print(json.dumps(found))
        return 0
    for model in options.models:
        for rows in options.rows:
            for sampler in (1, 2, 6):
                asked = [str(model), "--rows", str(rows), "--sampler", str(sampler)]
                asked += ["--format", options.format, "--times", str(options.times)]
                said = subprocess.run(
                    [sys.executable, __file__, *asked],
                    check=True,
                    capture_output=True,
                    text=True,
                    cwd=ROOT,
                )
                found = json.loads(said.stdout)
                print(
                    f"{model.name} {found['rows']:>9,} rows, {options.format}, sampler {sampler}: first rows after "
                    f"{found['first']:.2f} s ({found['first_cpu']:.2f} s of processor), all after {found['all']:.2f} s "
                    f"({found['all_cpu']:.2f} s), {found['megabytes']:.0f} MB"
                    + (
                        f", distance to targets {found['distance']:.5f}"
                        if "distance" in found
                        else ""
                    ),
                    flush=True,
                )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
