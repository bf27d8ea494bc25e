"""Spans on their way to an OpenTelemetry collector, by OTLP over HTTP. Loaded where an operator asks for
traces alone: its packages are an extra.

They are sent by a thread of their own, from a queue that is bounded and thrown away when nobody takes it:
whoever makes spans never waits.
"""

from __future__ import annotations

import secrets
import threading

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import Tracer

SERVICE = "synthweb"
SECONDS = 5.0  # for one attempt to reach the collector
PAUSE = 2.0  # seconds between two batches
LAST_SECONDS = 2.0  # for what is left when a process ends


class Ids(IdGenerator):
    """Ids from the operating system: those of the library come from the generator of Python's `random`."""

    def generate_span_id(self) -> int:
        return secrets.randbits(64) or 1

    def generate_trace_id(self) -> int:
        return secrets.randbits(128) or 1


class Sender:
    """Makes spans and sends them to one collector. endpoint: the whole address, with its path."""

    def __init__(self, endpoint: str) -> None:
        # Nothing of the machine, the process or the command line, which detectors of the library would add.
        self._provider = TracerProvider(
            resource=Resource({"service.name": SERVICE}),
            id_generator=Ids(),
            shutdown_on_exit=False,
        )
        exporter = OTLPSpanExporter(endpoint=endpoint, timeout=SECONDS)
        self._provider.add_span_processor(
            BatchSpanProcessor(exporter, schedule_delay_millis=PAUSE * 1000)
        )
        # Not the global one: what other libraries might trace goes nowhere.
        self.tracer: Tracer = self._provider.get_tracer(SERVICE)

    def flush(self, seconds: float = LAST_SECONDS) -> None:
        """Send what waits, and do not wait longer than so many seconds for it."""
        sending = threading.Thread(target=self._provider.force_flush, daemon=True)
        sending.start()
        sending.join(seconds)

    def close(self) -> None:
        self._provider.shutdown()
