"""Convert between the cells of a table and codes: `encode` and `decode` are inverses, `as_text` writes a
file's texts, `DeclaredFormWriter` a file in its declared form, and `with_identifiers` adds generated
identifiers."""

from __future__ import annotations

from synth_engine.codec.baskets import bags
from synth_engine.codec.csv_lines import csv_lines
from synth_engine.codec.declared_form import DeclaredFormWriter
from synth_engine.codec.decoding import as_text, decode, values_of_codes
from synth_engine.codec.derived import with_derived
from synth_engine.codec.encoding import encode, encode_column, positions
from synth_engine.codec.fitting import Fit, fit
from synth_engine.codec.identifiers import with_identifiers
from synth_engine.codec.markers import with_markers, without_markers
from synth_engine.codec.multiplicity import repeat_rows, repetitions
from synth_engine.codec.public_tables import encode_public
from synth_engine.codec.ranking import Ranking
from synth_engine.codec.raw_columns import (
    RawColumn,
    RawCounter,
    RawTable,
    count_generated,
    is_counted,
)
from synth_engine.codec.raw_pairs import GroupSums, RankCorrelation, RawPairCounter, RawPairs
from synth_engine.codec.units import normal
from synth_engine.codec.workbook import MEDIA_TYPE as WORKBOOK_MEDIA_TYPE
from synth_engine.codec.workbook import require_rows, workbook_pieces, write_workbook
from synth_engine.kinds.reading import Codes

__all__ = [
    "WORKBOOK_MEDIA_TYPE",
    "Codes",
    "DeclaredFormWriter",
    "Fit",
    "GroupSums",
    "RankCorrelation",
    "Ranking",
    "RawColumn",
    "RawCounter",
    "RawPairCounter",
    "RawPairs",
    "RawTable",
    "as_text",
    "bags",
    "count_generated",
    "csv_lines",
    "decode",
    "encode",
    "encode_column",
    "encode_public",
    "fit",
    "is_counted",
    "normal",
    "positions",
    "repeat_rows",
    "repetitions",
    "require_rows",
    "values_of_codes",
    "with_derived",
    "with_identifiers",
    "with_markers",
    "without_markers",
    "workbook_pieces",
    "write_workbook",
]  # fmt: skip
