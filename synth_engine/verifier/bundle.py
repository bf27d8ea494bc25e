"""The verifier checks a bundle: an archive of a table, its receipt and what describes them, checked as a
whole.

Standard library only. `bundle.json` lists every other file with its size and SHA-256, and is signed by the
installation if that has a key. The comment of the archive is the SHA-256 of all bytes before it. Nothing is
unpacked: every file is read as a stream and forgotten, and none is read beyond the size that the archive
states for it.
"""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from synth_engine.verifier.calls import SHA256, refuse
from synth_engine.verifier.database import is_database, verify_any
from synth_engine.verifier.marks import statement_of
from synth_engine.verifier.receipt import Verified

BUNDLE = "synthweb/bundle/1"
BUNDLE_LIST, BUNDLE_RECEIPT, BUNDLE_TABLES = "bundle.json", "receipt.json", "tables/"
MAX_BUNDLE_FILES = 100
MAX_BUNDLE_FILE_BYTES = 2**38
"""A table of more bytes than this is in no bundle."""
_MAX_DOCUMENT_BYTES = 2**28
_LARGEST_EXPANSION, _ALWAYS_READ_BYTES = 200, 2**26
"""A file above the second size may be at most so many times as large as its compressed form."""
_COMMENT_BYTES = 64
_PIECE_BYTES = 2**20
_LOCAL_HEADER_BYTES = 30
_FILE_NAME = re.compile(
    r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}(/[A-Za-z0-9_][A-Za-z0-9._-]{0,99}){0,3}"
)
_ENTRY = {"name", "size", "sha256"}
_FILE_KIND_BITS, _REGULAR_FILE_BITS = 0o170000, 0o100000
_ENCRYPTED = 0x1
_DESCRIPTOR = 0x8
_DESCRIPTOR_BYTES = (12, 16, 20, 24)
"""Sizes of what may follow a file: its checksum and sizes of 4 or 8 bytes, with or without a mark before
them."""


def is_bundle(path: Path) -> bool:
    """Whether a file is a bundle by its ending or its first bytes, and no receipt."""
    try:
        with path.open("rb") as file:
            return path.suffix.lower() == ".zip" or file.read(4) == b"PK\x03\x04"
    except OSError:
        return False


def verify_bundle(
    path: Path,
    *,
    head: Mapping[str, object] | None = None,
    key: bytes | None = None,
    core: str | None = None,
) -> Verified:
    """Check every file of a bundle against its list, then recompute the guarantee of its receipt.

    head, key, core: as in `receipt.verify`; the list has to be signed with the key, too. Errors:
    VerificationError, which names the first file that is not as it was written.
    """
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            entries = _checked_entries(archive, archive_bytes=path.stat().st_size)
            _check_no_gaps(file, entries, directory=archive.start_dir)
            digests = {entry.filename: _digest_of_entry(archive, entry) for entry in entries}
            listed = _read_list(archive)
            statement = _list_statement(listed, key=key)
            _compare_files(digests, statement["files"])
            _check_whole(file, comment=archive.comment)
            receipt = _read_document(archive, BUNDLE_RECEIPT)
    except OSError:
        refuse("the bundle cannot be read")
    except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError, RuntimeError):
        refuse("the file is no zip archive, or its directory was changed: download it again")
    verified = verify_any(receipt, head=head, key=key, core=core)
    if statement["core"] != verified.core:
        refuse(f"{BUNDLE_RECEIPT} is the receipt of another release than {BUNDLE_LIST} names")
    tables = _check_tables(receipt, statement["files"])
    signed = "key" in statement
    return replace(
        verified,
        sentences=[
            *verified.sentences,
            f"The bundle is whole: {len(digests)} files, each as {BUNDLE_LIST} lists it"
            + (f", which is signed with the key called {statement['key']}." if signed else "."),
            *tables,
            *(
                []
                if signed
                else [
                    f"{BUNDLE_LIST} is NOT SIGNED: the checksums show damage, and not that somebody wrote "
                    "the files and the list anew."
                ]
            ),
        ],
    )


def _checked_entries(archive: zipfile.ZipFile, *, archive_bytes: int) -> list[zipfile.ZipInfo]:
    """The files of an archive in the order in which they lie in it; refused are names that lead elsewhere,
    two of one name, and what unpacks to far more than it is."""
    entries = sorted(archive.infolist(), key=lambda entry: entry.header_offset)
    if len(entries) > MAX_BUNDLE_FILES:
        refuse(f"the bundle has more than {MAX_BUNDLE_FILES} files")
    seen: set[str] = set()
    end = 0
    for entry in entries:
        _check_entry_name(entry)
        # Without regard to case: on some systems two such names are one file.
        if entry.filename.lower() in seen:
            refuse(f"the bundle has two files of the name {entry.filename}")
        seen.add(entry.filename.lower())
        _check_entry_size(entry)
        # Files that share bytes are how a small archive unpacks to a huge one.
        if entry.header_offset < end:
            refuse(f"{entry.filename} lies over another file of the archive")
        end = entry.header_offset + _LOCAL_HEADER_BYTES + entry.compress_size
    if end > archive_bytes:
        refuse("the bundle is cut off: download it again")
    return entries


def _check_no_gaps(
    file: IO[bytes], entries: Sequence[zipfile.ZipInfo], *, directory: int
) -> None:
    """Refuses bytes between the files: a program that unpacks without the directory would take them for a
    file that no list has.

    directory: where the directory of the archive begins."""
    ends = {0}
    for entry in entries:
        if entry.header_offset not in ends:
            refuse(f"{entry.filename} does not begin where the file before it ends")
        file.seek(entry.header_offset)
        header = file.read(_LOCAL_HEADER_BYTES)
        lengths = int.from_bytes(header[26:28], "little"), int.from_bytes(header[28:], "little")
        data_end = (
            entry.header_offset + _LOCAL_HEADER_BYTES + sum(lengths) + entry.compress_size
        )
        has_descriptor = bool(entry.flag_bits & _DESCRIPTOR)
        ends = {data_end + size for size in (_DESCRIPTOR_BYTES if has_descriptor else (0,))}
    if directory not in ends:
        refuse("the directory of the bundle does not begin where its last file ends")


def _check_entry_name(entry: zipfile.ZipInfo) -> None:
    # `filename` ends at a zero byte; `orig_filename` is the name as the archive has it.
    if entry.orig_filename != entry.filename or not _FILE_NAME.fullmatch(entry.filename):
        refuse(
            "the bundle has a file whose name is no plain relative path: unpacked, it could overwrite "
            "another file"
        )
    kind = entry.external_attr >> 16 & _FILE_KIND_BITS
    if kind not in (0, _REGULAR_FILE_BITS):
        refuse(f"{entry.filename} is no regular file: unpacked, it could lead to another place")


def _check_entry_size(entry: zipfile.ZipInfo) -> None:
    name = entry.filename
    if entry.flag_bits & _ENCRYPTED:
        refuse(f"{name} is encrypted")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        refuse(f"{name} is compressed by another method than deflate")
    if entry.file_size > MAX_BUNDLE_FILE_BYTES:
        refuse(f"{name} is larger than a file of a bundle may be")
    expansion = entry.file_size / max(1, entry.compress_size)
    if entry.file_size > _ALWAYS_READ_BYTES and expansion > _LARGEST_EXPANSION:
        refuse(
            f"{name} would unpack to more than {_LARGEST_EXPANSION} times its size, which no table needs: "
            "it is not read"
        )


def _digest_of_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> tuple[int, str]:
    """The size and the SHA-256 of a file, read piece by piece."""
    sha, size = hashlib.sha256(), 0
    try:
        with archive.open(entry) as file:
            while piece := file.read(_PIECE_BYTES):
                size += len(piece)
                sha.update(piece)
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        ValueError,
        OverflowError,
        NotImplementedError,
        RuntimeError,
    ):
        refuse(f"{entry.filename} was changed: it cannot be unpacked, or its checksum differs")
    return size, sha.hexdigest()


def _read_list(archive: zipfile.ZipFile) -> dict[str, Any]:
    listed = _read_document(archive, BUNDLE_LIST)
    if listed.get("schema") != BUNDLE:
        refuse(f"{BUNDLE_LIST} is no list of the files of a bundle")
    return listed


def _read_document(archive: zipfile.ZipFile, name: str) -> dict[str, Any]:
    """A small JSON file of the archive."""
    if name not in archive.namelist():
        refuse(f"the bundle has no {name}")
    if archive.getinfo(name).file_size > _MAX_DOCUMENT_BYTES:
        refuse(f"{name} is too large")
    try:
        document = json.loads(
            archive.read(name).decode("utf-8"),
            object_pairs_hook=_once_each,
            parse_constant=_refuse_constant,
        )
    except (ValueError, RecursionError):
        refuse(f"{name} is not JSON in UTF-8, or gives a name twice")
    if not isinstance(document, dict):
        refuse(f"{name} is no JSON object")
    return document


def _once_each(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError
    return document


def _refuse_constant(_: str) -> float:
    raise ValueError


def _list_statement(listed: Mapping[str, Any], *, key: bytes | None) -> dict[str, Any]:
    """The statement of the list: the core of the receipt and the files; its signature is checked where it has
    one."""
    statement: Any = None
    if "signature" in listed:
        statement = statement_of(listed, schema=BUNDLE, what=BUNDLE_LIST, key=key)
    elif key is not None:
        refuse(f"{BUNDLE_LIST} is not signed, and a public key was given")
    elif set(listed) == {"schema", "statement"}:
        statement = listed["statement"]
    if not isinstance(statement, dict) or set(statement) - {"key"} != {"core", "files"}:
        refuse(f"{BUNDLE_LIST} has missing or unknown parts")
    files = statement["files"]
    if not isinstance(files, list) or not all(map(_is_listed_file, files)):
        refuse(f"{BUNDLE_LIST} has missing or unknown parts")
    if not isinstance(statement["core"], str) or not SHA256.fullmatch(statement["core"]):
        refuse(f"{BUNDLE_LIST} names no core of a receipt")
    return statement


def _is_listed_file(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and set(entry) == _ENTRY
        and isinstance(entry["name"], str)
        and _FILE_NAME.fullmatch(entry["name"]) is not None
        and type(entry["size"]) is int
        and isinstance(entry["sha256"], str)
        and SHA256.fullmatch(entry["sha256"]) is not None
    )


def _compare_files(
    digests: Mapping[str, tuple[int, str]], listed: Sequence[Mapping[str, Any]]
) -> None:
    expected = {entry["name"]: (entry["size"], entry["sha256"]) for entry in listed}
    if len(expected) != len(listed):
        refuse(f"{BUNDLE_LIST} names a file twice")
    for name, written in expected.items():
        if name not in digests:
            refuse(f"{name} is missing from the bundle")
        if digests[name] != written:
            refuse(f"{name} was changed: its SHA-256 is another than {BUNDLE_LIST} lists")
    for name in digests:
        if name != BUNDLE_LIST and name not in expected:
            refuse(f"the bundle has a file that {BUNDLE_LIST} does not list: {name}")


def _check_whole(file: IO[bytes], *, comment: bytes) -> None:
    """Compare the comment with the digest of all bytes before it: of names, dates and gaps that belong to no
    file."""
    if len(comment) != _COMMENT_BYTES:
        refuse(
            "the archive was packed again, or changed outside its files: verify it as it was downloaded"
        )
    sha = hashlib.sha256()
    for piece in _pieces_before_comment(file):
        sha.update(piece)
    if sha.hexdigest().encode("ascii") != comment:
        refuse(
            "the archive was changed outside its files, which are as they were: download it again"
        )


def _pieces_before_comment(file: IO[bytes]) -> Iterator[bytes]:
    left = file.seek(0, 2) - _COMMENT_BYTES
    file.seek(0)
    while left > 0 and (piece := file.read(min(_PIECE_BYTES, left))):
        left -= len(piece)
        yield piece


def _check_tables(receipt: Mapping[str, Any], files: Sequence[Mapping[str, Any]]) -> list[str]:
    """Whether the tables are those of the receipt, by the digest that it holds of one."""
    tables = [entry for entry in files if entry["name"].startswith(BUNDLE_TABLES)]
    if is_database(receipt):
        return _check_tables_of_database(receipt, tables)
    if not tables:
        return ["The bundle has no table."]
    stated = (receipt["sample"] or {}).get("table_sha256")
    if stated is None or len(tables) > 1:
        refuse(f"{BUNDLE_RECEIPT} does not name the one table of the bundle")
    if tables[0]["sha256"] != stated:
        refuse(f"{tables[0]['name']} is not the table of {BUNDLE_RECEIPT}")
    return [f"{tables[0]['name']} is the table that the receipt names."]


def _check_tables_of_database(
    receipt: Mapping[str, Any], tables: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Whether the tables, in the order of the list, are those of the receipt, by the digest that it holds of
    all of them."""
    names = [table["name"] for table in receipt["tables"]]
    if len(tables) != len(names):
        refuse(
            f"the receipt is of {len(names)} tables, and the bundle has {len(tables)}: one of them proves "
            "nothing about the others"
        )
    sha = hashlib.sha256()
    for name, entry in zip(names, tables, strict=True):
        sha.update(f"{name}\n{entry['sha256']}\n".encode())
    if sha.hexdigest() != (receipt["sample"] or {}).get("tables_sha256"):
        refuse(
            f"the tables of the bundle are not those of {BUNDLE_RECEIPT}, or are in another order"
        )
    return [f"The {len(names)} tables are those that the receipt names."]
