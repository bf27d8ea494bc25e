"""The command line, to the letter of docs/command-line.md."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from synth_engine import cli, codec, domain, mechanisms
from synth_engine.models.model import Model
from synth_engine.privacy import receipt as receipts

ROOT = Path(__file__).parents[2]
FULL = {
    "attributes": [
        {
            "name": "job",
            "kind": "categorical",
            "values": ["clerk", "smith", "cook"],
            "missing": ["?"],
        },
        {"name": "age", "kind": "integer", "low": 0, "high": 99},
        {"name": "height", "kind": "number", "low": 1.0, "high": 2.5},
        {
            "name": "born",
            "kind": "date",
            "low": "2000-01-01",
            "high": "2009-12-31",
            "step_days": 365,
        },
        {"name": "member", "kind": "boolean", "true": "yes", "false": "no", "missing": ["?"]},
        {"name": "key", "kind": "identifier"},
    ]
}


def run(*arguments: object) -> int:
    """One command; its exit code."""
    try:
        return cli.main([str(argument) for argument in arguments])
    except SystemExit as stop:  # argparse
        return int(stop.code or 0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A table of 400 people and its domain."""
    rng = np.random.default_rng(5)
    with (tmp_path / "people.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["key", "job", "age", "height", "born", "member"])
        for i in range(400):
            job = ["clerk", "smith", "?", "juggler"][rng.integers(4)]
            writer.writerow(
                [
                    f"p{i}",
                    job,
                    20 + i % 60,
                    1.5 + i / 1000,
                    f"200{i % 10}-05-17",
                    ["yes", "no", "?"][i % 3],
                ]
            )
    (tmp_path / "domain.json").write_text(json.dumps(FULL))
    return tmp_path


def synthesize(
    folder: Path,
    *more: object,
    epsilon: object = 5,
    mechanism: str = "independent",
    out: str = "out.csv",
) -> int:
    return run(
        "synthesize", folder / "people.csv", "--domain", folder / "domain.json", "--mechanism", mechanism,
        "--epsilon", epsilon, "--out", folder / out, *more,
    )  # fmt: skip


def rows_of(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return list(csv.reader(file))


def load(path: Path) -> Any:
    return json.loads(path.read_text())


def test_mechanisms_are_listed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("mechanisms") == 0
    listed = json.loads(capsys.readouterr().out)
    assert {entry["id"] for entry in listed} == set(mechanisms.REGISTRY)
    assert {"id", "title", "paper", "parameters", "relations", "losses"} <= set(listed[0])


@pytest.mark.parametrize("delta", ["0", "1e-9"])
def test_a_table_is_made_and_its_receipt_verifies(
    folder: Path, capsys: pytest.CaptureFixture[str], delta: str
) -> None:
    paths = ("--receipt", folder / "receipt.json", "--model", folder / "model.json")
    assert synthesize(folder, "--delta", delta, *paths) == 0
    header, *rows = rows_of(folder / "out.csv")
    assert header == ["job", "age", "height", "born", "member"]
    assert 350 < len(rows) < 450
    assert {row[0] for row in rows} <= {"clerk", "smith", "cook", "?"}
    receipt = load(folder / "receipt.json")
    assert receipt["sample"]["rows"] == len(rows)
    assert (
        receipt["sample"]["table_sha256"]
        == hashlib.sha256((folder / "out.csv").read_bytes()).hexdigest()
    )
    assert receipt["domain_sha256"] == domain.read(folder / "domain.json").digest
    assert capsys.readouterr() == ("", "")
    assert run("verify", folder / "receipt.json") == 0
    assert f"delta = {float(delta):g}" in capsys.readouterr().out


def key_files(folder: Path, name: str) -> tuple[Path, Path]:
    """A private key of the command line, and its public half."""
    key = Ed25519PrivateKey.generate()
    private, public = folder / f"{name}.key", folder / f"{name}.pub"
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    public.write_bytes(
        key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    return private, public


def test_the_command_line_signs_and_its_signature_is_checked(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    private, public = key_files(folder, "mine")
    _, other = key_files(folder, "other")
    assert synthesize(folder, "--receipt", folder / "receipt.json", "--sign-with", private) == 0
    receipt = load(folder / "receipt.json")
    assert (
        run("verify", folder / "receipt.json", "--key", public, "--digest", receipt["digest"])
        == 0
    )
    assert "signed with the key that was given" in capsys.readouterr().out
    assert run("verify", folder / "receipt.json", "--key", other) == 1
    refused(capsys, "another key than the one given")
    assert run("verify", folder / "receipt.json", "--digest", "0" * 64) == 1
    refused(capsys, "digest")
    receipt["sample"]["table_sha256"] = "0" * 64
    (folder / "receipt.json").write_text(json.dumps(receipt))
    assert run("verify", folder / "receipt.json") == 1
    refused(capsys, "the sample was changed")


def test_a_receipt_that_nobody_signed_says_so_and_is_refused_only_where_a_key_is_given(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, public = key_files(folder, "mine")
    assert synthesize(folder, "--receipt", folder / "receipt.json") == 0
    assert run("verify", folder / "receipt.json") == 0
    assert "NOT SIGNED" in capsys.readouterr().out
    assert run("verify", folder / "receipt.json", "--key", public) == 1
    refused(capsys, "not signed")


def test_a_key_that_cannot_sign_is_refused_before_anything_is_drawn(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    private, public = key_files(folder, "mine")
    for wrong in (public, folder / "nothing.key", folder / "domain.json"):
        assert (
            synthesize(folder, "--receipt", folder / "receipt.json", "--sign-with", wrong) == 2
        )
        refused(capsys, "key")
    assert synthesize(folder, "--sign-with", private) == 2
    refused(capsys, "--receipt")
    assert not (folder / "out.csv").exists()


@pytest.mark.parametrize("mechanism", ["auto", "aim", "mst", "independent"])
@pytest.mark.parametrize("delta", ["0", "1e-9"])
def test_a_budget_too_small_for_one_table_is_a_valid_release_with_advice(
    folder: Path, capsys: pytest.CaptureFixture[str], mechanism: str, delta: str
) -> None:
    (folder / "domain.json").write_text(
        json.dumps(FULL | {"relation": "replace-one", "rows": 400})
    )
    asked = ("--delta", delta, "--rows", 50, "--receipt", folder / "receipt.json")
    assert synthesize(folder, *asked, epsilon="0.001", mechanism=mechanism) == 0
    said, advice = capsys.readouterr()
    assert said == ""
    assert re.fullmatch(
        r"note: 5 of 5 columns are not found: the noise is larger than what the table holds\. .*\n",
        advice,
    )
    assert len(rows_of(folder / "out.csv")) == 51
    assert run("verify", folder / "receipt.json") == 0


def test_rows_asked_for_are_rows_drawn(folder: Path) -> None:
    assert synthesize(folder, "--rows", 37) == 0
    assert len(rows_of(folder / "out.csv")) == 38


def test_plausible_tables_are_written_beside_the_table(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert synthesize(folder, "--implicates", 1) == 2
    assert "2 to 20" in capsys.readouterr().err
    assert not (folder / "out.csv").exists()
    assert synthesize(folder, "--implicates", 3) == 0
    names = ["out.csv", *(f"out.implicate-0{number}.csv" for number in (1, 2, 3))]
    tables = [rows_of(folder / name) for name in names]
    assert len({str(table[0]) for table in tables}) == 1
    assert len({str(table) for table in tables}) == 4
    # None of them is overwritten unasked.
    (folder / "out.csv").unlink()
    assert synthesize(folder, "--implicates", 3) == 2


def test_no_rows_asked_for_means_the_noisy_number_of_records(folder: Path) -> None:
    for more in ((), ("--rows", 0)):
        assert synthesize(folder, "--model", folder / "model.json", "--overwrite", *more) == 0
        assert len(rows_of(folder / "out.csv")) - 1 == load(folder / "model.json")["rows"]


def test_a_seed_given_is_public_and_replays_the_table_byte_for_byte(folder: Path) -> None:
    assert (
        synthesize(
            folder,
            "--seed",
            "tea",
            "--receipt",
            folder / "r.json",
            "--model",
            folder / "m.json",
        )
        == 0
    )
    sample = load(folder / "r.json")["sample"]
    assert sample["seed"] == "tea"
    assert "seed_commitment" not in sample
    assert (
        run(
            "sample",
            folder / "m.json",
            "--rows",
            sample["rows"],
            "--seed",
            "tea",
            "--out",
            folder / "again.csv",
        )
        == 0
    )
    assert (folder / "again.csv").read_bytes() == (folder / "out.csv").read_bytes()
    assert (
        run(
            "sample",
            folder / "m.json",
            "--rows",
            sample["rows"],
            "--seed",
            "milk",
            "--out",
            folder / "other.csv",
        )
        == 0
    )
    assert (folder / "other.csv").read_bytes() != (folder / "out.csv").read_bytes()


def test_a_seed_not_given_is_secret_and_committed_to(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[str] = []
    original = mechanisms.draw_blocks

    def watch(model: Model, rows: int, seed: str, **given: int) -> Any:
        drawn.append(seed)
        return original(model, rows, seed, **given)

    monkeypatch.setattr(mechanisms, "draw_blocks", watch)
    for name in ("r1.json", "r2.json"):
        assert synthesize(folder, "--receipt", folder / name, "--overwrite") == 0
        sample = load(folder / name)["sample"]
        assert "seed" not in sample
        assert sample["seed_commitment"] == receipts.seed_commitment(drawn[-1])
        assert len(drawn[-1]) == 64
        assert drawn[-1] not in (folder / name).read_text()
    assert drawn[0] != drawn[1]


def test_noise_differs_from_run_to_run_even_with_the_same_seed(folder: Path) -> None:
    """A seed is of the drawing alone."""
    digests = set()
    for _ in range(2):
        assert (
            synthesize(folder, "--seed", "tea", "--receipt", folder / "r.json", "--overwrite")
            == 0
        )
        digests.add(load(folder / "r.json")["answers_sha256"])
    assert len(digests) == 2


def test_parquet_goes_in_and_comes_out(folder: Path) -> None:
    columns = list(zip(*rows_of(folder / "people.csv"), strict=True))
    table = pa.table({name: cells for name, *cells in columns})
    pq.write_table(table, folder / "people.parquet")
    assert run(
        "synthesize", folder / "people.parquet", "--domain", folder / "domain.json", "--mechanism",
        "independent",
        "--epsilon", 5, "--out", folder / "out.parquet",
    ) == 0  # fmt: skip
    drawn = pq.read_table(folder / "out.parquet")
    assert [str(kind) for kind in drawn.schema.types] == [
        "string",
        "int64",
        "double",
        "date32[day]",
        "string",
    ]
    assert drawn["member"].null_count > 0
    assert drawn["age"].null_count == 0
    public = domain.read(folder / "domain.json")
    texts = {name: drawn[name].cast(pa.string()) for name in public.names}
    assert codec.encode(public, texts)["born"].max() < public.sizes["born"]


def test_a_table_written_otherwise_is_read_with_its_form(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Guessed, corrected by hand, given to whatever reads the table."""
    rows = (folder / "people.csv").read_text().splitlines()
    turned = [row.replace(".", "|").replace(",", ";").replace("|", ",") for row in rows]
    (folder / "other.csv").write_bytes(
        "\r\n".join(["Our people", *turned, "Source: us", ""]).encode("cp1252")
    )
    assert run("form", folder / "other.csv", "--out", folder / "form.json") == 0
    form = json.loads((folder / "form.json").read_text())
    assert (form["delimiter"], form["skip"], form["decimal"], form["footer"]) == (
        ";",
        1,
        ",",
        0,
    )
    (folder / "form.json").write_text(json.dumps(form | {"footer": 1}))
    given = ("--form", folder / "form.json")
    arguments = ("--domain", folder / "domain.json", "--mechanism", "random", "--epsilon", "1")
    out = ("--out", folder / "out.csv")
    assert run("synthesize", folder / "other.csv", *arguments, *out) == 2  # not without it
    assert run("synthesize", folder / "other.csv", *arguments, *out, *given) == 0
    for name in ("people", "other"):
        extra = given if name == "other" else ()
        assert (
            run("domain", folder / f"{name}.csv", "--out", folder / f"{name}.json", *extra) == 0
        )
    assert (folder / "people.json").read_text() == (folder / "other.json").read_text()
    compared = ("--domain", folder / "domain.json", "--out", folder / "report.json")
    assert run("compare", folder / "other.csv", folder / "people.csv", *compared, *given) == 0
    assert load(folder / "report.json")["summary"]["tvd2"]["value"] == 0
    (folder / "form.json").write_text(json.dumps(form | {"delimiter": "x"}))
    assert run("domain", folder / "other.csv", "--out", folder / "third.json", *given) == 2
    assert "this form of CSV is not read" in capsys.readouterr().err


def test_a_compressed_table_gives_the_same_plan(folder: Path) -> None:
    import gzip

    (folder / "people.csv.gz").write_bytes(gzip.compress((folder / "people.csv").read_bytes()))
    assert run(
        "synthesize", folder / "people.csv.gz", "--domain", folder / "domain.json", "--mechanism",
        "independent",
        "--epsilon", 5, "--out", folder / "out.csv",
    ) == 0  # fmt: skip


def test_a_draft_asks_what_cells_leave_open_and_names_the_flags_that_answer(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, out = folder / "sales.csv", folder / "sales.json"
    table.write_text("sold,price,weight\n" + '2/9/21,"1,200,000",5 kg\n3/10/21,0,7 kg\n' * 3)
    assert run("domain", table, "--out", out) == 0
    asked = capsys.readouterr().err
    assert "“2/9/21” is 2 September 2021; or “2/9/21” is 9 February 2021" in asked
    [flags] = re.findall(r"\[([^]]*)\]", asked)
    assert flags == "--read decimal=point --read thousands=comma --read units=kg"
    assert run("domain", table, *flags.split(), "--out", out, "--overwrite") == 0
    kinds = {entry["name"]: entry["kind"] for entry in load(out)["attributes"]}
    assert (kinds["price"], kinds["weight"]) == ("scale", "scale")
    assert "looks like numbers" not in capsys.readouterr().err


def test_a_draft_says_that_it_read_the_data_and_is_refused_until_confirmed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        run("domain", folder / "people.csv", "--out", folder / "domain.json", "--overwrite")
        == 0
    )
    assert "read off the data" in capsys.readouterr().err
    draft = load(folder / "domain.json")
    assert {entry["provenance"] for entry in draft["attributes"]} == {"suggested"}
    assert [entry["kind"] for entry in draft["attributes"]] == [
        "identifier", "weak", "scale", "scale", "scale", "boolean",
    ]  # fmt: skip
    assert synthesize(folder) == 2
    assert "only suggested by the data" in capsys.readouterr().err
    assert not (folder / "out.csv").exists()
    for entry in draft["attributes"]:
        entry["provenance"] = "declared"
    (folder / "domain.json").write_text(json.dumps(draft))
    assert synthesize(folder) == 0


def test_a_draft_names_the_lists_that_were_read_and_none_of_their_values(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "wards.csv").write_text(
        "ward,sex,patient_id\n" + "".join(f"w{i % 3},{'FM'[i % 2]},{i}\n" for i in range(90))
    )
    assert run("domain", folder / "wards.csv", "--out", folder / "wards.json") == 0
    told = capsys.readouterr().err
    assert "ward: 3 values" in told
    assert "sex:" not in told
    assert "w1" not in told
    kinds = {each["name"]: each["kind"] for each in load(folder / "wards.json")["attributes"]}
    assert kinds == {"ward": "categorical", "sex": "categorical", "patient_id": "identifier"}


def test_the_shorthand_is_accepted_and_the_receipt_says_so(folder: Path) -> None:
    (folder / "codes.csv").write_text("a,b\n" + "0,2\n1,0\n" * 50)
    (folder / "sizes.json").write_text('{"a": 2, "b": 3}')
    assert run(
        "synthesize", folder / "codes.csv", "--domain", folder / "sizes.json", "--mechanism", "independent",
        "--epsilon", 9, "--rows", 10, "--out", folder / "out.csv", "--receipt", folder / "r.json",
    ) == 0  # fmt: skip
    assert load(folder / "r.json")["domain_facts"] == {"declared (shorthand)": 6}
    assert {cell for row in rows_of(folder / "out.csv")[1:] for cell in row} <= {"0", "1", "2"}


def test_a_comparison_is_marked_as_not_private(folder: Path) -> None:
    assert synthesize(folder) == 0
    assert run(
        "compare", folder / "people.csv", folder / "out.csv", "--domain", folder / "domain.json",
        "--out", folder / "report.json",
    ) == 0  # fmt: skip
    report = load(folder / "report.json")
    assert report["private"] is False
    assert report["rows"]["real"] == 400
    assert len(report["side_by_side"]["real"]) == len(report["side_by_side"]["synthetic"]) == 20
    assert "p0" not in str(report["side_by_side"])  # identifiers are dropped


def test_a_table_compared_with_itself_has_no_distance(folder: Path) -> None:
    assert run(
        "compare", folder / "people.csv", folder / "people.csv", "--domain", folder / "domain.json",
        "--out", folder / "report.json",
    ) == 0  # fmt: skip
    assert load(folder / "report.json")["summary"]["tvd2"]["value"] == 0


@pytest.mark.slow
def test_a_comparison_is_one_page_that_needs_no_network(folder: Path) -> None:
    assert synthesize(folder) == 0
    assert run(
        "compare", folder / "people.csv", folder / "out.csv", "--domain", folder / "domain.json",
        "--out", folder / "report.html",
    ) == 0  # fmt: skip
    page = (folder / "report.html").read_text()
    assert "not differentially private" in page.lower()
    assert re.search(r"<(link|script|img|iframe)[^>]*(src|href)=", page) is None


@pytest.mark.parametrize(
    "epsilon",
    ["0", "-1", "nan", "inf", "-inf", "1e-400", "1e400", "１", "9" * 400, "", " 1", "1_0", "0x1", "1,5",
        "NaN", "1e-19", "abc",
     "1/3", "1/1", "2/4"],
)  # fmt: skip
def test_an_unusable_epsilon_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], epsilon: str
) -> None:
    assert synthesize(folder, epsilon=epsilon) == 2
    refused(capsys, "epsilon")
    assert not (folder / "out.csv").exists()


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """One line on stderr, nothing on stdout, no traceback."""
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.endswith("\n")
    assert "Traceback" not in err
    for word in words:
        assert word in err
    return err


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--delta", "-1"), "delta"),
        (("--delta", "0.5"), "delta"),
        (("--delta", "nan"), "delta"),
        (("--rows", "-5"), "rows"),
        (("--rows", "1.5"), "rows"),
        (("--rows", "９"), "rows"),
        (("--rows", "9" * 30), "rows"),
        (("--rows", "2000000000"), "rows"),
        (("--param", "colour=blue"), "colour"),
        (("--param", "colour"), "KEY=VALUE"),
        (("--param", "a=1", "--param", "a=2"), "KEY=VALUE"),
        (("--seed", ""), "seed"),
        (("--seed", "a\nb"), "seed"),
        (("--colour", "blue"), "--colour"),
        (("--receipt", "/nowhere/receipt.json"), "folder"),
    ],
)
def test_any_other_wrong_argument_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], word: str
) -> None:
    assert synthesize(folder, *arguments) == 2
    refused(capsys, word)
    assert not (folder / "out.csv").exists()


def test_an_unknown_mechanism_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert synthesize(folder, mechanism="magic") == 2
    refused(capsys, "mechanism", "independent")


@pytest.mark.parametrize(
    "out", ["out.ods", "out", "absent/out.csv", "people.csv", "domain.json/x.csv"]
)
def test_an_unusable_output_is_refused_before_anything_is_read(
    folder: Path, capsys: pytest.CaptureFixture[str], out: str
) -> None:
    before = (folder / "people.csv").read_bytes()
    assert synthesize(folder, out=out) == 2
    refused(capsys)
    assert (folder / "people.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("synthesize", "absent.csv", "--domain", "domain.json"), ("cannot be opened",)),
        (
            ("synthesize", "people.csv", "--domain", "absent.json"),
            ("domain file cannot be read",),
        ),
        (
            ("synthesize", "domain.json", "--domain", "domain.json"),
            ("JSON objects", "which keys are its columns"),
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    words: tuple[str, ...],
) -> None:
    monkeypatch.chdir(folder)
    rest = ("--mechanism", "independent", "--epsilon", "1", "--out", "out.csv")
    assert run(*arguments, *rest) == 2
    refused(capsys, *words)


def test_a_ragged_line_is_named_without_its_cells(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (folder / "people.csv").open("a") as file:
        file.write("SECRET,1,2\n")
    assert synthesize(folder) == 2
    assert "SECRET" not in refused(
        capsys, "line 402", "more or fewer cells than the 6 of the header"
    )


def test_a_column_of_the_domain_that_the_table_lacks_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "domain.json").write_text('{"job": 3, "shoe size": 9}')
    assert synthesize(folder) == 2
    refused(capsys, "'shoe size'", "no such column")


def test_a_changed_receipt_does_not_verify(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert synthesize(folder, "--receipt", folder / "r.json") == 0
    receipt = load(folder / "r.json")
    receipt["guarantee"]["epsilon"] = "1/10"
    (folder / "r.json").write_text(json.dumps(receipt))
    assert run("verify", folder / "r.json") == 1
    refused(capsys)


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{", b"\xff", b'{"schema": "synthweb/receipt/4"}']
)
def test_what_is_no_receipt_does_not_verify(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    (tmp_path / "r.json").write_bytes(content)
    assert run("verify", tmp_path / "r.json") != 0
    refused(capsys)


@pytest.mark.parametrize("content", [b"{}", b'{"schema": "synth_engine/model/1"}', b"nonsense"])
def test_what_is_no_model_gives_no_sample(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    (tmp_path / "m.json").write_bytes(content)
    assert (
        run(
            "sample",
            tmp_path / "m.json",
            "--rows",
            5,
            "--seed",
            1,
            "--out",
            tmp_path / "out.csv",
        )
        == 2
    )
    refused(capsys, "model")


def test_an_output_appears_whole_or_not_at_all(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "no space")

    (folder / "out.csv").write_text("before")
    monkeypatch.setattr(codec, "as_text", fail)
    assert synthesize(folder) == 2
    assert (folder / "out.csv").read_text() == "before"
    assert sorted(path.name for path in folder.iterdir()) == [
        "domain.json",
        "out.csv",
        "people.csv",
    ]


def test_a_wrong_call_is_answered_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ((), ("magic",), ("synthesize",), ("sample", "x"), ("verify",)):
        assert run(*arguments) == 2
        refused(capsys)


def test_the_module_runs_as_a_program(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "synth_engine", "verify", str(tmp_path / "absent.json")]
    outcome = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert outcome.returncode == 2
    assert outcome.stderr == "error: the receipt cannot be read; check its path and rights\n"


@pytest.mark.slow
def test_a_receipt_is_verified_without_loading_numpy_pandas_or_the_room() -> None:
    code = (
        "import sys; from synth_engine.cli import main; main(['verify', 'absent.json']);"
        "print([m for m in ('numpy', 'pandas', 'pyarrow', 'opendp', 'synth_engine.pipeline') if m in "
        "sys.modules])"
    )
    outcome = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert outcome.stdout == "[]\n"


@pytest.mark.parametrize(
    "forged", ['"guarantee": {"sentence": "epsilon = 0.001"}, ', '"versions": {"x": NaN}, ']
)
def test_a_receipt_that_says_something_twice_or_is_no_json_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], forged: str
) -> None:
    """The last of two wins in most readers of JSON; people read the first."""
    receipt = folder / "receipt.json"
    assert synthesize(folder, "--receipt", receipt) == 0
    assert run("verify", receipt) == 0
    receipt.write_text(receipt.read_text().replace("{", "{" + forged, 1))
    capsys.readouterr()
    assert run("verify", receipt) == 2
    refused(capsys, "not JSON")
