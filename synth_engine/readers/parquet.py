"""A Parquet file as blocks of text columns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow.parquet.encryption import create_decryption_properties

from synth_engine import formats
from synth_engine.errors import TableError
from synth_engine.formats.damage import DAMAGED
from synth_engine.readers import keys
from synth_engine.readers.source import Block, Limits, Mode, ReadOptions, Shape

AT_ONCE = 16_384  # rows: a cell may be long, and a dictionary repeats it


def columns(path: Path, *, limits: Limits) -> tuple[str, ...]:
    """The names in the schema."""
    return tuple(_opened(path, limits=limits).schema_arrow.names)


def blocks(
    path: Path,
    *,
    shape: Shape,
    options: ReadOptions,
) -> Iterator[Block]:
    """Columns of a Parquet file as text, block by block."""
    limits, wanted = options.limits, options.wanted
    progress, mode = options.progress, options.mode
    file = _opened(path, limits=limits)
    shape.columns, shape.rows = tuple(file.schema_arrow.names), file.metadata.num_rows
    names = [name for name in shape.columns if wanted is None or name in wanted]
    done = unpacked = 0
    at_once = min(AT_ONCE, limits.rows_at_once(len(names)))
    try:
        for batch in file.iter_batches(batch_size=at_once, columns=names, use_threads=False):
            done += batch.num_rows
            progress("read", done / max(1, shape.rows))
            block = {}
            for name in names:
                column = _plain(batch.column(name))
                column = (
                    _repaired_dictionary(column, limits=limits) if mode == "total" else column
                )
                unpacked += _text_bytes(column, name, limits=limits, mode=mode)
                if unpacked > limits.plain_bytes:
                    raise TableError(
                        "the file unpacks to more than is allowed",
                        repair="upload a smaller table",
                    )
                block[name] = _as_text(column)
            yield block
    except DAMAGED:
        raise TableError(
            "the Parquet file is damaged", repair="write it again, or use CSV"
        ) from None


def _opened(path: Path, *, limits: Limits) -> pq.ParquetFile:
    """The file, once its schema and the sizes it states are found to be in bounds. Texts are read as codes of
    a dictionary: a cell is measured once before it is repeated in a million rows."""
    try:
        key = keys.key_of(path)
        if key is None:
            with path.open("rb") as opened:
                formats.check_kind("parquet", opened.read(formats.HEAD))
        decryption = None if key is None else create_decryption_properties(key)
        schema = pq.read_schema(path, decryption_properties=decryption)
        texts = [
            one.name
            for one in schema
            if pa.types.is_string(one.type) or pa.types.is_large_string(one.type)
        ]
        file = pq.ParquetFile(
            path,
            read_dictionary=texts,
            pre_buffer=False,
            buffer_size=2**20,
            decryption_properties=decryption,
        )
        groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
        names = schema.names
    except DAMAGED:
        raise TableError(
            "not a Parquet file that can be read", repair="write it again, or use CSV"
        ) from None
    formats.checked_names(names, most=limits.columns)
    if (
        file.metadata.num_rows > limits.rows
        or sum(group.total_byte_size for group in groups) > limits.plain_bytes
    ):
        raise TableError("the file holds more than is allowed", repair="use a smaller table")
    for column in schema:
        _check_type(column.type, column.name)
    return file


def _check_type(kind: pa.DataType, name: str) -> None:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if _is_uuid(kind):
        return
    # A type that an extension of Arrow gives a meaning is read as it is stored.
    kind = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
    if pa.types.is_nested(kind):
        raise TableError(
            "nested values (a list, struct or map in one cell)",
            repair="store one plain value a cell, in several columns if need be, or leave the column out",
            column=name,
        )
    if (
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_binary_view(kind)
        or pa.types.is_fixed_size_binary(kind)
    ):
        raise TableError(
            "binary values",
            repair="store them as text or numbers, or leave the column out",
            column=name,
        )
    try:
        pc.cast(pa.array([], type=kind), pa.string())
    except pa.ArrowException:
        raise TableError(
            "values of a type that has no text", repair="store text or numbers", column=name
        ) from None


def _is_uuid(kind: pa.DataType) -> bool:
    return isinstance(kind, pa.BaseExtensionType) and kind.extension_name == "arrow.uuid"


def _written_uuid(value: bytes) -> str:
    digits = value.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _plain(column: pa.Array) -> pa.Array:
    """The column without an extension of its type: an identifier of 16 bytes as text, anything else as it is
    stored. Texts in a dictionary, in which each is looked at once."""
    if _is_uuid(column.type):
        texts = [
            None if value is None else _written_uuid(value)
            for value in column.storage.to_pylist()
        ]
        return pa.array(texts, type=pa.string()).dictionary_encode()
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.storage
    if pa.types.is_string_view(column.type):
        # Unchecked: bytes that are not UTF-8 are refused or repaired below, like those of other texts.
        column = column.cast(pa.large_string(), safe=False)
    return column.dictionary_encode() if _holds_text(column) else column


def _text_bytes(column: pa.Array, name: str, *, limits: Limits, mode: Mode) -> int:
    """Return the bytes of text of a block of a column before it is made. Refuses cells that no CSV could
    hold."""
    if not pa.types.is_dictionary(column.type) or not _holds_text(column.dictionary):
        # Numbers and dates have short texts: 32 bytes a cell are an estimate.
        return 32 * len(column)
    texts = column.dictionary
    texts.validate(full=True)  # text in UTF-8, which Parquet promises and does not check
    lengths = pc.binary_length(texts)
    if (pc.max(lengths).as_py() or 0) > limits.cell_characters:
        raise TableError("a cell is too long", repair="leave the column out", column=name)
    if mode == "checked" and pc.any(pc.match_substring(texts, "\0")).as_py():
        raise TableError("a NUL byte", repair="write the table again without it", column=name)
    return int(pc.sum(pc.take(lengths, column.indices)).as_py() or 0)


def _repaired_dictionary(column: pa.Array, *, limits: Limits) -> pa.Array:
    """Texts that a checked reading would refuse, each by the rules of a total one: U+FFFD for bytes that are
    not UTF-8, and the first characters of a text that is too long."""
    if not pa.types.is_dictionary(column.type) or not _holds_text(column.dictionary):
        return column
    most = limits.cell_characters
    if (pc.max(pc.binary_length(column.dictionary)).as_py() or 0) <= most and _are_utf8(
        column.dictionary
    ):
        return column
    texts = column.dictionary.cast(pa.large_binary(), safe=False).to_pylist()
    repaired = [
        None if text is None else text.decode("utf-8", errors="replace")[:most]
        for text in texts
    ]
    # Two different texts may be one now, which a dictionary does not mind; whoever counts goes by the text.
    return pa.DictionaryArray.from_arrays(
        column.indices, pa.array(repaired, type=pa.string())
    ).cast(pa.string())


def _holds_text(texts: pa.Array) -> bool:
    return bool(pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type))


def _are_utf8(texts: pa.Array) -> bool:
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _as_text(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return pc.cast(column, pa.string())
