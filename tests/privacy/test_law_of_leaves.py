"""`leaves`: the exact law of counts of parts, what is drawn all at once against noise on every cell, and what
is refused."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from synth_engine.domain import Categorical, Domain, Integer, Weak
from synth_engine.errors import BudgetExceeded, InputError, PrivacyError, VerificationError
from synth_engine.hierarchy import (
    NodeSet,
    Rule,
    SpatialHierarchy,
    StringHierarchy,
    leaf_nodes,
    sort_nodes,
)
from synth_engine.measurement import Answers, Call, Counts, Leaves, Noise
from synth_engine.privacy.loss import GaussianDP, Pure
from synth_engine.privacy.receipt import call_to_json
from synth_engine.privacy.unit import PrivacyUnit, Relation
from synth_engine.room import counts, growth, noise
from synth_engine.room.rows import Rows
from synth_engine.room.session import RoomSession, open_session
from synth_engine.values import from_json
from synth_engine.verifier import calls as verifier_calls
from tests.answers import replaced
from tests.privacy import exact
from tests.privacy.chance import fits, least

SCALE = Fraction(2)
NOISE = Noise(law="discrete-laplace", scale=SCALE)
CAP = Pure(epsilon=Fraction(9))
LINE = Domain(attributes=(Integer(name="x", low=0, high=3, width=1),))
BOTH = Domain(
    attributes=(
        Integer(name="x", low=0, high=3, width=1),
        Categorical(name="kind", values=("a", "b"), outside="clamp"),
    )
)
PARTED = Domain(  # few tables, so that every branch of each is soon walked
    attributes=(Integer(name="x", low=0, high=1, width=1), *BOTH.attributes[1:])
)
TEXTS = Domain(
    attributes=(
        Weak(
            name="word",
            values=from_json(
                {"set": "strings", "alphabet": "ab", "min_length": 1, "max_length": 2}
            ),
        ),
    )
)
POINTS = SpatialHierarchy(columns=("x",), low=(0.0,), high=(4.0,), resolution=2)
WORDS = StringHierarchy(columns=("word",), alphabet="ab", shortest=1, longest=2)


def points(*parts: tuple[int, int]) -> NodeSet:
    """Parts of the line by depth and first of its four codes."""
    levels, codes = zip(*parts, strict=True)
    return sort_nodes(("x",), np.array(levels), np.array(codes, dtype=np.uint64))


WHOLE = points((1, 0), (2, 2), (2, 3))
GAPS = points((2, 1), (1, 2))


def counted(
    partition: NodeSet, *, by: tuple[str, ...] = (), threshold: int | None = None
) -> exact.Program:
    def program(session: RoomSession, _rows: Rows) -> Hashable:
        return tuple(
            session.leaves(partition, noise=NOISE, by=by, threshold=threshold)
            .values.ravel()
            .tolist()
        )

    return program


def worst(
    partition: NodeSet, *, domain: Domain, sampler: type[exact.Replay] = exact.Replay,
    by: tuple[str, ...] = (),
    threshold: int | None = None, most: int = 2,
) -> Fraction | float:  # fmt: skip
    program = counted(partition, by=by, threshold=threshold)
    return exact.largest_ratio(program, domain, cap=CAP, most=most, sampler=sampler)


@pytest.mark.parametrize("threshold", [None, 1, 2])
@pytest.mark.parametrize(
    ("partition", "domain", "by"),
    [
        (WHOLE, LINE, ()),
        (GAPS, LINE, ()),
        (points((1, 0), (1, 1)), PARTED, ("kind",)),
        (sort_nodes(("word",), np.array([1, 2]), WORDS.encode(["a", "b"])), TEXTS, ()),
    ],
    ids=["whole", "gaps", "by kind", "texts"],
)
def test_a_record_moves_one_cell_at_most(
    partition: NodeSet, domain: Domain, by: tuple[str, ...], threshold: int | None
) -> None:
    ratio = worst(partition, domain=domain, by=by, threshold=threshold)
    assert exact.proves(ratio, epsilon=1 / SCALE + Fraction(1, 2**200))
    assert exact.worst_epsilon(ratio) > 0.95 / SCALE


def test_a_record_that_is_replaced_moves_two() -> None:
    domain = replace(LINE, relation=Relation.REPLACE_ONE)
    ratio = worst(WHOLE, domain=domain)
    assert exact.proves(ratio, epsilon=2 / SCALE + Fraction(1, 2**200))
    assert exact.worst_epsilon(ratio) > 0.95 * 2 / SCALE
    assert not exact.proves(ratio, epsilon=1 / SCALE)


class OccupiedOnly(exact.Replay):
    """Of a kept vector, cells without records are never kept."""

    def above_threshold(self, vector: Counts, *, threshold: int, noise: Noise) -> Counts:
        return np.where(
            vector > 0, super().above_threshold(vector, threshold=threshold, noise=noise), 0
        )


class AboveWithoutNoise(exact.Replay):
    """The threshold is asked of the count, and noise comes afterwards."""

    def above_threshold(self, vector: Counts, *, threshold: int, noise: Noise) -> Counts:
        return np.where(vector >= threshold, self.counts(vector, noise), 0)


class WithoutNoise(exact.Replay):
    def counts(self, vector: Counts, noise: Noise) -> Counts:
        return vector

    def passes(self, score: int, threshold: int, noise: Noise) -> bool:
        return score >= threshold


def test_codes_are_sorted_once_for_as_long_as_one_hierarchy_is_asked_of_the_same_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    domain = replace(
        LINE,
        attributes=(*LINE.attributes, replace(LINE.attributes[0], name="y"), *TEXTS.attributes),
    )
    rows = {"x": [0, 0, 0, 0, 0, 1, 3, 3], "y": [3, 3, 3, 3, 3, 3, 0, 0], "word": [0] * 8}
    codes = {name: np.array(column, dtype=np.uint16) for name, column in rows.items()}
    held = Rows(codes, domain=domain, ranked={"word": (np.zeros(8, dtype=np.int32), [0])})
    read, by_leaf = [], counts.by_leaf
    monkeypatch.setattr(counts, "by_leaf", lambda *given: read.append(1) or by_leaf(*given))
    cap, sampler = Pure(epsilon=Fraction(90)), WithoutNoise((), low=0, high=9)
    session = open_session(held, domain=domain, cap=cap, sampler=sampler)
    other = replace(WHOLE, columns=("y",))

    def asked(partition: NodeSet) -> tuple[list[int], int]:
        return session.leaves(partition, noise=NOISE).values.tolist(), len(read)

    assert asked(WHOLE) == ([6, 0, 2], 1)
    for rule in (
        Rule(name="improved", depth=2, threshold=1, discount=2),
        Rule(name="improved", depth=2, threshold=2, discount=3, spread="fullest", parts=2),
        Rule(name="basic", depth=2, threshold=1),
    ):
        session.grow(("x",), rule=rule, noise=NOISE)  # takes nothing from what is kept
        assert asked(WHOLE) == ([6, 0, 2], 1)
    assert asked(other) == ([2, 0, 6], 2)
    assert asked(WHOLE) == ([6, 0, 2], 3)
    (word,) = (each for each in domain.undeclared if isinstance(each, Weak))
    session.resolve(domain.resolve({"word": word.from_ranks([])}))
    assert asked(WHOLE) == ([6, 0, 2], 4)


@pytest.mark.parametrize(
    "mutant",
    [exact.HalvedScale, exact.ActiveDomain, exact.TruncatedNoise, exact.FrequencyScale],
)
def test_a_mistake_with_noise_is_noticed(mutant: type[exact.Replay]) -> None:
    assert not exact.proves(
        worst(WHOLE, domain=LINE, sampler=mutant), epsilon=1 / SCALE + Fraction(1, 2**200)
    )


@pytest.mark.parametrize("mutant", [OccupiedOnly, AboveWithoutNoise])
def test_a_mistake_with_the_threshold_is_noticed(mutant: type[exact.Replay]) -> None:
    ratio = worst(WHOLE, domain=LINE, sampler=mutant, threshold=1)
    assert not exact.proves(ratio, epsilon=1 / SCALE + Fraction(1, 2**200))


def test_parts_inside_one_another_would_cost_twice() -> None:
    """Were they not refused, a record could move two cells."""
    nested = points((1, 0), (1, 2))

    def twice(session: RoomSession, _rows: Rows) -> Hashable:
        both = [session.leaves(one, noise=NOISE) for one in (nested, points((2, 0)))]
        return tuple(value for one in both for value in one.values.tolist())

    laws = {
        table: exact.law_of(twice, table, domain=LINE, cap=CAP, high=1)
        for table in ((), ((0,),))
    }
    ratio, _ = exact.worst_ratio(laws, iter([((), ((0,),)), (((0,),), ())]))
    assert not exact.proves(ratio, epsilon=1 / SCALE + Fraction(1, 2**200))


# ---- what is drawn all at once
# -----------------------------------------------------------------------------------------


def test_what_is_kept_is_as_if_each_cell_had_its_noise() -> None:
    """Chi-square of the values of three kinds of cells: below the threshold, and each from there on."""
    vector, threshold, runs = np.repeat([0, 1, 4], [60, 30, 30]), 3, 400

    def p_value() -> float:
        drawn = [
            growth.threshold_counts(vector, threshold=threshold, noise=NOISE, noisy=noise.noisy)
            for _ in range(runs)
        ]
        found = []
        for kind, part in zip(
            (0, 1, 4), np.split(np.array(drawn), [60, 90], axis=1), strict=True
        ):
            chances = exact.clamped_laplace(kind, SCALE, threshold - 1, threshold + 5)
            expected = np.array([float(mpmath.mpf(p.low) / exact.ONE) for p in chances])
            assert not ((part > 0) & (part < threshold)).any() and (part >= 0).all()
            clamped = (
                np.where(part == 0, threshold - 1, np.minimum(part, threshold + 5))
                - threshold
                + 1
            )
            observed = np.bincount(clamped.ravel(), minlength=expected.size)
            found.append(
                float(stats.chisquare(observed, expected * part.size / expected.sum()).pvalue)
            )
        return least(found)

    assert fits(p_value)


# ---- what is counted, and what is refused
# --------------------------------------------------------------------------


def room(domain: Domain, table: exact.Table, *, epsilon: str = "900") -> RoomSession:
    return open_session(
        exact.rows_of(table, domain), domain=domain, cap=Pure(epsilon=Fraction(epsilon))
    )


SHARP = Noise(law="discrete-laplace", scale=Fraction(1, 32))


def test_parts_are_counted_by_further_columns() -> None:
    table = ((0, 0), (1, 1), (1, 1), (2, 0), (3, 0), (3, 1))
    found = room(BOTH, table).leaves(WHOLE, noise=SHARP, by=("kind",))
    assert found.values.tolist() == [[1, 2], [1, 0], [1, 1]]
    assert room(BOTH, table).leaves(GAPS, noise=SHARP).values.tolist() == [2, 3]
    assert room(BOTH, ()).leaves(GAPS, noise=SHARP, by=("kind",)).values.tolist() == [
        [0, 0],
        [0, 0],
    ]
    assert room(BOTH, table).leaves(
        points((0, 0)), noise=SHARP, threshold=1
    ).values.tolist() == [6]


def test_texts_are_counted_by_their_beginnings_and_ends() -> None:
    values = TEXTS.attribute("word").values  # type: ignore[attr-defined]
    texts = ["a", "a", "aa", "ab", "b", "b", "b", "bb"]
    table = (
        *((values.rank(text),) for text in texts),
        (values.size,),
    )  # the last one is "other"
    # the ended text a, everything that begins with b; then the ended texts b and aa; ab and bb are in no part
    ends = sort_nodes(("word",), np.array([2, 1]), WORDS.encode(["a", "b"]))
    assert room(TEXTS, table).leaves(ends, noise=SHARP).values.tolist() == [2, 4]
    ends = sort_nodes(("word",), np.array([2, 2]), WORDS.encode(["b", "aa"]))
    assert room(TEXTS, table).leaves(ends, noise=SHARP).values.tolist() == [1, 3]


def test_where_a_tree_ends_its_records_are_all_counted() -> None:
    session = room(LINE, tuple((x,) for x in (0, 0, 0, 1, 3)))
    grown = session.grow(("x",), rule=Rule(name="basic", depth=2, threshold=1), noise=SHARP)
    found = session.leaves(leaf_nodes(grown, POINTS), noise=SHARP)
    assert found.partition.levels.tolist() == [2, 2, 2, 2] and found.values.tolist() == [
        3,
        1,
        0,
        1,
    ]


@pytest.mark.parametrize(
    "partition",
    [
        points((0, 0), (2, 3)),
        points((1, 0), (2, 0)),
        points((1, 0), (2, 1)),
        points((2, 1), (2, 1)),
        points((1, 1)),
        points((3, 0)),
        points((-1, 0)),
        replace(WHOLE, prefixes=WHOLE.prefixes[::-1].copy()),
        replace(WHOLE, prefixes=WHOLE.prefixes.astype(np.int64)),
        replace(WHOLE, levels=WHOLE.levels[:0], prefixes=WHOLE.prefixes[:0]),
    ],
)
def test_what_is_no_partition_is_refused_and_costs_nothing(partition: NodeSet) -> None:
    session = room(LINE, ((1,),))
    with pytest.raises(PrivacyError):
        session.leaves(partition, noise=NOISE)
    assert session.calls == ()


def test_leaves_are_refused_by_their_own_columns_over_the_cap_and_with_thresholds_that_fit_no_noise() -> (
    None
):
    session = room(BOTH, ((1, 1),), epsilon="1/4")
    with pytest.raises(PrivacyError):
        session.leaves(WHOLE, noise=NOISE, by=("x",))
    with pytest.raises(PrivacyError):
        session.leaves(WHOLE, noise=NOISE, threshold=0)
    with pytest.raises(PrivacyError):
        session.leaves(WHOLE, noise=replace(NOISE, law="rounded-gaussian"), threshold=1)
    with pytest.raises(BudgetExceeded):
        session.leaves(WHOLE, noise=NOISE)
    assert session.calls == ()


# ---- receipt and answers
# -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("m", "relation", "moving"),
    [(1, "add-remove", 1), (3, "add-remove", 3), (2, "replace-one", 4)],
)
def test_the_verifier_finds_the_same_price(m: int, relation: str, moving: int) -> None:
    domain = replace(BOTH, unit=PrivacyUnit(max_records=m), relation=Relation(relation))
    session = room(domain, ((1, 1),))
    session.leaves(WHOLE, noise=NOISE, by=("kind",), threshold=2)
    bell = open_session(
        exact.rows_of(((1, 1),), domain), domain=domain, cap=GaussianDP(mu_squared=Fraction(90))
    )
    bell.leaves(WHOLE, noise=replace(NOISE, law="rounded-gaussian"))
    receipt = {
        "unit": {"max_records": m, "column": None},
        "relation": relation,
        "invariants": [],
    }
    allowed = verifier_calls.allowed_by(receipt)
    for call in session.calls + bell.calls:
        written = call_to_json(call.query.to_json(), call.event)
        cost = verifier_calls.cost_of(written, 1, allowed)
        assert cost.epsilon == call.event.pure_epsilon() and cost.rho == call.event.rho()
        assert Call.from_json(call.to_json()) == call
    assert session.calls[0].event.pure_epsilon() == moving / SCALE


@pytest.mark.parametrize(
    "changes",
    [
        {"parts": 4}, {"parts": 0}, {"parts": "3"}, {"parts": True}, {"cells": 7}, {"by": ["x"]},
        {"by": "kind"}, {"by": []},
        {"clique": []}, {"threshold": 0}, {"bins": [3]}, {"by": [1]},
    ],
)  # fmt: skip
def test_the_verifier_refuses_leaves_that_do_not_add_up(changes: dict) -> None:
    session = room(BOTH, ((1, 1),))
    session.leaves(WHOLE, noise=NOISE, by=("kind",))
    (call,) = session.calls
    receipt = {
        "unit": {"max_records": 1, "column": None},
        "relation": "add-remove",
        "invariants": [],
    }
    written, allowed = (
        call_to_json(call.query.to_json(), call.event),
        verifier_calls.allowed_by(receipt),
    )
    verifier_calls.cost_of(written, 1, allowed)
    with pytest.raises(VerificationError):
        verifier_calls.cost_of(written | {"query": written["query"] | changes}, 1, allowed)


def test_answers_with_leaves_are_kept_as_they_are(tmp_path) -> None:
    texts = sort_nodes(("word",), np.array([1, 2]), WORDS.encode(["a", "b"]))
    first, second = room(BOTH, ((1, 1),)), room(TEXTS, ((1,),))
    found = (
        first.leaves(WHOLE, noise=NOISE, by=("kind",)),
        second.leaves(texts, noise=NOISE, threshold=1),
    )
    answers = Answers(first.answers.answered + second.answers.answered)
    answers.save(tmp_path / "answers.npz")
    again = Answers.load(tmp_path / "answers.npz")
    assert again.digest == answers.digest and again.calls == answers.calls
    for one, other in zip(again.leaves, found, strict=True):
        assert one.header() == other.header() and one.values.tolist() == other.values.tolist()
        assert one.partition.prefixes.tolist() == other.partition.prefixes.tolist()
    moved = replace(found[0], partition=replace(WHOLE, prefixes=WHOLE.prefixes[[0, 1, 1]]))
    assert replaced(answers, Leaves, (moved, found[1])).digest != answers.digest
    with np.load(tmp_path / "answers.npz") as archive:
        arrays = dict(archive)
    arrays["leaves_0_prefixes"][1] += 1
    np.savez_compressed(tmp_path / "changed.npz", **arrays)
    with pytest.raises(InputError):
        Answers.load(tmp_path / "changed.npz")


def test_law_of_one_part_alone_is_that_of_the_number_of_records() -> None:
    """The root is a partition: its count is that of `measure` of no column."""
    root = points((0, 0))
    for table in ((), ((1,),), ((0,), (3,))):
        one = exact.law_of(counted(root), table, domain=LINE, cap=CAP, high=2)
        other = exact.law_of(
            lambda session, _: (int(session.measure((), noise=NOISE).values),),
            table,
            domain=LINE,
            cap=CAP,
            high=2,
        )
        assert one == other
