"""Pages for other programs: the quick start runs; of R and of spreadsheets every request that a page shows is
sent to the application, and brackets and texts are closed. R and Excel themselves are not run here."""

from __future__ import annotations

import copy
import csv
import functools
import io
import json
import re
import shlex
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from django.db import connection
from synthweb_client import Retries

from synthweb.accounts import services as accounts
from synthweb.accounts.models import User
from synthweb.runs import ranges, worker
from synthweb.runs.models import RangesJob, SynthesisRun, TableJob
from tests.cast import Cast
from tests.client import ROOT
from tests.web import scene as scenes
from tests.web.rest import Caller
from tests.web.scene import Scene

FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
OPENING, CLOSING = "([{", ")]}"
R_TOKEN = re.compile(
    r'"(?P<text>(?:[^"\\]|\\.)*)"|(?P<number>\d+(?:\.\d+)?)|(?P<name>[A-Za-z_.][\w.]*(?:\$\w+)*)'
    r"|(?P<sign>\|>|<-|!=|[-()\[\]{}=,+*/!\\$])|(?P<space>\s+)"
)


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / "docs" / page).read_text("utf-8")
    return [block for said, block in FENCED.findall(text) if said == language]


# --- the quick start ----------------------------------------------------------------------------------------
def token_of(user: User, *scopes: str) -> str:
    return accounts.create_token(user=user, name="quick", scopes=scopes, days=1)[1]


def work(_seconds: float) -> None:
    """What the workers do while a program waits."""
    for table in TableJob.objects.filter(state=TableJob.State.WAITING):
        worker.table_job(code=table.code)
    for run in SynthesisRun.objects.filter(state=SynthesisRun.State.HELD):
        worker.synthesize(code=run.code)
    for looked in RangesJob.objects.filter(state=RangesJob.State.WAITING):
        ranges.compute(code=looked.code)
    connection.close()


def test_the_quick_start_goes_from_a_table_to_synthetic_rows(
    server: str,
    cast: Cast,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    domain = copy.deepcopy(scenes.DOMAIN)
    domain["attributes"][0]["values"].append("west")  # which no record of the table has
    Path("people.domain.json").write_text(json.dumps(domain))
    Path("people.csv").write_text(scenes.TABLE)
    monkeypatch.setenv("SYNTHWEB", server)
    monkeypatch.setenv("STEWARD", token_of(cast.steward, "read", "spend", "share"))
    monkeypatch.setenv("CUSTODIAN", token_of(cast.custodian, "read", "grant"))
    monkeypatch.setenv("ANALYST", token_of(cast.analyst, "read"))
    monkeypatch.setattr("synthweb_client.client.Retries", functools.partial(Retries, wait=work))
    names: dict[str, Any] = {}
    (block,) = blocks("quick-start.md", "python")
    exec(compile(block, "docs/quick-start.md", "exec"), names)
    account = next(names["steward"].accounts(dataset=names["table"].code)).facts
    for client in ("steward", "custodian", "analyst"):
        names[client].close()
    assert str(account.charged.epsilon) == "1"
    assert len(pd.read_csv("synthetic.csv")) == 1_000
    chosen = pd.read_csv("synthetic-20-39.csv")
    assert (len(chosen), chosen["age"].between(20, 39).all()) == (200, True)
    shown = capsys.readouterr().out
    assert shown.startswith("ready None\n")
    assert names["release"].code in shown.splitlines()[-1]


# --- R ------------------------------------------------------------------------------------------------------
def r_tokens(text: str) -> list[tuple[str, str]]:
    """The signs, names, numbers and texts of R, without comments. Errors: where a sign is none."""
    found: list[tuple[str, str]] = []
    for line in text.splitlines():
        code = re.sub(r'^((?:[^"#]|"(?:[^"\\]|\\.)*")*)#.*$', r"\1", line)
        place = 0
        while place < len(code):
            match = R_TOKEN.match(code, place)
            assert match is not None, f"not R: {code[place:]}"
            kind = match.lastgroup or ""
            if kind != "space":
                found.append((kind, match[kind]))
            place = match.end()
    return found


class Reader:
    """The values of an R expression of constants, list(), paste0() and names that are known."""

    def __init__(self, tokens: Sequence[tuple[str, str]], names: dict[str, Any]) -> None:
        self.tokens, self.names, self.place = tokens, names, 0

    def next(self) -> tuple[str, str]:
        self.place += 1
        return self.tokens[self.place - 1]

    def arguments(self) -> tuple[list[Any], dict[str, Any]]:
        """What stands between two brackets, the first of which is read."""
        plain: list[Any] = []
        named: dict[str, Any] = {}
        while self.tokens[self.place] != ("sign", ")"):
            if self.tokens[self.place + 1] == ("sign", "="):
                name = self.next()[1]
                self.next()
                named[name] = self.value()
            else:
                plain.append(self.value())
            if self.tokens[self.place] == ("sign", ","):
                self.next()
        self.next()
        return plain, named

    def value(self) -> Any:
        kind, text = self.next()
        if kind == "text":
            return json.loads(f'"{text}"')
        if kind == "number":
            return json.loads(text)
        if text in ("list", "paste0") and self.tokens[self.place] == ("sign", "("):
            self.next()
            plain, named = self.arguments()
            return "".join(plain) if text == "paste0" else named or plain
        return self.names[text]


def r_requests(text: str, names: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Address and body of each request, in order. names: what variables stand for; `chosen` is added."""
    tokens = r_tokens(text)
    for place, token in enumerate(tokens):
        if token == ("name", "chosen") and tokens[place + 1] == ("sign", "<-"):
            names["chosen"] = Reader(tokens[place + 2 :], names).value()
        elif token == ("name", "synthweb") and tokens[place + 1] == ("sign", "("):
            address, *body = Reader(tokens[place + 2 :], names).arguments()[0]
            yield address, body[0] if body else None


def test_every_request_of_the_page_for_r_is_answered(played: Scene) -> None:
    caller = Caller(played.reader, "read")
    names = {"code": played.release.code, "sample$code": played.sample.code}
    answers = {}
    for address, body in r_requests("\n".join(blocks("r.md", "r")), names):
        answer = caller.get(f"/{address}") if body is None else caller.send(f"/{address}", body)
        answers[address.replace(names["code"], "CODE")] = answer
    statuses = {address: answer.status_code for address, answer in answers.items()}
    # This release counts single columns, has no network, and no worker has made plausible tables of it.
    besides = {"releases/CODE/fit/?outcome=age&regressors=works": 422}
    besides |= {"releases/CODE/network/": 404, "releases/CODE/implicates.zip": 202}
    assert {a: s for a, s in statuses.items() if s not in (200, 201)} == besides
    assert len(statuses) == 10
    for field in ("code", "name", "guarantee"):
        assert field in answers["releases/?sort=-created_at"].json()["results"][0]
    cells = answers["releases/CODE/marginals/?columns=age"].json()["cells"]
    assert {"lower", "value", "upper"} <= cells[0].keys()
    assert "bibtex" in answers["releases/CODE/report.json"].json()["citation"]


def test_brackets_and_texts_of_the_page_for_r_are_closed() -> None:
    for block in blocks("r.md", "r"):
        assert closed(text for kind, text in r_tokens(block) if kind == "sign")


def closed(signs: Iterator[str]) -> bool:
    """Whether every bracket is closed by its own one, in order."""
    waiting: list[str] = []
    for sign in signs:
        if sign in OPENING:
            waiting.append(CLOSING[OPENING.index(sign)])
        elif sign in CLOSING and (not waiting or waiting.pop() != sign):
            return False
    return not waiting


# --- spreadsheets -------------------------------------------------------------------------------------------
def test_every_request_of_the_page_for_spreadsheets_is_answered(played: Scene) -> None:
    caller = Caller(played.reader, "read")
    named = {"SAMPLE": played.sample.code, "CODE": played.release.code}
    answers = []
    for line in "".join(blocks("spreadsheets.md", "")).splitlines():
        words = shlex.split(line)
        if words[0] != "curl":
            continue
        address = next(word for word in words if word.startswith("$SYNTHWEB/api/v1"))
        for word, code in named.items():
            address = address.replace(word, code)
        address = address.removeprefix("$SYNTHWEB/api/v1")
        body = json.loads(words[words.index("-d") + 1]) if "-d" in words else None
        answers.append(caller.get(address) if body is None else caller.send(address, body))
    assert [answer.status_code for answer in answers] == [200, 200, 200, 201]
    workbook, table, noisy = (answer.getvalue() for answer in answers[:3])
    with zipfile.ZipFile(io.BytesIO(workbook)) as archive:
        assert archive.read("xl/worksheets/sheet1.xml").count(b"<row>") == 1 + 50
    assert len(pd.read_csv(io.BytesIO(table))) == 50
    assert len(pd.read_csv(io.BytesIO(noisy))) > 0


def test_the_query_for_excel_names_a_table_and_is_closed(played: Scene) -> None:
    (query,) = blocks("spreadsheets.md", "m")
    signs = re.sub(r'"[^"]*"', "", query)
    assert closed(sign for sign in signs if sign in OPENING + CLOSING)
    assert '"' not in signs
    steps = re.findall(r"^    (\w+) =", query, re.MULTILINE)
    assert query.rstrip().endswith(f"in\n    {steps[-1]}")
    path = re.search(r'RelativePath = "([^"]+)"', query)
    wanted = re.search(r'Query = \[(\w+) = "(\w+)"\]', query)
    assert path is not None and wanted is not None
    address = path[1].removeprefix("api/v1").replace("SAMPLE", played.sample.code)
    answer = Caller(played.reader, "read").get(f"{address}?{wanted[1]}={wanted[2]}")
    lines = list(csv.reader(io.StringIO(answer.getvalue().decode())))
    assert lines[0] == ["region", "age", "works"]
