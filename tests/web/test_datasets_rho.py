"""One chance that no value is invented, for all tables of an installation or of an organisation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from synth_engine.domain import Domain, Weak
from synth_engine.errors import DomainError
from synthweb.accounts import services as people
from synthweb.audit.models import AuditEntry
from synthweb.datasets.services import describing, terms
from tests.cast import Cast
from tests.web.describe_page import SUGGESTIONS, ready

WORD: dict[str, Any] = {
    "name": "word",
    "kind": "weak",
    "values": {"set": "integers", "low": 1, "high": 9},
}
TYPED = {"set": "english-words", "outside": "other"}


def domain(rho: float) -> Domain:
    return Domain.from_json({"attributes": [WORD | {"rho": rho}]})


def drafted(common: float | None, **fields: str) -> float:
    """The ρ of a column that is confirmed on the page, where this one is common to all."""
    draft: Any = {
        "columns": {"word": {"kind": "weak", "fields": TYPED | fields, "confirmed": True}}
    }
    found = describing.domain_of(draft, names=["word"], context={}, rho=common).undeclared[0]
    assert isinstance(found, Weak)
    return found.rho


def test_without_it_each_column_has_its_own() -> None:
    assert (drafted(None), drafted(None, rho="0.5")) == (0.9, 0.5)
    terms.check_rho(domain(0.5), None)


def test_a_column_without_one_gets_that_of_all_and_another_one_is_refused() -> None:
    assert (drafted(0.99), drafted(0.99, rho="0.5")) == (0.99, 0.5)
    terms.check_rho(domain(0.99), 0.99)
    with pytest.raises(DomainError, match="all tables have one"):
        terms.check_rho(domain(0.5), 0.99)


def test_a_document_gets_it_where_it_states_none() -> None:
    other: dict[str, Any] = {"name": "n", "kind": "integer", "low": 1, "high": 9}
    document = {"attributes": [WORD, WORD | {"rho": 0.5}, other]}
    filled = terms.with_rho(document, 0.99)["attributes"]
    assert filled == [WORD | {"rho": 0.99}, WORD | {"rho": 0.5}, other]
    assert terms.with_rho(document, None) == document


@pytest.mark.django_db
class TestOfAnOrganisation:
    def test_the_installation_has_the_last_word(self, cast: Cast, settings: Settings) -> None:
        people.set_rho(custodian=cast.custodian, rho=0.5)
        cast.organisation.refresh_from_db()
        assert terms.common_rho(cast.organisation) == 0.5
        settings.RHO = 0.99
        assert terms.common_rho(cast.organisation) == 0.99

    def test_a_description_takes_it_or_is_refused(self, cast: Cast) -> None:
        people.set_rho(custodian=cast.custodian, rho=0.99)
        cast.organisation.refresh_from_db()
        dataset = ready(cast)
        names = [item["name"] for item in SUGGESTIONS]
        document: dict[str, Any] = {
            "attributes": [
                {"name": name, "kind": "integer", "low": 0, "high": 9} for name in names
            ]
        }
        document["attributes"][0] = WORD | {"name": names[0]}
        declare: Any = {"actor": cast.steward, "dataset": dataset}
        version = describing.declare_domain(**declare, document=document)
        assert version.document["attributes"][0]["rho"] == 0.99
        document["attributes"][0]["rho"] = 0.5
        with pytest.raises(DomainError, match="all tables have one"):
            describing.declare_domain(**declare, document=document)

    def test_a_custodian_sets_it_on_the_page_and_others_read_it(
        self, cast: Cast, browser: Callable[..., Client]
    ) -> None:
        page, address = browser(cast.custodian), reverse("ledger:rho-policy")
        assert page.post(address, {"policy-rho": "0.99"}).status_code == 302
        assert "0.99" in browser(cast.steward).get(reverse("ledger:index")).content.decode()
        entry = AuditEntry.objects.filter(action="organisation.rho_set").get()
        assert entry.detail == {"rho": "0.99"}
        for person in (cast.steward, cast.auditor, cast.analyst):
            assert browser(person).post(address, {"policy-rho": "0.5"}).status_code == 403
        refused = page.post(address, {"policy-rho": "1"})
        assert refused.status_code == 422
        assert 'value="1"' in refused.content.decode()
        assert page.post(address, {"policy-rho": ""}).status_code == 302
        cast.organisation.refresh_from_db()
        assert cast.organisation.rho is None

    def test_nobody_else_may(self, cast: Cast) -> None:
        with pytest.raises(PermissionDenied):
            people.set_rho(custodian=cast.steward, rho=0.5)
