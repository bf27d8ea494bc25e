"""What every program of this folder does around another synthesizer: reads the table, takes times, writes the
rows.

    python with_NAME.py TRAIN.csv SIZES.json METHOD EPSILON DELTA RHO SEED OUT.csv

TRAIN.csv holds integer codes, SIZES.json how many codes each column has (the public domain), RHO the
zero-concentrated budget that is worth epsilon and delta. The last line of output is JSON: processor and
elapsed seconds of fitting and of drawing as many rows as the table has, and the most memory in MB. Needs
pandas alone, so that it runs in the environment of any peer.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

KILOBYTES = 1024


@dataclass(frozen=True)
class Task:
    path: Path
    table: pd.DataFrame
    sizes: dict[str, int]
    method: str
    epsilon: float
    delta: float
    rho: float
    seed: int

    @classmethod
    def of_arguments(cls) -> Task:
        path, sizes, method, epsilon, delta, rho, seed, _ = sys.argv[1:]
        return cls(
            path=Path(path),
            table=pd.read_csv(path),
            sizes=json.loads(Path(sizes).read_text()),
            method=method,
            epsilon=float(epsilon),
            delta=float(delta),
            rho=float(rho),
            seed=int(seed),
        )


def run(fit: Callable[[Task], Any], draw: Callable[[Any, Task], pd.DataFrame]) -> None:
    """Fit and draw, and print what it took."""
    task = Task.of_arguments()
    started = _now()
    model = fit(task)
    fitted = _now()
    rows = draw(model, task)
    drawn = _now()
    rows[list(task.sizes)].astype("int64").to_csv(sys.argv[-1], index=False)
    figures = {
        "fit": fitted[0] - started[0],
        "fit_elapsed": fitted[1] - started[1],
        "rows": drawn[0] - fitted[0],
        "rows_elapsed": drawn[1] - fitted[1],
        "memory": _memory(),
    }
    print(json.dumps(figures))


def _now() -> tuple[float, float]:
    """Processor seconds of this process and those it waited for, and elapsed seconds."""
    spent = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        spent += usage.ru_utime + usage.ru_stime
    return spent, time.monotonic()


def _memory() -> float:
    """The most memory of this process or of its largest child, in MB."""
    return (
        max(
            resource.getrusage(who).ru_maxrss
            for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        )
        / KILOBYTES
    )
