"""A synthweb server as a program sees it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import msgspec

from synthweb_client import documents, receipts
from synthweb_client.releases import Release, naming
from synthweb_client.transport import Retries, Transport

PAGE = 200  # releases asked for at once, the most that the server gives


class Client:
    """Signs in by a token; use it as a context manager, or close it.

    server: such as https://synthetic.example.org. token: of Your account → API tokens, with the scope `read`. signing_key: a PEM
    file with the public key of the installation, from a source that you trust; receipts then have to be signed with it.
    retries: how failed requests are repeated. timeout: seconds without a byte after which an attempt failed.
    """

    def __init__(
        self,
        server: str,
        *,
        token: str,
        signing_key: str | Path | None = None,
        retries: Retries | None = None,
        timeout: float = 60.0,
    ) -> None:
        self._key = None if signing_key is None else receipts.read_key(Path(signing_key))
        self._transport = Transport(
            server, token=token, retries=retries or Retries(), timeout=timeout
        )

    @classmethod
    def from_environment(cls) -> Self:
        """Server and token of the environment variables SYNTHWEB and TOKEN."""
        missing = [name for name in ("SYNTHWEB", "TOKEN") if not os.environ.get(name)]
        if missing:
            raise ValueError(f"set the environment variables {' and '.join(missing)}")
        return cls(os.environ["SYNTHWEB"], token=os.environ["TOKEN"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connections."""
        self._transport.close()

    def me(self) -> documents.Me:
        """Whose token this is, and what it allows."""
        return documents.read(self._transport.get("me").content, documents.Me)

    def releases(
        self,
        *,
        search: str = "",
        dataset: str = "",
        mechanism: str = "",
        sort: str = "-created_at",
    ) -> Iterator[Release]:
        """Releases that you may read, the newest first. search: words of name, description or code. dataset: its code. sort:
        created_at, name or epsilon, with a minus for the reverse."""
        wanted = {"q": search, "dataset": dataset, "mechanism": mechanism, "sort": sort}
        params = {name: value for name, value in wanted.items() if value}
        offset = 0
        while True:
            paging = {"limit": str(PAGE), "offset": str(offset)}
            answer = self._transport.get("releases", params=params | paging)
            page = documents.read(answer.content, documents.Page)
            for result in page.results:
                yield self._release(msgspec.json.encode(result))
            if page.next is None or not page.results:
                return
            offset += len(page.results)

    def release(self, code: str) -> Release:
        """One release by its code. Errors: ReleaseUnavailable."""
        with naming(code):
            return self._release(self._transport.get("releases", code).content)

    def _release(self, content: bytes) -> Release:
        facts = documents.read(content, documents.ReleaseFacts)
        return Release(self._transport, facts, key=self._key)
