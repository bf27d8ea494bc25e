"""The administration shows what its pages show: an address is no way to ask for more."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from synthweb.accounts.models import Organisation
from synthweb.audit.models import AuditEntry
from synthweb.ledger.models import BudgetAccount
from tests.cast import Cast
from tests.web.scene import Scene

Browser = Callable[..., Client]


@pytest.fixture
def auditor(cast: Cast, browser: Any) -> Client:
    return browser(cast.auditor)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "address",
    [
        "accounts/user/?password__startswith=argon2",
        "accounts/user/?password__gt=a",
        "releases/sample/?seed__startswith=7",
        "releases/sample/?seed=7",
        "releases/release/?model__isnull=False",
        "datasets/dataset/?size_bytes__gt=10",
        "datasets/dataset/?draft__isnull=False",
        "datasets/dataset/?content_key__startswith=a",
        "runs/synthesisrun/?spec__contains=a",
    ],
)
def test_no_field_can_be_guessed_through_the_address_of_a_list(
    auditor: Client, played: Scene, address: str
) -> None:
    listed = auditor.get(f"/admin/{address.partition('?')[0]}")
    assert listed.status_code == 200
    assert auditor.get(f"/admin/{address}").status_code == 400


@pytest.mark.parametrize(
    "address",
    ["releases/release/?mechanism=independent", "ledger/ledgerentry/?kind__exact=HOLD"],
)
def test_the_filters_of_a_page_still_work(auditor: Client, played: Scene, address: str) -> None:
    assert auditor.get(f"/admin/{address}").status_code == 200


def test_an_account_still_filters_its_entries(auditor: Client, played: Scene) -> None:
    assert (
        auditor.get(
            f"/admin/ledger/ledgerentry/?account__id__exact={played.account.pk}"
        ).status_code
        == 200
    )


def test_filters_name_nothing_of_another_organisation(auditor: Client, played: Scene) -> None:
    other = Organisation.objects.create(name="Elsewhere GmbH")
    for name in ("Secret project one", "Secret project two"):
        BudgetAccount.objects.create(
            organisation=other, name=name, rule="basic", relation="add-remove"
        )
    for page in ("budgetaccount", "ledgerentry"):
        text = auditor.get(f"/admin/ledger/{page}/").text
        assert "Elsewhere" not in text
        assert "Secret project" not in text


def test_the_exact_size_of_a_table_is_its_stewards_to_see(
    auditor: Client, played: Scene, cast: Cast, browser: Any
) -> None:
    exact = re.compile(
        rf"\b{played.dataset.size_bytes}\b"
    )  # the token of a form may hold the digits
    assert not exact.search(
        auditor.get(f"/admin/datasets/dataset/{played.dataset.pk}/change/").text
    )
    assert not exact.search(
        str(list(AuditEntry.objects.filter(action="dataset.uploaded").values_list("detail")))
    )
    address = f"/datasets/{played.dataset.code}/upload/"
    size = re.compile(r"\d\W?kB\b")  # random words of forms may hold the two letters
    assert size.search(browser(cast.steward).get(address).text)
    for person in (cast.custodian, cast.auditor):
        assert not size.search(browser(person).get(address).text)
