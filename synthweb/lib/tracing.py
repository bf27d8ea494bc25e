"""Traces for an operator who has an OpenTelemetry collector: which requests and tasks there were, how long
their stages took, and which task a request asked for. Off without `SYNTHWEB_TRACES`.

Spans are made here and nowhere else. Instrumentations of Django, Celery and databases would record addresses,
statements and the words of errors. What a span may say is in `FORMS`, each with the form of its values, which
no cell, name or address has room in; everything else is left out. Times are in whole milliseconds. A fault in
here is logged by its class, and whoever is traced goes on.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from django.conf import settings

from synthweb.lib import codes

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span

    from synthweb.lib.otlp import Sender

logger = logging.getLogger(__name__)

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

METHOD, ROUTE, STATUS = "http.request.method", "http.route", "http.response.status_code"
ERROR = "error.type"
REQUEST, TASK, CODE = "synthweb.request_id", "synthweb.task", "synthweb.code"
MECHANISM, STAGE = "synthweb.mechanism", "synthweb.stage"
# Routes are patterns of the program, and mechanisms, stages, tasks and errors are its own names; codes and
# ids are drawn at random.
FORMS: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        METHOD: re.compile(r"GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|_OTHER"),
        ROUTE: re.compile(r"[a-z0-9_/<>:.^$()?\[\]\\+*|-]{0,200}", re.IGNORECASE),
        STATUS: re.compile(r"[1-5]\d\d"),
        ERROR: re.compile(r"[a-z][a-z-]{0,31}"),
        REQUEST: re.compile(r"[A-Za-z0-9._-]{8,64}"),
        TASK: re.compile(r"[a-z]+\.[a-z_]+"),
        CODE: re.compile(codes.Converter.regex),
        MECHANISM: re.compile(r"[a-z][a-z0-9-]{0,63}"),
        STAGE: re.compile(r"[a-z][a-z-]{0,31}"),
    }
)
CARRIED = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
"""A trace and a span, as a message of the broker carries them (W3C Trace Context)."""
MILLISECOND = 10**6


@dataclass
class TracedWork:
    """A request or a task that is traced, and the stage that it has reached."""

    span: Span
    stage: Span | None = None


_current: ContextVar[TracedWork | None] = ContextVar("work", default=None)


def _quiet(
    deed: Callable[Parameters, Result],
) -> Callable[Parameters, Result | None]:
    """Whatever goes wrong with a trace is nothing to whoever is traced."""

    @functools.wraps(deed)
    def quiet(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result | None:
        if not settings.TRACES:
            return None
        try:
            return deed(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - see above
            logger.warning("not traced: %s", type(error).__name__)
            return None

    return quiet


@_quiet
def begin(name: str, *, carried: str = "", asks: bool = False) -> None:
    """Trace what this thread does from here on. carried: the trace and span that asked for it; asks: whether
    it is a request, and not a task."""
    from opentelemetry.trace import SpanKind

    kind = SpanKind.SERVER if asks else SpanKind.CONSUMER
    parent = _parent(carried)
    span = _sender().tracer.start_span(name, context=parent, kind=kind, start_time=_now())
    _current.set(TracedWork(span))


def _parent(carried: str) -> Context:
    """The context of a span in another process; an empty one, in which a trace begins, where there is
    none."""
    from opentelemetry.context import Context
    from opentelemetry.trace import (
        NonRecordingSpan,
        SpanContext,
        TraceFlags,
        set_span_in_context,
    )

    if not (parts := CARRIED.fullmatch(carried)):
        return Context()
    trace, span, flags = (int(part, 16) for part in parts.groups())
    asking = SpanContext(
        trace_id=trace, span_id=span, is_remote=True, trace_flags=TraceFlags(flags)
    )
    return set_span_in_context(NonRecordingSpan(asking), Context())


@_quiet
def rename(name: str) -> None:
    """A request is called by its route, which is known when it is answered."""
    if work := _current.get():
        work.span.update_name(name)


@_quiet
def say(facts: Mapping[str, object]) -> None:
    """State facts of the request or task that this thread is at. What has no form in `FORMS`, or another one,
    is left out."""
    if work := _current.get():
        _say(work.span, facts)


def _say(span: Span, facts: Mapping[str, object]) -> None:
    for name, value in facts.items():
        form = FORMS.get(name)
        if form is not None and form.fullmatch(str(value)):
            span.set_attribute(name, value if isinstance(value, int) else str(value))


@_quiet
def reach(stage: str) -> None:
    """The task of this thread has come to another stage."""
    from opentelemetry.context import Context
    from opentelemetry.trace import set_span_in_context

    work = _current.get()
    if work is None or not FORMS[STAGE].fullmatch(stage):
        return
    _end_stage(work)
    parent = set_span_in_context(work.span, Context())
    work.stage = _sender().tracer.start_span(stage, context=parent, start_time=_now())
    _say(work.stage, {STAGE: stage})


def _end_stage(work: TracedWork) -> None:
    if work.stage is not None:
        work.stage.end(_now())
        work.stage = None


@_quiet
def fail(kind: str) -> None:
    """It failed. kind: a word of ours, never one of an error."""
    from opentelemetry.trace import Status, StatusCode

    if work := _current.get():
        for span in filter(None, (work.stage, work.span)):
            span.set_status(Status(StatusCode.ERROR))
            _say(span, {ERROR: kind})


@_quiet
def end() -> None:
    """The request or task of this thread is over."""
    work = _current.get()
    _current.set(None)
    if work is not None:
        _end_stage(work)
        work.span.end(_now())


@contextlib.contextmanager
def request() -> Iterator[None]:
    """Trace a request in the block."""
    begin("request", asks=True)
    try:
        yield
    finally:
        end()


def carried() -> str:
    """The trace and span of this thread, for a message that asks another process for something; "" without
    one."""
    return _carried() or ""


@_quiet
def _carried() -> str:
    work = _current.get()
    if work is None:
        return ""
    of = work.span.get_span_context()
    return f"00-{of.trace_id:032x}-{of.span_id:016x}-{of.trace_flags:02x}"


@_quiet
def flush() -> None:
    """Send what waits, before this process ends."""
    _sender().flush()


def _sender() -> Sender:
    """That of this process: threads and connections do not outlive a fork."""
    return _sender_of(os.getpid(), settings.TRACES)


@functools.lru_cache(maxsize=1)
def _sender_of(_process: int, endpoint: str) -> Sender:
    from synthweb.lib.otlp import Sender

    return Sender(endpoint)


def _now() -> int:
    """In nanoseconds, as spans have it, to the millisecond."""
    return time.time_ns() // MILLISECOND * MILLISECOND
