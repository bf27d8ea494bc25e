"""smartnoise-synth: `mst` and `aim`. It finds the codes of each column in the table itself, at no charge; all
others are given them."""

from __future__ import annotations

from typing import Any

import pandas as pd
from runner import Task, run
from snsynth import Synthesizer


def fit(task: Task) -> Any:
    synthesizer = Synthesizer.create(task.method, epsilon=task.epsilon, delta=task.delta)
    synthesizer.fit(
        task.table, categorical_columns=list(task.sizes), preprocessor_eps=0.0, nullable=False
    )
    return synthesizer


def draw(synthesizer: Any, task: Task) -> pd.DataFrame:
    rows: pd.DataFrame = synthesizer.sample(len(task.table))
    return rows


run(fit, draw)
