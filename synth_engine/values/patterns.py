"""Define sets by regular expressions with a finite language.

The expression becomes a deterministic automaton without dead ends, in which each state knows how many texts
can still follow; walking down those counts ranks and unranks. Size and work are bounded before anything is
built.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn, Self

from synth_engine.strict_json import JsonObject
from synth_engine.values.base import MAX_TEXT_LENGTH, ValueSet, checked_size, fields, refuse

MAX_PATTERN_LENGTH = 300
MAX_STATES = 20_000
MAX_STEPS = 2_000_000
"""Steps of the expression followed before its automaton is given up: about two seconds."""
_left_together: ContextVar[list[int] | None] = ContextVar("_left_together", default=None)
_UNSTORABLE = (
    (0, 0),
    (0xD800, 0xDFFF),
)  # NUL and halves of surrogate pairs: no file and no database has them
_INFINITE = "the pattern has an infinite language"
_BOUND = "give every repetition an upper end, such as {0,8}"


@contextmanager
def few_steps_together() -> Iterator[None]:
    """Let all patterns together take MAX_STEPS steps inside the block. Documents of strangers may hold
    thousands of patterns, each of which takes nearly as many as one may."""
    token = _left_together.set([MAX_STEPS])
    try:
        yield
    finally:
        _left_together.reset(token)


@dataclass
class _Nfa:
    """Steps: state → (first, last code point, next state); empty steps: state → states. `followed`: how many
    steps were followed so far."""

    steps: list[list[tuple[int, int, int]]] = field(default_factory=list)
    empty: list[list[int]] = field(default_factory=list)
    followed: int = 0

    def state(self) -> int:
        if len(self.steps) >= MAX_STATES:
            _refuse_complicated()
        self.steps.append([])
        self.empty.append([])
        return len(self.steps) - 1

    def add(self, node: Any, start: int) -> int:
        """Add what a node of the parsed expression matches, from `start`; the state in which it ends."""
        if hasattr(node, "concs"):
            end = self.state()
            for part in node.concs:
                self.empty[self.add(part, start)].append(end)
            return end
        if hasattr(node, "mults"):
            for part in node.mults:
                start = self.add(part, start)
            return start
        if hasattr(node, "multiplicand"):
            return self._repeated(node, start)
        end = self.state()
        if node.negated:
            refuse(
                "the pattern matches characters that it does not name",
                repair="name them, such as [a-z0-9 ]",
            )
        for first, last in node.ord_ranges:
            if any(first <= high and low <= last for low, high in _UNSTORABLE):
                refuse(
                    "the pattern matches characters that cannot be stored",
                    repair="name the ones that occur",
                )
            self.steps[start].append((first, last, end))
        return end

    def _repeated(self, node: Any, start: int) -> int:
        low, high = node.multiplier.min.v, node.multiplier.max.v
        if high is None:
            refuse(_INFINITE, repair=_BOUND)
        end = self.state()
        for count in range(high):
            if count >= low:
                self.empty[start].append(end)
            start = self.add(node.multiplicand, start)
        self.empty[start].append(end)
        return end

    def closure(self, states: frozenset[int]) -> frozenset[int]:
        reached, waiting = set(states), list(states)
        while waiting:
            following = self.empty[waiting.pop()]
            self.follow(1 + len(following))
            for other in following:
                if other not in reached:
                    reached.add(other)
                    waiting.append(other)
        return frozenset(reached)

    def follow(self, steps: int) -> None:
        """Counts steps that are followed; refuses the expression where they become too many."""
        self.followed += steps
        left = _left_together.get()
        if left is not None:
            left[0] -= steps
        if self.followed > MAX_STEPS or (left is not None and left[0] < 0):
            _refuse_complicated()


@dataclass(frozen=True, kw_only=True)
class _State:
    """A state of the deterministic automaton: steps sorted by code point, and how many texts follow from
    here."""

    accepts: bool
    steps: tuple[tuple[int, int, int], ...]
    texts: int
    longest: int


class Pattern(ValueSet):
    """The texts that an expression matches as a whole, in the order of their code points, shorter before
    longer where one begins the other. Classes, alternatives, groups and repetitions with an upper end are
    understood."""

    kind: ClassVar[str] = "pattern"
    characters = None
    is_exact = True

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        if len(pattern) > MAX_PATTERN_LENGTH:
            refuse(
                f"a pattern of more than {MAX_PATTERN_LENGTH} characters",
                repair="use a shorter one, or a list",
            )
        if pattern.startswith("^") or pattern.endswith("$"):
            refuse(
                "the pattern has an anchor",
                repair="leave ^ and $ out: texts match as a whole; [$] is the sign",
            )
        nfa = _Nfa()
        start = nfa.state()
        self._states = _determined(nfa, start=start, end=nfa.add(_parsed(pattern), start))
        self.size = checked_size(self._states[0].texts)
        self.longest = self._states[0].longest
        if self.longest > MAX_TEXT_LENGTH:
            refuse(
                f"the pattern matches texts of more than {MAX_TEXT_LENGTH} characters",
                repair=_BOUND,
            )

    def rank(self, text: str) -> int | None:
        state, rank = self._states[0], 0
        if len(text) > self.longest:
            return None
        for character in text:
            # The text that ends here comes before all longer ones that begin with it.
            rank += state.accepts
            for first, last, following in state.steps:
                texts = self._states[following].texts
                if ord(character) <= last:
                    rank += max(0, ord(character) - first) * texts
                    break
                rank += (last - first + 1) * texts
            else:
                return None
            if ord(character) < first:
                return None
            state = self._states[following]
        return rank if state.accepts else None

    def unrank(self, rank: int) -> str:
        rest, state, characters = self.in_range(rank), self._states[0], []
        while not (state.accepts and rest == 0):
            rest -= state.accepts
            for first, last, following in state.steps:
                texts = self._states[following].texts
                if rest < (last - first + 1) * texts:
                    break
                rest -= (last - first + 1) * texts
            ahead, rest = divmod(rest, texts)
            characters.append(chr(first + ahead))
            state = self._states[following]
        return "".join(characters)

    def to_json(self) -> JsonObject:
        return {"set": self.kind, "pattern": self.pattern}

    @classmethod
    def from_json(cls, document: Mapping[str, object]) -> Self:
        return cls(**fields(document, pattern=str))


def _refuse_complicated() -> NoReturn:
    refuse("the pattern is too complicated", repair="use a shorter one, or a list")


def _parsed(pattern: str) -> Any:
    from greenery import parse
    from greenery.parse import NoMatch

    try:
        return parse(pattern)
    except (NoMatch, RecursionError, ValueError, IndexError, OverflowError):
        refuse(
            "this is no pattern that can be read",
            repair="use letters, [classes], (groups|alternatives) and {1,8}",
        )


def _determined(nfa: _Nfa, *, start: int, end: int) -> list[_State]:
    """Subset construction, then the counts from the back. The first state is where texts begin. Nothing
    repeats without end in `nfa`, so a state never comes back to itself."""
    # Subset construction (Rabin and Scott, 1959): a state is the set of states that the
    # expression may be in.
    numbers = {nfa.closure(frozenset((start,))): 0}
    transitions: list[tuple[bool, list[tuple[int, int, int]]]] = []
    waiting = list(numbers)
    while waiting:
        members = waiting.pop(0)
        steps = []
        for first, last, targets in _cut(
            [step for member in members for step in nfa.steps[member]]
        ):
            nfa.follow(len(members))
            reached = nfa.closure(targets)
            if reached not in numbers:
                if len(numbers) >= MAX_STATES:
                    _refuse_complicated()
                numbers[reached] = len(numbers)
                waiting.append(reached)
            steps.append((first, last, numbers[reached]))
        transitions.append((end in members, steps))
    return _counted(transitions)


def _cut(steps: list[tuple[int, int, int]]) -> list[tuple[int, int, frozenset[int]]]:
    """Overlapping ranges of characters cut into ranges that do not overlap, each with all that it leads
    to."""
    # A range begins wherever one of the given ranges begins or has just ended.
    ends = sorted({first for first, _, _ in steps} | {last + 1 for _, last, _ in steps})
    reached: list[set[int]] = [set() for _ in ends]
    for first, last, target in steps:
        for place in range(bisect_right(ends, first) - 1, bisect_right(ends, last)):
            reached[place].add(target)
    pairs = zip(
        ends, ends[1:], reached, strict=False
    )  # nothing is reached from behind the last end
    return [
        (first, after - 1, frozenset(targets)) for first, after, targets in pairs if targets
    ]


def _counted(automaton: list[tuple[bool, list[tuple[int, int, int]]]]) -> list[_State]:
    done: dict[int, _State] = {}
    # States are counted behind all that follow them. The path is a list because an expression
    # may be deeper than Python's recursion.
    path = [0]
    while path:
        number = path[-1]
        accepts, steps = automaton[number]
        if open_ones := [target for _, _, target in steps if target not in done]:
            path.append(open_ones[0])
            continue
        # Without dead ends each rank is reached by a walk that never turns back.
        alive = tuple(step for step in steps if done[step[2]].texts)
        done[number] = _State(
            accepts=accepts,
            steps=alive,
            texts=accepts
            + sum((last - first + 1) * done[target].texts for first, last, target in alive),
            longest=max((done[target].longest + 1 for _, _, target in alive), default=0),
        )
        path.pop()
    return [done.get(number, done[0]) for number in range(len(automaton))]
