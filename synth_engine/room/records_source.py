"""What can be counted: columns of codes of the same records, wherever they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from synth_engine.indexing import contingency
from synth_engine.indexing.contingency import CountPlan, Table

Codes = NDArray[Any]


class RecordSource(Protocol):
    """Columns of codes of the same records, after truncation by unit."""

    @property
    def names(self) -> frozenset[str]:
        """The columns."""

    @property
    def records(self) -> int:
        """The number of records, as confidential as any other count."""

    def codes(self, name: str) -> Codes:
        """All codes of one column, shape (records,)."""

    def count(self, names: Sequence[str], plan: CountPlan) -> list[Table]:
        """Count the records in each table of the plan. names: the column of each axis."""


class MemorySource:
    """Columns in memory. codes: shape (records,) each."""

    def __init__(self, codes: Mapping[str, Codes], *, records: int) -> None:
        self._codes, self.records = dict(codes), records
        self.names = frozenset(self._codes)

    def codes(self, name: str) -> Codes:
        return self._codes[name]

    def count(self, names: Sequence[str], plan: CountPlan) -> list[Table]:
        return contingency.count(
            [self._codes[name] for name in names], plan, records=self.records
        )
