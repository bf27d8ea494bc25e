"""The longest time without a sign of progress, of each stage of a run, over methods and tables.

    python bench/silence.py [--data FOLDER] [--only auto mst]

Each line is one run as a worker does it: the receipt is confirmed, the table is read and measured, the model is fitted, the counts are
gathered again from the answers, and records are generated. Behind each stage stands the longest time in seconds between two reports
of progress, of which it made so many. Compiled loops are loaded by a first run that is not shown. FOLDER holds nist_acs/, whose
national excerpt of 24 columns is used; without it the shipped examples are. The exit code is 1 where a silence is longer than three
seconds.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
EXAMPLES = ROOT / "examples"
LONGEST = 3.0
"""Seconds without a sign that a page may show."""
METHODS = ("auto", "mst", "dpsyn", "bayesian-network", "on-the-map")


class Listener:
    """Receives reports of progress, and remembers the longest silence of each stage."""

    def __init__(self) -> None:
        self._stage, self._last = "plan", time.monotonic()
        self.silences: dict[str, float] = {}
        self.reports: Counter[str] = Counter()

    def __call__(self, stage: str, _share: float) -> None:
        self.close()
        self._stage = stage
        self.reports[stage] += 1

    def close(self) -> None:
        """End the present silence."""
        now = time.monotonic()
        longest = self.silences.get(self._stage, 0.0)
        self.silences[self._stage] = max(longest, now - self._last)
        self._last = now


def table_of(method: str, data: Path | None, folder: Path) -> tuple[Path, Path]:
    """The table on which a method is run, and its description."""
    if method == "on-the-map":
        commutes = EXAMPLES / "commutes"
        return commutes / "commutes.parquet", commutes / "towns.domain.json"
    if data is None:
        return EXAMPLES / "adult.csv.gz", EXAMPLES / "adult.domain.json"
    from bench import run_time

    table, domain, _rows = run_time.national(data, folder)
    return table, domain


def run(method: str, table: Path, described: Path) -> Listener:
    from synth_engine import pipeline
    from synth_engine.domain import Domain
    from synth_engine.domain.document import parse
    from synth_engine.evaluation import marginals
    from synth_engine.spec import Spec

    heard = Listener()
    domain = Domain.from_json(parse(described.read_bytes()))
    spec = Spec.from_json({"mechanism": method, "epsilon": "1", "delta": "1e-9"})
    release = pipeline.synthesize(table, domain=domain, spec=spec, progress=heard)
    heard("gather", 0.0)
    marginals.publish(release.model, release.plan, release.answers, progress=heard)
    heard.close()
    return heard


def main() -> int:
    asked = argparse.ArgumentParser()
    asked.add_argument("--data", type=Path)
    asked.add_argument("--only", nargs="+", default=METHODS, help="methods")
    options = asked.parse_args()
    from synth_engine import pipeline

    pipeline.warm_up()
    longest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for method in options.only:
            table, described = table_of(method, options.data, Path(folder))
            run(method, table, described)
            heard = run(method, table, described)
            longest = max(longest, *heard.silences.values())
            stages = ", ".join(
                f"{stage} {silence:.1f} s ({heard.reports[stage]})"
                for stage, silence in heard.silences.items()
            )
            print(f"{method:>17}, {table.name}: {stages}", flush=True)
    print(f"longest silence: {longest:.1f} s")
    return int(longest > LONGEST)


if __name__ == "__main__":
    sys.exit(main())
