"""Which marker a missing value of a generated table is written by, where markers are separate:
post-processing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_engine.domain import Attribute, Domain
from synth_engine.kinds.missing_markers import VALUE_CODE, marker_column


def with_markers(
    domain: Domain, frame: pd.DataFrame, codes: Mapping[str, NDArray[np.integer[Any]]]
) -> pd.DataFrame:
    """The table with a column of marker codes behind the others for each column whose markers are separate.
    Whoever writes the table leaves these columns out (`table_columns`). codes: shape (rows,) of each modelled
    attribute."""
    columns = {
        column.name: np.asarray(codes[column.name])
        for attribute in domain.table_columns
        if (column := marker_column(attribute)) is not None and attribute.name in frame
    }
    return frame.assign(**columns) if columns else frame


def without_markers(domain: Domain, frame: pd.DataFrame) -> pd.DataFrame:
    """The columns of the table alone."""
    names = [column.name for column in domain.table_columns if column.name in frame]
    return frame if len(names) == len(frame.columns) else frame[names]


def write_markers(texts: pd.Series, attribute: Attribute, frame: pd.DataFrame) -> pd.Series:
    """The texts of a column, its missing values by their own markers where these are separate. texts: as the
    column or a copy of it is written, shape (rows,). attribute: the column."""
    markers = marker_texts(attribute, frame)
    if markers is None:
        return texts
    missing = frame[attribute.name].isna().to_numpy()
    return pd.Series(np.where(missing, markers, texts.to_numpy(dtype=object)), dtype="str")


def marker_texts(attribute: Attribute, frame: pd.DataFrame) -> NDArray[np.object_] | None:
    """The marker of each missing cell of a column, empty elsewhere, shape (rows,); None where markers are not
    separate.

    A missing value of which the model says that it has a value, which happens where it does not hold the two
    columns together, takes the marker of another row: the shares of markers then stay those of the
    release."""
    column = marker_column(attribute)
    if column is None or column.name not in frame or attribute.name not in frame:
        return None
    markers = np.array(attribute.missing or (), dtype=object)
    codes = frame[column.name].to_numpy(dtype=np.int64)
    missing = frame[attribute.name].isna().to_numpy()
    unknown = missing & (codes == VALUE_CODE)
    if unknown.any():
        stated = codes[codes != VALUE_CODE]
        codes = codes.copy()
        codes[unknown] = (
            np.resize(stated, int(unknown.sum())) if stated.size else VALUE_CODE + 1
        )
    texts = np.full(len(frame), "", dtype=object)
    texts[missing] = markers[codes[missing] - VALUE_CODE - 1]
    return texts
