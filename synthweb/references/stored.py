"""Stored reference tables, as the engine takes them."""

from __future__ import annotations

import gzip
import json

from synth_engine.errors import DomainError
from synth_engine.references import Reference, ReferenceSource
from synthweb.references.models import ReferenceVersion


def codes_of(version: ReferenceVersion) -> Reference:
    """What the file said of codes. Errors: DomainError for records."""
    if version.has_records:
        raise DomainError(
            "this reference table has records, and no codes with points, weights or larger parts",
            repair="choose another one, or use this one beside the answers of a release",
        )
    return Reference.from_json(json.loads(gzip.decompress(bytes(version.content))))


def source_of(version: ReferenceVersion) -> ReferenceSource:
    """How a description names it."""
    return ReferenceSource(
        name=version.reference.name, version=str(version.number), sha256=version.sha256
    )
