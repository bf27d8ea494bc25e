"""Extreme and wrong texts, for every method that grows trees of them, from the command line: refused in one
line that names column, rule and repair, with nothing written, or handled, with a receipt that verifies and no
cell that the alphabet lacks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from synth_engine import cli, mechanisms, verifier
from synth_engine.domain import Domain, Weak
from synth_engine.values import from_json

SIGNS = {"set": "strings", "alphabet": "abcdefghij", "min_length": 1, "max_length": 6}
COLUMN = Weak(name="word", values=from_json(SIGNS))
EVERY = [
    name
    for name, each in mechanisms.REGISTRY.items()
    if each.learns(COLUMN) and each.suits(Domain(attributes=(COLUMN,)))
]
TREES = ["adaptive", "adaptive-basic", "adaptive-improved", "direct-synthesis", "privtree"]
COMMON = ["a"] * 300 + ["abba"] * 200 + ["cafe"] * 100
ODD = ["héron", "ABBA", "zebra7", "a b", "\u202ea", "a_b", "1", "\uff41", "a" * 40_000, ""]


def asked(
    folder: Path,
    mechanism: str,
    cells: Sequence[str],
    *,
    epsilon: str = "1",
    beside: bool = False,
    **column: Any,
) -> tuple[int, pd.DataFrame]:
    """The code of the command, and what it drew."""
    table, attributes = (
        {"word": cells},
        [{"name": "word", "kind": "weak", "values": SIGNS} | column],
    )
    if beside:
        table["band"] = ["young", "old"] * (len(cells) // 2)
        attributes.append(
            {
                "name": "band",
                "kind": "categorical",
                "values": ["young", "old"],
                "outside": "clamp",
            }
        )
    pd.DataFrame(table).to_csv(folder / "data.csv", index=False)
    (folder / "domain.json").write_text(json.dumps({"attributes": attributes}))
    places = {"domain": "domain.json", "out": "out.csv", "receipt": "receipt.json"}
    paths = [
        part for name, file in places.items() for part in (f"--{name}", str(folder / file))
    ]
    given = [
        "synthesize",
        str(folder / "data.csv"),
        *paths,
        "--mechanism",
        mechanism,
        "--epsilon",
        epsilon,
    ]
    code, out = cli.main(given), folder / "out.csv"
    if code:
        assert not out.exists() and not (folder / "receipt.json").exists()
        return code, pd.DataFrame()
    verifier.verify(json.loads((folder / "receipt.json").read_text()))
    return code, pd.read_csv(out, keep_default_na=False)


def test_these_are_all_methods_of_texts() -> None:
    assert (
        sorted({*EVERY} - {"weak-domain"}) == TREES
    )  # that one looks for whole texts, and grows no tree


@pytest.mark.parametrize("name", TREES)
def test_texts_with_other_signs_are_dropped_and_neither_drawn_nor_told(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, drawn = asked(tmp_path, name, COMMON * 5 + ODD * 100, epsilon="8")
    assert code == 0 and abs(len(drawn) - 3_000) < 300
    assert (
        set("".join(drawn["word"])) <= set("abcdefghij") and (drawn["word"].str.len() > 0).all()
    )
    told = capsys.readouterr()
    assert not any(odd in told.out + told.err for odd in ODD if len(odd) > 1)
    assert "cell" not in told.err  # of texts notes tell in words of their own


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize(
    ("cells", "epsilon", "column"),
    [
        (["abba"] * 3_000, "4", {}),
        (COMMON, "0.0001", {}),
        ([""] * 300, "1", {"missing": [""], "outside": "missing"}),
        (COMMON + [""] * 300, "1", {"values": SIGNS | {"min_length": 0}}),
        (["a"] * 300 + ["aaa"] * 600, "4", {"values": SIGNS | {"alphabet": "a"}}),
    ],
    ids=["one text", "tiny epsilon", "all missing", "empty texts", "one sign"],
)
def test_what_is_extreme_gives_a_release(
    name: str, cells: list[str], epsilon: str, column: Mapping[str, Any], tmp_path: Path
) -> None:
    code, drawn = asked(tmp_path, name, cells, epsilon=epsilon, **column)
    assert code == 0 and list(drawn.columns) == ["word"]
    if len(set(cells)) == 1 and cells[0]:
        assert (drawn["word"] == cells[0]).mean() > 0.85 and abs(len(drawn) - len(cells)) < 600


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize(
    ("column", "says"),
    [
        ({"values": SIGNS | {"alphabet": "aab"}}, "one twice"),
        ({"values": SIGNS | {"alphabet": ""}}, "without characters"),
        ({"values": SIGNS | {"alphabet": "Ab", "case": "lower"}}, "takes away"),
        ({"values": SIGNS | {"max_length": 1_001}}, "lengths"),
        ({"values": SIGNS | {"max_length": 0, "min_length": 0}}, "lengths"),
        (
            {
                "values": SIGNS
                | {"alphabet": "".join(map(chr, range(0x4E00, 0x4F00))), "max_length": 3}
            },
            "255 signs",
        ),
    ],
)
def test_alphabets_and_lengths_that_cannot_be_are_refused_by_column(
    name: str,
    column: Mapping[str, Any],
    says: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, _ = asked(tmp_path, name, COMMON, **column)
    (line,) = capsys.readouterr().err.splitlines()
    assert (
        code == 2 and line.startswith("error: column 'word': ") and says in line and ";" in line
    )


@pytest.mark.parametrize(
    ("cells", "column"),
    [
        (COMMON + ODD * 20, {}),
        (["abba"] * 2_000, {}),
        ([""] * 400, {"missing": [""], "outside": "missing"}),
    ],
    ids=["other signs", "one text", "all missing"],
)
def test_columns_beside_such_texts_are_drawn_all_the_same(
    cells: list[str], column: Mapping[str, Any], tmp_path: Path
) -> None:
    code, drawn = asked(tmp_path, "adaptive", cells, epsilon="4", beside=True, **column)
    assert (
        code == 0
        and list(drawn.columns) == ["word", "band"]
        and set(drawn["band"]) <= {"young", "old"}
    )
    if cells[0] == "abba":
        assert (drawn["word"] == "abba").mean() > 0.9 and abs(
            (drawn["band"] == "old").mean() - 0.5
        ) < 0.05


@pytest.mark.parametrize("name", TREES)
def test_a_table_without_records_is_one(name: str, tmp_path: Path) -> None:
    code, drawn = asked(tmp_path, name, [])
    assert code == 0 and list(drawn.columns) == ["word"]
