"""Recomputes from a receipt alone what it claims. Standard library only; shares no code with what wrote it.

Checked, in this order: shape and digest; sensitivities against unit and relation; the cost of every call;
static or adaptive; the sums; the conversion of rho; the claim. Anything unknown is refused. What cannot be
checked here is that the calls listed are all that happened: that rests on the room.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn

from synth_engine.errors import VerificationError
from synth_engine.privacy.verify_bounds import epsilon_bound

_SCHEMA = "synthweb/receipt/1"
_FIELDS = {
    "schema": str, "mechanism": dict, "plan": dict, "relation": str, "unit": dict, "invariants": list,
    "domain_sha256": str, "domain_facts": dict, "target": dict, "guarantee": dict, "calls": list,
    "answers_sha256": str, "post_processing": dict, "sample": (dict, type(None)), "chosen_after_looking": bool,
    "versions": dict, "digest": str,
}  # fmt: skip
_PARTS = {
    "mechanism": {"id", "parameters", "kind"}, "plan": {"sha256", "calls_sha256", "cap"},
    "unit": {"max_records", "column"}, "target": {"epsilon", "delta"},
    "guarantee": {"epsilon", "delta", "rho", "sentence"},
}  # fmt: skip
_KINDS = {"random": "static", "independent": "static", "bayesian-network": "adaptive"}
_LAWS = {
    "measure": ("discrete-laplace", "discrete-gaussian"),
    "select": ("permute-and-flip", "gumbel"),
}
_SENSITIVITY = {
    "discrete-laplace": "l1",
    "discrete-gaussian": "l2_squared",
    "permute-and-flip": "linf",
    "gumbel": "linf",
}
_ORIGINS = {"declared", "declared (shorthand)", "public-file", "learned"}
_NANO, _GRID = 10**9, 10**12
_LARGEST_UNIT = 10**6
_RATIO = re.compile(r"(0|[1-9][0-9]*)/([1-9][0-9]*)")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class Verified:
    """What the calls add up to, at most what the receipt claims. epsilon and rho are rounded up."""

    epsilon: Fraction
    delta: Fraction
    rho: Fraction
    sentences: list[str]


@dataclass(frozen=True, kw_only=True)
class _Cost:
    epsilon: Fraction | None
    rho: Fraction


def verify(receipt: Mapping[str, Any]) -> Verified:
    """Errors: VerificationError with the first reason found."""
    _check_shape(receipt)
    _check_digest(receipt)
    sensitivities = _sensitivities(receipt)
    costs = [_call(call, number, sensitivities) for number, call in enumerate(receipt["calls"], start=1)]
    total = _composed(receipt, costs)
    target, claim = receipt["target"], receipt["guarantee"]
    delta = _amount(claim, "delta")
    epsilon = _epsilon(total, delta)
    _check_claim(claim, target, epsilon=epsilon, delta=delta, rho=total.rho)
    _check_rest(receipt)
    return Verified(
        epsilon=_round_up(epsilon, _GRID),
        delta=delta,
        rho=_round_up(total.rho, _NANO),
        sentences=_sentences(receipt, epsilon),
    )


def _refuse(reason: str) -> NoReturn:
    raise VerificationError(reason)


def _check_shape(receipt: Mapping[str, Any]) -> None:
    if not isinstance(receipt, Mapping) or set(receipt) != set(_FIELDS):
        _refuse("the receipt has missing or unknown fields")
    for name, kind in _FIELDS.items():
        if not isinstance(receipt[name], kind):  # type: ignore[arg-type]
            _refuse(f"the field {name} is of the wrong type")
    if receipt["schema"] != _SCHEMA:
        _refuse("the receipt is of an unknown version")
    for name in ("domain_sha256", "answers_sha256", "digest"):
        if not _SHA256.fullmatch(receipt[name]):
            _refuse(f"the field {name} is no SHA-256")
    for name, expected in _PARTS.items():
        if set(receipt[name]) != expected:
            _refuse(f"the field {name} has missing or unknown parts")
    _check_names(receipt["mechanism"], receipt["plan"])


def _check_names(mechanism: Mapping[str, Any], plan: Mapping[str, Any]) -> None:
    if not all(isinstance(mechanism[key], str) for key in ("id", "kind")) or not isinstance(
        mechanism["parameters"], dict
    ):
        _refuse("the mechanism is malformed")
    if not isinstance(plan["sha256"], str) or not _SHA256.fullmatch(plan["sha256"]):
        _refuse("the plan has no SHA-256")


def _sha256(obj: Any) -> str:
    try:
        text = json.dumps(obj, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        _refuse("the receipt is no plain JSON")
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _check_digest(receipt: Mapping[str, Any]) -> None:
    if _sha256({key: value for key, value in receipt.items() if key != "digest"}) != receipt["digest"]:
        _refuse("the digest does not match the receipt")


def _sensitivities(receipt: Mapping[str, Any]) -> dict[str, int]:
    """Of a table of counts, for a unit of at most m records."""
    m, column = receipt["unit"]["max_records"], receipt["unit"]["column"]
    if (
        type(m) is not int
        or not 1 <= m <= _LARGEST_UNIT
        or not (column is None or (isinstance(column, str) and column))
    ):
        _refuse("the privacy unit is malformed")
    if any(name != "rows" for name in receipt["invariants"]):
        _refuse("an invariant is unknown")
    if receipt["relation"] == "add-remove":
        if receipt["invariants"]:
            _refuse("the number of rows is no invariant when records are added or removed")
        return {"l1": m, "l2_squared": m * m, "linf": m}
    if receipt["relation"] == "replace-one":
        return {"l1": 2 * m, "l2_squared": 2 * m * m, "linf": 2 * m}
    _refuse("the neighbouring relation is unknown")


def _amount(holder: Mapping[str, Any], name: str) -> Fraction:
    """An exact amount: a ratio in lowest terms, as text."""
    text = holder.get(name)
    match = _RATIO.fullmatch(text) if isinstance(text, str) and len(text) <= 4000 else None
    if match is None:
        _refuse(f"{name} is no ratio of whole numbers")
    numerator, denominator = int(match[1]), int(match[2])
    if math.gcd(numerator, denominator) != 1:
        _refuse(f"{name} is not in lowest terms")
    return Fraction(numerator, denominator)


def _call(call: Any, number: int, sensitivities: Mapping[str, int]) -> _Cost:
    """The recomputed cost of one call."""
    if not isinstance(call, dict) or set(call) != {"query", "noise", "sensitivity", "cost"}:
        _refuse(f"call {number} has missing or unknown parts")
    if not all(isinstance(part, dict) for part in call.values()):
        _refuse(f"call {number} is malformed")
    query, noise = call["query"], call["noise"]
    _check_query(query, number)
    law = noise.get("law")
    if not isinstance(law, str) or law not in _LAWS[query["verb"]]:
        _refuse(f"call {number} is of an unknown law, or of one that does not fit its verb")
    kind = _SENSITIVITY[law]
    if set(call["sensitivity"]) != {kind} or type(call["sensitivity"][kind]) is not int:
        _refuse(f"call {number} states another kind of sensitivity than its law needs")
    if call["sensitivity"][kind] != sensitivities[kind]:
        _refuse(f"the sensitivity of call {number} does not follow from unit and relation")
    cost = _cost(law, noise, sensitivities[kind], number)
    stated = call["cost"]
    expected = {"rho": cost.rho} | ({} if cost.epsilon is None else {"epsilon": cost.epsilon})
    if set(stated) != set(expected) or any(_amount(stated, name) != value for name, value in expected.items()):
        _refuse(f"the cost of call {number} does not follow from its noise")
    return cost


def _check_query(query: Mapping[str, Any], number: int) -> None:
    verb = query.get("verb")
    if not isinstance(verb, str) or verb not in _LAWS:
        _refuse(f"call {number} has an unknown verb")
    if set(query) != {"verb", "clique", "cells"} | ({"candidates"} if verb == "select" else set()):
        _refuse(f"the query of call {number} has missing or unknown parts")
    cliques = [query["clique"]] if verb == "measure" else query["candidates"]
    if type(query["cells"]) is not int or query["cells"] < 1 or not isinstance(cliques, list) or not cliques:
        _refuse(f"the query of call {number} is malformed")
    total = verb == "measure" and query["cells"] == 1  # the number of records is the table of no column
    for clique in cliques:
        if not isinstance(clique, list) or not (clique or total) or not all(isinstance(name, str) for name in clique):
            _refuse(f"the query of call {number} names no columns")
        if len(set(clique)) != len(clique):
            _refuse(f"the query of call {number} names a column twice")


def _cost(law: str, noise: Mapping[str, Any], sensitivity: int, number: int) -> _Cost:
    if law == "discrete-gaussian":
        if set(noise) != {"law", "sigma_squared"}:
            _refuse(f"the noise of call {number} has missing or unknown parts")
        variance = _amount(noise, "sigma_squared")
        roots = math.isqrt(variance.numerator), math.isqrt(variance.denominator)
        _check_float(Fraction(*roots), number)
        if Fraction(*roots) ** 2 != variance:
            _refuse(f"the noise of call {number} is not what a sampler can draw exactly")
        return _Cost(epsilon=None, rho=Fraction(sensitivity) / (2 * variance))
    choosing = law in _LAWS["select"]
    if set(noise) != {"law", "scale"} | ({"monotonic"} if choosing else set()):
        _refuse(f"the noise of call {number} has missing or unknown parts")
    if choosing and noise["monotonic"] is not False:
        _refuse(f"call {number} claims monotonic scores; distances from a reference are not")
    scale = _amount(noise, "scale")
    _check_float(scale, number)
    epsilon = (2 if choosing else 1) * sensitivity / scale
    return _Cost(epsilon=epsilon, rho=epsilon**2 / (8 if law == "gumbel" else 2))


def _check_float(value: Fraction, number: int) -> None:
    if not Fraction(1, 2**60) <= value <= 2**60 or Fraction(float(value)) != value:
        _refuse(f"the noise of call {number} is not what a sampler can draw exactly")


def _composed(receipt: Mapping[str, Any], costs: list[_Cost]) -> _Cost:
    """The sum for a static mechanism; for an adaptive one its cap, which the sum must not pass."""
    if not costs:
        _refuse("the receipt lists no call")
    pure = [cost.epsilon for cost in costs if cost.epsilon is not None]
    total = _Cost(
        epsilon=sum(pure, Fraction(0)) if len(pure) == len(costs) else None,
        rho=sum((cost.rho for cost in costs), Fraction(0)),
    )
    name, kind, plan = receipt["mechanism"]["id"], receipt["mechanism"]["kind"], receipt["plan"]
    if kind not in ("static", "adaptive") or _KINDS.get(name, kind) != kind:
        _refuse("the mechanism is not of the kind that it says: static or adaptive")
    if kind == "static":
        if plan["cap"] is not None or plan["calls_sha256"] != _sha256(receipt["calls"]):
            _refuse("the calls are not the ones that were fixed beforehand, as a static mechanism needs")
        return total
    if plan["calls_sha256"] is not None or not isinstance(plan["cap"], dict):
        _refuse("an adaptive mechanism needs a cap that was set beforehand")
    return _capped(plan["cap"], total)


def _capped(cap: Mapping[str, Any], total: _Cost) -> _Cost:
    if set(cap) == {"epsilon"}:
        limit = _amount(cap, "epsilon")
        if total.epsilon is None or total.epsilon > limit:
            _refuse("the calls pass the cap")
        return _Cost(epsilon=limit, rho=limit**2 / 2)
    if set(cap) != {"rho"}:
        _refuse("the cap is malformed")
    if total.rho > _amount(cap, "rho"):
        _refuse("the calls pass the cap")
    return _Cost(epsilon=None, rho=_amount(cap, "rho"))


def _epsilon(total: _Cost, delta: Fraction) -> Fraction:
    """The epsilon that holds at this delta: by basic composition, by conversion of rho, or the better of both."""
    bounds = [] if total.epsilon is None else [total.epsilon]
    if 0 < delta < 1:
        bounds.append(epsilon_bound(total.rho, delta))
    if not bounds:
        _refuse("noise without a pure guarantee needs a delta between 0 and 1")
    return min(bounds)


def _check_claim(
    claim: Mapping[str, Any], target: Mapping[str, Any], *, epsilon: Fraction, delta: Fraction, rho: Fraction
) -> None:
    if epsilon > _amount(claim, "epsilon"):
        _refuse("the claimed epsilon is below what the calls add up to")
    if _amount(claim, "rho") != _round_up(rho, _NANO):
        _refuse("the claimed rho is not what the calls add up to")
    if _amount(target, "epsilon") < _amount(claim, "epsilon") or _amount(target, "delta") < delta:
        _refuse("the claim is weaker than the target")


def _check_facts(facts: Mapping[Any, Any]) -> None:
    if not all(isinstance(k, str) and type(v) is int and v >= 0 for k, v in facts.items()):
        _refuse("the domain facts are malformed")
    if facts.get("suggested"):
        _refuse("the domain holds facts that were only suggested by the data")
    if not set(facts) <= _ORIGINS | {"suggested"}:
        _refuse("the domain holds facts of an unknown origin")


def _check_rest(receipt: Mapping[str, Any]) -> None:
    _check_facts(receipt["domain_facts"])
    sample = receipt["sample"]
    if receipt["guarantee"]["sentence"] != _guarantee_sentence(receipt):
        _refuse("the sentence says something else than the numbers")
    if sample is None:
        return
    if type(sample.get("rows")) is not int or sample["rows"] < 0:
        _refuse("the sample has no number of rows")
    if not set(sample) <= {"rows", "seed", "seed_commitment", "table_sha256"}:
        _refuse("the sample has unknown parts")
    if ("seed" in sample) == ("seed_commitment" in sample):
        _refuse("the sample must show either its seed or a commitment to it")
    if not isinstance(sample.get("seed", ""), str):
        _refuse("the sample's seed is no text")
    for name in ("seed_commitment", "table_sha256"):
        if name in sample and not (isinstance(sample[name], str) and _SHA256.fullmatch(sample[name])):
            _refuse(f"the sample's {name} is no SHA-256")


def _sentences(receipt: Mapping[str, Any], epsilon: Fraction) -> list[str]:
    calls = len(receipt["calls"])
    found = [
        _guarantee_sentence(receipt),
        f"{calls} call{'s' if calls > 1 else ''} recomputed; they add up to epsilon = {float(epsilon):.9g}.",
        f"The mechanism is {receipt['mechanism']['kind']}.",
    ]
    if receipt["chosen_after_looking"]:
        found.append("A choice was made after a look at real data; that look is not covered by the guarantee.")
    if receipt["invariants"]:
        found.append("The number of rows is public and exact.")
    return found


def _guarantee_sentence(receipt: Mapping[str, Any]) -> str:
    claim, unit = receipt["guarantee"], receipt["unit"]
    m = unit["max_records"]
    one = m == 1 and unit["column"] is None
    who = "one record" if one else f"one person, at most {m} row{'s' if m > 1 else ''}"
    change = "added or removed" if receipt["relation"] == "add-remove" else "replaced"
    amounts = f"epsilon = {_decimal(_amount(claim, 'epsilon'))}"
    delta = _amount(claim, "delta")
    if delta:
        power = len(str(delta.denominator)) - 1
        text = f"1e-{power}" if delta == Fraction(1, 10**power) else _decimal(delta)
        amounts = f"({amounts}, delta = {text})"
    return f"{amounts} differential privacy for {who} {change}."


def _decimal(value: Fraction) -> str:
    """Exact decimal digits where they end soon, else the ratio."""
    for digits in range(41):
        scaled = value * 10**digits
        if scaled.denominator == 1:
            text = str(scaled.numerator).rjust(digits + 1, "0")
            text = f"{text[: len(text) - digits]}.{text[len(text) - digits :]}" if digits else text
            return text if len(text) <= 40 else f"{value.numerator}/{value.denominator}"
    return f"{value.numerator}/{value.denominator}"


def _round_up(value: Fraction, grid: int) -> Fraction:
    return Fraction(math.ceil(value * grid), grid)
