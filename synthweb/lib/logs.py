"""Logs without data: one line a record, a traceback says where and which error, never the error's own words.

An exception's text may quote what it met (a database reports the row that broke a constraint); ours never do, but a
log outlives every promise that others keep, so the text of any exception stays out of it.
"""

from __future__ import annotations

import logging
import traceback
from types import TracebackType

Raised = (
    tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
)


class Plain(logging.Formatter):
    """Time, level, logger and message on one line; of an exception its class and the places it passed."""

    default_msec_format = "%s.%03d"

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the library's name
        """Line breaks in a message cannot fake another record."""
        return super().formatMessage(record).replace("\r", "\\r").replace("\n", "\\n")

    def formatException(self, ei: Raised) -> str:  # noqa: N802
        """Where it happened and what kind it was."""
        kind, _, trace = ei
        lines = [f"  {_location(frame)}" for frame in traceback.extract_tb(trace)]
        name = f"{kind.__module__}.{kind.__qualname__}" if kind else "no exception"
        return "\n".join([*lines, f"  {name}"])


def _location(frame: traceback.FrameSummary) -> str:
    """One step of a traceback, without the line of code (which may hold a literal) and without variables."""
    return f"{frame.filename}:{frame.lineno} in {frame.name}"


CONFIGURATION: dict[str, object] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "plain": {
            "()": "synthweb.lib.logs.Plain",
            "format": "%(asctime)s %(levelname)s %(name)s: %(message)s",
        }
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "root": {"handlers": ["console"], "level": "INFO"},
    "loggers": {
        # Django's own handlers would mail a request's data to administrators.
        "django": {"handlers": [], "level": "INFO", "propagate": True},
        "django.server": {"handlers": [], "level": "INFO", "propagate": True},
        "celery.beat": {
            "level": "WARNING"
        },  # ten times a minute it would say that it rang for the reconciler
        "celery.worker.strategy": {"level": "WARNING"},  # "task received"; its end is logged
    },
}
