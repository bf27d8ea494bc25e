"""Validations: figures of the real table that were measured with noise, within an allowance."""

from __future__ import annotations

from synthweb_client import documents, receipts
from synthweb_client.errors import NotMeasured, NotReady
from synthweb_client.receipts import Claim, Receipt
from synthweb_client.transport import Transport

PAUSE = 5.0
"""Seconds between two looks at a validation."""
PATIENCE = 600.0
"""Seconds that a worker is waited for."""
GAVE_UP = ("no-answer", "failed", "cancelled")
"""The last two: for stewards, and of servers before answers were shown on ticks."""


class Validation:
    """Figures that were asked for. facts: state, price and answers as of when they were last fetched."""

    def __init__(
        self, transport: Transport, facts: documents.ValidationFacts, *, key: bytes | None
    ) -> None:
        self.facts = facts
        self._transport = transport
        self._key = key

    def __repr__(self) -> str:
        return f"Validation({self.facts.code!r}, {self.facts.state})"

    def figures(self) -> tuple[documents.PaidFigure, ...]:
        """The noisy answers with their intervals, in the order in which they were asked for. Waits for the
        worker that measures them. Errors: NotMeasured, NotReady."""
        waited = 0.0
        while self.facts.state != "finished":
            if self.facts.state in GAVE_UP:
                raise NotMeasured(
                    f"the validation {self.facts.code} has no answer: ask the data steward why"
                )
            if waited + PAUSE > PATIENCE:
                raise NotReady(f"the validation {self.facts.code} is not measured yet")
            self._transport.retries.wait(PAUSE)
            waited += PAUSE
            answer = self._transport.get(*self._address)
            self.facts = documents.read(answer.content, documents.ValidationFacts)
        return self.facts.figures

    def receipt(self) -> Receipt:
        """The receipt of this validation, verified against the price that the server lists. Errors:
        ReceiptRefused."""
        answer = self._transport.get(*self._address, "receipt")
        claim = Claim(
            epsilon=self.facts.target_epsilon, delta=self.facts.target_delta, key=self._key
        )
        return receipts.verified(answer.content, claim)

    @property
    def _address(self) -> tuple[str, ...]:
        return ("releases", self.facts.release, "validations", self.facts.code)
