"""Bringing, using and deleting public reference tables. No budget is touched by any of it, and nothing is
confirmed."""

from __future__ import annotations

import gzip
import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction

from synth_engine import references as engine
from synth_engine.errors import TableError
from synth_engine.references import Roles
from synthweb.accounts.models import Organisation, User
from synthweb.accounts.selectors import organisation_of
from synthweb.audit import services as audit
from synthweb.datasets import selectors as datasets
from synthweb.datasets.services.intake import content_secret
from synthweb.lib import names
from synthweb.lib.errors import Conflict, Refused
from synthweb.references import records
from synthweb.references.models import RECORDS, ReferenceTable, ReferenceVersion

MOST_BYTES = 32 * 2**20
"""As uploaded: it is read in memory, and nothing of it touches a disk before it is known to be no table of a
dataset."""
WORD = "public"
NOT_PUBLIC = (
    "this file is the table of a dataset of your organisation, or once was: it is not public"
)


@dataclass(frozen=True, kw_only=True)
class Brought:
    """A file with what somebody says about it: that it is public (`word`), and its columns (None: by their
    names). has_records: whether it is a table of records, whose columns have no roles."""

    data: bytes
    word: str
    roles: Roles | None = None
    has_records: bool = False


def add(*, actor: User, name: str, published: str, file: Brought) -> ReferenceTable:
    """Keep a new reference table. Errors: Refused, Conflict; TableError for a file that is none."""
    name = names.one_line(" ".join(name.split()))
    published = names.one_line(" ".join(published.split()), field="published")
    if not name or not published:
        raise Refused(
            "a reference table has no name, or nobody says where it is published",
            repair="say both",
        )
    organisation = organisation_of(actor)
    read = _read(file, organisation=organisation)
    try:
        # The unique constraint decides, because two requests may both see that a name is free.
        # The block ends before the exception is handled: PostgreSQL takes no query after an
        # error in it.
        with transaction.atomic():
            made = ReferenceTable.objects.create(
                organisation=organisation, name=name, published=published, made_by=actor
            )
            _keep(made, actor=actor, read=read)
    except IntegrityError:
        raise Conflict(
            "there is a reference table of this name already",
            repair="bring the file as a version of that one, or choose another name",
            field="name",
        ) from None
    return made


@transaction.atomic
def add_version(*, actor: User, reference: ReferenceTable, file: Brought) -> ReferenceVersion:
    """Keep another file of a reference table; the ones before it stay."""
    read = _read(file, organisation=reference.organisation)
    # Numbers are counted up from the latest version: two requests must not both see the same.
    locked = ReferenceTable.objects.select_for_update(of=("self",)).get(pk=reference.pk)
    if locked.versions.filter(sha256=read.sha256, roles=read.roles).exists():
        raise Conflict("this very file is a version of it already", repair="use that one")
    latest = locked.versions.order_by("-number").values_list("kind", flat=True).first()
    if latest is not None and (latest == RECORDS) != (read.kind == RECORDS):
        raise Conflict(
            "versions of a reference table have all codes or all records, and this file has the other",
            repair="add it as a reference table of its own",
        )
    return _keep(locked, actor=actor, read=read)


@transaction.atomic
def delete(*, actor: User, reference: ReferenceTable) -> None:
    """Forget a reference table with all its versions; descriptions hold copies of what they use."""
    _note(actor, "reference.deleted", reference, detail={"name": reference.name})
    reference.delete()


def require_no_table(content_key: str, *, organisation: Organisation) -> None:
    """Refused for content that is, or was, to be protected: what is public about a table must not come out of
    it."""
    if datasets.holding([content_key], organisation_id=organisation.pk).exists():
        raise Refused(
            NOT_PUBLIC, repair="take public facts from where anybody can get them", field="file"
        )


def require_not_public(content_key: str, *, organisation: Organisation) -> None:
    """Refused: a table that this organisation has called public. Of other organisations nothing is looked at
    or told."""
    same = ReferenceVersion.objects.filter(
        content_key=content_key, reference__organisation=organisation
    )
    if duplicate := same.select_related("reference").order_by("pk").first():
        raise TableError(
            f"this very file was called public here, as the reference table “{duplicate.reference.name}”",
            repair="delete that reference table if it should not have been, and upload the table again",
        )


@dataclass(frozen=True, kw_only=True)
class _Read:
    """The stored facts of a file."""

    kind: str
    roles: dict[str, Any]
    content: bytes  # before it is packed
    count: int
    partitions: dict[str, int]
    advice: str
    sha256: str
    content_key: str


def _read(file: Brought, *, organisation: Organisation) -> _Read:
    """Looks at the file's mark before anything else does, then reads it."""
    if file.word.strip().lower() != WORD:
        raise Refused(
            "nobody said that this file is public",
            repair=f"type the word “{WORD}” if it is",
            field="word",
        )
    if len(file.data) > MOST_BYTES:
        raise TableError(
            f"a reference file is larger than {MOST_BYTES // 2**20} MB",
            repair="pack it with gzip",
        )
    # The hash that tables have (`datasets.services.intake`), also over the unpacked bytes: a
    # protected table is recognised whichever way it is packed.
    text = engine.unpacked(file.data)
    key = hmac.new(content_secret(), text, digestmod=hashlib.sha256).hexdigest()
    require_no_table(key, organisation=organisation)
    sha256 = hashlib.sha256(text).hexdigest()
    if file.has_records:
        return _read_records(text, file=file, sha256=sha256, content_key=key)
    roles = file.roles or engine.recognise(engine.read_sheet(text).names)
    if roles is None:
        raise TableError(
            "the names of the columns do not show which one is the code",
            repair="say which columns to take, or that it is a table of records",
        )
    reference = engine.read(text, roles=roles)
    return _Read(
        kind=reference.kind,
        roles=roles.to_json(),
        content=json.dumps(
            reference.to_json(), separators=(",", ":"), allow_nan=False
        ).encode(),
        count=len(reference),
        partitions={name: len(set(parts)) for name, parts in reference.parents.items()},
        advice=engine.advice(reference),
        sha256=sha256,
        content_key=key,
    )


def _read_records(text: bytes, *, file: Brought, sha256: str, content_key: str) -> _Read:
    if file.roles is not None:
        raise Refused(
            "columns of a table of records have no roles",
            repair="leave them out, or say that the file has codes",
            field="kind",
        )
    checked = records.check(text)
    return _Read(
        kind=RECORDS,
        roles={"columns": list(checked.columns)},
        content=text,
        count=checked.records,
        partitions={},
        advice="",
        sha256=sha256,
        content_key=content_key,
    )


def _keep(table: ReferenceTable, *, actor: User, read: _Read) -> ReferenceVersion:
    latest = table.versions.order_by("-number").values_list("number", flat=True).first() or 0
    made = ReferenceVersion.objects.create(
        reference=table,
        number=latest + 1,
        kind=read.kind,
        roles=read.roles,
        # No time in the header: equal contents are equal bytes.
        content=gzip.compress(read.content, compresslevel=6, mtime=0),
        code_count=read.count,
        partitions=read.partitions,
        advice=read.advice,
        sha256=read.sha256,
        content_key=read.content_key,
        uploaded_by=actor,
    )
    detail = {
        "name": table.name,
        "version": made.number,
        "sha256": made.sha256,
        "kind": made.kind,
    }
    _note(actor, "reference.declared", table, detail=detail)
    return made


def _note(
    actor: User, action: str, table: ReferenceTable, *, detail: dict[str, object]
) -> None:
    audit.record(
        actor=actor,
        action=action,
        target=("reference", table.code),
        organisation=table.organisation,
        detail=detail,
    )
