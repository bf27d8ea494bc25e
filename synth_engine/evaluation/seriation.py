"""The order of columns in a map of pairs: columns that go together stand beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def chained(names: Sequence[str], strengths: Mapping[frozenset[str], float]) -> list[str]:
    """The names in a chain that begins with the strongest pair and takes, at either end, the column that goes
    with that end most strongly (a nearest-neighbour chain). names: of columns, each once; of equally strong
    ones the first is taken. strengths: by pair, at least 0; pairs that are not there have none. It takes
    len(names)² steps."""
    place = {name: number for number, name in enumerate(names)}
    known = {pair: value for pair, value in strengths.items() if pair <= place.keys()}
    if not known:
        return list(names)

    def strength(one: str, other: str) -> float:
        return known.get(frozenset((one, other)), 0.0)

    strongest = max(known, key=lambda pair: (known[pair], -min(map(place.__getitem__, pair))))
    chain = sorted(strongest, key=place.__getitem__)
    left = [name for name in names if name not in strongest]
    while left:
        first, last = chain[0], chain[-1]
        taken = max(left, key=lambda name: max(strength(name, first), strength(name, last)))
        at_the_end = strength(taken, last) >= strength(taken, first)
        chain.insert(len(chain) if at_the_end else 0, taken)
        left.remove(taken)
    return chain
