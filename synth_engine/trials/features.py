"""Records as matrices for models: numbers with their scale, categories by their frequent values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from synth_engine.domain import Attribute
from synth_engine.trials.record_samples import (
    Codes,
    Floats,
    RecordSample,
    values_of,
)

MAX_INDICATORS = 30  # most frequent values of a category that have a column of their own
MAX_CATEGORIES = 254  # that gradient boosting splits by


class FeatureEncoder:
    """Turns records into matrices. What is learned, means and frequent values, comes from the records it is
    made of, so that a model that is trained on synthetic records knows nothing of real ones.

    columns: those that models see.
    """

    def __init__(self, records: RecordSample, columns: Sequence[str]) -> None:
        self._attributes = [records.domain.attribute(name) for name in columns]
        self._frequent = {
            attribute.name: _by_frequency(attribute, records.codes[attribute.name])
            for attribute in self._attributes
            if not _is_number(attribute)
        }
        self._scales = {
            attribute.name: _scale(values_of(attribute, records.codes[attribute.name]))
            for attribute in self._attributes
            if _is_number(attribute)
        }

    @property
    def categorical(self) -> list[bool]:
        """Which columns of `for_trees` are categories."""
        return [attribute.name in self._frequent for attribute in self._attributes]

    def for_trees(self, records: RecordSample) -> Floats:
        """One column for each attribute, shape (records, attributes): numbers, NaN without one; categories as
        ranks of their frequency."""
        columns = []
        for attribute in self._attributes:
            codes = records.codes[attribute.name]
            if attribute.name in self._scales:
                columns.append(values_of(attribute, codes))
            else:
                ranks = self._frequent[attribute.name][codes]
                columns.append(np.minimum(ranks, MAX_CATEGORIES).astype(np.float64))
        return np.column_stack(columns)

    def for_lines(self, records: RecordSample) -> Floats:
        """Standardised numbers with an indicator of missing ones, and an indicator of each frequent value of
        a category."""
        columns: list[Floats] = []
        for attribute in self._attributes:
            codes = records.codes[attribute.name]
            if attribute.name in self._scales:
                columns += self._standardised(attribute, codes)
            else:
                ranks = self._frequent[attribute.name][codes]
                shown = min(MAX_INDICATORS, attribute.size)
                columns += [(ranks == rank).astype(np.float64) for rank in range(shown)]
        return np.column_stack(columns)

    def _standardised(self, attribute: Attribute, codes: Codes) -> list[Floats]:
        mean, spread = self._scales[attribute.name]
        values = (values_of(attribute, codes) - mean) / spread
        missing = np.isnan(values)
        return [np.where(missing, 0.0, values), missing.astype(np.float64)]


def _is_number(attribute: Attribute) -> bool:
    return attribute.ordered and attribute.value_count > 2


def _scale(values: Floats) -> tuple[float, float]:
    """Mean and standard deviation of the numbers; 0 and 1 without any."""
    known = values[~np.isnan(values)]
    if not known.size:
        return 0.0, 1.0
    # A constant column is left at zero.
    return float(known.mean()), float(known.std()) or 1.0


def _by_frequency(attribute: Attribute, codes: Codes) -> NDArray[np.intp]:
    """The rank of each code, the most frequent one first."""
    counts = np.bincount(codes, minlength=attribute.size)
    order = np.argsort(-counts, kind="stable")
    ranks = np.empty_like(order)
    ranks[order] = np.arange(order.size)
    return ranks
