"""Which scope of a token opens which address: a table that a new address has to be written into. Every row is
tried with a token that has this scope alone, and with one that has all the others."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from rest_framework.views import APIView

from synthweb.accounts import forms, services, tokens
from synthweb.accounts.models import User
from tests import extras
from tests.cast import Cast
from tests.web import addresses, doorbell, scene
from tests.web.addresses import rest_routes
from tests.web.html import html_of
from tests.web.rest import PROBLEM
from tests.web.test_authorisation_matrix import BODIES, ask, undone

TABLE = """
GET    me/                                           read
GET    me/history/                                   read
GET    organisation/                                 read
PUT    organisation/                                 people
GET    people/second-factor/                         read
PUT    people/second-factor/                         people
GET    mechanisms/                                   read
GET    datasets/                                     read
POST   datasets/                                     spend
DELETE datasets/<slug:code>/                         spend
GET    datasets/<slug:code>/                         read
PATCH  datasets/<slug:code>/                         spend
GET    datasets/<slug:code>/tables/                  read
POST   datasets/<slug:code>/tables/                  spend
PUT    datasets/<slug:code>/tables/document/         spend
POST   datasets/<slug:code>/tables/runs/             spend
GET    datasets/<slug:code>/learned/                 read
POST   datasets/<slug:code>/learned/                 spend
GET    datasets/<slug:code>/domain/                  read
PUT    datasets/<slug:code>/domain/                  spend
GET    datasets/<slug:code>/domain/<int:number>/     read
GET    datasets/<slug:code>/domain/<int:number>/table-schema/ read
GET    datasets/<slug:code>/domain/draft/            read
POST   datasets/<slug:code>/domain/draft/            spend
POST   datasets/<slug:code>/domain/draft/template/   spend
POST   datasets/<slug:code>/domain/draft/reference/  spend
GET    references/                                   read
POST   references/                                   spend
DELETE references/<slug:code>/                       spend
GET    references/<slug:code>/                       read
POST   references/<slug:code>/versions/              spend
GET    references/<slug:code>/versions/<int:number>/ read
GET    description-templates/                        read
POST   description-templates/                        spend
PUT    datasets/<slug:code>/file/                    spend
PUT    datasets/<slug:code>/form/                    spend
POST   datasets/<slug:code>/go-back/                 spend
POST   datasets/<slug:code>/erase-earlier/           spend
GET    datasets/<slug:code>/history/                 read
POST   datasets/<slug:code>/read-again/              spend
GET    budget-requests/                              read
POST   budget-requests/                              spend
GET    budget-requests/<slug:code>/                  read
POST   budget-requests/<slug:code>/grant/            grant
POST   budget-requests/<slug:code>/refuse/           grant
GET    accounts/                                     read
GET    accounts/<slug:code>/                         read
GET    accounts/<slug:code>/entries.csv              read
GET    accounts/<slug:code>/entries.json             read
GET    accounts/<slug:code>/entries/                 read
GET    accounts/<slug:code>/head/                    read
GET    accounts/<slug:code>/plans/                   read
POST   accounts/<slug:code>/plans/                   grant
GET    accounts/<slug:code>/plans/<slug:plan>/       read
PATCH  accounts/<slug:code>/plans/<slug:plan>/       grant
GET    audit/                                        read
GET    audit/entries.csv                             read
GET    audit/entries.json                            read
GET    audit/head/                                   read
GET    audit/ledger-and-audit.json                   read
GET    audit/real-rows/                              read
GET    signing.pub                                   read
GET    verify_ledger.py                              read
POST   forecasts/                                    read
GET    runs/                                         read
POST   runs/                                         spend
GET    runs/<slug:code>/                             read
POST   runs/<slug:code>/cancel/                      spend
GET    runs/<slug:code>/log/                         read
POST   runs/<slug:code>/resume/                      spend
GET    uploads/                                      read
POST   uploads/                                      spend
GET    uploads/<slug:code>/                          read
PATCH  uploads/<slug:code>/                          spend
POST   uploads/<slug:code>/                          spend
DELETE uploads/<slug:code>/                          spend
POST   uploads/<slug:code>/dataset/                  spend
POST   uploads/<slug:code>/replace/                  spend
GET    filled-counts/                                read
POST   filled-counts/                                spend
POST   filled-counts/plan/                           spend
GET    filled-counts/<slug:code>/                    read
POST   filled-counts/<slug:code>/approve/            grant
POST   filled-counts/<slug:code>/refuse/             grant
POST   filled-counts/<slug:code>/withdraw/           spend
GET    links/                                        read
POST   links/                                        spend
POST   links/invitation/                             spend
POST   links/agreement/                              spend
POST   links/accept/                                 spend
GET    links/<slug:code>/                            read
POST   links/<slug:code>/invitation/                 spend
POST   links/<slug:code>/start/                      spend
POST   links/<slug:code>/withdraw/                   spend
PUT    links/<slug:code>/release/                    share
GET    links/<slug:code>/tables.zip                  read
GET    links/<slug:code>/files/<slug:name>/          read
GET    releases/                                     read
GET    releases/<slug:code>/                         read
PATCH  releases/<slug:code>/                         share
GET    releases/<slug:code>/description/             read
GET    releases/<slug:code>/dictionary/              read
GET    releases/<slug:code>/editions/                read
POST   releases/<slug:code>/editions/                share
GET    releases/<slug:code>/editions/<slug:edition>/ read
GET    releases/<slug:code>/expected/                read
GET    releases/<slug:code>/expected-errors/         read
GET    releases/<slug:code>/first-rows/              read
GET    releases/<slug:code>/grants/                  read
POST   releases/<slug:code>/grants/                  share
DELETE releases/<slug:code>/grants/<str:username>/   share
PUT    releases/<slug:code>/licence/                 share
GET    releases/<slug:code>/fit/                     read
GET    releases/<slug:code>/marginals/               read
GET    releases/<slug:code>/tables/                  read
GET    releases/<slug:code>/tables.zip               read
GET    releases/<slug:code>/bundle.zip               read
GET    releases/<slug:code>/datacite.json            read
GET    releases/<slug:code>/marginals.csv            read
GET    releases/<slug:code>/marginals.parquet        read
GET    releases/<slug:code>/report.html              read
GET    releases/<slug:code>/report.json              read
GET    releases/<slug:code>/marks/                   read
GET    releases/<slug:code>/model/                  read
GET    releases/<slug:code>/recreate.py             read
GET    releases/<slug:code>/network/                 read
GET    releases/<slug:code>/criteria/                read
GET    releases/<slug:code>/paid/                    read
POST   releases/<slug:code>/paid/                    spend
POST   releases/<slug:code>/paid/price/              spend
GET    releases/<slug:code>/paid/<slug:check_code>/receipt/ read
POST   releases/<slug:code>/paid/<slug:check_code>/void/ share
GET    releases/<slug:code>/implicates.zip           read
GET    releases/<slug:code>/allowances/              read
POST   releases/<slug:code>/allowances/              spend
DELETE releases/<slug:code>/allowances/<slug:allowance>/ spend
GET    releases/<slug:code>/validations/             read
POST   releases/<slug:code>/validations/             spend
POST   releases/<slug:code>/validations/price/       spend
GET    releases/<slug:code>/validations/<slug:validation>/ read
GET    releases/<slug:code>/validations/<slug:validation>/receipt/ read
GET    releases/<slug:code>/receipt/                 read
GET    releases/<slug:code>/samples/                 read
POST   releases/<slug:code>/samples/                 read
GET    releases/<slug:code>/repaired/                read
POST   releases/<slug:code>/repaired/                share
GET    releases/<slug:code>/repaired/<slug:repaired_code>/ read
DELETE releases/<slug:code>/repaired/<slug:repaired_code>/ share
GET    releases/<slug:code>/repaired/<slug:repaired_code>/table.csv read
GET    releases/<slug:code>/repaired/<slug:repaired_code>/table.parquet read
GET    releases/<slug:code>/verification/            read
GET    webhooks/                                     read
POST   webhooks/                                     webhooks
GET    webhooks/<slug:code>/                         read
DELETE webhooks/<slug:code>/                         webhooks
POST   webhooks/<slug:code>/test/                    webhooks
POST   webhooks/<slug:code>/enable/                  webhooks
GET    samples/<slug:code>/                          read
GET    samples/<slug:code>/receipt/                  read
GET    samples/<slug:code>/table.csv                 read
GET    samples/<slug:code>/table.parquet             read
GET    samples/<slug:code>/table.xlsx                read
"""
PAST_THE_SCOPE = {  # let in, and refused for another reason than the scope
    ("POST", "datasets/"): 400,
    ("DELETE", "datasets/<slug:code>/"): 409,
    ("PUT", "datasets/<slug:code>/file/"): 415,
    ("PUT", "datasets/<slug:code>/form/"): 409,
    ("POST", "datasets/<slug:code>/go-back/"): 409,
    ("POST", "datasets/<slug:code>/erase-earlier/"): 409,
    ("POST", "references/"): 400,
    ("POST", "references/<slug:code>/versions/"): 400,
    ("POST", "runs/<slug:code>/resume/"): 409,
    # The dataset of the scene is in no database, and its release has one table.
    ("POST", "datasets/<slug:code>/tables/"): 409,
    ("PUT", "datasets/<slug:code>/tables/document/"): 422,
    ("POST", "datasets/<slug:code>/tables/runs/"): 409,
    ("POST", "datasets/<slug:code>/learned/"): 422,
    # The counts of the scene are asked for, and there is one table of them.
    ("POST", "filled-counts/"): 409,
    ("POST", "filled-counts/plan/"): 409,
    ("POST", "filled-counts/<slug:code>/approve/"): 409,
    # The link of the scene is proposed, and nobody has an invitation to it.
    ("POST", "links/invitation/"): 404,
    ("POST", "links/agreement/"): 404,
    ("POST", "links/accept/"): 404,
    ("POST", "links/<slug:code>/start/"): 409,
    ("GET", "links/<slug:code>/tables.zip"): 409,
    # Of the upload of the scene nothing came, and a POST to it names no other method.
    ("POST", "uploads/<slug:code>/"): 405,
    ("POST", "uploads/<slug:code>/dataset/"): 409,
    ("POST", "uploads/<slug:code>/replace/"): 409,
    ("GET", "releases/<slug:code>/tables/"): 404,
    ("GET", "releases/<slug:code>/tables.zip"): 404,
    ("GET", "releases/<slug:code>/fit/"): 422,
    ("GET", "releases/<slug:code>/marginals/"): 422,
    ("GET", "releases/<slug:code>/network/"): 404,
}
NO_SCOPE = {
    "schema",
    "reference",
    "not-found",
}  # the document itself, its page, and addresses where nothing is


@pytest.fixture(autouse=True)
def _broker_in_memory() -> Any:
    with doorbell.queue_at(doorbell.IN_MEMORY):
        yield


def table() -> dict[tuple[str, str], str]:
    """(method, route) → the scope that opens it."""
    return {
        (method, route): scope
        for text in (TABLE, *extras.said("SCOPES"))
        for method, route, scope in map(str.split, text.strip().splitlines())
    }


def routed() -> set[tuple[str, str]]:
    """Every method of every address."""
    found = set()
    for route, pattern in rest_routes().items():
        if pattern.name not in NO_SCOPE:
            actions = getattr(pattern.callback, "actions", None)
            view = getattr(pattern.callback, "cls", None)
            assert view is not None and issubclass(view, APIView), pattern
            methods = actions or [
                name for name in view.http_method_names if hasattr(view, name)
            ]
            found |= {
                (name.upper(), route) for name in methods if name not in ("options", "head")
            }
    return found


def test_every_address_of_rest_has_a_row() -> None:
    assert routed() - table().keys() == set(), "write a row for each of these"
    assert table().keys() - routed() == set(), "these are gone: take their rows out"


def test_every_scope_opens_something_and_no_other_is_named() -> None:
    assert set(table().values()) == set(tokens.SCOPES)


def _with(user: User, *scopes: str) -> Client:
    _, text = services.create_token(user=user, name="t", scopes=scopes, days=1)
    return Client(headers={"Authorization": f"Bearer {text}"})


def _who(route: str, scope: str, *, cast: Cast, reader: User) -> User:
    """Somebody whose role lets them, so that the scope decides."""
    if scope == "grant":
        return cast.custodian
    if "samples/<" in route or ("validations/" in route and scope == "spend"):
        return reader  # whose sample the addresses name
    if route.startswith(("people/", "organisation/")):
        return cast.staff
    return cast.auditor if route.startswith("audit/") else cast.steward


@pytest.mark.slow
def test_each_scope_opens_what_the_table_says_and_nothing_else(cast: Cast) -> None:
    played = scene.play(
        steward=cast.steward, custodian=cast.custodian, organisation=cast.organisation
    )
    addresses.make_all(played, cast)  # before anything is undone
    reader = played.reader
    past = PAST_THE_SCOPE | extras.merged("PAST_THE_SCOPE")
    wrong = []
    for (method, route), scope in table().items():
        user = _who(route, scope, cast=cast, reader=reader)
        others = [name for name in tokens.SCOPES if name != scope]
        full = f"api/v1/{route}"
        for scopes, opens in (([scope], True), (others, False)):
            with undone():
                response = ask(_with(user, *scopes), method, full, played=played, cast=cast)
                opened = response.status_code < 400 or response.status_code == past.get(
                    (method, route)
                )
                named = (
                    f"the scope '{scope}'" in html_of(response)
                    if response.status_code == 403
                    else False
                )
            if opened is not opens or named is opens:
                wrong.append(f"{method} {route} with {scopes}: {response.status_code}")
            if not opens and response["Content-Type"] != PROBLEM:
                wrong.append(f"{method} {route}: no problem document")
    assert not wrong, "\n".join(wrong)


def test_a_token_has_read_alone_unless_somebody_chooses_more(cast: Cast, browser: Any) -> None:
    assert forms.TokenForm().fields["scopes"].initial == ["read"]
    page = html_of(browser(cast.steward).get("/account/tokens/"))
    assert page.count("checked") == 1
    for scope, words in tokens.SCOPES.items():
        assert f"{scope}: {words}" in page


def test_the_tokens_page_shows_what_each_token_may(cast: Cast, browser: Any) -> None:
    services.create_token(user=cast.steward, name="mine", scopes=["read", "share"], days=1)
    assert "read, share" in html_of(browser(cast.steward).get("/account/tokens/"))


def test_a_scope_is_worth_nothing_without_the_role(cast: Cast) -> None:
    played = scene.play(
        steward=cast.steward, custodian=cast.custodian, organisation=cast.organisation
    )
    addresses.make_all(played, cast)
    for user in (cast.auditor, played.reader):
        client = _with(user, *tokens.SCOPES)
        for (method, route), scope in table().items():
            # What a reader does within an allowance, they may.
            if "validations/" in route and user == played.reader:
                continue
            if scope in ("spend", "share", "grant", "people"):
                full = f"api/v1/{route}"
                with undone():
                    response = ask(client, method, full, played=played, cast=cast)
                assert response.status_code in (403, 404), (
                    user,
                    method,
                    route,
                    response.status_code,
                )


def test_every_body_of_the_matrix_is_of_an_address_that_exists() -> None:
    """The bodies that make these requests succeed are those of the matrix of roles."""
    known = {f"{method} {route}" for method, route in ((m, f"api/v1/{r}") for m, r in routed())}
    assert set(BODIES) <= known
    assert set(addresses.routes()) >= {f"api/v1/{route}" for _, route in routed()}
