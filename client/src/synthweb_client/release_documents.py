"""What the server says of one release beside its facts, as dataclasses; as `documents`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from synthweb_client.documents import PaidFigure, Quality


@dataclass(frozen=True, kw_only=True)
class Distance:
    """A distance to the real table, with the interval in which it is expected."""

    estimate: float
    low: float
    high: float
    level: float


@dataclass(frozen=True, kw_only=True)
class ColumnError:
    """How close one column is expected to be, in a word of `Quality`. deviation: None where the column has no
    intervals."""

    name: str
    word: str
    deviation: float | None


@dataclass(frozen=True, kw_only=True)
class ExpectedErrors:
    """How far a release is expected to be from the real table: averages over columns and over pairs, and the
    share of the dependence between columns that is lost; None where the method says too little of it."""

    single_columns: Distance | None
    pairs: Distance | None
    relations: Distance | None
    quality: Quality
    columns: tuple[ColumnError, ...]


@dataclass(frozen=True, kw_only=True)
class Node:
    """One column of a network. parents: the columns that it is drawn from. cells: of the table that says
    how."""

    column: str
    parents: tuple[str, ...]
    cells: int


@dataclass(frozen=True, kw_only=True)
class Citation:
    """The same in two forms: a sentence, and an entry for BibTeX."""

    plain: str
    bibtex: str


@dataclass(frozen=True, kw_only=True)
class Cited:
    """The part of a report that says how to cite the release."""

    citation: Citation


@dataclass(frozen=True, kw_only=True)
class Share:
    """That a release is, or was, shared with an analyst."""

    analyst: str
    granted_by: str
    created_at: datetime
    revoked_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class Edition:
    """An edited description of a release. after_looking: whether a comparison with real data was opened
    before."""

    code: str
    note: str
    edited_by: str
    after_looking: bool
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class Void:
    """That figures are not to be used: why, and who said so."""

    reason: str
    by: str
    at: datetime


@dataclass(frozen=True, kw_only=True)
class PaidCheck:
    """Figures that were measured together from the budget. sentence: their guarantee. void: None while they
    may be used."""

    code: str
    release: str
    run: str
    epsilon: Decimal
    delta: Decimal
    sentence: str
    chosen_after_looking: bool
    void: Void | None
    figures: tuple[PaidFigure, ...]
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A criterion, in words. private, paid: met, not-met or cannot-tell, by the noisy answers of the release
    and by a check; paid is empty without one."""

    criterion: str
    private: str
    private_lower: float | None
    private_upper: float | None
    paid: str
    paid_lower: float | None
    paid_upper: float | None
