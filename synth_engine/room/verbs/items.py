"""`items`: weighted counts of all items of a public set, whether anybody has them or not.

Law: independent noise on every count. Sensitivity: every record has one vote, shared by the items of its
basket so that the votes have norm 1 in the norm of the noise (docs/proofs/items.md).
"""

from __future__ import annotations

from synth_engine.domain import WeakBasket
from synth_engine.errors import PrivacyError
from synth_engine.measurement import Counts, Measurement, Noise, Query
from synth_engine.privacy.unit import items_sensitivity
from synth_engine.room import counts
from synth_engine.room.question import PublicFacts, Question


def question(facts: PublicFacts, name: str, *, noise: Noise) -> Question[Counts, Measurement]:
    attribute = facts.domain.attribute(name)
    if not isinstance(attribute, WeakBasket):
        raise PrivacyError("only the items of a weak basket are counted")
    # Gaussian noise is calibrated in L2, so the squares of a record's shares add up to one;
    # Laplace noise in L1.
    squared = noise.law != "discrete-laplace"
    return Question(
        query=Query(verb="items", clique=(name,), cells=attribute.values.size),
        event=noise.event(items_sensitivity(facts.sensitivity)),
        count=lambda cache: counts.items(cache.rows, name, squared=squared),
        answer=lambda votes, sampler: Measurement(
            clique=(name,), noise=noise, values=sampler.counts(votes, noise)
        ),
    )
