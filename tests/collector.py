"""A collector of OpenTelemetry for the tests: takes OTLP over HTTP on loopback, keeps what came byte for
byte, and decodes it."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

PATH = "/v1/traces"
PATIENCE = 120.0  # seconds until something that should come counts as not coming


@dataclass
class Collector:
    """What came. status: what it answers with."""

    port: int = 0
    status: int = 200
    raw: list[bytes] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}{PATH}"

    def resources(self) -> list[dict[str, object]]:
        """The attributes of each resource."""
        return [_attributes(one.resource.attributes) for one in self._of_resources()]

    def spans(self) -> list[dict[str, Any]]:
        """All spans: name, trace, own and parent's id, kind, status, message of it, events and links,
        attributes, begin and end."""
        return [
            {
                "name": span.name,
                "trace": span.trace_id.hex(),
                "id": span.span_id.hex(),
                "parent": span.parent_span_id.hex(),
                "kind": span.kind,
                "status": span.status.code,
                "words": span.status.message,
                "others": len(span.events) + len(span.links),
                "attributes": _attributes(span.attributes),
                "times": (span.start_time_unix_nano, span.end_time_unix_nano),
            }
            for one in self._of_resources()
            for scope in one.scope_spans
            for span in scope.spans
        ]

    def _of_resources(self) -> Iterator[Any]:
        for body in list(self.raw):
            message = ExportTraceServiceRequest()
            message.ParseFromString(body)
            yield from message.resource_spans

    def until(self, happened: Callable[[list[dict[str, Any]]], bool]) -> list[dict[str, Any]]:
        """The spans, as soon as they are what a test waits for."""
        end = time.monotonic() + PATIENCE
        while not happened(spans := self.spans()):
            if time.monotonic() > end:
                raise AssertionError(f"only {[span['name'] for span in spans]} came")
            time.sleep(0.1)
        return spans


def _attributes(given: Any) -> dict[str, object]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in given}


@contextlib.contextmanager
def collecting() -> Iterator[Collector]:
    """One that listens."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            assert self.path == PATH
            assert self.headers["Content-Type"] == "application/x-protobuf"
            collector.raw.append(body)
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(collector.status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
