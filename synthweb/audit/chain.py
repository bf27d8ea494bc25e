"""The audit log's hash chain: one chain for the installation."""

from __future__ import annotations

from collections.abc import Iterator

from synthweb.audit.models import AuditEntry, ChainHead
from synthweb.lib import chain
from synthweb.lib.chain import FIRST, ChainLink, ChainVerdict

__all__ = ["FIRST", "NAME", "fields", "seal", "verify"]

NAME = "audit"


def fields(entry: AuditEntry) -> dict[str, object]:
    """What an entry's hash covers, besides its number and the hash before it."""
    return {
        "at": entry.at,
        "actor": entry.actor,
        "organisation": entry.organisation_code,
        "action": entry.action,
        "object_kind": entry.object_kind,
        "object_code": entry.object_code,
        "detail": entry.detail,
    }


def seal(entry: AuditEntry) -> str:
    """The hash that belongs to `entry`."""
    return chain.seal(
        sequence=entry.sequence, fields=fields(entry), previous_hash=entry.previous_hash
    )


def verify() -> ChainVerdict:
    """Recompute the whole chain and compare its end with the stored head."""
    verdict = chain.walk(_links())
    head = ChainHead.objects.filter(name=NAME).first()
    stored = (head.sequence, head.hash or FIRST) if head else (0, FIRST)
    if stored == (verdict.length, verdict.head):
        return verdict
    fault = (
        f"the log ends at entry {verdict.length}, its stored head is entry {stored[0]}: the tail was cut or "
        "changed"
    )
    return ChainVerdict(
        length=verdict.length, head=verdict.head, faults=(*verdict.faults, fault)
    )


def _links() -> Iterator[ChainLink]:
    for entry in AuditEntry.objects.order_by("sequence").iterator(chunk_size=2000):
        yield ChainLink(
            sequence=entry.sequence,
            fields=fields(entry),
            previous_hash=entry.previous_hash,
            hash=entry.hash,
        )
