"""Lines of the log as an operator gets them, read back into fields."""

from __future__ import annotations

import contextlib
import json
import logging
import re
from collections.abc import Iterator

from synthweb.lib import logs

_HEAD = re.compile(r"(?P<time>\S+) (?P<level>[A-Z]+) (?P<logger>\S+): (?P<rest>.*)")
_FIELD = re.compile(r' ([a-z]+)=("(?:[^"\\]|\\.)*"|\S+)')


def read(line: str) -> dict[str, str]:
    """The fields of one line of either form, as texts; empty for a further line of an exception."""
    if line.startswith("{"):
        return {
            name: "-" if value in (None, "") else str(value)
            for name, value in json.loads(line).items()
        }
    head = _HEAD.fullmatch(line)
    if head is None:
        return {}
    fields = {
        name: json.loads(value) if value[0] == '"' else value
        for name, value in _FIELD.findall(head["rest"])
    }
    message = _FIELD.split(head["rest"])[0]
    return {
        **fields,
        **{name: head[name] for name in ("time", "level", "logger")},
        "message": message,
    }


def of_requests(text: str) -> list[dict[str, str]]:
    """The records of requests among these lines, in order."""
    found = map(read, text.splitlines())
    return [each for each in found if each.get("message") == "answered"]


@contextlib.contextmanager
def kept(form: str = "plain") -> Iterator[list[str]]:
    """What this process logs meanwhile, each record as the application formats it."""
    written: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            written.append(self.format(record))

    handler = Keep()
    handler.setFormatter(logs.FORMATTERS[form]())
    logging.getLogger().addHandler(handler)
    try:
        yield written
    finally:
        logging.getLogger().removeHandler(handler)
