"""Somebody leaves: nothing opens any more, and what was theirs goes to a successor."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from synthweb.accounts import services, tokens
from synthweb.accounts.models import Role, User, UserSession
from synthweb.audit.models import AuditEntry
from synthweb.datasets.models import Dataset
from synthweb.releases.models import ReleaseGrant
from tests.cast import PASSWORD, Cast
from tests.web import ledger_setup
from tests.web.scene import Scene

Browser = Callable[..., Client]


def test_an_analyst_leaves_and_their_shares_go_to_another(
    cast: Cast, played: Scene, browser: Browser, capsys: pytest.CaptureFixture[str]
) -> None:
    client = browser(played.reader)
    _token, text = services.create_token(
        user=played.reader, name="notebook", scopes=["read"], days=30
    )
    call_command("leave", played.reader.username, "--to", "analyst")
    assert "1 shares went to analyst; 0 datasets" in capsys.readouterr().out
    assert client.get("/account/").status_code == 302
    assert tokens.authenticate(text) is None
    assert not UserSession.objects.filter(user=played.reader).exists()
    name = {"username": played.reader.username, "password": PASSWORD}
    assert Client().post("/account/login/", name).status_code == 200
    grants = ReleaseGrant.objects.filter(revoked_at=None)
    assert [grant.analyst.username for grant in grants] == ["analyst"]
    assert browser(cast.analyst).get(f"/releases/{played.release.code}/").status_code == 200
    said = AuditEntry.objects.order_by("-sequence").values_list("action", "actor")[:4]
    assert ("user.left", "system") in said and ("release.shared", "system") in said


def test_a_steward_leaves_and_datasets_go_to_another_steward(cast: Cast) -> None:
    made = ledger_setup.dataset(cast)
    other = ledger_setup.person(cast.organisation, Role.STEWARD, username="other")
    call_command("leave", "steward", "--to", "other", verbosity=0)
    assert Dataset.objects.get(pk=made.pk).steward == other
    entry = AuditEntry.objects.get(action="dataset.handed_over")
    assert entry.detail == {"from": "steward", "to": "other"}


def test_without_a_successor_shares_end(cast: Cast, played: Scene) -> None:
    call_command("leave", played.reader.username)
    assert not ReleaseGrant.objects.filter(revoked_at=None).exists()


@pytest.mark.parametrize("successor", ["stranger", "steward", "nobody"])
def test_a_wrong_successor_changes_nothing(cast: Cast, successor: str) -> None:
    with pytest.raises(CommandError):
        call_command("leave", "steward", "--to", successor)
    assert User.objects.get(username="steward").is_active
