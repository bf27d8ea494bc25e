"""Exact laws of tiny runs: every branch of the real code replayed with a rigorous enclosure of its
probability.

Probabilities are intervals in multiples of 2⁻²⁵⁶, rounded outwards at every step, so that a comparison that
passes is proven. Released counts are clamped to a public range [low, high]; for discrete Laplace noise that
loses nothing, because below the smallest and above the largest possible count the ratio of two laws is
constant.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from math import factorial, inf, prod

import mpmath
import numpy as np

from synth_engine.domain import Attribute, Domain, Integer, Scale, Weak
from synth_engine.measurement import Counts, Noise
from synth_engine.plans.plan import Plan
from synth_engine.privacy.loss import Loss
from synth_engine.privacy.unit import PrivacyUnit, Relation
from synth_engine.room.rows import Rows
from synth_engine.room.selection import SelectionLaw
from synth_engine.room.session import RoomSession, open_session

BITS = 256
ONE = 1 << BITS
iv = mpmath.iv
iv.prec = 400

SLACK = Fraction(1, 2**150)
"""Beyond what rounding adds where a run uses up its claim to the last; far below any defect."""

Record = tuple[int, ...]
Table = tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class Interval:
    low: int
    high: int

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)

    def __mul__(self, other: Interval) -> Interval:
        return Interval(self.low * other.low >> BITS, -(-self.high * other.high >> BITS))


ZERO, CERTAIN = Interval(0, 0), Interval(ONE, ONE)
Law = dict[Hashable, Interval]


def enclose(value: mpmath.ctx_iv.ivmpf) -> Interval:
    with mpmath.workprec(900):
        low, high = mpmath.mpf(value.a) * ONE, mpmath.mpf(value.b) * ONE
        return Interval(max(0, int(mpmath.floor(low))), int(mpmath.ceil(high)))


def ratio_iv(value: Fraction) -> mpmath.ctx_iv.ivmpf:
    return iv.mpf(value.numerator) / iv.mpf(value.denominator)


# ---- the laws
# -------------------------------------------------------------------------------------------------


@cache
def clamped_laplace(count: int, scale: Fraction, low: int, high: int) -> tuple[Interval, ...]:
    """The law of clamp(count + discrete Laplace, low, high)."""
    q = iv.exp(-1 / ratio_iv(scale))

    def at_least(k: int) -> mpmath.ctx_iv.ivmpf:
        return q**k / (1 + q) if k >= 1 else 1 - q ** (1 - k) / (1 + q)

    inner = [(1 - q) / (1 + q) * q ** abs(v - count) for v in range(low + 1, high)]
    return tuple(enclose(p) for p in (at_least(count - low), *inner, at_least(high - count)))


@cache
def selection_law(
    scores: tuple[int, ...], scale: Fraction, law: SelectionLaw
) -> tuple[Interval, ...]:
    """Permute-and-flip by summing over who comes earlier; Gumbel noise as the exponential mechanism."""
    top = max(scores)
    keep = [iv.exp(ratio_iv(Fraction(score - top) / scale)) for score in scores]
    if law == "gumbel":
        return tuple(enclose(p / sum(keep)) for p in keep)
    n = len(scores)
    chances = []
    for i in range(n):
        others = [j for j in range(n) if j != i]
        total = iv.mpf(0)
        for size in range(n):
            orders = iv.mpf(factorial(size) * factorial(n - 1 - size)) / factorial(n)
            for earlier in itertools.combinations(others, size):
                total += orders * prod((1 - keep[j] for j in earlier), start=iv.mpf(1))
        chances.append(enclose(keep[i] * total))
    return tuple(chances)


# ---- replaying every branch
# -----------------------------------------------------------------------------------


class Replay:
    """A sampler that follows a script of branches, takes the first branch after its end, and notes the
    others."""

    def __init__(self, script: tuple[int, ...], *, low: int, high: int) -> None:
        self.low, self.high = low, high
        self.script, self.taken = script, ()
        self.open: list[tuple[int, ...]] = []
        self.probability = CERTAIN

    def branch(self, chances: tuple[Interval, ...]) -> int:
        place = len(self.taken)
        if place < len(self.script):
            index = self.script[place]
        else:
            possible = [i for i, chance in enumerate(chances) if chance.high > 0]
            index = possible[0]
            self.open += [(*self.taken, i) for i in possible[1:]]
        self.taken = (*self.taken, index)
        self.probability *= chances[index]
        return index

    def counts(self, vector: Counts, noise: Noise) -> Counts:
        return np.array([self.cell(int(count), noise) for count in vector], dtype=np.int64)

    def cell(self, count: int, noise: Noise) -> int:
        assert noise.law == "discrete-laplace"
        return self.low + self.branch(clamped_laplace(count, noise.scale, self.low, self.high))

    def choose(self, scores: Counts, *, scale: Fraction, law: SelectionLaw) -> int:
        return self.branch(selection_law(tuple(scores.tolist()), scale, law))

    def discover(
        self, tally: dict[int, int], *, size: int, threshold: int, noise: Noise
    ) -> list[tuple[int, int]]:
        """Noise on every value of the set, written down: the law that `discovery` has without doing so, which
        is shown in `test_law_of_discovery`."""
        found = [
            (rank, self.reaching(tally.get(rank, 0), threshold=threshold, noise=noise))
            for rank in range(size)
        ]
        return [(rank, count) for rank, count in found if count >= threshold]

    def reaching(self, count: int, *, threshold: int, noise: Noise) -> int:
        """A noisy count; those below the threshold are not told apart, and neither are high ones."""
        low, high = threshold - 1, max(threshold + 1, self.high)
        return low + self.branch(clamped_laplace(count, noise.scale, low, high))

    def passing(self, scores: Counts, *, threshold: int, noise: Noise) -> np.ndarray:
        """Every node by itself, whoever is in it."""
        return np.array(
            [self.passes(int(score), threshold, noise) for score in scores], dtype=np.bool_
        )

    def passes(self, score: int, threshold: int, noise: Noise) -> bool:
        return bool(self.branch(clamped_laplace(score, noise.scale, threshold - 1, threshold)))

    def above_threshold(self, vector: Counts, *, threshold: int, noise: Noise) -> Counts:
        """Noise on every cell, written down; what does not reach the threshold is 0."""
        found = np.array(
            [self.reaching(int(n), threshold=threshold, noise=noise) for n in vector],
            dtype=np.int64,
        )
        return np.where(found >= threshold, found, 0)

    def part(self, sizes: Counts, number: int) -> Counts:
        """Each set of so many numbers below a size, as likely as another."""
        return np.array(
            [self.subset(int(size), number) for size in sizes], dtype=np.int64
        ).reshape(len(sizes), number)

    def subset(self, size: int, number: int) -> tuple[int, ...]:
        if size <= number:
            return tuple(range(number))
        sets = list(itertools.combinations(range(size), number))
        return sets[self.branch((enclose(iv.mpf(1) / len(sets)),) * len(sets))]


Program = Callable[[RoomSession, Rows], Hashable]


def law_of(
    program: Program,
    table: Table,
    *,
    domain: Domain,
    cap: Loss,
    high: int,
    sampler: type[Replay] = Replay,
) -> Law:
    """The exact law of what the program returns on one table, by replaying all of its branches."""
    return law_on(program, rows_of(table, domain), cap=cap, high=high, sampler=sampler)


def law_on(
    program: Program, rows: Rows, *, cap: Loss, high: int, sampler: type[Replay] = Replay
) -> Law:
    """The same of rows that were opened already."""

    def run(replay: Replay) -> Hashable:
        return program(open_session(rows, domain=rows.domain, cap=cap, sampler=replay), rows)

    return law_of_branches(run, high=high, sampler=sampler)


def law_of_branches(
    run: Callable[[Replay], Hashable], *, high: int, sampler: type[Replay] = Replay
) -> Law:
    """The law of what is returned by a run that may open several sessions with one sampler."""
    law: Law = {}
    scripts: list[tuple[int, ...]] = [()]
    while scripts:
        replay = sampler(scripts.pop(), low=0, high=high)
        outcome = run(replay)
        law[outcome] = law.get(outcome, ZERO) + replay.probability
        scripts += replay.open
    total = sum(law.values(), ZERO)
    assert total.low <= ONE <= total.high, "the branches must add up to certainty"
    return law


def rows_of(table: Table, domain: Domain) -> Rows:
    """Of a weak column a record has the number of its value within the public set; of one on a lattice a
    position, or the number of positions if it has no value."""
    values = np.array(table, dtype=np.int32).reshape(len(table), len(domain.names))
    codes = {name: values[:, i].astype(np.uint16) for i, name in enumerate(domain.names)}
    ranked, positions = {}, {}
    for attribute in domain.undeclared:
        if isinstance(attribute, Scale):
            column = values[:, domain.names.index(attribute.name)]
            missing = column == attribute.lattice.count
            positions[attribute.name] = (
                np.where(missing, 0, column).astype(np.uint64),
                missing,
            )
            codes[attribute.name] = missing.astype(np.uint16)
        if isinstance(attribute, Weak):
            place = domain.names.index(attribute.name)
            ranked[attribute.name] = (values[:, place], list(range(attribute.population)))
            codes[attribute.name] = np.zeros(len(table), dtype=np.uint16)
    return Rows(codes, domain=domain, ranked=ranked, positions=positions)


# ---- tables and neighbours
# ------------------------------------------------------------------------------------


def domain_of(
    *sizes: int, relation: Relation = Relation.ADD_REMOVE, max_records: int = 1
) -> Domain:
    """Up to five columns, a to e, of so many codes each."""
    attributes = tuple(
        Integer(name=name, low=0, high=size - 1)
        for name, size in zip("abcde", sizes, strict=False)
    )
    return Domain(
        attributes=attributes, relation=relation, unit=PrivacyUnit(max_records=max_records)
    )


def records_of(domain: Domain) -> list[Record]:
    return list(itertools.product(*(range(_values_of(a)) for a in domain.modelled)))


def _values_of(attribute: Attribute) -> int:
    """How many values a record may have of an attribute, a missing one among them."""
    if isinstance(attribute, Weak):
        return attribute.population
    if isinstance(attribute, Scale):
        return attribute.lattice.count + (attribute.missing is not None)
    return attribute.size


def tables(domain: Domain, *, most: int) -> Iterator[Table]:
    records = records_of(domain)
    for size in range(most + 1):
        yield from itertools.combinations_with_replacement(records, size)


def pairs_of(domain: Domain, *, most: int) -> Iterator[tuple[Table, Table]]:
    """All neighbours of up to `most` records, by the relation and the unit of the domain."""
    if domain.relation is Relation.REPLACE_ONE:
        return replace_one_pairs(domain, most=most)
    return add_remove_pairs(domain, most=most, units=domain.unit.max_records)


def add_remove_pairs(
    domain: Domain, *, most: int, units: int = 1
) -> Iterator[tuple[Table, Table]]:
    """All pairs of which one has from 1 to `units` records more, both ways round."""
    records = records_of(domain)
    for table in tables(domain, most=most - 1):
        for more in range(1, min(units, most - len(table)) + 1):
            for added in itertools.combinations_with_replacement(records, more):
                larger = tuple(sorted((*table, *added)))
                yield table, larger
                yield larger, table


def replace_one_pairs(domain: Domain, *, most: int) -> Iterator[tuple[Table, Table]]:
    """All pairs of the same size of which one record differs, both ways round."""
    for table in tables(domain, most=most):
        for other in tables(domain, most=most):
            if len(other) == len(table) and _differences(table, other) == 1:
                yield table, other


def _differences(table: Table, other: Table) -> int:
    rest = list(other)
    for record in table:
        if record in rest:
            rest.remove(record)
    return len(rest)


# ---- comparing laws
# -------------------------------------------------------------------------------------------


def worst_ratio(
    laws: dict[Table, Law], pairs: Iterator[tuple[Table, Table]]
) -> tuple[Fraction | float, int]:
    """An upper bound of the largest P(outcome | x) / P(outcome | y) over all pairs and outcomes, and how many
    pairs were compared. Infinite where an outcome is possible for x alone."""
    worst: Fraction | float = Fraction(0)
    compared = 0
    for x, y in pairs:
        compared += 1
        for outcome, p in laws[x].items():
            q = laws[y].get(outcome, ZERO)
            if p.high > 0:
                worst = max(worst, inf if q.low == 0 else Fraction(p.high, q.low))
    return worst, compared


def worst_epsilon(ratio: Fraction | float) -> float:
    return (
        inf
        if ratio == inf
        else float(mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator))
    )


def proves(ratio: Fraction | float, *, epsilon: Fraction) -> bool:
    """Whether ratio <= exp(epsilon), beyond doubt."""
    if ratio == inf:
        return False
    return bool((ratio_iv(Fraction(ratio)) - iv.exp(ratio_iv(epsilon))).b <= 0)


def largest_ratio(
    program: Program, domain: Domain, *, cap: Loss, most: int, high: int | None = None,
    sampler: type[Replay] = Replay, pairs: Sequence[tuple[Table, Table]] | None = None,
) -> Fraction | float:  # fmt: skip
    """`worst_ratio` of a program over these pairs, or over all neighbours of up to `most` records. high:
    where released counts are clamped, by default at the largest possible count."""
    compared = list(pairs or pairs_of(domain, most=most))
    assert len(compared) > 1, "nothing is shown by comparing nothing"
    laws = {
        table: law_of(
            program,
            table,
            domain=domain,
            cap=cap,
            high=most if high is None else high,
            sampler=sampler,
        )
        for table in {table for pair in compared for table in pair}
    }
    return worst_ratio(laws, iter(compared))[0]


def loss_of_run(
    program: Program, plan: Plan, *, most: int, sampler: type[Replay] = Replay
) -> float:
    """The largest loss of all answers of a run, over all neighbours of up to `most` records; proven not to be
    above the claim of its plan, or infinite."""
    ratio = largest_ratio(program, plan.domain, cap=plan.loss, most=most, sampler=sampler)
    return loss_within(ratio, claim=plan.epsilon)


def loss_within(ratio: Fraction | float, *, claim: Fraction) -> float:
    """The loss of a ratio; infinite where it is not proven to be within the claim, up to SLACK."""
    return worst_epsilon(ratio) if proves(ratio, epsilon=claim + SLACK) else inf


# ---- mutants: defects that must be noticed
# --------------------------------------------------------------------


class HalvedScale(Replay):
    def cell(self, count: int, noise: Noise) -> int:
        return super().cell(count, replace(noise, scale=noise.scale / 2))

    def choose(self, scores: Counts, *, scale: Fraction, law: SelectionLaw) -> int:
        return super().choose(scores, scale=scale / 2, law=law)


class ActiveDomain(Replay):
    def cell(self, count: int, noise: Noise) -> int:
        return super().cell(count, noise) if count else 0


class TruncatedNoise(Replay):
    """Noise cut to -1, 0 and 1 instead of outputs clamped."""

    def cell(self, count: int, noise: Noise) -> int:
        q = iv.exp(-1 / ratio_iv(noise.scale))
        chances = tuple(enclose(p / (1 + 2 * q)) for p in (q, iv.mpf(1), q))
        return count - 1 + self.branch(chances)


class FrequencyScale(Replay):
    """The scale that fits frequencies, added to counts."""

    def counts(self, vector: Counts, noise: Noise) -> Counts:
        n = max(1, int(vector.sum()))
        scale = Fraction(float(noise.scale / n))
        return super().counts(vector, replace(noise, scale=scale))


class ReusedNoise(Replay):
    """The noise of the first table is added to the second one again."""

    first: list[int] | None = None
    window = 6

    def counts(self, vector: Counts, noise: Noise) -> Counts:
        if self.first is None:
            law = clamped_laplace(0, noise.scale, -self.window, self.window)
            self.first = [self.branch(law) - self.window for _ in vector]
        return vector + np.array(self.first, dtype=np.int64)


class ArgMax(Replay):
    def choose(self, scores: Counts, *, scale: Fraction, law: SelectionLaw) -> int:
        return int(np.argmax(scores))
