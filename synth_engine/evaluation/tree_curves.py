"""The card of a comparison by cells: the earth mover's distance by depth beside that of a plain resample."""

from __future__ import annotations

from typing import Any

from synth_engine.evaluation import cell_sizes, figures, style, wording
from synth_engine.evaluation.cards import MARKS, Card, make_card, make_table
from synth_engine.evaluation.report import Report
from synth_engine.evaluation.tree_figures import SIDES, SIZE

Entry = dict[str, Any]
_NAMES = {"synthetic": "this release", "resample": "plain resample"}
_LINES = {
    "synthetic": {"color": style.SYNTHETIC, "width": 2, "dash": "6px,3px"},
    "resample": {"color": style.REAL, "width": 2, "dash": "dot"},
}


def cards(report: Report) -> list[Card]:
    """One for every hierarchy that was compared."""
    return [_card(report, entry, index) for index, entry in enumerate(report.get("cells", ()))]


def _card(report: Report, entry: Entry, index: int) -> Card:
    (moved, unit), differing, verdict = _moved(entry), entry["differing"], entry["verdict"]
    sizes = _sizes(entry)
    rows = [
        (
            str(depth),
            *sizes[row : row + 1],
            f"{entry['cells'][row]:,}".replace(",", "\u202f"),
            *(f"{differing[line][row]:.4f}" for line in _NAMES),
            *(f"{moved[line][row]:.3g}" for line in _NAMES),
            _ratio(moved["synthetic"][row], moved["resample"][row]),
        )
        for row, depth in enumerate(entry["depths"])
    ]
    head = (
        "Depth",
        *([SIZE] if sizes else []),
        "Cells with records",
        "Differing",
        "Of a resample",
        f"Cumulated, {unit}",
        f"Of a resample, {unit}",
        "Ratio",
    )
    names = " and ".join(entry["places"])
    read = report["reading"]["cells"]
    how = f"{read['how']} {SIDES}" if sizes else read["how"]
    reading = {**read, "title": f"{read['title']}: {names}", "how": how}
    table = make_table("Earth mover's distance by depth", head, rows)
    mark, price = (
        MARKS[verdict["level"]],
        "" if report["private"] else wording.PRICE_OF_COMPARISON,
    )
    figure = _figure(report, entry)
    return make_card(
        report,
        f"cells-{index}",
        reading,
        table,
        verdict["words"],
        mark=mark,
        figure=figure,
        price=price,
    )


def _sizes(entry: Entry) -> list[str]:
    """How large a cell of each depth is; of an earlier report nothing."""
    kilometres = entry.get("kilometres", {})
    return [
        cell_sizes.describe(
            [
                cell_sizes.Size(name=name, north=sides[row][0], east=sides[row][1])
                for name, sides in kilometres.items()
            ]
        )
        for row in range(len(entry["depths"]) if kilometres else 0)
    ]


def _moved(entry: Entry) -> tuple[dict[str, list[float]], str]:
    """How far records would have to be moved, by line and depth, and the unit; an earlier report knows no kilometres."""
    diagonal = entry.get("diagonal_km")
    scale, unit = (1.0, "diagonals of the box") if diagonal is None else (diagonal, "km")
    return {
        line: [round(scale * part, 6) for part in entry["moved"][line]] for line in _NAMES
    }, unit


def _ratio(value: float, resample: float) -> str:
    return f"{value / resample:.2f}" if resample else "–"


def _figure(report: Report, entry: Entry) -> figures.Figure:
    traces = [_curve(line, entry) for line in _NAMES]
    quiet = {"gridcolor": style.QUIET, "zeroline": False}
    layout = {
        "xaxis": {
            **quiet,
            "title": {"text": "depth: how often each side is halved", "standoff": 8},
            "nticks": 12,
        },
        "yaxis": {
            **quiet,
            "automargin": True,
            "rangemode": "tozero",
            "title": {"text": _moved(entry)[1]},
        },
        "hovermode": "x unified",
    }
    words = f"Earth mover's distance cumulated by depth. {entry['verdict']['words']}"
    return figures.frame(report, traces, layout, words=words)


def _curve(line: str, entry: Entry) -> dict[str, Any]:
    sizes = _sizes(entry) if line == "synthetic" else []
    moved, unit = _moved(entry)
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": _NAMES[line],
        "x": entry["depths"],
        "y": moved[line],
        "line": _LINES[line],
        "marker": {"symbol": "circle" if line == "synthetic" else "circle-open", "size": 6},
        "hovertemplate": f"%{{y:.3~g}} {unit}" + (", cells of %{customdata}" if sizes else ""),
        **({"customdata": sizes} if sizes else {}),
    }
