"""A link of tables of two organisations, as a program of one of them sees it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from synthweb_client import documents, downloads
from synthweb_client.downloads import Report
from synthweb_client.files import whole
from synthweb_client.transport import Transport


class Link:
    """A link with a side of your organisation. facts: its state and your side, as they were when it was asked
    for."""

    def __init__(self, transport: Transport, facts: documents.LinkFacts) -> None:
        self._transport, self.facts = transport, facts

    def __repr__(self) -> str:
        return f"<Link {self.code} {self.facts.state}>"

    @property
    def code(self) -> str:
        """Its code."""
        return self.facts.code

    def again(self) -> Link:
        """The same link as it is now."""
        return self._read(self._transport.get("links", self.code).content)

    def document(self, name: str) -> Mapping[str, Any]:
        """`agreement`, `estimate`, or `left-` or `right-` with `receipt` or `sketch`. Errors: ServerRefused
        before it is there."""
        answer = self._transport.get("links", self.code, "files", name)
        return documents.read(answer.content, dict[str, Any])

    def start(self, agreement_sha256: str, *, key: str | None = None) -> Link:
        """Hold the prices of both sides and queue both sketches; for the side that proposed.
        agreement_sha256: of what you have read. The token needs the scope `spend`. key: makes the request
        harmless to repeat, also from another process."""
        body = {"agreement_sha256": agreement_sha256}
        return self._read(
            self._transport.post("links", self.code, "start", body=body, key=key).content
        )

    def withdraw(self, *, key: str | None = None) -> Link:
        """End it before anything is spent. The token needs the scope `spend`."""
        return self._read(
            self._transport.post("links", self.code, "withdraw", body={}, key=key).content
        )

    def save_tables(self, path: str | Path, *, progress: bool | Report = False) -> Path:
        """A synthetic table of each side with ids that join, their record and the agreement, as a zip.
        Errors: ServerRefused before both sides gave a release."""
        target = Path(path)
        with whole(target) as file, downloads.shown(progress) as report:
            downloads.download(
                self._transport, ("links", self.code, "tables.zip"), to=file, report=report
            )
        return target

    def _read(self, content: bytes) -> Link:
        return Link(self._transport, documents.read(content, documents.LinkFacts))
