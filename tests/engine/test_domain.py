"""The public description: what it accepts, refuses and remembers."""

from __future__ import annotations

import datetime
import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth_engine import domain
from synth_engine.domain import Boolean, Categorical, Date, Domain, Identifier, Integer, Number
from synth_engine.errors import DomainError
from synth_engine.privacy.unit import PrivacyUnit, Relation

ROOT = Path(__file__).parents[2]
PUBLISHED = json.loads((ROOT / "docs" / "domain.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(PUBLISHED)

EVERY_KIND = (
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


def one(**attribute: Any) -> dict[str, Any]:
    """A document of one attribute."""
    return {"attributes": [{"name": "x", **attribute}]}


def test_the_published_schema_is_the_one_in_the_code() -> None:
    assert domain.SCHEMA == PUBLISHED, (
        "regenerate it: python -m synth_engine.domain > docs/domain.schema.json"
    )
    jsonschema.Draft202012Validator.check_schema(PUBLISHED)


def test_a_domain_of_every_kind_survives_json() -> None:
    full = Domain(
        attributes=EVERY_KIND,
        unit=PrivacyUnit(max_records=3, column="key"),
        relation=Relation.REPLACE_ONE,
        rows=1_000,
    )
    document = json.loads(json.dumps(full.to_json()))
    VALIDATOR.validate(document)
    again = Domain.from_json(document)
    assert again == full
    assert again.digest == full.digest
    assert again.invariants == ("rows",)


def test_sizes_count_other_and_missing() -> None:
    assert Domain(attributes=EVERY_KIND).sizes == {
        "job": 4,
        "age": 75,
        "gain": 3,
        "height": 32,
        "member": 2,
        "born": 82,
    }
    assert EVERY_KIND[0].labels == ("clerk", "smith", "(other)", "(missing)")
    assert EVERY_KIND[2].labels == ("0", "1 to 999", "1000 to 100000")


def test_whole_numbers_have_one_code_a_value_up_to_a_hundred_and_32_bins_beyond() -> None:
    assert Integer(name="x", low=1, high=100).size == 100
    assert Integer(name="x", low=1, high=101).size == 32
    assert Integer(name="x", low=1, high=101, width=1).size == 101
    assert Integer(name="x", low=0, high=9, width=4).cuts == (0, 4, 8, 10)


def test_the_shorthand_counts_as_declared_and_says_so() -> None:
    short = Domain.from_json({"a": 3, "attributes": 300})
    assert short.sizes == {"a": 3, "attributes": 300}
    assert set(short.facts) == {"declared (shorthand)"}
    assert not any(attribute.ordered for attribute in short.attributes)
    assert Domain.from_json(short.to_json()) == short
    short.require_confirmed()


def test_provenance_is_kept_for_every_fact() -> None:
    document = one(
        kind="integer",
        low=0,
        high=9,
        provenance={"kind": "declared", "bounds": "public-file", "missing": "learned"},
    )
    assert Domain.from_json(document).facts == {"declared": 1, "learned": 1, "public-file": 1}
    assert (
        Domain.from_json(document).to_json()["attributes"][0]["provenance"]["bounds"]
        == "public-file"
    )  # type: ignore[index]


@pytest.mark.parametrize("fact", ["kind", "bounds", "missing"])
def test_a_single_suggested_fact_keeps_a_domain_from_being_used(fact: str) -> None:
    origins = {"kind": "declared", "bounds": "declared", "missing": "declared"} | {
        fact: "suggested"
    }
    suggested = Domain.from_json(one(kind="integer", low=0, high=9, provenance=origins))
    with pytest.raises(DomainError, match=f"'x': {fact} only suggested"):
        suggested.require_confirmed()


def test_a_sentence_for_people_is_allowed_and_not_part_of_the_domain() -> None:
    plain, explained = one(kind="boolean"), one(kind="boolean", why="It says yes and no.")
    assert Domain.from_json(plain).digest == Domain.from_json(explained).digest


def test_the_digest_changes_with_every_part() -> None:
    base: dict[str, Any] = one(kind="integer", low=0, high=9)
    variants = [
        base,
        base | {"relation": "replace-one"},
        base | {"unit": {"max_records": 2}},
        base | {"relation": "replace-one", "rows": 5},
        one(kind="integer", low=0, high=8),
        one(kind="integer", low=0, high=9, missing=["?"]),
        one(kind="integer", low=0, high=9, ordered=False),
        one(kind="integer", low=0, high=9, provenance="learned"),
    ]
    assert len({Domain.from_json(variant).digest for variant in variants}) == len(variants)


def test_a_digest_is_kept_for_its_own_domain_alone() -> None:
    """It is reckoned once, and neither equality nor what is made out of a domain knows of it."""
    one = Domain(attributes=(Integer(name="x", low=0, high=3),))
    fresh, kept = replace(one), one.digest
    assert one.digest is kept and fresh == one
    assert replace(one, relation=Relation.REPLACE_ONE).digest != kept
    assert replace(one).digest == pickle.loads(pickle.dumps(one)).digest == kept


REFUSED: list[tuple[object, str]] = [
    ([], "not a JSON object"),
    ({}, "no column to model"),
    ({"a": 0}, "size of 1 or more"),
    ({"a": True}, "size of 1 or more"),
    ({"a": 2.0}, "size of 1 or more"),
    ({"a": 10_001}, "10,000 codes"),
    ({"": 3}, "no name"),
    ({"a\n": 3}, "control characters"),
    ({"attributes": []}, "no column to model"),
    ({"attributes": [3]}, "not a JSON object"),
    ({"attributes": [{"kind": "boolean"}]}, "no name"),
    ({"attributes": [{"name": "a", "kind": "boolean"}] * 2}, "two columns"),
    ({"schema": "other/1", "attributes": []}, "unknown schema"),
    (one(kind="boolean") | {"extra": 1}, "unknown field 'extra'"),
    (one(kind="boolean") | {"relation": "swap"}, "unknown relation"),
    (one(kind="boolean") | {"rows": 10}, "contradicts the add-remove"),
    (one(kind="boolean") | {"rows": 0, "relation": "replace-one"}, "below one"),
    (one(kind="boolean") | {"invariants": ["rows"]}, "not given"),
    (one(kind="boolean") | {"invariants": ["houses"]}, "unknown invariant"),
    (one(kind="boolean") | {"unit": {"max_records": 0}}, "max_records"),
    (one(kind="boolean") | {"unit": {"records": 1}}, "max_records"),
    (one(kind="boolean") | {"shorthand": True,
        "attributes": [{"name": "x", "kind": "boolean", "provenance": "learned"}]}, "shorthand"),
    (one(kind="identifier"), "no column to model"),
    (one(kind="identifier", missing=["?"]), "unknown field"),
    (one(kind="colour"), "unknown kind"),
    (one(kind="boolean", provenance="guessed"), "unknown origin"),
    (one(kind="boolean", provenance={"kind": "declared"}), "is not said"),
    (one(kind="boolean", provenance={"colour": "declared"}), "no such fact"),
    (one(kind="boolean", true="x", false="x"), "listed twice"),
    (one(kind="boolean", missing=[]), "empty list"),
    (one(kind="boolean", missing=["true"]), "also a value"),
    (one(kind="boolean", outside="other"), "not usable"),
    (one(kind="boolean", outside="missing"), "does not have"),
    (one(kind="categorical"), "values is not given"),
    (one(kind="categorical", values=[]), "empty list"),
    (one(kind="categorical", values=["a", "b", "a"], other=True), "value 3 is listed twice"),
    (one(kind="categorical", values=["a", 1], other=True), "not text"),
    (one(kind="categorical", values=["a", "?"], missing=["?"]), "also a value"),
    (one(kind="categorical", values=["a"]), "nowhere to go"),
    (one(kind="categorical", values=["(other)"], other=True), "called"),
    (one(kind="categorical", values=["a"], outside="other"), "does not have"),
    (one(kind="categorical", values=[str(i) for i in range(10_000)], other=True), "10,000 codes"),
    (one(kind="integer", low=0), "high is not given"),
    (one(kind="integer", low=9, high=0), "low is above high"),
    (one(kind="integer", low="0", high=9), "low is not a whole number"),
    (one(kind="integer", low=False, high=9), "low is not a whole number"),
    (one(kind="integer", low=0.0, high=9), "low is not a whole number"),
    (one(kind="integer", low=0, high=2**53 + 1), "beyond 2"),
    (one(kind="integer", low=0, high=9, edges=[0, 5, 5, 9]), "do not increase"),
    (one(kind="integer", low=0, high=9, edges=[9]), "do not increase"),
    (one(kind="integer", low=0, high=9, edges=[0, 5]), "from low to high"),
    (one(kind="integer", low=0, high=9, edges=[0, 5, 9], width=2), "both edges and width"),
    (one(kind="integer", low=0, high=9, width=0), "less than one"),
    (one(kind="integer", low=0, high=10**9, width=1), "10,000 codes"),
    (one(kind="integer", low=0, high=9, missing=["7"]), "between low and high"),
    (one(kind="integer", low=0, high=9, lows=1), "unknown field"),
    (one(kind="number", low=0, high=float("inf")), "not finite"),
    (one(kind="number", low=float("nan"), high=1), "not finite"),
    (one(kind="number", low=1, high=1 + 2**-52), "too close"),
    (one(kind="number", low=0, high=1, edges=[0, "x", 1]), "list of numbers"),
    (one(kind="date", low="2024-02-30", high="2024-03-01"), "low is not a date"),
    (one(kind="date", low="2024-03-02", high="2024-03-01"), "after high"),
    (one(kind="date", low="2024-01-01", high="2024-03-01", step_days=0), "less than one"),
    (one(kind="date", low="1000-01-01", high="2024-03-01"), "10,000 codes"),
    (one(kind="date", low="2024-01-01", high="2024-03-01", format="%Y-%m"), "tell every day apart"),
    (one(kind="date", low="2024-01-01", high="2024-03-01", missing=["2024-02-01"]), "between low and high"),
]  # fmt: skip


@pytest.mark.parametrize(("document", "rule"), REFUSED, ids=[rule for _, rule in REFUSED])
def test_a_contradictory_or_incomplete_domain_is_refused(document: object, rule: str) -> None:
    with pytest.raises(DomainError, match=rule) as refusal:
        Domain.from_json(document)
    assert refusal.value.repair
    assert "\n" not in refusal.value.text


def test_a_refusal_names_the_column_and_no_value() -> None:
    with pytest.raises(DomainError) as refusal:
        Domain.from_json(one(kind="categorical", values=["MARKER", "MARKER"], other=True))
    assert refusal.value.column == "x"
    assert "MARKER" not in str(refusal.value.as_dict())


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (b'{"a": 2, "a": 3}', "names this twice"),
        (b'{"a": NaN}', "not JSON"),
        (b'{"a": 2', "not JSON"),
        (b'{"a": "\xff"}', "not JSON in UTF-8"),
        (b"[" * 100_000, "nested more than 8 deep"),
    ],
)
def test_a_file_that_is_not_sound_json_is_refused(
    tmp_path: Path, text: bytes, rule: str
) -> None:
    file = tmp_path / "domain.json"
    file.write_bytes(text)
    with pytest.raises(DomainError, match=rule):
        domain.read(file)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DomainError, match="cannot be read"):
        domain.read(tmp_path / "absent.json")


def test_shapes_are_those_of_the_clique_in_its_own_order() -> None:
    table = Domain(attributes=EVERY_KIND)
    assert table.shape(("member", "age")) == (2, 75)
    assert table.cells(("member", "age")) == 150
    with pytest.raises(DomainError, match="not a modelled column"):
        table.shape(("key",))
    with pytest.raises(DomainError, match="twice"):
        table.shape(("age", "age"))


texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8)
names = texts.filter(lambda text: text.isprintable() and text.strip())


@settings(max_examples=40)
@given(
    values=st.lists(texts, min_size=1, max_size=6, unique=True),
    name=names,
    ordered=st.booleans(),
    origin=st.sampled_from(domain.PROVENANCES),
)
def test_any_list_of_texts_makes_a_domain_that_its_schema_accepts(
    values: list[str], name: str, ordered: bool, origin: domain.Provenance
) -> None:
    attribute = Categorical(
        name=name, values=tuple(values), outside="clamp", ordered=ordered, provenance=origin
    )
    full = Domain(attributes=(attribute,))
    document = json.loads(json.dumps(full.to_json()))
    VALIDATOR.validate(document)
    assert Domain.from_json(document) == full


@settings(max_examples=40)
@given(sizes=st.dictionaries(names, st.integers(1, 300), min_size=1, max_size=5))
def test_any_shorthand_is_accepted_by_schema_and_code(sizes: dict[str, int]) -> None:
    VALIDATOR.validate(sizes)
    assert Domain.from_json(sizes).sizes == sizes
