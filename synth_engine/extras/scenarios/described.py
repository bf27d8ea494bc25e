"""Descriptions that test data are made from where there is no release: that of a table, or one with a share
for each value."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from synth_engine.domain import Domain
from synth_engine.errors import DomainError
from synth_engine.mechanisms import uniform
from synth_engine.models import description
from synth_engine.models.model import Model

MOST_CODES = 1 << 20
"""Values of all columns together: each gets a weight."""
USUAL_ROWS = 10_000
"""Rows where a description does not say how many there are."""


@dataclass(frozen=True, kw_only=True)
class Described:
    """A model that a description stands for, and the SHA-256 of that description."""

    model: Model
    sha256: str


def is_description(document: object) -> bool:
    """Whether a document is meant as a description, and not as a model."""
    if not isinstance(document, Mapping):
        return False
    return document.get("schema") == description.SCHEMA or "attributes" in document


def read_description(document: object) -> Described:
    """The model of a description, for which nothing but the document is read. Errors: InputError,
    DomainError, with column, rule and repair."""
    if isinstance(document, Mapping) and document.get("schema") == description.SCHEMA:
        text = json.dumps(document, sort_keys=True, separators=(",", ":"))
        return Described(
            model=description.read(document), sha256=hashlib.sha256(text.encode()).hexdigest()
        )
    return describe(Domain.from_json(document))


def describe(domain: Domain) -> Described:
    """The model of a table that is described without shares: every value of every column is equally likely.
    Errors: DomainError."""
    domain.require_confirmed()
    # What a run would learn is not known without data, so there is nothing to draw.
    if domain.undeclared:
        raise domain.undeclared[0].error(
            "still has to be learned", repair="declare its values or bounds"
        )
    if sum(domain.sizes.values()) > MOST_CODES:
        raise DomainError(
            f"the columns have more than {MOST_CODES:,} values together",
            repair="use wider bins, or fewer columns",
        )
    rows = USUAL_ROWS if domain.rows is None else domain.rows
    return Described(model=uniform.model(domain, rows=rows), sha256=domain.digest)
