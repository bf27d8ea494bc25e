"""The verifier checks which earlier runs paid for facts of the description, and writes what all of them cost
together.

Standard library only, and nothing shared with what writes receipts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from synth_engine.verifier.calls import SHA256, amount, refuse
from synth_engine.verifier.statement import PURCHASE_ORIGINS, amounts_sentence

_LEARNING_VERBS = frozenset(("discover", "measure", "items", "intervals"))
"""The verbs by which a column is learned."""


def check_purchases(receipt: Mapping[str, Any]) -> None:
    """Errors: VerificationError."""
    _check_bought(receipt)
    _check_learning(receipt)


def _check_bought(receipt: Mapping[str, Any]) -> None:
    """Facts that earlier runs paid for name the receipts of these runs, and nothing else does."""
    bought, facts = receipt.get("bought", []), receipt["domain_facts"]
    rests = any(facts.get(origin) for origin in PURCHASE_ORIGINS)
    if rests != bool(bought) or ("bought" in receipt and not bought):
        refuse(
            "facts were bought by runs that the receipt does not name, or runs are named without any"
        )
    digests = []
    for each in bought:
        if not isinstance(each, dict) or set(each) != {"receipt", "epsilon", "delta"}:
            refuse("a run that paid for facts of the description is malformed")
        if not isinstance(each["receipt"], str) or not SHA256.fullmatch(each["receipt"]):
            refuse("a run that paid for facts of the description has no receipt")
        if amount(each, "epsilon") <= 0 or not 0 <= amount(each, "delta") < 1:
            refuse("a run that paid for facts of the description has no guarantee")
        digests.append(each["receipt"])
    if len(set(digests)) < len(digests):
        refuse("a run that paid for facts of the description is named twice")


def _check_learning(receipt: Mapping[str, Any]) -> None:
    """A run that learns a description asks each column by itself, and nothing else."""
    if receipt["mechanism"]["id"] != "description":
        return
    queries = [call["query"] for call in receipt["calls"]]
    if any(
        query["verb"] not in _LEARNING_VERBS or len(query.get("clique", [])) != 1
        for query in queries
    ):
        refuse("the calls are not the ones that this mechanism makes")


def purchase_sentences(receipt: Mapping[str, Any]) -> list[str]:
    """Who pays for one pays for the sum: what earlier runs cost that learned facts of the description, and
    what they cost together with this one."""
    bought, claim = receipt.get("bought", []), receipt["guarantee"]
    if not bought:
        return []
    lines = [
        f"Facts of the description were learned by an earlier run, at {amounts_sentence(each)}: its loss "
        f"stands on its own receipt, with the core {each['receipt']}."
        for each in bought
    ]
    total = {}
    for name in ("epsilon", "delta"):
        added = sum((amount(each, name) for each in bought), amount(claim, name))
        total[name] = f"{added.numerator}/{added.denominator}"
    return [*lines, f"Together with this run that is {amounts_sentence(total)}."]
