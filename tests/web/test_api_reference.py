"""The REST reference: every address of the document on one page, in words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from django.test import Client
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator

from synthweb.accounts.models import User
from synthweb.api import reference
from tests.web.html import html_of


def test_every_address_and_object_of_the_document_is_on_the_page(
    steward: User, browser: Callable[..., Client]
) -> None:
    client = browser(steward)
    document = json.loads(client.get("/api/v1/schema/", {"format": "json"}).content)
    page = html_of(client.get("/api/v1/docs/"))
    operations = [
        operation for verbs in document["paths"].values() for operation in verbs.values()
    ]
    ids = {operation["operationId"] for operation in operations if isinstance(operation, dict)}
    assert len(ids) > 20
    assert ids | {f"object-{name}" for name in document["components"]["schemas"]} <= set(
        re.findall(r'id="([^"]+)"', page)
    )


def test_the_types_of_all_fields_are_understood() -> None:
    """A method whose type is not understood would be documented as text, with a warning alone."""
    GENERATOR_STATS.reset()
    SchemaGenerator().get_schema(request=None, public=True)
    assert not GENERATOR_STATS, [*GENERATOR_STATS._warn_cache, *GENERATOR_STATS._error_cache]


def test_every_address_has_a_sentence_of_its_own() -> None:
    document = SchemaGenerator().get_schema(request=None, public=True)
    sentences = {
        f"{verb} {path}": reference.SCOPE.sub("", operation["description"]).strip()
        for path, verbs in document["paths"].items()
        for verb, operation in verbs.items()
    }
    assert len(sentences) > 60
    assert [
        name for name, text in sentences.items() if not re.match(r"(?s)[A-Z`].{10,}\.$", text)
    ] == []
    repeated = [
        name for name, text in sentences.items() if list(sentences.values()).count(text) > 1
    ]
    assert repeated == []


def test_every_answer_states_the_version_and_so_does_the_document(
    steward: User, browser: Callable[..., Client]
) -> None:
    client = browser(steward)
    answered = [
        client.get("/api/v1/me/"),
        client.get("/api/v1/nowhere/"),
        client.get("/api/v9/me/"),
        client.get("/api/v1/me/", {"a": "\0"}),
        browser().get("/api/v1/me/"),
    ]
    assert [answer.status_code for answer in answered] == [200, 404, 404, 400, 401]
    assert {answer["Synthweb-API-Version"] for answer in answered} == {"1.0"}
    document = json.loads(client.get("/api/v1/schema/", {"format": "json"}).content)
    assert document["info"]["version"] == "1.0"
    assert "Synthweb-API-Version" not in client.get("/docs/")


def test_every_link_to_an_object_leads_to_it(
    steward: User, browser: Callable[..., Client]
) -> None:
    page = html_of(browser(steward).get("/api/v1/docs/"))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(re.findall(r'id="([^"]+)"', page))


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "string"}, "text"),
        ({"type": ["string", "null"]}, "text or nothing"),
        ({"type": "integer", "minimum": 1, "maximum": 9}, "whole number from 1 to 9"),
        ({"enum": ["basic", "zcdp"], "type": "string"}, "basic or zcdp"),
        ({"type": "array", "items": {"$ref": "#/components/schemas/Run"}}, "list of Run"),
        ({"oneOf": [{"$ref": "#/components/schemas/Run"}, {"type": "null"}]}, "Run or nothing"),
        ({"allOf": [{"$ref": "#/components/schemas/Run"}]}, "Run"),
        ({}, "anything"),
    ],
)
def test_a_type_is_said_in_words(schema: dict[str, object], words: str) -> None:
    assert reference.kind_of(schema).text == words


def test_the_line_for_a_shell_names_key_and_body_where_they_belong() -> None:
    key = reference.Field(
        name="Idempotency-Key",
        kind=reference.kind_of({}),
        place="header",
        required=False,
        text="",
    )
    body = reference.Content(media_type="application/json", kind=reference.kind_of({}))
    operation = reference.Operation(
        id="x", verb="POST", path="/api/v1/runs/", text="", scope="spend",
        parameters=(key,), bodies=(body,), answers=(), problems=(),
    )  # fmt: skip
    assert operation.curl.split(" \\\n     ") == [
        'curl -X POST -H "Authorization: Bearer $TOKEN"',
        '-H "Idempotency-Key: $(uuidgen)"',
        '-H "Content-Type: application/json"',
        "-d @request.json",
        '"$SYNTHWEB/api/v1/runs/"',
    ]
