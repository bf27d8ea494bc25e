"""Which earlier runs of the same account paid for facts of a description.

A fact that a run has learned is post-processing of noisy answers: whoever uses it again pays nothing. Its
loss stands on the receipt of that run, which the description names, and with it each later receipt
(docs/proofs/purchase.md).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from synth_engine.errors import DomainError, SpecError
from synth_engine.kinds.attribute import Attribute
from synth_engine.kinds.facts import PURCHASE_ORIGINS, Provenance
from synth_engine.kinds.fields import Fields
from synth_engine.privacy.loss import parse_amount, ratio

MAX_PURCHASES = 1_000
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class Purchase:
    """A run that learned columns of this description. receipt: the digest of the core of its receipt;
    epsilon, delta: of its guarantee; columns: whose facts rest on it, as they were learned or as somebody
    declared them who had seen them."""

    receipt: str
    epsilon: Fraction
    delta: Fraction
    columns: tuple[str, ...]

    def to_json(self) -> dict[str, object]:
        return {**self.statement(), "columns": list(self.columns)}

    def statement(self) -> dict[str, str]:
        """What a later receipt states of it."""
        return {
            "receipt": self.receipt,
            "epsilon": ratio(self.epsilon),
            "delta": ratio(self.delta),
        }


def parse(documents: Sequence[object]) -> tuple[Purchase, ...]:
    """The purchases of a description. Errors: DomainError."""
    if len(documents) > MAX_PURCHASES:
        raise DomainError(
            f"more than {MAX_PURCHASES:,} purchases",
            repair="leave out those that no column rests on",
        )
    return tuple(_parse(document) for document in documents)


def _parse(document: object) -> Purchase:
    if not isinstance(document, Mapping):
        raise DomainError("a purchase is no JSON object", repair="see docs/domain.schema.json")
    reader = Fields(document)
    reader.only("receipt", "epsilon", "delta", "columns")
    try:
        epsilon, delta = (
            parse_amount(reader.text(name, default=""), name=name)
            for name in ("epsilon", "delta")
        )
    except SpecError as error:
        raise DomainError(
            "a purchase has no epsilon and delta", repair="copy them from its receipt"
        ) from error
    return Purchase(
        receipt=reader.text("receipt", default="") or "",
        epsilon=epsilon,
        delta=delta,
        columns=reader.texts("columns") or (),
    )


def check(
    purchases: Sequence[Purchase], attributes: Sequence[Attribute]
) -> tuple[Purchase, ...]:
    """The purchases that columns of a description rest on. One that lacks a column of an earlier description
    rests on fewer of them. Errors: DomainError for a malformed purchase, and for two that name one column."""
    for each in purchases:
        if not _SHA256.fullmatch(each.receipt) or each.epsilon <= 0 or not 0 <= each.delta < 1:
            raise DomainError(
                "a purchase without the digest of a receipt or its guarantee",
                repair="copy digest, epsilon and delta from the receipt of the run that learned the columns",
            )
    named = [name for each in purchases for name in each.columns]
    if twice := [name for name in named if named.count(name) > 1]:
        raise DomainError(
            "two purchases name one column",
            repair="name it in the purchase that learned it, and nowhere else",
            column=twice[0],
        )
    resting = {each.name for each in attributes if rests(each)}
    in_use = (
        replace(each, columns=tuple(name for name in each.columns if name in resting))
        for each in purchases
    )
    return tuple(each for each in in_use if each.columns)


def require_paid(purchases: Sequence[Purchase], attributes: Sequence[Attribute]) -> None:
    """Refuses a description with facts of a purchase that it does not name. Errors: DomainError."""
    named = {name for each in purchases for name in each.columns}
    for attribute in attributes:
        if rests(attribute) and attribute.name not in named:
            raise attribute.error(
                "facts that were bought, or declared after looking at what was, without the run that paid",
                repair="name under bought the run that learned the column, or have it learned again",
            )


def rests(attribute: Attribute) -> bool:
    """Whether facts of a column rest on what an earlier run learned."""
    return bool(PURCHASE_ORIGINS & set(attribute.facts.values()))


def as_bought(attribute: Attribute) -> Attribute:
    """A column that a run has learned, as later runs use it."""
    facts: dict[str, Provenance] = {
        fact: "bought" if origin == "learned" else origin
        for fact, origin in attribute.facts.items()
    }
    return replace(attribute, provenance=facts)


def as_declared_after_looking(attribute: Attribute) -> Attribute:
    """A column that somebody has declared who had seen what a run learned of it."""
    facts: dict[str, Provenance] = {
        # Wherever they are written, the answers were seen before; what is not confirmed stays so.
        fact: origin if origin in ("bought", "suggested") else "declared-after-looking"
        for fact, origin in attribute.facts.items()
    }
    return replace(attribute, provenance=facts)
