"""Learning of undeclared columns before the mechanism proper: the categories of weak columns,
bounds and bins of wide ranges, and which items of baskets get a column.

Noise and thresholds follow from public facts and a share of the budget. What is made of the
answers is post-processing."""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from synth_engine.domain import (
    MAX_CODES,
    Attribute,
    Domain,
    NotFound,
    Range,
    Scale,
    Undeclared,
    Weak,
    WeakBasket,
)
from synth_engine.errors import SpecError
from synth_engine.inference import oneway
from synth_engine.inference.clear_runs import MIN_VARIANCE, log_chance_each, log_tail
from synth_engine.inference.error_forecast import LearnedColumn
from synth_engine.measurement import (
    Call,
    Counts,
    Discovery,
    Measurement,
    Noise,
    Query,
    Session,
)
from synth_engine.measurement.replay import Replay
from synth_engine.plans import budget_allocation, scale_learning
from synth_engine.plans.plan import Budget
from synth_engine.plans.scale_learning import IntervalRounds
from synth_engine.privacy import thresholds
from synth_engine.privacy.events import Event
from synth_engine.privacy.filter import price
from synth_engine.privacy.unit import Sensitivity, items_sensitivity

Answer = Discovery | Measurement

FIRST_SHARE, FURTHER_SHARE, MAX_SHARE = Fraction(10, 100), Fraction(5, 100), Fraction(30, 100)
"""Shares of the budget for the first undeclared column, for each further one, and for all of
them at most."""
FIRST_SCALE_SHARE, FURTHER_SCALE_SHARE, MAX_SCALE_SHARE = (
    Fraction(6, 100),
    Fraction(3, 100),
    Fraction(25, 100),
)
"""The same for columns on a lattice, whose bins are counted again by the mechanism (bench/values.py)."""
MAX_LEARNING_SHARE = Fraction(60, 100)
"""Share of the budget for learning at most, if no column on a lattice is found for its part: the mechanism
has the rest."""
MOST_OF_A_SCALE = Fraction(4)
"""What such a column may cost at most, as a multiple of its part."""
CUT_TAIL = 0.0005
"""Share of the records at either end of a range that is left to the outermost bins."""
SPLIT_DEVIATIONS = 4.0
"""Standard deviations of a count: bins that would hold less are not split."""
RUN_DEVIATIONS, CELL_DEVIATIONS = 5.0, 5.0
"""Standard deviations, of the sum of a run and of a single count besides, beyond which a run holds records:
among some thousand runs chance goes that far less than once in a hundred tables."""
MIN_SPREAD = 0.5
"""Noise of a smaller spread is mostly 0 and sometimes 1, which a normal tail does not foresee."""
FALSE_ITEMS = 5e-5
"""The chance at most that noise alone is taken for an item that baskets have."""
EXPECTED_CATEGORIES = 15
"""Categories that a forecast assumes where they are not known."""


def share(domain: Domain) -> Fraction:
    """Returns the share of the budget that learning all undeclared columns may cost."""
    return sum(shares(domain).values(), Fraction(0))


def scale_share(columns: int) -> Fraction:
    """Returns the share of the budget that learning one column on a lattice costs, of so many."""
    whole = min(MAX_SCALE_SHARE, FIRST_SCALE_SHARE + FURTHER_SCALE_SHARE * (columns - 1))
    return whole / columns


def text_share(columns: int) -> Fraction:
    """Returns the share of the budget that finding the values of one column of texts costs, of so many."""
    return min(MAX_SHARE, FIRST_SHARE + FURTHER_SHARE * (columns - 1)) / columns


def shares(domain: Domain) -> dict[str, Fraction]:
    """Returns the share of the budget that learning each undeclared column costs."""
    return shares_of(domain.undeclared)


def shares_of(attributes: Sequence[Undeclared]) -> dict[str, Fraction]:
    """The same where these columns alone are learned: columns on a lattice have equal parts of one share, all
    others of another one."""
    scales = [a.name for a in attributes if isinstance(a, Scale)]
    others = [a.name for a in attributes if not isinstance(a, Scale)]
    parts: dict[str, Fraction] = {}
    for names, first, further, most in (
        (scales, FIRST_SCALE_SHARE, FURTHER_SCALE_SHARE, MAX_SCALE_SHARE),
        (others, FIRST_SHARE, FURTHER_SHARE, MAX_SHARE),
    ):
        whole = min(most, first + further * (len(names) - 1))
        parts |= {name: whole / len(names) for name in names}
    return parts


def most_of_a_scale(domain: Domain) -> Fraction:
    """What a column on a lattice may cost that is not found for its part, as a multiple of it."""
    parts = shares(domain)
    scales = [a.name for a in domain.undeclared if isinstance(a, Scale)]
    of_scales = sum((parts[name] for name in scales), Fraction(0))
    others = sum(parts.values(), Fraction(0)) - of_scales
    if not scales:
        return Fraction(1)
    return max(Fraction(1), min(MOST_OF_A_SCALE, (MAX_LEARNING_SHARE - others) / of_scales))


@dataclass(frozen=True, kw_only=True)
class LearningQuestion:
    """The question by which one undeclared column is learned."""

    attribute: Undeclared
    noise: Noise
    threshold: int | None = None

    @property
    def query(self) -> Query:
        if isinstance(self.attribute, Weak):
            size = self.attribute.population
            return Query(
                verb="discover",
                clique=(self.attribute.name,),
                cells=size,
                threshold=self.threshold,
            )
        if isinstance(self.attribute, WeakBasket):
            return Query(
                verb="items", clique=(self.attribute.name,), cells=self.attribute.values.size
            )
        return Query(verb="measure", clique=(self.attribute.name,), cells=self.attribute.size)

    def call(self, sensitivity: Sensitivity) -> Call:
        return Call(query=self.query, event=self.event(sensitivity))

    def event(self, sensitivity: Sensitivity) -> Event:
        """Returns the event that is charged. sensitivity: of a table of counts."""
        return self.noise.event(_moving(self.attribute, sensitivity))

    def ask(self, session: Session) -> Answer:
        if self.threshold is not None:
            return session.discover(
                self.attribute.name, noise=self.noise, threshold=self.threshold
            )
        if isinstance(self.attribute, WeakBasket):
            return session.items(self.attribute.name, noise=self.noise)
        return session.measure((self.attribute.name,), noise=self.noise)

    def cost(self, cap: Budget, sensitivity: Sensitivity) -> Fraction:
        """Returns what the question costs, in the unit of the cap."""
        return price(self.event(sensitivity), cap)

    @property
    def further_cost(self) -> Fraction:
        """What it may cost beyond its part of the budget: it is asked once, whatever comes out."""
        return Fraction(0)

    def described(self) -> LearnedColumn:
        return LearnedColumn(cells=self.query.cells, threshold=self.threshold)

    def take(self, given: Replay) -> Answer:
        """The stored answer to this question. Errors: InputError."""
        if self.threshold is None:
            return given.next(Measurement, self.is_answered_by)
        return given.next(Discovery, self.is_answered_by)

    def is_answered_by(self, answer: Answer) -> bool:
        if isinstance(answer, Discovery):
            return (answer.attribute, answer.threshold) == (self.attribute.name, self.threshold)
        return self.threshold is None and answer.clique == (self.attribute.name,)


AnyQuestion = LearningQuestion | IntervalRounds
AnyAnswer = Answer | tuple[Measurement, ...]
"""The answer to a question, or all answers in turn where a column is learned in rounds."""


def question(
    attribute: Undeclared,
    budget: Budget,
    sensitivity: Sensitivity,
    *,
    most: Fraction = Fraction(1),
) -> AnyQuestion:
    """Makes the question with noise that costs the budget, and the least threshold that meets the column's
    rho. most: as a multiple of the budget, what a column on a lattice may cost that is not found for it."""
    if isinstance(attribute, Scale):
        scale = IntervalRounds(
            attribute=attribute, budget=budget, sensitivity=sensitivity, most=most
        )
        scale.require_noise()
        return scale
    noise = budget_allocation.noise(
        budget, _moving(attribute, sensitivity), laplace=isinstance(attribute, Weak)
    )
    return LearningQuestion(
        attribute=attribute, noise=noise, threshold=threshold(attribute, noise)
    )


def _moving(attribute: Undeclared, sensitivity: Sensitivity) -> Sensitivity:
    return items_sensitivity(sensitivity) if isinstance(attribute, WeakBasket) else sensitivity


def threshold(attribute: Undeclared, noise: Noise) -> int | None:
    """Returns the threshold of a weak column; None for a range. Errors: SpecError for a rho so
    small that noise would be published."""
    if not isinstance(attribute, Weak):
        return None
    threshold_ = thresholds.threshold(
        attribute.population, rho=attribute.rho, scale=noise.scale
    )
    if (
        thresholds.expected_by_chance(
            attribute.population, threshold=threshold_, scale=noise.scale
        )
        > thresholds.MAX_BY_CHANCE
    ):
        raise SpecError(
            f"rho of a column is so small that more than {thresholds.MAX_BY_CHANCE} values come out by "
            "chance",
            repair="give a rho such as 0.9",
        )
    return threshold_


def learn_attributes(
    questions: Sequence[AnyQuestion], answers: Sequence[AnyAnswer], *, most: int = MAX_CODES
) -> dict[str, Attribute]:
    """Returns the attributes that the answers make of the undeclared ones, with so many values found
    at most; `NotFound` for a column of which they say nothing."""
    return {
        question_.attribute.name: _resolved(question_, answer, most=most)
        for question_, answer in zip(questions, answers, strict=True)
    }


def not_found(
    questions: Sequence[AnyQuestion], answers: Sequence[AnyAnswer]
) -> tuple[str, ...]:
    """Returns the columns of which the answers say nothing."""
    learned = learn_attributes(questions, answers)
    return tuple(
        question_.attribute.name
        for question_, answer in zip(questions, answers, strict=True)
        if not learned[question_.attribute.name].is_found or _is_noise(question_, answer)
    )


def _is_noise(question_: AnyQuestion, answer: AnyAnswer) -> bool:
    """Whether no item of a basket was counted clearly more often than noise is, so that noise chose its
    items."""
    if not isinstance(question_.attribute, WeakBasket) or not isinstance(answer, Measurement):
        return False
    values = answer.values.astype(np.float64)
    variances = np.full(values.size, max(answer.noise.variance, MIN_VARIANCE))
    chances = log_tail(
        values,
        variances,
        largest=variances,
        laplace=answer.noise.law == "discrete-laplace",
    )
    return bool((chances > log_chance_each(FALSE_ITEMS, runs=values.size)).all())


def paid_further(questions: Sequence[AnyQuestion], answers: Sequence[AnyAnswer]) -> Fraction:
    """Returns what the answers cost beyond the columns' parts of the budget, in its unit."""
    return sum(
        (
            question_.paid(answer) - question_.budget.amount
            for question_, answer in zip(questions, answers, strict=True)
            if isinstance(question_, IntervalRounds) and isinstance(answer, tuple)
        ),
        Fraction(0),
    )


def resolved_domain(
    domain: Domain, learned: Mapping[str, Attribute], *, counted: bool = False
) -> Domain:
    """Returns the domain with what was learned. Of a table of which nothing was found and nothing declared,
    the first column is counted all the same, so that a method has records to count. counted: each column that
    was not found is."""
    declared = any(a.parts for a in domain.attributes if not isinstance(a, Undeclared))
    alone = not declared and not any(a.parts for a in learned.values())
    with_a_code = {
        a.name: NotFound.of(a, counted=True)
        for number, a in enumerate(domain.undeclared)
        if isinstance(learned[a.name], NotFound) and (counted or (alone and not number))
    }
    return domain.resolve({**learned, **with_a_code})


def _resolved(question_: AnyQuestion, answer: AnyAnswer, *, most: int) -> Attribute:
    if isinstance(question_, IntervalRounds) and isinstance(answer, tuple):
        return question_.resolve(answer, most=most)
    if isinstance(question_, IntervalRounds) or isinstance(answer, tuple):
        raise TypeError("a column that is learned in rounds has an answer for each")
    return resolve(question_.attribute, answer, most=most)


def resolve(attribute: Undeclared, answer: Answer, *, most: int = MAX_CODES) -> Attribute:
    """Returns the attribute that a noisy answer makes of an undeclared one; of the values
    found, or of items, the most frequent ones."""
    if isinstance(attribute, Weak) and isinstance(answer, Discovery):
        # Ties go by rank, so that the same answers always give the same domain.
        frequent = sorted(answer.ranked_counts, key=lambda pair: (-pair[1], pair[0]))
        return attribute.from_ranks([rank for rank, _ in frequent[:most]])
    if isinstance(attribute, WeakBasket) and isinstance(answer, Measurement):
        return attribute.from_ranks(
            np.argsort(-answer.values, kind="stable")[: min(attribute.keep, most)].tolist()
        )
    if isinstance(attribute, Range) and isinstance(answer, Measurement):
        edges = bin_edges(
            answer.values,
            noise=answer.noise,
            along=attribute.value_count,
            bins=attribute.bins,
        )
        return NotFound.of(attribute) if edges is None else attribute.cut(edges)
    raise TypeError("a column is learned from an answer of its own kind")


def expected_domain(domain: Domain) -> Domain:
    """A domain as it may become, for forecasts: a few categories, and bins of equal width."""
    guesses: dict[str, Attribute] = {}
    for attribute in domain.undeclared:
        if isinstance(attribute, Weak):
            guesses[attribute.name] = attribute.from_ranks(
                range(min(EXPECTED_CATEGORIES, attribute.values.size))
            )
        elif isinstance(attribute, WeakBasket):
            guesses[attribute.name] = attribute.from_ranks(range(attribute.keep))
        elif isinstance(attribute, Scale):
            guesses[attribute.name] = scale_learning.even_bins(
                attribute, scale_learning.MAX_BINS
            )
        elif isinstance(attribute, Range):
            cells = attribute.value_count
            even = {cells * i // attribute.bins for i in range(attribute.bins + 1)}
            guesses[attribute.name] = attribute.cut(sorted(even))
    return domain.resolve(guesses)


def bin_edges(values: Counts, *, noise: Noise, along: int, bins: int) -> list[int] | None:
    """Cells of a grid at which bins begin, and the end of the last; None where no cells hold clearly more
    than noise. The first `along` codes are the cells of the grid.

    Ends that hold next to nothing are cut off. Then the bin with the most records is split near its median,
    over and over; a cell with many records becomes a bin of its own on the way.
    """
    spread = max(math.sqrt(noise.variance), MIN_SPREAD)
    grid = values[:along].astype(np.float64)
    first, last = _extent(grid, spread=spread)
    counts = oneway.denoise(values, noise=noise, total=max(0, int(values.sum())), along=along)[
        :along
    ]
    # All of this is post-processing of one noisy histogram: how often bins are split costs
    # nothing.
    reached = np.append(0.0, np.cumsum(counts))
    if first >= last or reached[-1] <= 0:  # nothing to go by
        return None
    tail = CUT_TAIL * reached[-1]
    first = min(max(first, int(np.searchsorted(reached, tail, side="right")) - 1), along - 1)
    last = max(
        first + 1, min(last, int(np.searchsorted(reached, reached[-1] - tail, side="left")))
    )
    return _split(reached, first=first, last=last, bins=bins, least=SPLIT_DEVIATIONS * spread)


def _extent(grid: npt.NDArray[np.float64], *, spread: float) -> tuple[int, int]:
    """The cells outside of which no run of cells, of any length, holds clearly more than noise; (0, 0) if
    none does."""
    reached = np.append(0.0, np.cumsum(grid))
    first, last = grid.size, 0
    length = 1
    while length <= grid.size:
        runs = reached[length:] - reached[:-length]
        # A single count of Laplace noise strays farther than a sum of many.
        clear = np.flatnonzero(
            runs > spread * (RUN_DEVIATIONS * math.sqrt(length) + CELL_DEVIATIONS)
        )
        if clear.size:
            first = min(first, int(clear[0]) + length - 1)
            last = max(last, int(clear[-1]) + 1)
        # Doubling lengths: a long thin tail stands out as a sum although none of its cells
        # does.
        length *= 2
    return (min(first, last - 1), last) if last else (0, 0)


def _split(
    reached: npt.NDArray[np.float64], *, first: int, last: int, bins: int, least: float
) -> list[int]:
    waiting = [(-float(reached[last] - reached[first]), first, last)]
    edges = {first, last}
    while waiting and len(edges) <= bins:
        mass, start, end = heapq.heappop(waiting)
        if end - start < 2 or -mass < least:
            # A bin of one cell cannot be split, and one of mostly noise should not be.
            continue
        middle = (reached[start] + reached[end]) / 2
        at = int(np.searchsorted(reached[start : end + 1], middle)) + start
        # Of the two cells' edges around the median the nearer one, but never an end.
        at -= at - 1 > start and middle - reached[at - 1] < reached[at] - middle
        at = min(max(at, start + 1), end - 1)
        edges.add(at)
        for low, high in ((start, at), (at, end)):
            heapq.heappush(waiting, (-float(reached[high] - reached[low]), low, high))
    return sorted(edges)


def describe(questions: Sequence[AnyQuestion]) -> dict[str, LearnedColumn]:
    """Describes what is asked of each undeclared column, from public facts alone."""
    return {question.attribute.name: question.described() for question in questions}
