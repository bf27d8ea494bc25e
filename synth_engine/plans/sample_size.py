"""How many records a column needs, for whoever describes it: from public facts alone.

n records of a column with k codes are n/k a code on average. d columns share ε = 1, and a unit has up to m
records, so the noise of a code is about d·m records. About d·m·k/(2n) of the records then have to be changed
until the noisy column equals the real one."""

from __future__ import annotations

from fractions import Fraction

from synth_engine.domain import MAX_CODES, Weak
from synth_engine.inference import error_forecast
from synth_engine.inference.error_forecast import ROWS
from synth_engine.plans import domain_learning
from synth_engine.privacy import thresholds

LOST, CLOSE = 1, 10
"""Mean counts of a code over its noise below which noise outweighs what a column holds, and from which on it
hardly shows."""
MANY_CODES = 100


def records_to_be_found(attribute: Weak, *, max_records: int = 1) -> int:
    """About how many records a value of a weak column needs to be found, when the usual part of ε = 1 goes to
    it."""
    scale = Fraction(max_records) / domain_learning.FIRST_SHARE
    return thresholds.threshold(attribute.population, rho=attribute.rho, scale=scale)


def expected_error(
    codes: int, *, columns: int, max_records: int = 1, rows: int = ROWS
) -> float:
    """The total variation distance to expect of a column with so many codes at ε = 1 that `columns` share, 0
    to 1; rows: public, or what is assumed where nobody says."""
    return error_forecast.column_error(codes, deviation=columns * max_records / rows)


def clear_codes(*, columns: int, max_records: int = 1, rows: int = ROWS) -> int:
    """How many codes of equal frequency stand clear of the noise at ε = 1 that `columns` share."""
    return max(1, min(MAX_CODES, rows // (CLOSE * columns * max_records)))


def rows_for(codes: int, *, columns: int) -> int:
    """Records that a column with so many codes needs at ε = 1 not to be lost, when `columns` share it."""
    return codes * columns * LOST
