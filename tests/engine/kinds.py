"""One small table, `a` and `b` with the rows `1, x` and `2, y`, as a file of every kind that is read."""

from __future__ import annotations

import gzip
import io
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat

from synth_engine.formats import Kind
from tests.engine.workbooks import old_workbook, workbook

CSV = b"a,b\n1,x\n2,y\n"
JSON = b'{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n'
BASKETS = b"1 x\n2 y\n"


def written(kind: Kind) -> bytes:
    """The table as a file of this kind; lists of baskets have two lines."""
    return {
        "csv": lambda: CSV,
        "csv.gz": lambda: gzip.compress(CSV),
        "json": lambda: JSON,
        "json.gz": lambda: gzip.compress(JSON),
        "zip": lambda: zipped({"table.csv": CSV}),
        "parquet": _parquet,
        "xlsx": lambda: workbook({"Data": [["a", "b"], [1, "x"], [2, "y"]]}),
        "xls": old_workbook,
        "sav": lambda: _statistical("sav"),
        "dta": lambda: _statistical("dta"),
        "baskets": lambda: BASKETS,
        "baskets.gz": lambda: gzip.compress(BASKETS),
    }[kind]()


def zipped(files: Mapping[str, bytes], *, packing: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A ZIP archive of these files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", packing) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _parquet() -> bytes:
    buffer = pa.BufferOutputStream()
    pq.write_table(pa.table({"a": [1, 2], "b": ["x", "y"]}), buffer)
    content: bytes = buffer.getvalue().to_pybytes()
    return content


def _statistical(kind: Kind) -> bytes:
    table = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table.{kind}"
        write = pyreadstat.write_sav if kind == "sav" else pyreadstat.write_dta
        write(table, path)
        return path.read_bytes()
