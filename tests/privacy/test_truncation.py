"""Which records of a unit are kept is uniformly random, by fresh bytes of the operating system
(docs/proofs/measure.md).

Privacy holds for any rule that looks at the records of that unit alone; that chance decides is promised
besides, so that no order of a file favours some records.
"""

from __future__ import annotations

import itertools
import math
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from synth_engine.domain import Domain, Integer
from synth_engine.privacy.unit import PrivacyUnit
from synth_engine.room import counts
from synth_engine.sources import opening
from synth_engine.sources.opening import open_table
from tests.privacy.planted import plant

UNITS = ("ann", "bob", "ann", "", "ann", "", "bob", "ann")
"""To whom records belong, in the order of a file; two belong to nobody, who is a unit."""


def kept_by_order(units: np.ndarray, most: int) -> dict[int, Counter[tuple[int, ...]]]:
    """Of every unit: how often each set of its records is kept, over all orders in which random keys may
    stand."""
    found: dict[int, Counter[tuple[int, ...]]] = {int(unit): Counter() for unit in units}
    for order in itertools.permutations(range(len(units))):
        keys = np.array(order, dtype=np.uint64).tobytes()
        kept = opening._truncate(units, most=most, random_bytes=lambda _, keys=keys: keys)
        for unit, sets in found.items():
            sets[tuple(place for place in kept.tolist() if units[place] == unit)] += 1
    return found


def is_uniform(most: int) -> bool:
    units = np.unique(np.array(UNITS[:6]), return_inverse=True)[1].astype(np.int32)
    for unit, sets in kept_by_order(units, most).items():
        size = int((units == unit).sum())
        expected = math.comb(size, min(size, most))
        if len(sets) != expected or len(set(sets.values())) != 1:
            return False
        if any(len(one) != min(size, most) for one in sets):
            return False
    return True


@pytest.mark.parametrize("most", [1, 2, 3])
def test_every_set_of_records_of_a_unit_is_kept_as_often_as_another(most: int) -> None:
    assert is_uniform(most)


def first_records(patch: pytest.MonkeyPatch) -> None:
    plant(
        patch,
        opening._truncate,
        "np.lexsort((keys, units))",
        "np.argsort(units, kind='stable')",
    )


def last_records(patch: pytest.MonkeyPatch) -> None:
    plant(
        patch,
        opening._truncate,
        "np.lexsort((keys, units))",
        "np.lexsort((-np.arange(len(units)), units))",
    )


def keys_of_two_values(patch: pytest.MonkeyPatch) -> None:
    """So few keys that ties are common, and the order of the file decides them."""
    plant(
        patch,
        opening._truncate,
        "np.lexsort((keys, units))",
        "np.lexsort((keys & np.uint64(1), units))",
    )


def one_record_more(patch: pytest.MonkeyPatch) -> None:
    plant(patch, opening._truncate, "ranks < most", "ranks <= most")


def across_units(patch: pytest.MonkeyPatch) -> None:
    """As many records of all units together."""
    plant(patch, opening._truncate, "ranks < most", "np.arange(len(order)) < most")


@pytest.mark.parametrize(
    "mistake",
    [first_records, last_records, keys_of_two_values, one_record_more, across_units],
    ids=lambda mistake: mistake.__name__,
)
def test_another_rule_is_noticed(
    mistake: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mistake(monkeypatch)
    assert not all(is_uniform(most) for most in (1, 2, 3))


# ---- by whose chance: through the room's own door
# ------------------------------------------------------------------

RECORDS = 200


@pytest.fixture
def one_person(tmp_path: Path) -> Path:
    """A table of one person, whose records differ."""
    path = tmp_path / "visits.csv"
    path.write_text("who,x\n" + "".join(f"ann,{number}\n" for number in range(RECORDS)))
    return path


def kept_of(path: Path) -> tuple[int, ...]:
    domain = Domain(
        attributes=(
            Integer(name="x", low=0, high=RECORDS - 1, width=1),
        ),  # a bin a value, so that records differ
        unit=PrivacyUnit(max_records=RECORDS // 2, column="who"),
    )
    return tuple(np.flatnonzero(counts.contingency(open_table(path, domain), ("x",))).tolist())


def test_a_table_opened_twice_keeps_other_records(one_person: Path) -> None:
    """One in 10^58 times the same ones."""
    assert kept_of(one_person) != kept_of(one_person)


def test_a_rule_without_chance_keeps_the_same_records(
    one_person: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first_records(monkeypatch)
    assert kept_of(one_person) == kept_of(one_person)


def test_as_many_random_bytes_are_drawn_as_keys_need() -> None:
    asked: list[int] = []

    def drawn(number: int) -> bytes:
        asked.append(number)
        return os.urandom(number)

    opening._truncate(np.zeros(RECORDS, dtype=np.int32), most=1, random_bytes=drawn)
    assert asked == [8 * RECORDS]
