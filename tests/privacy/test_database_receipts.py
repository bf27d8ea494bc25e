"""The receipt of a database: both verifiers accept it, and refuse whatever is missing, exchanged or claimed
too low."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from synth_engine import pipeline, verifier
from synth_engine.errors import BudgetExceeded, VerificationError
from synth_engine.measurement import Noise
from synth_engine.measurement.session import Session
from synth_engine.privacy import receipt as receipts
from synth_engine.privacy import signing
from synth_engine.privacy.loss import ratio
from synth_engine.privacy.signing import SignedDocument
from synth_engine.relational import plan as plans
from synth_engine.relational import receipt as database_receipts
from synth_engine.verifier import standalone, statement
from tests import databases

Document = dict[str, Any]
MOST_TRIPS = databases.described().max_records(databases.described().table("trips"))
"""How many trips a home may have."""


def released(folder: Path, *, delta: Fraction) -> Document:
    databases.write(folder, databases.random_rows(homes=40))
    plan = plans.plan(databases.described(), epsilon=Fraction(1), delta=delta)
    answers = pipeline.measure_database(folder, plan=plan)
    built: Any = database_receipts.build(plan, answers, post_processing={})
    return built


def bound_of_trips(document: Document) -> int:
    """How many trips of a home the views hold: the declared maximum, or what the counts of units led to."""
    (bound,) = [
        view["unit"]["max_records"]
        for view in document["views"]
        if view["mechanism"]["parameters"]["view"] == "trips"
    ]
    return int(bound)


class Greedy(plans.ViewPlan):
    """The plan of a view that asks for a number of records at four fifths of what the whole database may
    cost."""

    def ask(self, session: Session) -> None:
        session.measure((), noise=Noise(law="discrete-laplace", scale=Fraction(5, 4)))


def test_a_view_that_asks_for_more_than_its_part_is_refused_although_the_database_has_it(
    tmp_path: Path,
) -> None:
    """The room of each view has the cap of that view: what the others leave unspent is not for this one."""
    databases.write(tmp_path, databases.random_rows(homes=5))
    plan = plans.plan(databases.described(), epsilon=Fraction(1), delta=Fraction(0))
    assert plan.units is not None
    view, own = plan.units
    greedy = Greedy(**{field.name: getattr(own, field.name) for field in fields(own)})
    with pytest.raises(BudgetExceeded):
        pipeline.measure_database(tmp_path, plan=replace(plan, units=(view, greedy)))


@pytest.fixture(scope="module")
def receipt(tmp_path_factory: pytest.TempPathFactory) -> Document:
    """Of a release whose noise led to a bound on the trips of a home below the declared four, as about nine
    in ten do."""
    for _ in range(20):
        document = released(tmp_path_factory.mktemp("real"), delta=Fraction(1, 10**9))
        if bound_of_trips(document) < MOST_TRIPS:
            return document
    raise AssertionError("twenty releases in a row learned no bound on the trips of a home")


@pytest.fixture(scope="module")
def pure(tmp_path_factory: pytest.TempPathFactory) -> Document:
    return released(tmp_path_factory.mktemp("pure"), delta=Fraction(0))


def sealed(receipt: Document) -> Document:
    """With the digest of what it holds now, as somebody would write it who changes it."""
    rest = {name: value for name, value in receipt.items() if name != "digest"}
    return rest | {"digest": receipts.digest(rest)}


@pytest.mark.parametrize("name", ["receipt", "pure"])
def test_both_verifiers_prove_the_claim(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    document = request.getfixturevalue(name)
    verified = verifier.verify_database(document, tables=databases.described().digest)
    assert Fraction(999, 1000) < verified.epsilon <= 1
    assert "at most 4 of trips" in verified.sentences[0]
    assert verifier.verify_any(document) == verified
    program = tmp_path / standalone.NAME
    program.write_text(standalone.text())
    path = tmp_path / "receipt.json"
    path.write_text(json.dumps(document))
    done = subprocess.run(
        [sys.executable, "-I", program, path], capture_output=True, text=True, check=True
    )
    assert done.stdout == verifier.report(verified)


def test_the_receipt_of_a_view_proves_nothing_about_the_database(receipt: Document) -> None:
    view = receipt["views"][2]
    verified = verifier.verify(view)
    assert verified.epsilon < 1
    assert any("one view of a database" in caveat for caveat in verified.caveats)
    with pytest.raises(VerificationError, match="no receipt of a database"):
        verifier.verify_database(view)


def test_the_receipt_of_other_tables_is_refused(receipt: Document) -> None:
    with pytest.raises(VerificationError, match="other tables"):
        verifier.verify_database(receipt, tables="0" * 64)


def without_a_view(document: Document) -> None:
    document["views"].pop()


def without_a_table(document: Document) -> None:
    document["tables"].pop()
    del document["views"][4:]


def one_view_twice(document: Document) -> None:
    document["views"][4] = document["views"][2]


def fewer_rows_of_a_unit(document: Document) -> None:
    document["tables"][1]["most"] = 1


def another_description(document: Document) -> None:
    document["tables"][2]["domain_sha256"] = "0" * 64


def no_pairs(document: Document) -> None:
    document["tables"][2]["siblings"] = "none"
    document["views"].pop()


def a_loop_of_keys(document: Document) -> None:
    document["tables"][1]["parent"] = "trips"


def a_smaller_cap(document: Document) -> None:
    (unit,) = document["cap"]
    document["cap"][unit] = ratio(Fraction(document["cap"][unit]) / 2)
    document["guarantee"]["rho"] = ratio(Fraction(document["guarantee"]["rho"]) / 2)


def a_smaller_epsilon(document: Document) -> None:
    document["guarantee"]["epsilon"] = "1/2"


def another_certificate(document: Document) -> None:
    document["guarantee"]["certificate"] = "basic"


def another_sentence(document: Document) -> None:
    document["guarantee"]["sentence"] = "Nobody can learn anything."


def a_view_without_its_cost(document: Document) -> None:
    view = document["views"][1]
    view["calls"] = view["calls"][:1]


def replaced_units(document: Document) -> None:
    document["relation"] = "replace-one"


def more_rows_of_a_unit_than_are_declared(document: Document) -> None:
    document["views"][4]["unit"]["max_records"] = 5


def without_the_view_of_units(document: Document) -> None:
    """Then a bound below the declared maximum comes from nowhere. Without such a bound, what is left would be
    the receipt of a run that did not measure this view, and as true as the whole one."""
    document["views"].pop(0)


def the_view_of_units_of_two_rows(document: Document) -> None:
    document["views"][0]["unit"]["max_records"] = 2


FORGERIES = [
    more_rows_of_a_unit_than_are_declared,
    without_the_view_of_units,
    the_view_of_units_of_two_rows,
    without_a_view,
    without_a_table,
    one_view_twice,
    fewer_rows_of_a_unit,
    another_description,
    no_pairs,
    a_loop_of_keys,
    a_smaller_cap,
    a_smaller_epsilon,
    another_certificate,
    another_sentence,
    a_view_without_its_cost,
    replaced_units,
]


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
def test_a_forged_receipt_is_refused(
    forge: Callable[[Document], None], receipt: Document
) -> None:
    document = copy.deepcopy(receipt)
    forge(document)
    with pytest.raises(VerificationError):
        verifier.verify_database(sealed(document))


def test_a_receipt_that_was_changed_is_refused(receipt: Document) -> None:
    with pytest.raises(VerificationError, match="digest"):
        verifier.verify_database({**receipt, "sample": {}})


def test_exact_counts_that_were_published_are_a_caveat(receipt: Document) -> None:
    assert not verifier.verify_database(receipt).caveats
    said = sealed(receipt | {"post_processing": {"outside_guarantee": "true"}})
    (caveat,) = verifier.verify_database(said).caveats
    assert "NO differential privacy holds" in caveat
    assert caveat in verifier.report(verifier.verify_database(said))


def test_looks_and_suggestions_are_said_as_of_one_table(receipt: Document) -> None:
    """With the words of a receipt of one table, whose verifier has them in one place."""
    said = sealed(
        receipt
        | {"post_processing": {"chosen_after_looking": "true", "suggestions_shown": "true"}}
    )
    verified = verifier.verify_database(said)
    assert verified.caveats == [statement.LOOKED_CAVEAT]
    assert {statement.LOOKED_CAVEAT, statement.SUGGESTIONS_SENTENCE} <= set(verified.sentences)
    assert not verifier.verify_database(receipt).caveats


def test_who_vouches_for_formulas_is_said_as_of_one_table(receipt: Document) -> None:
    said = sealed(receipt | {"post_processing": {"formulas_vouched_by": "A. Clerk, owner"}})
    sentence = statement.formulas_sentence("A. Clerk, owner")
    assert sentence in verifier.verify_database(said).sentences
    for voucher in ("", 7):
        forged = sealed(receipt | {"post_processing": {"formulas_vouched_by": voucher}})
        with pytest.raises(VerificationError, match="vouches"):
            verifier.verify_database(forged)


@pytest.mark.parametrize(
    ("kind", "caveat"),
    [
        (receipts.OUTSIDE, statement.OUTSIDE_CAVEAT),
        (receipts.LOOKED, statement.LOOKED_CAVEAT),
        (receipts.DESCRIBED, None),
    ],
)
def test_marks_and_signature_are_read_by_both_verifiers(
    receipt: Document, tmp_path: Path, kind: str, caveat: str | None
) -> None:
    raw = bytes(range(32))
    private = Ed25519PrivateKey.from_private_bytes(raw)
    public = private.public_key().public_bytes_raw()

    def sign(content: Mapping[str, object], schema: str) -> SignedDocument:
        return signing.sign(content, schema=schema, key=private)

    published: Any = receipt
    mark = receipts.mark(
        published, after=None, kind=kind, at="2030-01-01T00:00:00Z", text="So it is.", sign=sign
    )
    marked: Any = receipts.signed(receipts.with_marks(published, [mark]), sign)
    head = sign(receipts.ends(marked) | {"at": "2030-01-02T00:00:00Z"}, receipts.HEAD)
    verified = verifier.verify_any(marked, head=head, key=public, core=receipt["digest"])
    assert verified.caveats == ([] if caveat is None else [caveat])
    assert any(sentence.startswith("Mark 1, ") for sentence in verified.sentences)
    assert verified.signed_by and verified.core == receipt["digest"]
    program, path = tmp_path / "verify.py", tmp_path / "receipt.json"
    program.write_text(standalone.text())
    path.write_text(json.dumps(marked))
    ran = subprocess.run([sys.executable, program, path], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert (caveat is None) or caveat in ran.stdout
    for broken in (
        marked | {"marks": []},
        marked | {"marks": [mark | {"kind": "other"}]},
        {name: value for name, value in marked.items() if name != "seal"},
        {name: value for name, value in marked.items() if name != "marks"},
    ):
        with pytest.raises(VerificationError):
            verifier.verify_any(broken)
    with pytest.raises(VerificationError):
        verifier.verify_any(receipt, key=public)
