"""Tables that come in several requests: begun, continued, ended, and put together for the intake that takes
every table."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator
from typing import IO

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from synth_engine import formats
from synth_engine.errors import TableError
from synthweb.accounts.models import Organisation, User
from synthweb.datasets import partial_tables, selectors
from synthweb.datasets.models import Dataset, PartialUpload
from synthweb.datasets.partial_tables import Pieces
from synthweb.datasets.services.intake import Intake, intake_of
from synthweb.lib.errors import Busy, Conflict, InUse

MOST_PIECES = 10_000
"""Of one upload: many requests of a few bytes each must not fill a folder."""
_READ = 64 * 1024


class WrongOffset(Conflict):
    """The bytes do not continue what is here."""

    code = "wrong-offset"


class UnfinishedUpload(Conflict):
    """The table has not come to its end."""

    code = "incomplete-upload"


def begin(
    *, person: User, organisation: Organisation, file_name: str, length: int
) -> PartialUpload:
    """An upload of `length` bytes. The caller has checked the length against the limit, and that `person` may
    upload.

    Errors: TableError for an ending that no kind of table has, and for no bytes at all; Busy for too many
    unfinished ones.
    """
    kind = formats.kind_of(file_name)
    if length == 0:
        raise TableError("the file is empty", repair="export the table again, with its header")
    with transaction.atomic():
        # Two requests at once must not both be the last one that is allowed.
        User.objects.select_for_update().get(pk=person.pk)
        waiting = list(selectors.unfinished_uploads(person))
        if len(waiting) >= settings.UPLOADS_UNFINISHED:
            first = min(each.expires_at for each in waiting)
            raise Busy(
                f"you have {len(waiting)} unfinished uploads, and more are not kept",
                repair="finish one or end it",
                wait=max(1, int((first - timezone.now()).total_seconds())),
            )
        return PartialUpload.objects.create(
            organisation=organisation,
            person=person,
            file_kind=kind,
            length=length,
            expires_at=_later(),
        )


def offset_of(upload: PartialUpload) -> int:
    """How many bytes of the table are here."""
    if upload.state == PartialUpload.State.STORED:
        return upload.length
    return partial_tables.offset_of(upload.code)


def append(*, upload: PartialUpload, offset: int, length: int, stream: IO[bytes] | None) -> int:
    """Store bytes that continue the table, piece by piece; returns how far it has come.

    What came before a connection broke off is kept. `length`: what the request announces; the caller has
    checked that it fits. Errors: WrongOffset, InUse, Gone; TableError, which ends the upload, for first bytes
    of another kind of file.
    """
    with partial_tables.locked(upload.code) as pieces:
        _require_open(upload)
        if offset != pieces.offset:
            raise WrongOffset(
                "the bytes do not begin where the upload stands",
                repair="ask for its offset by HEAD, and go on from there",
            )
        if offset + length > upload.length:
            raise WrongOffset(
                "more bytes than the upload was announced with",
                repair="begin an upload with the length of the file",
            )
        try:
            for piece in _pieces_of(stream, most=length) if stream else ():
                _check(upload, pieces, piece)
                pieces.add(piece)
        finally:
            _extend(upload)
        return pieces.offset


@contextlib.contextmanager
def assembled(upload: PartialUpload) -> Iterator[Intake]:
    """The whole table, as if it had come in one request; nobody else works on the upload meanwhile.

    A table that is refused, by a TableError, ends the upload, inside of the block as well. Errors:
    UnfinishedUpload, InUse, Gone.
    """
    with partial_tables.locked(upload.code) as pieces:
        _require_open(upload)
        if pieces.offset != upload.length:
            raise UnfinishedUpload(
                "the upload is not complete", repair="send the rest, then finish it"
            )
        try:
            with intake_of(upload.file_kind) as intake:  # type: ignore[arg-type]  # made by `kind_of`
                for piece in pieces.read():
                    intake.receive(piece)
                yield intake
        except TableError:
            _close(upload, PartialUpload.State.ENDED)
            pieces.erase()
            raise
        if upload.state == PartialUpload.State.STORED:
            pieces.erase()


def mark_stored(*, upload: PartialUpload, dataset: Dataset) -> None:
    """It has become a table of this dataset. Inside `assembled`, in the transaction that stores the table."""
    upload.dataset = dataset
    _close(upload, PartialUpload.State.STORED)


def end(upload: PartialUpload) -> None:
    """Give an upload up: nothing of it stays. Errors: InUse, Gone."""
    with partial_tables.locked(upload.code) as pieces:
        _require_open(upload)
        _close(upload, PartialUpload.State.ENDED)
        pieces.erase()


def sweep_uploads() -> int:
    """End what nobody has continued in time, and remove what is left of uploads that are over. Returns how
    many."""
    now, swept = timezone.now(), 0
    # An upload whose next piece is just coming in is locked, and left alone.
    for upload in PartialUpload.objects.filter(
        state=PartialUpload.State.OPEN, expires_at__lte=now
    ):
        with (
            contextlib.suppress(InUse, PartialUpload.DoesNotExist),
            partial_tables.locked(upload.code) as pieces,
        ):
            upload.refresh_from_db()
            if upload.state == PartialUpload.State.OPEN and upload.expires_at <= now:
                _close(upload, PartialUpload.State.ENDED)
                pieces.erase()
                swept += 1
    PartialUpload.objects.exclude(state=PartialUpload.State.OPEN).filter(
        expires_at__lte=now
    ).delete()
    # Folders are listed before rows are read: an upload gets its row first.
    left = partial_tables.codes()
    open_ones = PartialUpload.objects.filter(code__in=left, state=PartialUpload.State.OPEN)
    for code in left - set(open_ones.values_list("code", flat=True)):
        with contextlib.suppress(InUse), partial_tables.locked(code) as pieces:
            pieces.erase()
            swept += 1
    return swept


def _require_open(upload: PartialUpload) -> None:
    """Under the lock: whoever held it before may have changed the state."""
    try:
        upload.refresh_from_db()
    except PartialUpload.DoesNotExist:
        raise selectors.gone() from None
    if not upload.is_open:
        raise selectors.gone()


def _check(upload: PartialUpload, pieces: Pieces, piece: bytes) -> None:
    """Refuse what the intake would refuse in the end, as early as it shows."""
    if pieces.count >= MOST_PIECES:
        raise Conflict(
            f"an upload has at most {MOST_PIECES:,} pieces",
            repair="begin it again and send more bytes in each request",
        )
    whole = len(piece) == upload.length
    if pieces.offset == 0 and (whole or len(piece) >= formats.HEAD):
        try:
            formats.check_kind(upload.file_kind, piece[: formats.HEAD])  # type: ignore[arg-type]
        except TableError:
            _close(upload, PartialUpload.State.ENDED)
            pieces.erase()
            raise


def _pieces_of(stream: IO[bytes], *, most: int) -> Iterator[bytes]:
    """The body of a request, in pieces; what came of it before the connection broke off is one as well."""
    left, piece, broken = most, bytearray(), False
    while left and not broken:
        try:
            data = stream.read(min(_READ, left))
        except OSError:  # Django's error for a connection that ends early is one
            data = b""
        broken = not data
        left -= len(data)
        piece += data
        if len(piece) >= partial_tables.PIECE:
            yield bytes(piece)
            piece.clear()
    if piece:
        yield bytes(piece)


def _extend(upload: PartialUpload) -> None:
    """It waits for its next piece from here on."""
    PartialUpload.objects.filter(pk=upload.pk, state=PartialUpload.State.OPEN).update(
        expires_at=_later()
    )


def _close(upload: PartialUpload, state: PartialUpload.State) -> None:
    upload.state, upload.expires_at = state, _later()
    upload.save(update_fields=["state", "dataset", "expires_at"])


def _later() -> datetime.datetime:
    return timezone.now() + datetime.timedelta(hours=settings.UPLOAD_HOURS)
