"""Public reference tables: where codes lie, how much weighs in each, and of what larger parts they are.

Nothing here may ever read a table that is to be protected: a reference is public by somebody's word, is read
in full, and what it says goes into the public description of a table (`describe`). It knows no rows and no
budget."""

from __future__ import annotations

from synth_engine.references.base import Reference, ReferenceSource, Roles
from synth_engine.references.column_roles import recognise
from synth_engine.references.degrees import advice
from synth_engine.references.describe import (
    Found,
    bare,
    described,
    fitting,
    partitions_of,
    points_of,
    support_of,
    totals_of,
    weighted,
    worthwhile,
)
from synth_engine.references.public_table import (
    OwnRelease,
    PublicTable,
    load_public_table,
)
from synth_engine.references.sheet import MOST_BYTES, ReferenceSheet, read_sheet, unpacked
from synth_engine.references.table import load, read

__all__ = [
    "MOST_BYTES",
    "Found",
    "OwnRelease",
    "PublicTable",
    "Reference",
    "ReferenceSheet",
    "ReferenceSource",
    "Roles",
    "advice",
    "bare",
    "described",
    "fitting",
    "load",
    "load_public_table",
    "partitions_of",
    "points_of",
    "read",
    "read_sheet",
    "recognise",
    "support_of",
    "totals_of",
    "unpacked",
    "weighted",
    "worthwhile",
]
