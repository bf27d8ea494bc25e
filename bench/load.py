"""Whether an installation stays well while many people read and some start runs.

    python bench/load.py [--readers 50] [--submitters 10] [--seconds 60] [--think 1.0]

Builds an installation like that of bench/pages.py in a temporary folder, starts it as `make run` does (gunicorn, three
workers, beat and Redis, on SQLite), and lets people in. Each reader is signed in, opens one page of their role after
another, and now and then a static file; between two requests passes a random time, --think seconds in the mean. Each
submitter starts runs of `independent` by REST, with a key against repetition, and asks for their state until they have
ended. Limits of requests are off, because all people come from one address. Times are those of whole answers over new
connections. The last line is

    errors 0 of 2410 requests; pages p95 1.20 s, static p95 0.90 s, ratio 1.33; runs finished 84 of 84

with exit code 1 if there was an error, a run that did not finish, or a ratio above 2.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import itertools
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench import pages

MOST_RATIO = 2.0
STATIC = "/static/vendor/plotly-figures.min.js"
PAGES_FOR_A_STATIC_FILE = 4
PATIENCE = (
    300.0  # seconds until the installation is up, or the runs that were started have ended
)
OVER = ("finished", "failed", "cancelled")


@dataclass
class Seen:
    """What all people together have seen: seconds by kind of request, errors, and states of runs."""

    times: dict[str, list[float]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    runs: dict[str, str] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, kind: str, path: str, status: int, took: float) -> None:
        with self.lock:
            self.times.setdefault(kind, []).append(took)
            if not 200 <= status < 300:
                self.errors.append(f"{status} {path}")

    def high(self, kind: str) -> float:
        """The 95th percentile."""
        return statistics.quantiles(self.times[kind], n=20)[-1]


@dataclass(frozen=True)
class Address:
    """Where the installation answers."""

    port: int

    def ask(
        self, method: str, path: str, headers: dict[str, str], body: bytes | None = None
    ) -> tuple[int, bytes, float]:
        """Status, body and seconds; status 0 where there was no answer."""
        begun = time.monotonic()
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            client.request(
                method, path, body, {"Host": "localhost", "Connection": "close", **headers}
            )
            answer = client.getresponse()
            return answer.status, answer.read(), time.monotonic() - begun
        except OSError:
            return 0, b"", time.monotonic() - begun
        finally:
            client.close()


def addresses(office: pages.Office, role: str) -> list[str]:
    """The pages that people of a role open most."""
    release, dataset = office.real[-1].release.code, office.real[-1].dataset.code
    everybody = ["/", "/releases/", f"/releases/{release}/", f"/releases/{release}/look/"]
    if role == "steward":
        return [*everybody, "/datasets/", f"/datasets/{dataset}/", "/runs/"]
    return [*everybody, f"/releases/{release}/marginals/", f"/releases/{release}/receipt/"]


def session(person: Any) -> dict[str, str]:
    """The header that makes a request one of this person."""
    from django.conf import settings
    from django.test import Client

    client = Client()
    client.force_login(person)
    name = settings.SESSION_COOKIE_NAME
    return {"Cookie": f"{name}={client.cookies[name].value}"}


def read(
    at: Address, seen: Seen, paths: list[str], cookie: dict[str, str], end: float, think: float
) -> None:
    """One reader, until `end`."""
    chance = random.Random()
    for number in itertools.count():
        if time.monotonic() >= end:
            return
        is_static = number % (PAGES_FOR_A_STATIC_FILE + 1) == PAGES_FOR_A_STATIC_FILE
        path = STATIC if is_static else chance.choice(paths)
        status, _body, took = at.ask("GET", path, cookie)
        seen.note("static" if is_static else "pages", path, status, took)
        time.sleep(chance.uniform(0, 2 * think))


def submit(
    at: Address, seen: Seen, dataset: str, token: dict[str, str], end: float, think: float
) -> None:
    """One submitter, until `end` and until the last run has ended."""
    order = {"dataset": dataset, "mechanism": "independent", "epsilon": "0.1", "delta": "0"}
    while time.monotonic() < end:
        key = {"Idempotency-Key": pages.new_code(), "Content-Type": "application/json"}
        status, body, took = at.ask(
            "POST", "/api/v1/runs/", {**token, **key}, json.dumps(order).encode()
        )
        seen.note("submitted", "/api/v1/runs/", status, took)
        if status != 202:
            continue
        code = json.loads(body)["code"]
        latest = time.monotonic() + PATIENCE
        state = ""
        while state not in OVER and time.monotonic() < latest:
            time.sleep(think)
            status, body, took = at.ask("GET", f"/api/v1/runs/{code}/", token)
            seen.note("states", f"/api/v1/runs/{code}/", status, took)
            state = json.loads(body)["state"] if status == 200 else ""
        with seen.lock:
            seen.runs[code] = state


@contextlib.contextmanager
def installation(folder: Path) -> Iterator[Address]:
    """All processes of `make run` over what is in this folder."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        at = Address(probe.getsockname()[1])
    # It is not a first start, which would make demo data.
    (folder / "run").mkdir(exist_ok=True)
    (folder / "run" / "demo-loaded").touch()
    environment = {
        **os.environ,
        "SYNTHWEB_REST_PER_MINUTE": "0",
        "SYNTHWEB_VAR": str(folder),
        "SYNTHWEB_PORT": str(at.port),
        # The process that watches the others asks for health by its number.
        "SYNTHWEB_HOSTS": "localhost,127.0.0.1",
    }
    command = [sys.executable, "-m", "synthweb.local", "run"]
    with (folder / "load.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=pages.ROOT, env=environment, stdout=log, stderr=log
        )
    try:
        latest = time.monotonic() + PATIENCE
        while at.ask("GET", "/livez", {})[0] != 200:
            if process.poll() is not None or time.monotonic() > latest:
                raise SystemExit((folder / "load.log").read_text())
            time.sleep(0.5)
        yield at
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=PATIENCE)


def crowd(office: pages.Office, at: Address, given: argparse.Namespace) -> Seen:
    """Let all of them in, and wait until they have left."""
    from synthweb.accounts import services as accounts

    seen, roles = Seen(), ("analyst", "steward")
    cookies = {role: session(office.people[role]) for role in roles}
    _, secret = accounts.create_token(
        user=office.people["steward"], name="load", scopes=["read", "spend"], days=1
    )
    token = {"Authorization": f"Bearer {secret}"}
    # Everybody's pages are opened once: processes load what they need.
    for role in roles:
        for path in addresses(office, role):
            at.ask("GET", path, cookies[role])
    end = time.monotonic() + given.seconds
    people = []
    for number in range(given.readers):
        role = roles[number % len(roles)]
        order = (at, seen, addresses(office, role), cookies[role], end, given.think)
        people.append(threading.Thread(target=read, args=order))
    dataset = office.real[0].dataset.code
    for _ in range(given.submitters):
        people.append(
            threading.Thread(target=submit, args=(at, seen, dataset, token, end, given.think))
        )
    for person in people:
        person.start()
    for person in people:
        person.join()
    return seen


def main() -> int:
    """Print what they saw; 1 if the installation was not well."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--readers", type=int, default=50)
    options.add_argument("--submitters", type=int, default=10)
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--think", type=float, default=1.0)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pages.begin(folder)
        office = pages.Office(datasets=5, releases=20)
        with installation(folder) as at:
            seen = crowd(office, at, given)
    for kind, times in seen.times.items():
        print(
            f"{kind}: {len(times)} answers, median {statistics.median(times):.2f} s, "
            f"p95 {seen.high(kind):.2f} s, slowest {max(times):.2f} s"
        )
    for error in sorted(set(seen.errors))[:20]:
        print(error)
    ratio = seen.high("pages") / seen.high("static")
    finished = sum(state == "finished" for state in seen.runs.values())
    print(
        f"errors {len(seen.errors)} of {sum(map(len, seen.times.values()))} requests; "
        f"pages p95 {seen.high('pages'):.2f} s, static p95 {seen.high('static'):.2f} s, "
        f"ratio {ratio:.2f}; runs finished {finished} of {len(seen.runs)}"
    )
    well = not seen.errors and ratio <= MOST_RATIO and finished == len(seen.runs)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
