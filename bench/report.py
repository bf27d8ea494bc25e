"""Processor time and memory of the steward's comparison of a release with the real table.

    python bench/report.py [FOLDER] [--only adult national2019 million] [--method independent] [--profile FILE]

Each table is released by a method, `independent` unless another is named, which is quick to fit, and compared in a process of its own with one thread of linear
algebra: drawing the sample, reading, counting both sides, all figures. It prints processor seconds, the peak of memory of that
process, and the size of the report. "adult" is the example; FOLDER holds nist_acs/national2019.csv.gz with its dictionary, and
without it that table is left out; "million" is a made table of 1,000,000 records and 20 columns. --profile writes the calls of the
last table, for pstats. Exit code 1 if one takes more than it may.
"""

from __future__ import annotations

import argparse
import cProfile
import gzip
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
EXAMPLES = ROOT / "examples"
TABLES = {"adult": (5.0, 2.0), "national2019": (8.0, 2.0), "million": (60.0, 2.0)}
"""Processor seconds and gigabytes that a comparison may take."""
CLASSES = (2, 3, 5, 7, 9, 12, 16, 20, 42, 60)
NUMBERS = (90, 99, 1_000, 5_000, 20_000, 100_000, 1_000_000)


def made(folder: Path, *, records: int = 1_000_000) -> tuple[Path, Path]:
    """A table of ten columns of classes, seven of whole numbers, two of decimals and one of days, and its description."""
    rng = np.random.default_rng(1)
    hidden = rng.random(records)

    def codes(size: int) -> npt.NDArray[np.int64]:
        return ((hidden + rng.random(records)) / 2 * size).astype(np.int64)

    table: dict[str, npt.NDArray[np.generic]] = {}
    attributes: list[dict[str, object]] = []
    for size in CLASSES:
        name, values = f"class_{size}", [f"class {code}" for code in range(size)]
        table[name] = np.array(values)[codes(size)]
        attributes.append(
            {"name": name, "kind": "categorical", "values": values, "other": True}
        )
    for size in NUMBERS:
        name = f"number_{size}"
        table[name] = codes(size)
        attributes.append(
            {"name": name, "kind": "integer", "low": 0, "high": size - 1, "missing": [""]}
        )
    for name in ("price", "weight"):
        table[name] = np.round((hidden + rng.random(records)) * 500, 2)
        attributes.append(
            {"name": name, "kind": "number", "low": 0, "high": 1000, "missing": [""]}
        )
    table["day"] = (np.datetime64("2020-01-01") + codes(730)).astype(str)
    days: dict[str, object] = {"low": "2020-01-01", "high": "2021-12-31", "step_days": 30}
    attributes.append({"name": "day", "kind": "date", "missing": [""]} | days)
    pd.DataFrame(table).to_csv(folder / "table.csv", index=False)
    document = {"attributes": attributes}
    (folder / "domain.json").write_text(json.dumps(document))
    return folder / "table.csv", folder / "domain.json"


def prepared(name: str, *, data: Path | None, folder: Path) -> tuple[Path, Path]:
    """The table as a file, and its description."""
    from bench import kmarginal

    if name == "adult":
        return EXAMPLES / "adult.csv.gz", EXAMPLES / "adult.domain.json"
    if name == "million":
        return made(folder)
    assert data is not None
    table = folder / "table.csv"
    with (
        gzip.open(data / "nist_acs" / "national2019.csv.gz") as packed,
        table.open("wb") as file,
    ):
        shutil.copyfileobj(packed, file)
    columns = tuple(pd.read_csv(table, nrows=0).columns)
    domain = kmarginal.described(data / "nist_acs", columns)
    (folder / "domain.json").write_text(json.dumps(domain.to_json()))
    return table, folder / "domain.json"


def peak() -> float:
    """The peak of the memory of this process, in gigabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def one(name: str, table: Path, described: Path, options: argparse.Namespace) -> bool:
    """Release and compare; whether it took what it may."""
    from synth_engine import domain as domains
    from synth_engine import mechanisms, pipeline
    from synth_engine.spec import Spec

    domain = domains.read(described)
    spec = Spec(mechanism=options.method, epsilon=Fraction(1), delta=Fraction(1, 10**9))
    plan = mechanisms.plan(domain, spec)
    pipeline.warm_up()
    model = plan.fit(pipeline.measure(table, plan=plan))
    before = peak()
    calls = cProfile.Profile()
    began, busy = time.perf_counter(), time.process_time()
    if options.profile is not None:
        calls.enable()
    found = pipeline.report(table, model=model, rows=model.rows, seed="bench")
    calls.disable()
    clock, seconds = time.perf_counter() - began, time.process_time() - busy
    if options.profile is not None:
        calls.dump_stats(options.profile)
    most_seconds, most_memory = TABLES[name]
    size = len(json.dumps(found)) / 1e6
    print(
        f"{name:>12}: {model.rows:>9,} x {len(domain.names)}: {seconds:5.1f} s of processor time ({clock:.1f} s by the clock), "
        f"peak {peak():.2f} GB ({before:.2f} GB before), report {size:.1f} MB; may take {most_seconds:.0f} s and {most_memory:.0f} GB",
        flush=True,
    )
    return seconds <= most_seconds and peak() <= most_memory


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, default=None)
    parser.add_argument("--only", nargs="+", choices=list(TABLES), default=list(TABLES))
    parser.add_argument("--method", default="independent")
    parser.add_argument("--profile", type=Path)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        name, table, described = options.one
        return int(not one(name, Path(table), Path(described), options))
    failed = 0
    for name in options.only:
        if name == "national2019" and options.folder is None:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            files = prepared(name, data=options.folder, folder=Path(scratch))
            command = [sys.executable, __file__, "--one", name, *map(str, files)]
            command += ["--method", options.method]
            command += [] if options.profile is None else ["--profile", str(options.profile)]
            threads = {
                "OPENBLAS_NUM_THREADS": "1",
                "NUMBA_NUM_THREADS": "1",
                "OMP_NUM_THREADS": "1",
            }
            failed |= subprocess.run(command, check=False, env=os.environ | threads).returncode
    return failed


if __name__ == "__main__":
    sys.exit(main())
