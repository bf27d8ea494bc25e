"""dpmm: `mst`, `aim`, `privbayes`. Its preprocessing is turned off: codes and their numbers are given."""

from __future__ import annotations

from typing import Any

import pandas as pd
from dpmm.pipelines.aim import AIMPipeline
from dpmm.pipelines.mst import MSTPipeline
from dpmm.pipelines.priv_bayes import PrivBayesPipeline
from runner import Task, run

PIPELINES = {"mst": MSTPipeline, "aim": AIMPipeline, "privbayes": PrivBayesPipeline}


def fit(task: Task) -> Any:
    pipeline = PIPELINES[task.method](
        epsilon=task.epsilon, delta=task.delta, disable_processing=True, n_jobs=1
    )
    pipeline.fit(task.table, domain=dict(task.sizes), random_state=task.seed)
    return pipeline


def draw(pipeline: Any, task: Task) -> pd.DataFrame:
    rows: pd.DataFrame = pipeline.generate(n_records=len(task.table), random_state=task.seed)
    return rows


run(fit, draw)
