"""Requests and answers: the token, the version of the interface, attempts with growing pauses, and errors
with a repair.

The token goes to the server that was named and to no other: addresses within answers are not followed.
"""

from __future__ import annotations

import random
import re
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any
from urllib.parse import quote

import httpx
import msgspec

from synthweb_client import documents
from synthweb_client.documents import Document, Problem
from synthweb_client.errors import (
    Busy,
    ConnectionFailed,
    IncompatibleServer,
    NewerServer,
    ServerRefused,
    TokenRefused,
)

API_VERSION = (1, 0)
"""The version of the interface that this client was written for: major, minor."""
VERSION_HEADER = "Synthweb-API-Version"
KEY_HEADER = "Idempotency-Key"
COME_BACK = {429, 502, 503, 504}
NOT_FOUND = 404
ROOT = "/api/v1"
PAGE = 200  # entries of a list asked for at once, the most that the server gives
Params = Mapping[str, str | list[str]]


@dataclass(frozen=True, kw_only=True)
class Retries:
    """How often a request is sent, and how long to wait between: what the server asks for, else a pause that
    doubles.

    attempts: of one request. first, longest: seconds of a pause; where the server asks for a longer one, the
    request fails at once. wait: what waits, given the seconds.
    """

    attempts: int = 6
    first: float = 0.5
    longest: float = 120.0
    wait: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError("a request needs at least one attempt")

    def pause(self, attempt: int) -> float:
        """Seconds after a failed attempt, from 0 on, where the server does not say; with jitter, so that
        programs that failed together do not come back together."""
        # No secret
        return min(self.longest, self.first * 2.0**attempt) * random.uniform(0.5, 1.0)  # noqa: S311


_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")


class Transport:
    """A connection to one server with one token."""

    def __init__(self, server: str, *, token: str, retries: Retries, timeout: float) -> None:
        if not server.startswith(("https://", "http://")):
            raise ValueError("the address of the server begins with https:// or http://")
        if server.startswith("http://") and httpx.URL(server).host not in _THIS_MACHINE:
            raise ValueError("the token would be sent unencrypted: use https://")
        if not token.isascii() or not token.isprintable() or not token:
            raise ValueError("the token is empty or was not copied as a whole")
        self.server = server.rstrip("/")
        self.retries = retries
        self._warned = False
        self._http = httpx.Client(
            headers={
                "Authorization": f"Bearer {token}",
                "Accept": "application/json, */*;q=0.1",
            },
            timeout=timeout,
            follow_redirects=False,
        )

    def close(self) -> None:
        self._http.close()

    def get(self, *path: str, params: Params | None = None) -> httpx.Response:
        """The answer to a GET of this address, whose parts are quoted."""
        return self._answered("GET", path, params=dict(params or {}))

    def post(self, *path: str, body: object, key: str | None = None) -> httpx.Response:
        """The answer to a POST. Every attempt has the same key, so that the request takes effect once."""
        return self.send("POST", *path, body=body, key=key)

    def send(
        self,
        method: str,
        *path: str,
        body: object,
        params: Params | None = None,
        key: str | None = None,
    ) -> httpx.Response:
        """The answer to a request with a document as its body; as `post`."""
        content = msgspec.json.encode(body)
        headers = {"Content-Type": "application/json"} | _key(key)
        sent = {"content": content, "headers": headers, "params": dict(params or {})}
        return self._answered(method, path, **sent)

    def send_file(
        self,
        method: str,
        *path: str,
        file: IO[bytes],
        kind: str,
        params: Params | None = None,
        key: str | None = None,
    ) -> httpx.Response:
        """The answer to a request whose body is a file, sent from its beginning at each attempt. kind: its
        media type."""
        headers = {"Content-Type": kind} | _key(key)
        return self._answered(
            method, path, content=file, headers=headers, params=dict(params or {})
        )

    def delete(self, *path: str) -> None:
        """Delete what this address names."""
        self._answered("DELETE", path)

    def every(
        self, *path: str, kind: type[Document], params: Mapping[str, str] | None = None
    ) -> Iterator[Document]:
        """All entries of a list, asked for page by page."""
        offset = 0
        while True:
            paging = {"limit": str(PAGE), "offset": str(offset)}
            answer = self.get(*path, params=dict(params or {}) | paging)
            page = documents.read(answer.content, documents.Page)
            for result in page.results:
                yield documents.read(msgspec.json.encode(result), kind)
            if page.next is None or not page.results:
                return
            offset += len(page.results)

    @contextmanager
    def stream(
        self, *path: str, attempt: int, params: Params | None = None
    ) -> Iterator[httpx.Response]:
        """One attempt at an answer whose body is read as it comes. Raises `Again` where another attempt may
        help."""
        try:
            with self._http.stream(
                "GET", self._address(path), params=dict(params or {})
            ) as response:
                if response.status_code >= 300:
                    response.read()
                self._check(response, attempt=attempt)
                yield response
        except httpx.TransportError as error:
            raise Again(self._failed(error), seconds=self.retries.pause(attempt)) from error

    def attempts(self) -> Iterator[int]:
        """The numbers of attempts; between two of them the caller waits with `wait_for`."""
        return iter(range(self.retries.attempts))

    def wait_for(self, again: Again, *, attempt: int) -> None:
        """Wait before the next attempt, or raise what went wrong if there is none."""
        if attempt + 1 >= self.retries.attempts or again.seconds > self.retries.longest:
            raise again.error from again.__cause__
        self.retries.wait(again.seconds)

    def _answered(self, method: str, path: tuple[str, ...], **request: Any) -> httpx.Response:
        for attempt in self.attempts():
            if hasattr(request.get("content"), "seek"):
                request["content"].seek(0)
            try:
                try:
                    response = self._http.request(method, self._address(path), **request)
                except httpx.TransportError as error:
                    seconds = self.retries.pause(attempt)
                    raise Again(self._failed(error), seconds=seconds) from error
                self._check(response, attempt=attempt)
                return response
            except Again as again:
                self.wait_for(again, attempt=attempt)
        raise AssertionError("the last attempt returns or raises")

    def _address(self, path: tuple[str, ...]) -> str:
        parts = [quote(part, safe=".") for part in path]
        ending = "" if "." in parts[-1] else "/"
        return f"{self.server}{ROOT}/{'/'.join(parts)}{ending}"

    def _failed(self, error: httpx.TransportError) -> ConnectionFailed:
        return ConnectionFailed(
            f"{self.server} does not answer, or broke off its answer ({type(error).__name__}): check the "
            "address and the network, and whether the server runs"
        )

    def _check(self, response: httpx.Response, *, attempt: int) -> None:
        """Refuse an answer of another interface, and errors."""
        stated = response.headers.get(VERSION_HEADER)
        if stated is not None:
            self._check_version(stated)
        if response.status_code in COME_BACK:
            seconds = _retry_after(response)
            pause = self.retries.pause(attempt) if seconds is None else seconds
            raise Again(_refusal(response), seconds=pause)
        if response.is_redirect:
            raise IncompatibleServer(
                f"{self.server} sends programs to another address: use that one, with https:// if it asks "
                "for it"
            )
        # Every address of another kind of server is a 404.
        if response.is_error and (stated is not None or response.status_code != NOT_FOUND):
            raise _refusal(response)
        if stated is None:
            raise IncompatibleServer(
                f"{self.server} does not state the version of its interface: it is no synthweb server"
            )

    def _check_version(self, stated: str) -> None:
        found = re.fullmatch(r"([0-9]{1,4})\.([0-9]{1,4})", stated)
        version = (int(found[1]), int(found[2])) if found else (-1, 0)
        if version[0] != API_VERSION[0]:
            fitting = "a newer" if version > API_VERSION else "an older"
            raise IncompatibleServer(
                f"{self.server} has version {stated[:20]} of the interface, and this client knows "
                f"{API_VERSION[0]}: install {fitting} synthweb-client"
            )
        if version > API_VERSION and not self._warned:
            self._warned = True
            warnings.warn(
                f"{self.server} has version {stated} of the interface, newer than "
                f"{API_VERSION[0]}.{API_VERSION[1]}, which this client knows: what it has beyond that is "
                "not shown",
                NewerServer,
                stacklevel=2,
            )


class Again(Exception):
    """Another attempt may help, after so many seconds; `error` if there is none."""

    def __init__(self, error: ConnectionFailed | ServerRefused, *, seconds: float) -> None:
        super().__init__(str(error))
        self.error = error
        self.seconds = seconds


def _key(key: str | None) -> dict[str, str]:
    """What makes a request take effect once, whatever is repeated."""
    return {KEY_HEADER: key or str(uuid.uuid4())}


def _retry_after(response: httpx.Response) -> float | None:
    """Seconds that the server asks to wait; None where it does not say so as a number."""
    text = response.headers.get("Retry-After", "")
    return float(text) if re.fullmatch(r"[0-9]{1,9}", text) else None


def _refusal(response: httpx.Response) -> ServerRefused:
    """The error that an answer states."""
    status = response.status_code
    try:
        problem = msgspec.json.decode(response.content, type=Problem)
    except (msgspec.DecodeError, UnicodeDecodeError):
        problem = Problem()  # of a proxy, or of a server that failed
    detail = problem.detail or f"The server answered with status {status}."
    code = problem.type.removeprefix("urn:synthweb:") if ":synthweb:" in problem.type else ""
    if status == 401:
        return TokenRefused(
            f"{detail} Create a new one under Your account → API tokens; a token also ends when its "
            "owner's password or roles change.",
            status=status,
            code=code,
        )
    if status in COME_BACK:
        seconds = _retry_after(response)
        later = "" if seconds is None else f" Come back after {seconds:g} seconds."
        return Busy(detail + later, status=status, code=code)
    return ServerRefused(detail, status=status, code=code, errors=problem.errors)
