"""What a steward does with a release: who reads it, what it is called, its licence, and edited descriptions.
The token needs the scope `share`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from synthweb_client import documents
from synthweb_client.release_access import ReleaseAccess
from synthweb_client.release_documents import Edition, Share


class ReleaseSharing(ReleaseAccess):
    """What a steward says of a release."""

    def share(self, analyst: str) -> Share:
        """Share it with an analyst of the organisation, by the name that he signs in with."""
        answer = self._send("POST", "grants", body={"analyst": analyst})
        return documents.read(answer.content, Share)

    def unshare(self, analyst: str) -> None:
        """Take it back from one analyst; tables that he has stay his."""
        self._delete("grants", analyst)

    def shares(self) -> tuple[Share, ...]:
        """With whom it is, or was, shared, the newest first."""
        with self._named():
            return tuple(self._transport.every("releases", self.code, "grants", kind=Share))

    def rename(self, *, name: str | None = None, description: str | None = None) -> None:
        """Give it the name and the description that analysts read; what is left out stays."""
        words = {"name": name, "description": description}
        body = {key: value for key, value in words.items() if value is not None}
        self._say(self._send("PATCH", body=body).content)

    def license(self, licence: str, *, text: str = "", address: str = "") -> None:
        """State under which licence it may be passed on: CC-BY-4.0, CC0-1.0, ODbL-1.0, `own` with text and
        address, or an empty text for none."""
        body = {"licence": licence, "text": text, "address": address}
        given = {key: value for key, value in body.items() if value or key == "licence"}
        self._say(self._send("PUT", "licence", body=given).content)

    def editions(self) -> tuple[Edition, ...]:
        """Its edited descriptions, the newest first; `sample` draws from one by its code."""
        with self._named():
            return tuple(self._transport.every("releases", self.code, "editions", kind=Edition))

    def edition(self, code: str) -> Mapping[str, Any]:
        """An edited description as a document."""
        return documents.read(self._get("editions", code).content, dict[str, Any])

    def edit(
        self, document: Mapping[str, Any], *, note: str, key: str | None = None
    ) -> Edition:
        """Keep an edited description beside the release; it is marked as edited wherever it is used.
        document: as `description` gives it. note: what was changed. Errors: ServerRefused with column, rule
        and repair."""
        body = {"note": note, "document": document}
        answer = self._send("POST", "editions", body=body, key=key)
        return documents.read(answer.content, Edition)

    def _say(self, content: bytes) -> None:
        self.facts = documents.read(content, documents.ReleaseFacts)
