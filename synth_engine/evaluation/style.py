"""Colours and texts that figures share. Every page and report takes its tones of real and synthetic data from
`TONES`."""

from __future__ import annotations

from typing import NamedTuple


class Tone(NamedTuple):
    """One meaning as a colour on a light and on a dark page."""

    light: str
    dark: str


# Figures carry the light tones; a page with a dark theme exchanges each for the dark tone of the same name.
# static/css/tones.css is generated from here: python -m tests.tones.
TONES = {
    "real": Tone("#3d5a80", "#8fb0d9"),
    "real-soft": Tone("#dde5ef", "#26344a"),
    "synthetic": Tone("#c8641b", "#f0a160"),
    "synthetic-soft": Tone("#fbe6d5", "#4a2f18"),
    "ink": Tone("#1d2530", "#dfe5ec"),
    "grid": Tone("#d9dee5", "#313a46"),
    "faint": Tone("#f2f4f7", "#202731"),
    "red-words": Tone("#b3202c", "#ff8b94"),
    # Of differences: zero is the surface of the page, and both ends are as far from it.
    "difference-low": Tone("#2166ac", "#67a9cf"),
    "difference-lower": Tone("#92c5de", "#345a75"),
    "difference-zero": Tone("#ffffff", "#191f27"),
    "difference-higher": Tone("#f4a582", "#7a4a38"),
    "difference-high": Tone("#b2182b", "#ef8a62"),
}
REAL = TONES["real"].light
REAL_SOFT = TONES["real-soft"].light
SYNTHETIC = TONES["synthetic"].light
SYNTHETIC_SOFT = TONES["synthetic-soft"].light
INK = TONES["ink"].light
QUIET = TONES["grid"].light
FAINT = TONES["faint"].light
RED = TONES["red-words"].light
RED_WORDS = "Real data — not differentially private"

Scale = list[list[float | str]]
MAGNITUDE: Scale = [[0.0, FAINT], [1.0, INK]]
DENSITY: Scale = [[0.0, SYNTHETIC_SOFT], [1.0, SYNTHETIC]]
REAL_DENSITY: Scale = [[0.0, REAL_SOFT], [1.0, REAL]]
FEWER = TONES["difference-low"].light
MORE = TONES["difference-high"].light
DIVERGING: Scale = [
    [0.0, TONES["difference-low"].light],
    [0.25, TONES["difference-lower"].light],
    [0.5, TONES["difference-zero"].light],
    [0.75, TONES["difference-higher"].light],
    [1.0, TONES["difference-high"].light],
]
DISTANCE: Scale = [[2 * float(place) - 1, tone] for place, tone in DIVERGING[2:]]

FONT = {
    "family": 'system-ui, -apple-system, "Segoe UI", "Liberation Sans", Arial, sans-serif',
    "size": 12,
    "color": INK,
}


def declarations(theme: str) -> str:
    """The tones of a theme, "light" or "dark", as custom properties of CSS."""
    return " ".join(f"--{name}: {getattr(tone, theme)};" for name, tone in TONES.items())


def shorten(label: str) -> str:
    """A label that leaves room for bars."""
    return label if len(label) <= 24 else label[:23] + "…"


def escape(text: str) -> str:
    """Plotly reads tags in texts: a category that looks like one must not become one."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
