"""Whether an installation stays well while many people read and some start runs.

    python bench/load.py [--readers 50] [--submitters 10] [--seconds 60] [--think 1.0] [--requests 0]
        [--faults restart disk]

Builds an installation like that of bench/pages.py in a temporary folder, starts it as `make run` does
(gunicorn, three workers, beat and Redis, on SQLite), and lets people in. Each reader is signed in, opens one
page of their role after another, and now and then a static file; between two requests passes a random time,
--think seconds in the mean. Each submitter starts runs of `independent` by REST, with a key against
repetition, and asks for their state until they have ended. Limits of requests are off, because all people
come from one address. Everybody keeps a connection, as browsers do. --requests: go on until there were so
many. --faults: on PostgreSQL, which is killed and started again, or the disk of vault and answers is full for
a while (a small tmpfs: root alone), one of these all the time with a pause between them. Then 503 with
Retry-After, and 507 to what stores something, are answers that the documents promise, and what was submitted
is sent again with its key. The last lines are

    answers 200: 2301, 202: 84, 503: 25; dropped 0
    errors 0 of 2410 requests; pages p95 1.20 s, static p95 0.90 s, ratio 1.33; runs finished 84 of 84

with exit code 1 if there was an error, a run that did not finish (where nothing is broken), more than one run
for a key, or a ratio above 2 (where nothing is broken). dropped: no answer on a connection that stood.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import itertools
import json
import os
import random
import select
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import nemeses, pages

MOST_RATIO = 2.0
STATIC = "/static/vendor/plotly-figures.min.js"
PAGES_FOR_A_STATIC_FILE = 4
PATIENCE = (
    300.0  # seconds until the installation is up, or the runs that were started have ended
)
OVER = ("finished", "failed", "cancelled")
PAUSE, AWAY = 10.0, 2.0  # seconds between two faults, and for which one lasts at most


End = Callable[[], bool]
ATTEMPTS = 100


@dataclass
class Seen:
    """What all people together have seen: seconds by kind of request, errors, and states of runs."""

    times: dict[str, list[float]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    runs: dict[str, str] = field(default_factory=dict)
    statuses: Counter[int] = field(default_factory=Counter)
    is_broken: bool = False  # whether anything is broken on purpose
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, kind: str, path: str, answer: Answer) -> None:
        promised = self.is_broken and (
            (answer.status == 503 and answer.can_wait)
            or (answer.status == 507 and kind == "submitted")
        )
        with self.lock:
            self.statuses[answer.status] += 1
            self.times.setdefault(kind, []).append(answer.seconds)
            if not (200 <= answer.status < 300 or promised):
                self.errors.append(f"{answer.status} {path}")

    @property
    def number(self) -> int:
        return sum(self.statuses.values())

    def high(self, kind: str) -> float:
        """The 95th percentile."""
        return statistics.quantiles(self.times[kind], n=20)[-1]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came: status 0 where nothing did. can_wait: whether it says when to come again."""

    status: int
    body: bytes = b""
    seconds: float
    can_wait: bool = False


class Person:
    """One who keeps a connection to where the installation answers."""

    def __init__(self, port: int) -> None:
        self._line = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def ask(
        self, method: str, path: str, headers: dict[str, str], body: bytes | None = None
    ) -> Answer:
        begun = time.monotonic()
        self._leave_what_was_closed()
        try:
            self._line.request(method, path, body, {"Host": "localhost", **headers})
            answer = self._line.getresponse()
            return Answer(
                status=answer.status,
                body=answer.read(),
                seconds=time.monotonic() - begun,
                can_wait="Retry-After" in answer.headers,
            )
        except (OSError, http.client.HTTPException):
            self._line.close()
            return Answer(status=0, seconds=time.monotonic() - begun)

    def _leave_what_was_closed(self) -> None:
        """A connection that the server has closed, which it says, is no longer used: no client does."""
        if self._line.sock is not None and select.select([self._line.sock], [], [], 0)[0]:
            self._line.close()


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
    port: int, seen: Seen, paths: list[str], cookie: dict[str, str], end: End, think: float
) -> None:
    """One reader, until `end`."""
    chance, person = random.Random(), Person(port)
    for number in itertools.count():
        if end():
            return
        is_static = number % (PAGES_FOR_A_STATIC_FILE + 1) == PAGES_FOR_A_STATIC_FILE
        path = STATIC if is_static else chance.choice(paths)
        answer = person.ask("GET", path, cookie)
        seen.note("static" if is_static else "pages", path, answer)
        time.sleep(chance.uniform(0, 2 * think))


def submit(
    port: int, seen: Seen, dataset: str, token: dict[str, str], end: End, think: float
) -> None:
    """One submitter, until `end` and until the last run has ended."""
    person = Person(port)
    order = {"dataset": dataset, "mechanism": "independent", "epsilon": "0.1", "delta": "0"}
    while not end():
        key = {"Idempotency-Key": pages.new_code(), "Content-Type": "application/json"}
        for _ in range(ATTEMPTS):
            answer = person.ask(
                "POST", "/api/v1/runs/", {**token, **key}, json.dumps(order).encode()
            )
            seen.note("submitted", "/api/v1/runs/", answer)
            if answer.status == 202:
                break
            time.sleep(think)
        else:
            continue
        code = json.loads(answer.body)["code"]
        latest = time.monotonic() + PATIENCE
        state = ""
        while state not in OVER and time.monotonic() < latest:
            time.sleep(think)
            answer = person.ask("GET", f"/api/v1/runs/{code}/", token)
            seen.note("states", f"/api/v1/runs/{code}/", answer)
            state = json.loads(answer.body)["state"] if answer.status == 200 else ""
        with seen.lock:
            if code in seen.runs:
                seen.errors.append(f"two keys have the run {code}")
            seen.runs[code] = state


@contextlib.contextmanager
def installation(folder: Path) -> Iterator[int]:
    """All processes of `make run` over what is in this folder; the port at which they answer."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    # It is not a first start, which would make demo data.
    (folder / "run").mkdir(exist_ok=True)
    (folder / "run" / "demo-loaded").touch()
    environment = {
        **os.environ,
        "SYNTHWEB_REST_PER_MINUTE": "0",
        "SYNTHWEB_VAR": str(folder),
        "SYNTHWEB_PORT": str(port),
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
        while Person(port).ask("GET", "/livez", {}).status != 200:
            if process.poll() is not None or time.monotonic() > latest:
                raise SystemExit((folder / "load.log").read_text())
            time.sleep(0.5)
        yield port
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=PATIENCE)


def crowd(
    office: pages.Office, port: int, given: argparse.Namespace, site: nemeses.Site | None
) -> Seen:
    """Let all of them in, and wait until they have left."""
    from synthweb.accounts import services as accounts

    seen, roles = Seen(is_broken=site is not None), ("analyst", "steward")
    cookies = {role: session(office.people[role]) for role in roles}
    _, secret = accounts.create_token(
        user=office.people["steward"], name="load", scopes=["read", "spend"], days=1
    )
    token = {"Authorization": f"Bearer {secret}"}
    # Everybody's pages are opened once: processes load what they need.
    for role in roles:
        for path in addresses(office, role):
            Person(port).ask("GET", path, cookies[role])
    latest: float = time.monotonic() + given.seconds

    def end() -> bool:
        return time.monotonic() >= latest and seen.number >= given.requests

    people = []
    for number in range(given.readers):
        role = roles[number % len(roles)]
        order = (port, seen, addresses(office, role), cookies[role], end, given.think)
        people.append(threading.Thread(target=read, args=order))
    dataset = office.real[0].dataset.code
    for _ in range(given.submitters):
        people.append(
            threading.Thread(target=submit, args=(port, seen, dataset, token, end, given.think))
        )
    if site is not None:
        people.append(threading.Thread(target=disturb, args=(site, given.faults, end)))
    for person in people:
        person.start()
    for person in people:
        person.join()
    return seen


def disturb(site: nemeses.Site, faults: list[str], end: End) -> None:
    """Break one thing after another for a while, until `end`; then all is whole."""
    while not end():
        time.sleep(PAUSE)
        away = random.uniform(0, AWAY)
        if random.choice(faults) == "restart":
            site.database.kill()
            time.sleep(away)
            site.database.start()
        else:
            with site.full_disk():
                time.sleep(away)


def main() -> int:
    """Print what they saw; 1 if the installation was not well."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--readers", type=int, default=50)
    options.add_argument("--submitters", type=int, default=10)
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--think", type=float, default=1.0)
    options.add_argument("--requests", type=int, default=0)
    options.add_argument("--faults", nargs="+", choices=("restart", "disk"), default=[])
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name) / "var"
        folder.mkdir(mode=0o700)
        site = None
        if given.faults:
            from tests import services

            if "disk" in given.faults:
                stack.enter_context(nemeses.small_disk(folder))
            site = nemeses.Site(
                folder=folder, database=stack.enter_context(services.postgres_server())
            )
        pages.begin(folder, database=site.database.address if site else "")
        office = pages.Office(datasets=5, releases=20)
        with installation(folder) as port:
            seen = crowd(office, port, given, site)
    for kind, times in seen.times.items():
        print(
            f"{kind}: {len(times)} answers, median {statistics.median(times):.2f} s, "
            f"p95 {seen.high(kind):.2f} s, slowest {max(times):.2f} s"
        )
    for error in sorted(set(seen.errors))[:20]:
        print(error)
    answers = ", ".join(
        f"{status}: {n}" for status, n in sorted(seen.statuses.items()) if status
    )
    print(f"answers {answers}; dropped {seen.statuses[0]}")
    ratio = seen.high("pages") / seen.high("static")
    finished = sum(state == "finished" for state in seen.runs.values())
    print(
        f"errors {len(seen.errors)} of {seen.number} requests; "
        f"pages p95 {seen.high('pages'):.2f} s, static p95 {seen.high('static'):.2f} s, "
        f"ratio {ratio:.2f}; runs finished {finished} of {len(seen.runs)}"
    )
    whole = site is not None or (ratio <= MOST_RATIO and finished == len(seen.runs))
    return 0 if whole and not seen.errors else 1


if __name__ == "__main__":
    sys.exit(main())
