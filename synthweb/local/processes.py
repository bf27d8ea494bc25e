"""The processes of an installation: what each runs and what each may know. docker-compose.yml says the same
for containers, and a test compares the two.

The web's environment does not name the key that opens tables, the workers' does not name the key that opens
previews: see docs/threat-model.md for what that protects on one machine and what it does not.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass

from synthweb.local import broker
from synthweb.local.paths import Places

# Not simply unset: without a setting the usual path is taken, and the key lies there.
WITHHELD = "/nonexistent/withheld-from-this-process"
WEB_KEYS = (
    "SYNTHWEB_PREVIEW_PRIVATE_KEY_FILE",
    "SYNTHWEB_CONTENT_KEY_FILE",
    "SYNTHWEB_SIGNING_PRIVATE_KEY_FILE",
)
TABLE_KEYS = ("SYNTHWEB_VAULT_PRIVATE_KEY_FILE",)
CELERY = ["celery", "-A", "synthweb.celery"]
# Workers need not know each other: which one has a run is decided in the database (ADR 8).
WORKER = [
    *CELERY,
    "worker",
    "-c",
    "1",
    "--without-gossip",
    "--without-mingle",
    "--loglevel",
    "INFO",
]
# No child of its own: these have nothing that must outlive a crash, and are started again (ADR 176).
THREAD = ["-P", "threads"]


@dataclass(frozen=True)
class Process:
    """A program to keep running. `withheld` names the settings that must lead nowhere for it; `patience` is
    how many seconds it gets to finish when all is stopped; a `last` one is stopped after the others."""

    name: str
    command: list[str]
    withheld: tuple[str, ...] = ()
    pass_fds: tuple[int, ...] = ()
    patience: float = 10
    last: bool = False

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """`base` with what this process needs, and without what it must not know."""
        return {**base, **dict.fromkeys(self.withheld, WITHHELD)}


def redis(places: Places) -> Process:
    """The broker. It knows no key at all."""
    return Process(
        "redis",
        broker.command(folder=places.redis),
        withheld=(*WEB_KEYS, *TABLE_KEYS),
        last=True,
    )


def application(places: Places, *, listener: int) -> list[Process]:
    """Web server, the three workers and beat; the web listens on an open socket."""
    python = [sys.executable, "-m"]
    web = [
        "gunicorn",
        "--config",
        "python:synthweb.server.configuration",
        "--bind",
        f"fd://{listener}",
        "synthweb.wsgi",
    ]
    return [
        Process("web", [*python, *web], withheld=TABLE_KEYS, pass_fds=(listener,)),
        Process(
            "worker-confidential",
            [*python, *WORKER, "-Q", "confidential", "-n", "confidential@%h"],
            withheld=WEB_KEYS,
            patience=120,
        ),
        Process(
            "worker-default",
            [*python, *WORKER, *THREAD, "-Q", "default", "-n", "default@%h"],
            withheld=(*WEB_KEYS, *TABLE_KEYS),
        ),
        Process(
            "worker-notifications",
            [*python, *WORKER, *THREAD, "-Q", "notifications", "-n", "notifications@%h"],
            withheld=(*WEB_KEYS, *TABLE_KEYS),
        ),
        Process(
            "beat",
            [
                *python,
                *CELERY,
                "beat",
                "--loglevel",
                "INFO",
                "-s",
                str(places.run / "beat"),
                # None: a stale one, after a power cut, could keep beat from starting. The lock
                # file is enough.
                "--pidfile",
                "",
            ],
            withheld=(*WEB_KEYS, *TABLE_KEYS),
        ),
    ]


def demo() -> Process:
    """Once, after the first start: the example table, described, paid for and released through the normal
    services."""
    return Process("demo", [sys.executable, "manage.py", "load_demo"], withheld=TABLE_KEYS)
