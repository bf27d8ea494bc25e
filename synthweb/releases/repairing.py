"""The process that makes one repaired table: `python -m synthweb.releases.repairing`, started by `repaired`.

It reads model, rows, seed, totals and way from its standard input and writes a zip of the table as CSV and
Parquet with a report to its standard output. It knows no database and no key.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
import zipfile
from collections.abc import Mapping
from typing import IO, TYPE_CHECKING, Any

from synthweb.releases.drawing import REFUSED, become_background_process

if TYPE_CHECKING:
    from synth_engine.mixing.repair import RepairedRows
    from synth_engine.models.model import Model

CSV, PARQUET, REPORT = "table.csv", "table.parquet", "report.json"
_BLOCK = 1 << 16


def main() -> int:
    """Make the zip; 0 if all of it is written."""
    become_background_process()
    return make(json.load(sys.stdin.buffer), sys.stdout.buffer)


def make(job: Mapping[str, Any], out: IO[bytes]) -> int:
    """Write the zip of a job, or why it cannot be had; the code with which the process ends."""
    # Imported once the process has its low priority, because it takes a second.
    import pandas as pd

    from synth_engine.errors import InputError
    from synth_engine.mechanisms import Model
    from synth_engine.mixing import repair
    from synth_engine.tables import Drawing

    model = Model.from_json(job["model"])
    draw = Drawing(model=model, rows=job["rows"], seed=job["seed"])
    try:
        made = repair.repair(
            model.domain,
            pd.concat(draw.blocks(), ignore_index=True),
            repair.totals_of_document(job["totals"]),
            way=job["way"],
        )
    except InputError as error:
        out.write(json.dumps(error.as_dict()).encode())
        return REFUSED
    files = {CSV: _csv(made), PARQUET: _parquet(model, made)}
    report = {
        "rows": len(made.texts),
        "effective_rows": made.effective_rows,
        "totals": list(made.met),
        "files": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
    }
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            packed.writestr(name, content)
        packed.writestr(REPORT, json.dumps(report))
    return 0


def _csv(made: RepairedRows) -> bytes:
    import pandas as pd

    from synth_engine import codec

    written = io.BytesIO()
    written.write(codec.csv_lines(pd.DataFrame([list(made.texts.columns)])).encode())
    for start in range(0, len(made.texts), _BLOCK):
        written.write(codec.csv_lines(made.texts.iloc[start : start + _BLOCK]).encode())
    return written.getvalue()


def _parquet(model: Model, made: RepairedRows) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from synth_engine.mixing.raking import WEIGHT
    from synth_engine.tables import arrow_schema

    schema = arrow_schema(model.domain)
    if WEIGHT in made.frame:
        schema = schema.append(pa.field(WEIGHT, pa.float64(), nullable=False))
    table = pa.Table.from_pandas(made.frame, schema=schema, preserve_index=False)
    written = io.BytesIO()
    pq.write_table(table, written, compression="zstd")
    return written.getvalue()


if __name__ == "__main__":
    sys.exit(main())
