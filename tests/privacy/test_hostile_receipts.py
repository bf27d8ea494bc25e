"""Receipts that somebody wrote to mislead: the verifier refuses with a sentence, or says what is true, in
lines of its own.

A forger knows the format and renews every digest, so the digests stop none of this.
"""

from __future__ import annotations

import copy
import json
import unicodedata
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth_engine import verifier
from synth_engine.errors import VerificationError
from synth_engine.privacy import accountant, events
from synth_engine.privacy.unit import Relation
from synth_engine.verifier import limits as verifier_limits
from synth_engine.verifier import program as verifier_program
from tests.privacy.exact import domain_of
from tests.privacy.test_verifier import DELTA, Document, adaptive, changed, honest, resealed

STORED = [
    json.loads(path.read_text())
    for path in sorted(Path(__file__).with_name("receipts").glob("*.json"))
]
BREAKS = ["\n", "\r", "\t", "\v", "\f", "\x00", "\x1b[2K", "\x1c", "\x85", "\u2028", "\u2029"]
"""What ends a line in a terminal, in `str.splitlines`, or erases one."""
TURNS = [
    "\u200e",
    "\u200f",
    "\u202a",
    "\u202b",
    "\u202d",
    "\u202e",
    "\u2066",
    "\u2067",
    "\u2068",
    "\u2069",
    "\u061c",
]
"""What turns the direction of writing."""
UNSEEN = [
    "\u00a0",
    "\u2003",
    "\u200b",
    "\u200d",
    "\u2060",
    "\ufeff",
    "\u00ad",
    "\ue000",
    "\ud800",
    "\U000e0041",
]
"""Blanks that are none, signs without a shape, private use, half of a surrogate, a tag."""


def with_totals(name: str) -> Document:
    """A receipt of one person replaced, whose invariant has this name; its sentence fits, as a forger makes
    it."""
    document = honest(domain=domain_of(2, 3, relation=Relation.REPLACE_ONE))
    document["invariants"] = [f"totals of {name}"]
    sentence = document["guarantee"]["sentence"].removesuffix(".")
    document["guarantee"]["sentence"] = f"{sentence}, its {name} kept."
    return resealed(document)


def test_a_name_that_can_be_printed_stands_in_a_line_of_its_own() -> None:
    report = verifier_program.report(
        verifier.verify(with_totals("Ort der Arbeit (Straße, 東京)"))
    )
    assert (
        "How many records have each Ort der Arbeit (Straße, 東京) is public and exact" in report
    )


@pytest.mark.parametrize(
    "sign", [*BREAKS, *TURNS, *UNSEEN], ids=lambda sign: sign.encode("unicode_escape").decode()
)
def test_a_name_that_would_write_lines_of_its_own_is_refused(sign: str) -> None:
    for name in (f"x{sign}epsilon = 0.001", f"x{sign}", f"{sign}x"):
        with pytest.raises(VerificationError, match="not printable"):
            verifier.verify(with_totals(name))


@pytest.mark.parametrize(
    "path",
    [
        "unit.column",
        "mechanism.id",
        "mechanism.kind",
        "relation",
        "schema",
        "guarantee.sentence",
        "calls.0.query.clique.0",
        "calls.0.query.verb",
        "calls.0.noise.law",
        "versions.python",
    ],
)
@pytest.mark.parametrize("sign", ["\n", "\u2028", "\x85", "\u202e"], ids=ascii)
def test_no_text_of_a_receipt_has_a_line_break_in_it(path: str, sign: str) -> None:
    with pytest.raises(VerificationError):
        verifier.verify(resealed(changed(honest(), path, f"x{sign}epsilon = 0.001")))


@pytest.mark.parametrize(
    "holder", ["versions", "domain_facts", "post_processing", "sample", "guarantee"]
)
def test_no_name_in_a_receipt_has_a_line_break_in_it(holder: str) -> None:
    with pytest.raises(VerificationError):
        verifier.verify(resealed(changed(honest(), f"{holder}.a\nepsilon = 0", "1")))


def test_a_seed_may_be_any_text_because_it_is_never_printed() -> None:
    document = resealed(changed(honest(), "sample", {"rows": 1, "seed": "a\u00a0word"}))
    assert "word" not in verifier_program.report(verifier.verify(document))


HUGE = "1" + "0" * 500 + "/1"


@pytest.mark.parametrize(
    "amount", [HUGE, f"{10**12 + 1}/1", "1" + "0" * 900 + "/7", "9" * 5000 + "/1"], ids=len
)
@pytest.mark.parametrize(
    "path", ["guarantee.epsilon", "guarantee.rho", "guarantee.delta", "target.epsilon"]
)
def test_an_amount_above_the_limit_is_refused_in_a_static_receipt(
    path: str, amount: str
) -> None:
    for document in (honest(), honest(DELTA, noise="gaussian")):
        with pytest.raises(VerificationError):
            verifier.verify(resealed(changed(document, path, amount)))


@pytest.mark.parametrize("amount", [HUGE, f"{10**12 + 1}/1"], ids=len)
@pytest.mark.parametrize("part", ["rho", "epsilon", "mu_squared"])
def test_a_cap_above_the_limit_is_refused(part: str, amount: str) -> None:
    for certificate in ("zcdp", "gdp", "basic"):
        document = changed(adaptive({part: amount}), "guarantee.certificate", certificate)
        with pytest.raises(
            VerificationError, match=r"above what the verifier computes with|mu|pure|cap"
        ):
            verifier.verify(resealed(document))


def test_the_amount_at_which_the_verifier_once_broke_is_refused_in_words(
    tmp_path: Path,
) -> None:
    path = tmp_path / "receipt.json"
    path.write_text(json.dumps(adaptive({"rho": HUGE})))
    with pytest.raises(VerificationError, match="rho is above what the verifier computes with"):
        verifier.verify(verifier_program.read(path))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("unit.max_records", 10**59),
        ("calls.0.sensitivity.l1", 10**59),
        ("calls.0.query.cells", 2**512 + 1),
        ("calls.0.noise.scale", f"{2**200}/1"),
        ("calls.0.noise.scale", f"1/{2**200}"),
        ("calls.0.query.clique", [f"c{i}" for i in range(5000)]),
        ("calls.0.query.bins", [2] * 100_000),
        ("invariants", [f"totals of c{i}" for i in range(5000)]),
        ("invariants", ["totals of " + "x" * 100_000]),
        ("guarantee.delta", "1/1" + "0" * 100),
        ("sample.rows", 2**512 + 1),
    ],
)
def test_a_number_or_a_list_without_end_is_refused(path: str, value: object) -> None:
    with pytest.raises(VerificationError):
        verifier.verify(resealed(changed(honest(), path, value)))


def test_more_calls_than_a_run_makes_are_refused() -> None:
    document = adaptive()
    document["calls"] = [document["calls"][1]] * (verifier_limits.MAX_CALLS + 1)
    with pytest.raises(VerificationError, match="calls"):
        verifier.verify(resealed(document))


def test_nesting_without_end_is_refused() -> None:
    nested: Any = []
    for _ in range(200):
        nested = [nested]
    with pytest.raises(VerificationError):
        verifier.verify(resealed(changed(honest(), "post_processing", {"a": nested})))
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    document = changed(honest(), "mechanism.parameters", {})
    document["mechanism"]["parameters"] = {"a": deep}
    with pytest.raises(VerificationError):
        verifier.verify(document)


# --- intervals of a lattice ---------------------------------------------------------------------------------
LATTICE = json.loads(
    Path(__file__).with_name("receipts").joinpath("independent-lattice-4.json").read_text()
)
INTERVALS = [
    place for place, call in enumerate(LATTICE["calls"]) if call["query"]["verb"] == "intervals"
]


def with_query(**parts: object) -> Document:
    """The receipt of a run on a column on a lattice, whose second round of questions has other parts."""
    document = copy.deepcopy(LATTICE)
    query = document["calls"][INTERVALS[1]]["query"]
    query |= parts
    return resealed(document)


def test_the_receipt_of_a_run_that_learned_a_lattice_in_rounds_is_accepted() -> None:
    assert len(INTERVALS) >= 4
    assert verifier.verify(LATTICE).epsilon <= 1
    assert verifier.verify(with_query(cells=7)).epsilon <= 1, "any number of cells costs that"


@pytest.mark.parametrize(
    "parts",
    [
        {"clique": ["pay", "day"]},
        {"clique": ["pay", "pay"]},
        {"clique": []},
        {"clique": "pay"},
        {"clique": [["pay"]]},
        {"cells": 0},
        {"cells": -1},
        {"cells": 2**512 + 1},
        {"cells": True},
        {"cells": "8"},
        {"cuts": [0, 1, 2]},
        {"divisors": [1, 5]},
        {"positions": 2**64},
        {"bins": [2]},
        {"by": ["day"]},
        {"parts": 3},
        {"threshold": 3},
        {"rule": {}},
        {"verb": "interval"},
        {"verb": "discover"},
        {"verb": "items"},
        {"verb": "leaves"},
        {"verb": ["intervals"]},
    ],
    ids=str,
)
def test_a_forged_question_for_intervals_is_refused(parts: dict[str, object]) -> None:
    with pytest.raises(VerificationError):
        verifier.verify(with_query(**parts))


@pytest.mark.parametrize("change", ["noise", "sensitivity", "dropped cap", "another round"])
def test_rounds_that_cost_more_than_the_claim_are_refused(change: str) -> None:
    document = copy.deepcopy(LATTICE)
    call = document["calls"][INTERVALS[-1]]
    if change == "noise":
        call["noise"]["scale"] = "1/1"
    elif change == "sensitivity":
        call["sensitivity"] = dict.fromkeys(call["sensitivity"], 0)
    elif change == "dropped cap":
        del document["plan"]["cap"]
    else:
        document["calls"] += [copy.deepcopy(call)] * 40
    with pytest.raises(VerificationError):
        verifier.verify(resealed(document))


# --- fuzzing ------------------------------------------------------------------------------------------------
hostile = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(
        [0, 1, -1, 2, 7, 2**31, 2**53 + 1, 2**63, 2**64, 10**30, 2**512, 2**512 + 1, -(10**59)]
    ),
    st.sampled_from([0.0, -0.0, 1.5, 1e308, 5e-324]),
    st.sampled_from(
        [
            "",
            "rows",
            "totals of a",
            "a",
            "b",
            "add-remove",
            "replace-one",
            "basic",
            "zcdp",
            "gdp",
            "pld",
        ]
    ),
    st.sampled_from(
        [
            "0/1",
            "1/1",
            "1/2",
            "2/1",
            "1/1000000000",
            HUGE,
            "1/" + "9" * 990,
            f"{2**60}/1",
            f"1/{2**60}",
        ]
    ),
    st.builds("{}/{}".format, st.integers(-1, 10**13), st.integers(0, 10**13)),
    st.sampled_from([*BREAKS, *TURNS, *UNSEEN]).map("totals of x{}epsilon = 0.001".format),
    st.text(max_size=20),
    st.just([]),
    st.just({}),
    st.recursive(st.integers(-2, 3), lambda inner: st.lists(inner, max_size=3), max_leaves=6),
    st.just([["a"]] * 50),
    st.just({"rho": HUGE}),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a document, of leaves and of what holds them."""
    if path:
        yield path
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, child in inner:
        yield from places(child, (*path, key))


@st.composite
def forged(draw: st.DrawFn) -> Document:
    """A receipt of a real run in which one to three places were replaced, taken away, doubled or moved."""
    document = copy.deepcopy(draw(st.sampled_from(STORED)))
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(sorted(places(document), key=repr)))
        holder = document
        for key in path[:-1]:
            holder = holder[key]
        last = path[-1]
        change = draw(
            st.sampled_from(["replace", "replace", "replace", "drop", "double", "add"])
        )
        if change == "replace" or (change == "double" and not isinstance(holder, list)):
            holder[last] = copy.deepcopy(draw(hostile))
        elif change == "drop":
            del holder[last]
        elif change == "double":
            holder.insert(last, copy.deepcopy(holder[last]))
        elif isinstance(holder, dict):
            holder[
                draw(st.sampled_from(["bins", "rho", "a\nb", "threshold", "monotonic", "by"]))
            ] = copy.deepcopy(draw(hostile))
        else:
            holder.append(copy.deepcopy(draw(hostile)))
    return document


def check(document: Document) -> None:
    """Refused in a sentence, or accepted with an epsilon that the calls do not pass and a report of its own
    lines."""
    try:
        found = verifier.verify(document)
    except VerificationError as error:
        assert str(error) == " ".join(str(error).split())
        return
    assert 0 <= found.epsilon <= verifier_limits.MAX_AMOUNT
    assert found.epsilon <= Fraction(document["guarantee"]["epsilon"]) + Fraction(1, 10**12)
    if document["guarantee"].get("certificate") == "basic":
        spent = [
            events.from_json(call["noise"] | call["sensitivity"]) for call in document["calls"]
        ]
        assert found.epsilon >= accountant.pure_epsilon(spent)
    report = verifier_program.report(found)
    assert report.splitlines() == report.removesuffix("\n").split("\n")
    assert len(report.splitlines()) == 2 + len(found.sentences)
    assert not any(unicodedata.category(sign) in ("Cf", "Cs", "Zl", "Zp") for sign in report)


@settings(max_examples=300)
@given(forged())
def test_a_forged_receipt_is_refused_in_words_or_accepted_for_what_it_is(
    document: Document,
) -> None:
    try:
        sealed = resealed(document)
    except (KeyError, TypeError, IndexError, AttributeError, UnicodeError):
        sealed = document  # too garbled to have digests
    check(sealed)


@pytest.mark.slow
@settings(max_examples=5_000)
@given(forged())
def test_many_forged_receipts_are_refused_in_words_or_accepted_for_what_they_are(
    document: Document,
) -> None:
    try:
        sealed = resealed(document)
    except (KeyError, TypeError, IndexError, AttributeError, UnicodeError):
        sealed = document
    check(sealed)
