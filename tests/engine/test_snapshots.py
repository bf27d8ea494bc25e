"""Tables of databases and object stores: copied whole and encrypted before a run, or refused clearly before
anything is spent."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth_engine import cli, pipeline, readers, verifier
from synth_engine.errors import InputError, SynthError, TableError, VerificationError
from synth_engine.privacy import receipt as receipts
from synth_engine.sources import queries, snapshot
from synth_engine.sources.snapshot import SnapshotSource
from tests import services

COLUMNS = ["id", "job", "pay", "born"]
ROWS = [
    ("1", "clerk", "10.50", "2001-02-03"),
    ("2", "", None, "2001-02-04"),
    ("3", None, "7.25", None),
    ("4", "tab\tand \\ and\nline", "0.00", "2001-02-05"),
]
SECRET = "hunter2-of-the-reader"
DOMAIN = {
    "attributes": [
        {"name": "job", "kind": "categorical", "values": ["clerk", "smith"], "other": True}
        | {"missing": [""], "provenance": "declared"},
    ]
}
WHO = "A. Clerk, data owner"
RUN = ["--mechanism", "independent", "--epsilon", "1"]


def read(source: SnapshotSource) -> list[tuple[object, ...]]:
    with pipeline.snapshot(source) as path:
        blocks = list(
            readers.blocks(path, kind="parquet", options=readers.ReadOptions(mode="total"))
        )
    return [
        row
        for block in blocks
        for row in zip(*(b.to_pylist() for b in block.values()), strict=True)
    ]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where copies are; empty again after each test."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    yield place
    assert list(place.iterdir()) == []


@pytest.fixture
def duck(tmp_path: Path) -> str:
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE pays (id INT, job TEXT, pay DECIMAL(8, 2), born DATE)")
        connection.executemany("INSERT INTO pays VALUES (?, ?, ?, ?)", ROWS)
    return f"duckdb:{path}"


@pytest.fixture(scope="module")
def postgres_url() -> Iterator[str]:
    with services.require_started(services.start_postgres) as url:
        yield url


@pytest.fixture
def postgres(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a database for an account that can read one table, whose password is in the
    environment."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE pays (id INT, job TEXT, pay DECIMAL(8, 2), born DATE)")
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO pays VALUES (%s, %s, %s, %s)", ROWS)
        connection.execute(f"CREATE ROLE reader LOGIN PASSWORD '{SECRET}'")
        connection.execute("GRANT SELECT ON pays TO reader")
        connection.execute("CREATE SEQUENCE counter")
        connection.execute("GRANT ALL ON counter TO reader")
        monkeypatch.setenv("PGPASSWORD", SECRET)
        yield "postgresql://reader@" + postgres_url.rsplit("@", 1)[1]
        connection.execute("DROP TABLE pays")
        connection.execute("DROP SEQUENCE counter")
        connection.execute("DROP ROLE reader")


def test_a_query_of_postgresql_has_the_texts_of_the_database(
    postgres: str, folder: Path
) -> None:
    query = "SELECT * FROM pays ORDER BY id;"
    source = SnapshotSource(address=postgres, query=query, vouched_by=WHO)
    assert read(source) == ROWS


def test_a_query_of_duckdb_has_the_texts_of_a_parquet_file(duck: str, folder: Path) -> None:
    query = "SELECT * FROM pays ORDER BY id"
    source = SnapshotSource(address=duck, query=query, vouched_by=WHO)
    assert read(source) == ROWS


def test_an_object_is_read_as_it_is(tmp_path: Path, folder: Path) -> None:
    table = pa.table(dict(zip(COLUMNS, zip(*ROWS, strict=True), strict=True)))
    pq.write_table(table, tmp_path / "pays.parquet", row_group_size=2)
    assert read(SnapshotSource(address=f"file://{tmp_path}/pays.parquet")) == ROWS


def test_a_copy_is_encrypted_and_no_other_process_reads_it(duck: str, folder: Path) -> None:
    source = SnapshotSource(address=duck, query="SELECT * FROM pays")
    with pipeline.snapshot(source) as path:
        assert path.stat().st_mode & 0o077 == 0
        content = path.read_bytes()
        with pytest.raises(TableError):  # by another path, it has no key
            readers.columns(path.parent / ".." / path.parent.name / path.name, kind="parquet")
    assert not path.exists()
    assert content.startswith(b"PARE")
    assert b"clerk" not in content
    assert b"born" not in content


@pytest.mark.parametrize("query", ["SELECT * FROM pays WHERE id < 0"])
def test_the_form_is_that_of_the_query_without_any_record(
    query: str, duck: str, postgres: str, folder: Path
) -> None:
    for address in (duck, postgres):
        with pipeline.snapshot(SnapshotSource(address=address, query=query)) as path:
            assert readers.columns(path, kind="parquet") == tuple(COLUMNS)


@pytest.mark.parametrize(
    ("query", "state"),
    [
        ("SELECT * FROM salaries", "42P01"),
        ("DELETE FROM pays RETURNING *", "42"),
        ("SELECT job::int FROM pays", "22P02"),
        ("SELECT set_config('x.y', 'z', false); DROP TABLE pays", "42601"),
    ],
)
def test_postgresql_refuses_by_number_and_quotes_nothing(
    query: str, state: str, postgres: str, folder: Path
) -> None:
    with pytest.raises(TableError) as refused:
        read(SnapshotSource(address=postgres, query=query, vouched_by=WHO))
    assert f"SQLSTATE {state}" in str(refused.value)
    assert "clerk" not in str(refused.value)


def test_a_query_that_writes_by_a_function_is_refused(postgres: str, folder: Path) -> None:
    query = "SELECT nextval('counter')"
    with pytest.raises(TableError, match="SQLSTATE 25006"):
        read(SnapshotSource(address=postgres, query=query, vouched_by=WHO))


def test_duckdb_reads_no_other_file_and_writes_nothing(
    duck: str, tmp_path: Path, folder: Path
) -> None:
    (tmp_path / "other.csv").write_text("secret\n1\n")
    for query in (f"SELECT * FROM read_csv('{tmp_path}/other.csv')", "DELETE FROM pays"):
        with pytest.raises(TableError) as refused:
            read(SnapshotSource(address=duck, query=query, vouched_by=WHO))
        assert "other" not in str(refused.value)


def test_a_database_that_goes_away_in_the_middle_leaves_nothing(
    postgres: str, postgres_url: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches: list[int] = []
    whole = snapshot._batch

    def ended(schema: pa.Schema, records: list[tuple[object, ...]]) -> pa.RecordBatch:
        batches.append(len(records))
        if len(batches) == 1:
            with psycopg.connect(postgres_url, autocommit=True) as other:
                other.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'reader'"
                )
        return whole(schema, records)

    monkeypatch.setattr(snapshot, "_batch", ended)
    # More than a socket holds, so that the end of the connection is met.
    query = "SELECT repeat('x', 200) AS t FROM generate_series(1, 300000)"
    with pytest.raises(TableError, match=r"went away.*nothing was spent"):
        read(SnapshotSource(address=postgres, query=query, vouched_by=WHO))
    assert batches[0] == snapshot.BATCH


def test_a_database_that_is_not_there_is_said_without_its_address(folder: Path) -> None:
    address = "postgresql://reader@127.0.0.1:1/shop"
    source = SnapshotSource(address=address, query="SELECT age FROM people")
    with pytest.raises(TableError) as refused:
        read(source)
    assert "cannot be reached" in str(refused.value)
    assert "127.0.0.1" not in str(refused.value)
    assert "shop" not in repr(source)


@pytest.mark.parametrize(
    "address",
    [
        "file:///nowhere/at-all.parquet",
        "s3://bucket/key?endpoint_override=127.0.0.1:1&scheme=http",
    ],
)
def test_an_object_that_is_not_there_is_refused(
    address: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with pytest.raises(TableError, match="object cannot be read") as refused:
        read(SnapshotSource(address=address))
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    ("address", "query", "words"),
    [
        ("mysql://host/shop", "SELECT 1", "no known kind"),
        (f"postgresql://reader:{SECRET}@host/shop", "SELECT 1", "has a password"),
        (f"postgresql://host/shop?password={SECRET}", "SELECT 1", "has a password"),
        (f"s3://key:{SECRET}@bucket/key", "", "has a password"),
        ("postgresql://host/shop", "", "needs a query"),
        ("file:///table.parquet", "SELECT 1", "needs a query"),
    ],
)
def test_addresses_are_judged_before_anything_is_opened(
    address: str, query: str, words: str
) -> None:
    with pytest.raises(InputError, match=words) as refused:
        SnapshotSource(address=address, query=query)
    assert SECRET not in str(refused.value)


def test_a_full_disk_is_said(duck: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    with pytest.raises(SynthError, match="cannot be written"):
        read(SnapshotSource(address=duck, query="SELECT * FROM pays"))


# --- what a query may do ------------------------------------------------------------------------------------
SELECTIONS = [
    "SELECT * FROM pays",
    "select id, job AS work, pay wage from pays;",
    "SELECT \"id\" FROM main.\"pays\" WHERE NOT (id >= 2 AND pay < 10.5) OR job IN ('clerk', 'o''smith')",
    "SELECT id FROM pays WHERE job IS NOT NULL AND pay NOT BETWEEN -1 AND 3 AND job LIKE 'c%'",
]
OTHERS = [
    "SELECT (count(*) OVER ())::INT % 2 AS r FROM pays",
    "SELECT row_number() OVER () FROM pays",
    "SELECT count(*) FROM pays",
    "SELECT job FROM pays GROUP BY job",
    "SELECT DISTINCT job FROM pays",
    "SELECT id FROM pays LIMIT 5",
    "SELECT id FROM pays ORDER BY id",
    "SELECT a.id FROM pays a JOIN pays b USING (id)",
    "SELECT id FROM pays, pays AS other",
    "SELECT id FROM (SELECT id FROM pays) AS inner_query",
    "SELECT id FROM pays WHERE id = (SELECT max(id) FROM pays)",
    "SELECT id FROM pays WHERE EXISTS (SELECT 1 FROM pays)",
    "SELECT id FROM pays UNION SELECT id FROM pays",
    "WITH w AS (SELECT id FROM pays) SELECT id FROM w",
    "SELECT id + 1 FROM pays",
    "SELECT id FROM pays WHERE random() < 0.5",
    "SELECT pays.id FROM pays",
    "SELECT ctid FROM pays",
    "SELECT rowid FROM pays",
    'SELECT "ctid" FROM pays',
    "SELECT current_date FROM pays",
    "SELECT id FROM pays TABLESAMPLE SYSTEM (50)",
    "SELECT id FROM pays -- WHERE id = 1",
    "SELECT id FROM pays /* a */ WHERE id = 1",
    "SELECT id FROM pays; SELECT id FROM pays",
    "SELECT id FROM pays WHERE job = E'a\\'b'",
    "SELECT id FROM pays WHERE " + "(" * 80 + "id = 1" + ")" * 80,
    "SELECT 1",
    "VALUES (1)",
    "TABLE pays",
    "DELETE FROM pays",
    "",
]


@pytest.mark.parametrize("query", SELECTIONS)
def test_a_choice_of_rows_and_columns_needs_nobodys_word(
    query: str, duck: str, postgres: str, folder: Path
) -> None:
    for address in (duck, postgres):
        of = query if address == duck else query.replace("main.", "public.")
        assert all(
            row in ROWS or len(row) < len(COLUMNS)
            for row in read(SnapshotSource(address=address, query=of))
        )


@pytest.mark.parametrize("query", OTHERS)
def test_a_query_that_is_not_proved_needs_somebodys_word(query: str) -> None:
    """With a window function one person more changes every other record."""
    assert queries.table_of(query) is None
    if query:
        with pytest.raises(InputError, match="one record may change others"):
            SnapshotSource(address="duckdb:x", query=query)
        SnapshotSource(address="duckdb:x", query=query, vouched_by=WHO)


def test_a_view_is_another_query(
    duck: str, postgres: str, postgres_url: str, folder: Path
) -> None:
    with duckdb.connect(duck.removeprefix("duckdb:")) as connection:
        connection.execute("CREATE VIEW few AS SELECT * FROM pays LIMIT 1")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE VIEW few AS SELECT * FROM pays LIMIT 1")
        connection.execute("GRANT SELECT ON few TO reader")
    try:
        for address in (duck, postgres):
            source = SnapshotSource(address=address, query="SELECT job FROM few")
            with pytest.raises(InputError, match="of a view"):
                read(source)
            assert len(read(replace(source, vouched_by=WHO))) == 1
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("DROP VIEW few")


@pytest.mark.parametrize("who", ["two\nlines", "x" * 201])
def test_whoever_vouches_has_a_name_on_one_line(who: str) -> None:
    with pytest.raises(InputError, match="nobody can vouch"):
        SnapshotSource(address="duckdb:x", query="SELECT 1", vouched_by=who)


# --- the command line ---------------------------------------------------------------------------------------
def test_a_release_of_a_query(duck: str, tmp_path: Path, folder: Path) -> None:
    domain, out, receipt = (tmp_path / name for name in ("d.json", "out.csv", "r.json"))
    domain.write_text(json.dumps(DOMAIN))
    given = ["--from", duck, "--query", "SELECT job FROM pays", "--domain", str(domain)]
    arguments = ["synthesize", *given, *RUN, "--rows", "20", "--out", str(out)]
    assert cli.main([*arguments, "--receipt", str(receipt)]) == 0
    assert len(out.read_text().splitlines()) == 21
    written = json.loads(receipt.read_text())
    digest = hashlib.sha256(b"SELECT job FROM pays").hexdigest()
    assert written["source"] == {"query_sha256": digest, "vouched_by": ""}
    assert any(digest in line for line in verifier.verify(written).sentences)
    # Neither where the table was nor how it was asked for.
    assert "pays" not in receipt.read_text()
    assert "duckdb" not in receipt.read_text()


def test_a_release_of_a_query_that_somebody_vouches_for(
    duck: str, tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    domain, out, receipt = (tmp_path / name for name in ("d.json", "out.csv", "r.json"))
    domain.write_text(json.dumps(DOMAIN))
    query = "SELECT job FROM pays ORDER BY pay LIMIT 2"
    given = ["--from", duck, "--query", query, "--domain", str(domain)]
    arguments = ["synthesize", *given, *RUN, "--rows", "20", "--out", str(out)]
    arguments += ["--receipt", str(receipt)]
    assert cli.main(arguments) == 2
    assert "--vouched-by" in capsys.readouterr().err
    assert not receipt.exists()
    assert cli.main([*arguments, "--vouched-by", WHO]) == 0
    written = json.loads(receipt.read_text())
    assert written["source"]["vouched_by"] == WHO
    assert any(WHO in line for line in verifier.verify(written).sentences)
    for changed in ({"vouched_by": "a\nb"}, {"query_sha256": "no"}, {"more": ""}):
        forged = receipts.seal(written | {"source": written["source"] | changed})
        with pytest.raises(VerificationError):
            verifier.verify(forged)


def test_a_draft_of_a_query(duck: str, tmp_path: Path, folder: Path) -> None:
    out = tmp_path / "domain.json"
    query = "SELECT job, pay FROM pays"
    assert cli.main(["domain", "--from", duck, "--query", query, "--out", str(out)]) == 0
    assert [one["name"] for one in json.loads(out.read_text())["attributes"]] == ["job", "pay"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "by its file or by --from"),
        (["table.csv", "--from", "duckdb:x"], "by its file or by --from"),
        (["table.csv", "--query", "SELECT a FROM t"], "a file has no query"),
        (
            ["--from", "duckdb:x", "--query", "SELECT a FROM t", "--read", "header=no"],
            "form of a query",
        ),
        (["--from", "duckdb:x", "--query", "SELECT a FROM t"], "no such DuckDB file"),
    ],
)
def test_what_is_given_of_a_table_is_judged_before_anything_is_spent(
    given: list[str],
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    folder: Path,
) -> None:
    domain = tmp_path / "d.json"
    domain.write_text(json.dumps(DOMAIN))
    arguments = ["synthesize", *given, *RUN, "--domain", str(domain)]
    assert cli.main([*arguments, "--out", str(tmp_path / "out.csv")]) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "out.csv").exists()
