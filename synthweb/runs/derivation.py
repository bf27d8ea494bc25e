"""Free work that derives something from what is stored of a release, where no table can be opened."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from synth_engine.errors import InputError
from synthweb.runs.models import ReleaseErrand
from synthweb.runs.turns import JobKind, Turn, end

ErrandT = TypeVar("ErrandT", bound=ReleaseErrand)


class Derivation(JobKind[ErrandT]):
    """It ends with `finish`, in the transaction that stores the result. What cannot be derived of a release says so, in words that name no value."""

    expected: ClassVar[tuple[type[Exception], ...]] = (InputError,)


def finish(turn: Turn[ErrandT]) -> None:
    """Record that an errand is done, first in the transaction that stores its result. Errors: LeaseLost."""
    end(turn, state=ReleaseErrand.State.FINISHED, progress=1.0)
