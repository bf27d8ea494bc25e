"""Compute the columns of a generated table that are declared as functions of others: post-processing, which
costs nothing."""

from __future__ import annotations

import pandas as pd

from synth_engine.domain import Domain
from synth_engine.kinds.derived import Derived, compute


def with_derived(domain: Domain, frame: pd.DataFrame) -> pd.DataFrame:
    """The table with its derived columns, in the declared order of columns."""
    waiting = [a for a in domain.table_columns if isinstance(a, Derived)]
    if not waiting:
        return frame
    columns = {str(name): frame[name] for name in frame}
    # A derived column may be computed from another one; the domain has no circles of them.
    while waiting:
        ready = [a for a in waiting if all(name in columns for name in a.of)]
        for attribute in ready:
            texts = [
                domain.written_like(domain.attribute(name)).write(columns[name])
                for name in (attribute.of if attribute.reads_texts else ())
            ]
            columns[attribute.name] = compute(
                attribute, [columns[name] for name in attribute.of], texts
            )
        waiting = [a for a in waiting if a.name not in columns]
    return pd.DataFrame({a.name: columns[a.name] for a in domain.table_columns})
