"""Receiving a table in a form: a Django upload handler that encrypts while the request is still coming in.

The handler has to be in place before anything reads `request.POST`, the CSRF check included. A view that
receives tables is therefore `csrf_exempt` on the outside and calls a `csrf_protect`ed one inside
`receiving(request)`, which throws away whatever the inner view did not keep:

    with uploads.receiving(request):
        return _receive(request)
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler
from django.http import HttpRequest
from django.http.multipartparser import MultiPartParser

from synth_engine.errors import TableError
from synth_engine.formats import kind_of
from synthweb.accounts.models import User
from synthweb.datasets import files, selectors
from synthweb.datasets.models import Dataset, PartialUpload
from synthweb.datasets.services import Intake, intake_of, resuming
from synthweb.datasets.services.intake import too_large
from synthweb.datasets.services.storing import cut_short

if TYPE_CHECKING:
    _Upload = UploadedFile[bytes]
else:
    _Upload = UploadedFile

log = logging.getLogger(__name__)
FIELD = "table"  # the one input whose file is received; files under other names are ignored
CHUNK = 256 * 1024


def cannot_store() -> TableError:
    """The one text for a table that the vault has no room for."""
    return TableError(
        "the installation cannot store the table now, and nothing was stored",
        repair="ask whoever operates it to look for free space, then upload the table again",
    )


class ReceivedTable(_Upload):
    """What the form finds: a table waiting to be kept, or why it was refused. Its bytes are not here to be
    read."""

    def __init__(
        self, *, name: str, size: int, intake: Intake | None, refusal: TableError | None
    ) -> None:
        super().__init__(file=None, name=name, size=size)
        self.intake, self.refusal = intake, refusal

    def close(self) -> None:
        """There is no file to close; `receiving` discards what was not kept."""


class EncryptingHandler(FileUploadHandler):
    """Hands the chunks of the input `table` to an Intake. A refusal is remembered and the rest of the request
    read and dropped, so that the browser gets an answer instead of a broken connection."""

    chunk_size = CHUNK

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request)
        self._intake: Intake | None = None
        self._refusal: TableError | None = None
        self._taken: ReceivedTable | None = None
        self._body: _Counted | None = None

    def handle_raw_input(
        self,
        input_data: Any,
        META: dict[str, Any],  # noqa: N803 - Django's name
        content_length: int,
        boundary: str,  # noqa: ARG002 - Django's signature
        encoding: str | None = None,
    ) -> Any:
        """Parse as Django does, but count: a connection that ends early looks to its parser like a complete
        file."""
        # The inner parser asks its handlers too, so this one a second time: None lets it parse.
        if self._body is not None:
            return None
        self._body = _Counted(input_data)
        post, files = MultiPartParser(META, cast(Any, self._body), [self], encoding).parse()
        # Counted to the end: what follows the last boundary belongs to the announced length.
        self._body.drain()
        if self._taken is not None and self._body.count < content_length:
            self._taken.refusal = self._refuse(cut_short())
        return post, files

    def new_file(self, field_name: str, file_name: str, *args: Any, **kwargs: Any) -> None:
        super().new_file(field_name, file_name, *args, **kwargs)
        # The first file of the name alone: the intake of a second one would be discarded by
        # nobody.
        if field_name != FIELD or self._intake is not None or self._refusal is not None:
            return
        with self._refusing():
            self._intake = intake_of(kind_of(file_name))

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:  # noqa: ARG002 - Django's signature
        if self.field_name != FIELD or self._intake is None or self._refusal is not None:
            return
        with self._refusing():
            self._intake.receive(raw_data)

    def file_complete(self, file_size: int) -> ReceivedTable | None:
        if self.field_name != FIELD or self._taken is not None:
            return None
        if self._intake is not None and self._refusal is None:
            with self._refusing():
                self._intake.end()
        self._taken = ReceivedTable(
            name=self.file_name or "",
            size=file_size,
            intake=self._intake,
            refusal=self._refusal,
        )
        return self._taken

    def upload_interrupted(self) -> None:
        self._refuse(cut_short())

    def discard(self) -> None:
        """Leave nothing behind that no view has kept."""
        if self._intake is not None:
            self._intake.discard()

    @contextlib.contextmanager
    def _refusing(self) -> Iterator[None]:
        """Remembers why a table was not taken: because of what it is, or because there is no room for it."""
        try:
            yield
        except TableError as error:
            self._refuse(error)
        except files.StorageError:
            log.exception("the vault cannot be written")
            self._refuse(cannot_store())

    def _refuse(self, error: TableError) -> TableError:
        self._refusal = error
        self.discard()
        return error


class _Counted:
    """The body of a request, counting what came."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.count = 0

    def read(self, size: int) -> bytes:
        data: bytes = self._stream.read(size)
        self.count += len(data)
        return data

    def drain(self) -> None:
        while self.read(CHUNK):
            pass


@contextlib.contextmanager
def receiving(request: HttpRequest) -> Iterator[None]:
    """For the time of the block, files in `request` go through the encrypting handler and nowhere else."""
    handler = EncryptingHandler(request)
    request.upload_handlers = [handler]
    try:
        yield
    finally:
        handler.discard()


@dataclass(frozen=True, kw_only=True)
class ArrivedTable:
    """A table that a form brings: in it, or in the requests of `upload` before it."""

    intake: Intake
    upload: PartialUpload | None = None

    def mark_stored(self, dataset: Dataset) -> None:
        """It is a table of this dataset. In the transaction that stores it."""
        if self.upload is not None:
            resuming.mark_stored(upload=self.upload, dataset=dataset)


@contextlib.contextmanager
def arrived(person: User, cleaned: Mapping[str, Any]) -> Iterator[ArrivedTable]:
    """The table of a valid form. Errors: those of `resuming.assembled`, and 404 for an upload of somebody
    else."""
    # A file that is chosen now counts more than one that came in before.
    if cleaned[FIELD] is not None:
        yield ArrivedTable(intake=cleaned[FIELD].intake)
        return
    upload = selectors.upload_for(person, cleaned["upload"])
    with resuming.assembled(upload) as intake:
        yield ArrivedTable(intake=intake, upload=upload)


def stored_before(person: User, cleaned: Mapping[str, Any]) -> Dataset | None:
    """The dataset that this form made when it was sent before; its upload is a table of it."""
    if cleaned[FIELD] is not None:
        return None
    return selectors.upload_for(person, cleaned["upload"]).dataset


__all__ = [
    "FIELD",
    "ArrivedTable",
    "EncryptingHandler",
    "ReceivedTable",
    "arrived",
    "receiving",
    "stored_before",
    "too_large",
]
