"""What every request about a release shares: its address, its name in errors, and waiting for a worker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import httpx

from synthweb_client import documents, downloads
from synthweb_client.downloads import Report
from synthweb_client.errors import NotReady, ReleaseUnavailable, ServerRefused
from synthweb_client.files import whole
from synthweb_client.receipts import Claim
from synthweb_client.transport import Params, Transport

NOT_FOUND = 404
PATIENCE = 600.0
"""Seconds that a worker is waited for."""


class ReleaseAccess:
    """A release as requests name it. facts: what lists say of it, as of when it was fetched."""

    def __init__(
        self, transport: Transport, facts: documents.ReleaseFacts, *, key: bytes | None
    ) -> None:
        self.facts = facts
        self._transport = transport
        self._key = key

    @property
    def code(self) -> str:
        """What addresses name it by."""
        return self.facts.code

    @property
    def name(self) -> str:
        """What it is called."""
        return self.facts.name

    def _get(self, *what: str, params: Params | None = None) -> httpx.Response:
        with self._named():
            return self._transport.get("releases", self.code, *what, params=params)

    def _send(
        self, method: str, *what: str, body: object, key: str | None = None
    ) -> httpx.Response:
        with self._named():
            return self._transport.send(
                method, "releases", self.code, *what, body=body, key=key
            )

    def _delete(self, *what: str) -> None:
        with self._named():
            self._transport.delete("releases", self.code, *what)

    def _when_ready(self, what: str, params: Params | None = None) -> httpx.Response:
        """The answer of an address once a worker has finished what it needs."""
        waited = 0.0
        while True:
            response = self._get(what, params=params)
            if response.status_code != downloads.ACCEPTED:
                return response
            seconds = float(response.headers.get("Retry-After", downloads.PAUSE))
            waited = self._wait(what, seconds, waited=waited)

    def _wait(self, what: str, seconds: float, *, waited: float) -> float:
        """Wait for a worker; the seconds waited for it in all."""
        if waited + seconds > PATIENCE:
            raise NotReady(f"{what} of {self.code} are not computed yet: ask again later")
        self._transport.retries.wait(seconds)
        return waited + seconds

    def _save(self, what: str, path: Path, progress: bool | Report) -> Path:
        with whole(path) as file:
            self._download(what, to=file, progress=progress)
        return path

    def _download(self, what: str, *, to: IO[bytes], progress: bool | Report) -> None:
        """A file of the release, once a worker has prepared what it needs."""
        waited = 0.0
        with self._named(), downloads.shown(progress) as report:
            while True:
                seconds = downloads.download(
                    self._transport, ("releases", self.code, what), to=to, report=report
                )
                if seconds is None:
                    return
                waited = self._wait(what, seconds, waited=waited)

    def _claim(self, *, digest: str, head: Mapping[str, Any] | None) -> Claim:
        return Claim(
            epsilon=self.facts.epsilon,
            delta=self.facts.delta,
            digest=digest,
            head=head,
            key=self._key,
        )

    def _named(self) -> Any:
        return naming(self.code, self.name)


@contextmanager
def naming(code: str, name: str = "") -> Iterator[None]:
    """A 404 of an address of a release says what that means."""
    try:
        yield
    except ServerRefused as error:
        if error.status != NOT_FOUND:
            raise
        known = f"{name} ({code})" if name else code
        was = (
            "it was shared with you, and is no longer"
            if name
            else "it does not exist or is not shared with you"
        )
        raise ReleaseUnavailable(
            f"The release {known} is not available: {was}. Ask its data steward. Tables that you have stay "
            "yours.",
            status=NOT_FOUND,
        ) from None
