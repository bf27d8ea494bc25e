"""Identifiers made anew: unique, replayable, of the declared form, and of nothing else."""

from __future__ import annotations

import datetime
import hashlib
import re
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth_engine import codec, domain, mechanisms, tables
from synth_engine.codec.identifiers import ROUNDS, permutation
from synth_engine.domain import (
    Boolean,
    Categorical,
    Date,
    Domain,
    Identifier,
    Integer,
    Number,
    parse_attribute,
)
from synth_engine.errors import DomainError
from synth_engine.models.model import WHOLE, Model, Table
from synth_engine.privacy.unit import PrivacyUnit, Relation

EXAMPLE = Path(__file__).parents[2] / "examples" / "adult.domain.json"


def key(**more: Any) -> Identifier:
    return Identifier(name="key", **more)


def model(*attributes: Any) -> Model:
    """A model of two equally frequent codes, with these attributes around it."""
    weights = np.array([WHOLE // 2, WHOLE // 2], dtype=np.int64)
    described = Domain(attributes=(*attributes, Boolean(name="member")))
    return Model(
        mechanism="random",
        domain=described,
        rows=10,
        tables=(Table(clique=("member",), weights=weights),),
    )


def keys(identifier: Identifier, rows: int, seed: str = "a seed") -> list[str]:
    return mechanisms.draw_table(model(identifier), rows, seed)["key"].tolist()


# --- the description ----------------------------------------------------------------------------------------
def test_descriptions_and_tables_from_before_are_the_same_to_the_byte() -> None:
    """Figures of the version before identifiers and moments could be described: old receipts name these
    digests."""
    every = (
        Categorical(name="job", values=("clerk", "smith"), other=True, missing=("?", "")),
        Integer(name="age", low=17, high=90, missing=("?",)),
        Integer(name="gain", low=0, high=100_000, edges=(0, 1, 1_000, 100_000)),
        Number(name="height", low=1.0, high=2.5, provenance="public-file"),
        Boolean(name="member", true="yes", false="no"),
        Date(
            name="born",
            low=datetime.date(1930, 1, 1),
            high=datetime.date(2010, 12, 31),
            step_days=365,
        ),
        Identifier(name="key"),
    )
    unit = PrivacyUnit(max_records=3, column="key")
    full = Domain(attributes=every, unit=unit, relation=Relation.REPLACE_ONE, rows=1_000)
    assert full.digest == "0a9d9e0a905bc8eb4a16685cde423edcffe3557d17156b86564b00d4781f8b7e"
    example = "c96da87624677304229de6bb564c034550e094bee5f7c9ace0de4ead8c155a7f"
    assert domain.read(EXAMPLE).digest == example
    plain = Domain(attributes=every)
    drawn = {name: np.arange(500) % size for name, size in plain.sizes.items()}
    written = codec.as_text(plain, codec.decode(plain, drawn, np.random.default_rng(7))).to_csv(
        index=False
    )
    assert hashlib.sha256(written.encode()).hexdigest() == (
        "da3cc3f4eb705affab43e10fb02c99e0067bb010cb266ad8af305762352a2fc3"
    )


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"regenerate": "again"}, "unknown way"),
        ({"regenerate": "random"}, "need a pattern"),
        ({"pattern": "P-##"}, "nothing is made"),
        ({"regenerate": "uuid", "pattern": "P-##"}, "nothing is made"),
        ({"regenerate": "random", "pattern": "P-1"}, "no place to fill"),
        ({"regenerate": "random", "pattern": r"P-\#"}, "no place to fill"),
        ({"regenerate": "random", "pattern": ""}, "no place to fill"),
        ({"regenerate": "random", "pattern": "#" * 65}, "longer than 64"),
        ({"regenerate": "random", "pattern": "#\n"}, "control signs"),
        ({"regenerate": "random", "pattern": " ##"}, "blank"),
        ({"regenerate": 3}, "not text"),
        ({"missing": [""]}, "unknown field"),
    ],
)
def test_a_contradictory_identifier_is_refused_by_name(
    given: dict[str, Any], rule: str
) -> None:
    with pytest.raises(DomainError, match=rule) as refusal:
        parse_attribute({"name": "key", "kind": "identifier"} | given)
    assert refusal.value.column == "key"
    assert refusal.value.repair


def test_too_few_identifiers_for_a_public_number_of_rows_are_refused() -> None:
    few = key(regenerate="random", pattern="P-##")
    assert few.capacity == 100
    for rows, enough in ((100, True), (101, False)):
        terms: dict[str, Any] = {"relation": Relation.REPLACE_ONE, "rows": rows}
        if enough:
            assert Domain(attributes=(few, Boolean(name="x")), **terms).rows == rows
        else:
            with pytest.raises(DomainError, match="fewer identifiers than there are rows"):
                Domain(attributes=(few, Boolean(name="x")), **terms)


# --- what is drawn ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("identifier", "form"),
    [
        (key(regenerate="sequence"), r"[1-9][0-9]*"),
        (key(regenerate="sequence", pattern="A-#####"), r"A-[0-9]{5}"),
        (key(regenerate="random", pattern="P-#####"), r"P-[0-9]{5}"),
        (key(regenerate="random", pattern=r"\#@@/****"), r"#[A-Z]{2}/[0-9A-Z]{4}"),
        (key(regenerate="random", pattern="@" * 20), r"[A-Z]{20}"),
    ],
    ids=lambda given: getattr(given, "pattern", None) or "",
)
def test_identifiers_have_their_form_and_no_two_rows_share_one(
    identifier: Identifier, form: str
) -> None:
    found = keys(identifier, 70_000)  # more than one block
    assert len(set(found)) == len(found)
    assert all(re.fullmatch(form, text) for text in found)


def test_a_sequence_counts_from_one() -> None:
    assert keys(key(regenerate="sequence"), 3) == ["1", "2", "3"]
    assert keys(key(regenerate="sequence", pattern="P-###"), 2) == ["P-001", "P-002"]


def test_uuids_are_version_four_and_unique() -> None:
    found = keys(key(regenerate="uuid"), 5_000)
    assert len(set(found)) == 5_000
    assert all(str(uuid.UUID(text)) == text and uuid.UUID(text).version == 4 for text in found)
    for place in (0, 20, 35):  # drawn places hold every digit
        assert {text[place] for text in found} == set("0123456789abcdef")


def test_past_the_last_one_a_number_is_added_and_they_stay_unique() -> None:
    found = keys(key(regenerate="random", pattern="##"), 250)
    assert len(set(found)) == 250
    assert sorted(found[:100]) == [f"{number:02}" for number in range(100)]
    assert found[100:200] == [f"{text}-2" for text in found[:100]]
    assert all(text.endswith("-3") for text in found[200:])


def test_the_same_seed_gives_the_same_ones_and_another_seed_or_column_others() -> None:
    made = key(regenerate="random", pattern="######")
    assert keys(made, 500) == keys(made, 500)
    assert keys(made, 500)[:200] == keys(made, 200)
    assert len(set(keys(made, 500)) & set(keys(made, 500, "another"))) < 20
    two = mechanisms.draw_table(
        model(made, Identifier(name="b", regenerate="random", pattern="######")), 500, "s"
    )
    assert len(set(two["key"]) & set(two["b"])) < 20


def test_identifiers_change_no_other_column() -> None:
    plain = mechanisms.draw_table(model(), 300, "s")
    keyed = mechanisms.draw_table(model(key(regenerate="uuid")), 300, "s")
    assert keyed["member"].tolist() == plain["member"].tolist()


def test_columns_come_in_the_declared_order_and_dropped_ones_are_absent(tmp_path: Path) -> None:
    columns = (
        Identifier(name="z", regenerate="sequence"),
        Identifier(name="name"),
        Boolean(name="a"),
        key(),
    )
    halves = np.array([WHOLE // 2, WHOLE // 2], dtype=np.int64)
    drawn = Table(clique=("a",), weights=halves)
    ordered = Model(
        mechanism="random", domain=Domain(attributes=columns), rows=4, tables=(drawn,)
    )
    for name in ("t.csv", "u.csv", "t.parquet"):
        tables.write(ordered, 4, seed="s", path=tmp_path / name)
    lines = (tmp_path / "t.csv").read_text().splitlines()
    assert lines[0] == "z,a"
    assert [line.split(",")[0] for line in lines[1:]] == ["1", "2", "3", "4"]
    assert (tmp_path / "t.csv").read_bytes() == (tmp_path / "u.csv").read_bytes()
    stored = pq.read_table(tmp_path / "t.parquet")
    assert stored.column_names == ["z", "a"]
    assert stored["z"].to_pylist() == ["1", "2", "3", "4"]


@settings(max_examples=60)
@given(size=st.integers(2, 3_000), seed=st.integers(0, 2**32))
def test_the_permutation_is_one(size: int, seed: int) -> None:
    keyed = np.random.default_rng(seed).integers(0, 2**64, size=ROUNDS, dtype=np.uint64)
    found = permutation(np.arange(size, dtype=np.uint64), size=size, keys=keyed)
    assert sorted(found.tolist()) == list(range(size))


def test_the_permutation_leaves_hardly_anything_in_place() -> None:
    keyed = np.random.default_rng(1).integers(0, 2**64, size=ROUNDS, dtype=np.uint64)
    found = permutation(np.arange(100_000, dtype=np.uint64), size=100_000, keys=keyed).astype(
        np.int64
    )
    assert (found == np.arange(100_000)).sum() < 20
    assert abs(np.corrcoef(found, np.arange(100_000))[0, 1]) < 0.02
    assert abs(np.corrcoef(found[1:], found[:-1])[0, 1]) < 0.02
