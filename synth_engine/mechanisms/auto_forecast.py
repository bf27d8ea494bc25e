"""The error to expect of `auto`, from public facts alone: as its allocation predicts it for columns of a typical shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from synth_engine.marginals import expected

if TYPE_CHECKING:
    from synth_engine.mechanisms.auto import AutoPlan

MEASURED = (1.0, 0.7, 0.4, 0.2, 0.1, 0.0)
"""Parts of all pairs that might be measured, the rest of them being known from others alone."""


def expected_error(plan: AutoPlan, *, rows: int) -> dict[str, Any]:
    """Of columns with the noise that they get; of pairs, that of the best part of them to measure, all alike."""
    return expected.pairs(
        plan.column_noises(),
        [plan.noise_of_tables(part) for part in MEASURED],
        parts=np.array(MEASURED),
        sizes=plan.domain.sizes,
        rows=rows,
    )
