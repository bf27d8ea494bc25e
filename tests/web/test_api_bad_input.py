"""What is no amount, no field, no document: a problem that names field, rule and repair, and nothing is
spent."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.conf import settings

from synthweb.ledger.models import BudgetRequest, LedgerEntry
from synthweb.runs.models import SynthesisRun
from tests.cast import Cast
from tests.web.rest import PROBLEM, Caller
from tests.web.scene import Scene

DIGITS = "1" * 400
NO_AMOUNT = [
    *(
        "-1",
        '"-1"',
        "-0.5",
        '"-0"',
        "NaN",
        '"nan"',
        '"NaN"',
        "Infinity",
        "-Infinity",
        '"inf"',
        '"Infinity"',
    ),
    *(
        "1e-400",
        '"1e-400"',
        "1e400",
        '"1e400"',
        '"１"',
        '"¹"',
        DIGITS,
        f'"{DIGITS}"',
        f"0.{DIGITS}",
        f'"0.{DIGITS}"',
    ),
    *(
        "true",
        "false",
        "null",
        "[]",
        "{}",
        "[1]",
        '""',
        '" "',
        '" 1"',
        '"1_0"',
        '"0x1"',
        '"1,5"',
        '"1/0"',
        '"one"',
        '"1e5000"',
    ),
]
NOTHING = ["0", '"0"', "0.0", "-0.0", '"0e0"', '"0/7"']


def state() -> tuple[Any, ...]:
    """Everything that spending would change."""
    requests = BudgetRequest.objects.order_by("pk").values_list("pk", "state")
    return LedgerEntry.objects.count(), SynthesisRun.objects.count(), list(requests)


def assert_refused(response: Any, *, pointer: str | None) -> None:
    assert response.status_code in (400, 422), response.content
    assert response["Content-Type"] == PROBLEM
    assert response.json()["errors"], response.content
    for fault in response.json()["errors"]:
        assert fault["rule"]
        assert fault["repair"]
        if pointer is not None:
            assert fault["pointer"] == pointer, response.content


def with_raw(body: dict[str, Any], field: str, text: str) -> str:
    """The body as JSON, with `text` as it stands for the value of `field`."""
    return json.dumps({**body, field: "@@"}).replace('"@@"', text)


@pytest.mark.slow
def test_what_is_no_amount_is_refused_by_every_address_that_takes_one(
    cast: Cast, played: Scene
) -> None:
    steward, custodian = Caller(cast.steward, "spend"), Caller(cast.custodian, "grant")
    spec = {
        "dataset": played.dataset.code,
        "mechanism": "independent",
        "epsilon": "0.1",
        "delta": "1e-9",
    }
    wanted = {
        "dataset": played.dataset.code,
        "rule": "basic",
        "epsilon": "1",
        "delta": "1e-9",
        "reason": "More.",
    }
    places: list[tuple[Caller, str, dict[str, Any], str]] = [
        *((steward, "/runs/", spec, field) for field in ("epsilon", "delta")),
        *((steward, "/budget-requests/", wanted, field) for field in ("epsilon", "delta")),
        (
            steward,
            "/budget-requests/",
            {"dataset": played.dataset.code, "rule": "zcdp", "reason": "More."},
            "rho",
        ),
        *(
            (
                custodian,
                f"/budget-requests/{played.request.code}/grant/",
                {"reason": "Yes."},
                field,
            )
            for field in ("epsilon", "delta", "rho")
        ),
    ]
    before = state()
    for caller, address, body, field in places:
        for text in NO_AMOUNT + ([] if field == "delta" else NOTHING):
            response = caller.raw(address, with_raw(body, field, text))
            try:
                assert_refused(response, pointer=f"/{field}")
            except AssertionError as error:
                raise AssertionError(f"{address} {field} {text[:50]}") from error
    assert state() == before


NO_RUNS = [
    *(
        ("rows", text)
        for text in (
            "-1",
            "1.5",
            '"5"',
            '"５"',
            "true",
            "1e3",
            "NaN",
            DIGITS,
            str(10**10),
            "[]",
        )
    ),
    *(("dataset", text) for text in ("5", "null", "[]", '""', "{}")),
    *(("mechanism", text) for text in ("5", "null", '""', '"no-such-mechanism"')),
    *(
        ("parameters", text)
        for text in ("5", "null", "[]", '"x"', '{"no_such": 1}', '{"x": {}}', '{"x": [1]}')
    ),
    *(("name", text) for text in ("5", "[]", f'"{"x" * 201}"', '"\\u0000"', '"\\ud800"')),
    ("no_such_field", "1"),
    ("Epsilon", "1"),
]


def test_what_is_no_run_names_the_field_and_spends_nothing(
    cast: Cast, played: Scene, subtests: pytest.Subtests
) -> None:
    spec = {
        "dataset": played.dataset.code,
        "mechanism": "independent",
        "epsilon": "0.1",
        "delta": "1e-9",
    }
    before = state()
    caller = Caller(cast.steward, "spend")
    for field, text in NO_RUNS:
        with subtests.test(field=field, text=text[:40]):
            response = caller.raw("/runs/", with_raw(spec, field, text))
            assert_refused(response, pointer=None)
            named = response.json()["errors"][0]
            assert named["pointer"].startswith(f"/{field}") or field in named["rule"], named
            assert state() == before


def test_a_degree_larger_than_the_attributes_is_refused_with_its_name(
    cast: Cast, played: Scene
) -> None:
    spec = {
        "dataset": played.dataset.code,
        "mechanism": "bayesian-network",
        "epsilon": "0.1",
        "delta": "1e-9",
    }
    before = state()
    for degree in (4, 40, 10**30, -1, "2", "x", 1.5, True, None):
        response = Caller(cast.steward, "spend").send(
            "/runs/", {**spec, "parameters": {"degree": degree}}
        )
        assert_refused(response, pointer="/parameters/degree")
        assert state() == before


NO_REQUESTS = [
    "",
    "{",
    "[]",
    "5",
    "null",
    '"text"',
    "{'a': 1}",
    '{"epsilon": 1} {}',
    '{"epsilon": 1, "epsilon": 2}',
    "\ufeff{}",
    "[" * 100_000,
    '{"parameters":' * 5_000 + "1" + "}" * 5_000,
    '{"parameters":' * 40 + "1" + "}" * 40,
    '{"dataset": "\\ud800"}',
    '{"\\u0000": 1}',
]


def test_a_body_that_is_no_request_is_a_problem(
    cast: Cast, played: Scene, subtests: pytest.Subtests
) -> None:
    before = state()
    caller = Caller(cast.steward, "spend")
    for text in NO_REQUESTS:
        with subtests.test(text=text[:40]):
            assert_refused(caller.raw("/runs/", text), pointer=None)
            assert state() == before


def test_bytes_that_are_no_text_are_a_problem(cast: Cast) -> None:
    client = Caller(cast.steward, "spend").client
    for body in (b"\xff\xfe{", b'{"name": "\xe9"}', '{"name": 1}'.encode("utf-16")):
        assert_refused(
            client.post("/api/v1/runs/", body, content_type="application/json"), pointer=None
        )


def test_a_body_without_end_is_refused_before_it_is_read(cast: Cast, played: Scene) -> None:
    before = state()
    text = json.dumps({"reason": "x" * settings.DATA_UPLOAD_MAX_MEMORY_SIZE})
    response = Caller(cast.steward, "spend").raw("/budget-requests/", text)
    assert response.status_code == 413
    assert response["Content-Type"] == PROBLEM
    assert state() == before


NO_FILTERS = [
    "limit=0",
    "limit=-1",
    "limit=x",
    "limit=１",
    "offset=-1",
    f"offset={10**30}",
    "offset=",
    "state=none",
    "sort=password",
    "since=yesterday",
    "since=2026-13-01",
    "until=10000-01-01",
    "no_such=1",
    "dataset=" + "x" * 17,
    "q=" + "x" * 201,
]


def test_a_filter_that_is_none_is_a_problem_and_not_the_whole_list(
    cast: Cast, played: Scene, subtests: pytest.Subtests
) -> None:
    caller = Caller(cast.steward, "read")
    for query in NO_FILTERS:
        with subtests.test(query=query[:40]):
            response = caller.get(f"/runs/?{query}")
            assert_refused(response, pointer=f"/{query.partition('=')[0]}")
