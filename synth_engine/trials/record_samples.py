"""Coded records that trials work on: random parts of a real or synthetic table, of bounded size."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_engine.domain import Attribute, Domain, Integer, Number
from synth_engine.errors import TableError
from synth_engine.indexing import places
from synth_engine.room.rows import Rows

SEED = 0
MIN_RECORDS = 200  # of either table; fewer say nothing

Codes = NDArray[Any]
Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordSample:
    """Some records, as codes. `codes`: by column, shape (records,) each."""

    domain: Domain
    codes: Mapping[str, Codes] = field(repr=False)

    def __len__(self) -> int:
        return len(self.codes[self.domain.names[0]])

    def take(self, records: NDArray[Any]) -> RecordSample:
        """The records at these places, or where this mask is true."""
        return RecordSample(
            domain=self.domain,
            codes={name: column[records] for name, column in self.codes.items()},
        )

    def first(self, most: int) -> RecordSample:
        """So many records at most; all samples here are in random order."""
        return self.take(np.arange(min(most, len(self))))

    def matrix(self) -> NDArray[np.int64]:
        """The codes of all columns, shape (records, columns)."""
        return np.column_stack(
            [self.codes[name].astype(np.int64) for name in self.domain.names]
        )


def split(rows: Rows, *, seed: int = SEED) -> tuple[RecordSample, RecordSample]:
    """Splits real records at random into two halves, in random order; records of one privacy unit stay
    together.

    Raises TableError for a table that is too small to be split."""
    domain = rows.domain
    _require_enough(rows.total, side="real")
    order = np.random.default_rng(seed).permutation(rows.total)
    if domain.unit.column is None:
        halves = order[: rows.total // 2], order[rows.total // 2 :]
    else:
        units = rows.units()
        chosen = np.random.default_rng(seed).random(int(units.max()) + 1) < 0.5
        in_first = chosen[units[order]]
        halves = order[in_first], order[~in_first]
    for half in halves:
        _require_enough(2 * len(half), side="real")
    first, second = (_records(rows.codes, domain, half) for half in halves)
    return first, second


def synthetic_sample(
    codes: Mapping[str, Codes], domain: Domain, *, seed: int = SEED
) -> RecordSample:
    """All records of a synthetic table, in random order. Raises TableError for one that is too small."""
    records = len(codes[domain.names[0]])
    _require_enough(records, side="synthetic")
    order = np.random.default_rng(seed + 1).permutation(records)
    return _records(codes.__getitem__, domain, order)


def columns_of(rows: Rows) -> dict[str, Codes]:
    """The columns of a file that claims to be synthetic."""
    return {name: rows.codes(name) for name in rows.domain.names}


def _records(
    codes: Callable[[str], Codes], domain: Domain, order: NDArray[Any]
) -> RecordSample:
    return RecordSample(
        domain=domain, codes={name: codes(name)[order] for name in domain.names}
    )


def _require_enough(records: int, *, side: str) -> None:
    if records < MIN_RECORDS:
        raise TableError(
            f"the {side} table has fewer than {MIN_RECORDS} records, too few for models and attacks",
            repair="compare a larger table",
        )


def values_of(attribute: Attribute, codes: Codes) -> Floats:
    """The codes of an ordered column as numbers: the middle of each bin of a number, else the code itself;
    NaN where the value is missing or another than those declared."""
    if isinstance(attribute, Integer | Number):
        values = places.centres(Domain(attributes=(attribute,)), attribute.name)
    else:
        values = np.arange(attribute.size, dtype=np.float64)
        values[attribute.value_count :] = np.nan
    return np.asarray(values[codes], dtype=np.float64)
