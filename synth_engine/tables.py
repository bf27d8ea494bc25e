"""Tables drawn from a model, as files. Deterministic: the same model, rows and seed give the same bytes of CSV."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from synth_engine import codec, mechanisms
from synth_engine.domain import (
    Attribute,
    Basket,
    Baskets,
    Boolean,
    Categorical,
    Date,
    DateTime,
    Domain,
    Identifier,
    Integer,
    Text,
)
from synth_engine.errors import InputError
from synth_engine.mechanisms.models.model import Model

FORMATS = (".csv", ".parquet", ".dat", ".dat.gz")


def write(model: Model, rows: int, *, seed: str, path: Path) -> str:
    """Draws a table into a file (.csv or .parquet, or of baskets) and returns the file's SHA-256. The file appears whole or
    not at all."""
    require_format(path, domain=model.domain)

    def fill(temporary: Path) -> None:
        if path.suffix == ".parquet":
            _write_parquet(model, rows, seed=seed, path=temporary)
        elif path.name.endswith(".dat.gz"):
            # Neither name nor time of day: the same baskets, the same bytes.
            with temporary.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
                packed.writelines(basket_pieces(model, rows, seed=seed))
        elif path.suffix == ".dat":
            with temporary.open("wb") as file:
                file.writelines(basket_pieces(model, rows, seed=seed))
        else:
            with temporary.open("wb") as file:
                file.writelines(csv_pieces(model, rows, seed=seed))

    replace(path, fill)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def csv_pieces(model: Model, rows: int, *, seed: str) -> Iterator[bytes]:
    """The table as CSV in UTF-8, block by block; a missing value by its first marker."""
    yield _csv([[attribute.name for attribute in model.domain.drawn]])
    for block in mechanisms.draw_blocks(model, rows, seed):
        texts = codec.as_text(model.domain, block)
        yield _csv(zip(*(texts[name].tolist() for name in texts), strict=True))


def basket_pieces(model: Model, rows: int, *, seed: str) -> Iterator[bytes]:
    """A basket in each line, in UTF-8, block by block."""
    (column,) = model.domain.drawn
    for block in mechanisms.draw_blocks(model, rows, seed):
        yield "".join(f"{text}\n" for text in block[column.name]).encode()


def require_format(path: Path, *, domain: Domain | None = None) -> None:
    """Refuses a file name of another format, one for baskets where something else is drawn, or one in a folder that is not
    there."""
    if not path.name.endswith(FORMATS):
        raise InputError("the output has another format", repair=f"end its name in {' or '.join(FORMATS)}")
    if path.name.endswith((".dat", ".dat.gz")) and domain is not None:
        drawn = domain.drawn
        if len(drawn) != 1 or not isinstance(drawn[0], Baskets):
            raise InputError("what is drawn is no list of baskets", repair="end the output's name in .csv or .parquet")
    require_folder(path)


def require_folder(path: Path) -> None:
    """Refuses an output that cannot be written, before anything is spent."""
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise InputError("an output cannot be written there", repair="name a file in an existing, writable folder")


def replace(path: Path, fill: Callable[[Path], None]) -> None:
    """Writes a file under another name first."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        fill(temporary)
        temporary.replace(path)
    except OSError:
        raise InputError("an output cannot be written", repair="check space and rights") from None
    finally:
        temporary.unlink(missing_ok=True)


def _csv(rows: object) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)  # type: ignore[arg-type]
    return text.getvalue().encode()


def _write_parquet(model: Model, rows: int, *, seed: str, path: Path) -> None:
    schema = arrow_schema(model.domain)
    with pq.ParquetWriter(path, schema) as writer:
        for block in mechanisms.draw_blocks(model, rows, seed):
            writer.write_table(pa.Table.from_pandas(block, schema=schema, preserve_index=False))


def arrow_schema(domain: Domain) -> pa.Schema:
    """Column types of a drawn table; a missing value is null."""
    return pa.schema([pa.field(a.name, _arrow_type(a), nullable=a.missing is not None) for a in domain.drawn])


def _arrow_type(attribute: Attribute) -> pa.DataType:
    if isinstance(attribute, Categorical | Boolean | Identifier | Text | Basket):
        return pa.string()
    if isinstance(attribute, Date):
        return pa.date32()
    if isinstance(attribute, DateTime):
        return pa.timestamp("ms")
    return pa.int64() if isinstance(attribute, Integer) else pa.float64()
