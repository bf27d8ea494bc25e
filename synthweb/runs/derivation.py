"""Free work that derives something from what is stored of a release, where no table can be opened."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from synth_engine.errors import InputError
from synthweb.runs.models import ReleaseJob
from synthweb.runs.turns import Job

JobT = TypeVar("JobT", bound=ReleaseJob)


class Derivation(Job[JobT]):
    """It ends with `finish`. What cannot be derived of a release says so, in words that name no value."""

    expected: ClassVar[tuple[type[Exception], ...]] = (InputError,)

    def finish(self) -> None:
        """Record that it is done, first in the transaction that stores its result. Errors: LeaseLost."""
        self.end(state=ReleaseJob.State.FINISHED, progress=1.0)
