"""Receiving the file of a reference in memory: it touches no disk, because it may turn out to be no public
file."""

from __future__ import annotations

from typing import Any

from django.core.files.uploadhandler import MemoryFileUploadHandler
from django.http import HttpRequest

from synthweb.references.services import MOST_BYTES

_REST_OF_THE_FORM = 2**16


class LargerInMemory(MemoryFileUploadHandler):
    """As Django's own, up to the size of a reference; a larger file does not arrive at all."""

    def handle_raw_input(
        self,
        input_data: Any,  # noqa: ARG002 - Django's signature, likewise below
        META: dict[str, Any],  # noqa: N803, ARG002
        content_length: int,
        boundary: str,  # noqa: ARG002
        encoding: str | None = None,  # noqa: ARG002
    ) -> None:
        # Django stops at FILE_UPLOAD_MAX_MEMORY_SIZE, which is less than many a gazetteer has.
        self.activated = content_length <= MOST_BYTES + _REST_OF_THE_FORM


class Dropped(MemoryFileUploadHandler):
    """Receives a file that is too large for `LargerInMemory` and drops it, so that the browser gets an
    answer."""

    def handle_raw_input(self, *_: Any, **__: Any) -> None:
        # `file_complete` then returns no file, and the form reports that none came in.
        self.activated = False

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """Store nothing."""


def receive(request: HttpRequest) -> None:
    """Install the handlers for the files of this request. Call it before anything reads `request.POST`."""
    request.upload_handlers = [LargerInMemory(request), Dropped(request)]
