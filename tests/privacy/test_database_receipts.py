"""The receipt of a database: both verifiers accept it, and refuse whatever is missing, exchanged or claimed too low."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from synth_engine import pipeline, verifier
from synth_engine.errors import VerificationError
from synth_engine.privacy import receipt as receipts
from synth_engine.privacy.loss import ratio
from synth_engine.relational import plan as plans
from synth_engine.relational import receipt as database_receipts
from synth_engine.verifier import standalone
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


@pytest.fixture(scope="module")
def receipt(tmp_path_factory: pytest.TempPathFactory) -> Document:
    """Of a release whose noise led to a bound on the trips of a home below the declared four, as about nine in ten do."""
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
    """Then a bound below the declared maximum comes from nowhere. Without such a bound, what is left would be the receipt of a run that
    did not measure this view, and as true as the whole one."""
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
