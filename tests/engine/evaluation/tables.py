"""Small tables with every kind of attribute, and their reports."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_engine.domain import Boolean, Categorical, Date, Domain, Identifier, Integer, Number
from synth_engine.evaluation import report, tallies

HOSTILE = "</script><script>alert(1)</script><b>&amp;"
COLOURS = ("red", "green", HOSTILE)
DOMAIN = Domain(
    attributes=(
        Categorical(name="colour", values=COLOURS, other=True, missing=("?",)),
        Integer(name="age", low=0, high=99, missing=("",)),
        Integer(name="gain", low=0, high=10_000, edges=(0, 1, 100, 10_000)),
        Number(name="height <m>", low=1.0, high=2.0),
        Boolean(name="member"),
        Date(name="born", low=datetime.date(2020, 1, 1), high=datetime.date(2020, 3, 1)),
        Categorical(
            name="place",
            values=tuple(f"place {number}" for number in range(80)),
            outside="clamp",
        ),
        Identifier(name="key"),
    )
)
Codes = dict[str, NDArray[np.int64]]


def codes(rows: int, *, seed: int, domain: Domain = DOMAIN) -> Codes:
    """Skewed columns, the second of which follows the first."""
    rng = np.random.default_rng(seed)
    drawn = {
        name: rng.integers(0, rng.integers(1, size + 1, rows))
        for name, size in domain.sizes.items()
    }
    first, second, *_ = domain.names
    drawn[second] = (drawn[first] * 7 + rng.integers(0, 3, rows)) % domain.sizes[second]
    return drawn


def shuffled(columns: Codes, *, seed: int) -> Codes:
    """The same columns without their dependence."""
    rng = np.random.default_rng(seed)
    return {name: rng.permutation(column) for name, column in columns.items()}


def tally(columns: Codes, *, private: bool, domain: Domain = DOMAIN) -> tallies.Tallies:
    return report.tally(tallies.CodedTable(codes=columns, domain=domain, private=private))


def compared(
    real: Codes, synthetic: Codes, *, domain: Domain = DOMAIN, **rows: Any
) -> report.Report:
    return report.compare(
        tally(real, private=False, domain=domain),
        tally(synthetic, private=True, domain=domain),
        domain,
        **rows,
    )
