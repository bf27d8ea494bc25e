"""Formulas by which a derived column is computed from numbers; each is one entry of `FORMULAS`."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synth_engine.kinds.fields import Problem

Floats = NDArray[np.float64]
MAX_WHOLE = 2.0**53
"""Whole numbers beyond it are not exact as doubles."""


@dataclass(frozen=True, kw_only=True)
class Formula:
    """A function of one or several columns of numbers and a constant.

    sources: the least and the largest number of columns.
    constant: where none is stated; NaN if one must be.
    sentence: the function in words, from the names of the columns and the constant. values: of columns of
    shape (rows,), NaN where missing, and the constant. What has no value, such as a logarithm of 0,
        is NaN or infinite."""

    sources: tuple[int, int]
    constant: float
    sentence: Callable[[Sequence[str], float], str]
    values: Callable[[Sequence[Floats], float], Floats]

    def compute(self, columns: Sequence[Floats], constant: float | None) -> Floats:
        """The value of each row, NaN where there is none."""
        factor = self.constant if constant is None else constant
        with np.errstate(all="ignore"):
            values = self.values(columns, factor)
        return np.where(np.isfinite(values), values, np.nan)


def number_text(constant: float) -> str:
    """A constant as people write it."""
    return str(int(constant)) if constant.is_integer() else repr(constant)


def _product(columns: Sequence[Floats], constant: float) -> Floats:
    return constant * math.prod(columns[1:], start=columns[0])


def _product_sentence(names: Sequence[str], constant: float) -> str:
    factors = [] if constant == 1 else [number_text(constant)]
    return " × ".join([*factors, *names])


def _ratio(columns: Sequence[Floats], constant: float) -> Floats:
    return columns[0] / (math.prod(columns[1:], start=np.ones(1)) * constant)


def _ratio_sentence(names: Sequence[str], constant: float) -> str:
    divisor = _product_sentence(names[1:], constant) or "1"
    return f"{names[0]} / {divisor}" if " " not in divisor else f"{names[0]} / ({divisor})"


def _complement(columns: Sequence[Floats], constant: float) -> Floats:
    return constant - sum(columns[1:], start=columns[0])


def _log_sentence(names: Sequence[str], constant: float) -> str:
    if constant == math.e:
        return f"the natural logarithm of {names[0]}"
    return f"the logarithm of {names[0]} to base {number_text(constant)}"


FORMULAS: dict[str, Formula] = {
    "product": Formula(
        sources=(1, 10), constant=1.0, sentence=_product_sentence, values=_product
    ),
    "ratio": Formula(sources=(1, 2), constant=1.0, sentence=_ratio_sentence, values=_ratio),
    "power": Formula(
        sources=(1, 1),
        constant=math.nan,
        sentence=lambda names, constant: f"{names[0]} to the power of {number_text(constant)}",
        values=lambda columns, constant: columns[0] ** constant,
    ),
    "log": Formula(
        sources=(1, 1),
        constant=math.e,
        sentence=_log_sentence,
        values=lambda columns, constant: (
            np.log(columns[0])
            if constant == math.e
            else np.log(columns[0]) / math.log(constant)
        ),
    ),
    "clock": Formula(
        sources=(2, 2),
        constant=100.0,
        sentence=lambda names, constant: f"{number_text(constant)} × {names[0]} + {names[1]}",
        values=lambda columns, constant: constant * columns[0] + columns[1],
    ),
    "complement": Formula(
        sources=(1, 100),
        constant=1.0,
        sentence=lambda names, constant: " − ".join([number_text(constant), *names]),
        values=_complement,
    ),
}


def problem(rule: str, constant: float | None) -> Problem | None:
    """What is wrong with the constant of a derived column, and how to repair it; None if nothing is."""
    formula = FORMULAS.get(rule)
    if constant is None:
        if formula is not None and math.isnan(formula.constant):
            return Problem(f"a {rule} without a constant", 'state "constant"', "constant")
        return None
    if formula is None:
        return Problem("a constant of a rule that has none", "leave it out", "constant")
    # Whole numbers may be beyond all floats; of what is no number no comparison holds.
    usable = type(constant) in (int, float) and abs(constant) <= sys.float_info.max
    if not usable or (constant == 0 and rule in ("product", "ratio")):
        return Problem("the constant is no number, or 0", "give a number", "constant")
    if rule == "log" and (constant <= 0 or constant == 1):
        return Problem(
            "the base of a logarithm is not above 0, or 1",
            "leave it out for the natural one, or give 2 or 10",
            "constant",
        )
    return None
