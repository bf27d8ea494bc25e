"""The methods of this project, by the same protocol and in a process of their own."""

from __future__ import annotations

import json
import sys
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from runner import Task, run

from synth_engine import domain as domains
from synth_engine import mechanisms, pipeline
from synth_engine.spec import Spec


def fit(task: Task) -> Any:
    folder = Path(tempfile.mkdtemp())
    sizes = folder / "sizes.json"
    sizes.write_text(json.dumps(task.sizes))
    spec = Spec(
        mechanism=task.method,
        epsilon=Fraction(str(task.epsilon)),
        delta=Fraction(str(task.delta)),
    )
    plan = mechanisms.plan(domains.read(sizes), spec)
    pipeline.confirm(plan)
    return plan.fit(pipeline.measure(task.path, plan=plan))


def draw(model: Any, task: Task) -> pd.DataFrame:
    return pd.DataFrame(model.sample(len(task.table), seed=str(task.seed)))


# Loops are compiled before the clock starts, as the worker of an installation does.
pipeline.warm_up()
run(fit, draw)
