"""The engine's texts in the letters and words of our pages."""

from __future__ import annotations

import re

GREEK = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}
RELATIONS = {"add-remove": "added or removed", "replace-one": "replaced"}
_AMOUNT = re.compile(r"\b(epsilon|delta|rho) = (?=[0-9])")
_PAIR = re.compile(r"\((ε [^()]*, δ [^()]*)\)")
_NAME = re.compile(r"\b(epsilon|delta|rho)\b")
THIN_SPACE = "\u202f"  # narrow and not breaking


def grouped(number: int) -> str:
    """A count with thin separators."""
    return f"{number:,}".replace(",", THIN_SPACE)


def in_letters(text: str) -> str:
    """`(epsilon = 1, delta = 1e-9) differential privacy` becomes `ε 1, δ 1e-9 differential privacy`."""
    lettered = _AMOUNT.sub(lambda found: f"{GREEK[found[1]]} ", text)
    return _NAME.sub(lambda found: GREEK[found[1]], _PAIR.sub(r"\1", lettered))
