"""Links of two tables, as the tests make them up."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_engine.domain import Boolean, Domain, Identifier
from synth_engine.linking import agreement as agreements
from synth_engine.linking import sketch as sketches
from synth_engine.linking.agreement import Agreement, Offer, Side
from synth_engine.linking.hashing import Hashing
from synth_engine.linking.sketch import Sketch

TEXTS = ("first", "last")
COLUMNS: dict[Side, str] = {"left": "tenant", "right": "graduate"}
SEED = "0123456789abcdef" * 2


def described(column: str, **facts: Any) -> Domain:
    identifiers = tuple(Identifier(name=name) for name in TEXTS)
    return Domain(attributes=(*identifiers, Boolean(name=column)), **facts)


def offer(side: Side, *, epsilon: str = "1", linked: bool = True, **facts: Any) -> Offer:
    column = COLUMNS[side]
    return Offer(
        domain=described(column, **facts),
        texts=TEXTS,
        attributes=(column,) if linked else (),
        epsilon=Fraction(epsilon),
    )


def link(
    *,
    bits: int = 6,
    epsilon: str = "1",
    linked: bool = True,
    typos: str = "0",
    functions: int = 4,
    **facts: Any,
) -> Agreement:
    """A link with a fixed seed, so that every text has the same bucket in every run."""
    made = agreements.agree(
        offer("left", epsilon=epsilon, linked=linked, **facts),
        offer("right", epsilon=epsilon, linked=linked, **facts),
        rows=1000,
        typos=Fraction(typos),
        seed=SEED,
    )
    document = made.to_json()
    hashing = Hashing(ngram=2, functions=functions, bits=bits, seed=SEED)
    document["hashing"] |= {  # type: ignore[operator]
        "bits": hashing.bits,
        "functions": hashing.functions,
        "seed": hashing.seed,
    }
    return Agreement.from_json(document)


def write(path: Path, header: Sequence[str], rows: Sequence[Sequence[object]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
    return path


def sketch_of(
    agreement: Agreement,
    side: Side,
    buckets: NDArray[np.int64],
    codes: NDArray[np.int64],
    *,
    rng: np.random.Generator,
) -> Sketch:
    """The sketch of records with these buckets and codes, with noise of a seed: for estimates alone, never a
    release."""
    plan = sketches.plan(agreement, side)
    cells = agreement.side(side).cells
    counts = np.bincount(
        buckets * cells + codes, minlength=agreement.hashing.codes * cells
    ).astype(np.int64)
    chance = -np.expm1(-1 / float(plan.noise.scale))
    counts += rng.geometric(chance, counts.size) - rng.geometric(chance, counts.size)
    shape = plan.domain.shape(plan.domain.names)
    unsigned = Sketch(
        agreement=agreement, side=side, counts=counts.reshape(shape), receipt=plan.receipt()
    )
    return Sketch(
        agreement=agreement,
        side=side,
        counts=unsigned.counts,
        receipt=plan.receipt(unsigned.answers),
    )
