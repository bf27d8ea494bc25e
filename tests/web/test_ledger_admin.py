"""The administration shows ledger and audit log and changes nothing, even for a superuser."""

from __future__ import annotations

import pytest
from django.urls import reverse

from synthweb.accounts.models import User
from synthweb.audit.models import AuditEntry
from synthweb.ledger.models import BudgetAccount, BudgetRequest, Coverage, LedgerEntry
from tests.web.ledger_setup import dataset, granted, hold, people

SHOWN = [BudgetAccount, LedgerEntry, BudgetRequest, Coverage, AuditEntry]


@pytest.fixture
def superuser(db, browser):
    who = people()
    hold(granted(who, dataset(who)), "run1")
    return browser(User.objects.create(username="root", is_staff=True, is_superuser=True))


def address(model: type, page: str, *arguments: object) -> str:
    return reverse(
        f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=arguments
    )


@pytest.mark.parametrize("model", SHOWN, ids=lambda model: model.__name__)
def test_everything_can_be_read(superuser, model):
    assert superuser.get(address(model, "changelist")).status_code == 200
    assert superuser.get(address(model, "change", model.objects.first().pk)).status_code == 200


@pytest.mark.parametrize("model", SHOWN, ids=lambda model: model.__name__)
def test_nothing_can_be_added_changed_or_deleted(superuser, model):
    row = model.objects.first()
    before = list(model.objects.values())
    for page in (
        address(model, "add"),
        address(model, "change", row.pk),
        address(model, "delete", row.pk),
    ):
        assert superuser.post(page, {"post": "yes"}).status_code == 403
    everything = {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"}
    superuser.post(address(model, "changelist"), everything)
    assert list(model.objects.values()) == before


@pytest.mark.parametrize("model", [BudgetAccount, BudgetRequest])
def test_an_object_links_back_to_its_page_of_the_site(superuser, model):
    row = model.objects.first()
    page = superuser.get(address(model, "change", row.pk)).text
    name = "account" if model is BudgetAccount else "request"
    assert f'href="{reverse(f"ledger:{name}", args=[row.code])}"' in page
    assert 'href="/ledger/"' in page


def test_the_list_of_accounts_shows_the_chain_of_each(superuser):
    page = superuser.get(address(BudgetAccount, "changelist")).text
    assert "intact, 2 entries" in page
    assert "ε 1e-8" in page
