"""Runs: requests for a release, or for figures of one, that a worker carries out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from synthweb_client import documents
from synthweb_client.errors import NotReady, RunEnded
from synthweb_client.transport import Transport

PAUSE = 5.0
"""Seconds between two looks at a run."""
PATIENCE = 3_600.0
"""Seconds that a run is waited for."""
ENDED = ("finished", "failed", "cancelled")


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """A run. state: requested, held, charged, measured, finished, failed or cancelled. price: what it holds
    or has spent. failure: a code and our own words. release: its code once it is published. checks: the
    release whose figures it measures."""

    code: str
    name: str
    dataset: str
    account: str
    spec: dict[str, Any]
    price: documents.Amount
    state: str
    stage: str
    progress: float | None
    failure: dict[str, Any] | None
    release: str | None
    checks: str | None
    created_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class RunEvent:
    """A line of the log of a run."""

    at: datetime
    stage: str
    text: str


class Run:
    """A run. facts: as of when they were last fetched."""

    def __init__(self, transport: Transport, facts: RunFacts) -> None:
        self._transport, self.facts = transport, facts

    def __repr__(self) -> str:
        return f"Run({self.code!r}, {self.facts.state})"

    @property
    def code(self) -> str:
        """What addresses name it by."""
        return self.facts.code

    def refresh(self) -> Run:
        """Fetch its facts again."""
        self.facts = documents.read(self._transport.get("runs", self.code).content, RunFacts)
        return self

    def wait(self, *, patience: float = PATIENCE) -> Run:
        """Wait until it has finished. patience: seconds. Errors: RunEnded where it failed or was cancelled;
        NotReady."""
        waited = 0.0
        while self.facts.state not in ENDED:
            if waited + PAUSE > patience:
                raise NotReady(
                    f"the run {self.code} has not ended yet: wait for it again later"
                )
            self._transport.retries.wait(PAUSE)
            waited += PAUSE
            self.refresh()
        if self.facts.state != "finished":
            why = str((self.facts.failure or {}).get("text") or "see its log")
            raise RunEnded(f"the run {self.code} is {self.facts.state}: {why}")
        return self

    def cancel(self, *, key: str | None = None) -> Run:
        """Stop it: before the charge nothing is spent, after it the charge stays."""
        return self._ask("cancel", key)

    def resume(self, *, key: str | None = None) -> Run:
        """Fit again from the stored noisy answers of a run that failed after its measurement; costs
        nothing."""
        return self._ask("resume", key)

    def log(self) -> tuple[RunEvent, ...]:
        """What happened, stage by stage."""
        return tuple(self._transport.every("runs", self.code, "log", kind=RunEvent))

    def _ask(self, what: str, key: str | None) -> Run:
        answer = self._transport.post("runs", self.code, what, body={}, key=key)
        self.facts = documents.read(answer.content, RunFacts)
        return self
