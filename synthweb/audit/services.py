"""Writing the audit log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.db import connection, transaction
from django.utils import timezone

from synthweb.audit import chain
from synthweb.audit.models import AuditEntry, ChainHead
from synthweb.lib import hashing


class HasCode(Protocol):
    """An organisation, or anything else that is named by a code."""

    code: str


Actor = AbstractBaseUser | AnonymousUser | str


def record(
    *,
    actor: Actor | None,
    action: str,
    target: tuple[str, str] | None = None,
    organisation: HasCode | str | None = None,
    detail: Mapping[str, object] | None = None,
) -> AuditEntry:
    """Append one deed to the log, in the caller's transaction: it is kept if and only if the deed is.

    `action` is noun.verb-in-the-past (`dataset.uploaded`); `target` is (kind, code); `detail` holds public
    facts as strings and integers (no floats: they have no single spelling), never a value of a row. From here
    to the end of the transaction the head of the log is locked, so record last, after every other lock has
    been taken.
    """
    kind, code = target or ("", "")
    with transaction.atomic():
        head = _locked_head()
        entry = AuditEntry(
            sequence=head.sequence + 1,
            at=timezone.now(),
            actor=_storable(_name(actor)),
            organisation_code=organisation
            if isinstance(organisation, str)
            else getattr(organisation, "code", ""),
            action=action,
            object_kind=kind,
            object_code=_storable(code),
            detail=_storable(hashing.plain(detail or {})),
            previous_hash=head.hash or chain.FIRST,
        )
        entry.hash = chain.seal(entry)
        entry.save()
        ChainHead.objects.filter(pk=head.pk).update(sequence=entry.sequence, hash=entry.hash)
    return entry


def _locked_head() -> ChainHead:
    ChainHead.objects.get_or_create(name=chain.NAME)
    return ChainHead.objects.select_for_update(
        no_key=connection.features.has_select_for_no_key_update
    ).get(name=chain.NAME)


def _name(actor: Actor | None) -> str:
    if actor is None:
        return "system"
    if isinstance(actor, str):
        return actor
    return actor.get_username() or "anonymous"


def _storable(value: Any) -> Any:
    """PostgreSQL's text has no NUL and no half of a surrogate pair; an entry is not lost over one."""
    if isinstance(value, str):
        return value.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {_storable(key): _storable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_storable(item) for item in value]
    return value
