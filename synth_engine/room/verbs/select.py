"""`select`: the index of a candidate whose counts are far, in L1, from its public reference.

Law: permute-and-flip under a pure cap, else report-noisy-max with Gumbel noise. Sensitivity: each score moves
as far as a table does; the public penalties move nothing (docs/proofs/select.md).
"""

from __future__ import annotations

from fractions import Fraction

from synth_engine.measurement import Candidate, Counts, Selection
from synth_engine.privacy.events import Gumbel, PermuteAndFlip
from synth_engine.privacy.loss import Loss, Pure
from synth_engine.room.question import PublicFacts, Question
from synth_engine.room.selection import SelectionLaw
from synth_engine.room.verbs import score


def question(
    facts: PublicFacts, candidates: tuple[Candidate, ...], *, scale: Fraction
) -> Question[Counts, Selection]:
    query = score.query(facts, "select", candidates)
    law, event = law_under(facts.cap)
    return Question(
        query=query,
        event=event(scale=scale, linf=facts.sensitivity.linf),
        count=lambda cache: cache.scores(candidates),
        answer=lambda scores, sampler: Selection(sampler.choose(scores, scale=scale, law=law)),
    )


def law_under(cap: Loss) -> tuple[SelectionLaw, type[PermuteAndFlip | Gumbel]]:
    """The law by which an index is chosen under this cap, and its event."""
    if isinstance(cap, Pure):
        return "permute-and-flip", PermuteAndFlip
    return "gumbel", Gumbel
