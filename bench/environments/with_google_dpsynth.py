"""google/dpsynth, in memory: `independent`, `mst` and `swift`, with its one-way counts and its merging of
rare codes."""

from __future__ import annotations

from typing import Any

import mbi
import numpy as np
import pandas as pd
from dpsynth import discrete_mechanisms
from runner import Task, run

MECHANISMS = {
    "independent": discrete_mechanisms.IndependentConfig,
    "mst": discrete_mechanisms.MSTConfig,
    "swift": discrete_mechanisms.SWIFTConfig,
}


def fit(task: Task) -> Any:
    domain = mbi.Domain(list(task.sizes), list(task.sizes.values()))
    columns = {name: task.table[name].to_numpy() for name in task.sizes}
    settings = discrete_mechanisms.DiscreteConfig(
        mechanism=MECHANISMS[task.method](), compress_columns=True
    )
    mechanism = settings.configure(zcdp_rho=task.rho, delta=task.delta)
    return mechanism(np.random.default_rng(task.seed), mbi.Dataset(columns, domain))


def draw(result: Any, task: Task) -> pd.DataFrame:
    # It has drawn as many rows as it took the table to have.
    drawn = pd.DataFrame(result.synthetic_data.to_dict())
    return drawn.sample(len(task.table), replace=len(drawn) < len(task.table))


run(fit, draw)
