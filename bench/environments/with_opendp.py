"""OpenDP's `opendp.extras.mbi`: `aim` and `mst` over given keys, within one zero-concentrated budget."""

from __future__ import annotations

from typing import Any

import opendp.extras.mbi as mbi
import opendp.prelude as dp
import pandas as pd
import polars as pl
from runner import Task, run

dp.enable_features("contrib")
ALGORITHMS = {"aim": mbi.AIM, "mst": mbi.MST}


def fit(task: Task) -> Any:
    context = dp.Context.compositor(
        data=pl.from_pandas(task.table).lazy(),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(rho=task.rho),
        split_evenly_over=1,
    )
    keys = {name: list(range(size)) for name, size in task.sizes.items()}
    query = context.query().contingency_table(keys=keys, algorithm=ALGORITHMS[task.method]())
    return query.release()


def draw(table: Any, task: Task) -> pd.DataFrame:
    drawn: pd.DataFrame = table.synthesize(rows=len(task.table)).to_pandas()
    # Values outside the keys have a code of their own, which no record of a complete domain has.
    return drawn.fillna(0)


run(fit, draw)
