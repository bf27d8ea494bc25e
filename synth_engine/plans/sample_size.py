"""The sample size verdict: n·ε against the number of codes, from public facts alone.

n records of a column with k codes are n/k a code on average. d columns share ε, a unit has up
to m records, and
replacing one record changes two counts, so the noise of a code is about c = d·m/ε records
(twice that under
replace-one). The *strength* of a column is the one over the other, s = n·ε / (d·m·k). About
1/(2s) of the records then
have to be changed until the noisy column equals the real one: below s = 1 a column is lost,
from s = 10 on it is close.

Docs: docs/forecast.md. Every method here measures each column at least once, so none escapes
this by much."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist, median_high
from typing import Literal

from synth_engine.domain import MAX_CODES, Domain, Scale, Weak
from synth_engine.inference import error_forecast
from synth_engine.inference.error_forecast import ROWS
from synth_engine.plans import budget_allocation, domain_learning
from synth_engine.privacy import conversion, thresholds
from synth_engine.privacy.unit import Relation, histogram_sensitivity

Level = Literal["enough", "thin", "too-little"]
LOST, CLOSE = 1, 10
"""Strengths below which noise outweighs what a column holds, and from which on it hardly shows."""
MANY_CODES = 100
CELLS_OF_A_COLUMN, RECORDS_IN_CELLS = 2, 0.85
"""Cells of the first partition of a lattice, powers of two, in which most records of a column lie, and which
part of them."""
FINDING = Fraction(3, 4)
"""About which part of what learning a column may cost goes to finding it; the rest says more exactly where it
lies."""
FIND_DEVIATIONS, FIND_DEVIATIONS_OF_LAPLACE = 5.4, 9.5
"""About how many standard deviations of its noise such a run holds where it is found
(`scale_tree.FALSE_FIND`)."""


@dataclass(frozen=True, kw_only=True)
class SampleSizeVerdict:
    """`strengths`: of each column, weakest first. `pairs`: of two columns of the usual size together.
    `least_rows` and `least_epsilon`: from which on, the other being as it is, fewer than half of the columns
    are lost. not_found: how many of the columns whose values are learned on a lattice will probably not be
    found, and be empty."""

    level: Level
    strengths: tuple[tuple[str, float], ...]
    pairs: float
    least_rows: int
    least_epsilon: float
    not_found: int = 0

    @property
    def lost(self) -> tuple[str, ...]:
        """The columns in which noise outweighs what there is."""
        return tuple(name for name, strength in self.strengths if strength < LOST)


def verdict(
    domain: Domain, *, rows: int, epsilon: Fraction, delta: Fraction = Fraction(0)
) -> SampleSizeVerdict:
    """Judges a description with a number of records and a loss."""
    not_found = expected_not_found(domain, rows=rows, epsilon=epsilon, delta=delta)
    # Undeclared columns have no codes yet, so the verdict is on those that they are expected to
    # get.
    domain = domain_learning.expected_domain(domain) if domain.undeclared else domain
    noise = noise_of_a_code(domain, epsilon=epsilon)
    strengths = {name: rows / (noise * size) for name, size in domain.sizes.items()}
    usual = median_high(domain.sizes.values())
    least = noise * usual * LOST
    ranked = sorted(strengths.items(), key=lambda item: item[1])
    lost = sum(strength < LOST for strength in strengths.values())
    pairs = rows / (noise * usual * usual)
    level: Level = (
        "too-little"
        if 2 * max(lost, not_found) >= len(ranked)
        else "thin"
        if lost or not_found or pairs < LOST
        else "enough"
    )
    return SampleSizeVerdict(
        level=level,
        strengths=tuple(ranked),
        pairs=pairs,
        least_rows=math.ceil(least),
        least_epsilon=float(epsilon) * least / rows,
        not_found=not_found,
    )


def expected_not_found(domain: Domain, *, rows: int, epsilon: Fraction, delta: Fraction) -> int:
    """About how many columns on a lattice will not be found, when learning them costs as much as it may."""
    columns = sum(isinstance(attribute, Scale) for attribute in domain.undeclared)
    if not columns:
        return 0
    cap = conversion.budget_for(epsilon, delta, adds_up="zcdp")
    most = domain_learning.scale_share(columns) * domain_learning.most_of_a_scale(domain)
    noise = budget_allocation.noise(
        cap.of(cap.amount * most * FINDING), histogram_sensitivity(domain.unit, domain.relation)
    )
    least = FIND_DEVIATIONS_OF_LAPLACE if noise.law == "discrete-laplace" else FIND_DEVIATIONS
    clear = RECORDS_IN_CELLS * rows / math.sqrt(CELLS_OF_A_COLUMN * noise.variance)
    return round(columns * NormalDist().cdf(least - clear))


def noise_of_a_code(domain: Domain, *, epsilon: Fraction) -> float:
    """Records that the noise in a code of a column is worth, when all columns share ε."""
    # Replacing a record takes one from a cell and adds one to another: the L1 sensitivity is 2.
    doubled = 2 if domain.relation is Relation.REPLACE_ONE else 1
    return float(len(domain.modelled) * domain.unit.max_records * doubled / epsilon)


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
