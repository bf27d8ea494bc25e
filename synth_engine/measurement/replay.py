"""Reading stored answers in the order in which a plan asked for them: the check that they are its own."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from synth_engine.errors import InputError
from synth_engine.measurement.answer import Measurement, Scores, Selection
from synth_engine.measurement.answers import Answer, AnsweredCall, Answers, AnyAnswer
from synth_engine.measurement.question import Clique


class Replay:
    """The stored answers of a run, read one after another by the plan that asked for them.

    Answers come from a file: those of another plan must not become a model of this one. Every method
    therefore states what comes next. Errors: InputError where something else does, always the same one."""

    def __init__(self, answers: Answers) -> None:
        self._upcoming = deque(answers.answered)

    def next(
        self, kind: type[AnyAnswer], matches: Callable[[AnyAnswer], bool] = lambda _: True
    ) -> AnyAnswer:
        """The next answer, which has to be of this kind and match."""
        answer = self._upcoming[0].answer if self._upcoming else None
        if not isinstance(answer, kind) or not matches(answer):
            raise _not_of_this_plan()
        self._upcoming.popleft()
        return answer

    def measurement(self, clique: Clique) -> Measurement:
        """The next answer: counts of this clique."""
        return self.next(Measurement, lambda measurement: measurement.clique == clique)

    def selection(self, candidates: int) -> int:
        """The next answer: the index of one of so many candidates."""
        return self.next(Selection, lambda selection: 0 <= selection.index < candidates).index

    def selected(self) -> Clique:
        """The next answer: the clique that it selects of the candidates of its query."""
        candidates = self._upcoming[0].call.query.candidates if self._upcoming else ()
        return candidates[self.selection(len(candidates))]

    def scores(self, number: int | None) -> dict[Clique, float]:
        """The next answer: the noisy scores of the candidates of its query, as many as `number` says, if it
        does."""
        candidates = self._upcoming[0].call.query.candidates if self._upcoming else ()
        scores = self.next(Scores, lambda one: one.values.size == len(candidates))
        self.require(number in (None, len(candidates)))
        return dict(zip(candidates, scores.values.astype(float).tolist(), strict=True))

    def comes(self, kind: type[Answer]) -> bool:
        """Whether the next answer is of this kind."""
        return bool(self._upcoming) and isinstance(self._upcoming[0].answer, kind)

    def take_while(self, matches: Callable[[AnsweredCall], bool]) -> Answers:
        """The next answers as long as they match, for a part of the plan that reads them by itself."""
        taken = []
        while self._upcoming and matches(self._upcoming[0]):
            taken.append(self._upcoming.popleft())
        return Answers(tuple(taken))

    def rest(self) -> Answers:
        """All further answers, for a stage that reads them by itself."""
        return self.take_while(lambda _: True)

    def all_of(self, kind: type[AnyAnswer]) -> tuple[AnyAnswer, ...]:
        """All further answers, which have to be of this kind."""
        answers = []
        while self._upcoming:
            answers.append(self.next(kind))
        return tuple(answers)

    def require(self, condition: bool) -> None:
        """Errors: InputError unless the condition holds, of answers that were read."""
        if not condition:
            raise _not_of_this_plan()

    def finish(self) -> None:
        """Errors: InputError where there are more answers than the plan asked for."""
        self.require(not self._upcoming)

    @contextmanager
    def fitting_together(self) -> Iterator[None]:
        """Within, a ValueError means that answers contradict each other, so that no run can have given
        them."""
        try:
            yield
        except ValueError as error:
            raise _not_of_this_plan() from error


def _not_of_this_plan() -> InputError:
    return InputError(
        "these answers are not of this plan", repair="use the answers of this release"
    )
