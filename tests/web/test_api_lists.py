"""Lists: narrowed, sorted, in pages; never more than the caller may see."""

from __future__ import annotations

import datetime as dt
from typing import Any

from synthweb.api import filters
from synthweb.ledger.models import LedgerEntry
from synthweb.releases import services as releases
from synthweb.runs.models import SynthesisRun
from tests.cast import Cast
from tests.web.rest import Caller
from tests.web.scene import Scene

TODAY = dt.datetime.now(dt.UTC).date()
BEFORE, LATER = (
    TODAY - dt.timedelta(days=9),
    TODAY + dt.timedelta(days=9),
)  # whatever midnight the tests run over


def found(caller: Caller, address: str, key: str = "code") -> list[Any]:
    response = caller.get(address)
    assert response.status_code == 200, response.content
    body = response.json()
    assert body["count"] == len(body["results"])
    return [row[key] for row in body["results"]]


def test_runs_are_narrowed_and_sorted(cast: Cast, played: Scene) -> None:
    calls = Caller(cast.steward, "read")
    both = [played.waiting.code, played.run.code]
    for query, expected in {
        "": both,
        "state=finished": [played.run.code],
        "state=held": [played.waiting.code],
        "mechanism=independent": both,
        "mechanism=random": [],
        f"dataset={played.dataset.code}": both,
        f"dataset={played.fresh.code}": [],
        "q=first+release": both,
        "q=first+nowhere": [],
        f"since={BEFORE}": both,
        f"since={LATER}": [],
        f"until={LATER}&state=held": [played.waiting.code],
        f"until={BEFORE}": [],
        "sort=created_at": both[::-1],
        "sort=-created_at": both,
    }.items():
        assert found(calls, f"/runs/?{query}") == expected, query


def test_a_day_is_a_whole_day_in_utc(cast: Cast, played: Scene) -> None:
    calls = Caller(cast.steward, "read")
    for moment, inside in (
        (dt.datetime(2026, 3, 1, 0, 0, tzinfo=dt.UTC), True),
        (dt.datetime(2026, 3, 1, 23, 59, 59, 999999, tzinfo=dt.UTC), True),
        (dt.datetime(2026, 2, 28, 23, 59, 59, 999999, tzinfo=dt.UTC), False),
        (dt.datetime(2026, 3, 2, tzinfo=dt.UTC), False),
    ):
        SynthesisRun.objects.filter(pk=played.run.pk).update(created_at=moment)
        assert (
            played.run.code in found(calls, "/runs/?since=2026-03-01&until=2026-03-01")
        ) is inside, moment


def test_datasets_are_narrowed_and_sorted(cast: Cast, played: Scene) -> None:
    calls = Caller(cast.steward, "read")
    both = [played.fresh.code, played.dataset.code]
    for query, expected in {
        "": both,
        "state=ready": both,
        "state=refused": [],
        f"account={played.account.code}": [played.dataset.code],
        "q=later": [played.fresh.code],
        "sort=name": [played.dataset.code, played.fresh.code],
        "sort=-name": [played.fresh.code, played.dataset.code],
        f"since={LATER}": [],
    }.items():
        assert found(calls, f"/datasets/?{query}") == expected, query


def test_releases_are_narrowed_and_sorted(cast: Cast, played: Scene) -> None:
    calls, code = Caller(cast.steward, "read"), played.release.code
    for query, expected in {
        f"dataset={played.dataset.code}&mechanism=independent&sort=-epsilon": [code],
        f"dataset={played.fresh.code}": [],
        "mechanism=random": [],
        "q=first": [code],
        "q=nowhere": [],
        f"since={BEFORE}&until={LATER}": [code],
        f"since={LATER}": [],
    }.items():
        assert found(calls, f"/releases/?{query}") == expected, query


def test_the_ledger_is_narrowed_and_sorted(cast: Cast, played: Scene) -> None:
    calls, address = Caller(cast.auditor, "read"), f"/accounts/{played.account.code}/entries/"
    every = list(LedgerEntry.objects.filter(account=played.account).order_by("sequence"))
    for query, expected in {
        "sort=sequence": [entry.sequence for entry in every],
        "": [entry.sequence for entry in every][::-1],
        "kind=CHARGE": [entry.sequence for entry in every if entry.kind == "CHARGE"],
        f"run={played.waiting.code}": [
            entry.sequence for entry in every if entry.run_code == played.waiting.code
        ],
        f"dataset={played.fresh.code}": [],
        f"until={BEFORE}": [],
    }.items():
        assert found(calls, f"{address}?{query}", "sequence") == expected, query


def test_budget_requests_and_accounts_are_narrowed_and_sorted(
    cast: Cast, played: Scene
) -> None:
    calls = Caller(cast.custodian, "read")
    asked = found(calls, "/budget-requests/?sort=created_at", "state")
    assert asked == ["granted", "open"]
    assert found(calls, "/budget-requests/?state=open") == [played.request.code]
    assert found(calls, f"/budget-requests/?dataset={played.fresh.code}&rule=basic") == [
        played.request.code
    ]
    assert found(calls, "/budget-requests/?rule=zcdp") == []
    assert found(calls, f"/accounts/?dataset={played.dataset.code}&rule=basic&sort=-name") == [
        played.account.code
    ]
    assert found(calls, f"/accounts/?dataset={played.fresh.code}") == []
    assert found(calls, "/accounts/?rule=zcdp") == []


def test_samples_and_shares_are_narrowed_and_sorted(cast: Cast, played: Scene) -> None:
    large = releases.draw_sample(user=cast.steward, release=played.release, rows=90)
    calls, address = Caller(cast.steward, "read"), f"/releases/{played.release.code}"
    assert found(calls, f"{address}/samples/?sort=-rows") == [
        large.code,
        played.own_sample.code,
    ]
    assert found(calls, f"{address}/samples/?sort=rows") == [played.own_sample.code, large.code]
    assert found(calls, f"{address}/samples/?since={LATER}") == []
    assert found(calls, f"{address}/grants/?sort=created_at&since={BEFORE}", "analyst") == [
        "reader"
    ]
    assert found(calls, f"{address}/grants/?until={BEFORE}", "analyst") == []


def test_a_filter_shows_nobody_what_they_may_not_see(cast: Cast, played: Scene) -> None:
    stranger = Caller(cast.stranger, "read")
    for address in (
        f"/runs/?dataset={played.dataset.code}",
        f"/datasets/?account={played.account.code}",
        f"/releases/?dataset={played.dataset.code}",
        f"/accounts/?dataset={played.dataset.code}",
        f"/budget-requests/?dataset={played.dataset.code}",
    ):
        assert found(stranger, address) == [], address
    assert (
        found(Caller(cast.analyst, "read"), f"/releases/?dataset={played.dataset.code}") == []
    )


def test_next_and_previous_keep_the_filter(cast: Cast, played: Scene) -> None:
    calls = Caller(cast.steward, "read")
    first = calls.get(f"/runs/?dataset={played.dataset.code}&sort=created_at&limit=1").json()
    assert (first["count"], first["previous"]) == (2, None)
    second = calls.client.get(first["next"]).json()
    assert [row["code"] for row in first["results"] + second["results"]] == [
        played.run.code,
        played.waiting.code,
    ]
    assert second["next"] is None
    assert f"dataset={played.dataset.code}" in second["previous"]


def test_every_field_of_every_query_narrows_searches_or_sorts() -> None:
    for query in filters.Query.__subclasses__() + filters.DatedQuery.__subclasses__():
        used = {*query.lookups, *(["q"] if query.searched else []), "sort"}
        assert set(query().fields) <= used, query
