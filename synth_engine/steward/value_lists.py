"""Which values of a column a draft may list, and what it says where it may list none.

A list that was read from a table is published with the description, without noise. So a draft has one only
where it says nothing of few persons: at most a hundred values, each held by twenty persons, which together
are nearly all of the column. Everything else is found within the budget of a release, or left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from synth_engine.readers import Block
from synth_engine.steward import people
from synth_engine.steward.markers import MARKERS
from synth_engine.values import ANY_SHORT_TEXT, from_json, is_public_list

MAX_CATEGORIES = 100
FEWEST_PERSONS = 20
"""Different persons who hold each listed value; rows, where no column says who a row is about."""
NEARLY_ALL = 0.9
"""Of the rows, that hold one of the listed values."""
MAX_COUNTED = 500  # different values of a column whose persons are counted
MAX_PEOPLE = 8  # columns by which persons are told apart
_MOSTLY = 0.5
FOUND: Mapping[str, Any] = {"kind": "weak", "values": ANY_SHORT_TEXT}
"""The facts of a column whose values each release finds: the same for all columns."""


def listed(times: Mapping[str, int], holders: Mapping[str, int] | None) -> list[str] | None:
    """The values of a column that a draft may list, sorted; None if it may list none.

    times: rows of each text. holders: different persons of each, None where they cannot be told apart."""
    if is_public_list(times):
        return sorted(times)
    persons = times if holders is None else holders
    values = sorted(text for text in times if persons.get(text, 0) >= FEWEST_PERSONS)
    rows = sum(times[text] for text in values)
    if not 0 < len(values) <= MAX_CATEGORIES or rows < NEARLY_ALL * sum(times.values()):
        return None
    return values


def is_found(text: str) -> bool:
    """Whether a release finds this text where it is frequent."""
    return text in _any_short_text


_any_short_text = from_json(ANY_SHORT_TEXT)


def mostly_found(texts: pa.Array, counts: NDArray[np.int64]) -> bool:
    """Whether most rows have texts that a release can find.

    texts: different ones, shape (n,). counts: rows of each, shape (n,)."""
    fits = np.fromiter(map(is_found, texts.to_pylist()), dtype=np.bool_, count=len(texts))
    return bool(counts[fits].sum() >= _MOSTLY * counts.sum())


class PersonCounts:
    """By how many different persons each value of a column is held, as far as it matters, taken in block by
    block. Persons are told apart by the columns that say who a row is about; a value is held by the fewest of
    them."""

    def __init__(self) -> None:
        self._people: dict[str, dict[str, dict[str, set[int]] | None]] | None = None
        self._rows = 0
        self._filled: dict[str, int] = {}

    def add(self, block: Block) -> None:
        """The next block. The first one decides which columns tell persons apart."""
        if self._people is None:
            people_columns = [
                name for name, texts in block.items() if _tells_persons_apart(name, texts)
            ]
            self._people = {
                name: {other: {} for other in block} for name in people_columns[:MAX_PEOPLE]
            }
            self._filled = dict.fromkeys(self._people, 0)
        if not self._people:
            return
        self._rows += len(next(iter(block.values())))
        counted_still = {
            other
            for held in self._people.values()
            for other, counted in held.items()
            if counted is not None
        }
        texts = {
            name: _encoded(column)
            for name, column in block.items()
            if name in counted_still or name in self._people
        }
        for name, held in self._people.items():
            persons, codes = texts[name]
            known = np.array([text not in MARKERS for text in persons], dtype=np.bool_)[codes]
            self._filled[name] += int(known.sum())
            keys = [hash(text) for text in persons]
            for other, counted in held.items():
                if counted is not None and not _count(
                    counted, texts[other], codes, known, keys
                ):
                    held[other] = None

    def of(self, name: str) -> dict[str, int] | None:
        """Different persons of each value of a column, twenty standing for any more; nobody of values that
        were too many to be counted. None where no column tells persons apart."""
        # A telephone number that few have given says nothing of the others.
        filled = [
            held
            for person, held in (self._people or {}).items()
            if self._filled[person] >= _MOSTLY * self._rows
        ]
        if not filled:
            return None
        counts = [held[name] or {} for held in filled]
        return {text: min(len(each.get(text, ())) for each in counts) for text in counts[0]}


def _tells_persons_apart(name: str, texts: pa.Array) -> bool:
    counted = pc.fill_null(texts, "").value_counts()
    values = counted.field("values")
    known = pc.invert(pc.is_in(values, value_set=pa.array(MARKERS)))
    counts = counted.field("counts").filter(known).to_numpy()
    person = people.sign(name, values.filter(known), counts)
    return person is not None and person.counts


def _encoded(column: pa.Array) -> tuple[list[str], NDArray[np.int64]]:
    """The different texts of a column, and which of them each row has: shape (n,)."""
    encoded = pc.fill_null(column, "").dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype(np.int64)


def _count(
    counted: dict[str, set[int]],
    values: tuple[list[str], NDArray[np.int64]],
    persons: NDArray[np.int64],
    known: NDArray[np.bool_],
    keys: list[int],
) -> bool:
    """Add the persons of one block to those of each value, up to twenty; False if there are too many values.

    values: different texts, and their place for each row, shape (n,). persons: place of each row's person in
    `keys`, shape (n,). known: whether the row has one, shape (n,)."""
    texts, codes = values
    if len(texts) > MAX_COUNTED or len({*counted, *texts}) > MAX_COUNTED:
        return False
    wanted = np.array(
        [len(counted.setdefault(text, set())) < FEWEST_PERSONS for text in texts],
        dtype=np.bool_,
    )
    rows = wanted[codes] & known
    pairs = np.unique(codes[rows] * len(keys) + persons[rows])
    starts = np.searchsorted(pairs, np.arange(len(texts) + 1) * len(keys))
    for place, text in enumerate(texts):
        # So many hold twenty new persons, if that many are there.
        some = pairs[starts[place] : starts[place + 1]][: 2 * FEWEST_PERSONS]
        held = counted[text]
        held.update(keys[pair % len(keys)] for pair in some.tolist())
        while len(held) > FEWEST_PERSONS:
            held.pop()
    return True
