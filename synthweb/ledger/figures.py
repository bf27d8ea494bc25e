"""The ledger over time: steps of what was granted, held and charged, with the same numbers as a table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from synth_engine.evaluation import style
from synth_engine.evaluation.cards import MAX_TABLE_ROWS, Card, CardTable
from synth_engine.evaluation.plots import Figure, Trace
from synthweb.ledger.amounts import number, short_text
from synthweb.ledger.filters import MEANING
from synthweb.ledger.models import BudgetAccount, LedgerEntry
from synthweb.ledger.selectors import amount_of, counted
from synthweb.lib.hashing import instant
from synthweb.lib.language import written_number
from synthweb.lib.number_format import GREEK

# The light tones of static/css/tokens.css; static/js/figures.js exchanges them for those of the page's theme.
HELD, CHARGED, FREE, EDGE = "#e0a106", "#2f3a48", "#cfe6d6", "#3a8f5c"

_MAX_ENTRIES = 2000  # entries drawn, the newest
_WHAT = gettext_noop(
    "The cap of the account (green line), and how much of it is spoken for: charged for good (solid), held "
    "for runs that have not drawn noise yet (amber, hatched). What lies between them and the cap is free."
)
_HOW = gettext_noop(
    "What is charged only ever rises. The cap rises by grants, and falls where an expiring grant was not "
    "spent. What is held goes up when a run is submitted, and down when it is charged or given back. "
    "Nothing can rise above the green line."
)


@dataclass(frozen=True, kw_only=True)
class BalanceStep:
    """Where the account stood after an entry, in its main currency."""

    entry: LedgerEntry
    granted: int
    held: int
    charged: int


def steps(account: BudgetAccount) -> list[BalanceStep]:
    """The account entry by entry."""
    currency = counted(account.rule)[0]
    totals = {"granted": 0, "held": 0, "charged": 0}
    history = []
    for entry in (
        LedgerEntry.objects.filter(account=account)
        .order_by("sequence")
        .iterator(chunk_size=2000)
    ):
        _add(totals, entry.kind, getattr(amount_of(entry), currency))
        history.append(BalanceStep(entry=entry, **totals))
    return history


def over_time(account: BudgetAccount) -> Card | None:
    """The chart with its table and its words; None before the first entry."""
    history = steps(account)
    if not history:
        return None
    currency = counted(account.rule)[0]
    last = history[-1]
    free = last.granted - last.held - last.charged
    letter = GREEK[currency]
    return Card(
        key="over-time",
        title=gettext("Over time"),
        verdict=f"{letter} {short_text(currency, last.charged)} charged, {short_text(currency, last.held)} "
        f"held, {short_text(currency, free)} free of {short_text(currency, last.granted)}",
        what=gettext(_WHAT)
        + (" " + gettext("Under zCDP it is ρ that adds up.") if currency == "rho" else ""),
        how=gettext(_HOW),
        table=_table(history, currency),
        figure=_figure(history[-_MAX_ENTRIES:], currency),
    )


def _table(entries: list[BalanceStep], currency: str) -> CardTable:
    newest = entries[::-1][:MAX_TABLE_ROWS]
    rows = [
        (
            f"{step.entry.at:%Y-%m-%d %H:%M}",
            str(step.entry.sequence),
            _what(step.entry, currency),
            *(short_text(currency, value) for value in (step.granted, step.held, step.charged)),
            short_text(currency, step.granted - step.held - step.charged),
        )
        for step in newest
    ]
    return CardTable(
        caption=f"Privacy budget {GREEK[currency]} after each entry, newest first, times in UTC",
        head=("When", "No.", "What", "Granted", "Held", "Charged", "Free"),
        numeric=(False, True, False, True, True, True, True),
        rows=rows,
        more=len(entries) - len(newest),
    )


def _what(entry: LedgerEntry, currency: str) -> str:
    meaning = str(MEANING[entry.kind])
    if entry.kind == LedgerEntry.Kind.OUTSIDE:
        return meaning
    return f"{meaning} {written_number(short_text(currency, getattr(entry, currency)))}"


def _figure(shown: list[BalanceStep], currency: str) -> Figure:
    letter = GREEK[currency]
    moments = [instant(step.entry.at) for step in shown] + [
        instant(timezone.now())
    ]  # the last step lasts until now
    axis = {"gridcolor": style.QUIET, "zeroline": False, "linecolor": style.QUIET}
    return {
        "data": _traces(moments, [*shown, shown[-1]], currency),
        "layout": {
            "height": 300,
            "margin": {"l": 52, "r": 12, "t": 8, "b": 36},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "font": {"color": style.INK},
            "hovermode": "x unified",
            "legend": {"orientation": "h", "y": 1.12, "traceorder": "normal"},
            "xaxis": {**axis, "type": "date"},
            "yaxis": {**axis, "rangemode": "tozero", "title": {"text": letter}},
            "meta": {
                "words": f"Steps of the privacy budget {letter} over time; the table has every number"
            },
        },
    }


def _traces(moments: list[str], shown: list[BalanceStep], currency: str) -> list[Trace]:
    def line(name: str, tops: Iterable[int], parts: Iterable[int], **look: Any) -> Trace:
        return {
            "type": "scatter",
            "mode": "lines",
            "name": name,
            "x": moments,
            # Floats for drawing alone; what people read is exact (customdata).
            "y": [float(number(currency, value)) for value in tops],
            "customdata": [short_text(currency, value) for value in parts],
            "hovertemplate": f"{name} %{{customdata}}<extra></extra>",
            **look,
        }

    charged = [step.charged for step in shown]
    spoken_for = [step.charged + step.held for step in shown]
    hatched = {
        "shape": "/",
        "fgcolor": HELD,
        "bgcolor": "rgba(0,0,0,0)",
        "size": 7,
        "solidity": 0.55,
    }
    return [
        line(
            "charged",
            charged,
            charged,
            line=_line(CHARGED, 1.5),
            fill="tozeroy",
            fillcolor=CHARGED,
        ),
        line(
            *("held", spoken_for, (step.held for step in shown)),
            line=_line(HELD, 1.5, dash="dot"),
            fill="tonexty",
            fillpattern=hatched,
        ),
        line(
            *("granted", (step.granted for step in shown), (step.granted for step in shown)),
            line=_line(EDGE, 2.5),
            fill="tonexty",
            fillcolor=FREE,
        ),
    ]


def _line(color: str, width: float, **more: Any) -> dict[str, object]:
    return {"color": color, "width": width, "shape": "hv", **more}


def _add(totals: dict[str, int], kind: str, value: int) -> None:
    match kind:
        case "GRANT":
            totals["granted"] += value
        case "LAPSE":
            totals["granted"] -= value
        case "HOLD":
            totals["held"] += value
        case "CHARGE":
            totals["held"] -= value
            totals["charged"] += value
        case "RELEASE":
            totals["held"] -= value
