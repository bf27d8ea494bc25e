"""The audit log for people: words and names, one person's and one table's history, and who looked at real
rows."""

from __future__ import annotations

import ast
import datetime
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from synthweb.audit import labels
from synthweb.audit import services as audit
from synthweb.audit.models import AuditEntry
from synthweb.datasets import selectors as datasets
from synthweb.ledger import verify_ledger
from tests.cast import Cast
from tests.web import doorbell, scene
from tests.web.scene import Scene


@pytest.fixture
def played(cast: Cast) -> Iterator[Scene]:
    with doorbell.queue_at(doorbell.IN_MEMORY):
        yield scene.play(
            steward=cast.steward, custodian=cast.custodian, organisation=cast.organisation
        )


def shown(client: Client, name: str, *arguments: str, **query: str) -> list[Any]:
    return list(client.get(reverse(f"ledger:{name}", args=arguments), query).context["deeds"])


def taken(client: Client, name: str, *arguments: str, **query: str) -> list[dict[str, Any]]:
    answer = client.get(reverse(f"ledger:{name}", args=arguments), query)
    assert answer.status_code == 200
    return list(json.loads(b"".join(answer.streaming_content))["entries"])


# --- words --------------------------------------------------------------------------------------------------
def recorded_actions() -> set[str]:
    """Every text that is given as an action somewhere in the application."""
    found = set()
    for path in (settings.BASE_DIR / "synthweb").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and "record" in ast.unparse(node.func):
                values = [word.value for word in node.keywords if word.arg == "action"]
                found |= {
                    text.value
                    for value in [*values, *node.args]
                    for text in ast.walk(value)
                    if isinstance(text, ast.Constant)
                    and isinstance(text.value, str)
                    and "." in text.value
                }
    return {text for text in found if " " not in text}


def test_every_action_that_is_recorded_has_its_words() -> None:
    actions = recorded_actions()
    assert {"report.opened", "release.shared", "user.deactivated", "budget.granted"} <= actions
    assert actions - set(labels.known()) == set(), (
        "write a sentence for each of these in synthweb/audit/labels.py"
    )


def test_an_action_without_words_is_shown_as_it_was_recorded(
    cast: Cast, browser: Callable[..., Client]
) -> None:
    audit.record(
        actor="system",
        action="moon.landed",
        organisation=cast.organisation,
        target=("moon", "luna"),
    )
    client = browser(cast.auditor)
    page = client.get(reverse("ledger:audit"))
    assert "moon.landed" in page.text and "luna" in page.text
    assert [deed.entry.action for deed in shown(client, "audit", action="moon.landed")] == [
        "moon.landed"
    ]


@pytest.mark.slow
def test_codes_and_numbers_have_names(
    cast: Cast, played: Scene, browser: Callable[..., Client]
) -> None:
    deeds = {
        deed.entry.action: deed for deed in reversed(shown(browser(cast.auditor), "audit"))
    }
    assert deeds["user.created"].name == "reader"
    assert deeds["user.created"].kind == "person"
    assert deeds["dataset.uploaded"].name == played.fresh.name
    assert deeds["budget.granted"].name == played.account.name
    assert ("dataset", played.dataset.name) in deeds["budget.granted"].facts
    assert deeds["release.shared"].address == reverse(
        "releases:release", args=[played.release.code]
    )
    assert deeds["report.requested"].sentence == "asked for a comparison with the real table"


# --- who looked at real rows --------------------------------------------------------------------------------
@pytest.mark.slow
def test_every_opening_of_real_rows_is_listed_with_who_what_and_of_which_table(
    cast: Cast, played: Scene, browser: Callable[..., Client]
) -> None:
    auditor, steward = browser(cast.auditor), browser(cast.steward)
    assert shown(auditor, "real-rows") == []
    datasets.preview_for(cast.steward, played.dataset, "table")
    assert (
        steward.get(reverse("releases:compare", args=[played.release.code])).status_code == 200
    )
    found = shown(auditor, "real-rows")
    assert [(deed.entry.actor, deed.seen, deed.dataset) for deed in found] == [
        ("steward", "a comparison with the real table", played.dataset.name),
        ("steward", "first rows and suggestions", played.dataset.name),
    ]
    assert [deed.entry.pk for deed in shown(steward, "real-rows")] == [
        deed.entry.pk for deed in found
    ]
    assert len(shown(auditor, "real-rows", actor="steward", object=played.dataset.code)) == 2
    assert shown(auditor, "real-rows", object=played.fresh.code) == []
    assert shown(auditor, "real-rows", until="2020-01-01") == []
    assert len(taken(auditor, "real-rows-entries", "json", action=labels.REPORT)) == 1
    about_one = auditor.get(reverse("ledger:real-rows"))
    assert played.dataset.name in about_one.text and not re.search(r"\bnorth\b", about_one.text)


# --- one table ----------------------------------------------------------------------------------------------
@pytest.mark.slow
def test_the_history_of_a_table_holds_its_runs_and_releases_and_no_other_tables(
    cast: Cast, played: Scene, browser: Callable[..., Client]
) -> None:
    auditor = browser(cast.auditor)
    found = shown(auditor, "history-dataset", played.dataset.code)
    assert {deed.entry.action for deed in found} >= {
        "dataset.uploaded", "domain.confirmed", "budget.granted", "run.submitted", "release.published",
        "release.shared", "sample.requested", "report.requested",
    }  # fmt: skip
    others = {deed.entry.pk for deed in shown(auditor, "history-dataset", played.fresh.code)}
    assert others and others.isdisjoint(deed.entry.pk for deed in found)
    assert all(played.fresh.code not in json.dumps(deed.entry.detail) for deed in found)
    assert {entry["covered"]["sequence"] for entry in taken(auditor, "history-dataset-entries",
        played.dataset.code, "json")} == {
        deed.entry.sequence for deed in found
    }  # fmt: skip


# --- one person ---------------------------------------------------------------------------------------------
@pytest.mark.slow
def test_the_history_of_a_person_is_what_they_did_and_what_was_done_about_them(
    cast: Cast, played: Scene, browser: Callable[..., Client]
) -> None:
    found = shown(browser(cast.auditor), "history-person", played.reader.username)
    assert {deed.entry.action for deed in found} >= {
        "user.created",
        "release.shared",
        "sample.requested",
    }
    for deed in found:
        about = json.dumps(deed.entry.detail) + deed.name
        assert deed.entry.actor == played.reader.username or played.reader.username in about
    own = shown(browser(played.reader), "history-person", played.reader.username)
    assert {deed.entry.pk for deed in own} >= {deed.entry.pk for deed in found}


PARTS = {
    "audit": ("auditor",),
    "real-rows": ("auditor", "steward"),
    "history-dataset": ("auditor", "steward"),
    "history-person": ("auditor", "custodian"),
}


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_each_part_is_read_by_exactly_those_it_is_for(
    cast: Cast, played: Scene, browser: Callable[..., Client], part: str
) -> None:
    of = {
        "history-dataset": [played.dataset.code],
        "history-person": [cast.custodian.username],
    }.get(part, [])
    for role, user in cast.by_name().items():
        for address in (
            reverse(f"ledger:{part}", args=of),
            *(reverse(f"ledger:{part}-entries", args=[*of, kind]) for kind in ("csv", "json")),
        ):
            status = browser(user).get(address).status_code
            if role in (*PARTS[part], "staff"):
                assert status == 200, (role, address)
            elif role == "stranger" and part == "real-rows":
                assert status == 200  # a steward elsewhere, who reads their own organisation's
            else:
                assert status in (403, 404), (role, address)
    assert shown(browser(cast.stranger), "real-rows") == []


def test_a_person_of_another_organisation_does_not_exist(
    cast: Cast, browser: Callable[..., Client]
) -> None:
    address = reverse("ledger:history-person", args=["stranger"])
    assert browser(cast.auditor).get(address).status_code == 404
    assert browser(cast.stranger).get(address).status_code == 200


# --- exports and queries ------------------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "json"])
def test_exported_deeds_are_checked_without_the_server(
    cast: Cast,
    played: Scene,
    browser: Callable[..., Client],
    tmp_path: Path,
    capsys: Any,
    kind: str,
) -> None:
    answer = browser(cast.auditor).get(reverse("ledger:audit-entries", args=[kind]))
    path = tmp_path / f"audit.{kind}"
    path.write_bytes(b"".join(answer.streaming_content))
    assert verify_ledger.main([str(path)]) == 3
    assert "entries is as it was written" in capsys.readouterr().out
    path.write_bytes(path.read_bytes().replace(b"Agreed.", b"Agreed!"))
    assert verify_ledger.main([str(path)]) == 1
    head = tmp_path / "head.json"
    head.write_bytes(browser(cast.auditor).get(reverse("ledger:audit-head")).content)
    assert verify_ledger.main(["--head", str(head)]) == 0


@pytest.mark.slow
def test_the_number_of_queries_does_not_grow_with_the_log(
    cast: Cast, played: Scene, browser: Callable[..., Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datasets, "SITTING", datetime.timedelta(0))  # every opening is written
    client = browser(cast.auditor)

    def queries(name: str, *arguments: str) -> int:
        with CaptureQueriesContext(connection) as counted:
            assert client.get(reverse(f"ledger:{name}", args=arguments)).status_code == 200
        return len(counted)

    pages = [
        ("audit",),
        ("real-rows",),
        ("history-dataset", played.dataset.code),
        ("history-person", "steward"),
    ]
    datasets.preview_for(cast.steward, played.dataset, "table")
    before = [queries(*page) for page in pages]
    for _ in range(20):
        datasets.preview_for(cast.steward, played.dataset, "table")
        audit.record(
            actor=cast.steward, action="user.signed_in", organisation=cast.organisation,
            target=("user", str(cast.steward.pk)), detail={"dataset": played.fresh.code},
        )  # fmt: skip
    assert all(queries(*page) <= then for page, then in zip(pages, before, strict=True))
    assert AuditEntry.objects.count() > 60
