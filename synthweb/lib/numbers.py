"""Numbers that a process counts by itself for whoever watches the installation (`synthweb.metrics`): answers
and refused sign-ins.

The server has several processes, of which one answers `/metrics`. Where `PROMETHEUS_MULTIPROC_DIR` names a
folder, as the server does before its processes begin (`synthweb.server.configuration`), each writes its
numbers there, and all are added up.
"""

from __future__ import annotations

import os

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.multiprocess import MultiProcessCollector

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The variable of the environment by which prometheus_client finds the numbers of all processes."""
CLASSES = ("1xx", "2xx", "3xx", "4xx", "5xx")
FAILED, PAUSED = "failed", "paused"

_seconds = Histogram(
    "synthweb_answer_seconds",
    "Until an answer began, by class of its status; health, numbers and static files are left out",
    ["status"],
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
    registry=None,
)
_sign_ins = Counter(
    "synthweb_sign_ins_refused",
    "Sign-ins that failed, and pauses that began because too many had",
    ["why"],
    registry=None,
)
for _status in CLASSES:
    _seconds.labels(_status)
for _why in (FAILED, PAUSED):
    _sign_ins.labels(_why)


def answered(*, status: int, seconds: float) -> None:
    """Count an answer. seconds: until it began."""
    _seconds.labels(f"{status // 100}xx").observe(seconds)


def sign_in_refused(why: str) -> None:
    """Count a sign-in that failed, or a pause that began. why: FAILED or PAUSED."""
    _sign_ins.labels(why).inc()


def register(registry: CollectorRegistry) -> None:
    """Have the registry collect them: those of all processes of the server, or of this one where it is
    alone."""
    if FOLDER in os.environ:
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return
    registry.register(_seconds)
    registry.register(_sign_ins)
