"""The verifier goes through the chain of receipts of a description: that of a release, and those of the runs
that learned facts of it.

Standard library only, and nothing shared with what writes receipts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from synth_engine.verifier.calls import amount, refuse
from synth_engine.verifier.receipt import verify
from synth_engine.verifier.statement import amounts_sentence

_PROTECTS = ("relation", "unit", "invariants")


def verify_purchases(
    receipt: Mapping[str, Any], paid: Sequence[Mapping[str, Any]], *, key: bytes | None = None
) -> list[str]:
    """Verify the runs that learned facts of the description of a release, and that they are those that its
    receipt names. Returns a sentence for each.

    receipt: verified; paid: the receipts of all of these runs, in any order; key: as of `verify`. Errors:
    VerificationError.
    """
    named = {each["receipt"]: each for each in receipt.get("bought", [])}
    given = {str(each.get("digest")): each for each in paid}
    if set(named) != set(given) or len(given) < len(paid):
        refuse("the receipts of purchases are not those that the receipt names")
    lines = []
    for digest, purchase in given.items():
        verified = verify(purchase, key=key, core=digest)
        stated = named[digest]
        if purchase["mechanism"]["id"] != "description":
            refuse("a receipt of a purchase is of a run that learns no description")
        if any(purchase[part] != receipt[part] for part in _PROTECTS):
            refuse(
                "a purchase protects another unit or relation, so that its loss does not add up"
            )
        claim = purchase["guarantee"]
        if any(amount(claim, part) > amount(stated, part) for part in ("epsilon", "delta")):
            refuse("a purchase cost more than the receipt states")
        lines.append(
            f"Recomputed from its receipt: the purchase {verified.core} is of {amounts_sentence(claim)}."
        )
        lines += [f"Of that purchase: {caveat}" for caveat in verified.caveats]
    return lines
