"""Whether a release is expected to have the relations of the real table, in a word: from its model, its
receipt and its expected errors alone.

A method that measures single columns loses every relation however close its columns are. The model says how
many pairs of columns go together in it; whether the noise leaves them is known from the simulation of the
release, and else from the noise on the tables of several columns that it measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from synth_engine.domain import Domain
from synth_engine.evaluation import quality_words
from synth_engine.evaluation.expected import variance_of
from synth_engine.evaluation.quality_words import Relations
from synth_engine.privacy.receipt import CallDocument


def level_of(
    *,
    related: int,
    pairs: int,
    lost: float | None,
    distance: float | None,
    weakest: Relations = "unknown",
) -> Relations:
    """The word. related: pairs that go together in the model, of all `pairs`. lost: the expected share of
    dependence that is lost, None where it is not simulated. distance: that of `measured_distance`. weakest:
    what was forecast of weak relations. A simulation begins with the model, which has none of those that the
    release lost, so that it cannot tell them."""
    if not pairs:
        return "unknown"
    if not related:
        return "lost"
    if lost is not None:
        word = quality_words.of_lost(lost)
    else:
        word = "unknown" if distance is None else quality_words.of_distance(distance)
    return "weak" if word == "kept" and weakest == "lost" else word


def measured_distance(
    domain: Domain, calls: Sequence[CallDocument], *, rows: int
) -> float | None:
    """The mean distance that noise alone puts between a measured table of several columns and the real one,
    before anything makes it smaller: half of the sum over cells of the mean absolute noise, of all records.
    None where no such table was measured."""
    distances = []
    for call in calls:
        query, variance = call["query"], variance_of(call)
        if query["verb"] not in ("measure", "interaction") or len(query["clique"]) < 2:
            continue
        if variance is None or rows < 1 or not set(query["clique"]) <= set(domain.names):
            continue
        # The noise of many nearly empty cells is mostly taken out again: no more of them count than there are
        # records.
        cells = min(query["cells"], rows)
        noise = math.sqrt(2 * variance / math.pi)
        distances.append(min(1.0, 0.5 * cells * noise / rows))
    return fmean(distances) if distances else None
