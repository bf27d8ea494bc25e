"""`grow`: the exact law of all rules on binary trees of depth 3, mutants that must not survive, and the same
law from the room's own code."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import comb, inf, prod

import mpmath
import numpy as np
import pytest
from scipy import stats

from synth_engine import mechanisms
from synth_engine.domain import Domain, Integer, Weak
from synth_engine.errors import BudgetExceeded, DomainError, PrivacyError, VerificationError
from synth_engine.hierarchy import Growth, Rule, draw_distinct
from synth_engine.hierarchy import growth as rules
from synth_engine.measurement import Answers, Call, Counts, Noise
from synth_engine.privacy import tails, thresholds, trees
from synth_engine.privacy.loss import Pure
from synth_engine.privacy.receipt import call_to_json
from synth_engine.privacy.unit import PrivacyUnit, Relation
from synth_engine.room import growth, noise
from synth_engine.room.rows import Rows
from synth_engine.room.session import RoomSession, open_session
from synth_engine.spec import Spec
from synth_engine.values import from_json
from synth_engine.verifier import calls as verifier_calls
from synth_engine.verifier import trees as verifier_trees
from tests.answers import replaced
from tests.privacy import exact
from tests.privacy.chance import fits, least
from tests.privacy.exact import (
    CERTAIN,
    ZERO,
    Interval,
    Law,
    Replay,
    clamped_laplace,
    enclose,
    iv,
)

SCALE = Fraction(2)
NOISE = Noise(law="discrete-laplace", scale=SCALE)
DEPTH = 3
MOST = 6
IMPROVED = Rule(
    name="improved",
    depth=DEPTH,
    threshold=1,
    discount=trees.least_discount(scale=SCALE, threshold=1),
)
PRIVTREE = Rule(
    name="privtree", depth=DEPTH, threshold=1, discount=4
)  # so that two depths show nearly all of the loss
BASIC = Rule(name="basic", depth=DEPTH, threshold=2)
Leaves = tuple[int, ...]  # how many records have each of the codes below a node


def opened_loss(rule: Rule, scale: Fraction = SCALE) -> Fraction:
    return trees.loss(scale=scale, threshold=rule.least, discount=rule.discount)


# ---- what the law has to be, written down a second time
# ---------------------------------------------------------


class Model:
    """The law of the part of a tree below one node, by recursion over everything that chance may do."""

    def __init__(self, rule: Rule, scale: Fraction = SCALE) -> None:
        self.rule, self.scale = rule, scale
        self.law = cache(self._law)

    def opens(self, count: int, level: int) -> tuple[Interval, Interval]:
        if self.rule.name == "improved":
            return self.passes(count, self.rule.threshold)
        raised = max(
            count - level * self.rule.discount, self.rule.threshold - self.rule.discount
        )
        return self.passes(raised, self.rule.threshold)

    def passes(self, count: int, threshold: int) -> tuple[Interval, Interval]:
        fails, passes = clamped_laplace(count, self.scale, threshold - 1, threshold)
        return fails, passes

    def left(self, leaves: Leaves) -> Iterator[tuple[Interval, Leaves]]:
        """What an opened node leaves of its records, and how likely."""
        total, number = sum(leaves), self.rule.discount
        if self.rule.name == "privtree":
            yield CERTAIN, leaves
            return
        number = min(total, number)
        for taken in itertools.product(*(range(count + 1) for count in leaves)):
            if sum(taken) == number:
                ways = prod(
                    comb(count, less) for count, less in zip(leaves, taken, strict=True)
                )
                chance = enclose(iv.mpf(ways) / comb(total, number))
                yield (
                    chance,
                    tuple(count - less for count, less in zip(leaves, taken, strict=True)),
                )

    def _law(self, leaves: Leaves, level: int) -> Law:
        if level == self.rule.depth:
            return {"leaf": CERTAIN}
        fails, passes = self.opens(sum(leaves), level)
        found: Law = {"closed": fails}
        half = len(leaves) // 2
        for chance, left in self.left(leaves):
            one, other = self.law(left[:half], level + 1), self.law(left[half:], level + 1)
            for (a, p), (b, q) in itertools.product(one.items(), other.items()):
                found[a, b] = found.get((a, b), ZERO) + passes * chance * p * q
        return found

    def worst(self) -> Fraction | float:
        """Over all neighbours of up to `MOST` records, both ways round. Below the root, which is always
        opened, what differs lies on one side, and the other side is the same."""
        laws = {leaves: self.law(leaves, 1) for leaves in tables(4)}
        pairs = [(x, y) for x in laws for y in laws if differ_by_one(x, y)]
        ratio, compared = exact.worst_ratio(laws, iter(pairs))
        assert compared == len(pairs) > 500
        return ratio


def tables(size: int, most: int = MOST) -> Iterator[Leaves]:
    return (
        held for held in itertools.product(range(most + 1), repeat=size) if sum(held) <= most
    )


def differ_by_one(x: Leaves, y: Leaves) -> bool:
    return sum(abs(a - b) for a, b in zip(x, y, strict=True)) == 1


class NoDiscount(Model):
    def left(self, leaves: Leaves) -> Iterator[tuple[Interval, Leaves]]:
        yield CERTAIN, leaves


class OneLess(Model):
    """The discount is one too small."""

    def left(self, leaves: Leaves) -> Iterator[tuple[Interval, Leaves]]:
        smaller = Model(replace(self.rule, discount=self.rule.discount - 1), self.scale)
        return smaller.left(leaves)


class FromTheSmallest(Model):
    """Records are taken from the smaller side first, which is not stable."""

    def left(self, leaves: Leaves) -> Iterator[tuple[Interval, Leaves]]:
        left, half = list(leaves), len(leaves) // 2
        for _ in range(min(sum(leaves), self.rule.discount)):
            sides = [
                side
                for side in (range(half), range(half, len(left)))
                if sum(left[i] for i in side)
            ]
            side = min(sides, key=lambda side: sum(left[i] for i in side))
            left[next(i for i in side if left[i])] -= 1
        yield CERTAIN, tuple(left)


class OccupiedOnly(Model):
    """Nodes without records are never opened."""

    def opens(self, count: int, level: int) -> tuple[Interval, Interval]:
        return super().opens(count, level) if count else (CERTAIN, ZERO)


class NoDecay(Model):
    def opens(self, count: int, level: int) -> tuple[Interval, Interval]:
        return super().opens(count, 1)


class NotClipped(Model):
    def opens(self, count: int, level: int) -> tuple[Interval, Interval]:
        return self.passes(count - level * self.rule.discount, self.rule.threshold)


class HalvedScale(Model):
    def passes(self, count: int, threshold: int) -> tuple[Interval, Interval]:
        fails, passes = clamped_laplace(count, self.scale / 2, threshold - 1, threshold)
        return fails, passes


@pytest.mark.parametrize("rule", [IMPROVED, PRIVTREE], ids=lambda rule: rule.name)
def test_opening_nodes_costs_what_is_claimed_and_little_less(rule: Rule) -> None:
    ratio, claim = Model(rule).worst(), opened_loss(rule)
    assert exact.proves(ratio, epsilon=claim)
    assert exact.worst_epsilon(ratio) > 0.9 * claim


@pytest.mark.parametrize(
    ("scale", "threshold", "more"),
    [("1", 1, 0), ("1", 2, 0), ("1/2", 1, 0), ("3", 2, 0), ("2", 1, 1)],
)
def test_the_claim_holds_for_other_noise_thresholds_and_discounts(
    scale: str, threshold: int, more: int
) -> None:
    spread = Fraction(scale)
    discount = trees.least_discount(scale=spread, threshold=threshold) + more
    rule = Rule(name="improved", depth=DEPTH, threshold=threshold, discount=discount)
    assert exact.proves(Model(rule, spread).worst(), epsilon=opened_loss(rule, spread))
    assert opened_loss(rule, spread) <= 2 / spread


@pytest.mark.parametrize(
    ("mutant", "rule"),
    [
        (mutant, IMPROVED)
        for mutant in (NoDiscount, OneLess, FromTheSmallest, OccupiedOnly, HalvedScale)
    ]
    + [(mutant, PRIVTREE) for mutant in (NoDecay, NotClipped, OccupiedOnly, HalvedScale)],
    ids=lambda one: getattr(one, "__name__", getattr(one, "name", "")),
)
def test_a_mistake_is_noticed(mutant: type[Model], rule: Rule) -> None:
    assert not exact.proves(mutant(rule).worst(), epsilon=opened_loss(rule))


def basic_worst(rule: Rule, scale: Fraction) -> Fraction:
    """Of the basic rule the noises are independent, so that the worst ratio is found node by node; counts are
    clamped to 0 … MOST, which loses nothing."""

    @cache
    def below(x: Leaves, y: Leaves, level: int) -> Fraction:
        if x == y:
            return Fraction(1)
        one, other = (clamped_laplace(sum(side), scale, 0, MOST) for side in (x, y))
        worst = Fraction(0)
        for value, (p, q) in enumerate(zip(one, other, strict=True)):
            ratio = Fraction(p.high, q.low)
            if value >= rule.threshold and level < rule.depth:
                half = len(x) // 2
                ratio *= below(x[:half], y[:half], level + 1) * below(
                    x[half:], y[half:], level + 1
                )
            worst = max(worst, ratio)
        return worst

    return max(below(x, y, 1) for x in tables(4) for y in tables(4) if differ_by_one(x, y))


def test_basic_costs_epsilon_at_every_depth() -> None:
    ratio = basic_worst(BASIC, SCALE)
    assert exact.proves(ratio, epsilon=DEPTH / SCALE + Fraction(1, 2**200))
    assert exact.worst_epsilon(ratio) > 0.99 * DEPTH / SCALE
    assert not exact.proves(ratio, epsilon=(DEPTH - 1) / SCALE)
    assert not exact.proves(basic_worst(BASIC, SCALE / 2), epsilon=DEPTH / SCALE)


# ---- the room's own code has that law
# ---------------------------------------------------------------------------

DOMAIN = Domain(attributes=(Integer(name="x", low=0, high=7, width=1),))
SMALL = Domain(attributes=(Integer(name="x", low=0, high=3, width=1),))


def grown(rule: Rule) -> exact.Program:
    def program(session: RoomSession, _rows: Rows) -> Hashable:
        found = session.grow(("x",), rule=rule, noise=NOISE)
        return tuple(tuple(one.tolist()) for one in (*found.opened, *found.counts))

    return program


def opened(shape: Hashable, level: int = 1) -> list[list[bool]]:
    """Which nodes of each depth are opened, where one was looked at, of the shape of a tree as `Model` has
    it."""
    if shape in ("closed", "leaf"):
        return [[False]]
    sides = [opened(side, level + 1) for side in shape]  # type: ignore[attr-defined]
    deeper = [
        list(itertools.chain(*one)) for one in itertools.zip_longest(*sides, fillvalue=[])
    ]
    return [[True], *deeper]


def whole_law(rule: Rule, leaves: Leaves) -> Law:
    """The law of both sides of the root, as the room says it."""
    model, half = Model(rule), len(leaves) // 2
    found: Law = {}
    sides = model.law(leaves[:half], 1), model.law(leaves[half:], 1)
    for (a, p), (b, q) in itertools.product(sides[0].items(), sides[1].items()):
        levels = [
            list(itertools.chain(*one))
            for one in itertools.zip_longest(opened(a), opened(b), fillvalue=[])
        ]
        outcome = tuple(
            tuple(place for place, yes in enumerate(level) if yes) for level in levels
        )
        found[outcome] = found.get(outcome, ZERO) + p * q
    return found


def agree(law: Law, other: Law) -> bool:
    return all(
        law.get(one, ZERO).low <= other.get(one, ZERO).high
        and other.get(one, ZERO).low <= law.get(one, ZERO).high
        for one in law.keys() | other.keys()
    )


@pytest.mark.parametrize("rule", [IMPROVED, PRIVTREE], ids=lambda rule: rule.name)
def test_the_room_opens_nodes_by_that_law(rule: Rule) -> None:
    tried = [(), (0,), (0, 0, 0), (0, 1, 7), (2, 2, 3), (0, 0, 1, 1), (4, 4, 4, 4, 5)]
    for codes in tried:
        table = tuple((code,) for code in codes)
        law = exact.law_of(
            grown(rule), table, domain=DOMAIN, cap=Pure(epsilon=Fraction(9)), high=0
        )
        leaves = tuple(codes.count(code) for code in range(8))
        assert agree(law, whole_law(rule, leaves)), codes


class RoomOccupied(Replay):
    def passes(self, score: int, threshold: int, noise: Noise) -> bool:
        return score > 0 and super().passes(score, threshold, noise)


class RoomKeepsAll(Replay):
    def part(self, sizes: Counts, number: int) -> Counts:
        return np.empty((len(sizes), 0), dtype=np.int64)


@pytest.mark.parametrize("mutant", [RoomOccupied, RoomKeepsAll])
def test_the_room_with_a_mistake_has_another_law(mutant: type[Replay]) -> None:
    table = ((4,), (4,), (4,), (5,))
    cap = Pure(epsilon=Fraction(9))
    law = exact.law_of(grown(IMPROVED), table, domain=DOMAIN, cap=cap, high=0, sampler=mutant)
    assert not agree(law, whole_law(IMPROVED, (0, 0, 0, 0, 3, 1, 0, 0)))


def test_the_room_counts_every_child_of_an_opened_node() -> None:
    rule = Rule(name="basic", depth=2, threshold=1)
    laws = {
        table: exact.law_of(
            grown(rule), table, domain=SMALL, cap=Pure(epsilon=Fraction(9)), high=2
        )
        for table in exact.tables(SMALL, most=2)
    }
    ratio, compared = exact.worst_ratio(laws, exact.add_remove_pairs(SMALL, most=2))
    assert compared > 20
    assert exact.proves(ratio, epsilon=2 / SCALE + Fraction(1, 2**200))
    assert exact.worst_epsilon(ratio) > 0.99 * 2 / SCALE
    occupied = {
        table: exact.law_of(
            grown(rule),
            table,
            domain=SMALL,
            cap=Pure(epsilon=Fraction(9)),
            high=2,
            sampler=exact.ActiveDomain,
        )
        for table in ((), ((0,),))
    }
    assert exact.worst_ratio(occupied, iter([((), ((0,),)), (((0,),), ())]))[0] == inf


# ---- people of several records, and records that are replaced
# ---------------------------------------------------

SHALLOW = Rule(name="basic", depth=2, threshold=3)
NEAR, FAR = (0,), (7,)
"""Records at both ends of the tree."""
ADDED, REPLACED = Relation.ADD_REMOVE, Relation.REPLACE_ONE


def loss_of_units(
    rule: Rule, domain: Domain, x: exact.Table, y: exact.Table
) -> tuple[float, Fraction]:
    """The largest loss of what leaves the room, either way round, and what the room charges."""
    charged: set[Fraction | None] = set()

    def program(session: RoomSession, rows: Rows) -> Hashable:
        seen = grown(rule)(session, rows)
        charged.add(session.calls[0].event.pure_epsilon())
        return seen

    cap = Pure(epsilon=Fraction(90))
    laws = {
        table: exact.law_of(program, table, domain=domain, cap=cap, high=3) for table in (x, y)
    }
    ratio, _ = exact.worst_ratio(laws, iter([(x, y), (y, x)]))
    (claim,) = charged
    assert claim is not None
    return exact.loss_within(ratio, claim=claim), claim


@pytest.mark.parametrize(
    ("rule", "relation", "max_records", "x", "y", "least"),
    [
        (IMPROVED, ADDED, 2, 2 * (NEAR,), 4 * (NEAR,), 0.75),
        (IMPROVED, REPLACED, 1, (*2 * (NEAR,), FAR), 3 * (NEAR,), 0.8),
        (IMPROVED, REPLACED, 2, (*2 * (NEAR,), *2 * (FAR,)), 4 * (NEAR,), 0.7),
        (PRIVTREE, ADDED, 2, 5 * (NEAR,), 7 * (NEAR,), 0.85),
        (PRIVTREE, REPLACED, 1, (*8 * (NEAR,), *5 * (FAR,)), (*9 * (NEAR,), *4 * (FAR,)), 0.7),
        # Where one end is opened more often and the other one less often, not both losses are at their
        # largest.
        (PRIVTREE, REPLACED, 2, (*7 * (NEAR,), *2 * (FAR,)), 9 * (NEAR,), 0.5),
    ],
)
def test_opening_nodes_costs_several_records_and_replaced_ones_what_is_charged(
    rule: Rule,
    relation: Relation,
    max_records: int,
    x: exact.Table,
    y: exact.Table,
    least: float,
) -> None:
    domain = replace(DOMAIN, relation=relation, unit=PrivacyUnit(max_records=max_records))
    found, claim = loss_of_units(rule, domain, x, y)
    assert least * claim <= found < inf
    # At most half of it would be charged by a room that takes no notice of the unit or the relation.
    if max_records == 1 or relation is ADDED:
        assert found > claim / 2


@pytest.mark.parametrize(
    ("relation", "max_records", "x", "y", "least"),
    [
        (ADDED, 2, (), 2 * (NEAR,), 0.99),
        (REPLACED, 1, (NEAR,), ((3,),), 0.74),
        (REPLACED, 2, 2 * (NEAR,), 2 * ((3,),), 0.74),
    ],
)
def test_counts_of_nodes_cost_several_records_and_replaced_ones_what_is_charged(
    relation: Relation, max_records: int, x: exact.Table, y: exact.Table, least: float
) -> None:
    domain = replace(SMALL, relation=relation, unit=PrivacyUnit(max_records=max_records))
    found, claim = loss_of_units(SHALLOW, domain, x, y)
    assert least * claim <= found < inf
    assert found > claim / 2


# ---- nodes without records, drawn all at once
# ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "threshold", [3, 12]
)  # where nodes without records pass often, and where seldom
def test_which_nodes_pass_is_as_if_each_had_its_noise(threshold: int) -> None:
    """Chi-square of how many of each kind pass: occupied, and empty ones in both halves."""
    assert (
        thresholds.expected_by_chance(growth._SELDOM, threshold=threshold, scale=SCALE) > 1
    ) == (threshold == 3)
    scores = np.repeat([0, threshold - 2, 0, threshold + 2], [4000, 20, 4000, 20])
    runs = 200
    chances = [
        clamped_laplace(int(s), SCALE, threshold - 1, threshold)[1].low / exact.ONE
        for s in scores[[0, 4000, 0, -1]]
    ]

    def p_value() -> float:
        passed = np.zeros(scores.size, dtype=np.int64)
        for _ in range(runs):
            passed += growth.passing(
                scores, threshold=threshold, noise=NOISE, noisy=noise.noisy
            )
        found = []
        for part, chance in zip(np.split(passed, [4000, 4020, 8020]), chances, strict=True):
            number = part.size * runs
            expected = [number * chance, number * (1 - chance)]
            found.append(
                float(stats.chisquare([part.sum(), number - part.sum()], expected).pvalue)
            )
        halves = [
            passed[:2000].sum(),
            passed[2000:4000].sum(),
            passed[4020:6020].sum(),
            passed[6020:8020].sum(),
        ]
        return least([*found, float(stats.chisquare(halves).pvalue)])

    assert fits(p_value)


def test_parts_are_sets_each_as_likely_as_another() -> None:
    def p_value() -> float:
        found = np.sort(draw_distinct(np.full(20_000, 5), 2, uniform=growth.uniform), axis=1)
        sets, times = np.unique(found, axis=0, return_counts=True)
        assert len(sets) == comb(5, 2) and (sets[:, 0] < sets[:, 1]).all()
        return float(stats.chisquare(times).pvalue)

    assert fits(p_value)
    assert draw_distinct(np.array([2, 3]), 3, uniform=growth.uniform).tolist() == [
        [0, 1, 2],
        [0, 1, 2],
    ]


@pytest.mark.parametrize("side_by_side", [0, 256])
@pytest.mark.parametrize(("size", "number"), [(2, 1), (4, 2), (5, 3), (4, 4)])
def test_of_all_numbers_that_chance_may_say_every_set_has_as_many(
    size: int, number: int, side_by_side: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many numbers are drawn node by node, few of many nodes at once: the same law, written out."""
    monkeypatch.setattr(rules, "_SIDE_BY_SIDE", side_by_side)
    tops = range(size - number + 1, size + 1)
    found: Counter[tuple[int, ...]] = Counter()
    for said in itertools.product(*map(range, tops)):
        left = list(said)

        def uniform(bounds: Counts, left: list[int] = left) -> Counts:
            drawn, left[:] = left[: bounds.size], left[bounds.size :]
            assert all(0 <= one < most for one, most in zip(drawn, bounds, strict=True))
            return np.array(drawn, dtype=np.int64)

        (row,) = draw_distinct(np.array([size]), number, uniform=uniform)
        found[tuple(sorted(row.tolist()))] += 1
    assert set(found) == set(itertools.combinations(range(size), number))
    assert len(set(found.values())) == 1


@pytest.mark.parametrize("threshold", [10**6, 10**9])
def test_a_threshold_that_nothing_reaches_is_planned_and_run_at_once(threshold: int) -> None:
    """Powers of so small a chance have as many digits as the threshold, and so many numbers as are set aside
    are not listed where no node has them."""
    domain = Domain(attributes=(Integer(name="x", low=0, high=255, width=1),))
    rows = exact.rows_of(((7,),) * 50, domain)

    def run(threshold: int) -> Answers:
        spec = Spec(
            mechanism="adaptive-improved",
            epsilon=Fraction(1),
            parameters={"threshold": threshold},
        )
        plan = mechanisms.plan(domain, spec)
        return plan.run(open_session(rows, domain=domain, cap=plan.loss))

    run(1_000)  # the first run of a process compiles
    started = time.process_time()
    answers = run(threshold)
    assert time.process_time() - started < 20  # it is a tenth of a second
    assert [one.size for one in answers.growths[0].opened] == [0]


def test_an_enclosure_of_what_is_below_its_last_digit_is_the_one_that_powers_would_give() -> (
    None
):
    for bits in (8, 64):
        for x in (bits + 1, bits + 7, 3 * bits):
            with mpmath.workprec(900):
                assert mpmath.exp(-x) * 2**bits < 1
            assert tails.exp_minus(Fraction(x), bits) == tails.Interval(0, 1, bits)
        assert tails.exp_minus(Fraction(bits), bits).low == 0  # by powers, as is all up to here


@pytest.mark.parametrize("number", [1, 2, 4])
def test_taking_records_away_is_stable(number: int) -> None:
    """Whatever the order in which records are taken: one record more changes what is left by one record at
    most."""
    for order in itertools.permutations(range(5)):
        for size in range(5):
            some = [record for record in order if record < size]
            more = [record for record in order if record < size + 1]
            assert len(set(some[number:]) ^ set(more[number:])) <= 1


# ---- what the room refuses
# ----------------------------------------------------------------------------------------


def session(domain: Domain = DOMAIN, *, epsilon: str = "9") -> RoomSession:
    codes = {name: np.zeros(3, dtype=np.uint16) for name in domain.names}
    ranked = {a.name: (np.zeros(3, dtype=np.int32), [0]) for a in domain.undeclared}
    return open_session(
        Rows(codes, domain=domain, ranked=ranked),
        domain=domain,
        cap=Pure(epsilon=Fraction(epsilon)),
    )


def test_a_discount_below_its_bound_is_refused_and_costs_nothing() -> None:
    room = session()
    with pytest.raises(PrivacyError):
        room.grow(("x",), rule=replace(IMPROVED, discount=IMPROVED.discount - 1), noise=NOISE)
    with pytest.raises(PrivacyError):
        room.grow(("x",), rule=IMPROVED, noise=replace(NOISE, law="discrete-gaussian"))
    with pytest.raises(PrivacyError):
        room.grow(("x",), rule=replace(IMPROVED, depth=4), noise=NOISE)
    assert room.calls == ()


def test_a_tree_over_the_cap_is_refused_before_rows_are_looked_at() -> None:
    with pytest.raises(BudgetExceeded):
        session(epsilon="1/2").grow(("x",), rule=IMPROVED, noise=NOISE)


def test_columns_that_make_no_hierarchy_are_refused_by_name() -> None:
    domain = Domain(attributes=(Integer(name="x", low=0, high=7, width=1, missing=("",)),))
    with pytest.raises(DomainError, match="may be missing"):
        session(domain).grow(("x",), rule=BASIC, noise=NOISE)


def test_texts_grow_sign_by_sign_and_end() -> None:
    values = from_json({"set": "strings", "alphabet": "ab", "min_length": 1, "max_length": 3})
    domain = Domain(attributes=(Weak(name="word", values=values),))
    ranks = [values.rank(text) for text in ("a", "ab", "abb")] + [values.size]
    places = np.repeat(np.arange(4, dtype=np.int32), [500, 400, 300, 200])
    rows = Rows(
        {"word": np.zeros(1400, dtype=np.uint16)},
        domain=domain,
        ranked={"word": (places, ranks)},
    )
    room = open_session(rows, domain=domain, cap=Pure(epsilon=Fraction(9)))
    sharp = Noise(law="discrete-laplace", scale=Fraction(1))
    found = room.grow(("word",), rule=Rule(name="basic", depth=3, threshold=100), noise=sharp)
    # a, b; then end, a, b of "a"; then the same of "ab": 1,200 and 0, 500 and 0 and 700, 400 and 0 and 300
    truth = [[1200, 0], [500, 0, 700], [400, 0, 300]]
    assert all(
        np.abs(np.subtract(a, b)).max() < 60 for a, b in zip(found.counts, truth, strict=True)
    )
    assert [one.tolist() for one in found.opened] == [[0], [2], []]


# ---- price, receipt and answers
# -----------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", ["1/8", "1/2", "1", "10", "1000"])
@pytest.mark.parametrize("branching", [2, 16, 39])
def test_two_ways_to_the_loss_agree_and_stay_below_twice_epsilon(
    scale: str, branching: int
) -> None:
    spread = Fraction(scale)
    threshold = trees.least_threshold(scale=spread, branching=branching)
    discount = trees.least_discount(scale=spread, threshold=threshold)
    found = trees.loss(scale=spread, threshold=threshold, discount=discount)
    assert found == verifier_trees.tree_epsilon(spread, threshold=threshold, discount=discount)
    assert 1 / spread <= found <= 2 / spread
    decay = trees.least_decay(scale=spread, branching=branching)
    found = trees.loss(scale=spread, threshold=decay, discount=decay)
    assert found == verifier_trees.tree_epsilon(spread, threshold=decay, discount=decay)
    assert found <= Fraction(2 * branching - 1, branching - 1) / spread


@pytest.mark.parametrize(
    ("scale", "threshold", "least"), [("1", 3, 4), ("10", 28, 35), ("2", 1, 2)]
)
def test_the_least_discount_is_the_known_one(scale: str, threshold: int, least: int) -> None:
    assert trees.least_discount(scale=Fraction(scale), threshold=threshold) == least


def line(
    rule: Rule, *, m: int = 1, relation: Relation = Relation.ADD_REMOVE
) -> tuple[dict, verifier_calls.Allowed, Call]:
    domain = replace(DOMAIN, unit=PrivacyUnit(max_records=m), relation=relation)
    room = session(domain, epsilon="90")
    room.grow(("x",), rule=rule, noise=NOISE)
    unit = {"max_records": m, "column": None}
    receipt = {"unit": unit, "relation": relation.value, "invariants": []}
    call = room.calls[0]
    return (
        call_to_json(call.query.to_json(), call.event),
        verifier_calls.allowed_by(receipt),
        call,
    )


@pytest.mark.parametrize("rule", [BASIC, IMPROVED, PRIVTREE], ids=lambda rule: rule.name)
@pytest.mark.parametrize(
    ("m", "relation"), [(1, "add-remove"), (3, "add-remove"), (2, "replace-one")]
)
def test_the_verifier_finds_the_same_price(rule: Rule, m: int, relation: str) -> None:
    written, allowed, call = line(rule, m=m, relation=Relation(relation))
    cost = verifier_calls.cost_of(written, 1, allowed)
    one = DEPTH / SCALE if rule.name == "basic" else opened_loss(rule)
    assert (
        cost.epsilon
        == call.event.pure_epsilon()
        == one * m * (2 if relation == "replace-one" else 1)
    )
    assert (cost.rho, cost.mu_squared) == (call.event.rho(), call.event.mu_squared())
    assert Call.from_json(call.to_json()) == call


@pytest.mark.parametrize(
    ("part", "changes"),
    [
        ("query", {"grown": {"rule": "other", "depth": 3, "threshold": 1, "discount": 2}}),
        ("query", {"grown": {"rule": "improved", "depth": 2, "threshold": 1, "discount": 2}}),
        ("query", {"grown": {"rule": "improved", "depth": 3, "threshold": 1}}),
        ("query", {"grown": {"rule": "improved", "depth": 3, "threshold": 2, "discount": 2}}),
        ("query", {"grown": {"rule": "improved", "depth": 3, "threshold": 1, "discount": 3}}),
        ("query", {"grown": {"rule": "privtree", "depth": 3, "threshold": 1, "discount": 2}}),
        ("query", {"grown": {"rule": "privtree", "depth": 3, "threshold": 0, "discount": 2}}),
        ("query", {"grown": {"rule": "basic", "depth": 3, "threshold": 1}}),
        ("query", {"branching": [2, 2, 3]}),
        ("query", {"cells": 4}),
        ("query", {"clique": []}),
        ("noise", {"discount": 1}),
        ("noise", {"threshold": 0}),
        ("noise", {"scale": "3/1"}),
        ("noise", {"law": "discrete-laplace"}),
        ("sensitivity", {"l1": 2}),
        ("cost", {"epsilon": "1/2"}),
    ],
)
def test_the_verifier_refuses_a_tree_that_does_not_add_up(part: str, changes: dict) -> None:
    written, allowed, _ = line(IMPROVED)
    verifier_calls.cost_of(written, 1, allowed)
    with pytest.raises(VerificationError):
        verifier_calls.cost_of(written | {part: written[part] | changes}, 1, allowed)


def test_answers_with_trees_are_kept_as_they_are(tmp_path) -> None:
    room = session(epsilon="90")
    trees_ = tuple(
        room.grow(("x",), rule=rule, noise=NOISE) for rule in (BASIC, IMPROVED, PRIVTREE)
    )
    answers = room.answers
    answers.save(tmp_path / "answers.npz")
    again = Answers.load(tmp_path / "answers.npz")
    assert again.digest == answers.digest and again.calls == answers.calls
    for one, other in zip(again.growths, trees_, strict=True):
        assert one.rule == other.rule
        assert [a.tolist() for a in (*one.opened, *one.counts)] == [
            a.tolist() for a in (*other.opened, *other.counts)
        ]
    changed = replace(trees_[1], opened=(trees_[1].opened[0] + 1, *trees_[1].opened[1:]))
    if trees_[1].opened[0].size:
        assert (
            replaced(answers, Growth, (trees_[0], changed, trees_[2])).digest != answers.digest
        )
