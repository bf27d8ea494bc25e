"""Reads YAML of which every reader sees the same, and checks it against a JSON Schema; refusals name field,
rule and repair."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from synth_engine.errors import SpecError

MAX_BYTES = 20_000_000
_TYPES = {
    "object": "a mapping of names to values",
    "array": "a list",
    "string": 'a text; numbers and dates are texts in quotation marks, such as "440070001"',
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}


class _Loader(yaml.SafeLoader):
    """Plain values alone, without aliases, which let a small file become a huge one, and without a name given
    twice."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise SpecError("the file has an alias (*)", repair="write the value out")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        names: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise SpecError(
                    "a name is not a text",
                    repair="write names as texts",
                    line=key.start_mark.line + 1,
                )
            # A name is the text that is written: neither a number nor, as in old YAML, `no` for false.
            key.tag = "tag:yaml.org,2002:str"
            if key.value in names:
                raise SpecError(
                    "a name is given twice",
                    repair="leave one of them out",
                    line=key.start_mark.line + 1,
                )
            names.add(key.value)
        return super().construct_mapping(node, deep=deep)


def read(path: Path, *, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The document in a file of YAML, or JSON, which is YAML too. Errors: SpecError."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
        text = raw.decode("utf-8")
    except (OSError, UnicodeDecodeError):
        raise SpecError(
            "the specification of the city cannot be read as UTF-8",
            repair="check its path, rights and encoding",
        ) from None
    if len(raw) > MAX_BYTES:
        raise SpecError("the specification is too large", repair="check the path")
    try:
        document = yaml.load(text, Loader=_Loader)  # noqa: S506  # a subclass of the safe loader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise SpecError(
            "the specification is not YAML",
            repair="check indents, colons and quotation marks",
            line=None if mark is None else mark.line + 1,
        ) from None
    except (yaml.YAMLError, RecursionError, ValueError):
        raise SpecError(
            "the specification is not YAML", repair="check its characters"
        ) from None
    check(document, schema=schema)
    checked: dict[str, Any] = document
    return checked


def check(document: object, *, schema: Mapping[str, Any]) -> None:
    """Errors: SpecError that names the first field that breaks the schema."""
    validator = jsonschema.Draft202012Validator(schema)
    error = jsonschema.exceptions.best_match(validator.iter_errors(document))
    if error is None:
        return
    rule, repair = _words(error)
    where = "/".join(map(str, error.absolute_path)) or "the specification"
    raise SpecError(f"{where}: {rule}", repair=repair)


def _words(error: jsonschema.ValidationError) -> tuple[str, str]:
    """The rule that a field breaks, and the repair."""
    limit: Any = error.validator_value
    given: Any = error.instance
    match error.validator:
        case "required":
            missing = next(name for name in limit if name not in given)
            return f"{missing!r} is missing", "add it"
        case "additionalProperties":
            known = list(error.schema.get("properties", {}))  # type: ignore[union-attr]
            unknown = next(str(name) for name in given if name not in known)
            return f"unknown field {unknown!r}", f"known are {', '.join(known)}"
        case "type":
            return f"it is not {_TYPES[str(limit)]}", "write it so"
        case "enum":
            return "unknown value", f"use one of {', '.join(limit)}"
        case "const":
            return "unknown value", f"write {limit}"
        case "minimum" | "maximum" | "exclusiveMinimum":
            bound = {
                "minimum": "below",
                "maximum": "above",
                "exclusiveMinimum": "not above",
            }
            return f"it is {bound[str(error.validator)]} {limit:,}", "write another number"
        case "pattern":
            return (
                f"{given!r} is no name of a table",
                "begin with a letter; use letters, digits and _",
            )
        case "minItems" | "minProperties" | "minLength":
            return "it is empty", "write at least one, or leave the field out"
        case "maxItems" | "maxProperties" | "maxLength":
            return f"it has more than {limit:,}", "write fewer"
        case _:
            return "it has none of the forms that are known", "see docs/city.md"
