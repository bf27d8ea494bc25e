"""A program that calls REST with a token, for the tests."""

from __future__ import annotations

import json
from typing import Any

from django.test import Client

from synthweb.accounts import services as accounts
from synthweb.accounts.models import User

PROBLEM = "application/problem+json"


class Caller:
    """A program with a token."""

    def __init__(self, user: User, *scopes: str) -> None:
        _, token = accounts.create_token(user=user, name="test", scopes=scopes, days=1)
        self.client = Client(headers={"Authorization": f"Bearer {token}"})

    def get(self, address: str, **extra: Any) -> Any:
        return self.client.get(f"/api/v1{address}", **extra)

    def send(self, address: str, body: Any, *, method: str = "post", **extra: Any) -> Any:
        text = json.dumps(body)
        if method == "put" and address.endswith(
            "/domain/"
        ):  # a description is declared with the words of a person
            address += "?because=The+codebook.&lists_because=The+codebook."
        return getattr(self.client, method)(
            f"/api/v1{address}", text, content_type="application/json", **extra
        )

    def raw(self, address: str, text: str) -> Any:
        return self.client.post(f"/api/v1{address}", text, content_type="application/json")

    def upload(
        self, query: str, table: bytes, *, content_type: str = "text/csv", **extra: Any
    ) -> Any:
        return self.client.post(
            f"/api/v1/datasets/?{query}", table, content_type=content_type, **extra
        )


def assert_problem(response: Any, *, status: int) -> dict[str, Any]:
    assert response.status_code == status, response.content
    assert response["Content-Type"] == PROBLEM
    body: dict[str, Any] = response.json()
    assert body["status"] == status
    assert {"type", "title", "detail"} <= body.keys()
    return body
