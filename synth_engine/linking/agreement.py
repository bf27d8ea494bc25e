"""The agreement of two sides: what each will count, how records are hashed, and what is taken for granted.

It is made of two public descriptions before any row is read. Its digest stands in both receipts, so that two
sketches are estimated together only if both sides had agreed on the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, cast, get_args

from synth_engine.domain import Attribute, Derived, Domain, Integer, Undeclared, purchases
from synth_engine.errors import DomainError, InputError, RelationMismatch, SpecError
from synth_engine.kinds import parse_attribute
from synth_engine.linking import forecast
from synth_engine.linking.hashing import NAME, Hashing
from synth_engine.measurement import MAX_TABLE_CELLS
from synth_engine.privacy import receipt as receipts
from synth_engine.privacy.loss import parse_decimal, plain
from synth_engine.privacy.unit import PrivacyUnit, Relation, histogram_sensitivity
from synth_engine.strict_json import JsonObject, JsonValue

SCHEMA = "synth_engine/link/1"
NGRAM = 2
"""Letters of an n-gram."""
STRICT, LOOSE = 12, 4
"""Hash functions that decide a bucket together, unless others are asked for: where texts are equal, so many
that different persons hardly ever agree in all; where they may differ by a letter, so few that such pairs
often do."""
BUCKET = ("link_bucket_high", "link_bucket_low")
"""The names of the columns of buckets in the description of a sketch."""
MAX_TEXTS, MAX_ATTRIBUTES, MAX_JOINT_CELLS = 8, 4, 256
Side = Literal["left", "right"]
SIDES: tuple[Side, ...] = get_args(Side)


@dataclass(frozen=True, kw_only=True)
class LinkSide:
    """What one side counts. domain_sha256: the digest of its description. texts: its columns that identify a
    person, in the order of those of the other side. attributes: its linked columns. unit: column of its
    persons, if any. epsilon: what it spends."""

    domain_sha256: str
    unit: PrivacyUnit
    texts: tuple[str, ...]
    attributes: tuple[Attribute, ...]
    epsilon: Fraction

    @property
    def cells(self) -> int:
        """The number of combinations of its linked columns."""
        return math.prod(attribute.size for attribute in self.attributes)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(attribute.name for attribute in self.attributes)

    def to_json(self) -> JsonObject:
        return {
            "domain_sha256": self.domain_sha256,
            "unit": self.unit.to_json(),
            "texts": list(self.texts),
            "attributes": cast("list[JsonValue]", [each.to_json() for each in self.attributes]),
            "epsilon": plain(self.epsilon),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> LinkSide:
        return cls(
            domain_sha256=str(document["domain_sha256"]),
            unit=PrivacyUnit.from_json(document["unit"]),
            texts=tuple(map(str, document["texts"])),
            attributes=tuple(parse_attribute(each) for each in document["attributes"]),
            epsilon=parse_decimal(document["epsilon"], name="epsilon"),
        )


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """A link of two tables. typos: the largest share of persons of both sides whose texts differ between
    them, as both sides take for granted. rows: about how many records a side has, by which the number of
    buckets was chosen."""

    relation: Relation
    hashing: Hashing
    left: LinkSide
    right: LinkSide
    typos: Fraction
    rows: int

    def __post_init__(self) -> None:
        if len(self.left.texts) != len(self.right.texts):
            raise SpecError(
                f"the sides are matched by {len(self.left.texts)} and {len(self.right.texts)} columns of "
                "texts",
                repair="name for each column of one side that of the other, in one order",
            )
        if not 0 <= self.typos < 1:
            raise SpecError(
                "typos is no share from 0 to below 1", repair="write 0.1 for a tenth of persons"
            )
        for name in SIDES:
            self._check_side(name)
        if (cells := self.left.cells * self.right.cells) > MAX_JOINT_CELLS:
            raise SpecError(
                f"the linked columns have {cells:,} combinations, and up to {MAX_JOINT_CELLS} are estimated",
                repair="link fewer columns, or columns with fewer values",
            )

    def _check_side(self, name: Side) -> None:
        side = self.side(name)
        if not 1 <= len(set(side.texts)) == len(side.texts) <= MAX_TEXTS:
            raise SpecError(
                f"the {name} side has no columns of texts, one of them twice, or more than {MAX_TEXTS}",
                repair="name each column that identifies a person once",
            )
        if len(set(side.names)) != len(side.names) or len(side.names) > MAX_ATTRIBUTES:
            raise SpecError(
                f"the {name} side links a column twice, or more than {MAX_ATTRIBUTES}",
                repair="name each linked column once",
            )
        if side.unit.max_records != 1:
            raise SpecError(
                f"a person of the {name} side has up to {side.unit.max_records:,} records, and a link "
                "counts one of each",
                repair="set max_records of the privacy unit to 1; with a column of persons the run keeps "
                "one record of each",
            )
        if side.epsilon <= 0:
            raise SpecError(f"epsilon of the {name} side is 0", repair="give an amount above 0")
        cells = side.cells * self.hashing.codes
        if cells > MAX_TABLE_CELLS:
            raise SpecError(
                f"the sketch of the {name} side has {cells:,} cells, and up to {MAX_TABLE_CELLS:,} are "
                "counted",
                repair="use fewer buckets, or link columns with fewer values",
            )

    def side(self, name: Side) -> LinkSide:
        return self.left if name == "left" else self.right

    @property
    def epsilon_of_both(self) -> Fraction:
        """The loss of a person who is in both tables: the sum over both sketches."""
        return self.left.epsilon + self.right.epsilon

    @property
    def sentence_of_both(self) -> str:
        """What a person who is in both tables loses."""
        return (
            f"this sketch belongs to link {self.digest[:16]}; for a person in both tables the two sketches "
            f"together are {plain(self.epsilon_of_both)}-differentially private, which is more than each "
            "by itself"
        )

    @property
    def expected_error(self) -> tuple[float, float]:
        """The error of the number of persons in both to expect where half of the records are: in persons, and
        as a share of them. From public numbers alone."""
        deviation = forecast.deviation(
            [
                (_epsilon_of_cell(side, self.relation), side.cells)
                for side in (self.left, self.right)
            ],
            rows=self.rows,
            buckets=self.hashing.codes,
        )
        return deviation, deviation / (self.rows * forecast.TYPICAL_OVERLAP)

    @property
    def advice(self) -> str:
        """The error to expect, in words."""
        deviation, share = self.expected_error
        return (
            f"with {self.rows:,} records a side, half of them in both, the number of persons in both is "
            f"off by about {share:.0%} ({deviation:,.0f} persons); texts that many persons share make it "
            "worse"
        )

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON: what both receipts name."""
        return receipts.digest(self.to_json())

    def domain_of(self, name: Side) -> Domain:
        """The description under which a side is counted: the bucket and the linked columns."""
        side = self.side(name)
        buckets = (
            Integer(name=column, low=0, high=size - 1, width=1)
            for column, size in zip(BUCKET, self.hashing.shape, strict=True)
        )
        return Domain(
            attributes=(*buckets, *side.attributes), unit=side.unit, relation=self.relation
        )

    def to_json(self) -> JsonObject:
        hashing = self.hashing
        return {
            "schema": SCHEMA,
            "relation": self.relation.value,
            "hashing": {
                "name": NAME,
                "ngram": hashing.ngram,
                "functions": hashing.functions,
                "bits": hashing.bits,
                "seed": hashing.seed,
            },
            "typos": plain(self.typos),
            "rows": self.rows,
            "left": self.left.to_json(),
            "right": self.right.to_json(),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Agreement:
        """Errors: InputError for a document of another form."""
        if document.get("schema") != SCHEMA:
            raise InputError(
                "the document is no link", repair="give the file that `link agree` wrote"
            )
        try:
            hashing = dict(document["hashing"])
            if hashing.pop("name") != NAME:
                raise InputError(
                    "the link hashes by another version", repair="make the link again"
                )
            read = cls(
                relation=Relation(document["relation"]),
                hashing=Hashing(**hashing),
                left=LinkSide.from_json(document["left"]),
                right=LinkSide.from_json(document["right"]),
                typos=parse_decimal(document["typos"], name="typos"),
                rows=int(document["rows"]),
            )
        except (KeyError, TypeError, ValueError):
            raise InputError(
                "the link is malformed", repair="use the file as `link agree` wrote it"
            ) from None
        if receipts.digest(read.to_json()) != receipts.digest(document):
            raise InputError(
                "the link is malformed", repair="use the file as `link agree` wrote it"
            )
        return read

    def require_description(self, name: Side, domain: Domain) -> None:
        """Refuse another description than the one that was agreed on, before anything is spent. Errors:
        DomainError."""
        if domain.digest != self.side(name).domain_sha256:
            raise DomainError(
                f"the description is not the one of the {name} side of the link",
                repair="give the description of the agreement, or agree again on the changed one",
            )


@dataclass(frozen=True, kw_only=True)
class Offer:
    """One side of a link before it is agreed on: its description, columns of texts, linked columns and
    epsilon."""

    domain: Domain
    texts: Sequence[str]
    attributes: Sequence[str]
    epsilon: Fraction


def agree(
    left: Offer,
    right: Offer,
    *,
    rows: int,
    typos: Fraction = Fraction(0),
    functions: int | None = None,
    seed: str,
) -> Agreement:
    """A link of two descriptions. rows: about how many records a side has; the number of buckets is chosen by
    it. functions: hash functions that decide a bucket together, None for the usual number. seed: of these, 32
    hexadecimal digits that nobody chose. Errors: SpecError, DomainError, RelationMismatch naming side and
    column; nothing is read."""
    if left.domain.relation is not right.domain.relation:
        raise RelationMismatch(
            f"the left side protects by the {left.domain.relation.value} relation and the right one by "
            f"{right.domain.relation.value}: their losses cannot be added up; describe both by one relation"
        )
    if not 1 <= rows <= 10**9:
        raise SpecError(
            "rows of a link is no number from 1 to 10⁹", repair="say about how many a side has"
        )
    sides = {name: _side(name, offer) for name, offer in zip(SIDES, (left, right), strict=True)}
    relation = left.domain.relation
    return Agreement(
        relation=relation,
        hashing=Hashing(
            ngram=NGRAM,
            functions=functions if functions is not None else (LOOSE if typos else STRICT),
            bits=_bits(sides["left"], sides["right"], relation=relation, rows=rows),
            seed=seed,
        ),
        left=sides["left"],
        right=sides["right"],
        typos=typos,
        rows=rows,
    )


def _bits(left: LinkSide, right: LinkSide, *, relation: Relation, rows: int) -> int:
    """Bits of a bucket that make the expected error least, as far as tables may have so many cells."""
    most = MAX_TABLE_CELLS // max(left.cells, right.cells)
    noises = [(_epsilon_of_cell(side, relation), side.cells) for side in (left, right)]
    return min(forecast.best_bits(noises, rows=rows), most.bit_length() - 1)


def _epsilon_of_cell(side: LinkSide, relation: Relation) -> float:
    """One over the scale of the noise of a cell."""
    return float(side.epsilon) / histogram_sensitivity(side.unit, relation).l1


def linkable(domain: Domain) -> list[Attribute]:
    """The columns of a description that a link can count. Facts that were bought stay within their
    account."""
    return [
        attribute
        for attribute in domain.modelled
        if not isinstance(attribute, Derived | Undeclared)
        and not attribute.separate_markers
        and not purchases.rests(attribute)
    ]


def _side(name: str, offer: Offer) -> LinkSide:
    domain = offer.domain
    domain.require_confirmed()
    if domain.repeats is not None:
        raise SpecError(
            f"a row of the {name} side stands for several records",
            repair="link a table with one row a record",
        )
    if domain.totals is not None:
        raise SpecError(
            f"totals of the {name} side are public, and a link protects without them",
            repair="leave totals out of its description",
        )
    known = {attribute.name: attribute for attribute in linkable(domain)}
    taken = []
    for column in offer.attributes:
        attribute = known.get(column)
        if attribute is None:
            raise DomainError(
                f"the {name} side has no such column that can be linked",
                repair="name a column of its description that has declared values and is no identifier",
                column=column,
            )
        taken.append(attribute)
    return LinkSide(
        domain_sha256=domain.digest,
        unit=domain.unit,
        texts=tuple(offer.texts),
        attributes=tuple(taken),
        epsilon=offer.epsilon,
    )
