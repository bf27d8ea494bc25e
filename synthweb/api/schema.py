"""What the OpenAPI document says beyond the views themselves: the token scheme and the scope that each
address wants, filters of lists, the key of a repeated request, and that every error is a problem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter

from synthweb.api.authentication import scope_of
from synthweb.api.idempotency import HEADER, LONGEST_KEY
from synthweb.api.problems import MEDIA_TYPE
from synthweb.api.renderers import JSON

Handler = TypeVar("Handler", bound=Callable[..., Any])

ALWAYS = {
    401: "No usable token.",
    403: "Your role or your token's scopes do not allow it.",
    429: "Too many requests; `Retry-After` says when to come back.",
    503: "The server is overloaded, or its database does not answer; `Retry-After` says when to come back.",
}
KEY = OpenApiParameter(
    HEADER,
    {"type": "string", "maxLength": LONGEST_KEY, "pattern": "^[ -~]*$"},
    OpenApiParameter.HEADER,
    description="Of your own choice, fresh for each request: sent again with the same request, it has its "
    "effect once and gives the same answer, for a day unless the operator chose otherwise; with another "
    "request it is a 409.",
)
NAMED = {404: "There is nothing here, or it is not yours to see."}
FULL = "The installation has no room to store this now; nothing was stored."
WRITTEN = {
    400: "The request cannot be used as it is.",
    409: "The state of things does not allow it: too little budget, decided before, not ready.",
    422: "Well formed, and still not usable: each fault with pointer, column, rule and repair.",
    507: FULL,
}
SENT = {413: "The body is too large.", 415: "This address takes no body of this kind."}
REFUSALS = {
    **WRITTEN,
    **SENT,
    410: "This has ended or expired: begin another one.",
    412: "`Tus-Resumable` is not a version that is spoken here; `Tus-Version` says which are.",
    423: "Another request is at work on it: ask again in a moment.",
    507: FULL,
}
FAULT = {
    "type": "object",
    "description": "One thing to mend: where in the request, which column of the table, what is wrong, "
    "what to do.",
    "properties": {
        "pointer": {
            "type": "string",
            "description": "JSON pointer into the request; empty for the whole of it.",
        },
        "column": {"type": ["string", "null"]},
        "rule": {"type": "string"},
        "repair": {"type": "string"},
    },
    "required": ["pointer", "column", "rule", "repair"],
}
PROBLEM = {
    "type": "object",
    "description": "An error (RFC 9457). No field ever holds a value of a row.",
    "properties": {
        "type": {
            "type": "string",
            "description": "about:blank, or urn:synthweb:<code> to tell refusals apart.",
        },
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "errors": {"type": "array", "items": {"$ref": "#/components/schemas/Fault"}},
        "lacking": {
            "type": "array",
            "description": "Of urn:synthweb:overspend: every currency that runs out, amounts as exact "
            "decimal text.",
            "items": {
                "type": "object",
                "properties": {
                    "currency": {"type": "string", "enum": ["epsilon", "delta", "rho"]},
                    **{name: {"type": "string"} for name in ("left", "costs", "short")},
                },
                "required": ["currency", "left", "costs", "short"],
            },
        },
    },
    "required": ["type", "title", "status", "detail"],
}


def refuses(*statuses: int) -> Callable[[Handler], Handler]:
    """Documents that a method of a view may answer with these problems, besides those of every request of its
    kind."""

    def decorate(handler: Handler) -> Handler:
        handler.refuses = statuses  # type: ignore[attr-defined]
        return handler

    return decorate


class Schema(AutoSchema):
    """One operation."""

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, object] | None:
        operation: dict[str, Any] | None = super().get_operation(*args, **kwargs)
        if operation is not None:
            for status in getattr(getattr(self.view, self._named(), None), "refuses", ()):
                operation["responses"][str(status)] = _response(REFUSALS[status])
            _say_json(operation["responses"].get("202"))
        return operation

    def get_override_parameters(self) -> list[Any]:
        handler = getattr(self.view, self._named(), None)
        query = (
            getattr(self.view, "query", None)
            if self._is_list_view() and self.method == "GET"
            else None
        )
        return [
            *([query] if query else []),
            *([KEY] if getattr(handler, "takes_key", False) else []),
        ]

    def get_description(self) -> str:  # type: ignore[override]
        scope = scope_of(self.view, self.method)
        # One view may answer at several addresses, each with a sentence of its own.
        text = getattr(self.view, "about", "") or super().get_description() or ""
        # `reference.SCOPE` reads this sentence: change both together.
        return f"{text}\n\nA token needs the scope `{scope}`.".strip()

    def _named(self) -> str:
        """The name of the method that answers: of a viewset the action, else the verb."""
        return str(getattr(self.view, "action", None) or self.method.lower())


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The `Authorize` button of the reference page."""

    target_class = "synthweb.api.authentication.BearerAuthentication"
    name = "token"

    def get_security_definition(self, _auto_schema: object) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "Make one under *Your account → API tokens*.",
        }


def _say_json(in_progress: dict[str, Any] | None) -> None:
    """How far a worker is with a file is JSON, and not of the media type of the file."""
    if in_progress and (contents := in_progress.get("content")):
        in_progress["content"] = {JSON: next(iter(contents.values()))}


def add_problems(result: dict[str, Any], **_: object) -> dict[str, Any]:
    """Give every operation the problem responses that its kind can give."""
    schemas = result.setdefault("components", {}).setdefault("schemas", {})
    schemas["Fault"], schemas["Problem"] = FAULT, PROBLEM
    for path, operations in result.get("paths", {}).items():
        for method, operation in operations.items():
            for status, text in _problems(path, method, operation).items():
                # What a view documents by itself stays.
                operation["responses"].setdefault(str(status), _response(text))
    return result


def _problems(path: str, method: str, operation: dict[str, Any]) -> dict[int, str]:
    asked = {parameter["in"] for parameter in operation.get("parameters", [])}
    # An address or a body may name an object that is not the caller's to see.
    named = NAMED if "{" in path or "requestBody" in operation else {}
    queried = {400: WRITTEN[400]} if "query" in asked else {}
    written = WRITTEN if method not in ("get", "delete") else {}
    return {
        **ALWAYS,
        **named,
        **queried,
        **written,
        **(SENT if "requestBody" in operation else {}),
    }


def _response(text: str) -> dict[str, object]:
    return {
        "description": text,
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
