"""What the calls of a receipt cost by kind of query: a table, a stacked bar, and both as files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from xml.sax.saxutils import escape, quoteattr

from synth_engine.evaluation.style import INK
from synth_engine.privacy import receipt as receipts
from synthweb.lib.language import written_number
from synthweb.lib.number_format import share as share_text

KINDS = {
    "measure": "tables counted",
    "interaction": "interactions measured",
    "select": "choices among groups of columns",
    "refine": "choices of a column to divide by",
    "score": "rounds of scores",
    "group-sizes": "tables of rows per person",
    "discover": "searches for frequent values",
    "grow": "trees grown",
    "items": "tables of items",
    "resample": "draws within public totals",
    "leaves": "tables of the ends of a tree",
    "intervals": "tables of intervals",
    "divide": "rounds of choices of columns, one for each group",
    "boxes": "counts of all groups",
}  # what the calls of one verb are, in the plural
_WIDTH, _HEIGHT, _LETTERS = 720, 40, 13
_NARROWEST = 22
"""Of a part that has room for its number."""
_STRENGTHS = (0.9, 0.7, 0.52, 0.38, 0.26, 0.16)
"""Opacities of the parts, the largest first; parts beyond them share the last."""
_LIGHT_LETTERS = 3
"""So many of the parts are so dark that their number is light."""


@dataclass(frozen=True, kw_only=True)
class CallSum:
    """Calls of one kind. cost: what they cost together, as a text; share: of what all calls cost, 0 to 1."""

    kind: str
    count: int
    cost: str
    share: float

    @property
    def percent(self) -> str:
        return share_text(self.share)


def by_kind(calls: Sequence[receipts.CallDocument], *, pure: bool) -> list[CallSum]:
    """The calls by kind, the dearest first. pure: whether the guarantee has no delta, so that costs add up in
    epsilon."""
    groups: dict[str, list[receipts.CallDocument]] = {}
    for call in calls:
        groups.setdefault(kind_of(call), []).append(call)
    # Costs are added in one currency: ρ only if every call has one.
    currency = "epsilon" if pure or any("rho" not in call["cost"] for call in calls) else "rho"
    costs = {
        kind: sum((Fraction(call["cost"].get(currency, "0")) for call in group), Fraction(0))
        for kind, group in groups.items()
    }
    whole = sum(costs.values(), Fraction(0))
    sign = "ε" if currency == "epsilon" else "ρ"
    return [
        CallSum(
            kind=kind,
            count=len(groups[kind]),
            cost=written_number(f"{sign} {float(cost):.3g}"),
            share=float(cost / whole) if whole else 0.0,
        )
        for kind, cost in sorted(costs.items(), key=lambda item: (-item[1], item[0]))
    ]


def of_receipt(receipt: receipts.Receipt) -> list[CallSum]:
    """The calls of a receipt by kind."""
    return by_kind(receipt["calls"], pure=Fraction(receipt["guarantee"]["delta"]) == 0)


def kind_of(call: receipts.CallDocument) -> str:
    """The kind of a call, in the plural; of a verb that has no words here, the verb."""
    verb = call["query"]["verb"]
    return KINDS.get(verb, verb)


def bar(sums: Sequence[CallSum]) -> str:
    """The sums as one stacked bar in SVG; the numbers in its parts are those of the lines of the table. Empty
    without calls."""
    if not sums:
        return ""
    parts, left = [], 0.0
    for number, each in enumerate(sums, start=1):
        width = each.share * _WIDTH
        place = min(number, len(_STRENGTHS))
        title = escape(f"{number}. {each.kind}: {each.cost}, {each.percent}")
        parts.append(
            f'<g class="loss-part loss-{place}"><title>{title}</title>'
            f'<rect x="{left:.1f}" y="0" width="{max(width - 1, 0.5):.1f}" height="{_HEIGHT}" fill="{INK}" '
            f'fill-opacity="{_STRENGTHS[place - 1]}"/>{_number(number, left, width)}</g>'
        )
        left += width
    words = "; ".join(f"{each.kind} {each.percent}" for each in sums)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="loss-bar" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        'preserveAspectRatio="none" role="img" '
        f"aria-label={quoteattr(words)}><title>{escape(words)}</title>{''.join(parts)}</svg>"
    )


def _number(number: int, left: float, width: float) -> str:
    if width < _NARROWEST:
        return ""
    fill = "#ffffff" if number <= _LIGHT_LETTERS else INK
    return (
        f'<text x="{left + width / 2:.1f}" y="{_HEIGHT / 2 + _LETTERS / 3:.1f}" text-anchor="middle" '
        f'font-family="sans-serif" font-size="{_LETTERS}" fill="{fill}">{number}</text>'
    )


def lines(sums: Sequence[CallSum]) -> Iterator[list[str]]:
    """The table as rows of a file."""
    yield ["kind", "calls", "cost", "share"]
    for each in sums:
        yield [each.kind, str(each.count), each.cost, f"{each.share:.6f}"]
