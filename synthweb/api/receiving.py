"""A table as the body of a request: taken in piece by piece, encrypted as it comes."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, cast

from rest_framework.exceptions import ParseError
from rest_framework.request import Request

from synthweb.api import parsers
from synthweb.datasets import services
from synthweb.datasets.services.intake import content_secret
from synthweb.datasets.services.storing import cut_short

FILES = [
    parsers.CsvParser,
    parsers.GzipParser,
    parsers.ParquetParser,
    parsers.WorkbookParser,
    parsers.OldWorkbookParser,
    parsers.SpssParser,
    parsers.StataParser,
    parsers.BasketParser,
]


def body_of(request: Request, what: str) -> tuple[IO[bytes], int]:
    """The body as a stream, and its length in bytes. Errors: 400 without either, 415 for a type that is not
    taken."""
    length = request.META.get("CONTENT_LENGTH") or ""
    if not length.isdecimal() or int(length) == 0:
        raise ParseError(
            f"Send the {what} as the body of the request, with its length (Content-Length)."
        )
    return cast(IO[bytes], request.data), int(length)


@contextmanager
def received(request: Request) -> Iterator[tuple[services.Intake, str]]:
    """The body, taken in piece by piece, and a keyed digest of it, which without the key confirms no guess
    about a record; discarded in the end unless it was kept."""
    stream, length = body_of(request, "table")
    digest = hmac.new(content_secret(), digestmod=hashlib.sha256)
    with services.intake_of(parsers.kind_of(request.content_type)) as intake:
        for piece in parsers.pieces(stream):
            intake.receive(piece)
            digest.update(piece)
        # The first half of a CSV is a CSV, too: only the announced
        # length shows that the connection broke off.
        if intake.size_bytes != length:
            raise cut_short()
        yield intake, digest.hexdigest()
