"""The ledger over time, as a Plotly figure: what was granted, what is spoken for, what is spent."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from synthweb.ledger.amounts import number
from synthweb.ledger.models import BudgetAccount, LedgerEntry
from synthweb.ledger.selectors import amount_of, counted
from synthweb.lib.hashing import instant

# What a colour means is said in static/css/tokens.css; these are readable on light and on dark paper alike.
_LINES: dict[str, dict[str, Any]] = {
    "granted": {"color": "#3a8f5c", "width": 2},
    "held and charged": {"color": "#e0a106", "width": 2, "dash": "dot"},
    "charged": {"color": "#7b8796", "width": 2.5},
}
_INK, _GRID = "#1d2530", "#d9dee5"  # static/js/figures.js turns these two into the colours of the theme
_LARGEST_SERIES = 2000  # entries drawn, the newest


def steps(account: BudgetAccount) -> dict[str, Any]:
    """Three step lines over time in the account's main currency (epsilon, or rho under zCDP)."""
    currency = counted(account.rule)[0]
    moments, series = _series(account, currency)
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "line": {**line, "shape": "hv"},
            "name": name,
            "x": moments,
            "y": [float(number(currency, value)) for value in series[name]],
        }
        for name, line in _LINES.items()
    ]
    axis = {"gridcolor": _GRID, "zeroline": False}
    return {
        "data": traces,
        "layout": {
            "height": 240,
            "margin": {"l": 48, "r": 12, "t": 8, "b": 36},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "font": {"color": _INK},
            "legend": {"orientation": "h", "y": 1.15},
            "xaxis": {**axis, "type": "date"},
            "yaxis": {**axis, "rangemode": "tozero", "title": {"text": {"epsilon": "ε", "rho": "ρ"}[currency]}},
        },
    }


def _series(account: BudgetAccount, currency: str) -> tuple[list[str], dict[str, list[int]]]:
    totals = {"granted": 0, "held": 0, "charged": 0}
    moments: list[str] = []
    series: dict[str, list[int]] = {name: [] for name in _LINES}
    for entry in LedgerEntry.objects.filter(account=account).order_by("sequence").iterator(chunk_size=2000):
        _add(totals, entry.kind, getattr(amount_of(entry), currency))
        moments.append(instant(entry.at))
        series["granted"].append(totals["granted"])
        series["held and charged"].append(totals["held"] + totals["charged"])
        series["charged"].append(totals["charged"])
    moments.append(instant(timezone.now()))  # the last step is drawn up to now
    for values in series.values():
        values.append(values[-1])
    return moments[-_LARGEST_SERIES:], {name: values[-_LARGEST_SERIES:] for name, values in series.items()}


def _add(totals: dict[str, int], kind: str, value: int) -> None:
    match kind:
        case "GRANT":
            totals["granted"] += value
        case "HOLD":
            totals["held"] += value
        case "CHARGE":
            totals["held"] -= value
            totals["charged"] += value
        case "RELEASE":
            totals["held"] -= value
