"""The client does what REST does: each operation of the core has a method that sends it, or a reason why not.

Operations are those of the addresses themselves, and a method is called to see what it sends: nothing here
can name one that is gone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.urls import URLPattern
from synthweb_client import (
    Account,
    AccountFacts,
    Amount,
    BudgetRequest,
    Client,
    Dataset,
    DatasetFacts,
    PaidCheck,
    Release,
    ReleaseFacts,
    RequestFacts,
    Run,
    RunFacts,
    Sample,
    SampleFacts,
    Validation,
    ValidationFacts,
)

from synthweb.api import urls

VERBS = ("get", "post", "put", "patch", "delete")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
NOTHING = Amount(epsilon=Decimal(0), delta=Decimal(0), rho=Decimal(0))

BESIDES = {
    "links/": "an extra: synthweb_client.links",
    "cities/": "an extra: synthweb_client.cities",
    "scenarios/": "an extra: Client.scenarios",
    "test-data/": "an extra: Client.save_test_data",
    "filled-counts/": "an extra without a module of the client",
    "releases/_/repaired/": "an extra: synthweb_client.repaired",
    "releases/_/test-data/": "an extra: Release.save_test_data",
    "releases/_/tables": "an extra without a module of the client: several tables",
    "datasets/_/tables/": "an extra without a module of the client: several tables",
    "accounts/_/plans/": "an extra without a module of the client: plans over years",
    "audit/": "evidence is fetched with curl and judged by one file, with no package between",
    "accounts/_/entries.": "evidence, as above",
    "accounts/_/head/": "evidence, as above",
    "signing.pub": "evidence, as above; Client takes the file",
    "verify_ledger.py": "evidence, as above",
    "me/history/": "a part of the audit log, which people read",
    "datasets/_/history/": "a part of the audit log, which people read",
    "organisation/": "administration, by people on pages",
    "people/": "administration, by people on pages",
    "webhooks/": "registered once, by a person; verify_webhook checks what comes",
    "uploads/": "tus 1.0.0, for which there are clients; Client.upload sends a file in one request",
    "references/": "a public table is chosen by a person who describes a table",
    "description-templates/": "a template is chosen by a person who describes a table",
    "datasets/_/domain/draft/template/": "a template is chosen by a person who describes a table",
    "datasets/_/domain/draft/reference/": "a public table is chosen by a person who describes a table",
    "releases/_/verification/": "the client verifies receipts itself",
    "schema/": "the description of the interface itself",
    "docs/": "the description of the interface itself",
}
"""Beginnings of addresses without a method of the core, and why."""


def dataset_of(client: Client) -> Dataset:
    facts = DatasetFacts(
        code="d",
        name="",
        description="",
        status="ready",
        refusal=None,
        steward="",
        file_kind="csv",
        table_version=1,
        form=None,
        account=None,
        created_at=NOW,
    )
    return Dataset(client._transport, facts)


def account_of(client: Client) -> Account:
    facts = AccountFacts(
        code="a",
        name="",
        rule="basic",
        relation="",
        max_records=1,
        cap=NOTHING,
        held=NOTHING,
        charged=NOTHING,
        datasets=(),
        created_at=NOW,
    )
    return Account(client._transport, facts)


def request_of(client: Client) -> BudgetRequest:
    facts = RequestFacts(
        code="b",
        dataset="d",
        account=None,
        rule="basic",
        amount=NOTHING,
        reason="",
        state="open",
        requested_by="",
        decided_by=None,
        decision_reason="",
        created_at=NOW,
        decided_at=None,
    )
    return BudgetRequest(client._transport, facts)


def run_of(client: Client) -> Run:
    facts = RunFacts(
        code="r",
        name="",
        dataset="d",
        account="a",
        spec={},
        price=NOTHING,
        state="held",
        stage="",
        progress=None,
        failure=None,
        release=None,
        checks=None,
        created_at=NOW,
        finished_at=None,
    )
    return Run(client._transport, facts)


def release_of(client: Client) -> Release:
    facts = ReleaseFacts(
        code="x",
        name="",
        description="",
        dataset="",
        mechanism="auto",
        epsilon=Decimal(1),
        delta=Decimal(0),
        relation="",
        guarantee="",
        rows=1,
        domain_digest="",
        created_at=NOW,
    )
    return Release(client._transport, facts, key=None)


def sample_of(client: Client) -> Sample:
    facts = SampleFacts(
        code="s",
        release="x",
        edition=None,
        rows=1,
        seed=None,
        commitment="",
        created_at=NOW,
    )
    return Sample(client._transport, facts, release=release_of(client))


def validation_of(client: Client) -> Validation:
    facts = ValidationFacts(
        code="v",
        release="x",
        state="finished",
        epsilon=Decimal(1),
        delta=Decimal(0),
        rho=Decimal(0),
        target_epsilon=Decimal(1),
        target_delta=Decimal(0),
        figures=(),
        created_at=NOW,
    )
    return Validation(client._transport, facts, key=None)


CHECK = PaidCheck(
    code="c",
    release="x",
    run="r",
    epsilon=Decimal(1),
    delta=Decimal(0),
    sentence="",
    chosen_after_looking=False,
    void=None,
    figures=(),
    created_at=NOW,
)
Call = Callable[[Client, Path], Any]
CALLS: dict[str, Call] = {
    "GET me/": lambda c, _: c.me(),
    "GET mechanisms/": lambda c, _: c.mechanisms(),
    "GET datasets/": lambda c, _: next(c.datasets()),
    "POST datasets/": lambda c, to: c.upload(to / "table.csv", name="t"),
    "GET datasets/_/": lambda c, _: c.dataset("d"),
    "PATCH datasets/_/": lambda c, _: dataset_of(c).rename(name="n"),
    "DELETE datasets/_/": lambda c, _: dataset_of(c).delete(),
    "PUT datasets/_/file/": lambda c, to: dataset_of(c).replace_file(to / "table.csv"),
    "PUT datasets/_/form/": lambda c, _: dataset_of(c).say_form({"delimiter": ";"}),
    "POST datasets/_/go-back/": lambda c, _: dataset_of(c).go_back(),
    "POST datasets/_/erase-earlier/": lambda c, _: dataset_of(c).erase_earlier(),
    "POST datasets/_/read-again/": lambda c, _: dataset_of(c).read_again(),
    "GET datasets/_/domain/": lambda c, _: dataset_of(c).described(),
    "PUT datasets/_/domain/": lambda c, _: dataset_of(c).describe({}, because="b"),
    "GET datasets/_/domain/draft/": lambda c, _: dataset_of(c).draft(),
    "POST datasets/_/domain/draft/": lambda c, _: dataset_of(c).import_draft({}),
    "GET datasets/_/domain/_/": lambda c, _: dataset_of(c).described(1),
    "GET datasets/_/domain/_/table-schema/": lambda c, _: dataset_of(c).table_schema(1),
    "GET budget-requests/": lambda c, _: next(c.budget_requests()),
    "POST budget-requests/": lambda c, _: c.request_budget("d", reason="r", epsilon="1"),
    "GET budget-requests/_/": lambda c, _: c.budget_request("b"),
    "POST budget-requests/_/grant/": lambda c, _: request_of(c).grant("r"),
    "POST budget-requests/_/refuse/": lambda c, _: request_of(c).refuse("r"),
    "GET accounts/": lambda c, _: next(c.accounts()),
    "GET accounts/_/": lambda c, _: c.account("a"),
    "GET accounts/_/entries/": lambda c, _: account_of(c).entries(),
    "GET runs/": lambda c, _: next(c.runs()),
    "POST runs/": lambda c, _: c.synthesize("d", epsilon="1"),
    "POST forecasts/": lambda c, _: c.forecast("d", epsilon="1"),
    "GET datasets/_/learned/": lambda c, _: dataset_of(c).learned(),
    "POST datasets/_/learned/": lambda c, _: dataset_of(c).learn(epsilon="1"),
    "GET runs/_/": lambda c, _: c.run("r"),
    "POST runs/_/cancel/": lambda c, _: run_of(c).cancel(),
    "POST runs/_/resume/": lambda c, _: run_of(c).resume(),
    "GET runs/_/log/": lambda c, _: run_of(c).log(),
    "GET releases/": lambda c, _: next(c.releases()),
    "GET releases/_/": lambda c, _: c.release("x"),
    "PATCH releases/_/": lambda c, _: release_of(c).rename(name="n"),
    "PUT releases/_/licence/": lambda c, _: release_of(c).license("CC0-1.0"),
    "GET releases/_/expected/": lambda c, _: release_of(c).estimates(),
    "GET releases/_/expected-errors/": lambda c, _: release_of(c).expected_errors(),
    "GET releases/_/first-rows/": lambda c, _: release_of(c).first_rows(),
    "GET releases/_/model/": lambda c, _: release_of(c).model(),
    "GET releases/_/recreate.py": lambda c, to: release_of(c).save_recreation(to / "r.py"),
    "GET releases/_/fit/": lambda c, _: release_of(c).fit("a", "b"),
    "GET releases/_/marginals/": lambda c, _: release_of(c).marginal("a"),
    "GET releases/_/marginals.csv": lambda c, to: release_of(c).save_noisy_tables(to / "n.csv"),
    "GET releases/_/marginals.parquet": lambda c, to: release_of(c).save_noisy_tables(
        to / "n.parquet"
    ),
    "GET releases/_/report.html": lambda c, to: release_of(c).save_report(to / "r.html"),
    "GET releases/_/report.json": lambda c, _: release_of(c).citation(),
    "GET releases/_/datacite.json": lambda c, _: release_of(c).datacite(),
    "GET releases/_/bundle.zip": lambda c, to: release_of(c).save_bundle(to / "b.zip"),
    "GET releases/_/implicates.zip": lambda c, to: release_of(c).save_implicates(to / "i.zip"),
    "GET releases/_/criteria/": lambda c, _: release_of(c).criteria(),
    "GET releases/_/paid/": lambda c, _: release_of(c).checks(),
    "POST releases/_/paid/": lambda c, _: release_of(c).check([], epsilon="1"),
    "POST releases/_/paid/price/": lambda c, _: release_of(c).check_price([], epsilon="1"),
    "GET releases/_/paid/_/receipt/": lambda c, _: release_of(c).check_receipt(CHECK),
    "POST releases/_/paid/_/void/": lambda c, _: release_of(c).void_check("c", "r"),
    "GET releases/_/allowances/": lambda c, _: release_of(c).allowances(),
    "POST releases/_/allowances/": lambda c, _: release_of(c).allow("2027-01-31", epsilon="1"),
    "DELETE releases/_/allowances/_/": lambda c, _: release_of(c).end_allowance("w"),
    "GET releases/_/validations/": lambda c, _: release_of(c).validations(),
    "POST releases/_/validations/": lambda c, _: release_of(c).validate([], epsilon="1"),
    "POST releases/_/validations/price/": lambda c, _: release_of(c).price([], epsilon="1"),
    "GET releases/_/validations/_/": lambda c, _: release_of(c).validation("v"),
    "GET releases/_/validations/_/receipt/": lambda c, _: validation_of(c).receipt(),
    "GET releases/_/network/": lambda c, _: release_of(c).network(),
    "GET releases/_/receipt/": lambda c, _: release_of(c).receipt(),
    "GET releases/_/marks/": lambda c, _: release_of(c).receipt(),
    "GET releases/_/dictionary/": lambda c, _: release_of(c).dictionary(),
    "GET releases/_/description/": lambda c, _: release_of(c).description(),
    "GET releases/_/editions/": lambda c, _: release_of(c).editions(),
    "POST releases/_/editions/": lambda c, _: release_of(c).edit({}, note="n"),
    "GET releases/_/editions/_/": lambda c, _: release_of(c).edition("e"),
    "GET releases/_/samples/": lambda c, _: release_of(c).samples(),
    "POST releases/_/samples/": lambda c, _: release_of(c).sample(1),
    "GET releases/_/grants/": lambda c, _: release_of(c).shares(),
    "POST releases/_/grants/": lambda c, _: release_of(c).share("analyst"),
    "DELETE releases/_/grants/_/": lambda c, _: release_of(c).unshare("analyst"),
    "GET samples/_/": lambda c, _: c.sample("s"),
    "GET samples/_/receipt/": lambda c, _: sample_of(c).receipt(),
    "GET samples/_/table.csv": lambda c, to: sample_of(c).save(to / "t.csv"),
    "GET samples/_/table.parquet": lambda c, to: sample_of(c).save(to / "t.parquet"),
    "GET samples/_/table.xlsx": lambda c, to: sample_of(c).save(to / "t.xlsx"),
}
"""A call of a method for each operation of the core."""


class Sent(Exception):
    """The client sent what was asked for."""


def operations() -> Iterator[str]:
    """Every operation below /api/v1/, its variable parts as one sign."""
    for address, pattern in _addresses(urls.urlpatterns, ""):
        view: Any = pattern.callback
        if (actions := getattr(view, "actions", None)) is not None:
            verbs = [
                verb for verb in actions if verb in VERBS
            ]  # not HEAD, which a request adds
        else:
            verbs = [verb for verb in VERBS if hasattr(getattr(view, "view_class", view), verb)]
        for verb in verbs or ["get"]:
            yield f"{verb.upper()} {address}"


def _addresses(patterns: Any, before: str) -> Iterator[tuple[str, URLPattern]]:
    for pattern in patterns:
        address = before + re.sub(r"<[^>]+>", "_", str(pattern.pattern))
        if not isinstance(pattern, URLPattern):
            yield from _addresses(pattern.url_patterns, address)
        elif pattern.name != "not-found":
            yield address, pattern


def reason(operation: str) -> str | None:
    """Why an operation has no method of the core; None if there is no reason."""
    address = operation.partition(" ")[2]
    return next((why for start, why in BESIDES.items() if address.startswith(start)), None)


def test_every_operation_of_the_core_has_a_method_or_a_reason() -> None:
    there = set(operations())
    assert len(there) > 150
    assert {each for each in there if each not in CALLS and reason(each) is None} == set()
    assert {each for each in CALLS if each not in there or reason(each)} == set()
    unused = [
        start
        for start in BESIDES
        if not any(each.partition(" ")[2].startswith(start) for each in there)
    ]
    assert unused == []


@pytest.mark.parametrize("operation", CALLS)
def test_the_method_of_an_operation_sends_it(operation: str, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("a\n1\n")

    def answer(request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix("/api/v1/")
        sent = f"{request.method} {path}"
        pattern = re.escape(operation).replace("_", "[a-z0-9]+")
        if re.fullmatch(pattern, sent):
            raise Sent
        # Whatever is compared with a receipt is asked for before it.
        assert sent == "GET releases/x/marks/"
        return httpx.Response(
            200, json={"core": "", "head": None}, headers={"Synthweb-API-Version": "1.0"}
        )

    with Client("http://localhost", token="t") as client:
        client._transport._http = httpx.Client(transport=httpx.MockTransport(answer))
        with pytest.raises(Sent):
            CALLS[operation](client, tmp_path)
