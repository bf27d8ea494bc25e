"""Define the source of a public table: name, version and digest of the file that was copied into a
description."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from synth_engine.errors import DomainError
from synth_engine.kinds.fields import Fields

MAX_FIELD_LENGTH = 200
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class Source:
    """A published table. `sha256`: of the file, in hexadecimal digits, or empty where it is not known."""

    name: str
    version: str = ""
    sha256: str = ""

    def __post_init__(self) -> None:
        if not 0 < len(self.name) <= MAX_FIELD_LENGTH or len(self.version) > MAX_FIELD_LENGTH:
            raise DomainError(
                f"a source without a name of up to {MAX_FIELD_LENGTH} letters",
                repair="say what was published",
            )
        if self.sha256 and not _DIGEST.fullmatch(self.sha256):
            raise DomainError(
                "a digest that is not 64 hexadecimal digits",
                repair="write the SHA-256 of the file",
            )

    def to_json(self) -> dict[str, str]:
        return {key: value for key, value in asdict(self).items() if value}


def parse(document: object) -> Source | None:
    """Read a source from JSON; None for null. Errors: DomainError."""
    if document is None:
        return None
    if not isinstance(document, Mapping):
        raise DomainError(
            "a source is not an object",
            repair='give it "name", and "version" and "sha256" if known',
        )
    fields = Fields(document)
    fields.only("name", "version", "sha256")
    version, digest = (fields.text(name, default="") for name in ("version", "sha256"))
    return Source(name=fields.text("name"), version=version, sha256=digest)
