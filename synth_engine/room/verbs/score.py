"""`score`: the L1 distance of each candidate's counts from its public reference, less its public penalty.

Law: independent noise on every score. Sensitivity: one record may move all scores, each as far as it moves a
table (docs/proofs/score.md).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from synth_engine.errors import PrivacyError
from synth_engine.measurement import Candidate, Counts, Noise, Query, Scores
from synth_engine.privacy.unit import scores_sensitivity
from synth_engine.room.noise import MAX_COUNT
from synth_engine.room.question import PublicFacts, Question

MAX_REFERENCE_COUNT = 2**40
MAX_DISTANCE = MAX_COUNT // 2  # public, so that no score fails the sampler's own check


def question(
    facts: PublicFacts, candidates: tuple[Candidate, ...], *, noise: Noise
) -> Question[Counts, Scores]:
    return Question(
        query=query(facts, "score", candidates),
        event=noise.event(scores_sensitivity(facts.sensitivity, number=len(candidates))),
        count=lambda cache: cache.scores(candidates),
        answer=lambda scores, sampler: Scores(
            noise=noise, values=sampler.counts(scores, noise)
        ),
    )


def query(
    facts: PublicFacts, verb: Literal["select", "score"], candidates: tuple[Candidate, ...]
) -> Query:
    """The query about these candidates. Errors: PrivacyError for a reference of another shape, or too
    large."""
    if not candidates:
        raise PrivacyError("a selection needs candidates")
    shapes = facts.shapes((candidate.clique, candidate.merged) for candidate in candidates)
    for candidate, shape in zip(candidates, shapes, strict=True):
        # References come from public facts or paid answers, so checking them reads no record.
        reference = candidate.reference
        if not candidate.clique or reference.shape != shape:
            raise PrivacyError("a reference has another shape than its clique")
        largest = max(int(reference.max()), -int(reference.min()), abs(candidate.penalty))
        # The sum is only needed where that bound on it does not decide.
        bounded = largest * reference.size <= MAX_DISTANCE
        if largest > MAX_REFERENCE_COUNT or (
            not bounded and int(np.abs(reference).sum()) > MAX_DISTANCE
        ):
            raise PrivacyError("a reference holds counts that are too large")
    return Query(
        verb=verb,
        candidates=tuple(candidate.clique for candidate in candidates),
        cells=sum(candidate.reference.size for candidate in candidates),
    )
