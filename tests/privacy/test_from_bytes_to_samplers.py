"""From the bytes of a file to every vector that a sampler is handed: two files that differ in one unit give
vectors whose distance is at most what is charged for.

Nothing between the two is replaced: the real readers, the real codec, truncation and counting. The sampler
alone stands in for noise. It writes down what it is handed, beside the question and the sensitivity that the
journal charges, and answers without looking at it, so that an adaptive run asks both tables the same
questions."""

from __future__ import annotations

import csv
import datetime
import io
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from synth_engine import mechanisms
from synth_engine.domain import DateTime, Domain, Identifier, Integer
from synth_engine.formats import Dialect
from synth_engine.kinds import date_time as timestamps
from synth_engine.measurement import Counts, Noise
from synth_engine.privacy.events import (
    DirichletMultinomial,
    Gumbel,
    PermuteAndFlip,
    ThresholdTree,
)
from synth_engine.privacy.unit import PrivacyUnit, Relation, Spelling
from synth_engine.readers import fast_csv, line_feed
from synth_engine.room.count_cache import CountCache
from synth_engine.room.session import RoomSession, open_session
from synth_engine.sources import opening
from synth_engine.spec import Spec
from tests.privacy import hostile
from tests.privacy.planted import plant
from tests.privacy.test_neighbours import SameAnswers

Record = tuple[str, ...]
COLUMNS = tuple(
    each
    for each in hostile.COLUMNS
    if each.name
    in (
        "job",
        "age_missing",
        "gain",
        "moment_3_False",
        "moment_0_True",
        "member",
        "born_clamped",
    )
)
OPEN = tuple(
    each
    for each in (*hostile.WEAK, *hostile.WEAK_BASKETS, *hostile.SCALES)
    if each.name in ("word", "open_bag", "whole_bounded", "moments_bounded")
)
SENTINELS = (
    "31.12.9999 23:59:59.999999",
    "01.01.1600 00:00:00.0",
    "05.05.2024 10:00:00.1234567",
    "9999-12-31",
)
CELLS = st.sampled_from(SENTINELS) | hostile.SHORT


MANY = 4_000
"""Entries of a vector from which on most answers are small."""


class Recording(SameAnswers):
    """Writes down what it is handed, each vector with the journal's last line at that time. Its answers
    depend on the question and its own seed alone."""

    session: RoomSession

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.handed: list[tuple[Any, Any]] = []

    def note(self, vector: Any) -> None:
        self.handed.append((self.session.calls[-1], np.asarray(vector, dtype=np.int64).copy()))

    def counts(self, vector: Counts, noise: Noise) -> Counts:
        self.note(vector)
        answers = super().counts(vector, noise)
        return np.where(self.few(vector.size), answers, -5)

    def few(self, size: int) -> np.ndarray:
        """Which nodes of a level may be opened: not many of a very wide one, because a tree that opens half
        of all its nodes takes gigabytes."""
        return self.rng.random(size) * size <= MANY

    def choose(self, scores: Counts, *, scale: Fraction, law: Any) -> int:
        self.note(scores)
        return super().choose(scores, scale=scale, law=law)

    def discover(
        self, tally: dict[int, int], *, size: int, threshold: int, noise: Noise
    ) -> list[tuple[int, int]]:
        self.handed.append((self.session.calls[-1], tally))
        return super().discover(tally, size=size, threshold=threshold, noise=noise)

    def passing(self, scores: Counts, *, threshold: int, noise: Noise) -> np.ndarray:
        self.note(scores)
        return (self.rng.random(scores.size) < 0.5) & self.few(scores.size)

    def above_threshold(self, vector: Counts, *, threshold: int, noise: Noise) -> Counts:
        self.note(vector)
        return np.where(self.rng.random(vector.size) < 0.5, threshold, 0)


def same_bytes(number: int) -> bytes:
    """Randomness of truncation: the same for the records that two tables share, if what differs stands at the
    end."""
    return np.random.default_rng(7).bytes(number)


def written(records: Sequence[Record], names: Sequence[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([names, *records])
    return text.getvalue().encode("utf-8", "surrogatepass")


def handed_to(
    content: bytes, path: Path, *, domain: Domain, spec: Spec, seed: int
) -> list[tuple[Any, Any]]:
    """All vectors of a run on a file."""
    path.write_bytes(content)
    # Marks that may mean two things are letters, so that the fast parser takes pieces which hold one.
    rows = opening.open_table(
        path, domain, dialect=Dialect(literal=True), random_bytes=same_bytes
    )
    plan = mechanisms.plan(domain, spec)
    sampler = Recording(seed)
    room = open_session(rows, domain=domain, cap=plan.loss, sampler=sampler, planned=plan.calls)
    sampler.session = room
    plan.run(room)
    return sampler.handed


def distance(one: Any, other: Any) -> Counts:
    """By how much each entry of two vectors differs. A tally has an entry for each number that occurs."""
    if isinstance(one, dict):
        ranks = set(one) | set(other)
        return np.array(
            [one.get(rank, 0) - other.get(rank, 0) for rank in ranks] or [0], dtype=np.int64
        )
    return np.asarray(one) - np.asarray(other)


def assert_within(one: list[tuple[Any, Any]], other: list[tuple[Any, Any]]) -> None:
    """Each pair of vectors is as near as the event charged for them says."""
    assert [call for call, _ in one] == [call for call, _ in other]
    for (call, vector), (_, its) in zip(one, other, strict=True):
        moved, event = distance(vector, its), call.event
        if isinstance(event, PermuteAndFlip | Gumbel):
            assert np.abs(moved).max(initial=0) <= event.linf
        elif isinstance(event, ThresholdTree) or hasattr(event, "l1"):
            assert np.abs(moved).sum() <= event.l1
        else:
            assert not isinstance(event, DirichletMultinomial)
            assert (moved**2).sum() <= event.l2_squared


# Without the method that draws groups with public totals again: it publishes no counts with noise.
MECHANISMS = [name for name in mechanisms.REGISTRY if name != "on-the-map"]


def domain_for(
    mechanism: str, *, relation: Relation, most: int, spelling: Spelling = Spelling.EXACT
) -> Domain | None:
    """The widest description that a mechanism takes: with open columns, else with known ones, else one column
    of texts."""
    unit = PrivacyUnit(max_records=most, column="person", spelling=spelling)
    person = Identifier(name="person")
    for attributes in (
        (*COLUMNS, *OPEN),
        COLUMNS,
        COLUMNS[:2],
        hostile.WEAK[:1],
        (Integer(name="age", low=0, high=63),),
    ):
        domain = Domain(attributes=(*attributes, person), unit=unit, relation=relation)
        if mechanisms.REGISTRY[mechanism].suits(domain):
            return domain
    return None


@pytest.mark.slow
@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("mechanism", MECHANISMS)
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=3,
    derandomize=True,
    database=None,
)
@given(data=st.data())
def test_neighbouring_files_hand_neighbouring_vectors_to_samplers(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    mechanism: str,
    relation: Relation,
    data: st.DataObject,
) -> None:
    monkeypatch.setattr(line_feed, "PIECE", 64)
    most = data.draw(st.integers(1, 3))
    domain = domain_for(mechanism, relation=relation, most=most)
    assert domain is not None, "every mechanism is run"
    names = [*domain.columns, "person"]
    record = st.tuples(*[CELLS] * len(domain.columns))
    shared = [
        (*cells, f"p{place % 4}")
        for place, cells in enumerate(data.draw(st.lists(record, max_size=8)))
    ]
    own = [(*cells, "someone") for cells in data.draw(st.lists(record, min_size=1, max_size=4))]
    other: list[Record] = []
    if relation is Relation.REPLACE_ONE:
        other = [
            (*cells, "someone") for cells in data.draw(st.lists(record, min_size=1, max_size=4))
        ]
    delta = Fraction(data.draw(st.sampled_from([0, 1])), 10**9)
    spec, seed = (
        Spec(mechanism=mechanism, epsilon=Fraction(3), delta=delta),
        data.draw(st.integers(0, 2**32)),
    )
    path = tmp_path / "table.csv"
    found = [
        handed_to(written([*shared, *more], names), path, domain=domain, spec=spec, seed=seed)
        for more in (own, other)
    ]
    assert_within(*found)


# --- mutants: leaks of reading that answers which ignore counts cannot see ----------------------------------
MOMENT = next(each for each in hostile.COLUMNS if each.name == "moment_3_False")
FRACTION = Domain(attributes=(MOMENT,))


def two_files(
    tmp_path: Path,
    shared: Sequence[Record],
    own: Sequence[Record],
    domain: Domain,
    *,
    names: Sequence[str],
) -> None:
    spec = Spec(mechanism="independent", epsilon=Fraction(1))
    path = tmp_path / "table.csv"
    assert_within(
        *(
            handed_to(written(table, names), path, domain=domain, spec=spec, seed=1)
            for table in (shared, [*shared, *own])
        )
    )


def sentinel_files(tmp_path: Path) -> None:
    shared = [("31.12.9999 23:59:59.999999",)] * 20
    two_files(
        tmp_path, shared, [("05.05.2024 10:00:00.1234567",)], FRACTION, names=[MOMENT.name]
    )


def marked_files(tmp_path: Path) -> None:
    """One record makes another parser read the pieces, of which some begin with a mark."""
    job = hostile.COLUMNS[0]
    shared = [("\ufeffclerk",)] * 40
    two_files(tmp_path, shared, [("a\rb",)], Domain(attributes=(job,)), names=[job.name])


PERSONS = Domain(
    attributes=(hostile.COLUMNS[0], Identifier(name="person")),
    unit=PrivacyUnit(max_records=1, column="person"),
)


def person_files(tmp_path: Path) -> None:
    shared = [("clerk", "a"), ("clerk", "b"), ("cook", "b"), ("cook", "a")]
    two_files(tmp_path, shared, [("07", "z")], PERSONS, names=["job", "person"])


LATTICE = next(each for each in hostile.SCALES if each.name == "whole_bounded")
assert LATTICE.missing


def lattice_files(tmp_path: Path) -> None:
    """One record with a missing value more, and a record below all others."""
    domain = Domain(attributes=(LATTICE,))
    for text in ("?", "-4"):
        two_files(tmp_path, [("17",), ("99",)] * 20, [(text,)], domain, names=[LATTICE.name])


def test_a_column_on_a_lattice_is_counted_by_intervals(tmp_path: Path) -> None:
    domain = Domain(attributes=(LATTICE,))
    spec = Spec(mechanism="independent", epsilon=Fraction(1))
    content = written([("17",), ("?",)], [LATTICE.name])
    handed = handed_to(content, tmp_path / "table.csv", domain=domain, spec=spec, seed=1)
    assert [call.query.verb for call, _ in handed][:2] == ["intervals", "intervals"]


@pytest.mark.parametrize(
    "planted",
    ["positions", "positions[~missing] - positions[~missing].min()"],
    ids=["a missing value at a position as well", "positions from the least value"],
)
def test_positions_that_are_not_of_one_record_would_be_noticed(
    planted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(
        monkeypatch, CountCache.positions, "np.sort(positions[~missing])", f"np.sort({planted})"
    )
    with pytest.raises(AssertionError):
        lattice_files(tmp_path)


def test_the_files_of_the_mutants_are_read_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_feed, "PIECE", 64)
    for files in (sentinel_files, marked_files, person_files, lattice_files):
        files(tmp_path)


def old_moments(attribute: DateTime, texts: list[str]) -> np.ndarray:
    """A block of moments read by a library that infers one resolution for all of them, as it once was."""
    read = pd.to_datetime(
        pd.Series(texts, dtype="str"), format=attribute.format, errors="coerce"
    )
    whole = read.to_numpy().astype("datetime64[s]")
    seconds = (whole - np.datetime64(attribute.low, "s")).astype(np.float64)
    return np.where(np.isnat(whole), np.nan, seconds)


def one_resolution(attribute: DateTime, texts: list[str]) -> np.ndarray:
    """The same mistake by hand: the finest fraction in a block decides how far all of it reaches."""
    seconds = np.array(
        [
            np.nan
            if (found := attribute.parse(text)) is None
            else (found - attribute.low) // datetime.timedelta(seconds=1)
            for text in texts
        ]
    )
    fine = any(len(text.rpartition(".")[2]) > 6 for text in texts)
    return np.where(fine & (seconds > 3e10), np.nan, seconds)


def test_moments_of_one_resolution_would_be_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for mutant in (old_moments, one_resolution):
        monkeypatch.setattr(timestamps, "seconds_since", mutant)
        with pytest.raises(AssertionError):
            sentinel_files(tmp_path)


def test_a_mark_dropped_from_pieces_would_be_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_feed, "PIECE", 64)
    honest: Callable[..., Any] = fast_csv.parsed

    def dropping(piece: bytes, form: Any, *, last: bool) -> Any:
        """The fast parser as it was: what it is given loses a mark at its beginning."""
        marked = b'"\xef\xbb\xbf'
        return honest(
            b'"' + piece.removeprefix(marked) if piece.startswith(marked) else piece,
            form,
            last=last,
        )

    monkeypatch.setattr(fast_csv, "parsed", dropping)
    with pytest.raises(AssertionError):
        marked_files(tmp_path)


def test_truncation_that_looks_at_other_units_would_be_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crowded(
        units: np.ndarray, *, most: int, random_bytes: Callable[[int], bytes]
    ) -> np.ndarray:
        """Keeps the first record of each unit in a table of an even length, and the last one in others."""
        del random_bytes, most
        order = np.arange(len(units)) if len(units) % 2 == 0 else np.arange(len(units))[::-1]
        _, first = np.unique(units[order], return_index=True)
        return np.sort(order[first])

    monkeypatch.setattr(opening, "_truncate", crowded)
    with pytest.raises(AssertionError):
        person_files(tmp_path)
