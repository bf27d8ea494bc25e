"""Two tabs on one form: the second save is told, what was typed stays, and either side can be taken."""

from __future__ import annotations

import datetime
import html
import re
from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from synthweb.accounts import appearance, selectors
from synthweb.accounts.models import Role
from synthweb.datasets.models import Dataset
from synthweb.lib import saved_meanwhile
from tests.cast import Cast
from tests.web import scene
from tests.web.scene import Scene

Open = Callable[..., Client]


def test_a_field_that_nobody_touched_takes_what_was_stored_meanwhile() -> None:
    shown = saved_meanwhile.shown_text({"a": "1", "b": "2", "c": "3", "d": "4"})
    stored = {"a": "1", "b": "20", "c": "30", "d": "40"}
    typed = {"a": "10", "b": "2", "c": "33", "d": "40"}
    merged = saved_meanwhile.merge(typed, shown=shown, stored=stored)
    assert merged.values == {"a": "10", "b": "20", "c": "33", "d": "40"}
    assert merged.conflicts == ("c",)


@pytest.mark.parametrize("shown", ["", "{", "[]", "3", "[" * 5_000])
def test_without_what_was_shown_what_is_typed_counts(shown: str) -> None:
    merged = saved_meanwhile.merge({"a": "1"}, shown=shown, stored={"a": "2"})
    assert (merged.values, merged.conflicts) == ({"a": "1"}, ())


def test_lines_and_lists_are_compared_as_a_form_sends_them() -> None:
    shown = saved_meanwhile.shown_text({"text": "a\nb", "roles": ["x", "y"], "day": None})
    stored = {"text": "a\nb", "roles": ["y", "x"], "day": None}
    typed = {"text": "a\r\nb ", "roles": ["y", "x"], "day": ""}
    assert not saved_meanwhile.merge(typed, shown=shown, stored=stored).conflicts


def shown_in(page: str, *, action: str = "") -> str:
    """What a form of a page carries."""
    part = page.partition(f'action="{action}"')[2] if action else page
    field = re.search(r'<input[^>]*name="shown"[^>]*>', part)
    assert field is not None
    return html.unescape(str(re.search(r'value="([^"]*)"', field[0])[1]))  # type: ignore[index]


@pytest.mark.django_db
def test_the_second_save_of_a_name_is_told_and_either_can_be_taken(
    cast: Cast, browser: Open
) -> None:
    dataset = scene.upload(steward=cast.steward, organisation=cast.organisation)
    client, address = browser(cast.steward), reverse("pages:settings", args=[dataset.code])
    shown = shown_in(client.get(address).text, action=address)
    mine = {"name": "Mine", "description": "Of 2026", "shown": shown}
    # Another tab: the name alone.
    client.post(address, {"name": "Theirs", "description": "", "shown": shown})
    refused = client.post(address, mine)
    dataset.refresh_from_db()
    assert refused.status_code == 422 and (dataset.name, dataset.description) == ("Theirs", "")
    page = refused.text
    assert re.findall(r'data-difference="(\w+)"', page) == ["name"]
    assert 'value="Mine"' in page and "Of 2026" in page and "Theirs" in page
    # The same button again, of the page that said so.
    again = shown_in(page, action=address)
    assert client.post(address, mine | {"shown": again}).status_code == 302
    dataset.refresh_from_db()
    assert (dataset.name, dataset.description) == ("Mine", "Of 2026")


@pytest.mark.django_db
def test_two_saves_of_different_fields_are_both_kept(cast: Cast, browser: Open) -> None:
    dataset = scene.upload(steward=cast.steward, organisation=cast.organisation)
    client, address = browser(cast.steward), reverse("pages:settings", args=[dataset.code])
    shown = shown_in(client.get(address).text, action=address)
    client.post(address, {"name": "New name", "description": "", "shown": shown})
    client.post(address, {"name": "Commutes", "description": "Of 2026", "shown": shown})
    dataset.refresh_from_db()
    assert (dataset.name, dataset.description) == ("New name", "Of 2026")


@pytest.mark.django_db
def test_forms_of_people_and_of_the_organisation_are_told_too(
    cast: Cast, browser: Open
) -> None:
    client = browser(cast.staff)
    person = reverse("accounts:person", args=[cast.analyst.pk])
    shown = shown_in(client.get(person).text)
    both = [Role.ANALYST.value, Role.AUDITOR.value]
    client.post(person, {"roles": both, "shown": shown})
    refused = client.post(person, {"roles": [Role.STEWARD.value], "shown": shown})
    assert 'data-difference="roles"' in refused.text
    assert set(selectors.every_role_of(cast.analyst)) == set(both)

    address = reverse("accounts:organisation")
    shown = shown_in(client.get(address).text)
    client.post(address, {"language": "", "contact": "a@example.org", "shown": shown})
    client.post(address, {"language": "de", "contact": "", "shown": shown})
    now = appearance.of(cast.organisation)
    assert (now.language, now.contact) == ("de", "a@example.org")


@pytest.mark.django_db
def test_days_and_the_form_of_a_file_and_words_of_a_release_are_told_too(
    cast: Cast, browser: Open, played: Scene
) -> None:
    client, dataset, release = browser(cast.steward), played.dataset, played.release
    days = reverse("pages:dataset-retention", args=[dataset.code])
    shown = shown_in(client.get(days).text)
    first, second = (timezone.now().date() + datetime.timedelta(days=n) for n in (400, 500))
    client.post(days, {"releases_until": first.isoformat(), "shown": shown})
    refused = client.post(days, {"releases_until": second.isoformat(), "shown": shown})
    assert 'data-difference="releases_until"' in refused.text
    assert Dataset.objects.get(pk=dataset.pk).releases_until == first

    about = reverse("releases:describe", args=[release.code])
    shown = shown_in(client.get(about).text)
    client.post(about, {"name": "One", "description": "", "shown": shown})
    refused = client.post(about, {"name": "Two", "description": "", "shown": shown})
    release.refresh_from_db()
    assert 'data-difference="name"' in refused.text and release.name == "One"
