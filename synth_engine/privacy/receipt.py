"""The receipt of a release: every call, its exact noise and cost, and what follows from them.

Its core is written once, after the room is closed, and never changes; `digest` is over it, and citations name
it. Beside it stand what came later: the sample that was drawn, a chain of marks, and a signature over all of
that. `verify` reads it and trusts none of its sums. Amounts are ratios of integers as text, never floats. It
holds nothing that depends on rows but two digests of noisy values.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import metadata
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypeAlias, TypedDict, cast

from synth_engine.errors import SpecError
from synth_engine.privacy import candidates
from synth_engine.privacy.candidates import CandidateRule
from synth_engine.privacy.events import DirichletMultinomial, Event
from synth_engine.privacy.loss import NANO, nano, plain, ratio, scientific
from synth_engine.privacy.static_calibration import Certificate
from synth_engine.privacy.unit import PrivacyUnit, Relation
from synth_engine.strict_json import JsonObject, JsonValue

if TYPE_CHECKING:
    from synth_engine.privacy.signing import SignedDocument

SCHEMA = "synthweb/receipt/4"
MARK, SEAL, HEAD = "synthweb/mark/1", "synthweb/receipt-seal/1", "synthweb/marks-head/1"
"""Schemas of what is signed: a mark, a whole receipt, and where a chain of marks ends."""
LOOKED, DESCRIBED = "chosen-after-looking", "edited-description"
OUTSIDE, VOID = "outside-the-guarantee", "void"
"""Kinds of marks."""
_OUTSIDE_CORE = ("digest", "marks", "seal")
Sign: TypeAlias = "Callable[[Mapping[str, object], str], SignedDocument | None]"
"""Signs a statement under a schema: the document of both, with the public key and the signature; None without
a key."""
PREMISE = (
    "The guarantee compares tables, the empty one among them, that differ in whole, well-formed records. "
    "Not protected are whether a run succeeds and how long it takes: a run fails for a line with another "
    "number of cells, quotation marks that do not pair, merged cells, and a file that is damaged or beyond "
    "the stated limits of size, and for nothing that a well-formed record holds."
)
"""What the guarantee presupposes (docs/proofs/reading.md)."""
Kind = Literal["static", "adaptive"]
TOTALS = "totals of "
"""How the name of an invariant begins that says how many records have each value of a column."""
_EDITED = "edited_description_sha256"
_SENSITIVITIES = ("l1", "l2_squared", "linf")


class QueryDocument(TypedDict):
    """A query as JSON; which of the fields there are depends on its verb."""

    verb: str
    clique: list[str]
    cells: int
    candidates: NotRequired[list[list[str]] | CandidateRule]
    threshold: NotRequired[int | None]
    bins: NotRequired[list[int]]
    grown: NotRequired[JsonObject]
    branching: NotRequired[list[int]]
    parts: NotRequired[int]
    by: NotRequired[list[str]]
    parting: NotRequired[str]


class CallDocument(TypedDict):
    """One line of the journal. Amounts are ratios as text."""

    query: QueryDocument
    noise: Mapping[str, Any]
    sensitivity: Mapping[str, JsonValue]
    cost: Mapping[str, str]


class _MarkStatement(TypedDict):
    core: str
    sequence: int
    previous: str
    kind: str
    at: str
    text: str


class MarkSignature(TypedDict):
    key: str
    public_key: str
    signature: str


class Mark(_MarkStatement):
    """A later fact beside a receipt, in the chain of its release."""

    hash: str
    signed: MarkSignature | None


class MechanismDocument(TypedDict):
    id: str
    parameters: Mapping[str, object]
    kind: Kind


class Receipt(TypedDict):
    """A receipt as JSON. The last field is missing while the document is built."""

    schema: str
    mechanism: MechanismDocument
    plan: Mapping[str, Any]
    relation: str
    unit: Mapping[str, object]
    invariants: list[str]
    domain_sha256: str
    domain_facts: Mapping[str, int]
    target: Mapping[str, str]
    guarantee: Mapping[str, str]
    premise: str
    calls: list[CallDocument]
    answers_sha256: str
    post_processing: Mapping[str, object]
    sample: JsonObject | None
    chosen_after_looking: bool
    suggestions_shown: NotRequired[bool]
    ranges_after_looking: NotRequired[bool]
    outside_guarantee: NotRequired[bool]
    source: NotRequired[Mapping[str, object]]
    bought: NotRequired[list[Mapping[str, str]]]
    versions: Mapping[str, str]
    marks: list[Mark]
    seal: SignedDocument | None
    digest: NotRequired[str]


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """The claim of a receipt, never below what its certificate proves of the calls. rho: the zCDP cost of the
    same run, rounded up to the 10⁻⁹ in which ledgers count; None where a call has a delta, of which no rho
    follows."""

    epsilon: Fraction
    delta: Fraction
    rho: Fraction | None
    certificate: Certificate

    def to_json(
        self, *, relation: Relation, unit: PrivacyUnit, invariants: Sequence[str] = ()
    ) -> dict[str, str]:
        rho = {} if self.rho is None else {"rho": ratio(Fraction(nano(self.rho), NANO))}
        return {
            "epsilon": ratio(self.epsilon),
            "delta": ratio(self.delta),
            **rho,
            "certificate": self.certificate,
            "sentence": self.sentence(relation=relation, unit=unit, invariants=invariants),
        }

    def sentence(
        self, *, relation: Relation, unit: PrivacyUnit, invariants: Sequence[str] = ()
    ) -> str:
        change = "added or removed" if relation is Relation.ADD_REMOVE else "replaced"
        change += "".join(
            f", its {name.removeprefix(TOTALS)} kept"
            for name in invariants
            if name.startswith(TOTALS)
        )
        exact = f"epsilon = {plain(self.epsilon)}"
        if self.delta == 0:
            return f"{exact} differential privacy for {unit.sentence()} {change}."
        return (
            f"({exact}, delta = {scientific(self.delta)}) differential privacy for {unit.sentence()} "
            f"{change}."
        )


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One table drawn from the release. Exactly one of seed (public) and seed_commitment (secret) is given.
    edited: the SHA-256 of the description from which it is drawn, if somebody edited that; after_looking:
    whether they had looked at real data before; selection: which rows, where not all are asked for
    (`row_selection.RowSelection`)."""

    rows: int
    seed: str | None = None
    seed_commitment: str | None = None
    table_sha256: str | None = None
    edited: str | None = None
    after_looking: bool = False
    selection: JsonObject | None = None

    def __post_init__(self) -> None:
        if (self.seed is None) == (self.seed_commitment is None):
            raise SpecError("a sample shows either its seed or a commitment to it")

    def to_json(self) -> JsonObject:
        fields = {
            "seed": self.seed,
            "seed_commitment": self.seed_commitment,
            "table_sha256": self.table_sha256,
            _EDITED: self.edited,
            "chosen_after_looking": True if self.after_looking else None,
            "selection": self.selection,
        }
        return {"rows": self.rows} | {
            key: value for key, value in fields.items() if value is not None
        }


def seed_commitment(seed: str) -> str:
    """The commitment that a receipt shows in place of a secret seed. It hides 128 random bits, not a
    guessable word."""
    return hashlib.sha256(b"synthweb/seed-commitment/1\x00" + seed.encode()).hexdigest()


def call_to_json(query: QueryDocument, event: Event) -> CallDocument:
    """One line of the journal as the receipt shows it."""
    fields = event.to_json()
    query = query.copy()
    if isinstance(named := query.get("candidates"), list):
        query["candidates"] = candidates.stated(named)
    return {
        "query": query,
        "noise": {key: value for key, value in fields.items() if key not in _SENSITIVITIES},
        "sensitivity": {key: value for key, value in fields.items() if key in _SENSITIVITIES},
        "cost": _cost(event),
    }


def _cost(event: Event) -> dict[str, str]:
    # No rho even where delta is 0: its cost has one form, which the verifier expects.
    if isinstance(event, DirichletMultinomial):
        return {"epsilon": ratio(event.epsilon), "delta": ratio(event.delta)}
    epsilon = event.pure_epsilon()
    return {"rho": ratio(event.rho())} | (
        {} if epsilon is None else {"epsilon": ratio(epsilon)}
    )


@dataclass(frozen=True, kw_only=True)
class PlanStatement:
    """What was fixed before any record was read. target: epsilon and delta. cap: of an adaptive mechanism,
    the budget under which it ran, as a ratio by the name of its unit."""

    mechanism: str
    parameters: Mapping[str, object]
    kind: Kind
    digest: str
    cap: Mapping[str, str] | None
    target: tuple[Fraction, Fraction]


@dataclass(frozen=True, kw_only=True)
class DomainStatement:
    """Who is protected, and by which description. facts: how many facts of it have each origin; bought: the
    runs that paid for some of them, each with the digest of its receipt and its guarantee."""

    relation: Relation
    unit: PrivacyUnit
    invariants: Sequence[str]
    digest: str
    facts: Mapping[str, int]
    bought: Sequence[Mapping[str, str]] = ()


@dataclass(frozen=True, kw_only=True)
class RunStatement:
    """What happened in a run. calls: the journal; chosen_after_looking: whether it was asked for after a look
    at real data."""

    calls: Sequence[tuple[QueryDocument, Event]]
    answers_digest: str
    post_processing: Mapping[str, object] | None = None
    chosen_after_looking: bool = False


def build(
    *,
    plan: PlanStatement,
    domain: DomainStatement,
    guarantee: Guarantee,
    run: RunStatement,
    sample: Sample | None = None,
) -> Receipt:
    """The receipt as a JSON document. For a static mechanism the calls themselves are digested beforehand:
    they were fixed by public facts; an adaptive one names the cap under which it ran."""
    lines = [call_to_json(query, event) for query, event in run.calls]
    document: Receipt = {
        "schema": SCHEMA,
        "mechanism": {
            "id": plan.mechanism,
            "parameters": dict(plan.parameters),
            "kind": plan.kind,
        },
        "plan": {
            "sha256": plan.digest,
            "calls_sha256": digest(lines) if plan.kind == "static" else None,
            "cap": plan.cap,
        },
        "relation": domain.relation.value,
        "unit": domain.unit.to_json(),
        "invariants": list(domain.invariants),
        "domain_sha256": domain.digest,
        "domain_facts": dict(domain.facts),
        "target": {"epsilon": ratio(plan.target[0]), "delta": ratio(plan.target[1])},
        "guarantee": guarantee.to_json(
            relation=domain.relation, unit=domain.unit, invariants=domain.invariants
        ),
        "premise": PREMISE,
        "calls": lines,
        "answers_sha256": run.answers_digest,
        "post_processing": dict(run.post_processing or {}),
        "sample": None if sample is None else sample.to_json(),
        "chosen_after_looking": run.chosen_after_looking,
        "versions": versions(),
        "marks": [],
        "seal": None,
    }
    if domain.bought:
        document["bought"] = [dict(each) for each in domain.bought]
    return seal(document)


def core(document: Receipt) -> dict[str, object]:
    """The part of a receipt that never changes: all but the sample, the marks, the signature and the digest,
    which covers this part."""
    rest = {key: value for key, value in document.items() if key not in _OUTSIDE_CORE}
    return rest | {"sample": None}


def seal(document: Receipt) -> Receipt:
    """The document with the digest of its core renewed."""
    rest = {key: value for key, value in document.items() if key != "digest"}
    return cast(Receipt, rest | {"digest": digest(core(document))})


def with_sample(document: Receipt, sample: Sample) -> Receipt:
    """The same release, for one table drawn from it: the core, its digest and the marks stay, a signature
    does not."""
    # A signature covers the sample, so that of another sample does not fit.
    return {**document, "sample": sample.to_json(), "seal": None}


def with_marks(document: Receipt, marks: Sequence[Mark]) -> Receipt:
    """The same release with this chain of marks beside it, not yet signed."""
    return {**document, "marks": [mark.copy() for mark in marks], "seal": None}


def mark_suggestions_shown(document: Receipt) -> Receipt:
    """The receipt says that suggestions read from the data were shown before the description was confirmed.
    Only that: which fact equals a suggestion would confirm the suggestion."""
    return seal({**document, "suggestions_shown": True})


def mark_ranges_after_looking(document: Receipt) -> Receipt:
    """The receipt says that a range of its description was changed after a histogram of the real values had
    been opened."""
    return seal({**document, "ranges_after_looking": True})


def of_query(document: Receipt, *, query_sha256: str, vouched_by: str) -> Receipt:
    """The receipt says that its table is the result of a query, and who vouches for it; nobody, where it only
    chose rows and columns of one table."""
    return seal(
        {**document, "source": {"query_sha256": query_sha256, "vouched_by": vouched_by}}
    )


def of_formulas(document: Receipt, *, vouched_by: str) -> Receipt:
    """The receipt says that its table holds stored results of formulas, and who vouches that each depends on
    its own row alone."""
    return seal({**document, "source": {"formulas": True, "vouched_by": vouched_by}})


def mark_outside(document: Receipt) -> Receipt:
    """The receipt says that exact counts of the same table were published before, outside the guarantee
    (docs/mixing.md)."""
    return seal({**document, "outside_guarantee": True})


def mark(
    document: Receipt,
    *,
    after: Mark | None,
    kind: str,
    at: str,
    text: str,
    sign: Sign | None = None,
) -> Mark:
    """The next mark in the chain of a release.

    document: its receipt; after: the last mark, None for the first; at: a moment in UTC, as ISO 8601 with a
    Z; text: a sentence for people. The digest of a mark covers all of it but its signature, and the digest
    before.
    """
    statement: _MarkStatement = {
        "core": document["digest"],
        "sequence": 1 if after is None else after["sequence"] + 1,
        "previous": document["digest"] if after is None else after["hash"],
        "kind": kind,
        "at": at,
        "text": text,
    }
    # Without the name of a key: the chain is the same whether or not somebody signs it.
    unsigned = {"schema": MARK, "statement": statement}
    signed = None if sign is None else sign(statement, MARK)
    return {
        **statement,
        "hash": hashlib.sha256(_as_signed(unsigned)).hexdigest(),
        "signed": None
        if signed is None
        else {
            "key": signed["statement"]["key"],
            "public_key": signed["public_key"],
            "signature": signed["signature"],
        },
    }


def signed(document: Receipt, sign: Sign) -> Receipt:
    """The receipt with a signature over its core, its sample and its marks."""
    sample = document["sample"]
    statement = ends(document) | {"sample": None if sample is None else digest(sample)}
    return {**document, "seal": sign(statement, SEAL)}


def ends(document: Receipt) -> JsonObject:
    """Where the chain of marks of a receipt ends: its core, how many marks there are, and the digest of the
    last one."""
    marks = document["marks"]
    last = marks[-1]["hash"] if marks else document["digest"]
    return {"core": document["digest"], "marks": len(marks), "head": last}


def is_edited(document: Receipt) -> bool:
    """Whether a receipt is of something drawn from an edited description."""
    return _EDITED in (document["sample"] or {})


def is_after_looking(document: Receipt) -> bool:
    """Whether a receipt says, in its core or beside it, that a choice was made after a look at real data."""
    marked = any(mark["kind"] == LOOKED for mark in document["marks"])
    sample = document["sample"] or {}
    return bool(
        document["chosen_after_looking"] or marked or sample.get("chosen_after_looking")
    )


def is_outside(document: Receipt) -> bool:
    """Whether a receipt says, in its core or beside it, that exact counts of the same table were
    published."""
    marked = any(mark["kind"] == OUTSIDE for mark in document["marks"])
    return bool(document.get("outside_guarantee") or marked)


def _as_signed(obj: Any) -> bytes:
    """The spelling of signed documents: sorted keys, no blanks, UTF-8."""
    # UTF-8 here and ASCII in `canonical`: stored signatures and digests rest on both spellings.
    return json.dumps(obj, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode(
        "utf-8"
    )


def canonical(obj: Any) -> bytes:
    """Canonical JSON: sorted keys, no blanks, ASCII, no floats that JSON lacks."""
    return json.dumps(
        obj, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    ).encode()


def digest(obj: Any) -> str:
    """SHA-256 of the canonical JSON."""
    return hashlib.sha256(canonical(obj)).hexdigest()


def versions() -> dict[str, str]:
    """The versions of the software that took part in the run."""
    known = {"python": platform.python_version()}
    for name in ("numpy", "opendp"):
        known[name] = metadata.version(name)
    return known | {"synth_engine": _engine_version()}


def _engine_version() -> str:
    from synth_engine import __version__

    return __version__
