"""Logs without data: one line a record, a traceback says where and which error, never the error's own words.

An exception's text may quote what it met (a database reports the row that broke a constraint); ours never do, but a
log outlives every promise that others keep, so the text of any exception stays out of it.
"""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from types import TracebackType

from synthweb.lib import log_context

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


class Json(Plain):
    """One JSON object a record, on one line: time, level, logger, message, process, the ids of what is done (`log_context`), and
    of an exception its class and the places it passed."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(
                timespec="milliseconds"
            ),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "process": record.process,
            **log_context.fields(),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info).splitlines()
        return json.dumps(line)


def _location(frame: traceback.FrameSummary) -> str:
    """One step of a traceback, without the line of code (which may hold a literal) and without variables."""
    return f"{frame.filename}:{frame.lineno} in {frame.name}"


def configuration(form: str) -> Mapping[str, object]:
    """What `logging.config.dictConfig` takes. form: plain or json."""
    console = {"class": "logging.StreamHandler", "formatter": form}
    return {**_CONFIGURATION, "handlers": {"console": console}}


_CONFIGURATION: Mapping[str, object] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "plain": {
            "()": "synthweb.lib.logs.Plain",
            "format": "%(asctime)s %(levelname)s %(name)s: %(message)s",
        },
        "json": {"()": "synthweb.lib.logs.Json"},
    },
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
