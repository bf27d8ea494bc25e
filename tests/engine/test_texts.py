"""Texts that are made up: lengths and classes come through, words never do."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth_engine import codec, mechanisms, pipeline, tables
from synth_engine.domain import SCHEMA, Domain, Text
from synth_engine.errors import DomainError
from synth_engine.kinds.text import CHARACTERS, CLASSES
from synth_engine.mechanisms import uniform
from synth_engine.spec import Spec


def drawn(attribute: Text, codes: Any, *, seed: int = 0) -> pd.Series:
    column = attribute.sample(np.asarray(codes, dtype=np.intp), np.random.default_rng(seed))
    return codec.as_text(
        Domain(attributes=(attribute,)), pd.DataFrame({attribute.name: column})
    )[attribute.name]


@st.composite
def texts(draw: st.DrawFn) -> Text:
    missing = draw(st.sampled_from([None, ("NA",), ("-", "a")]))
    if draw(st.booleans()):
        return Text(
            name="x", pattern=draw(st.sampled_from(["@@-##", "###", "a\\#*"])), missing=missing
        )
    signs = tuple(draw(st.lists(st.sampled_from(CLASSES), min_size=1, max_size=5, unique=True)))
    low, leading = draw(st.integers(1, 4)), draw(st.booleans())
    if signs == ("blanks",):
        signs = ("blanks", "digits")
    high = draw(st.sampled_from([low, low + 3, low + 150]))
    outside = draw(st.sampled_from(["clamp", "missing"])) if missing else "clamp"
    return Text(
        name="x",
        min_length=low,
        max_length=high,
        signs=signs,
        leading=leading,
        missing=missing,
        outside=outside,
    )


@settings(max_examples=80)
@given(attribute=texts(), seed=st.integers(0, 99))
def test_what_is_drawn_is_read_as_its_code_and_has_the_declared_signs(
    attribute: Text, seed: int
) -> None:
    codes = np.arange(attribute.size).repeat(20)
    column = drawn(attribute, codes, seed=seed)
    assert np.array_equal(codec.encode_column(attribute, column), codes)
    allowed = set("".join(CHARACTERS[each] for each in attribute.signs))
    for text in column[codes != attribute.missing_code]:
        assert text == text.strip()
        if attribute.pattern is None:
            assert set(text) <= allowed
            assert attribute.min_length <= len(text) <= (attribute.max_length or 0)
        else:
            assert all(
                sign in place for sign, place in zip(text, attribute.template, strict=True)
            )
    document = Domain(attributes=(attribute,)).to_json()
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    assert Domain.from_json(document).attributes == (attribute,)


@given(cells=st.lists(st.one_of(st.none(), st.text(max_size=30)), max_size=30))
def test_every_text_whatever_has_a_code(cells: list[str | None]) -> None:
    attribute = Text(
        name="x",
        max_length=9,
        signs=("lower", "digits"),
        leading=True,
        missing=("?",),
        outside="missing",
    )
    codes = codec.encode_column(attribute, np.array([*cells, "?"], dtype=object))
    assert codes.max() < attribute.size
    for cell, code in zip(cells, codes.tolist(), strict=False):
        if cell is None or not 1 <= len(cell) <= 9:
            assert code == attribute.missing_code


def test_lengths_and_first_signs_come_through_and_no_word_does(tmp_path: Path) -> None:
    # Six letters drawn at random for two thousand records are a given word once in 150,000 runs; nine or ten
    # hardly ever.
    words = ["Pneumonia", "Bronchitis", "7th visit"]
    table = tmp_path / "table.csv"
    table.write_text(
        "note,ward\n"
        + "".join(f"{words[row % 3]},{'ab'[row % 3 > 1]}\n" for row in range(6_000))
    )
    note = Text(
        name="note", max_length=12, signs=("upper", "lower", "digits", "blanks"), leading=True
    )
    ward = {"name": "ward", "kind": "categorical", "values": ["a", "b"], "other": True}
    domain = Domain.from_json({"attributes": [note.to_json(), ward]})
    spec = Spec(mechanism="bayesian-network", epsilon=Fraction(5), seed="s")
    release = pipeline.synthesize(table, domain=domain, spec=spec)
    frame = mechanisms.draw_table(release.model, 6_000, "s")
    share = frame["note"].str.len().value_counts(normalize=True)
    assert share[9] == pytest.approx(2 / 3, abs=0.03)
    assert share[10] == pytest.approx(1 / 3, abs=0.03)
    digits = frame["note"].str[0].str.isdigit()
    assert (frame.loc[digits, "ward"] == "b").mean() > 0.95
    assert not frame["note"].isin(words).any()
    tables.write(release.model, 500, seed="s", path=tmp_path / "drawn.parquet")
    again = tables.write(release.model, 500, seed="s", path=tmp_path / "drawn.csv")
    assert tables.write(release.model, 500, seed="s", path=tmp_path / "drawn.csv") == again
    stored = repr(release.model.to_json())
    assert not any(word in stored for word in words)


def test_random_lengths_are_uniform() -> None:
    domain = Domain(attributes=(Text(name="x", max_length=4, signs=("lower",), missing=("",)),))
    frame = mechanisms.draw_table(uniform.model(domain, rows=1_000), 1_000, "s")
    assert frame["x"].isna().sum() == 200
    assert frame["x"].str.len().value_counts().tolist() == [200] * 4


@pytest.mark.parametrize(
    ("given_", "says"),
    [
        ({}, "neither max_length"),
        ({"max_length": 5}, "classes of signs"),
        ({"max_length": 5, "signs": ["vowels"]}, "classes of signs"),
        ({"max_length": 5, "signs": ["lower", "lower"]}, "classes of signs"),
        ({"max_length": 5, "signs": ["blanks"]}, "blanks alone"),
        ({"max_length": 0, "signs": ["lower"]}, "out of range"),
        ({"max_length": 5_000, "signs": ["lower"]}, "out of range"),
        ({"max_length": 5, "min_length": 6, "signs": ["lower"]}, "out of order"),
        (
            {"max_length": 5, "min_length": 0, "signs": ["lower"], "missing": [""]},
            "also missing",
        ),
        (
            {"max_length": 5, "min_length": 0, "signs": ["lower"], "leading": True},
            "also missing",
        ),
        (
            {"max_length": 5, "signs": ["digits"], "missing": list("0123456789")},
            "no more texts",
        ),
        ({"pattern": "abc", "missing": ["abc"]}, "no more texts"),
        ({"pattern": "##", "max_length": 5}, "both a pattern"),
        ({"pattern": " ##"}, "begins or ends"),
    ],
)
def test_a_contradiction_is_refused_with_its_column(given_: dict[str, Any], says: str) -> None:
    with pytest.raises(DomainError, match=says) as caught:
        Domain.from_json({"attributes": [{"name": "x", "kind": "text", **given_}]})
    assert caught.value.column == "x"
    assert caught.value.repair
