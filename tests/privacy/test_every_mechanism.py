"""Each mechanism on offer has what a release rests on: a proof note, an exact law with mutants, and receipts
of real runs that the one-file verifier takes, and takes no longer once the loss is less than what was
drawn."""

from __future__ import annotations

import json
import re
import sys
import types
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synth_engine import mechanisms
from synth_engine.domain import Categorical, Domain, Integer, Place, PointSet, Weak
from synth_engine.domain.invariant_totals import Totals
from synth_engine.measurement import Answers
from synth_engine.mechanisms import Plan
from synth_engine.privacy.unit import Relation
from synth_engine.room.session import open_session
from synth_engine.spec import Spec
from synth_engine.values import from_json
from synth_engine.verifier import standalone
from tests.privacy import exact
from tests.privacy.test_verifier import Document, resealed

PROOFS = Path(__file__).parents[2] / "docs" / "proofs"
DELTA = Fraction(1, 10**6)
SIDES = tuple(Integer(name=name, low=0, high=7, width=1) for name in ("north", "east"))
FLAT = Domain(
    attributes=tuple(Integer(name=name, low=0, high=2, width=1) for name in ("a", "b", "c"))
)
PLACED = Domain(
    attributes=SIDES, places=(Place(name="home", latitude="north", longitude="east"),)
)
BESIDE = replace(PLACED, attributes=(*SIDES, *FLAT.attributes[:2]))
SIGNS = from_json({"set": "strings", "alphabet": "ab", "min_length": 0, "max_length": 4})
TEXTS = Domain(attributes=(Weak(name="word", values=SIGNS),))
ENDS = Domain(
    attributes=tuple(
        Categorical(name=name, values=tuple("abcd"), outside="clamp")
        for name in ("home", "work")
    ),
    points=tuple(
        PointSet(
            column=name,
            at=((41.0, -71.0, 1), (41.1, -71.1, 1), (41.2, -71.3, 2), (41.5, -71.2, 1)),
        )
        for name in ("home", "work")
    ),
    relation=Relation.REPLACE_ONE,
    totals=Totals(column="work", counts=(20, 6, 3, 1)),
)
DOMAINS = {"flat": FLAT, "placed": PLACED, "beside": BESIDE, "texts": TEXTS, "ends": ENDS}
PLACE_METHODS = (
    "adaptive",
    "adaptive-basic",
    "adaptive-improved",
    "privtree",
    "direct-synthesis",
)
CALLED: dict[str, dict[str, Any]] = {"generalize": {"k": 1}}


def described(identifier: str) -> list[tuple[str, Domain]]:
    if identifier == "on-the-map":
        return [("ends", ENDS)]
    if identifier not in PLACE_METHODS:
        return [("flat", FLAT)]
    return [("placed", PLACED), ("texts", TEXTS)] + [("beside", BESIDE)] * (
        identifier == "adaptive"
    )


def runs() -> list[Any]:
    return [
        pytest.param(identifier, domain, delta, id=f"{identifier}-{name}-{delta and 'delta'}")
        for identifier, mechanism in mechanisms.REGISTRY.items()
        for name, domain in described(identifier)
        for delta in (Fraction(0), DELTA)
        if ("approximate" if delta else "pure") in mechanism.losses
    ]


def measured(identifier: str, domain: Domain, delta: Fraction) -> tuple[Plan, Answers]:
    """Of a real run, with the sampler in use."""
    spec = Spec(
        mechanism=identifier,
        epsilon=Fraction(4),
        delta=delta,
        parameters=CALLED.get(identifier, {}),
    )
    plan = mechanisms.plan(domain, spec)
    if domain.totals is not None:
        works = np.repeat(np.arange(4), domain.totals.counts)
        table = tuple((int(work) % 3, int(work)) for work in works)
    else:
        sizes = [a.population if isinstance(a, Weak) else a.size for a in domain.modelled]
        table = tuple(tuple(record * 7 % size for size in sizes) for record in range(30))
    session = open_session(
        exact.rows_of(table, domain), domain=domain, cap=plan.loss, planned=plan.calls
    )
    return plan, plan.run(session)


def receipt_of(identifier: str, domain: Domain, delta: Fraction) -> Document:
    plan, answers = measured(identifier, domain, delta)
    document: Document = json.loads(json.dumps(plan.receipt(answers)))
    return document


@pytest.fixture(scope="module")
def auditor() -> Iterator[dict[str, Any]]:
    """What the one file defines; that it runs alone, `test_offline_verifier.py` shows."""
    module = types.ModuleType("auditor")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(
            sys.modules, "auditor", module
        )  # where its dataclasses look for themselves
        exec(compile(standalone.text(), standalone.NAME, "exec"), module.__dict__)
        yield module.__dict__


@pytest.mark.parametrize(("identifier", "domain", "delta"), runs())
def test_a_receipt_of_a_run_is_taken_by_the_one_file_and_no_less_is(
    auditor: dict[str, Any], identifier: str, domain: Domain, delta: Fraction
) -> None:
    document = receipt_of(identifier, domain, delta)
    assert auditor["verify"](document).plan == document["plan"]["sha256"]
    for part in ("guarantee", "target"):
        document[part]["epsilon"] = "39/10"
    if (
        document["plan"]["cap"] is not None
    ):  # what was drawn passes a smaller cap, or spends less than was set aside
        document["plan"]["cap"] = {
            name: _less(amount) for name, amount in document["plan"]["cap"].items()
        }
    with pytest.raises(auditor["VerificationError"]):
        auditor["verify"](resealed(document))


def _less(amount: str) -> str:
    half = Fraction(amount) / 100
    return f"{half.numerator}/{half.denominator}"


def notes_of(identifier: str) -> list[str]:
    """The texts of the notes whose heading names a mechanism."""
    texts = [path.read_text() for path in PROOFS.glob("*.md")]
    return [text for text in texts if f"`{identifier}`" in text.splitlines()[0]]


@pytest.mark.parametrize("identifier", mechanisms.REGISTRY)
def test_a_mechanism_has_a_note_and_a_law_that_mutants_do_not_keep(identifier: str) -> None:
    notes = notes_of(identifier)
    assert notes, "the heading of a proof note names it"
    for text in notes:
        assert "**Statement.**" in text
        files = set(re.findall(r"test_\w+\.py", text))
        assert all(
            any(
                (PROOFS.parents[1] / "tests" / kind / name).exists()
                for kind in ("privacy", "engine")
            )
            for name in files
        )
        laws = [
            Path(__file__).with_name(name) for name in files if name.startswith("test_law_of")
        ]
        assert laws, "the note names the test of its law"
        sources = "".join(law.read_text() for law in laws)
        assert re.search(r"def test_\w*(mutant|mistake|noticed|exceeds)", sources)


METHODS = (PROOFS.parent / "methods.md").read_text()


@pytest.mark.parametrize("identifier", mechanisms.REGISTRY)
def test_a_mechanism_has_a_row_in_the_page_of_methods_that_leads_to_its_note(
    identifier: str,
) -> None:
    target = re.search(
        rf"^\| \[`{identifier}`\]\(proofs/([a-z-]+\.md)\) \|", METHODS, re.MULTILINE
    )
    assert target
    assert (PROOFS / target[1]).read_text() in notes_of(identifier)


@pytest.mark.parametrize(("identifier", "domain", "delta"), runs())
def test_answers_fit_into_the_room_that_is_reserved_before_anything_is_charged(
    identifier: str, domain: Domain, delta: Fraction
) -> None:
    plan, answers = measured(identifier, domain, delta)
    assert 0 < len(answers.to_bytes()) <= plan.answers_bytes() < 10**9
