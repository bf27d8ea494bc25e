"""Bundles: the verifier accepts one as a whole, with Python alone, and names the file of which a byte was
changed."""

from __future__ import annotations

import copy
import hashlib
import io
import json
import subprocess
import sys
import venv
import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from synth_engine import cli, verifier
from synth_engine.errors import VerificationError
from synth_engine.privacy import signing
from synth_engine.verifier import bundle, standalone
from synthweb.lib.zip_stream import ZipStream
from tests.privacy.test_verifier import honest, resealed

TABLE = b"a,b\n" + b"0,1\n2,3\n" * 200
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


HONEST = honest()


def receipt_of(table: bytes) -> bytes:
    document = copy.deepcopy(HONEST)
    document["sample"]["table_sha256"] = hashlib.sha256(table).hexdigest()
    return json.dumps(resealed(document)).encode()


RECEIPT = receipt_of(TABLE)
FILES = {
    "README.txt": b"What this is.\n",
    "tables/table.csv": TABLE,
    "receipt.json": RECEIPT,
    "model.json": b'{"a": 1}',
}


def listed(
    files: Mapping[str, bytes], *, key: Ed25519PrivateKey | None = None, **changes: Any
) -> bytes:
    statement: dict[str, Any] = {
        "core": json.loads(RECEIPT)["digest"],
        "files": [
            {
                "name": name,
                "size": len(content),
                "sha256": hashlib.sha256(content).hexdigest(),
            }
            for name, content in files.items()
        ],
    } | changes
    if key is not None:
        return json.dumps(signing.sign(statement, schema=bundle.BUNDLE, key=key)).encode()
    return json.dumps({"schema": bundle.BUNDLE, "statement": statement}).encode()


def packed(files: Mapping[str, bytes]) -> bytes:
    stream = ZipStream(at=datetime(2026, 1, 2, 3, 4, 6, tzinfo=UTC))
    pieces = [piece for name, content in files.items() for piece in stream.write(name, content)]
    return b"".join([*pieces, *stream.close()])


def whole(files: Mapping[str, bytes] = FILES, key: Ed25519PrivateKey | None = None) -> bytes:
    return packed({**files, "bundle.json": listed(files, key=key)})


def judge(folder: Path, content: bytes, **options: Any) -> verifier.Verified:
    (folder / "b.zip").write_bytes(content)
    return verifier.verify_bundle(folder / "b.zip", **options)


def reason(folder: Path, content: bytes, **options: Any) -> str:
    with pytest.raises(VerificationError) as refused:
        judge(folder, content, **options)
    return str(refused.value)


def unpacks_alike(one: bytes, other: bytes) -> bool:
    """Whether all files of two archives have the same content."""
    with zipfile.ZipFile(io.BytesIO(one)) as left, zipfile.ZipFile(io.BytesIO(other)) as right:
        names = left.namelist()
        return names == right.namelist() and all(
            left.read(name) == right.read(name) for name in names
        )


def standalone_run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / standalone.NAME).write_text(standalone.text(), "utf-8")
    command = [sys.executable, "-I", "-S", standalone.NAME, *arguments]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env={}, timeout=120
    )


def test_a_bundle_is_accepted_as_a_whole(tmp_path: Path) -> None:
    verified = judge(tmp_path, whole())
    assert verified.core == json.loads(RECEIPT)["digest"]
    text = verifier.report(verified)
    assert "The bundle is whole: 5 files" in text
    assert "tables/table.csv is the table that the receipt names." in text
    assert "bundle.json is NOT SIGNED" in text


def test_python_alone_and_the_command_line_say_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "b.zip").write_bytes(whole())
    found = standalone_run(tmp_path, "b.zip")
    assert (found.returncode, found.stderr) == (0, "")
    assert cli.main(["verify", str(tmp_path / "b.zip")]) == 0
    assert capsys.readouterr().out == found.stdout
    (tmp_path / "b.zip").write_bytes(
        whole().replace(b"tables/table.csv", b"../../x/table.csv"[:16])
    )
    found = standalone_run(tmp_path, "b.zip")
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr.startswith("REFUSED: ") and len(found.stderr.splitlines()) == 1
    assert cli.main(["verify", str(tmp_path / "b.zip")]) == 1


ALONE = """
import runpy, sys
assert not [path for path in sys.path if "site-packages" in path or "dist-packages" in path], sys.path
sys.argv = ["verify_receipt.py", sys.argv[1]]
try:
    runpy.run_path("verify_receipt.py", run_name="__main__")
except SystemExit as end:
    code = end.code or 0
else:
    code = 0
roots = {name.partition(".")[0] for name in sys.modules}
print("from elsewhere:", sorted(roots - sys.stdlib_module_names - {"__main__", "__mp_main__"}))
raise SystemExit(code)
"""


def test_a_machine_with_python_and_nothing_else_verifies_a_bundle(tmp_path: Path) -> None:
    venv.create(tmp_path / "empty", with_pip=False)  # no packages, not even pip
    assert not list((tmp_path / "empty").glob("lib/*/site-packages/*"))
    machine = tmp_path / "machine"
    machine.mkdir()
    (machine / standalone.NAME).write_text(standalone.text(), "utf-8")

    def run(name: str, content: bytes) -> subprocess.CompletedProcess[str]:
        (machine / name).write_bytes(content)
        command = [tmp_path / "empty/bin/python", "-I", "-S", "-c", ALONE, name]
        return subprocess.run(
            command,
            cwd=machine,
            capture_output=True,
            text=True,
            check=False,
            env={},
            timeout=120,
        )

    accepted = run("whole.zip", whole())
    assert (accepted.returncode, accepted.stderr) == (0, "")
    assert "The bundle is whole: 5 files" in accepted.stdout
    assert accepted.stdout.endswith("from elsewhere: []\n")
    changed = bytearray(whole())
    changed[changed.index(b"0,1\n2,3")] ^= 1
    refused = run("changed.zip", bytes(changed))
    assert refused.returncode == 1
    assert refused.stderr.startswith("REFUSED: ") and "tables/table.csv" in refused.stderr
    assert refused.stdout == "from elsewhere: []\n"


@pytest.mark.parametrize("name", FILES)
def test_a_changed_byte_of_a_file_is_named(tmp_path: Path, name: str) -> None:
    content = FILES[name]
    other = content[:-1] + bytes([content[-1] ^ 1])
    assert f"{name} was changed" in reason(
        tmp_path, packed({**FILES, name: other, "bundle.json": listed(FILES)})
    )


def test_every_changed_byte_of_the_archive_is_noticed_and_within_a_file_it_is_named(
    tmp_path: Path,
) -> None:
    content = whole()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = archive.infolist()
    starts = {
        entry.filename: entry.header_offset
        + 30
        + int.from_bytes(content[entry.header_offset + 26 :][:2], "little")
        + int.from_bytes(content[entry.header_offset + 28 :][:2], "little")
        for entry in entries
    }
    ends = {entry.filename: starts[entry.filename] + entry.compress_size for entry in entries}
    within = {place: name for name in starts for place in range(starts[name], ends[name])}
    # Within the receipt, a large file, every fiftieth byte: all others are every one.
    places = [
        place
        for place in range(len(content))
        if within.get(place) != "receipt.json" or place % 50 == 0
    ]
    for place in places:
        damaged = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
        said = reason(tmp_path, damaged)
        if place in within:
            # Some bits of a compressed file mean nothing, such as those behind its end.
            same = "changed outside its files" in said and unpacks_alike(damaged, content)
            assert within[place] in said or same, (place, said)


def test_a_file_that_is_missing_added_or_doubled_is_named(tmp_path: Path) -> None:
    left = {name: content for name, content in FILES.items() if name != "model.json"}
    assert "model.json is missing" in reason(
        tmp_path, packed({**left, "bundle.json": listed(FILES)})
    )
    assert "does not list: extra.txt" in reason(
        tmp_path, packed({**FILES, "extra.txt": b"x", "bundle.json": listed(FILES)})
    )
    assert "has no bundle.json" in reason(tmp_path, packed(FILES))
    assert "has no receipt.json" in reason(tmp_path, whole({"README.txt": b"x"}))
    doubled = {**FILES, "readme.TXT": b"y"}
    assert "two files of the name readme.TXT" in reason(tmp_path, whole(doubled))


def test_another_table_with_a_list_of_its_own_is_refused_by_the_receipt(tmp_path: Path) -> None:
    assert "tables/table.csv is not the table of receipt.json" in reason(
        tmp_path, whole({**FILES, "tables/table.csv": TABLE + b"4,5\n"})
    )
    two = {**FILES, "tables/second.csv": b"a\n"}
    assert "does not name the one table" in reason(tmp_path, whole(two))
    core = listed(FILES, core="0" * 64)
    assert "receipt of another release" in reason(
        tmp_path, packed({**FILES, "bundle.json": core})
    )


def test_the_list_has_to_be_signed_with_the_key_that_was_given(tmp_path: Path) -> None:
    public = KEY.public_key()
    raw = public.public_bytes_raw()
    content = whole(key=KEY)
    assert signing.name(public) in verifier.report(judge(tmp_path, content))
    # The receipt is not signed, but the list is checked first.
    assert "receipt is not signed" in reason(tmp_path, content, key=raw)
    assert "bundle.json is not signed" in reason(tmp_path, whole(), key=raw)
    forged = json.loads(listed(FILES, key=KEY))
    forged["statement"]["files"][0]["size"] += 1
    assert "signature of bundle.json" in reason(
        tmp_path, packed({**FILES, "bundle.json": json.dumps(forged).encode()})
    )
    other = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
    assert "another key" in reason(tmp_path, content, key=other)
    pem = public.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    (tmp_path / "key.pub").write_bytes(pem)
    found = standalone_run(tmp_path, "b.zip", "--key", "key.pub")
    assert (found.returncode, found.stdout) == (1, "")


@pytest.mark.parametrize(
    "name",
    [
        "../outside.csv",
        "/etc/passwd",
        "a/../../b",
        "C:/x",
        "a\\b",
        "folder/",
        ".hidden",
        "a\nb",
        "a\x00b",
        "tables/" + "x" * 200,
        "a/b/c/d/e",
    ],
)
def test_a_path_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    stored = zipfile.ZipInfo("x" * len(name))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(stored, b"content")
    content = out.getvalue().replace(b"x" * len(name), name.encode())
    assert "no plain relative path" in reason(tmp_path, content)


def test_links_encrypted_files_and_other_compressions_are_refused(tmp_path: Path) -> None:
    def one(**attributes: int) -> bytes:
        entry = zipfile.ZipInfo("a.txt")
        compression = attributes.pop("compress_type", zipfile.ZIP_STORED)
        for attribute, value in attributes.items():
            setattr(entry, attribute, value)
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr(entry, b"content", compress_type=compression)
        return out.getvalue()

    assert "no regular file" in reason(tmp_path, one(external_attr=0o120777 << 16))
    assert "another method" in reason(tmp_path, one(compress_type=zipfile.ZIP_LZMA))
    plain = one()
    directory = plain.rindex(b"PK\x01\x02")
    encrypted = plain[: directory + 8] + b"\x01" + plain[directory + 9 :]
    assert "a.txt is encrypted" in reason(tmp_path, encrypted)


def test_what_unpacks_to_far_more_than_it_is_is_refused_unread(tmp_path: Path) -> None:
    out = io.BytesIO()
    with (
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("bomb.csv", "w") as file,
    ):
        for _ in range(80):
            file.write(bytes(2**20))
    assert len(out.getvalue()) < 2**18
    assert "bomb.csv would unpack to more than 200 times its size" in reason(
        tmp_path, out.getvalue()
    )
    many = packed({f"f{number}": b"" for number in range(bundle.MAX_BUNDLE_FILES + 1)})
    assert "more than 100 files" in reason(tmp_path, many)


def test_files_that_share_their_bytes_are_refused(tmp_path: Path) -> None:
    content = packed({"a.txt": b"x" * 500, "b.txt": b"y" * 500})
    second = content.rindex(b"PK\x01\x02")
    shared = content[: second + 42] + (10).to_bytes(4, "little") + content[second + 46 :]
    assert "lies over another file" in reason(tmp_path, shared)


@pytest.mark.parametrize("place", ["before", "between", "after"])
def test_a_file_that_the_directory_does_not_list_is_refused(tmp_path: Path, place: str) -> None:
    hidden = io.BytesIO()
    with zipfile.ZipFile(hidden, "w") as archive:
        archive.writestr("tables/table.csv", b"a,b\n9,9\n")
    local = hidden.getvalue()[: hidden.getvalue().index(b"PK\x01\x02")]
    names = {**FILES, "bundle.json": listed(FILES)}
    out = io.BytesIO()
    archive = zipfile.ZipFile(out, "w")

    def hide() -> None:
        out.seek(0, io.SEEK_END)
        out.write(local)
        archive.start_dir = out.tell()

    if place == "before":
        hide()
    for name, content in names.items():
        archive.writestr(name, content)
        if place == "between" and name == "README.txt":
            hide()
    if place == "after":
        hide()
    archive.comment = b"0" * 64
    archive.close()
    content = out.getvalue()[:-64]
    content += hashlib.sha256(content).hexdigest().encode()
    # A reader that goes by the directory unpacks what is listed.
    with zipfile.ZipFile(io.BytesIO(content)) as unpacked:
        assert unpacked.read("tables/table.csv") == TABLE
    assert "does not begin where" in reason(tmp_path, content)


def test_an_archive_that_was_packed_again_says_so(tmp_path: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in {**FILES, "bundle.json": listed(FILES)}.items():
            archive.writestr(name, content)
    assert "packed again" in reason(tmp_path, out.getvalue())


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"PK\x03\x04" + b"\xff" * 500])
def test_what_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    assert "no zip archive" in reason(tmp_path, content)
    found = standalone_run(tmp_path, "b.zip")
    assert (found.returncode, found.stdout) == (1, "")
    assert len(found.stderr.splitlines()) == 1


def test_a_table_of_one_value_is_stored_so_that_it_is_no_bomb(tmp_path: Path) -> None:
    rows = b"0\n" * 2**17
    table = b"a\n" + rows * 300
    stream = ZipStream(at=datetime(2026, 1, 2, tzinfo=UTC))
    files = {"tables/table.csv": table, "receipt.json": receipt_of(table)}
    pieces = [*stream.write("tables/table.csv", iter([b"a\n" + rows, *[rows] * 299]))]
    pieces += stream.write("receipt.json", files["receipt.json"])
    pieces += stream.write("bundle.json", listed(files))
    assert max(map(len, pieces)) < 2**19
    judge(tmp_path, b"".join([*pieces, *stream.close()]))
