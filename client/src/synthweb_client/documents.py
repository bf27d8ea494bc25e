"""What the server answers, as dataclasses. Fields that a newer server adds are ignored."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeVar

import msgspec

from synthweb_client.errors import Fault, IncompatibleServer

Document = TypeVar("Document")


def read(content: bytes, kind: type[Document]) -> Document:
    """An answer as an object of `kind`. Errors: IncompatibleServer where a field is missing or has another
    type."""
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise IncompatibleServer(
            f"the answer is not what this client expects: {error}"
        ) from None


@dataclass(frozen=True, kw_only=True)
class Me:
    """Whose token this is, what it allows, and when it ends; scopes: None for other ways to sign in.
    token_ends_at: None if it does not, or the server does not say."""

    username: str
    organisation: str
    roles: tuple[str, ...]
    scopes: tuple[str, ...] | None
    token_ends_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Quality:
    """How close a release is expected to be to the real table: columns by word, and whether relations
    between columns are "kept", "weak", "lost" or "unknown". related: how many of all `pairs` of columns go
    together in the model."""

    word: str
    found_columns: int
    coarse_columns: int
    not_found_columns: int
    unknown_columns: int
    relations: str = "unknown"
    related: int = 0
    pairs: int = 0


@dataclass(frozen=True, kw_only=True)
class Licence:
    """Under which licence a release may be passed on. id: of the SPDX list, empty for one in the steward's
    own words; address: of its text."""

    id: str
    name: str
    address: str


@dataclass(frozen=True, kw_only=True)
class ReleaseFacts:
    """One release: what it is called, how it was made, and its guarantee.

    rows: the noisy (or public) number of records. columns, quality: None before they are computed. licence:
    None where none is stated.
    """

    code: str
    name: str
    description: str
    dataset: str
    mechanism: str
    epsilon: Decimal
    delta: Decimal
    relation: str
    guarantee: str
    rows: int
    domain_digest: str
    created_at: datetime
    columns: int | None = None
    quality: Quality | None = None
    licence: Licence | None = None
    shared_by: str | None = None


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A bar of a histogram of the model. share: of the records that have a value, 0 to 1."""

    values: str
    share: float


@dataclass(frozen=True, kw_only=True)
class ColumnLook:
    """What the model and the description hold of one column; nothing here is exact, and all of it may be
    shown."""

    name: str
    kind: str
    values: str
    unit: str
    word: str | None
    missing_share: float | None
    histogram: tuple[Bar, ...]


@dataclass(frozen=True, kw_only=True)
class FirstRows:
    """A hundred synthetic rows, the same for everybody. seed: public; it draws the same rows again."""

    seed: str
    columns: tuple[ColumnLook, ...]
    rows: tuple[tuple[str | None, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A figure of the real table as the noisy answers have it, with the interval that the noise leaves.

    figure: mean, median, share, …; value: of a share, the value that these records have. level: the share of
    releases whose interval holds the figure of the real table.
    """

    figure: str
    value: str
    estimate: float
    low: float
    high: float
    level: float


@dataclass(frozen=True, kw_only=True)
class EstimatedColumn:
    """The estimates of one column. note: why there are none; empty where there are."""

    name: str
    kind: str
    note: str
    figures: tuple[Estimate, ...]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One cell of a table of counts. values: of each column that was asked for. value: records, with the
    interval from lower to upper. model: records in the model. measured: whether noisy answers count the cell;
    else the value is the model's."""

    values: tuple[str, ...]
    value: float
    lower: float
    upper: float
    model: float
    measured: bool


@dataclass(frozen=True, kw_only=True)
class Marginal:
    """A table of counts. count: of its cells; measured: how many of them noisy answers count. level: the
    share of releases whose interval holds the count of the real table."""

    columns: tuple[str, ...]
    level: float
    count: int
    measured: int
    cells: tuple[Cell, ...]


@dataclass(frozen=True, kw_only=True)
class FitRange:
    """The standard error of a coefficient and its interval, in whose middle the estimate need not lie."""

    standard_error: float
    lower: float
    upper: float


@dataclass(frozen=True, kw_only=True)
class Coefficient:
    """One coefficient of a regression. column: "" for the constant; value: the values that are compared with
    the base of the column, "" for a number. of_table: about the real binned table, with privacy noise alone;
    of_population: with sampling as well, if the table is a random sample and, of least squares, all errors
    have one variance."""

    column: str
    value: str
    estimate: float
    of_table: FitRange
    of_population: FitRange


@dataclass(frozen=True, kw_only=True)
class FitGroup:
    """Values that count as the same. values: as in a condition of a table of counts; number: what each counts
    as, if it does."""

    values: str
    number: float | None


@dataclass(frozen=True, kw_only=True)
class FitColumn:
    """How a column is counted in a regression. base: the values that others are compared with; "" for a
    number."""

    name: str
    base: str
    groups: tuple[FitGroup, ...]


@dataclass(frozen=True, kw_only=True)
class Fit:
    """A regression. outcome_is: the values of the outcome that count as 1; "" for a number. records: about
    how many the table has. columns: what values count as, the outcome last. level: the share of releases
    whose interval holds the coefficient."""

    kind: str
    outcome: str
    outcome_is: str
    records: float
    level: float
    coefficients: tuple[Coefficient, ...]
    columns: tuple[FitColumn, ...]


@dataclass(frozen=True, kw_only=True)
class Column:
    """One line of the data dictionary."""

    column: str
    kind: str
    values: str
    missing: str
    outside: str
    provenance: str


@dataclass(frozen=True, kw_only=True)
class SampleFacts:
    """One table drawn from a release. seed: shown to whoever asked for the sample, and a secret unless you
    gave it."""

    code: str
    release: str
    edition: str | None
    rows: int
    seed: str | None = field(repr=False)
    commitment: str
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class Amount:
    """An amount of privacy budget, in the currency of the account; the others are 0."""

    epsilon: Decimal
    delta: Decimal
    rho: Decimal


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """What you may spend on validations of a release. open: neither expired nor ended by hand."""

    code: str
    note: str
    granted: Amount
    used: Amount
    left: Amount
    open: bool
    expires_at: datetime


@dataclass(frozen=True, kw_only=True)
class Price:
    """What figures would cost. fits: whether an allowance has that much left. distance, counts: about half
    the width of the interval of a distance (a share) and of a count (records)."""

    price: Amount
    fits: bool
    sentence: str
    distance: float
    counts: float


@dataclass(frozen=True, kw_only=True)
class PaidCell:
    """The noisy count of one cell of a marginal of the real table; it may lie below zero."""

    values: tuple[str, ...]
    value: float
    lower: float
    upper: float


@dataclass(frozen=True, kw_only=True)
class PaidGroup:
    """One of the worst groups: the records with these values of its columns. value: records of the real
    table, noisy. synthetic: records of the synthetic table."""

    columns: tuple[str, ...]
    values: tuple[str, ...]
    value: float
    lower: float
    upper: float
    synthetic: int


@dataclass(frozen=True, kw_only=True)
class PaidFigure:
    """A figure of the real table that was measured with noise. level: the share of checks whose interval
    holds the real one. unit: share, cells or records. table: of a marginal, the count of each cell; groups:
    worst groups; their intervals hold together."""

    asked: str
    kind: str
    columns: tuple[str, ...]
    value: float
    lower: float
    upper: float
    level: float
    unit: str
    table: tuple[PaidCell, ...] = ()
    groups: tuple[PaidGroup, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ValidationFacts:
    """A validation: what it costs of its allowance, its guarantee, how far it is, and the figures once it is
    finished."""

    code: str
    release: str
    state: str
    epsilon: Decimal
    delta: Decimal
    rho: Decimal
    target_epsilon: Decimal
    target_delta: Decimal
    figures: tuple[PaidFigure, ...]
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class LinkFacts:
    """A link of two organisations as yours sees it. side: yours, `left` if you proposed it. other: the other
    organisation, None before it accepted. invitation: in the answer to a proposal alone, and empty if that is
    repeated."""

    code: str
    name: str
    state: str
    side: str
    dataset: str
    other: str | None
    agreement_sha256: str | None
    agreement: dict[str, Any] | None
    estimate: dict[str, Any] | None
    release: str | None
    invitation: str = ""
    earmark: str = ""


@dataclass(frozen=True, kw_only=True)
class CityFacts:
    """A synthetic city of yours. state: `draft`, `waiting`, `finished` or `failed`. progress: of its stage, 0
    to 1. exports: of `matsim` and `populationsim` those that can be saved."""

    code: str
    name: str
    state: str
    stage: str
    progress: float
    failure: dict[str, Any] | None
    releases: dict[str, str]
    seed: str
    before: str | None
    changes: dict[str, Any] | None
    receipt: dict[str, Any] | None
    exports: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RepairedFacts:
    """A synthetic table that meets public totals. way: `weights` or `rows`. receipt: names that of the
    release, and says in `totals` whether each is met."""

    code: str
    name: str
    release: str
    published: str
    way: str
    rows: int
    totals: dict[str, Any]
    receipt: dict[str, Any]
    created_by: str
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class LinkOffer:
    """The agreement that an acceptance would make, and its price. expected_error: of the number of persons in
    both, as a share."""

    agreement_sha256: str
    agreement: dict[str, Any]
    price: Amount
    expected_error: float


@dataclass(frozen=True, kw_only=True)
class Problem:
    """An error of the server (RFC 9457)."""

    type: str = "about:blank"
    title: str = ""
    detail: str = ""
    errors: tuple[Fault, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Page:
    """Some rows of a list, and whether there are more."""

    next: str | None
    results: tuple[Any, ...]
