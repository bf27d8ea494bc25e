"""Generate identifiers as a function of the seed, the column and the position of a row, and of no data.

The r-th row gets the r-th number of a permutation of all that the pattern allows, so that no two rows share
one and a table that is drawn in pieces needs no memory of the pieces before. Past the last one a number is
added at the end."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_engine.domain import Domain, Identifier

Whole = NDArray[np.uint64]
ROUNDS = 8
_MOST = 2**62  # numbers that are permuted; places to the left of them are drawn for each row


def with_identifiers(
    domain: Domain,
    frame: pd.DataFrame,
    *,
    start: int,
    generator: Callable[[str], np.random.Generator],
    persons: Whole | None = None,
) -> pd.DataFrame:
    """The table with the identifiers that are made anew, in the declared order of columns. `start` is the
    place of its first row, `generator` gives the public randomness of a column, the same for every piece of a
    table. `persons`: the number of the person to whom each row belongs, where persons have several."""
    rows = np.arange(start, start + len(frame), dtype=np.uint64)
    made = {
        attribute.name: pd.Series(
            _texts(
                attribute,
                persons if persons is not None and attribute == domain.grouped else rows,
                generator(attribute.name),
            ),
            dtype="str",
        )
        for attribute in domain.table_columns
        if isinstance(attribute, Identifier)
    }
    if not made:
        return frame
    return pd.DataFrame(
        {
            a.name: made[a.name] if a.name in made else frame[a.name]
            for a in domain.table_columns
            if a.name in made or a.name in frame
        }
    )


def _texts(attribute: Identifier, places: Whole, rng: np.random.Generator) -> NDArray[np.str_]:
    """The identifiers that stand at these places, counted from 0; the same place has the same one."""
    keys = rng.integers(0, 2**64, size=ROUNDS + 1, dtype=np.uint64)
    if attribute.regenerate == "sequence":
        places = places + np.uint64(1)
        if not attribute.template:
            return places.astype(np.str_)
    permuted, room = _tail(attribute)
    numbers, rounds = places % np.uint64(room), places // np.uint64(room)
    if attribute.regenerate != "sequence":
        numbers = permutation(numbers, size=room, keys=keys[:ROUNDS])
    texts = _filled(
        attribute.template, numbers, permuted=permuted, noise=_mixed(places ^ keys[ROUNDS])
    )
    again = rounds > 0
    if again.any():
        texts = texts.astype(object)
        texts[again] = [
            f"{text}-{count + 1}"
            for text, count in zip(texts[again], rounds[again].tolist(), strict=True)
        ]
        texts = texts.astype(np.str_)
    return texts


def _tail(attribute: Identifier) -> tuple[int, int]:
    """Return how many places at the end of the template hold the permuted number, and how many numbers there
    are."""
    count, template = 0, attribute.template
    while count < len(template) and prod(map(len, template[-count - 1 :])) <= _MOST:
        count += 1
    return count, prod(map(len, template[len(template) - count :]))


def permutation(numbers: Whole, *, size: int, keys: Whole) -> Whole:
    """Apply a keyed permutation of 0 … size-1, a balanced Feistel network of `ROUNDS` rounds, to some
    numbers."""
    half = np.uint64(max(1, ((size - 1).bit_length() + 1) // 2))
    mask = (np.uint64(1) << half) - np.uint64(1)
    # Cycle walking (Black and Rogaway, 2002): the network permutes a power of two that is at
    # least `size`. What falls outside is permuted again, which leaves a permutation of 0 …
    # size-1.
    permuted = _shuffled(numbers, keys, half, mask)
    while (outside := permuted >= np.uint64(size)).any():
        permuted[outside] = _shuffled(permuted[outside], keys, half, mask)
    return permuted


def _shuffled(numbers: Whole, keys: Whole, half: np.uint64, mask: np.uint64) -> Whole:
    left, right = numbers >> half, numbers & mask
    for key in keys:
        left, right = right, left ^ (_mixed(right ^ key) & mask)
    return (left << half) | right


def _mixed(numbers: Whole) -> Whole:
    """Scrambles 64 bits (the finaliser of SplitMix64; Steele, Lea and Flood 2014)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def _filled(
    template: tuple[str, ...], numbers: Whole, *, permuted: int, noise: Whole
) -> NDArray[np.str_]:
    """Numbers written in the places of a template, the last of them first; places before by the noise."""
    signs = np.empty((len(numbers), len(template)), dtype="U1")
    for place in reversed(range(len(template))):
        alphabet = np.array(list(template[place]), dtype="U1")
        base = np.uint64(len(alphabet))
        if place >= len(template) - permuted:
            numbers, digit = numbers // base, numbers % base
        else:
            digit, noise = noise % base, _mixed(noise + np.uint64(0x9E3779B97F4A7C15))
        signs[:, place] = alphabet[digit.astype(np.intp)]
    return signs.view(f"U{len(template)}").ravel()
