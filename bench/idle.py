"""Memory of an installation that has nothing to do: what `make run` starts, process by process.

    python bench/idle.py [--seconds 30] [--asked] [--demo]

Starts it in a temporary folder on a free port, waits until its workers are ready, and some seconds more;
prints for each process its proportional memory (PSS of Linux: a page that several processes share counts in
parts), its own (USS), and the processor time that it has taken. --asked: after the sign-in page was asked
for, of each web worker. --demo: after the examples were loaded. Linux alone.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[1]
ADDRESS = re.compile(r"synthweb is ready:\s+(http://\S+)")
LOADED = "The examples are there"
READY = re.compile(r"\bready\.|is starting")
REQUESTS = 40
"""So many that each of the web workers has answered some."""


@dataclass(frozen=True)
class Row:
    """One process. Sizes in bytes, time in seconds."""

    name: str
    pss: int
    uss: int
    seconds: float


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--asked", action="store_true")
    parser.add_argument("--demo", action="store_true")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="synthweb-idle-") as folder:
        running, address = _start(Path(folder), demo=chosen.demo)
        try:
            _wait_for_workers(Path(folder))
            if chosen.asked:
                for _ in range(REQUESTS):
                    urllib.request.urlopen(f"{address}account/login/").read()
            time.sleep(chosen.seconds)
            rows = _rows(running.pid)
        finally:
            running.send_signal(signal.SIGINT)
            running.wait(120)
    for row in [*rows, _sum(rows)]:
        sizes = f"{row.pss / 1e6:8.1f} MB PSS {row.uss / 1e6:8.1f} MB USS"
        sys.stdout.write(f"{row.name:44}{sizes} {row.seconds:7.2f} s\n")


def _start(folder: Path, *, demo: bool) -> tuple[subprocess.Popen[str], str]:
    environment = {name: text for name, text in os.environ.items() if "SYNTHWEB" not in name}
    environment |= {
        "SYNTHWEB_VAR": str(folder),
        "SYNTHWEB_PORT": str(_free_port()),
        "SYNTHWEB_DEMO_USERS": str(demo).lower(),
    }
    environment.pop("DATABASE_URL", None)
    running = subprocess.Popen(
        [sys.executable, "-m", "synthweb.local", "run"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    address = None
    for line in running.stdout:
        address = ADDRESS.search(line) or address
        if address and (LOADED in line or not demo):
            return running, address[1]
    raise SystemExit("It did not start.")


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def _wait_for_workers(folder: Path) -> None:
    """Until each of them has said that it is ready."""
    sys.path.insert(0, str(ROOT))
    from synthweb.local import processes
    from synthweb.local.paths import Places

    places = Places(folder)
    started = processes.application(places, listener=0)
    waited = [process for process in started if process.name != "web"]
    end = time.monotonic() + 120
    while not all(_is_ready(places.logs / f"{process.name}.log") for process in waited):
        if time.monotonic() > end:
            raise SystemExit(f"The workers are not ready after two minutes: {places.logs}")
        time.sleep(0.2)


def _is_ready(log: Path) -> bool:
    return log.exists() and bool(READY.search(log.read_text()))


def _rows(pid: int) -> list[Row]:
    """The supervisor and what it started, a parent before its children."""
    top = psutil.Process(pid)
    rows = [_row(top, "make run")]
    for child in top.children():
        name = _name(child)
        rows.append(_row(child, name))
        rows += [_row(each, f"{name}, child") for each in child.children(recursive=True)]
    return rows


def _name(process: psutil.Process) -> str:
    words = process.cmdline()
    for name in ("gunicorn", "redis-server"):
        if any(name in word for word in words):
            return name
    if "worker" in words:
        return f"worker of {words[words.index('-Q') + 1]}"
    return "beat" if "beat" in words else " ".join(words)[:40]


def _row(process: psutil.Process, name: str) -> Row:
    memory, times = process.memory_full_info(), process.cpu_times()
    return Row(name, memory.pss, memory.uss, times.user + times.system)


def _sum(rows: list[Row]) -> Row:
    return Row(
        "together",
        sum(row.pss for row in rows),
        sum(row.uss for row in rows),
        sum(row.seconds for row in rows),
    )


if __name__ == "__main__":
    main()
