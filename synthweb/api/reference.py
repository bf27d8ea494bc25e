"""The OpenAPI document, arranged for people to read: addresses by subject, objects by name. Knows no HTTP."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

VERBS = ("get", "post", "put", "patch", "delete")
# Reads the sentence that `schema.Schema.get_description` writes: change both together.
SCOPE = re.compile(r"A token needs the scope `(\w+)`\.")
PROBLEM = "application/problem+json"


@dataclass(frozen=True, kw_only=True)
class Kind:
    """The type of a value in words; `name` links to an object described below, `is_list` to many of them."""

    text: str
    name: str = ""
    is_list: bool = False


@dataclass(frozen=True, kw_only=True)
class Field:
    """A parameter of an address, or a field of an object."""

    name: str
    kind: Kind
    place: str  # path, query, header; empty for a field
    required: bool
    text: str


@dataclass(frozen=True, kw_only=True)
class Content:
    """What a request sends, or what an answer holds."""

    media_type: str
    kind: Kind


@dataclass(frozen=True, kw_only=True)
class Answer:
    status: str
    text: str
    contents: tuple[Content, ...]


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One verb at one address."""

    id: str
    verb: str
    path: str
    text: str
    scope: str
    parameters: tuple[Field, ...]
    bodies: tuple[Content, ...]
    answers: tuple[Answer, ...]
    problems: tuple[Answer, ...]

    @property
    def curl(self) -> str:
        """The same from a shell."""
        lines = [f"curl -X {self.verb} " if self.verb != "GET" else "curl "]
        lines[0] += '-H "Authorization: Bearer $TOKEN"'
        if any(parameter.name == "Idempotency-Key" for parameter in self.parameters):
            lines.append('-H "Idempotency-Key: $(uuidgen)"')
        if self.bodies:
            sent = self.bodies[0].media_type
            lines.append(f'-H "Content-Type: {sent}"')
            lines.append("-d @request.json" if "json" in sent else "-T table.csv")
        return " \\\n     ".join([*lines, f'"$SYNTHWEB{self.path}"'])


@dataclass(frozen=True, kw_only=True)
class Subject:
    name: str
    operations: tuple[Operation, ...]


@dataclass(frozen=True, kw_only=True)
class Shape:
    """One object of the interface, or a list of words."""

    name: str
    text: str
    fields: tuple[Field, ...]
    words: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Reference:
    subjects: tuple[Subject, ...]
    shapes: tuple[Shape, ...]


def arranged(document: Mapping[str, Any]) -> Reference:
    """The whole document; addresses in its own order, subjects and objects by name."""
    by_subject: dict[str, list[Operation]] = {}
    for path, verbs in document["paths"].items():
        for verb in VERBS:
            if verb in verbs:
                by_subject.setdefault(verbs[verb]["tags"][0], []).append(
                    _operation(path, verb, verbs[verb])
                )
    subjects = [
        Subject(name=name, operations=tuple(by_subject[name])) for name in sorted(by_subject)
    ]
    shapes = document["components"]["schemas"]
    return Reference(
        subjects=tuple(subjects),
        shapes=tuple(_shape(name, shapes[name]) for name in sorted(shapes)),
    )


def _operation(path: str, verb: str, given: Mapping[str, Any]) -> Operation:
    text = given.get("description", "")
    scope = SCOPE.search(text)
    answers = [_answer(status, answer) for status, answer in sorted(given["responses"].items())]
    return Operation(
        id=given["operationId"],
        verb=verb.upper(),
        path=path,
        text=SCOPE.sub("", text).strip(),
        scope=scope[1] if scope else "",
        parameters=tuple(_parameter(parameter) for parameter in given.get("parameters", ())),
        bodies=tuple(_contents(given.get("requestBody", {}))),
        answers=tuple(answer for answer in answers if answer.status < "400"),
        problems=tuple(answer for answer in answers if answer.status >= "400"),
    )


def _answer(status: str, given: Mapping[str, Any]) -> Answer:
    return Answer(
        status=status, text=given.get("description", ""), contents=tuple(_contents(given))
    )


def _contents(given: Mapping[str, Any]) -> Iterator[Content]:
    for media_type, content in given.get("content", {}).items():
        yield Content(media_type=media_type, kind=kind_of(content.get("schema", {})))


def _parameter(given: Mapping[str, Any]) -> Field:
    return Field(
        name=given["name"],
        kind=kind_of(given["schema"]),
        place=given["in"],
        required=bool(given.get("required")),
        text=_description(given),
    )


def _shape(name: str, given: Mapping[str, Any]) -> Shape:
    required = set(given.get("required", ()))
    fields = [
        Field(
            name=field,
            kind=kind_of(schema),
            place="",
            required=field in required,
            text=_description(schema),
        )
        for field, schema in given.get("properties", {}).items()
    ]
    words = tuple(str(word) for word in given.get("enum", ()))
    return Shape(
        name=name, text="" if words else _description(given), fields=tuple(fields), words=words
    )


def _description(given: Mapping[str, object]) -> str:
    """Its description, without the list of words that the type says already."""
    # drf-spectacular adds a line that begins with `* ` for each value of an enum.
    lines = str(given.get("description", "")).splitlines()
    return " ".join(line.strip() for line in lines if not line.startswith("* `")).strip()


def kind_of(schema: Mapping[str, Any]) -> Kind:
    """A JSON Schema in words: "text", "list of Release", "whole number from 1 to 100", "basic or zcdp"."""
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return Kind(text=name, name=name)
    for key in ("allOf", "oneOf", "anyOf"):
        if key in schema:
            kinds = [kind_of(part) for part in schema[key]]
            return (
                kinds[0]
                if len(kinds) == 1
                else Kind(text=" or ".join(kind.text for kind in kinds))
            )
    if "enum" in schema:
        return Kind(
            text=" or ".join(
                "nothing" if word is None else str(word) for word in schema["enum"]
            )
        )
    kinds_of_value = schema.get("type", "any")
    names = kinds_of_value if isinstance(kinds_of_value, list) else [kinds_of_value]
    if names == ["array"]:
        inner = kind_of(schema.get("items", {}))
        return Kind(text=f"list of {inner.text}", name=inner.name, is_list=True)
    return Kind(text=" or ".join(_word(name, schema) for name in names))


def _word(name: str, schema: Mapping[str, object]) -> str:
    if name == "string":
        format_ = str(schema.get("format", ""))
        return {"date-time": "date and time", "binary": "file", "uri": "address"}.get(
            format_, "text"
        )
    words = {
        "integer": "whole number",
        "number": "number",
        "boolean": "true or false",
        "null": "nothing",
    }
    text = words.get(name, {"object": "object", "any": "anything"}.get(name, name))
    low, high = schema.get("minimum"), schema.get("maximum")
    if name in ("integer", "number"):
        text += f" from {low}" if low is not None else ""
        text += f" to {high}" if high is not None else ""
    return text
