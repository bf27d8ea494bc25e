"""Colours and texts that figures share. The colours of `PALETTE` stand in the style sheet of the pages as well, with
tones of the same meaning for a dark page."""

from __future__ import annotations

REAL = "#3d5a80"
SYNTHETIC = "#c8641b"
SYNTHETIC_SOFT = "#fbe6d5"
INK = "#1d2530"
QUIET = "#d9dee5"
FAINT = "#f2f4f7"
RED = "#b3202c"
RED_WORDS = "Real data — not differentially private"
PALETTE = {
    "real": REAL,
    "synthetic": SYNTHETIC,
    "synthetic-soft": SYNTHETIC_SOFT,
    "bs-body-color": INK,
    "bs-border-color": QUIET,
    "quiet": FAINT,
    "red-words": RED,
}

Scale = list[list[float | str]]
MAGNITUDE: Scale = [[0.0, FAINT], [1.0, INK]]
DENSITY: Scale = [[0.0, SYNTHETIC_SOFT], [1.0, SYNTHETIC]]
DIVERGING: Scale = [
    [0.0, "#2166ac"],
    [0.25, "#92c5de"],
    [0.5, "#ffffff"],
    [0.75, "#f4a582"],
    [1.0, "#b2182b"],
]
DISTANCE: Scale = [[0.0, "#ffffff"], [0.5, "#f4a582"], [1.0, "#b2182b"]]

FONT = {
    "family": 'system-ui, -apple-system, "Segoe UI", "Liberation Sans", Arial, sans-serif',
    "size": 12,
    "color": INK,
}


def shortened(label: str) -> str:
    """A label that leaves room for bars."""
    return label if len(label) <= 24 else label[:23] + "…"


def escaped(text: str) -> str:
    """Plotly reads tags in texts: a category that looks like one must not become one."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
