"""Writing the audit log: kept if and only if the deed is, exact, and without a value that has two
spellings."""

from __future__ import annotations

import datetime as dt
import hashlib
import json

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from hypothesis import given
from hypothesis import strategies as st

from synthweb.audit import chain
from synthweb.audit import services as audit
from synthweb.audit.models import AuditEntry
from synthweb.lib import hashing
from tests.web.ledger_setup import people


@pytest.mark.django_db
def test_an_entry_says_who_did_what_to_which_object():
    who = people()
    entry = audit.record(
        actor=who.steward, action="dataset.uploaded", target=("dataset", "abc"),
        organisation=who.organisation,
        detail={"size": 3},
    )  # fmt: skip
    stored = AuditEntry.objects.get(pk=entry.pk)
    assert (stored.actor, stored.action, stored.object_kind, stored.object_code, stored.organisation_code,
        stored.detail) == (
        who.steward.username, "dataset.uploaded", "dataset", "abc", who.organisation.code, {"size": 3},
    )  # fmt: skip


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("actor", "name"), [(None, "system"), ("worker", "worker"), (AnonymousUser(), "anonymous")]
)
def test_actors_without_a_user_have_a_name(actor, name):
    assert audit.record(actor=actor, action="test.done").actor == name


@pytest.mark.django_db
def test_an_entry_disappears_with_the_deed_that_failed():
    audit.record(actor="system", action="test.kept")
    with pytest.raises(RuntimeError), transaction.atomic():
        audit.record(actor="system", action="test.lost")
        raise RuntimeError
    audit.record(actor="system", action="test.kept")
    assert list(AuditEntry.objects.order_by("sequence").values_list("action", flat=True)) == [
        "test.kept",
        "test.kept",
    ]
    assert chain.verify().intact


@pytest.mark.django_db
@pytest.mark.parametrize(
    "detail", [{"share": 0.1}, {"blob": b"x"}, {1: "x"}, {"deep": [{"share": 1.5}]}]
)
def test_details_without_one_spelling_are_refused(detail):
    with pytest.raises(TypeError, match="canonical JSON"):
        audit.record(actor="system", action="test.done", detail=detail)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "text",
    [
        "\x00",
        "a\x00b",
        "\ud800",
        "é",
        "e\u0301",
        "\u2028",
        '"\\',
        "\u202e",
        "💧",
        "\r\nforged: line",
    ],
)
def test_hostile_text_is_kept_and_the_chain_still_verifies(text):
    audit.record(actor=f"a{text}", action="test.done", detail={"name": text, text: [text]})
    assert chain.verify().intact


def texts() -> st.SearchStrategy[str]:
    return st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | texts(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts(), inner, max_size=4),
        max_leaves=20,
    )
)
def test_canonical_json_reads_back_and_does_not_depend_on_the_order_of_keys(value):
    text = hashing.canonical_json(value)
    assert json.loads(text) == value

    def turned(item):
        if isinstance(item, dict):
            return {key: turned(item[key]) for key in reversed(item)}
        return [turned(part) for part in item] if isinstance(item, list) else item

    assert hashing.canonical_json(turned(value)) == text


def test_a_known_digest():
    expected = hashlib.sha256(
        '{"a":[1,true,null],"at":"2026-03-01T08:30:00.000001Z","é":"ü"}'.encode()
    ).hexdigest()
    at = dt.datetime(2026, 3, 1, 9, 30, 0, 1, tzinfo=dt.timezone(dt.timedelta(hours=1)))
    assert hashing.digest({"é": "ü", "at": at, "a": (1, True, None)}) == expected


def test_a_time_without_a_zone_is_refused():
    with pytest.raises(TypeError, match="zone"):
        hashing.canonical_json(dt.datetime(2026, 3, 1))  # noqa: DTZ001
