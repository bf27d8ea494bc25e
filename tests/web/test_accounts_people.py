"""Managing people: who may, what they cannot do to themselves, what is put on record; and the commands."""

from __future__ import annotations

import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.management import CommandError, call_command
from django.test import Client

from synthweb.accounts import selectors, services
from synthweb.accounts.models import Membership, Organisation, Role, User
from synthweb.accounts.permissions import Need
from synthweb.audit.models import AuditEntry
from tests.cast import PASSWORD, Cast
from tests.web.html import html_of

Browser = Callable[..., Client]
PEOPLE = "/account/people/"


def _latest() -> AuditEntry:
    return AuditEntry.objects.latest("sequence")


def test_people_are_managed_by_staff_alone(cast: Cast, browser: Browser) -> None:
    for name, person in cast.by_name().items():
        expected = 200 if name == "staff" else 403
        assert browser(person).get(PEOPLE).status_code == expected, name


def test_a_new_person_gets_a_one_time_password_that_is_shown_once(
    cast: Cast, browser: Browser
) -> None:
    client = browser(cast.staff)
    answer = client.post(
        PEOPLE, {"username": "ada", "full_name": "Ada", "roles": ["steward", "analyst"]}
    )
    found = re.search(r'id="one-time">([^<]+)<', html_of(answer))
    assert found is not None
    assert "no-store" in answer["Cache-Control"]
    ada = User.objects.get(username="ada")
    assert ada.check_password(found[1])
    assert ada.must_change_password
    assert selectors.roles_of(ada) == {Role.STEWARD, Role.ANALYST}
    assert selectors.organisation_of(ada) == cast.organisation
    assert found[1] not in html_of(client.get(PEOPLE))
    assert found[1] not in str(_latest().detail)


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"username": "STEWARD", "roles": ["analyst"]}, "already has this user name"),
        ({"username": "a b", "roles": ["analyst"]}, "Enter a valid username"),
        ({"username": "ada", "roles": ["emperor"]}, "not one of the available choices"),
        ({"username": "ada"}, "This field is required"),
    ],
)
def test_a_person_that_cannot_be_is_refused_and_what_was_typed_stays(
    cast: Cast, browser: Browser, typed: dict[str, object], words: str
) -> None:
    before = User.objects.count()
    text = html_of(browser(cast.staff).post(PEOPLE, typed))
    assert words in text
    assert f'value="{typed["username"]}"' in text
    assert User.objects.count() == before


def test_roles_are_replaced_and_on_record_before_and_after(
    cast: Cast, browser: Browser
) -> None:
    address = f"{PEOPLE}{cast.analyst.pk}/"
    assert browser(cast.staff).post(address, {"roles": ["auditor"]}).status_code == 302
    assert selectors.roles_of(cast.analyst) == {Role.AUDITOR}
    assert _latest().detail == {
        "username": "analyst",
        "before": ["analyst"],
        "after": ["auditor"],
    }


def test_nobody_changes_their_own_roles_or_shuts_themselves_out(
    cast: Cast, browser: Browser
) -> None:
    client = browser(cast.staff)
    own = f"{PEOPLE}{cast.staff.pk}/"
    assert client.post(own, {"roles": ["custodian", "steward"]}).status_code == 403
    assert client.post(f"{own}active/", {"active": "no"}).status_code == 403
    assert client.post(f"{own}one-time-password/").status_code == 403
    assert selectors.roles_of(cast.staff) == {Role.AUDITOR}


def test_a_person_without_any_role_cannot_be_made(cast: Cast) -> None:
    with pytest.raises(ValidationError):
        services.set_roles(
            actor=cast.staff, person=cast.analyst, organisation=cast.organisation, roles=[]
        )
    assert selectors.roles_of(cast.analyst) == {Role.ANALYST}


def test_people_of_another_organisation_do_not_exist_here(cast: Cast, browser: Browser) -> None:
    client = browser(cast.staff)
    address = f"{PEOPLE}{cast.stranger.pk}/"
    assert "stranger" not in html_of(client.get(PEOPLE))
    assert client.get(address).status_code == 404
    assert client.post(address, {"roles": ["custodian"]}).status_code == 404
    assert client.post(f"{address}active/", {"active": "no"}).status_code == 404
    assert client.post(f"{address}one-time-password/").status_code == 404
    assert selectors.roles_of(cast.stranger) == {Role.STEWARD}


def test_nobody_belongs_to_two_organisations(cast: Cast) -> None:
    with pytest.raises(ValidationError):
        services.set_roles(
            actor=cast.staff,
            person=cast.stranger,
            organisation=cast.organisation,
            roles=[Role.STEWARD],
        )
    assert Membership.objects.filter(user=cast.stranger).count() == 1
    assert selectors.organisation_of(cast.stranger) == cast.elsewhere


def test_somebody_kept_out_and_let_in_again(cast: Cast, browser: Browser) -> None:
    address = f"{PEOPLE}{cast.analyst.pk}/active/"
    client = browser(cast.staff)
    client.post(address, {"active": "no"})
    cast.analyst.refresh_from_db()
    assert not cast.analyst.is_active
    assert selectors.roles_of(cast.analyst) == set()
    assert _latest().action == "user.deactivated"
    client.post(address, {"active": "yes"})
    cast.analyst.refresh_from_db()
    assert cast.analyst.is_active
    assert _latest().action == "user.activated"


def test_a_fresh_one_time_password_ends_the_persons_sessions(
    cast: Cast, browser: Browser
) -> None:
    theirs = browser(cast.analyst)
    assert theirs.get("/account/").status_code == 200
    browser(cast.staff).post(f"{PEOPLE}{cast.analyst.pk}/one-time-password/")
    assert theirs.get("/account/").status_code == 302


def test_roles_decide_and_an_inactive_person_has_none(cast: Cast) -> None:
    selectors.require(cast.steward, Need.VIEW)
    with pytest.raises(PermissionDenied):
        selectors.require(cast.analyst, Need.VIEW)
    cast.steward.is_active = False
    with pytest.raises(PermissionDenied):
        selectors.require(cast.steward, Need.SPEND)


def test_holders_of_a_role_are_active_people_of_the_organisation(cast: Cast) -> None:
    assert list(selectors.holders_of(cast.organisation, Role.STEWARD)) == [cast.steward]
    User.objects.filter(pk=cast.steward.pk).update(is_active=False)
    assert list(selectors.holders_of(cast.organisation, Role.STEWARD)) == []


# --- the administration -------------------------------------------------------------------------------------
def test_the_administration_is_for_auditors_and_staff(cast: Cast, browser: Browser) -> None:
    for name, person in cast.by_name().items():
        expected = 200 if name in ("staff", "auditor") else 302
        assert browser(person).get("/admin/").status_code == expected, name
    assert browser(cast.steward).get("/admin/login/").status_code == 403
    assert browser().get("/admin/login/")["Location"].startswith("/account/login/")


def test_the_administration_shows_one_organisation_and_changes_nothing(
    cast: Cast, browser: Browser
) -> None:
    client = browser(cast.auditor)
    text = html_of(client.get("/admin/accounts/user/"))
    assert "steward" in text
    assert "stranger" not in text
    assert (
        client.get(f"/admin/accounts/user/{cast.stranger.pk}/change/").status_code == 302
    )  # not found, says Django
    assert (
        client.post(
            f"/admin/accounts/user/{cast.steward.pk}/change/", {"username": "x"}
        ).status_code
        == 403
    )
    assert (
        client.post(
            f"/admin/accounts/user/{cast.steward.pk}/delete/", {"post": "yes"}
        ).status_code
        == 403
    )
    assert client.get("/admin/accounts/user/add/").status_code == 403
    assert "argon2" not in text


def test_the_operator_sees_every_organisation(cast: Cast, browser: Browser) -> None:
    operator = User.objects.create_superuser("operator", password=PASSWORD)
    text = html_of(browser(operator).get("/admin/accounts/user/"))
    assert "stranger" in text
    assert "steward" in text


# --- commands -----------------------------------------------------------------------------------------------
def _call(*arguments: object) -> str:
    output = StringIO()
    call_command(*arguments, stdout=output)
    return output.getvalue()


def test_the_first_people_come_by_command(db: None, browser: Browser) -> None:
    _call("create_organisation", "Census Bureau")
    said = _call(
        "add_user", "ada", "--organisation", "Census Bureau", "--role", "auditor", "--staff"
    )
    password = said.split()[-1]
    ada = User.objects.get(username="ada")
    assert ada.check_password(password)
    assert ada.is_staff
    assert ada.must_change_password
    assert selectors.organisation_of(ada).name == "Census Bureau"
    assert not ada.is_superuser


def test_an_organisation_is_found_by_its_code_as_well(cast: Cast) -> None:
    _call("add_user", "ada", "--organisation", cast.organisation.code, "--role", "steward")
    assert selectors.organisation_of(User.objects.get(username="ada")) == cast.organisation


def test_commands_refuse_in_one_line(cast: Cast) -> None:
    with pytest.raises(CommandError, match="no such organisation"):
        _call("add_user", "ada", "--organisation", "Nowhere", "--role", "steward")
    with pytest.raises(CommandError, match="already exists"):
        _call(
            "add_user", "steward", "--organisation", cast.organisation.code, "--role", "steward"
        )
    with pytest.raises(CommandError, match="already exists"):
        _call("create_organisation", cast.organisation.name)
    assert Organisation.objects.count() == 2


def test_demo_users_are_written_to_a_private_file_and_switched_off(
    db: None, tmp_path: Path
) -> None:
    path = tmp_path / "logins"
    _call("demo_users", "make", "--logins", path)
    assert path.stat().st_mode & 0o777 == 0o600
    lines = [line.split() for line in path.read_text().splitlines() if not line.startswith("#")]
    for name, password, *_ in lines:
        assert User.objects.get(username=name).check_password(password)
    assert "4 demo users" in _call("demo_users", "off")
    assert not User.objects.filter(is_demo=True, is_active=True).exists()
    _call("demo_users", "on")
    assert User.objects.filter(is_demo=True, is_active=True).count() == 4


def test_who_manages_people_gets_no_hold_of_the_operator(cast: Cast, browser: Browser) -> None:
    """The operator sees every organisation in the administration; a new password of theirs would show it to
    others."""
    User.objects.filter(pk=cast.analyst.pk).update(is_superuser=True)
    before = User.objects.values().get(pk=cast.analyst.pk)
    client = browser(cast.staff)
    assert client.post(f"{PEOPLE}{cast.analyst.pk}/one-time-password/").status_code == 403
    assert (
        client.post(f"{PEOPLE}{cast.analyst.pk}/active/", {"active": "no"}).status_code == 403
    )
    assert client.post(f"{PEOPLE}{cast.analyst.pk}/", {"roles": ["auditor"]}).status_code == 403
    assert User.objects.values().get(pk=cast.analyst.pk) == before
