"""Logs without data: one line a record, a traceback says where and which error, never the error's own words.

An exception's text may quote what it met (a database reports the row that broke a constraint); ours never do,
but a log outlives every promise that others keep, so the text of any exception stays out of it. So do
addresses of requests: some of them open something for whoever knows them (public links, links that reset a
password). Lines say the route.

A record has the same fields in both forms: plain writes them as `name=value` behind the message, json as one
object.
"""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from types import TracebackType

from django.http import HttpRequest

from synthweb.lib import log_context, routes

Raised = (
    tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
)
FIELDS = "fields"
"""The attribute of a record that holds further fields, by their names:
`logger.info(message, extra={FIELDS: {…}})`."""


class Plain(logging.Formatter):
    """Time, level, logger, message and the other fields of a record on one line; of an exception its class
    and the places it passed."""

    def format(self, record: logging.LogRecord) -> str:
        fields = _fields(record)
        head = [str(fields.pop(name)) for name in ("time", "level", "logger")]
        message = _one_line(str(fields.pop("message")))
        rest = [f"{name}={_word(value)}" for name, value in fields.items()]
        lines = [" ".join([*head[:2], f"{head[2]}: {message}", *rest])]
        return "\n".join([*lines, *_error(record)])


class Json(logging.Formatter):
    """One JSON object a record, on one line."""

    def format(self, record: logging.LogRecord) -> str:
        line = _fields(record)
        if error := _error(record):
            line["error"] = error
        return json.dumps(line)


FORMATTERS: Mapping[str, type[logging.Formatter]] = {"plain": Plain, "json": Json}


class SaidByRequestLog(logging.Filter):
    """Of `django.request` nothing but exceptions: that an answer is a 404 or a 503 is said by the line of the
    request."""

    def filter(self, record: logging.LogRecord) -> bool:
        return bool(record.exc_info) and record.levelno >= logging.ERROR


def _fields(record: logging.LogRecord) -> dict[str, object]:
    """What a record says, in order: time, level, logger, message, process, its further fields, and the ids of
    what is done (`log_context`)."""
    return {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
        "level": record.levelname,
        "logger": record.name,
        "message": _without_address(record),
        "process": record.process,
        **log_context.fields(),
        **getattr(record, FIELDS, {}),
    }


def _without_address(record: logging.LogRecord) -> str:
    """The message, with the route where Django wrote the address of its request."""
    text, request = record.getMessage(), getattr(record, "request", None)
    if isinstance(request, HttpRequest):
        for path in (request.get_full_path(), request.path, request.path_info):
            # As Django escapes what it logs, and as it is; `/` alone opens nothing.
            for spelled in (path.encode("unicode_escape").decode("ascii"), path):
                if len(spelled) > 1:
                    text = text.replace(spelled, routes.of(request) or "no route")
    return text


def _error(record: logging.LogRecord) -> list[str]:
    """Of an exception the places that it passed and its class, a line each; none without one."""
    if not record.exc_info:
        return []
    kind, _, trace = record.exc_info
    lines = [f"  {_location(frame)}" for frame in traceback.extract_tb(trace)]
    name = f"{kind.__module__}.{kind.__qualname__}" if kind else "no exception"
    return [*lines, f"  {name}"]


def _location(frame: traceback.FrameSummary) -> str:
    """One step of a traceback, without the line of code (which may hold a literal) and without variables."""
    return f"{frame.filename}:{frame.lineno} in {frame.name}"


def _one_line(text: str) -> str:
    """Line breaks in a message cannot fake another record."""
    return text.replace("\r", "\\r").replace("\n", "\\n")


def _word(value: object) -> str:
    """A value of a field as one word: nothing is `-`, and what could be taken for two fields is quoted as in
    JSON."""
    text = "-" if value is None or value == "" else str(value)
    is_word = text.isprintable() and not any(mark in text for mark in ' "=\\')
    return text if is_word else json.dumps(text)


def configuration(form: str) -> Mapping[str, object]:
    """What `logging.config.dictConfig` takes. form: plain or json."""
    console = {"class": "logging.StreamHandler", "formatter": form}
    return {**_CONFIGURATION, "handlers": {"console": console}}


_CONFIGURATION: Mapping[str, object] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {name: {"()": formatter} for name, formatter in FORMATTERS.items()},
    "filters": {"said": {"()": SaidByRequestLog}},
    "root": {"handlers": ["console"], "level": "INFO"},
    "loggers": {
        # Django's own handlers would mail a request's data to administrators.
        "django": {"handlers": [], "level": "INFO", "propagate": True},
        "django.request": {"filters": ["said"]},
        # The server of Django's commands writes addresses; ours have the request log.
        "django.server": {"handlers": [], "level": "CRITICAL", "propagate": True},
        "celery.beat": {
            "level": "WARNING"
        },  # ten times a minute it would say that it sent for the reconciler
        "celery.worker.strategy": {"level": "WARNING"},  # "task received"; its end is logged
    },
}
