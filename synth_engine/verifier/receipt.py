"""Recomputes from a receipt alone what it claims. Standard library only; shares no code with what wrote it.

Checked, in this order: shape and limits; the digest of the core; the chain of marks, the signature and the
head, where there are such; sensitivities against unit and relation; the cost of every call; static or
adaptive, and the digest of the plan; the sums; the certificate named; the claim. Anything unknown is refused.

What a receipt alone cannot show rests on the room, and on the signature of who ran it: that the calls listed
are all that happened; that each asked what its verb says (an interaction that is listed as a measurement has
a smaller sensitivity); that the noise of a static mechanism that is not listed here was fixed before any
answer was seen; that references, bins, parts and divisors are public or were paid for. A mechanism that is
listed has its kind; an adaptive one claims its whole cap.

With the modules that it imports it makes one file that runs anywhere (`standalone`).
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from synth_engine.verifier.bounds import epsilon_bound
from synth_engine.verifier.calls import (
    SHA256,
    Cost,
    allowed_by,
    amount,
    cost_of,
    losses,
    refuse,
)
from synth_engine.verifier.candidates import check_groups
from synth_engine.verifier.gaussian import epsilon_of_mu
from synth_engine.verifier.limits import (
    MAX_AMOUNT,
    MAX_CALLS,
    MIN_DELTA,
    check_limits,
)
from synth_engine.verifier.losses import composed_epsilon
from synth_engine.verifier.marks import check_marks_and_seal, core_of
from synth_engine.verifier.purchases import check_purchases, purchase_sentences
from synth_engine.verifier.statement import caveats_of, check_rest, sentences

SCHEMA, PLAN = "synthweb/receipt/4", "synth_engine/plan/3"
_NAMED_BY_PLAN = {
    "facts": "domain_facts",
    "relation": "relation",
    "unit": "unit",
    "invariants": "invariants",
}
_FIELDS = {
    "schema": str, "mechanism": dict, "plan": dict, "relation": str, "unit": dict, "invariants": list,
    "domain_sha256": str, "domain_facts": dict, "target": dict, "guarantee": dict, "calls": list,
    "answers_sha256": str, "post_processing": dict, "sample": (dict, type(None)),
    "chosen_after_looking": bool, "premise": str,
    "versions": dict, "digest": str, "marks": list, "seal": (dict, type(None)),
}  # fmt: skip
_OPTIONAL = {
    "suggestions_shown": bool,
    "ranges_after_looking": bool,
    "outside_guarantee": bool,
    "source": dict,
    "bought": list,
}
"""Fields that a receipt has where somebody recorded them, and that receipts written elsewhere lack."""
_PARTS = {
    "mechanism": {"id", "parameters", "kind"}, "plan": {"sha256", "calls_sha256", "cap"},
    "unit": {"max_records", "column"}, "target": {"epsilon", "delta"},
    "guarantee": {"epsilon", "delta", "sentence", "certificate"},
}  # fmt: skip
_OPTIONAL_PARTS = {"unit": {"spelling"}, "guarantee": {"rho"}}
"""A claim has a rho unless a call has a delta: no rho follows from it."""
KINDS = {
    "random": "static",
    "independent": "static",
    "bayesian-network": "adaptive",
    "weak-domain": "static",
    "mst": "adaptive",
    "dpsyn": "static",
    "auto": "adaptive",
    "aim": "adaptive",
    "privsyn": "adaptive",
    "adaptive": "adaptive",
    "direct-synthesis": "adaptive",
    "generalize": "adaptive",
    "adaptive-basic": "adaptive",
    "adaptive-improved": "adaptive",
    "privtree": "adaptive",
    "on-the-map": "static",
    "description": "adaptive",
}
"""Whether the calls of a mechanism are fixed before any answer is seen. One whose calls are may still run
after columns were learned, and is adaptive then, under a cap: that claims less. A mechanism that is not
listed is judged by its calls alone: they prove the loss, whatever asked them
(docs/adr/0045-receipts-are-judged-by-calls.md)."""
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_MAX_NAME = 64
_ADAPTIVE_VERBS = frozenset(
    ("select", "refine", "score", "interaction", "leaves", "divide", "boxes")
)
"""The verbs that no static method asks by."""
_SINGLE_COLUMNS = ("random", "independent", "weak-domain")
"""Static mechanisms that measure no group of columns."""
_NANO, _GRID = 10**9, 10**12


@dataclass(frozen=True, kw_only=True)
class Verified:
    """The guarantee that the calls prove by the named certificate, at most what the receipt claims.

    epsilon, rho: rounded up; no rho where a call has a delta. plan: the digest that the ledger shows as
    evidence of the hold that paid for the run. core: the digest that a citation names. caveats: those
    sentences that state what the guarantee does not cover. signed_by: the name of the key that signed all of
    the receipt, or empty.
    """

    epsilon: Fraction
    delta: Fraction
    rho: Fraction | None
    certificate: str
    plan: str
    sentences: list[str]
    core: str = ""
    caveats: list[str] = field(default_factory=list)
    signed_by: str = ""


def verify(
    receipt: Mapping[str, Any],
    *,
    head: Mapping[str, object] | None = None,
    key: bytes | None = None,
    core: str | None = None,
    progress: Callable[[float], None] = lambda _share: None,
) -> Verified:
    """Recompute the guarantee of a receipt, and refuse it unless it is proved.

    head: the latest signed head of its marks; without it, marks may be missing at the end. key: the 32 bytes
    of the public key with which the receipt and the head have to be signed; without it, any key will do, and
    none. core: the digest that a citation names. progress: is given the share that is done of a call that
    takes long. Errors: VerificationError with the first reason found.
    """
    # Shape and limits first: everything below indexes fields and computes with the numbers.
    _check_shape(receipt)
    check_limits(receipt)
    if head is not None:
        check_limits(head)
    _check_digest(receipt)
    if core is not None and core != receipt["digest"]:
        refuse("the core of the receipt is not the one of the digest that was given")
    marks = check_marks_and_seal(receipt, head=head, key=key)
    _check_size(receipt)
    allowed = allowed_by(receipt)
    costs = [
        cost_of(call, number, allowed, progress=progress)
        for number, call in enumerate(receipt["calls"], start=1)
    ]
    _check_kind(receipt)
    _check_plan(receipt)
    total = _composed(receipt, costs)
    claim = receipt["guarantee"]
    delta, certificate = amount(claim, "delta"), _certificate(receipt)
    epsilon = _epsilon(receipt, certificate, total=total, costs=costs)
    _check_claim(claim, receipt["target"], epsilon=epsilon, delta=delta, rho=total.rho)
    check_rest(receipt)
    check_purchases(receipt)
    caveats = caveats_of(receipt, looked=marks.looked, outside=marks.outside)
    caveats += purchase_sentences(receipt)
    return Verified(
        epsilon=_round_up(epsilon, _GRID),
        delta=delta,
        rho=None if total.rho is None else _round_up(total.rho, _NANO),
        certificate=certificate,
        plan=receipt["plan"]["sha256"],
        sentences=[*sentences(receipt, epsilon, certificate), *caveats, *marks.sentences],
        core=receipt["digest"],
        caveats=caveats,
        signed_by=marks.signed_by,
    )


def _check_shape(receipt: Mapping[str, Any]) -> None:
    if not isinstance(receipt, Mapping):
        refuse("the receipt is no JSON object")
    known = _FIELDS | {name: kind for name, kind in _OPTIONAL.items() if name in receipt}
    if set(receipt) != set(known):
        refuse("the receipt has missing or unknown fields")
    for name, kind in known.items():
        if not isinstance(receipt[name], kind):  # type: ignore[arg-type]
            refuse(f"the field {name} is of the wrong type")
    if receipt["schema"] != SCHEMA:
        refuse("the receipt is of an unknown version")
    for name in ("domain_sha256", "answers_sha256", "digest"):
        if not SHA256.fullmatch(receipt[name]):
            refuse(f"the field {name} is no SHA-256")
    for name, expected in _PARTS.items():
        optional = _OPTIONAL_PARTS.get(name, set())
        if set(receipt[name]) - optional != expected:
            refuse(f"the field {name} has missing or unknown parts")
    _check_names(receipt["mechanism"], receipt["plan"])


def _check_names(mechanism: Mapping[str, Any], plan: Mapping[str, Any]) -> None:
    if (
        not all(isinstance(mechanism[key], str) for key in ("id", "kind"))
        or type(mechanism["parameters"]) is not dict
    ):
        refuse("the mechanism is malformed")
    # The name stands in reports beside names of known mechanisms, and must not pass for more than a name.
    if len(mechanism["id"]) > _MAX_NAME or not _NAME.fullmatch(mechanism["id"]):
        refuse("the mechanism is malformed")
    if not isinstance(plan["sha256"], str) or not SHA256.fullmatch(plan["sha256"]):
        refuse("the plan has no SHA-256")


def _sha256(obj: Any) -> str:
    try:
        text = json.dumps(
            obj, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
        )
    except (TypeError, ValueError, RecursionError):
        refuse("the receipt is no plain JSON")
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _check_digest(receipt: Mapping[str, object]) -> None:
    if _sha256(core_of(receipt)) != receipt["digest"]:
        refuse("the digest does not match the receipt")


def _check_size(receipt: Mapping[str, Any]) -> None:
    """Refuse a receipt that cannot be recomputed in moderate time. Groups are resampled once in a run, and no
    other single call takes long."""
    calls = receipt["calls"]
    if len(calls) > MAX_CALLS:
        refuse(f"the receipt lists more than {MAX_CALLS} calls")
    check_groups(calls)
    laws = [
        call["noise"].get("law")
        for call in calls
        if isinstance(call, dict) and isinstance(call.get("noise"), dict)
    ]
    if len(calls) > 1 and "dirichlet-multinomial" in laws:
        refuse("the calls are not the ones that this mechanism makes")
    delta = amount(receipt["guarantee"], "delta")
    if 0 < delta < MIN_DELTA:
        refuse("the claimed delta is smaller than the verifier computes with")


def _check_kind(receipt: Mapping[str, Any]) -> None:
    """Check the kind. Static: the calls are the ones that were fixed beforehand. Adaptive: a cap was fixed
    beforehand."""
    name, kind, plan = receipt["mechanism"]["id"], receipt["mechanism"]["kind"], receipt["plan"]
    # An adaptive mechanism that passed for a static one would need no cap.
    passes_for_static = kind == "static" and KINDS.get(name) == "adaptive"
    if kind not in ("static", "adaptive") or passes_for_static:
        refuse("the mechanism is not of the kind that it says: static or adaptive")
    if not receipt["calls"]:
        refuse("the receipt lists no call")
    if kind == "static":
        if plan["cap"] is not None or plan["calls_sha256"] != _sha256(receipt["calls"]):
            refuse(
                "the calls are not the ones that were fixed beforehand, as a static mechanism needs"
            )
        _check_static_calls(name, [call["query"] for call in receipt["calls"]])
    elif plan["calls_sha256"] is not None or not isinstance(plan["cap"], dict):
        refuse("an adaptive mechanism needs a cap that was set beforehand")
    elif KINDS.get(name) == "static":
        _check_calls_after_learning(name, [call["query"] for call in receipt["calls"]])


def _check_static_calls(name: str, queries: list[dict[str, Any]]) -> None:
    """Check that a static mechanism asks what it may ask: tables of groups of columns, none of them a part of
    another. Of some more is known: `independent` asks for one table of each column at most, `random` for the
    number of records alone, and `weak-domain` may ask for it too; `on-the-map` draws once. Any of them may
    ask for group sizes first."""
    if any("bins" in query for query in queries):
        refuse("a static mechanism counts by codes: bins would have to be fixed in its plan")
    if (name == "on-the-map") != (queries[0]["verb"] == "resample") or (
        name == "on-the-map" and len(queries) > 1
    ):
        refuse("the calls are not the ones that this mechanism makes")
    if name == "on-the-map":
        return
    queries = queries[1:] if queries[0]["verb"] == "group-sizes" else queries
    if name not in _SINGLE_COLUMNS:
        _check_views(queries)
        return
    verbs = ("measure", "discover") if name == "weak-domain" else ("measure",)
    cliques = [query["clique"] for query in queries if query["verb"] in verbs]
    columns = [clique[0] for clique in cliques if clique]
    totals = len(cliques) - len(columns)
    if name == "random":
        fits = not columns and totals == 1
    else:
        fits = len(set(columns)) == len(columns) and totals <= (name == "weak-domain")
    if not fits or len(cliques) != len(queries) or any(len(clique) > 1 for clique in cliques):
        refuse("the calls are not the ones that this mechanism makes")


def _check_views(queries: list[dict[str, Any]]) -> None:
    groups = [frozenset(query["clique"]) for query in queries if query["verb"] == "measure"]
    parts = any(
        group <= other
        for index, group in enumerate(groups)
        for other in groups[:index] + groups[index + 1 :]
    )
    if not groups or len(groups) != len(queries) or not all(groups) or parts:
        refuse("the calls are not the ones that this mechanism makes")


def _check_calls_after_learning(name: str, queries: list[dict[str, Any]]) -> None:
    """Check the calls of a static mechanism that ran after columns were learned: no choices or scores, and,
    unless it measures groups, tables of single columns."""
    if any(
        query["verb"] in _ADAPTIVE_VERBS or (len(query["clique"]) > 1 and name != "dpsyn")
        for query in queries
    ):
        refuse("the calls are not the ones that this mechanism makes")


def _check_plan(receipt: Mapping[str, Any]) -> None:
    """Check that the receipt gives the digest of the plan that was fixed when the run was paid for."""
    target, static = receipt["target"], receipt["mechanism"]["kind"] == "static"
    plan = {
        "schema": PLAN,
        "mechanism": receipt["mechanism"]["id"],
        "parameters": receipt["mechanism"]["parameters"],
        "domain": receipt["domain_sha256"],
        "target": [target["epsilon"], target["delta"]],
        "calls": [
            {"query": call["query"], "event": call["noise"] | call["sensitivity"]}
            for call in (receipt["calls"] if static else [])
        ],
        "cap": receipt["plan"]["cap"],
        "certificate": receipt["guarantee"]["certificate"],
        **{part: receipt[name] for part, name in _NAMED_BY_PLAN.items()},
        **({"bought": receipt["bought"]} if "bought" in receipt else {}),
    }
    if _sha256(plan) != receipt["plan"]["sha256"]:
        refuse("the digest of the plan does not follow from the receipt")


def _composed(receipt: Mapping[str, Any], costs: list[Cost]) -> Cost:
    """The total cost: the sum for a static mechanism; for an adaptive one its cap, which the sum must not
    pass."""
    total = Cost(
        epsilon=_sum(cost.epsilon for cost in costs),
        rho=_sum(cost.rho for cost in costs),
        mu_squared=_sum(cost.mu_squared for cost in costs),
        delta=sum((cost.delta for cost in costs), Fraction(0)),
    )
    if total.delta and receipt["plan"]["cap"] is not None:
        refuse("no cap counts the delta of groups drawn anew")
    # The claim of an adaptive run is its cap: where a run stops may depend on the data, and the
    # sum at such a point is no guarantee (docs/proofs/accounting.md).
    cap = receipt["plan"]["cap"]
    if cap is None:
        return total
    if set(cap) == {"epsilon"}:
        limit = amount(cap, "epsilon")
        if total.epsilon is None or total.epsilon > limit:
            refuse("the calls pass the cap")
        # Bun and Steinke 2016, Proposition 1.4: epsilon-DP implies (epsilon² / 2)-zCDP.
        return Cost(epsilon=limit, rho=limit**2 / 2)
    if set(cap) == {"mu_squared"}:
        limit = amount(cap, "mu_squared")
        if total.mu_squared is None or total.mu_squared > limit:
            refuse("the calls pass the cap")
        # mu-GDP implies (mu² / 2)-zCDP (docs/proofs/rounded-gaussian.md).
        return Cost(epsilon=None, rho=limit / 2, mu_squared=limit)
    if set(cap) != {"rho"}:
        refuse("the cap is malformed")
    if total.rho is None or total.rho > amount(cap, "rho"):
        refuse("the calls pass the cap")
    return Cost(epsilon=None, rho=amount(cap, "rho"))


def _sum(amounts: Iterable[Fraction | None]) -> Fraction | None:
    """The sum of the amounts; None if one of them is None."""
    total = Fraction(0)
    for part in amounts:
        if part is None:
            return None
        total += part
    return total


def _certificate(receipt: Mapping[str, Any]) -> str:
    """The rule by which epsilon follows."""
    named = receipt["guarantee"]["certificate"]
    if not isinstance(named, str) or named not in ("basic", "zcdp", "pld", "gdp"):
        refuse("the certificate is unknown")
    # Losses of adaptive calls are not independent, so they must not be convolved.
    if named == "pld" and receipt["mechanism"]["kind"] != "static":
        refuse(
            "privacy-loss distributions certify calls that were fixed beforehand, so no adaptive mechanism"
        )
    return named


def _epsilon(
    receipt: Mapping[str, Any], certificate: str, *, total: Cost, costs: list[Cost]
) -> Fraction:
    claim = receipt["guarantee"]
    delta = amount(claim, "delta")
    if total.delta > delta or (total.delta and certificate != "basic"):
        refuse(
            "the delta of groups drawn anew adds up to more than is claimed, or is not counted by this "
            "certificate"
        )
    if certificate == "basic":
        if total.epsilon is None:
            refuse(
                "noise without a pure guarantee needs another certificate and a delta between 0 and 1"
            )
        return total.epsilon
    if not 0 < delta < 1:
        refuse("this certificate needs a delta between 0 and 1")
    if certificate == "zcdp":
        if total.rho is None:
            refuse("a call with a delta has no rho")
        return epsilon_bound(total.rho, delta)
    if certificate == "gdp":
        if total.mu_squared is None:
            refuse("discrete Gaussian noise, or a cap on another sum, has no mu")
        return epsilon_of_mu(total.mu_squared, delta, near=amount(claim, "epsilon"))
    composed = composed_epsilon(losses(costs, receipt), delta, near=amount(claim, "epsilon"))
    # Basic composition of the same calls is a proof as well, and the smaller bound may be used.
    return composed if total.epsilon is None else min(composed, total.epsilon)


def _check_claim(
    claim: Mapping[str, object],
    target: Mapping[str, object],
    *,
    epsilon: Fraction,
    delta: Fraction,
    rho: Fraction | None,
) -> None:
    if max(epsilon, rho or Fraction(0)) > MAX_AMOUNT:
        refuse("the calls add up to more than the verifier computes with")
    if epsilon > amount(claim, "epsilon"):
        refuse("the claimed epsilon is below what the calls add up to")
    if ("rho" in claim) is not (rho is not None):
        refuse(
            "a rho is claimed exactly where one follows from the calls: none does from a delta"
        )
    # Equality, because the ledger holds the same integer for the run.
    if rho is not None and amount(claim, "rho") != _round_up(rho, _NANO):
        refuse("the claimed rho is not what the calls add up to")
    if amount(target, "epsilon") < amount(claim, "epsilon") or amount(target, "delta") < delta:
        refuse("the claim is weaker than the target")


def _round_up(value: Fraction, grid: int) -> Fraction:
    return Fraction(math.ceil(value * grid), grid)
