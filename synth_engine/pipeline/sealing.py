"""Errors leave the room without what they were raised among, because the frames of a traceback hold rows."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

from synth_engine.errors import (
    Cancelled,
    SynthError,
)

Progress = Callable[[str, float], None]
Given = ParamSpec("Given")
Result = TypeVar("Result")


def nobody_watches(_stage: str, _fraction: float) -> None:
    pass


def nobody_cancels() -> bool:
    return False


def as_stage(stage: str, progress: Progress) -> Progress:
    """Progress of a part that is a stage of its own, whatever the part calls it."""
    return lambda _stage, fraction: progress(stage, fraction)


# A BaseException, so that no `except Exception` inside the room can catch or wrap it.
class _FromCaller(BaseException):
    """Carries an error of the caller's own callback through the room untouched."""

    def __init__(self, error: Exception) -> None:
        self.error = error


def guarded(callback: Callable[Given, Result]) -> Callable[Given, Result]:
    def guarded(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        try:
            return callback(*args, **kwargs)
        except Exception as error:  # noqa: BLE001  # not ours to judge; it is raised again outside
            raise _FromCaller(error) from None

    return guarded


def sealed(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Errors leave without traceback, cause or context; foreign ones by the name of their type and place
    alone. What a guarded callback raises is the caller's own, has no frame of the room, and passes as it
    is."""

    @functools.wraps(function)
    def sealed(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except _FromCaller as carried:
            clean: Exception = carried.error
        except SynthError as error:
            clean = _stripped(error)
        except Exception as error:  # noqa: BLE001  # named below, without what it says
            # The place is in our own code and public; the message may quote a cell.
            place = traceback.extract_tb(error.__traceback__)[-1]
            clean = SynthError(
                f"the room failed: {type(error).__name__} at {Path(place.filename).name}:{place.lineno}"
            )
        # Raised outside of the `except` blocks: inside, Python would attach the original error
        # as context, and with it the frames that hold rows.
        raise clean

    return sealed


def _stripped(error: SynthError) -> SynthError:
    error.__traceback__ = error.__cause__ = error.__context__ = None
    return error


def stop_if(cancelled: Callable[[], bool]) -> None:
    if cancelled():
        raise Cancelled("the run was cancelled")
