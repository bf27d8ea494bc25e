"""Codes of columns whose values are listed texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from synth_engine.kinds.attribute import OTHER, Attribute
from synth_engine.kinds.reading import Codes, code_dtype

if TYPE_CHECKING:
    import pandas as pd


def labelled(attribute: Attribute, codes: NDArray[np.intp]) -> pd.Series:
    """The label of each code as a column of texts."""
    import pandas as pd

    labels: list[str | None] = [*attribute.value_labels]
    labels += [OTHER] if attribute.has_other else []
    labels += [] if attribute.missing is None else [None]
    return pd.Series(labels, dtype="str").take(codes).reset_index(drop=True)


def codes_of_labels(attribute: Attribute, texts: Sequence[str | None]) -> Codes:
    """The code of each text that is a label; the others, and None, go where `outside` says."""
    codes: dict[str | None, int | None] = {
        text: code for code, text in enumerate(attribute.value_labels)
    }
    if attribute.other_code is not None:
        # A table generated from a release has this label, which is read back as the same code.
        codes[OTHER] = attribute.other_code
    outside = {"other": attribute.other_code, "missing": attribute.missing_code, "clamp": 0}[
        attribute.outside or ""
    ]
    return np.fromiter(
        (codes.get(text, outside) for text in texts),
        dtype=code_dtype(attribute.size),
        count=len(texts),
    )
