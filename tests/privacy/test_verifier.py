"""The verifier accepts honest receipts and refuses each kind of tampering, digests renewed by the forger."""

from __future__ import annotations

import ast
import contextlib
import copy
import hashlib
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth_engine import mechanisms, verifier
from synth_engine.domain import Domain
from synth_engine.errors import VerificationError
from synth_engine.measurement import Noise
from synth_engine.mechanisms import Plan
from synth_engine.plans.description import LearnDescription
from synth_engine.privacy import conversion, events, receipt
from synth_engine.privacy.unit import PrivacyUnit, Relation, Spelling
from synth_engine.room.session import open_session
from synth_engine.spec import Spec
from synth_engine.verifier import standalone
from tests.privacy import exact
from tests.privacy.exact import domain_of
from tests.privacy.golden_receipts import FOLDER, GOLDEN, SCHEMA

Document = dict[str, Any]
DELTA = Fraction(1, 10**9)
TABLE = ((0, 0), (1, 1))


def honest(
    delta: Fraction = Fraction(0),
    *,
    domain: Domain | None = None,
    epsilon: Fraction = Fraction(1),
    noise: str = "by-delta",
) -> Document:
    """A receipt of a real run, with the real sampler."""
    chosen = domain or domain_of(2, 3)
    spec = Spec(
        mechanism="independent", epsilon=epsilon, delta=delta, parameters={"noise": noise}
    )
    plan = mechanisms.plan(chosen, spec)
    room = open_session(exact.rows_of(TABLE, chosen), domain=chosen, cap=plan.loss)
    sample = receipt.Sample(
        rows=10, seed_commitment=receipt.seed_commitment("a secret"), table_sha256="0" * 64
    )
    return plan.receipt(
        plan.run(room), sample=sample, post_processing={"model": "synth_engine/model/1"}
    )


def adaptive(cap: dict[str, str] | None = None, *, delta: Fraction = DELTA) -> Document:
    """A receipt of a selection followed by a measurement of what was selected, under a cap."""
    rho = conversion.rho_for(Fraction(1), DELTA)
    calls: list[tuple[dict[str, Any], events.Event]] = [
        (
            {"verb": "select", "clique": [], "candidates": [["a"], ["b"]], "cells": 5},
            events.Gumbel(scale=Fraction(32), linf=1),
        ),
        (
            {"verb": "measure", "clique": ["b"], "cells": 3},
            events.DiscreteGaussian(sigma_squared=Fraction(64), l2_squared=1),
        ),
    ]
    document = receipt.build(
        plan=receipt.PlanStatement(
            mechanism="bayesian-network",
            parameters={"degree": 2},
            kind="adaptive",
            digest="1" * 64,
            cap=cap or {"rho": f"{rho.numerator}/{rho.denominator}"},
            target=(Fraction(1), delta),
        ),
        domain=receipt.DomainStatement(
            relation=Relation.ADD_REMOVE,
            unit=PrivacyUnit(),
            invariants=[],
            digest="2" * 64,
            facts={"declared": 3},
        ),
        guarantee=receipt.Guarantee(
            epsilon=Fraction(1), delta=delta, rho=rho, certificate="zcdp"
        ),
        run=receipt.RunStatement(calls=calls, answers_digest="3" * 64),
    )
    return resealed(document)


def canonical_sha256(obj: object) -> str:
    return hashlib.sha256(
        json.dumps(obj, sort_keys=True, separators=(",", ":")).encode()
    ).hexdigest()


def resealed(document: Document) -> Document:
    """What a forger does who knows the format: every digest fits again."""
    document = copy.deepcopy(document)
    if document["mechanism"]["kind"] == "static":
        document["plan"]["calls_sha256"] = canonical_sha256(document["calls"])
    with contextlib.suppress(
        TypeError, KeyError, AttributeError
    ):  # of what is too garbled to have a plan
        document["plan"]["sha256"] = canonical_sha256(planned(document))
    document["digest"] = core_sha256(document)
    return document


def core_sha256(document: Document) -> str:
    """The digest of a receipt: over the core alone, without sample, marks and signature."""
    rest = {k: v for k, v in document.items() if k not in ("digest", "marks", "seal")}
    return canonical_sha256(rest | {"sample": None})


def planned(document: Document) -> Document:
    """What the plan's digest covers, as the receipt shows it."""
    calls = document["calls"] if document["mechanism"]["kind"] == "static" else []
    named = {part: document[part] for part in ("relation", "unit", "invariants")} | {
        "facts": document["domain_facts"]
    }
    return {
        "schema": "synth_engine/plan/3",
        "mechanism": document["mechanism"]["id"],
        "parameters": document["mechanism"]["parameters"],
        "domain": document["domain_sha256"],
        "target": [document["target"]["epsilon"], document["target"]["delta"]],
        "calls": [
            {"query": call["query"], "event": {**call["noise"], **call["sensitivity"]}}
            for call in calls
        ],
        "cap": document["plan"]["cap"],
        "certificate": document["guarantee"]["certificate"],
        **named,
    }


def changed(document: Document, path: str, value: object) -> Document:
    """A copy with the value at a path like "calls.0.cost.epsilon" replaced; `DROP` removes it."""
    document = copy.deepcopy(document)
    *parents, last = path.split(".")
    holder: Any = document
    for key in parents:
        holder = holder[int(key) if isinstance(holder, list) else key]
    if value is DROP:
        del holder[int(last) if isinstance(holder, list) else last]
    else:
        holder[int(last) if isinstance(holder, list) else last] = value
    return document


DROP = "(left out)"


def _name(value: object) -> str:
    """What a test is called: the same in every process, so that they can share the work."""
    return "dropped" if value is DROP else str(value)[:40]


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("records", [1, 3])
@pytest.mark.parametrize("delta", [Fraction(0), DELTA])
def test_an_honest_receipt_is_accepted_and_recomputed(
    relation: Relation, records: int, delta: Fraction
) -> None:
    document = json.loads(
        json.dumps(
            honest(delta, domain=domain_of(2, 3, relation=relation, max_records=records))
        )
    )
    found = verifier.verify(document)
    assert Fraction(998, 1000) <= found.epsilon <= 1
    assert found.delta == delta
    assert found.certificate == document["guarantee"]["certificate"]
    assert found.plan == canonical_sha256(planned(document))
    assert str(found.rho.numerator) in document["guarantee"]["rho"]
    assert document["guarantee"]["sentence"] in found.sentences


def test_an_adaptive_receipt_is_accepted_at_its_cap_whatever_was_left() -> None:
    found = verifier.verify(adaptive())
    assert Fraction(999_999, 10**6) <= found.epsilon <= 1


def test_the_verified_rho_is_what_the_ledger_holds() -> None:
    domain = domain_of(2, 3)
    plan = mechanisms.plan(
        domain, Spec(mechanism="independent", epsilon=Fraction(1), delta=DELTA)
    )
    found = verifier.verify(honest(DELTA, domain=domain))
    assert plan.cost("zcdp") == (0, 0, found.rho * 10**9)
    assert plan.cost("basic") == (10**9, 10**9, 0)


@pytest.mark.slow
@settings(max_examples=40)
@given(
    st.fractions(min_value=Fraction(1, 10**4), max_value=1000, max_denominator=10**6),
    st.one_of(st.just(Fraction(0)), st.integers(1, 18).map(lambda p: Fraction(1, 10**p))),
    st.sampled_from(list(Relation)),
)
def test_every_plan_gives_a_receipt_that_verifies(
    epsilon: Fraction, delta: Fraction, relation: Relation
) -> None:
    document = honest(delta, epsilon=epsilon, domain=domain_of(2, 3, relation=relation))
    assert verifier.verify(document).epsilon <= epsilon + Fraction(1, 10**12)


PURE: list[tuple[str, object, str]] = [
    ("calls.0.noise.law", "laplace", "unknown law"),
    ("calls.0.noise.law", "discrete-gaussian", "another kind of sensitivity"),
    ("calls.0.noise.law", "permute-and-flip", "does not fit its verb"),
    ("calls.0.query.verb", "peek", "unknown verb"),
    ("calls.0.query.clique", [], "names no columns"),
    ("calls.0.query.clique", ["a", "a"], "twice"),
    ("calls.0.query.cells", 0, "malformed"),
    ("calls.1.query.clique", [], "names no columns"),
    ("calls.0.query.cells", True, "malformed"),
    ("calls.0.cost.epsilon", "1/1000", "cost of call 1"),
    ("calls.0.cost.rho", "1/1000", "cost of call 1"),
    ("calls.0.cost.epsilon", DROP, "cost of call 1"),
    ("calls.0.cost.extra", "1/2", "cost of call 1"),
    ("calls.0.noise.scale", "1000/1", "cost of call 1"),
    ("calls.0.noise.scale", 2.5, "ratio"),
    ("calls.0.noise.scale", "2.5", "ratio"),
    ("calls.0.noise.scale", "5/0", "ratio"),
    ("calls.0.noise.scale", "-5/2", "ratio"),
    ("calls.0.noise.scale", "10/4", "lowest terms"),
    ("calls.0.noise.scale", "1/3", "draw exactly"),
    ("calls.0.noise.scale", "９/2", "ratio"),
    ("calls.0.noise.seed", "1", "missing or unknown parts"),
    ("calls.0.sensitivity.l1", 0, "unit and relation"),
    ("calls.0.sensitivity.l1", 2, "unit and relation"),
    ("calls.0.sensitivity.l1", 1.0, "kind of sensitivity"),
    ("calls.0.sensitivity.l1", True, "kind of sensitivity"),
    ("calls.0.sensitivity", {"linf": 1}, "kind of sensitivity"),
    ("calls.0", "nothing", "call 1"),
    ("calls", [], "no call"),
    ("calls", {}, "wrong type"),
    ("calls.0.more", {}, "call 1"),
    ("relation", "replace-one", "unit and relation"),
    ("relation", "friends", "relation is unknown"),
    ("unit.max_records", 2, "unit and relation"),
    ("unit.max_records", 0, "unit is malformed"),
    ("unit.max_records", True, "unit is malformed"),
    ("unit.column", 3, "unit is malformed"),
    ("unit.column", "person", "sentence"),
    ("invariants", ["rows"], "invariant"),
    ("invariants", ["income"], "invariant is unknown"),
    ("guarantee.epsilon", "1/2", "below what the calls add up to"),
    ("guarantee.epsilon", "999999/1000000", "below what the calls add up to|sentence"),
    ("guarantee.epsilon", "2/1", "weaker than the target"),
    ("guarantee.epsilon", 1, "ratio"),
    ("guarantee.epsilon", 1.0, "ratio"),
    ("guarantee.rho", "1/1000", "claimed rho"),
    ("guarantee.rho", "1/1", "claimed rho"),
    ("guarantee.delta", "1/1000", "weaker than the target"),
    ("guarantee.sentence", "Perfectly anonymous.", "sentence"),
    ("target.epsilon", "1/2", "weaker than the target"),
    ("mechanism.kind", "adaptive", "needs a cap"),
    ("mechanism.kind", "unknown", "static or adaptive"),
    ("mechanism.id", 7, "mechanism is malformed"),
    ("plan.cap", {"epsilon": "1/1"}, "fixed beforehand"),
    ("schema", "synthweb/receipt/5", "unknown version"),
    ("schema", "synthweb/receipt/3", "unknown version"),
    ("mechanism.id", "a method", "mechanism is malformed"),
    ("mechanism.id", "A-Method", "mechanism is malformed"),
    ("mechanism.id", "independent-", "mechanism is malformed"),
    ("mechanism.id", "", "mechanism is malformed"),
    ("mechanism.id", "a" * 65, "mechanism is malformed"),
    ("mechanism.id", "bayesian-network", "static or adaptive"),
    ("mechanism.id", "random", "not the ones that this mechanism makes"),
    ("guarantee.certificate", "zcdp", "needs a delta"),
    ("guarantee.certificate", "pld", "needs a delta"),
    ("guarantee.certificate", "renyi", "certificate is unknown"),
    ("guarantee.certificate", None, "certificate is unknown"),
    ("guarantee.certificate", ["basic"], "certificate is unknown"),
    ("guarantee.certificate", DROP, "missing or unknown parts"),
    ("domain_facts.suggested", 1, "suggested"),
    ("domain_facts.declared", -1, "domain facts"),
    ("domain_sha256", "not a digest", "SHA-256"),
    ("sample.rows", -1, "rows"),
    ("sample.rows", 2.0, "rows"),
    ("sample.seed", "shown as well", "either its seed"),
    ("sample.seed_commitment", DROP, "either its seed"),
    ("sample.seed_commitment", "short", "SHA-256"),
    ("sample.table_sha256", 7, "SHA-256"),
    ("sample.note", "x", "unknown parts"),
    ("chosen_after_looking", 0, "wrong type"),
    ("chosen_after_looking", DROP, "missing or unknown fields"),
    ("suggestions_shown", 12, "wrong type"),
    ("ranges_after_looking", ["age"], "wrong type"),
    ("outside_guarantee", "yes", "wrong type"),
    ("note", "trust me", "missing or unknown fields"),
    ("guarantee.note", "trust me", "missing or unknown parts"),
    ("mechanism.parameters", {"x": float("nan")}, "plain JSON"),
]


@pytest.mark.parametrize(("path", "value", "reason"), PURE, ids=_name)
def test_a_tampered_pure_receipt_is_refused(path: str, value: object, reason: str) -> None:
    document = changed(honest(), path, value)
    with pytest.raises(VerificationError, match=reason):
        verifier.verify(resealed(document))


GAUSSIAN: list[tuple[str, object, str]] = [
    ("calls.0.noise.sigma_squared", "2/1", "draw exactly"),
    ("calls.0.noise.sigma_squared", "1/9", "draw exactly"),
    ("calls.0.noise.sigma_squared", "4/1", "cost of call 1"),
    ("calls.0.noise.sigma_squared", 4.0, "ratio"),
    ("calls.0.sensitivity.l2_squared", 4, "unit and relation"),
    ("calls.0.cost.epsilon", "1/10", "cost of call 1"),
    ("guarantee.delta", "0/1", "needs a delta"),
    ("guarantee.delta", "1/1000000000000", "below what the calls add up to"),
    ("guarantee.delta", "1/1", "needs a delta"),
    ("guarantee.epsilon", "9/10", "below what the calls add up to"),
    ("guarantee.epsilon", "0/1", "not what privacy-loss distributions"),
    ("guarantee.epsilon", "1" + "0" * 500 + "/1", "above what the verifier computes with"),
    ("guarantee.certificate", "basic", "without a pure guarantee"),
    ("guarantee.certificate", "zcdp", "below what the calls add up to"),
    ("relation", "replace-one", "unit and relation"),
]


@pytest.mark.parametrize(("path", "value", "reason"), GAUSSIAN, ids=_name)
def test_a_tampered_gaussian_receipt_is_refused(path: str, value: object, reason: str) -> None:
    document = changed(honest(DELTA, noise="gaussian"), path, value)
    assert honest(DELTA, noise="gaussian")["guarantee"]["certificate"] == "pld"
    with pytest.raises(VerificationError, match=reason):
        verifier.verify(resealed(document))


ADAPTIVE: list[tuple[str, object, str]] = [
    ("calls.0.noise.monotonic", True, "monotonic"),
    ("calls.0.noise.law", "permute-and-flip", "cost of call 1"),
    ("calls.0.query.candidates", [], "malformed"),
    ("calls.0.sensitivity.linf", 2, "unit and relation"),
    ("plan.cap", None, "cap"),
    ("plan.cap", {"rho": "1/1000"}, "pass the cap"),
    ("plan.cap", {"rho": "1/1"}, "below what the calls add up to"),
    ("plan.cap", {"rho": 0.01}, "ratio"),
    ("plan.cap", {"epsilon": "1/1"}, "pass the cap"),
    ("plan.cap", {"epsilon": "1/1", "rho": "1/1"}, "cap is malformed"),
    ("plan.calls_sha256", "0" * 64, "cap"),
    ("mechanism.kind", "static", "static or adaptive"),
    ("mechanism.id", "independent", "not the ones that this mechanism makes"),
    ("guarantee.certificate", "pld", "no adaptive mechanism"),
    ("guarantee.certificate", "basic", "without a pure guarantee"),
]


@pytest.mark.parametrize(("path", "value", "reason"), ADAPTIVE, ids=_name)
def test_a_tampered_adaptive_receipt_is_refused(path: str, value: object, reason: str) -> None:
    with pytest.raises(VerificationError, match=reason):
        verifier.verify(resealed(changed(adaptive(), path, value)))


def test_a_pure_cap_below_what_its_calls_cost_is_refused() -> None:
    domain = domain_of(2, 3)
    plan = mechanisms.plan(domain, Spec(mechanism="mst", epsilon=Fraction(1)))
    room = open_session(exact.rows_of(TABLE, domain), domain=domain, cap=plan.loss)
    document = json.loads(json.dumps(plan.receipt(plan.run(room))))
    verifier.verify(document)
    assert set(document["plan"]["cap"]) == {"epsilon"}
    with pytest.raises(VerificationError, match="pass the cap"):
        verifier.verify(resealed(changed(document, "plan.cap", {"epsilon": "1/1000"})))


def test_a_call_left_out_is_refused() -> None:
    with pytest.raises(VerificationError, match="claimed rho"):
        verifier.verify(resealed(changed(honest(), "calls.1", DROP)))


def test_a_call_run_twice_is_refused() -> None:
    document = honest()
    document["calls"].append(copy.deepcopy(document["calls"][0]))
    with pytest.raises(VerificationError, match="not the ones that this mechanism makes"):
        verifier.verify(resealed(document))
    document["calls"][-1]["query"]["clique"] = ["c"]
    with pytest.raises(VerificationError, match="below what the calls add up to"):
        verifier.verify(resealed(document))


@pytest.mark.parametrize("path", ["answers_sha256", "domain_sha256", "digest"])
def test_a_changed_digest_is_refused(path: str) -> None:
    with pytest.raises(VerificationError, match="digest does not match"):
        verifier.verify(changed(honest(), path, "f" * 64))


def test_the_calls_of_a_static_mechanism_are_bound_to_the_plan() -> None:
    document = honest()
    document["calls"].reverse()
    document["digest"] = core_sha256(document)
    with pytest.raises(VerificationError, match="fixed beforehand"):
        verifier.verify(document)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("mechanism.parameters", {"noise": "laplace"}),
        ("domain_sha256", "f" * 64),
        ("target.epsilon", "2/1"),
        ("plan.sha256", "f" * 64),
        ("plan.sha256", None),
        ("guarantee.certificate", "zcdp"),
    ],
    ids=_name,
)
def test_what_the_run_was_paid_for_cannot_be_changed_afterwards(
    path: str, value: object
) -> None:
    """The digest of the plan is in the ledger; here the forger renews every digest but that one."""
    document = changed(honest(), path, value)
    document["digest"] = core_sha256(document)
    with pytest.raises(VerificationError, match=r"digest of the plan|plan has no SHA-256"):
        verifier.verify(document)


@pytest.mark.parametrize("delta", [Fraction(0), DELTA])
@pytest.mark.parametrize(
    "mechanism", [name for name, m in mechanisms.REGISTRY.items() if not m.takes_open]
)
def test_the_digest_of_a_plan_follows_from_its_receipt(mechanism: str, delta: Fraction) -> None:
    domain = domain_of(2, 3)
    plan = mechanisms.plan(domain, Spec(mechanism=mechanism, epsilon=Fraction(1), delta=delta))
    document = json.loads(json.dumps(_receipt_of(plan, TABLE)))
    assert verifier.verify(document).plan == plan.digest == canonical_sha256(planned(document))


def test_the_verifier_is_right_about_the_mechanisms_that_it_lists() -> None:
    assert len(verifier.KINDS) >= 16
    # A description that is bought is no method, and is planned by itself.
    planned = mechanisms.REGISTRY | {LearnDescription.id: LearnDescription}
    for name, kind in verifier.KINDS.items():
        assert planned[name].kind == kind


def renamed(document: Document) -> Document:
    return resealed(changed(document, "mechanism.id", "a-later-method"))


def test_a_receipt_of_an_unlisted_mechanism_is_judged_by_its_calls() -> None:
    for document in (honest(), honest(DELTA, noise="gaussian"), adaptive()):
        listed, unlisted = verifier.verify(document), verifier.verify(renamed(document))
        assert (unlisted.epsilon, unlisted.delta, unlisted.rho) == (
            listed.epsilon,
            listed.delta,
            listed.rho,
        )


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        ("mechanism.kind", "adaptive", "needs a cap"),
        ("calls.0.query.verb", "select", "call 1|cost|sensitivity"),
        ("calls.0.query.clique", [], "call 1|not the ones that this mechanism makes"),
        ("calls.0.cost.epsilon", "1/100", "cost of call 1"),
        ("guarantee.epsilon", "1/2", "below what the calls add up to"),
    ],
    ids=_name,
)
def test_no_name_makes_a_static_receipt_claim_less_than_its_calls(
    path: str, value: object, reason: str
) -> None:
    with pytest.raises(VerificationError, match=reason):
        verifier.verify(renamed(changed(honest(), path, value)))


def test_an_adaptive_receipt_of_an_unlisted_mechanism_does_not_pass_for_a_static_one() -> None:
    """The choices of an adaptive run are refused under any name; `resealed` renews the digest of its
    calls."""
    document = changed(changed(adaptive(), "mechanism.kind", "static"), "plan.cap", None)
    for name in ("a-later-method", "dpsyn"):
        with pytest.raises(VerificationError, match="not the ones that this mechanism makes"):
            verifier.verify(resealed(changed(document, "mechanism.id", name)))


def test_tables_that_overlap_are_refused_of_an_unlisted_static_mechanism() -> None:
    document = honest()
    document["calls"].append(copy.deepcopy(document["calls"][0]))
    for name in ("a-later-method", "dpsyn"):
        with pytest.raises(VerificationError, match="not the ones that this mechanism makes"):
            verifier.verify(resealed(changed(document, "mechanism.id", name)))


def test_an_unlisted_mechanism_that_runs_under_a_cap_may_not_spend_more_than_it() -> None:
    document = renamed(adaptive())
    (kind,) = document["plan"]["cap"]
    with pytest.raises(VerificationError):
        verifier.verify(resealed(changed(document, f"plan.cap.{kind}", "1/1000000")))


RECEIPTS = {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))}


def of_half_the_epsilon(document: Document) -> Document:
    half = Fraction(document["guarantee"]["epsilon"]) / 2
    return resealed(
        changed(document, "guarantee.epsilon", f"{half.numerator}/{half.denominator}")
    )


@pytest.mark.parametrize("name", GOLDEN)
def test_a_stored_receipt_verifies_and_reaches_its_target(name: str) -> None:
    """It claims nearly all that was asked for and no more."""
    document, golden = RECEIPTS[f"{name}-4"], GOLDEN[name]
    assert document["schema"] == SCHEMA
    target, found = golden.epsilon, verifier.verify(document)
    # A distribution of losses is computed on a grid, and rounded up.
    nearly = Fraction(999, 1000) if golden.certificate == "pld" else Fraction(999_999, 10**6)
    assert target * nearly <= found.epsilon <= target
    assert (found.delta, found.certificate) == (golden.delta, golden.certificate)


@pytest.mark.parametrize("name", GOLDEN)
def test_a_stored_receipt_that_is_forged_is_refused(name: str) -> None:
    document = RECEIPTS[f"{name}-4"]
    with pytest.raises(VerificationError, match="below what"):
        verifier.verify(of_half_the_epsilon(document))
    with pytest.raises(VerificationError, match="missing or unknown parts"):
        verifier.verify(resealed(changed(document, "guarantee.certificate", DROP)))


@pytest.mark.parametrize("name", GOLDEN)
@pytest.mark.parametrize("version", [1, 2, 3, 5])
def test_a_receipt_of_another_version_is_refused(name: str, version: int) -> None:
    other = RECEIPTS[f"{name}-4"] | {"schema": f"synthweb/receipt/{version}"}
    with pytest.raises(VerificationError, match="unknown version"):
        verifier.verify(resealed(other))


def test_there_are_stored_receipts_of_both_kinds_and_by_every_rule() -> None:
    assert RECEIPTS.keys() == {*(f"{name}-4" for name in GOLDEN), "independent-lattice-4"}
    rules: dict[str, set[str]] = {"static": set(), "adaptive": set()}
    for document in RECEIPTS.values():
        rules[document["mechanism"]["kind"]].add(document["guarantee"]["certificate"])
    assert rules == {"static": {"basic", "pld"}, "adaptive": {"basic", "zcdp", "gdp"}}


def test_a_receipt_that_adds_up_mu_squared_cannot_leave_its_rule_or_its_cap() -> None:
    document = RECEIPTS["auto-gdp-4"]
    for rule in ("zcdp", "pld", "basic"):
        with pytest.raises(VerificationError):
            verifier.verify(resealed(changed(document, "guarantee.certificate", rule)))
    ((name, cap),) = document["plan"]["cap"].items()
    less = Fraction(cap) * Fraction(999, 1000)
    with pytest.raises(VerificationError):
        verifier.verify(
            resealed(
                changed(document, f"plan.cap.{name}", f"{less.numerator}/{less.denominator}")
            )
        )
    by_bins = next(at for at, call in enumerate(document["calls"]) if "bins" in call["query"])
    with pytest.raises(VerificationError, match="the bins of call"):
        verifier.verify(resealed(changed(document, f"calls.{by_bins}.query.bins", [2, 2])))


@pytest.mark.parametrize("mechanism", ["independent", "dpsyn"])
def test_bins_that_no_plan_fixed_are_refused_of_a_static_mechanism(mechanism: str) -> None:
    """The digest of a plan says how many bins a table has, and not which; for that a run has to be
    adaptive."""
    plan = mechanisms.plan(domain_of(2, 3), Spec(mechanism=mechanism, epsilon=Fraction(1)))
    document = json.loads(json.dumps(_receipt_of(plan, TABLE)))
    verifier.verify(document)
    query = document["calls"][0]["query"]
    query["bins"] = [query["cells"], *[1] * (len(query["clique"]) - 1)]
    document["plan"]["calls_sha256"] = canonical_sha256(document["calls"])
    with pytest.raises(VerificationError, match="bins would have to be fixed"):
        verifier.verify(resealed(document))


def test_who_is_protected_cannot_be_changed_after_the_run_was_paid_for() -> None:
    """The calls of an adaptive run are not fixed beforehand, so nothing but the plan ties them to unit and
    relation."""
    unit = PrivacyUnit(max_records=3)
    domain = Domain(
        attributes=domain_of(2, 3).attributes, unit=unit, relation=Relation.REPLACE_ONE
    )
    plan = mechanisms.plan(domain, Spec(mechanism="bayesian-network", epsilon=Fraction(1)))
    forged = plan.receipt(
        plan.run(open_session(exact.rows_of(TABLE, domain), domain=domain, cap=plan.loss))
    )
    paid_for = verifier.verify(forged).plan
    forged["relation"], forged["unit"] = "add-remove", {"max_records": 1, "column": None}
    for call in forged["calls"]:
        [(name, moved)] = call["sensitivity"].items()
        epsilon = Fraction(call["cost"]["epsilon"]) / moved
        call["sensitivity"] = {name: 1}
        call["cost"] = {"epsilon": receipt.ratio(epsilon), "rho": receipt.ratio(epsilon**2 / 2)}
    forged["guarantee"]["sentence"] = (
        "epsilon = 1 differential privacy for one record added or removed."
    )
    forged = receipt.seal(forged)
    with pytest.raises(VerificationError, match="digest of the plan"):
        verifier.verify(forged)
    assert (
        verifier.verify(resealed(forged)).plan != paid_for
    )  # another plan: the ledger has no hold for it


def test_where_the_facts_of_a_domain_come_from_cannot_be_changed_afterwards() -> None:
    forged = receipt.seal({**honest(), "domain_facts": {"public-file": 7}})
    with pytest.raises(VerificationError, match="digest of the plan"):
        verifier.verify(forged)


@pytest.mark.parametrize(
    "document", [None, [], "receipt", {}, {"schema": "synthweb/receipt/4"}]
)
def test_something_else_than_a_receipt_is_refused(document: object) -> None:
    with pytest.raises(VerificationError):
        verifier.verify(document)  # type: ignore[arg-type]


@pytest.mark.slow
@settings(max_examples=200)
@given(st.data())
def test_a_receipt_with_any_one_leaf_garbled_is_refused_or_unharmed_and_never_crashes(
    data: st.DataObject,
) -> None:
    document = honest()
    leaves = [
        path
        for path, _ in _leaves(document)
        if not path.startswith(("digest", "versions", "post_processing"))
    ]
    path = data.draw(st.sampled_from(leaves))
    value = data.draw(
        st.sampled_from(
            [None, 0, -1, 2**70, 0.5, True, "", "0/1", "1/2", "9" * 5000 + "/1", [], {}, [None]]
        )
    )
    try:
        found = verifier.verify(resealed(changed(document, path, value)))
    except VerificationError:
        return
    assert Fraction(998, 1000) <= found.epsilon <= 1


def test_what_was_shown_is_said_and_what_is_drawn_later_stands_beside_the_core() -> None:
    document = honest()
    shown = receipt.mark_suggestions_shown(document)
    assert any(
        sentence.startswith("Suggestions read from the data")
        for sentence in verifier.verify(shown).sentences
    )
    assert (
        shown["suggestions_shown"] is True
    )  # that they were shown, and never how many facts equal one
    assert not any("uggestion" in sentence for sentence in verifier.verify(document).sentences)
    changed_later = receipt.mark_ranges_after_looking(document)
    assert any("histogram" in each for each in verifier.verify(changed_later).sentences)
    drawn = receipt.with_sample(document, receipt.Sample(rows=5, seed="public"))
    verifier.verify(drawn)
    assert {k for k in document if document[k] != drawn[k]} == {"sample"}


def test_exact_counts_that_were_published_are_a_caveat_of_core_and_mark() -> None:
    document = honest()
    assert not verifier.verify(document).caveats and not receipt.is_outside(document)
    said = receipt.mark_outside(document)
    (caveat,) = verifier.verify(said).caveats
    assert "NO differential privacy holds" in caveat and receipt.is_outside(said)
    mark = receipt.mark(
        document,
        after=None,
        kind=receipt.OUTSIDE,
        at="2026-11-26T12:00:00Z",
        text="Exact counts of the same table were published.",
    )
    marked = receipt.with_marks(document, [mark])
    assert verifier.verify(marked).caveats == [caveat] and receipt.is_outside(marked)
    # The core of a release that was made before stays as it was cited.
    assert marked["digest"] == document["digest"]
    removed = {key: value for key, value in said.items() if key != "outside_guarantee"}
    with pytest.raises(VerificationError, match="digest"):
        verifier.verify(removed)


def test_the_verifier_imports_nothing_but_the_standard_library_and_its_error() -> None:
    for module in standalone.MODULES:
        tree = ast.parse(Path(verifier.__file__).with_name(f"{module}.py").read_text())
        imported = {
            a.name
            for node in ast.walk(tree)
            if isinstance(node, ast.Import)
            for a in node.names
        }
        imported |= {
            node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
        }
        siblings = {
            a.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module == "synth_engine.verifier"
            for a in node.names
        }
        assert siblings <= set(standalone.MODULES)
        own = {
            "synth_engine.errors",
            "synth_engine.verifier",
            *(f"synth_engine.verifier.{name}" for name in standalone.MODULES),
        }
        assert {name.split(".")[0] for name in imported - own} <= set(sys.stdlib_module_names)


def test_neighbouring_tables_change_nothing_in_a_receipt_but_the_digest_of_the_noisy_values() -> (
    None
):
    """Plan invariance, with an outlier in one of two tables."""
    domain = domain_of(3, 3)
    plan = mechanisms.plan(
        domain, Spec(mechanism="independent", epsilon=Fraction(1), delta=DELTA)
    )
    receipts = [
        _receipt_of(plan, table) for table in ((), ((0, 0),) * 50, (*((0, 0),) * 50, (2, 2)))
    ]
    for document in receipts[1:]:
        assert {key for key in document if document[key] != receipts[0][key]} <= {
            "answers_sha256",
            "digest",
        }


@pytest.mark.slow
@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2)), max_size=6),
    st.tuples(st.integers(0, 1), st.integers(0, 2)),
    st.sampled_from([Fraction(0), DELTA]),
)
def test_one_record_more_changes_no_plan_and_no_receipt(
    table: list[tuple[int, int]], record: tuple[int, int], delta: Fraction
) -> None:
    plan = mechanisms.plan(
        domain_of(2, 3), Spec(mechanism="independent", epsilon=Fraction(1), delta=delta)
    )
    one, two = _receipt_of(plan, tuple(table)), _receipt_of(plan, (*table, record))
    assert {key for key in one if one[key] != two[key]} <= {"answers_sha256", "digest"}


def test_the_noise_of_a_receipt_is_the_noise_of_its_plan() -> None:
    plan = mechanisms.plan(domain_of(2, 3), Spec(mechanism="independent", epsilon=Fraction(1)))
    document = _receipt_of(plan, TABLE)
    scales = [Fraction(call["noise"]["scale"]) for call in document["calls"]]
    assert scales == [noise.scale for noise in plan.noises]  # type: ignore[attr-defined]
    assert all(isinstance(noise, Noise) for noise in plan.noises)  # type: ignore[attr-defined]


def _receipt_of(plan: Plan, table: tuple[tuple[int, ...], ...]) -> Document:
    room = open_session(exact.rows_of(table, plan.domain), domain=plan.domain, cap=plan.loss)
    return plan.receipt(plan.run(room))


def _leaves(value: object, path: str = "") -> list[tuple[str, object]]:
    items: list[tuple[str, object]] = []
    children: Callable[[], Any] = dict
    if isinstance(value, dict) and value:
        children = value.items
    elif isinstance(value, list) and value:
        children = lambda: ((str(i), v) for i, v in enumerate(value))  # noqa: E731
    else:
        return [(path, value)]
    for key, child in children():
        items += _leaves(child, f"{path}.{key}" if path else str(key))
    return items


@pytest.mark.parametrize("origin", ["Suggested", "suggested ", "guessed", ""])
def test_facts_of_an_unknown_origin_are_refused(origin: str) -> None:
    with pytest.raises(VerificationError, match="unknown origin"):
        verifier.verify(resealed(changed(honest(), "domain_facts", {"declared": 3, origin: 1})))


@pytest.mark.parametrize("seed", [{"a": 1}, ["x"], 7, None, True])
def test_a_seed_that_is_no_text_is_refused(seed: object) -> None:
    with pytest.raises(VerificationError, match="seed"):
        verifier.verify(resealed(changed(honest(), "sample", {"rows": 1, "seed": seed})))


PREMISED = honest()
"""A receipt, which says what the guarantee presupposes."""


def test_the_premise_of_the_guarantee_is_on_the_receipt_and_is_said() -> None:
    found = verifier.verify(PREMISED)
    assert PREMISED["premise"] in found.sentences
    assert "whether a run succeeds" in PREMISED["premise"]


def test_a_receipt_without_the_premise_is_refused() -> None:
    without = resealed({key: value for key, value in PREMISED.items() if key != "premise"})
    with pytest.raises(VerificationError, match="missing or unknown fields"):
        verifier.verify(without)


@pytest.mark.parametrize("premise", ["Nothing is presupposed.", "", 7, None, ["a"]])
def test_another_premise_is_refused(premise: object) -> None:
    with pytest.raises(VerificationError, match="premise"):
        verifier.verify(resealed(PREMISED | {"premise": premise}))


@pytest.mark.parametrize("spelling", ["exact", "Integer", "", None, 1, ["integer"], {}])
def test_a_spelling_that_the_verifier_does_not_know_is_refused(spelling: object) -> None:
    unit = {"max_records": 1, "column": "person", "spelling": spelling}
    with pytest.raises(VerificationError, match="unit"):
        verifier.verify(resealed(PREMISED | {"unit": unit}))


@pytest.mark.parametrize("spelling", list(Spelling))
def test_how_people_are_told_apart_is_fixed_by_the_plan_and_said(spelling: Spelling) -> None:
    domain = domain_of(2, 3)
    domain = replace(domain, unit=PrivacyUnit(column="person", spelling=spelling))
    plan = mechanisms.plan(domain, Spec(mechanism="random", epsilon=Fraction(1)))
    document = plan.receipt()
    assert any(
        "person is spelled" in sentence for sentence in verifier.verify(document).sentences
    )
    other = {"exact": "integer", "integer": "casefold", "casefold": "integer"}[spelling]
    forged = document["unit"] | {"spelling": other}
    with pytest.raises(VerificationError, match="digest of the plan"):
        verifier.verify(receipt.seal(document | {"unit": forged}))
