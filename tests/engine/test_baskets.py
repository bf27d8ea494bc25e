"""Lists of baskets: the file, its description, the choice of items, whole runs on the command line, and bad
input."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from synth_engine import cli, codec, mechanisms, pipeline, readers, tables
from synth_engine.domain import Basket, Domain, Integer, WeakBasket
from synth_engine.errors import DomainError, InputError, TableError
from synth_engine.plans import domain_learning
from synth_engine.readers import Limits
from synth_engine.room import counts
from synth_engine.sources.opening import open_table
from synth_engine.spec import Spec
from synth_engine.values import Integers, Listed

SHOP = ("beer", "bread", "butter", "jam", "milk", "soap", "tea", "yeast")
KNOWN = Basket(name="items", items=SHOP[:4])
OPEN = WeakBasket(name="items", values=Listed(list(SHOP)), keep=4)


def written(folder: Path, text: str | bytes, name: str = "baskets.dat") -> Path:
    path = folder / name
    data = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def lines_of(path: Path, **limits: int) -> list[str]:
    found = readers.blocks(
        path, kind=None, options=readers.ReadOptions(limits=Limits(**limits))
    )  # type: ignore[arg-type]
    return [line for block in found for line in block["items"].to_pylist()]


def shopping(rows: int = 4_000) -> str:
    """Bread and butter go together, soap and yeast are rare."""
    rng, lines = np.random.default_rng(5), []
    for _ in range(rows):
        bread = rng.random() < 0.5
        basket = {"bread"} if bread else set()
        basket |= {"butter"} if rng.random() < (0.8 if bread else 0.1) else set()
        basket |= {
            item
            for item, share in (("beer", 0.3), ("milk", 0.4), ("soap", 0.01))
            if rng.random() < share
        }
        lines.append(" ".join(sorted(basket)))
    return "\n".join(lines) + "\n"


# ---- the file
# ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.dat", "a.dat.gz", "a.baskets", "A.DAT", "a.baskets.gz"])
def test_a_line_is_a_basket_whatever_the_line_end(name: str, tmp_path: Path) -> None:
    for end in ("\n", "\r\n"):
        text = end.join(["bread milk", "", "  beer\t bread ", "x"])
        for last in ("", end):
            path = written(tmp_path, "\ufeff" + text + last, name)
            assert lines_of(path) == ["bread milk", "", "  beer\t bread ", "x"]
            assert readers.columns(path) == ("items",)


def test_a_blank_line_alone_is_one_empty_basket(tmp_path: Path) -> None:
    assert lines_of(written(tmp_path, "\n")) == [""]


def test_lines_across_pieces_and_blocks_stay_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers.baskets, "_PIECE", 7)
    lines = [str(number) * (number % 23) for number in range(200)]
    for end in ("\n", "\r\n"):
        assert lines_of(written(tmp_path, end.join(lines) + end), block_rows=13) == lines


@pytest.mark.parametrize(
    ("content", "name", "rule", "line"),
    [
        (b"a b\n\xff\xfe b\n", "x.dat", "not UTF-8", 2),
        (b"a b\nc\nd \x00 e\n", "x.dat", "NUL", 3),
        (b"a\n" + b"b " * 60 + b"\n", "x.dat", "too long", 2),
        (b"a\n" + b"b" * 700, "x.dat", "too long", 2),
        (b"", "x.dat", "without rows", None),
        (b"a b\n", "x.dat.gz", "gzip", None),
        (b"%PDF-1.7", "x.dat", "PDF", None),
        (b"a\nb\nc\nd\ne\nf\ng\n" * 20, "x.dat", "more rows", None),
    ],
)
def test_a_file_that_is_no_list_of_baskets_is_refused_with_its_line(
    content: bytes,
    name: str,
    rule: str,
    line: int | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(readers.baskets, "_PIECE", 64)
    path = tmp_path / name
    path.write_bytes(content)
    kind = "baskets.gz" if name.endswith(".gz") else None
    with pytest.raises(TableError, match=rule) as error:
        list(
            readers.blocks(
                path,
                kind=kind,
                options=readers.ReadOptions(limits=Limits(line_characters=100, rows=100)),
            )
        )  # type: ignore[arg-type]
    assert error.value.line == line


def test_a_damaged_packed_list_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, shopping(), "x.dat.gz")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(TableError, match="damaged"):
        lines_of(path)


def test_other_tables_are_told_apart_by_their_content(tmp_path: Path) -> None:
    path = tmp_path / "really.dat"
    pd.DataFrame({"x": [1, 2]}).to_parquet(path)
    assert readers.columns(path) == ("x",)


# ---- cells
# -------------------------------------------------------------------------------------------------------


def codes_of(attribute: Basket, *cells: str | None) -> list[list[int]]:
    codes = codec.encode(
        Domain(attributes=(attribute,)), {attribute.name: pa.array(cells, type=pa.string())}
    )
    return [
        list(row) for row in zip(*(column.tolist() for column in codes.values()), strict=True)
    ]


def test_items_are_there_once_and_unknown_ones_are_left_out() -> None:
    assert codes_of(KNOWN, "jam beer jam", "", None, "caviar bread", "  butter  ", "BEER") == [
        [1, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0],
    ]  # fmt: skip


@pytest.mark.parametrize("separator", [",", ";", "|", "\t"])
def test_with_another_separator_items_may_have_blanks(separator: str) -> None:
    attribute = Basket(name="bought", items=("oat milk", "tea"), separator=separator)
    cells = [f"oat milk{separator}tea", f" tea {separator}{separator} ", "oat milk tea"]
    assert codes_of(attribute, *cells) == [[1, 1], [0, 1], [0, 0]]


def test_drawn_cells_encode_to_the_codes_they_came_from() -> None:
    rng = np.random.default_rng(5)
    codes = {part.name: rng.integers(0, 2, 200).astype(np.uint16) for part in KNOWN.parts}
    for wide in (False, True):
        domain = Domain(
            attributes=(
                Basket(name="items", items=KNOWN.items, wide=wide),
                Integer(name="n", low=0, high=1),
            )
        )
        frame = codec.as_text(
            domain, codec.decode(domain, codes | {"n": codes["items=beer"]}, rng)
        )
        assert list(frame) == (
            [*(f"items={item}" for item in KNOWN.items), "n"] if wide else ["items", "n"]
        )
        if wide:
            assert {name: frame[name].astype(int).tolist() for name in codes} == {
                n: c.tolist() for n, c in codes.items()
            }
        else:
            again = codec.encode(domain, {name: pa.array(frame[name]) for name in frame})
            assert {name: again[name].tolist() for name in codes} == {
                n: c.tolist() for n, c in codes.items()
            }


def test_rows_under_learned_items_are_those_of_declared_ones(tmp_path: Path) -> None:
    """Counting after a choice is counting a table whose description lists these items."""
    path = written(tmp_path, shopping(300) + "\n".join(["bread bread caviar", "", "soap"]))
    declared = Domain(attributes=(OPEN,))
    chosen = declared.resolve({"items": OPEN.from_ranks([4, 1, 0, 2])})
    learned, known = open_table(path, declared).resolve(chosen), open_table(path, chosen)
    assert chosen.names == ("items=beer", "items=bread", "items=butter", "items=milk")
    for clique in ((chosen.names[0],), chosen.names):
        assert (
            counts.contingency(learned, clique).tolist()
            == counts.contingency(known, clique).tolist()
        )
    assert counts.contingency(known, ("items=bread",)).sum() == 303


def test_persons_keep_as_many_baskets_as_a_unit_may_have(tmp_path: Path) -> None:
    path = tmp_path / "bought.csv"
    path.write_text("who,items\n" + "".join(f"p{n % 5},beer bread\n" for n in range(40)))
    unit = {"max_records": 2, "column": "who"}
    domain = Domain.from_json({"unit": unit, "attributes": [OPEN.to_json()]})
    votes = counts.items(open_table(path, domain), "items", squared=False)
    assert votes.tolist() == [50_000, 50_000, 0, 0, 0, 0, 0, 0]


def test_ten_million_items_are_counted_item_by_item(tmp_path: Path) -> None:
    line = " ".join(map(str, range(5_000)))
    path = written(tmp_path, f"{line}\n" * 2_000, "large.dat.gz")
    domain = Domain(
        attributes=(WeakBasket(name="items", values=Integers(0, 999_999), keep=10),)
    )
    votes = counts.items(open_table(path, domain), "items", squared=False)
    assert votes[:5_000].tolist() == [2 * 2_000] * 5_000
    assert not votes[5_000:].any()


# ---- the description
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "attribute", [KNOWN, OPEN, Basket(name="b", items=("oat milk",), separator=",", wide=True)]
)
def test_descriptions_are_read_as_they_were_written(attribute: Basket | WeakBasket) -> None:
    domain = Domain(attributes=(attribute,))
    assert Domain.from_json(json.loads(json.dumps(domain.to_json()))) == domain


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"items": []}, "empty list"),
        ({"items": ["a", "a"]}, "twice"),
        ({"items": ["a", 1]}, "not text"),
        ({"items": ["oat milk"]}, "separator in it"),
        ({"items": ["a,b"], "separator": ","}, "separator in it"),
        ({"items": [""]}, "empty"),
        ({"items": [" a"], "separator": ","}, "empty"),
        ({"items": ["a\x07"]}, "control"),
        ({"items": ["x" * 196]}, "longer than 200"),
        ({"items": [str(n) for n in range(2_001)]}, "more than 2,000 items"),
        ({"items": ["a"], "separator": "/"}, "unknown separator"),
        ({"items": ["a"], "wide": "yes"}, "true or false"),
        ({"items": ["a"], "missing": ["?"]}, "unknown field"),
        ({}, "items is not given"),
    ],
)
def test_an_unsound_basket_is_refused_by_its_rule(fields: dict[str, Any], rule: str) -> None:
    with pytest.raises(DomainError, match=rule) as error:
        Domain.from_json({"attributes": [{"name": "items", "kind": "basket", **fields}]})
    assert error.value.column == "items"


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        (
            {"values": {"set": "integers", "low": 0, "high": 9_999_999}},
            "more than 1,000,000 items",
        ),
        ({"values": {"set": "known", "name": "country-names"}}, "separator in it"),
        (
            {
                "keep": 1,
                "values": {
                    "set": "strings",
                    "alphabet": "ab ",
                    "min_length": 1,
                    "max_length": 3,
                },
            },
            "separator in",
        ),
        ({"values": {"set": "integers", "low": 0, "high": 9}, "keep": 0}, "from 1 to 10"),
        ({"values": {"set": "integers", "low": 0, "high": 9}, "keep": 11}, "from 1 to 10"),
        (
            {"values": {"set": "integers", "low": 0, "high": 9_999}, "keep": 2_001},
            "from 1 to 2,000",
        ),
        (
            {"values": {"set": "integers", "low": 0, "high": 9_999}, "keep": "all"},
            "whole number",
        ),
        ({"keep": 10}, "values is not given"),
    ],
)
def test_an_unsound_set_of_items_is_refused_by_its_rule(
    fields: dict[str, Any], rule: str
) -> None:
    with pytest.raises(DomainError, match=rule) as error:
        Domain.from_json({"attributes": [{"name": "items", "kind": "weak-basket", **fields}]})
    assert error.value.column == "items"


def test_a_column_called_like_an_item_is_refused() -> None:
    with pytest.raises(DomainError, match="an item, or markers, and a column"):
        Domain(attributes=(KNOWN, Integer(name="items=beer", low=0, high=1)))


@pytest.mark.parametrize(
    "other",
    [
        Basket(name="items", items=SHOP[:5]),
        Basket(name="items", items=("beer", "caviar")),
        Basket(name="items", items=("bread", "beer")),
        Basket(name="items", items=SHOP[:4]),
        Integer(name="items", low=0, high=1),
    ],
    ids=[
        "too many",
        "not in the set",
        "in another order",
        "declared and not learned",
        "no basket",
    ],
)
def test_rows_are_counted_under_nothing_but_what_was_learned(other: Basket | Integer) -> None:
    facts = {"kind": "declared", "items": "learned"}
    if isinstance(other, Basket) and other.items != SHOP[:4]:
        other = Basket(name="items", items=other.items, provenance=facts)
    with pytest.raises(DomainError, match="does not fit"):
        Domain(attributes=(OPEN,)).resolve({"items": other})


def test_a_constraint_about_a_basket_is_refused() -> None:
    for attribute in (KNOWN, OPEN):
        rule = {"kind": "impossible", "columns": {"items": ["beer"], "n": ["0"]}}
        n = {"name": "n", "kind": "integer", "low": 0, "high": 1}
        with pytest.raises(DomainError):
            Domain.from_json({"attributes": [attribute.to_json(), n], "constraints": [rule]})


# ---- whole runs
# --------------------------------------------------------------------------------------------------


def run(*arguments: str) -> int:
    return cli.main(list(arguments))


def synthesized(
    folder: Path,
    *,
    mechanism: str,
    attribute: dict[str, object],
    out: str,
    more: tuple[str, ...] = (),
) -> Path:
    table = written(folder, shopping(), "real.dat.gz")
    (folder / "domain.json").write_text(json.dumps({"attributes": [attribute]}))
    files = [f"--{name}={folder / name}.json" for name in ("domain", "receipt", "model")]
    code = run(
        "synthesize",
        str(table),
        *files,
        f"--mechanism={mechanism}",
        "--epsilon=20",
        *more,
        f"--out={folder / out}",
    )
    assert code == 0
    return folder / out


@pytest.mark.parametrize(
    "mechanism", ["dpsyn", "independent", "mst", "auto", "random", "weak-domain"]
)
def test_a_run_chooses_items_and_writes_baskets(mechanism: str, tmp_path: Path) -> None:
    delta = ("--delta=1e-9",) if mechanism == "auto" else ()
    out = synthesized(
        tmp_path, mechanism=mechanism, attribute=OPEN.to_json(), out="out.dat", more=delta
    )
    assert run("verify", str(tmp_path / "receipt.json")) == 0
    receipt = json.loads((tmp_path / "receipt.json").read_text())
    assert receipt["calls"][0]["query"] == {"verb": "items", "clique": ["items"], "cells": 8}
    assert receipt["mechanism"]["kind"] == "adaptive"
    model = json.loads((tmp_path / "model.json").read_text())
    assert model["domain"]["attributes"][0]["items"] == ["beer", "bread", "butter", "milk"]
    baskets = [set(line.split()) for line in lines_of(out)]
    assert abs(len(baskets) - 4_000) < 100
    assert set().union(*baskets) <= set(SHOP)
    if mechanism == "random":
        return
    shares = Counter(item for basket in baskets for item in basket)
    assert shares["beer"] / len(baskets) == pytest.approx(0.3, abs=0.05)
    if mechanism not in ("independent", "weak-domain"):
        both = sum({"bread", "butter"} <= basket for basket in baskets) / len(baskets)
        assert both == pytest.approx(0.4, abs=0.05), "what is bought together stays together"


def test_declared_items_cost_nothing_to_choose(tmp_path: Path) -> None:
    attribute = Basket(name="items", items=("bread", "butter"))
    synthesized(tmp_path, mechanism="dpsyn", attribute=attribute.to_json(), out="out.dat.gz")
    receipt = json.loads((tmp_path / "receipt.json").read_text())
    assert {call["query"]["verb"] for call in receipt["calls"]} == {"measure"}
    assert receipt["mechanism"]["kind"] == "static"
    assert set(lines_of(tmp_path / "out.dat.gz")) == {"", "bread", "butter", "bread butter"}


@pytest.mark.parametrize("out", ["out.csv", "out.parquet"])
@pytest.mark.parametrize("wide", [False, True])
def test_tables_have_baskets_in_cells_or_a_column_for_each_item(
    out: str, wide: bool, tmp_path: Path
) -> None:
    attribute = KNOWN.to_json() | {"wide": wide}
    path = synthesized(tmp_path, mechanism="independent", attribute=attribute, out=out)
    found = pd.read_csv(path, dtype=str) if out.endswith("csv") else pd.read_parquet(path)
    if wide:
        assert list(found) == [f"items={item}" for item in KNOWN.items]
        assert set(found.to_numpy().ravel()) == {"0", "1"}
    else:
        assert list(found) == ["items"]
        # Noise may leave an item out, so what is drawn is a part of the public list.
        drawn = set(found["items"].fillna("").str.split().explode().dropna())
        assert drawn <= {"beer", "bread", "butter"}


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    synthesized(tmp_path, mechanism="mst", attribute=OPEN.to_json(), out="out.dat.gz")
    model = str(tmp_path / "model.json")
    for name in ("one", "two"):
        assert (
            run("sample", model, "--rows=500", "--seed=7", f"--out={tmp_path / name}.dat.gz")
            == 0
        )
    assert (tmp_path / "one.dat.gz").read_bytes() == (tmp_path / "two.dat.gz").read_bytes()
    assert run("describe", model, f"--out={tmp_path / 'd.json'}") == 0
    assert (
        run(
            "sample",
            str(tmp_path / "d.json"),
            "--rows=500",
            "--seed=7",
            f"--out={tmp_path / 'three.dat.gz'}",
        )
        == 0
    )
    assert (tmp_path / "one.dat.gz").read_bytes() == (tmp_path / "three.dat.gz").read_bytes()


def test_synthetic_baskets_are_compared_with_real_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = synthesized(tmp_path, mechanism="dpsyn", attribute=OPEN.to_json(), out="out.dat")
    real, report = str(tmp_path / "real.dat.gz"), tmp_path / "report.json"
    assert (
        run(
            "compare", real, str(out), f"--domain={tmp_path / 'domain.json'}", f"--out={report}"
        )
        == 2
    )
    assert "items to be compared are not known" in capsys.readouterr().err
    settled = tmp_path / "settled.json"
    settled.write_text(json.dumps(json.loads((tmp_path / "model.json").read_text())["domain"]))
    assert run("compare", real, str(out), f"--domain={settled}", f"--out={report}") == 0
    assert json.loads(report.read_text())["summary"]["tvd2"]["value"] < 0.05


def test_the_report_of_a_release_reads_the_list_again_under_its_items(tmp_path: Path) -> None:
    path = written(tmp_path, shopping(500))
    for wide in (False, True):
        attribute = WeakBasket(name="items", values=OPEN.values, keep=3, wide=wide)
        spec = Spec(mechanism="independent", epsilon=Fraction(10))
        release = pipeline.synthesize(path, domain=Domain(attributes=(attribute,)), spec=spec)
        report = pipeline.report(path, model=release.model, rows=100, seed="seed")
        assert report["rows"] == {"real": 500, "synthetic": 100}
        assert len(report["attributes"]) == 3


def test_a_draft_says_that_each_line_is_a_basket_and_takes_nothing_from_the_list(
    tmp_path: Path,
) -> None:
    drafts = []
    for name, text in (("a.dat", "1 2\n3\n"), ("b.dat", "x y\n" * 9)):
        assert (
            run(
                "domain",
                str(written(tmp_path, text, name)),
                f"--out={tmp_path / 'draft.json'}",
                "--overwrite",
            )
            == 0
        )
        drafts.append(json.loads((tmp_path / "draft.json").read_text()))
    assert drafts[0] == drafts[1]
    with pytest.raises(DomainError, match="only suggested"):
        Domain.from_json(drafts[0]).require_confirmed()


def test_baskets_are_written_where_baskets_are_drawn_and_nowhere_else(tmp_path: Path) -> None:
    for attributes in (
        (Integer(name="n", low=0, high=1),),
        (KNOWN, Integer(name="n", low=0, high=1)),
    ):
        with pytest.raises(InputError, match="no list of baskets"):
            tables.require_format(tmp_path / "out.dat", domain=Domain(attributes=attributes))
    with pytest.raises(InputError, match="no list of baskets"):
        tables.require_format(
            tmp_path / "out.dat",
            domain=Domain(attributes=(Basket(name="b", items=("a",), wide=True),)),
        )


def test_a_table_without_a_column_of_baskets_is_refused_before_it_is_read(
    tmp_path: Path,
) -> None:
    path = tmp_path / "other.csv"
    path.write_text("x\n1\n")
    with pytest.raises(TableError, match="no such column") as error:
        pipeline.require_columns(path, domain=Domain(attributes=(OPEN,)))
    assert error.value.column == "items"


def test_baskets_stand_beside_other_columns(tmp_path: Path) -> None:
    path = tmp_path / "bought.csv"
    path.write_text(
        "day,bought\n"
        + "".join(f"{n % 2},{'tea' if n % 2 else 'oat milk;tea'}\n" for n in range(2_000))
    )
    bought = WeakBasket(
        name="bought", values=Listed(["oat milk", "soap", "tea"]), keep=2, separator=";"
    )
    domain = Domain(attributes=(Integer(name="day", low=0, high=1), bought))
    release = pipeline.synthesize(
        path, domain=domain, spec=Spec(mechanism="mst", epsilon=Fraction(20))
    )
    drawn = mechanisms.draw_table(release.model, 1_000, "seed")
    assert list(drawn) == ["day", "bought"]
    fits = (drawn["day"] == 1) == (drawn["bought"] == "tea")
    assert fits.mean() > 0.95


def test_what_is_foreseen_has_as_many_items_as_are_kept() -> None:
    guess = domain_learning.expected_domain(Domain(attributes=(OPEN,)))
    assert set(guess.sizes.values()) == {2}
    assert len(guess.sizes) == 4
    plan = mechanisms.plan(
        Domain(attributes=(OPEN,)), Spec(mechanism="dpsyn", epsilon=Fraction(1))
    )
    assert plan.needs(10_000).seconds > 0
    assert plan.expected_error(rows=10_000).learning.columns["items"].cells == 8
