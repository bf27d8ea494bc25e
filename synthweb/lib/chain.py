"""Hash chains: every link's hash covers its own fields and the hash before it, so that no link can be
changed, removed from the middle or moved without every later hash changing too.

What a chain alone cannot show is a tail cut off: compare the head with one that was written down elsewhere
(`manage.py verify_ledger --heads`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from synthweb.lib import hashing

FIRST = (
    "0" * 64
)  # the hash before the first link of a chain that has no identity of its own to start from


@dataclass(frozen=True, kw_only=True)
class ChainLink:
    """One stored link: its place, its fields without the two hashes, and the two hashes as stored."""

    sequence: int
    fields: Mapping[str, object]
    previous_hash: str
    hash: str


@dataclass(frozen=True, kw_only=True)
class ChainVerdict:
    """What a verification found. `faults` are sentences; none means intact."""

    length: int
    head: str
    faults: tuple[str, ...] = field(default=())

    @property
    def intact(self) -> bool:
        return not self.faults


def seal(*, sequence: int, fields: Mapping[str, object], previous_hash: str) -> str:
    """The hash of a link: SHA-256 of the canonical JSON of its fields with `sequence` and `previous_hash`
    added."""
    return hashing.digest({**fields, "sequence": sequence, "previous_hash": previous_hash})


def walk(links: Iterable[ChainLink], *, first: str = FIRST) -> ChainVerdict:
    """Recompute a chain from its links in order of sequence; says of every link what is wrong with it."""
    faults: list[str] = []
    expected, head, length = 1, first, 0
    for link in links:
        length += 1
        if link.sequence != expected:
            faults.append(
                f"entry {link.sequence}: expected number {expected}; entries are missing or out of order"
            )
        if link.previous_hash != head:
            faults.append(f"entry {link.sequence}: does not continue from the hash before it")
        if (
            seal(sequence=link.sequence, fields=link.fields, previous_hash=link.previous_hash)
            != link.hash
        ):
            faults.append(
                f"entry {link.sequence}: its fields do not give its hash; it was changed"
            )
        # From the stored values: one changed entry is not a fault of every later one.
        expected, head = link.sequence + 1, link.hash
    return ChainVerdict(length=length, head=head, faults=tuple(faults))
