"""Traces of the processes of docker-compose.yml, over a real broker: a request and the task that it asked for
are one trace at a collector."""

from __future__ import annotations

import json
import secrets
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests import services
from tests.collector import Collector, collecting
from tests.e2e.composed import Installation, running_installation
from tests.web import scene

pytestmark = [pytest.mark.services, pytest.mark.slow]
WORD = f"cnry{secrets.token_hex(8)}"
PEOPLE = """
import json
from synthweb.accounts import services as accounts
from synthweb.accounts.models import Role
office = accounts.create_organisation(actor="system", name="Office")
tokens = {}
for role, scopes in ((Role.STEWARD, ["read", "spend"]), (Role.CUSTODIAN, ["read", "grant"])):
    person = accounts.NewPerson(username=role.value)
    user = accounts.create_user(actor="system", organisation=office, person=person, roles=[role],
        password="correct horse battery staple", must_change_password=False)
    tokens[role.value] = accounts.create_token(user=user, name="test", scopes=scopes, days=1)[1]
print("TOKENS", json.dumps(tokens))
"""


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with collecting() as made:
        yield made


@pytest.fixture(scope="module")
def installation(collector: Collector) -> Iterator[Installation]:
    variables = {"SYNTHWEB_TRACES": collector.address}
    with ExitStack() as stack:
        yield services.require(lambda: stack.enter_context(running_installation(variables)))


class Program:
    """A program with a token."""

    def __init__(self, installation: Installation, token: str) -> None:
        self.installation, self.token = installation, token

    def send(self, method: str, address: str, body: object = None, *, raw: bytes = b"") -> Any:
        data = raw or (None if body is None else json.dumps(body).encode())
        headers = {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "text/csv" if raw else "application/json",
        }
        request = urllib.request.Request(
            f"{self.installation.address}/api/v1{address}", data, headers, method=method
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)


def test_a_request_and_its_task_are_one_trace_across_the_broker(
    installation: Installation, collector: Collector
) -> None:
    lines = installation.manage("shell", "-v", "0", "-c", PEOPLE).splitlines()
    (tokens,) = [json.loads(line.partition(" ")[2]) for line in lines if line[:6] == "TOKENS"]
    steward = Program(installation, tokens["steward"])
    custodian = Program(installation, tokens["custodian"])
    table = (scene.TABLE + f"{WORD},41,yes\n").encode()
    dataset = steward.send("POST", f"/datasets/?name={WORD}", raw=table)["code"]
    collector.until(lambda spans: any(each["name"] == "runs.table_job" for each in spans))
    steward.send(
        "PUT", f"/datasets/{dataset}/domain/?because={WORD}&lists_because={WORD}", scene.DOMAIN
    )
    wanted = {"dataset": dataset, "rule": "basic", "epsilon": "2", "delta": "1e-8"}
    asked = steward.send("POST", "/budget-requests/", {**wanted, "reason": WORD})
    custodian.send("POST", f"/budget-requests/{asked['code']}/grant/", {"reason": WORD})
    run = {"dataset": dataset, "mechanism": "independent", "epsilon": 1, "delta": "1e-9"}
    run["records"] = 100
    code = steward.send("POST", "/runs/", {**run, "name": WORD})["code"]

    # Web and worker send their spans when each of them likes.
    wanted_names = {"runs.synthesize", "POST api/v1/runs/"}
    spans = collector.until(lambda spans: wanted_names <= {each["name"] for each in spans})
    (task,) = [each for each in spans if each["name"] == "runs.synthesize"]
    assert task["attributes"]["synthweb.code"] == code
    (request,) = [each for each in spans if each["id"] == task["parent"]]
    assert request["name"] == "POST api/v1/runs/"
    assert request["trace"] == task["trace"]
    assert WORD.encode() not in b"".join(collector.raw)
