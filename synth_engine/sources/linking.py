"""Records of one side of a link, each in the bucket of its own texts. What identifies a person ends here:
`Rows` hold the number of the bucket and the codes of the linked columns, and can be counted and nothing else
(docs/proofs/link-sketch.md)."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from synth_engine import readers
from synth_engine.domain import Categorical, Domain
from synth_engine.errors import TableError
from synth_engine.formats import Dialect, Kind
from synth_engine.kinds.reading import code_dtype
from synth_engine.linking.agreement import BUCKET
from synth_engine.linking.sketch import SketchPlan
from synth_engine.privacy.unit import PrivacyUnit
from synth_engine.readers import Progress
from synth_engine.room.rows import Rows
from synth_engine.sources import opening


def open_side(
    path: Path | str,
    *,
    plan: SketchPlan,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
    progress: Progress = readers.silent,
    random_bytes: Callable[[int], bytes] = os.urandom,
) -> Rows:
    """Reads a table, hashes the texts of each record, and retains one record of each person where a column
    names them. `random_bytes` is replaced by tests only. Errors: TableError as `opening.open_table`."""
    agreement, side, counted = plan.config.agreement, plan.config.side, plan.domain
    unit, texts = counted.unit, agreement.side(side).texts
    keys = [*texts, *([unit.column] if unit.column is not None else [])]
    read, columns = opening.open_with_keys(
        path,
        _as_in_file(counted, texts),
        keys=list(dict.fromkeys(keys)),
        kind=kind,
        dialect=dialect,
        progress=progress,
    )
    buckets = agreement.hashing.buckets_of([columns[name].to_pylist() for name in texts])
    codes = {name: read.codes(name) for name in agreement.side(side).names}
    digits = np.unravel_index(buckets, agreement.hashing.shape)
    for name, digit in zip(BUCKET, digits, strict=True):
        codes[name] = digit.astype(code_dtype(counted.sizes[name]))
    units = None
    if unit.column is not None:
        units, retained = opening.retained_of_units(
            columns[unit.column], unit=unit, random_bytes=random_bytes
        )
        codes = {name: column[retained] for name, column in codes.items()}
    return Rows(codes, domain=counted, units=units)


def require_columns(
    path: Path | str,
    *,
    plan: SketchPlan,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
) -> None:
    """Raises TableError for a table without a column of texts, of persons, or that is linked. Reads the
    header and no row."""
    counted, side = plan.domain, plan.config.agreement.side(plan.config.side)
    needed = [*side.texts, *side.names]
    if counted.unit.column is not None:
        needed.append(counted.unit.column)
    header = readers.columns(path, kind=kind, dialect=dialect, mode="total")
    for name in needed:
        if name not in header:
            raise TableError(
                "the table has no such column", repair="check header and link", column=name
            )


def _as_in_file(counted: Domain, texts: Sequence[str]) -> Domain:
    """The linked columns as they stand in the file; where there are none, a column of texts of which nothing
    is read. Persons are looked at afterwards."""
    attributes = tuple(each for each in counted.attributes if each.name not in BUCKET)
    unread = Categorical(name=texts[0], values=("-",), other=True)
    return Domain(
        attributes=attributes or (unread,), unit=PrivacyUnit(), relation=counted.relation
    )
