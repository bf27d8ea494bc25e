"""A description that is bought once: what is learned, where facts come from, and the chain of receipts."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synth_engine import cli, mechanisms, pipeline, verifier
from synth_engine.domain import Domain, Integer, Range, Scale, Weak
from synth_engine.domain.purchases import as_declared_after_looking
from synth_engine.errors import DomainError, InputError, SpecError, VerificationError
from synth_engine.measurement import Answers
from synth_engine.plans import description
from synth_engine.plans.description import DescriptionPlan
from synth_engine.privacy import receipt as receipts
from synth_engine.privacy.unit import Relation
from synth_engine.spec import Spec
from synth_engine.values import Listed
from synth_engine.verifier.purchases import check_purchases

ROWS = 5_000
COLUMNS = (
    Scale(name="age", of="integer"),
    Weak(name="word", values=Listed(list("abcdefghij")), rho=0.5),
    Range(name="pay", of="integer", low=0, high=100_000, bins=8),
    Integer(name="level", low=0, high=2),
)
DOMAIN = Domain(attributes=COLUMNS)


def request(*columns: str, epsilon: Fraction = Fraction(2)) -> Spec:
    return Spec(
        mechanism=description.MECHANISM, parameters={"columns": list(columns)}, epsilon=epsilon
    )


@dataclass(frozen=True, kw_only=True)
class Bought:
    plan: DescriptionPlan
    answers: Answers
    receipt: dict[str, Any]
    domain: Domain


def release_of(domain: Domain) -> dict[str, Any]:
    """The receipt of a release under a description, as JSON; nothing is read for it."""
    spec = Spec(mechanism="independent", epsilon=Fraction(1))
    plan = mechanisms.plan(domain, spec)
    return as_json(plan.receipt())


def as_json(document: Any) -> dict[str, Any]:
    stored: dict[str, Any] = json.loads(json.dumps(document))
    return stored


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(184)
    path = tmp_path_factory.mktemp("purchase") / "table.csv"
    pd.DataFrame(
        {
            "age": rng.integers(18, 90, ROWS),
            "word": rng.choice(list("abc"), ROWS),
            "pay": rng.integers(20_000, 60_000, ROWS),
            "level": rng.integers(0, 3, ROWS),
        }
    ).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def bought(table: Path) -> Bought:
    plan = description.plan(DOMAIN, request())
    answers = pipeline.measure(table, plan=plan)
    document = plan.receipt(answers)
    return Bought(
        plan=plan,
        answers=answers,
        receipt=as_json(document),
        domain=plan.described(answers, paid_by=document),
    )


def test_its_receipt_is_verified_and_costs_its_target(bought: Bought) -> None:
    verified = verifier.verify(bought.receipt)
    assert verified.epsilon <= 2
    assert bought.receipt["plan"]["cap"] == {"epsilon": "2/1"}
    assert bought.plan.cost("basic").epsilon == 2 * 10**9


def test_what_was_learned_is_bought_and_nothing_is_left_to_be_learned(bought: Bought) -> None:
    domain = bought.domain
    assert domain.undeclared == ()
    assert domain.attribute("age").facts["bounds"] == "bought"
    assert domain.attribute("word").facts == {
        "kind": "declared", "values": "bought", "missing": "declared",
    }  # fmt: skip
    (purchase,) = domain.bought
    assert (purchase.receipt, purchase.epsilon) == (bought.receipt["digest"], 2)
    assert purchase.columns == ("age", "word", "pay")
    again = Domain.from_json(as_json(domain.to_json()))
    assert (again, again.digest) == (domain, domain.digest)


def test_a_static_method_is_static_under_it_and_its_receipt_states_the_sum(
    bought: Bought,
) -> None:
    learning = mechanisms.plan(DOMAIN, Spec(mechanism="independent", epsilon=Fraction(1)))
    assert learning.kind == "adaptive"
    release = release_of(bought.domain)
    assert release["mechanism"]["kind"] == "static"
    verified = verifier.verify(release)
    assert verified.epsilon <= 1
    assert any(bought.receipt["digest"] in each for each in verified.caveats)
    assert "Together with this run that is epsilon = 3." in verified.caveats


def test_the_chain_of_receipts_is_verified(bought: Bought) -> None:
    release = release_of(bought.domain)
    (line,) = verifier.verify_purchases(release, [bought.receipt])
    assert bought.receipt["digest"] in line
    with pytest.raises(VerificationError, match="not those that the receipt names"):
        verifier.verify_purchases(release, [])
    with pytest.raises(VerificationError, match="not those that the receipt names"):
        verifier.verify_purchases(release, [release_of(bought.domain)])
    with pytest.raises(VerificationError, match="not those that the receipt names"):
        verifier.verify_purchases(release, [bought.receipt, bought.receipt])
    other = {**release, "relation": "replace-one"}
    with pytest.raises(VerificationError, match="another unit or relation"):
        verifier.verify_purchases(other, [bought.receipt])
    cheaper = as_json(release)
    cheaper["bought"][0]["epsilon"] = "1/1"
    with pytest.raises(VerificationError, match="cost more"):
        verifier.verify_purchases(cheaper, [bought.receipt])


def _without(document: dict[str, Any]) -> None:
    del document["bought"]


def _of_nothing(document: dict[str, Any]) -> None:
    facts = document["domain_facts"]
    facts["declared"] += facts.pop("bought")


def _cheaper(document: dict[str, Any]) -> None:
    document["bought"][0]["epsilon"] = "1/1"


def _twice(document: dict[str, Any]) -> None:
    document["bought"] *= 2


def _no_digest(document: dict[str, Any]) -> None:
    document["bought"][0]["receipt"] = "x"


@pytest.mark.parametrize("change", [_without, _of_nothing, _cheaper, _twice, _no_digest])
def test_a_release_that_states_other_purchases_is_refused(
    bought: Bought, change: Callable[[dict[str, Any]], None]
) -> None:
    document = copy.deepcopy(release_of(bought.domain))
    change(document)
    document = as_json(receipts.seal(document))  # type: ignore[arg-type]
    with pytest.raises(VerificationError):
        verifier.verify(document)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (_without, "the receipt does not name"),
        (_of_nothing, "the receipt does not name"),
        (_twice, "named twice"),
        (_no_digest, "has no receipt"),
    ],
)
def test_what_a_receipt_says_of_purchases_is_checked(
    bought: Bought, change: Callable[[dict[str, Any]], None], rule: str
) -> None:
    """By itself: the digest of the plan would refuse it as well."""
    document = copy.deepcopy(release_of(bought.domain))
    change(document)
    with pytest.raises(VerificationError, match=rule):
        check_purchases(document)


def test_a_purchase_that_asks_something_else_is_refused() -> None:
    """A release that calls itself a purchase: it counts no column by itself."""
    plan = mechanisms.plan(
        Domain.from_json({"a": 2, "b": 2}), Spec(mechanism="dpsyn", epsilon=Fraction(1))
    )
    document = as_json(plan.receipt())
    document["mechanism"]["id"] = description.MECHANISM
    with pytest.raises(VerificationError):
        verifier.verify(as_json(receipts.seal(document)))  # type: ignore[arg-type]


def test_chosen_columns_are_learned_and_the_others_stay(table: Path) -> None:
    plan = description.plan(DOMAIN, request("word"))
    answers = pipeline.measure(table, plan=plan)
    domain = plan.described(answers, paid_by=plan.receipt(answers))
    assert [each.name for each in domain.undeclared] == ["age", "pay"]
    assert [call.query.clique for call in answers.calls] == [("word",)]
    # A second purchase beside the first; a release under both names both.
    again = description.plan(domain, request("pay"))
    more = pipeline.measure(table, plan=again)
    both = again.described(more, paid_by=again.receipt(more))
    assert [each.columns for each in both.bought] == [("word",), ("pay",)]


def test_a_column_that_is_not_found_stays_to_be_learned(tmp_path: Path) -> None:
    path = tmp_path / "few.csv"
    path.write_text("age\n" + "50\n" * 3)
    domain = Domain(attributes=(Scale(name="age", of="integer"),))
    plan = description.plan(domain, request(epsilon=Fraction(1, 1000)))
    answers = pipeline.measure(path, plan=plan)
    document = plan.receipt(answers)
    assert document["post_processing"]["not_found"] == ["age"]
    assert plan.described(answers, paid_by=document) == domain
    verifier.verify(as_json(document))


@pytest.mark.parametrize(
    ("columns", "rule"), [(("level",), "not one of those"), (("nothing",), "not one of those")]
)
def test_a_column_that_is_declared_cannot_be_bought(
    columns: tuple[str, ...], rule: str
) -> None:
    with pytest.raises(SpecError, match=rule):
        description.plan(DOMAIN, request(*columns))


def test_nothing_is_bought_where_everything_is_declared() -> None:
    with pytest.raises(SpecError, match="every column is declared"):
        description.plan(Domain.from_json({"a": 2}), request())


def test_answers_of_another_run_make_no_description(bought: Bought) -> None:
    other = description.plan(DOMAIN, request(epsilon=Fraction(3)))
    with pytest.raises(InputError):
        other.described(bought.answers, paid_by=bought.plan.receipt(bought.answers))
    with pytest.raises(InputError, match="no model"):
        bought.plan.fit(bought.answers)


def test_a_fact_that_is_typed_after_looking_names_the_purchase(bought: Bought) -> None:
    typed = as_declared_after_looking(Integer(name="age", low=18, high=90))
    attributes = tuple(
        typed if each.name == "age" else each for each in bought.domain.attributes
    )
    domain = replace(bought.domain, attributes=attributes)
    assert domain.facts["declared-after-looking"] == 3
    verified = verifier.verify(release_of(domain))
    assert any(bought.receipt["digest"] in each for each in verified.caveats)


def test_facts_without_their_purchase_shape_no_run(bought: Bought) -> None:
    for domain in (replace(bought.domain, bought=()), _of_word_alone(bought.domain)):
        with pytest.raises(DomainError, match="without the run that paid"):
            release_of(domain)


def _of_word_alone(domain: Domain) -> Domain:
    (purchase,) = domain.bought
    return replace(domain, bought=(replace(purchase, columns=("word",)),))


def test_a_description_names_the_purchases_alone_that_its_columns_rest_on(
    bought: Bought,
) -> None:
    assert replace(DOMAIN, bought=bought.domain.bought).bought == ()
    fewer = replace(bought.domain, attributes=bought.domain.attributes[1:])
    assert fewer.bought[0].columns == ("word", "pay")
    with pytest.raises(DomainError, match="two purchases name one column"):
        replace(bought.domain, bought=bought.domain.bought * 2)
    (purchase,) = bought.domain.bought
    with pytest.raises(DomainError, match="digest of a receipt"):
        replace(bought.domain, bought=(replace(purchase, receipt="x"),))


def test_a_release_under_another_relation_is_not_the_same(bought: Bought) -> None:
    """The description that was bought says whom it protects; another relation is another description."""
    other = replace(bought.domain, relation=Relation.REPLACE_ONE)
    with pytest.raises(VerificationError, match="another unit or relation"):
        verifier.verify_purchases(release_of(other), [bought.receipt])


def test_the_command_line_learns_and_the_verifier_goes_through_the_chain(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked, learned = tmp_path / "domain.json", tmp_path / "learned.json"
    receipt, answers = tmp_path / "receipt.json", tmp_path / "answers.npz"
    asked.write_text(json.dumps(DOMAIN.to_json()))
    words = ["learn", table, "--domain", asked, "--epsilon", "2", "--column", "word"]
    words += ["--out", learned, "--receipt", receipt, "--answers", answers]
    assert cli.main(list(map(str, words))) == 0
    assert Domain.from_json(json.loads(learned.read_text())).bought[0].columns == ("word",)
    words = ["verify", receipt, "--domain", asked, "--answers", answers]
    assert cli.main(list(map(str, words))) == 0
    released = tmp_path / "released.json"
    words = ["synthesize", table, "--domain", learned, "--mechanism", "random"]
    words += ["--epsilon", "1", "--out", tmp_path / "out.csv", "--receipt", released]
    assert cli.main(list(map(str, words))) == 0
    words = ["verify", released, "--bought", receipt]
    assert cli.main(list(map(str, words))) == 0
    printed = capsys.readouterr().out
    assert "Together with this run that is epsilon = 3." in printed
    assert "Recomputed from its receipt" in printed


def test_a_rule_about_a_text_that_was_not_found_does_not_stop_what_was_paid_for(
    table: Path,
) -> None:
    """Which texts are found is noise: a rule that names another one is left out of releases, as of learned
    columns."""
    never = {"kind": "impossible", "columns": {"word": ["j"], "level": ["2"]}}
    document = as_json(DOMAIN.to_json()) | {"constraints": [never]}
    plan = description.plan(Domain.from_json(document), request())
    answers = pipeline.measure(table, plan=plan)
    described = plan.described(answers, paid_by=plan.receipt(answers))
    assert "j" not in described.attribute("word").values
    release_of(described)


def test_a_column_is_bought_once(bought: Bought) -> None:
    """Whoever opens a bought column again has seen what was learned of it."""
    with pytest.raises(SpecError, match="every column is declared"):
        description.plan(bought.domain, request())
    opened = as_declared_after_looking(Scale(name="age", of="integer", low=0, high=200))
    again = replace(
        bought.domain,
        attributes=tuple(
            opened if each.name == "age" else each for each in bought.domain.attributes
        ),
    )
    assert [each.name for each in again.undeclared] == ["age"]
    with pytest.raises(SpecError):
        description.plan(again, request("age"))


def test_caveats_of_a_purchase_are_said(bought: Bought) -> None:
    looked = as_json(bought.plan.receipt(bought.answers, chosen_after_looking=True))
    domain = bought.plan.described(bought.answers, paid_by=looked)  # type: ignore[arg-type]
    lines = verifier.verify_purchases(release_of(domain), [looked])
    assert [line for line in lines if line.startswith("Of that purchase: ")]
