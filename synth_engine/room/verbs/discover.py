"""`discover`: the values of a public set, of any size, whose noisy counts reach a public threshold.

Law: that of noise on every value of the set. Neither time nor answer depends on how large the set is, and
nothing tells a value that somebody has from one that nobody has. Sensitivity: that of a histogram
(docs/proofs/discover.md).
"""

from __future__ import annotations

from synth_engine.domain import Weak
from synth_engine.errors import PrivacyError
from synth_engine.measurement import Discovery, Noise, Query
from synth_engine.room import counts, discovery
from synth_engine.room.question import PublicFacts, Question


def question(
    facts: PublicFacts, name: str, *, noise: Noise, threshold: int
) -> Question[dict[int, int], Discovery]:
    attribute = facts.domain.attribute(name)
    if not isinstance(attribute, Weak):
        raise PrivacyError("only the values of a weak attribute are discovered")
    if noise.law != "discrete-laplace":
        raise PrivacyError("values are discovered with discrete Laplace noise")
    size = attribute.population
    # Refused by public numbers alone, before the question is charged: a refusal reveals
    # nothing.
    discovery.require(size=size, threshold=threshold, scale=noise.scale)
    return Question(
        query=Query(verb="discover", clique=(name,), cells=size, threshold=threshold),
        event=noise.event(facts.sensitivity),
        count=lambda cache: counts.by_rank(cache.rows, name),
        answer=lambda tally, sampler: Discovery(
            attribute=name,
            noise=noise,
            threshold=threshold,
            ranked_counts=tuple(
                sampler.discover(tally, size=size, threshold=threshold, noise=noise)
            ),
        ),
    )
