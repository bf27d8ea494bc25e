"""Processor seconds of the first `auto` of an installation, with and without what a worker compiles before it.

    python bench/first_run.py

The table is examples/adult.csv.gz, ε = 1, δ = 10⁻⁹: measured, fitted and drawn. Each line is a process of its own with one thread; "empty" has
an empty folder of compiled code, "on disk" the folder that the process before it left, and "of the image" a copy of it.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
EXAMPLES = ROOT / "examples"
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}


def take(*, warm: bool, stored: str) -> None:
    """Print the seconds of the warm-up, 0 without one, and of a run."""
    from synth_engine import jit, mechanisms, pipeline
    from synth_engine.domain import Domain
    from synth_engine.spec import Spec

    domain = Domain.from_json(json.loads((EXAMPLES / "adult.domain.json").read_text()))
    spec = Spec.from_json({"mechanism": "auto", "epsilon": "1", "delta": "1e-9"})
    start = time.process_time()
    if warm:
        jit.warm_up(Path(stored) if stored else None)
    begin = time.process_time()
    release = pipeline.synthesize(EXAMPLES / "adult.csv.gz", domain=domain, spec=spec)
    for _ in mechanisms.draw_codes(
        release.model, release.rows, seed="s", sampler=mechanisms.SAMPLER
    ):
        pass
    print(f"{begin - start} {time.process_time() - begin}")


def main() -> None:
    with contextlib.ExitStack() as stack:
        one, other, third = (
            stack.enter_context(tempfile.TemporaryDirectory()) for _ in range(3)
        )
        for title, folder, warm, stored in (
            ("no warm-up, empty", one, False, ""),
            ("no warm-up, on disk", one, False, ""),
            ("warm-up, empty", other, True, ""),
            ("warm-up, on disk", other, True, ""),
            ("warm-up, of the image", third, True, other),
        ):
            done = subprocess.run(
                [sys.executable, __file__, "warm" if warm else "cold", stored],
                env=os.environ | ONE_THREAD | {"NUMBA_CACHE_DIR": folder},
                check=True,
                capture_output=True,
                text=True,
            )
            before, run = map(float, done.stdout.split())
            print(f"{title:21}  warm-up {before:6.1f} s  first auto {run:6.1f} s", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        take(warm=sys.argv[1] == "warm", stored=sys.argv[2])
    else:
        main()
