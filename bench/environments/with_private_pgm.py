"""private-pgm, the programs in its folder `mechanisms`: `mst` and `aim`, the latter on all pairs with its own
default limit."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
from mbi import Dataset, Domain
from runner import Task, run


def fit(task: Task) -> Any:
    np.random.seed(task.seed)
    data = Dataset(task.table, Domain(list(task.sizes), list(task.sizes.values())))
    if task.method == "mst":
        from mst import MST

        return MST(data, task.epsilon, task.delta)
    from aim import AIM

    pairs = [(pair, 1.0) for pair in itertools.combinations(task.sizes, 2)]
    _, synthetic = AIM(task.epsilon, task.delta).run(data, pairs)
    return synthetic


def draw(synthetic: Any, task: Task) -> pd.DataFrame:
    # It has drawn as many rows as it took the table to have.
    drawn = getattr(synthetic, "df", synthetic)
    rows: pd.DataFrame = drawn.sample(len(task.table), replace=len(drawn) < len(task.table))
    return rows


run(fit, draw)
