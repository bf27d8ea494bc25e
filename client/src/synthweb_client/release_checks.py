"""Figures of the real table that are measured with noise: by analysts within an allowance (validations), and
by stewards from the budget (checks)."""

from __future__ import annotations

from collections.abc import Sequence

from synthweb_client import documents, receipts
from synthweb_client.figures import Asked
from synthweb_client.receipts import Claim, Receipt
from synthweb_client.release_access import ReleaseAccess
from synthweb_client.release_documents import PaidCheck, Verdict, Void
from synthweb_client.runs import Run, RunFacts
from synthweb_client.validations import Validation


class ReleaseChecks(ReleaseAccess):
    """What may be measured beside a release."""

    def allowances(self) -> tuple[documents.Allowance, ...]:
        """What you may spend on validations of this release, and what you have left."""
        return documents.read(self._get("allowances").content, tuple[documents.Allowance, ...])

    def price(
        self, figures: Sequence[Asked], *, epsilon: str, delta: str = "0"
    ) -> documents.Price:
        """What a validation would cost and how precise it would be; spends nothing. The token needs the scope
        `spend`."""
        body = {"figures": figures, "epsilon": epsilon, "delta": delta}
        answer = self._send("POST", "validations", "price", body=body)
        return documents.read(answer.content, documents.Price)

    def validate(
        self,
        figures: Sequence[Asked],
        *,
        epsilon: str,
        delta: str = "0",
        key: str | None = None,
    ) -> Validation:
        """Have figures measured on the real table, with noise, within an allowance of yours; what it costs is
        held at once, and `Validation.figures` waits for the answers. The token needs the scope `spend`.

        figures: of `synthweb_client.figures`. key: makes the request harmless to repeat, also from another
        process; each call has a fresh one by default. Errors: ServerRefused, with the code `beyond-allowance`
        where no allowance has that much left.
        """
        body = {"figures": figures, "epsilon": epsilon, "delta": delta}
        answer = self._send("POST", "validations", body=body, key=key)
        facts = documents.read(answer.content, documents.ValidationFacts)
        return Validation(self._transport, facts, key=self._key)

    def validations(self) -> tuple[Validation, ...]:
        """Your own validations of this release, the newest first."""
        answer = self._get("validations")
        listed = documents.read(answer.content, tuple[documents.ValidationFacts, ...])
        return tuple(Validation(self._transport, facts, key=self._key) for facts in listed)

    def validation(self, code: str) -> Validation:
        """One of them by its code. Errors: ReleaseUnavailable."""
        facts = documents.read(
            self._get("validations", code).content, documents.ValidationFacts
        )
        return Validation(self._transport, facts, key=self._key)

    def allow(
        self,
        until: str,
        *,
        analyst: str | None = None,
        epsilon: str | None = None,
        delta: str | None = None,
        rho: str | None = None,
        note: str = "",
        key: str | None = None,
    ) -> documents.Allowance:
        """Let an analyst, or each reader, have figures measured within a part of the budget. For stewards and
        custodians; the token needs the scope `spend`. until: the last day, as 2027-01-31."""
        amounts = {"epsilon": epsilon, "delta": delta, "rho": rho}
        body = {"until": until, "analyst": analyst, "note": note or None, **amounts}
        given = {field: value for field, value in body.items() if value is not None}
        answer = self._send("POST", "allowances", body=given, key=key)
        return documents.read(answer.content, documents.Allowance)

    def end_allowance(self, code: str) -> None:
        """End an allowance; what was measured stays."""
        self._delete("allowances", code)

    def criteria(self) -> tuple[Verdict, ...]:
        """What must hold for the release to be used, fixed before its run, and whether it does."""
        return documents.read(self._get("criteria").content, tuple[Verdict, ...])

    def checks(self) -> tuple[PaidCheck, ...]:
        """Figures of the release that were measured from the budget, the newest first."""
        return documents.read(self._get("paid").content, tuple[PaidCheck, ...])

    def check_price(
        self, figures: Sequence[Asked], *, epsilon: str, delta: str = "0"
    ) -> documents.Price:
        """What figures would cost and how precise they would be; spends nothing. For stewards; the token
        needs the scope `spend`."""
        body = {"figures": figures, "epsilon": epsilon, "delta": delta}
        answer = self._send("POST", "paid", "price", body=body)
        return documents.read(answer.content, documents.Price)

    def check(
        self,
        figures: Sequence[Asked],
        *,
        epsilon: str,
        delta: str = "0",
        key: str | None = None,
    ) -> Run:
        """Have figures measured from the budget, to be read by everybody who may draw samples; `checks` has
        them once the run has finished. For stewards; the token needs the scope `spend`. key: as of
        `validate`."""
        body = {"figures": figures, "epsilon": epsilon, "delta": delta}
        answer = self._send("POST", "paid", body=body, key=key)
        return Run(self._transport, documents.read(answer.content, RunFacts))

    def check_receipt(self, check: PaidCheck) -> Receipt:
        """The receipt of a check, verified against the amounts that the server lists. Errors:
        ReceiptRefused."""
        answer = self._get("paid", check.code, "receipt")
        claim = Claim(epsilon=check.epsilon, delta=check.delta, key=self._key)
        return receipts.verified(answer.content, claim)

    def void_check(self, code: str, reason: str) -> Void:
        """State for good that the figures of a check, or of a validation by its code, are not to be used. For
        stewards; the token needs the scope `share`."""
        answer = self._send("POST", "paid", code, "void", body={"reason": reason})
        return documents.read(answer.content, Void)
