"""The storm of `bench/storm.py` over the processes of docker-compose.yml: its command lines with its environment, on a PostgreSQL and a Redis
of this machine (`tests/e2e/composed.py`).

Runs are submitted by REST, two at a time, under keys of idempotency: whoever gets no answer asks again. Meanwhile one process at a time gets SIGKILL,
each of `TARGETS` in turn: parent and pool child of the confidential worker at a time drawn over the charged stage of a run, the
others while runs are open. It is started again, as `restart: unless-stopped` does. A killed run waits for its lease of a minute; others
go on. Afterwards every run has to be over, and as many as there are keys.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import statistics
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import psutil

PATIENCE = 900.0  # seconds until something that should happen counts as not happening
LOOKS = 0.005  # seconds between two looks for a run that was charged
AGAIN = (409, 429, 500, 502, 503)
"""Answers after which a program asks again under the same key."""
TARGETS = {
    "parent": "worker-confidential",
    "child": "worker-confidential",
    "web": "web",
    "beat": "beat",
    "default": "worker-default",
}
"""What is killed of which service: the first process of it, but for the child."""
OF_RUNS = ("parent", "child")
SUBMITTERS = 2


class Storm:
    """An installation, a dataset with a large budget, and what was done to both."""

    def __init__(self, installation: Any, *, method: str, records: int) -> None:
        from storm import dataset_of

        from synthweb.accounts import services as accounts

        self.installation, self.method = installation, method
        self.dataset, steward = dataset_of(records, read=_read_by_worker)
        scopes = ["read", "spend"]
        self._token = accounts.create_token(user=steward, name="storm", scopes=scopes, days=1)[
            1
        ]
        self._pool = ThreadPoolExecutor(SUBMITTERS)
        self._asked: list[Future[str]] = []
        self.hits: dict[str, list[str]] = {}
        self._struck: set[tuple[str, int]] = set()
        self.kills = dict.fromkeys(TARGETS, 0)
        self.faults: list[str] = []

    def ask_for_runs(self) -> None:
        """Keep so many runs waiting that no worker is idle."""
        from synthweb.runs.models import SynthesisRun

        waiting = SynthesisRun.objects.filter(state=SynthesisRun.State.HELD).count()
        pending = sum(not each.done() for each in self._asked)
        for _ in range(SUBMITTERS + 1 - waiting - pending):
            self._asked.append(self._pool.submit(self._submit, str(uuid.uuid4())))

    def _submit(self, key: str) -> str:
        """The code of the run that the web made for a key."""
        body = {"dataset": self.dataset.code, "mechanism": self.method, "name": "Storm"}
        request = urllib.request.Request(
            f"{self.installation.address}/api/v1/runs/",
            json.dumps({**body, "epsilon": 0.5, "delta": "1e-9"}).encode(),
            {
                "Authorization": f"Bearer {self._token}",
                "Content-Type": "application/json",
                "Idempotency-Key": key,
            },
        )
        end = time.monotonic() + PATIENCE
        while True:
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    return str(json.load(answer)["code"])
            except urllib.error.HTTPError as error:
                if error.code not in AGAIN or time.monotonic() > end:
                    raise
            except (
                OSError,
                http.client.HTTPException,
            ):  # killed in the middle of it, or not yet back
                if time.monotonic() > end:
                    raise
            time.sleep(0.5)

    def strike(self, target: str) -> None:
        """Kill one process, and start its service again."""
        self.ask_for_runs()
        run = _wait(self._charged_run) if target in OF_RUNS else None
        time.sleep(random.uniform(0, _typical_charge() if run else 1.0))
        name = TARGETS[target]
        process = psutil.Process(self.installation.processes[name].pid)
        victim = process
        if target == "child":
            children = process.children()
            # Its parent may be about to make a new one.
            if not children:
                return
            victim = children[0]
        if run is not None:
            # Its worker is dead from now on: the run stays charged until its lease is over, and somebody else takes it.
            self._struck.add((run.code, run.lease_token))
            run.refresh_from_db()
            if run.state == run.State.CHARGED:
                self.hits.setdefault(target, []).append(run.code)
        with contextlib.suppress(psutil.NoSuchProcess):
            victim.kill()
        self.kills[target] += 1
        if target != "child":
            self.installation.processes[name].wait()
            self.installation.start_service(name)
            if target == "web":
                self._until_web_answers()

    def _charged_run(self) -> Any:
        """A run that a worker is at, charged and without its answers."""
        from synthweb.runs.models import SynthesisRun

        self.ask_for_runs()
        charged = SynthesisRun.objects.filter(state=SynthesisRun.State.CHARGED, lease_held=True)
        mine = (run for run in charged if (run.code, run.lease_token) not in self._struck)
        return next(mine, None)

    def _until_web_answers(self) -> None:
        """Its port is free when the workers of the killed one have noticed; until then it ends, and is started again."""

        def answers() -> bool:
            if self.installation.processes["web"].poll() is not None:
                self.installation.start_service("web")
            try:
                with urllib.request.urlopen(
                    f"{self.installation.address}/livez", timeout=5
                ) as answer:
                    return bool(answer.status == 200)
            except OSError:
                return False

        _wait(answers, looks=0.5)

    def finish(self) -> None:
        """Everything that was asked for is answered, and every run is over."""
        from synthweb.runs.models import SynthesisRun

        codes = [each.result(timeout=PATIENCE) for each in self._asked]
        self._pool.shutdown()
        if len(set(codes)) != len(codes) or len(codes) != SynthesisRun.objects.count():
            self.faults.append(f"{SynthesisRun.objects.count()} runs for {len(codes)} keys")
        end = time.monotonic() + PATIENCE
        while any(run.is_open for run in SynthesisRun.objects.all()):
            if time.monotonic() > end:
                break
            time.sleep(1.0)


def storm(*, method: str, records: int, kills: int, minutes: float) -> int:
    from tests.e2e.composed import running_installation

    with running_installation() as installation:
        for name in list(os.environ):
            if name.startswith("SYNTHWEB_"):
                del os.environ[name]
        os.environ |= installation.environment("web")
        import django

        django.setup()
        from storm import broken, judged

        from synthweb.runs.models import SynthesisRun

        made = Storm(installation, method=method, records=records)
        made.ask_for_runs()
        _wait(_has_finished, looks=0.5)
        ends = time.monotonic() + 60 * minutes
        targets = list(TARGETS)
        while sum(made.kills.values()) < kills and time.monotonic() < ends:
            made.strike(targets[sum(made.kills.values()) % len(targets)])
        made.finish()
        runs = list(SynthesisRun.objects.all())
        made.faults += [what for run in runs for what in broken(run)]
        hit = [run for run in runs if any(run.code in codes for codes in made.hits.values())]
        forfeited = sum(run.state == run.State.FAILED for run in hit)
        killed = ", ".join(f"{target} {number}" for target, number in made.kills.items())
        print(
            f"killed: {killed}; {len(runs)} runs, {len(hit)} of them hit while they were charged"
        )
        for what in made.faults:
            print(what)
        return max(judged(made.dataset, hit, forfeited), int(bool(made.faults)))


def _read_by_worker(dataset: Any, steward: Any) -> None:
    from synthweb.runs import services

    services.request_ingest(dataset=dataset, actor=steward)

    def is_read() -> bool:
        dataset.refresh_from_db()
        return bool(dataset.status == dataset.Status.READY)

    _wait(is_read, looks=0.5)


def _has_finished() -> bool:
    from synthweb.runs.models import SynthesisRun

    return SynthesisRun.objects.filter(state=SynthesisRun.State.FINISHED).count() >= SUBMITTERS


def _typical_charge() -> float:
    """Seconds from the charge to the fit, of the newest runs that nobody killed."""
    from synthweb.runs import stages
    from synthweb.runs.models import RunEvent, SynthesisRun

    finished = SynthesisRun.objects.filter(state=SynthesisRun.State.FINISHED, attempts=1)
    seconds = []
    for run in finished.order_by("-pk")[:5]:
        at = dict(RunEvent.objects.filter(run=run).values_list("stage", "at"))
        if {stages.CHARGE.name, stages.FIT.name} <= set(at):
            between = at[stages.FIT.name] - at[stages.CHARGE.name]
            seconds.append(between.total_seconds())
    return statistics.median(seconds) if seconds else 0.1


def _wait(happened: Callable[[], Any], *, looks: float = LOOKS) -> Any:
    end = time.monotonic() + PATIENCE
    while not (what := happened()):
        if time.monotonic() > end:
            raise RuntimeError("what should happen does not")
        time.sleep(looks)
    return what
