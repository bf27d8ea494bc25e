"""Public sets of values: ranks and texts are the same thing said twice."""

from __future__ import annotations

import json
import re
import secrets
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth_engine import values
from synth_engine.errors import DomainError
from synth_engine.values import Integers, Known, Listed, Pattern, ProductSet, Strings, Union

WORDS = {"set": "known", "name": "english-words"}
_made = cache(lambda text: values.from_json(json.loads(text)))
SETS: list[dict[str, Any]] = [
    {"set": "list", "values": ["b", "a", "", "c c"]},
    WORDS,
    {"set": "known", "name": "countries"},
    {"set": "known", "name": "country-names"},
    {"set": "known", "name": "us-states"},
    {"set": "known", "name": "currencies"},
    {"set": "known", "name": "time-zones"},
    {"set": "integers", "low": -7, "high": 10**12},
    {"set": "decimals", "low": "-0.5", "high": "10", "step": "0.25"},
    {"set": "dates", "low": "1899-12-31", "high": "2024-02-29"},
    {"set": "strings", "alphabet": "abc", "min_length": 0, "max_length": 4},
    {"set": "pattern", "pattern": "(foo|ba[rz]?|[a-c]{1,2})(-[0-9]{2}){0,2}"},
    {"set": "product", "parts": [WORDS, WORDS], "separator": " "},
    {
        "set": "union",
        "parts": [
            {"set": "list", "values": ["x", "12", "7"]},
            {"set": "integers", "low": 0, "high": 10**9},
        ],
    },
    {
        "set": "decimals",
        "low": "0.000000000000000000000000001",
        "high": "99",
        "step": "0.000000000000000000000000001",
    },
    {"set": "decimals", "low": "0.5", "high": "99999999999999999999999999", "step": "0.001"},
]


@pytest.mark.parametrize(
    "document", SETS, ids=lambda document: str(document.get("name", document["set"]))
)
@given(data=st.data())
def test_rank_and_unrank_undo_each_other(document: dict[str, Any], data: st.DataObject) -> None:
    found = _made(json.dumps(document))
    rank = data.draw(st.integers(0, found.size - 1))
    text = found.unrank(rank)
    assert found.rank(text) == rank
    assert text in found
    assert len(text) <= found.longest
    assert found.characters is None or set(text) <= found.characters


@pytest.mark.parametrize(
    "document", SETS, ids=lambda document: str(document.get("name", document["set"]))
)
def test_a_set_survives_its_document_and_refuses_what_lies_outside(
    document: dict[str, Any],
) -> None:
    found = values.from_json(document)
    again = values.from_json(found.to_json() | {"size": found.size})
    assert again.size == found.size
    assert again.unrank(found.size - 1) == found.unrank(found.size - 1)
    assert found.rank("\x00 nothing of the kind") is None
    for rank in (-1, found.size):
        with pytest.raises(IndexError):
            found.unrank(rank)


SMALL = [
    "a|b{2,3}", "[A-C]{2}[0-2]{0,2}", "(foo|ba[rz])-[0-3]", "(a|ab)(c|bcd)(d{0,1})", "", "(a?b?){0,3}",
    "[0-9]{1,2}|1[0-5]",
]  # fmt: skip


@pytest.mark.parametrize("pattern", SMALL)
def test_a_pattern_holds_what_the_expression_matches_and_nothing_else(pattern: str) -> None:
    found = Pattern(pattern)
    texts = [found.unrank(rank) for rank in range(found.size)]
    assert texts == sorted(set(texts))
    assert all(re.fullmatch(pattern, text) for text in texts)
    others = Strings("".join(sorted(set("".join(texts)))) or "a", 0, min(found.longest, 4) or 1)
    for rank in range(min(others.size, 3000)):
        text = others.unrank(rank)
        assert (text in found) == (re.fullmatch(pattern, text) is not None)


@pytest.mark.parametrize("document", SETS, ids=lambda document: str(document["set"]))
def test_no_text_is_too_odd_to_be_looked_up(document: dict[str, Any]) -> None:
    """A cell of a table may hold anything, and what is looked up has been paid for."""
    found = _made(json.dumps(document))
    for text in [
        "9" * 40,
        "9" * 60,
        "+" + "9" * 39,
        "1." + "0" * 58,
        "1e999999999",
        "9" * 5_000,
        "-",
        ".",
        "\ud800",
        "٣",
    ]:
        assert found.rank(text) is None or found.rank(
            found.unrank(found.rank(text) or 0)
        ) == found.rank(text)


@pytest.mark.parametrize(
    "document",
    [*SETS, SETS[-6] | {"case": "lower", "replace": {"é": "a", "-": ""}}],
    ids=lambda document: str(document["set"]),
)
@settings(max_examples=30)
@given(data=st.data())
def test_many_texts_are_looked_up_as_each_by_itself(
    document: dict[str, Any], data: st.DataObject
) -> None:
    """Also where what stands side by side in two texts would be a third, and of signs that a number may be
    written with."""
    found = _made(json.dumps(document))
    inside = st.integers(0, found.size - 1).map(found.unrank)
    odd = st.sampled_from(
        ["", "a", "abcab", "1_0", " 1", "+1", "٣", "\ud800", "A-b", "É", "c" * 50]
    )
    texts = data.draw(st.lists(inside, max_size=6)) + data.draw(st.lists(odd, max_size=2))
    assert found.ranks(texts) == [found.rank(text) for text in texts]


def test_sizes_are_the_known_ones() -> None:
    words = Known("english-words")
    assert words.size == 172_823
    assert ProductSet([words, words], " ").size == 172_823**2
    assert Known("countries").size == 249
    assert Known("us-states").size == 51
    assert Strings("abcdefghijklmnopqrstuvwxyz", 0, 3).size == 1 + 26 + 26**2 + 26**3
    assert Pattern("[A-Z]{2}[0-9]{4}").size == 26**2 * 10**4
    assert Strings("0123456789", 77, 77).size == 10**77


def test_spellings_of_one_value_share_its_number() -> None:
    assert Integers(0, 99).rank("+007") == 7
    assert Known("countries").rank(" de ") == Known("countries").rank("DE")
    assert values.from_json(SETS[8]).rank("1.250") == values.from_json(SETS[8]).rank("1.25")


def test_a_union_counts_a_text_of_two_parts_once() -> None:
    found = Union([Listed(["a", "b"]), Listed(["b", "c"]), Strings("abcd", 1, 1)])
    assert [found.unrank(rank) for rank in range(found.size)] == ["a", "b", "c", "d"]


def test_a_text_of_a_union_has_the_number_that_gives_it_back() -> None:
    """One part takes any case of letters, another one has a case of its own."""
    found = Union([Known("us-states"), Strings("ACDal", 2, 2)])
    assert [found.rank(found.unrank(rank)) for rank in range(found.size)] == list(
        range(found.size)
    )
    assert found.rank("al") != found.rank("AL")
    assert found.rank("ny") == found.rank("NY")
    spelled = Union([Listed(["NY"]), Known("us-states")])
    assert spelled.rank(" ny ") == spelled.rank("NY") == 0


def test_the_sign_of_a_dollar_may_be_meant() -> None:
    found = Pattern("[56][$]")
    assert [found.unrank(rank) for rank in range(found.size)] == ["5$", "6$"]


def test_samples_are_members_and_not_always_the_same() -> None:
    found = values.from_json(SETS[12])
    drawn = found.sample(50, below=secrets.randbelow)
    assert all(text in found for text in drawn)
    assert len(set(drawn)) == 50


BAD: list[tuple[object, str]] = [
    ({"set": "pattern", "pattern": "a*"}, "infinite"),
    ({"set": "pattern", "pattern": "(ab){2,}"}, "infinite"),
    ({"set": "pattern", "pattern": "[^a]"}, "does not name"),
    ({"set": "pattern", "pattern": "."}, "does not name"),
    ({"set": "pattern", "pattern": "(((a{0,99}){0,99}){0,99}){0,99}"}, "too complicated"),
    ({"set": "pattern", "pattern": "(a|b){0,20}a(a|b){20}"}, "too complicated"),
    ({"set": "pattern", "pattern": "("}, "no pattern"),
    ({"set": "pattern", "pattern": "[a-z]{60}"}, r"more than 2\^256"),
    (
        {"set": "strings", "alphabet": "ab", "min_length": 0, "max_length": 400},
        r"more than 2\^256",
    ),
    ({"set": "integers", "low": 0, "high": 10**400}, r"more than 2\^256"),
    ({"set": "integers", "low": 1, "high": 0}, "low is above high"),
    ({"set": "integers", "low": True, "high": 5}, "another type"),
    ({"set": "list", "values": []}, "empty set"),
    ({"set": "list", "values": ["a", "a"]}, "listed twice"),
    ({"set": "list", "values": ["a", 1]}, "no text"),
    ({"set": "decimals", "low": "0", "high": "1", "step": "0"}, "step"),
    ({"set": "dates", "low": "2024-01-02", "high": "yesterday"}, "no day"),
    ({"set": "known", "name": "everything"}, "no public list"),
    ({"set": "known", "name": "countries", "sha256": "0" * 64}, "has changed"),
    ({"set": "product", "parts": [WORDS, WORDS], "separator": ""}, "separator"),
    ({"set": "product", "parts": [WORDS, WORDS], "separator": "a"}, "separator"),
    ({"set": "product", "parts": [], "separator": " "}, "no parts"),
    ({"set": "integers", "low": 0, "high": 9, "size": 11}, "not the stated one"),
    ({"set": "integers", "low": 0, "high": 9, "more": 1}, "unknown field"),
    ({"set": "nonsense"}, "known kind"),
    ({"set": ["list"]}, "known kind"),
    ({"set": {"a": 1}}, "known kind"),
    ({"set": "pattern", "pattern": "((((a{0,10}){0,10}){0,10}){0,10})"}, "too complicated"),
    ({"set": "pattern", "pattern": "((a{0,30}){0,30}){0,20}"}, "too complicated"),
    ({"set": "pattern", "pattern": "[a-\U0010ffff]{3}"}, "cannot be stored"),
    ({"set": "pattern", "pattern": r"a|\x00"}, "cannot be stored"),
    ({"set": "pattern", "pattern": "^[a-z]{3}$"}, "anchor"),
    ({"set": "pattern", "pattern": "[a-z]{3}$"}, "anchor"),
    (
        {
            "set": "union",
            "parts": [{"set": "integers", "low": i, "high": i + 10**6 - 1} for i in range(9)],
        },
        "too many",
    ),
    ("words", "known kind"),
]


@pytest.mark.parametrize(("document", "rule"), BAD)
def test_a_set_that_cannot_be_is_refused_with_its_repair(document: object, rule: str) -> None:
    with pytest.raises(DomainError, match=rule) as caught:
        values.from_json(document)
    assert caught.value.repair


def test_a_set_in_a_set_in_a_set_ends_somewhere() -> None:
    document: dict[str, Any] = {"set": "integers", "low": 0, "high": 1}
    for _ in range(8):
        document = {"set": "union", "parts": [document]}
    with pytest.raises(DomainError):
        values.from_json(document)


def test_strings_are_read_as_declared() -> None:
    document = {
        "set": "strings",
        "alphabet": "abe ",
        "min_length": 1,
        "max_length": 4,
        "case": "lower",
    }
    found = values.from_json(document | {"replace": {"é": "e", "-": "", "_": " "}})
    plain = values.from_json({key: value for key, value in document.items() if key != "case"})
    for cell, read in (("Abé", "abe"), ("a-b-e-a", "abea"), ("A_B", "a b"), ("be", "be")):
        assert found.rank(cell) == plain.rank(read) is not None
    assert found.rank("ö") is None and found.rank("--") is None and plain.rank("Ab") is None
    assert values.from_json(json.loads(json.dumps(found.to_json()))) == found != plain
    assert [found.rank(found.unrank(rank)) for rank in range(9)] == list(range(9))


@pytest.mark.parametrize(
    "changes",
    [
        {"case": "title"}, {"case": "upper"}, {"case": 1}, {"replace": {"ab": "a"}}, {"replace": {"": "a"}},
        {"replace": {"a": "b"}},
        {"replace": {"x": "y"}}, {"replace": {"x": 1}}, {"replace": ["x"]},
        {"case": "lower", "replace": {"X": "a"}},
    ],
)  # fmt: skip
def test_readings_that_contradict_the_alphabet_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(DomainError):
        values.from_json(
            {"set": "strings", "alphabet": "abe ", "min_length": 1, "max_length": 4} | changes
        )
