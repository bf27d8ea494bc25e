"""What the pages of links show: plain values for the templates. Nothing here decides who sees what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synth_engine.domain import Attribute
from synth_engine.linking.agreement import Agreement, LinkSide, Side
from synth_engine.linking.estimate import EstimateRange, LinkEstimate
from synth_engine.privacy.loss import plain
from synthweb.runs import linking
from synthweb.runs.estimate import Bar, bars_of
from synthweb.runs.models import Link
from synthweb.runs.proposals import AnyProposal

WIDTH = 600
"""Of a drawing of intervals, in its own units."""
MAX_SHOWN = 12
"""Values of a column that the page lists."""


@dataclass(frozen=True, kw_only=True)
class SideFacts:
    """One side of an agreement. columns: names of linked columns with their values."""

    side: Side
    texts: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]
    epsilon: str
    max_records: int

    @classmethod
    def of(cls, side: Side, agreed: LinkSide) -> SideFacts:
        return cls(
            side=side,
            texts=agreed.texts,
            columns=columns_of(agreed.attributes),
            epsilon=plain(agreed.epsilon),
            max_records=agreed.unit.max_records,
        )


def columns_of(attributes: Sequence[Attribute]) -> tuple[tuple[str, str], ...]:
    """Names of columns with their values as words, cut where there are many."""
    return tuple((each.name, _values(each)) for each in attributes)


def _values(attribute: Attribute) -> str:
    labels = attribute.labels
    more = len(labels) - MAX_SHOWN
    shown = ", ".join(labels[:MAX_SHOWN])
    return f"{shown}, … (+{more})" if more > 0 else shown


@dataclass(frozen=True, kw_only=True)
class AgreementFacts:
    """An agreement as both sides read it before anything is spent. deviation: persons by which the estimate
    is off, at half overlap."""

    digest: str
    relation: str
    sides: tuple[SideFacts, SideFacts]
    epsilon_of_both: str
    rows: int
    typos: float
    ngram: int
    functions: int
    buckets: int
    deviation: float
    share: float

    @classmethod
    def of(cls, agreed: Agreement) -> AgreementFacts:
        deviation, share = agreed.expected_error
        return cls(
            digest=agreed.digest,
            relation=agreed.relation.value,
            sides=(SideFacts.of("left", agreed.left), SideFacts.of("right", agreed.right)),
            epsilon_of_both=plain(agreed.epsilon_of_both),
            rows=agreed.rows,
            typos=float(agreed.typos),
            ngram=agreed.hashing.ngram,
            functions=agreed.hashing.functions,
            buckets=agreed.hashing.buckets,
            deviation=deviation,
            share=share,
        )


@dataclass(frozen=True, kw_only=True)
class LinkPrice:
    """What one side of a link costs, before anything is spent. digest: of the agreement that was shown."""

    bars: tuple[Bar, ...]
    digest: str

    @classmethod
    def of(cls, proposal: AnyProposal, agreed: Agreement) -> LinkPrice:
        return cls(bars=bars_of(proposal), digest=agreed.digest)

    @property
    def price(self) -> Bar:
        """The currency that the button names."""
        return self.bars[0]

    @property
    def lacking(self) -> bool:
        """Whether the budget has too little of one."""
        return any(bar.lacks for bar in self.bars)


@dataclass(frozen=True, kw_only=True)
class DrawnRange:
    """An estimate with its interval, and where it lies in the drawing: positions from 0 to `WIDTH`."""

    name: str
    value: int
    low: int
    high: int
    at: float
    start: float
    length: float


@dataclass(frozen=True, kw_only=True)
class JointCell:
    """Persons in both tables of one combination, with the standard deviation."""

    value: int
    deviation: int


@dataclass(frozen=True, kw_only=True)
class EstimatePage:
    """An estimate as it is drawn. rows: combinations of the left side with their cells; headings: those of
    the right side."""

    ranges: tuple[DrawnRange, ...]
    most: float
    headings: tuple[str, ...]
    rows: tuple[tuple[str, tuple[JointCell, ...]], ...]
    has_joint: bool

    @classmethod
    def of(cls, link: Link) -> EstimatePage | None:
        """None before there is an estimate."""
        if link.estimate is None:
            return None
        agreed = linking.agreement_of(link)
        estimate = LinkEstimate.from_json(link.estimate, agreed)
        named = {
            "left": estimate.left,
            "right": estimate.right,
            "both": estimate.both,
            "left_only": estimate.left_only,
            "right_only": estimate.right_only,
        }
        most = max(1.0, *(each.high for each in named.values()))
        cells = [
            tuple(
                JointCell(value=round(value), deviation=round(off))
                for value, off in zip(values, offs, strict=True)
            )
            for values, offs in zip(estimate.joint, estimate.joint_deviation, strict=True)
        ]
        return cls(
            ranges=tuple(_placed(name, each, most) for name, each in named.items()),
            most=most,
            headings=_combinations(agreed.right.attributes),
            rows=tuple(zip(_combinations(agreed.left.attributes), cells, strict=True)),
            has_joint=estimate.joint.size > 1,
        )


def _placed(name: str, each: EstimateRange, most: float) -> DrawnRange:
    return DrawnRange(
        name=name,
        value=round(each.value),
        low=round(each.low),
        high=round(each.high),
        at=each.value / most * WIDTH,
        start=each.low / most * WIDTH,
        length=max(1.0, (each.high - each.low) / most * WIDTH),
    )


def _combinations(attributes: Sequence[Attribute]) -> tuple[str, ...]:
    """The combinations of values of linked columns as words, in the order of their cells."""
    if not attributes:
        return ("",)
    shape = tuple(attribute.size for attribute in attributes)
    return tuple(
        ", ".join(
            f"{attribute.name} = {attribute.labels[code]}"
            for attribute, code in zip(attributes, codes, strict=True)
        )
        for codes in np.ndindex(*shape)
    )
