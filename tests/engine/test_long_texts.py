"""Texts of up to 38 signs of an alphabet of 20: a public set of 2.9 · 10⁴⁹ texts, beyond all machine words
and exact floats."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synth_engine import cli, mechanisms
from synth_engine.domain import Domain, Weak
from synth_engine.errors import DomainError
from synth_engine.hierarchy import MAX_CELLS
from synth_engine.spec import Spec
from synth_engine.values import MAX_SIZE, Strings
from synth_engine.verifier import limits, standalone

ALPHABET = "ABCDEFGHIJKLMNOPQRST"
LONGEST = 38
SET = Strings(ALPHABET, 1, LONGEST)
ROWS = 4_000
PATHS = 12


def paths(rows: int = ROWS) -> list[str]:
    """Twelve different paths of 38 signs, the first one the most frequent, of which some records have a
    beginning alone."""
    rng = np.random.default_rng(38)
    signs = np.array(list(ALPHABET))
    whole = [ALPHABET[at] + "".join(rng.choice(signs, LONGEST - 1)) for at in range(PATHS)]
    chosen = (PATHS * rng.random(rows) ** 2).astype(int)
    ends = np.where(rng.random(rows) < 0.3, 10, LONGEST)
    return [whole[at][:end] for at, end in zip(chosen.tolist(), ends.tolist(), strict=True)]


def test_ranks_beyond_every_machine_word_are_exact() -> None:
    assert SET.size == sum(20**length for length in range(1, LONGEST + 1)) > 2**164
    last = SET.size - 1
    for rank in (0, 2**53 + 1, 2**64, 20**37 + 1, last - 1, last):
        assert SET.rank(SET.unrank(rank)) == rank
    assert SET.unrank(last) == "T" * LONGEST and SET.rank("T" * (LONGEST + 1)) is None
    assert SET.ranks(["A" * LONGEST, "T" * 37]) == [SET.size - 20**38, SET.size - 20**38 - 1]


def test_the_largest_set_fits_and_one_text_more_does_not() -> None:
    assert Strings("01", 256, 256).size == MAX_SIZE
    with pytest.raises(DomainError, match="more than 2\\^256 values"):
        Strings("01", 255, 256)


def test_a_tree_whose_receipt_no_verifier_would_read_is_refused_while_it_is_planned() -> None:
    """Texts of one sign only are few and long: their tree branches more often than there are texts."""
    assert MAX_CELLS == limits.MAX_INTEGER
    for longest, refused in ((512, False), (513, True)):
        column = Weak(name="tally", values=Strings("|", 0, longest))
        spec = Spec(mechanism="adaptive", epsilon=Fraction(1))
        if refused:
            with pytest.raises(DomainError, match="more than 2\\^512 possible cells"):
                mechanisms.plan(Domain(attributes=(column,)), spec)
        else:
            assert mechanisms.plan(Domain(attributes=(column,)), spec).loss.epsilon == 1


@pytest.mark.parametrize(
    "mechanism",
    [
        "adaptive",
        "adaptive-improved",
        "adaptive-basic",
        "direct-synthesis",
        "privtree",
        "weak-domain",
    ],
)
def test_a_table_of_such_texts_is_released_and_both_verifiers_accept_it(
    mechanism: str, tmp_path: Path
) -> None:
    table = pd.DataFrame({"path": paths()})
    table.to_csv(tmp_path / "t.csv", index=False)
    described = {"attributes": [{"name": "path", "kind": "weak", "values": SET.to_json()}]}
    (tmp_path / "d.json").write_text(json.dumps(described))
    out, receipt = tmp_path / "out.csv", tmp_path / "receipt.json"
    given = ["synthesize", str(tmp_path / "t.csv"), "--domain", str(tmp_path / "d.json")]
    given += ["--mechanism", mechanism, "--epsilon", "4", "--rows", "2000"]
    assert cli.main([*given, "--out", str(out), "--receipt", str(receipt)]) == 0
    drawn = pd.read_csv(out)["path"].tolist()
    inside = [text for text in drawn if text in SET]
    # A release of frequent values has "(other)" for the rest.
    assert len(inside) >= 1_800
    first, truth = Counter(text[0] for text in inside), Counter(text[0] for text in paths())
    shares = [abs(first[sign] / len(inside) - truth[sign] / ROWS) for sign in ALPHABET]
    assert sum(shares) / 2 < 0.2
    cells = [call["query"]["cells"] for call in json.loads(receipt.read_text())["calls"]]
    # Direct synthesis states the counts of each step, and has as many steps as records bear.
    assert mechanism == "direct-synthesis" or max(cells) > 2**40
    assert cli.main(["verify", str(receipt)]) == 0
    assert cli.main(["verifier", "--out", str(tmp_path / standalone.NAME)]) == 0
    alone = [sys.executable, "-I", "-S", standalone.NAME, "receipt.json"]
    assert subprocess.run(alone, cwd=tmp_path, check=False, timeout=300).returncode == 0
