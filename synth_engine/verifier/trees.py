"""The verifier checks trees: whether rule and noise fit each other, and the privacy loss of splitting nodes.

Standard library only, and nothing shared with what writes receipts.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from synth_engine.verifier.limits import MAX_AXES, product_is

_TREE_RULES = {"basic": {"rule", "depth", "threshold"}}
_TREE_RULES |= dict.fromkeys(("improved", "privtree"), _TREE_RULES["basic"] | {"discount"})
_TREE_TAKEN = {"spread": ("evenly", "fullest"), "parts": range(2, 2**20)}
_TREE_PLACES = 10**12
_TREE_DIGITS = 90
_TREE_MIN_DISCOUNT_SHARE = Fraction(69, 100)


def is_grown(query: Mapping[str, Any]) -> bool:
    """Whether the query of a tree has a known rule with whole numbers from 1 on, and as many cells as it
    branches."""
    rule, branching = query["grown"], query["branching"]
    if (
        not isinstance(rule, dict)
        or not isinstance(rule.get("rule"), str)
        or rule["rule"] not in _TREE_RULES
    ):
        return False
    taken = [(rule[name], known) for name, known in _TREE_TAKEN.items() if name in rule]
    if taken and rule["rule"] != "improved":
        return False
    if not all(type(value) in (str, int) and value in known for value, known in taken):
        return False
    numbers = [value for name, value in rule.items() if name not in ("rule", "spread")]
    if (
        set(rule) - set(_TREE_TAKEN) != _TREE_RULES[rule["rule"]]
        or not isinstance(branching, list)
        or not branching
    ):
        return False
    if any(type(number) is not int or number < 1 for number in [*numbers, *branching]):
        return False
    return bool(
        rule["depth"] == len(branching) <= MAX_AXES and product_is(branching, query["cells"])
    )


def noise_fits(
    query: Mapping[str, Any], noise: Mapping[str, Any], scale: Fraction | None
) -> bool:
    """Whether the noise is the one of the rule. scale: that of noise which decides about splits; None where
    nodes are counted."""
    rule = query["grown"]
    if rule["rule"] == "basic":
        return scale is None
    if scale is None or any(
        type(noise.get(name)) is not int for name in ("threshold", "discount")
    ):
        return False
    threshold, discount = noise["threshold"], noise["discount"]
    if (
        min(threshold, discount) < 1
        # From this share on the terms of the loss nearly halve, on which tree_epsilon relies.
        or discount < _TREE_MIN_DISCOUNT_SHARE * scale
        or discount != rule["discount"]
    ):
        return False
    if rule["rule"] == "privtree":
        return bool(threshold == discount)
    with decimal.localcontext(prec=_TREE_DIGITS):
        enough = (discount - threshold) / _as_decimal(scale) >= (
            1 + (-1 / _as_decimal(scale)).exp()
        ).ln()
    return bool(threshold == rule["threshold"]) and enough


def tree_epsilon(scale: Fraction, *, threshold: int, discount: int) -> Fraction:
    """The loss of one record by the choice of the nodes that are split, rounded up to 12 places
    (docs/proofs/grow.md).

    Along a path the counts before it are at least 0, t, 2t, …; at each the loss is the logarithm of how much
    likelier the node is split with the record than without.
    """
    with decimal.localcontext(prec=_TREE_DIGITS):
        unit = decimal.Decimal(1)
        epsilon, total, count = unit / _as_decimal(scale), decimal.Decimal(0), 0
        tiny = decimal.Decimal(10) ** -50
        part = unit
        while part > tiny:
            # Both chances lie below the threshold, where a record is worth exactly 1 / scale.
            if count < threshold:
                total += epsilon
            else:
                stays = [
                    (-epsilon * (count + more - threshold + 1)).exp() / (1 + (-epsilon).exp())
                    for more in (0, 1)
                ]
                part = ((1 - stays[1]) / (1 - stays[0])).ln()
                total += part
            count += discount
        # The terms left out add up to about `tiny`; the rest covers decimal rounding.
        exact = Fraction(total + 4 * tiny)
    return Fraction(math.ceil(exact * _TREE_PLACES), _TREE_PLACES)


def _as_decimal(value: Fraction) -> decimal.Decimal:
    return decimal.Decimal(value.numerator) / decimal.Decimal(value.denominator)
