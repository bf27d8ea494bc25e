"""`python -m tests.errors_page` writes docs/errors.md from the source: every rule that synthweb can name, and what to
do about it. A test holds the page against the code."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Container, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "errors.md"
CODE = ("synth_engine", "synthweb")
HELPERS = {"error": "DomainError", "_refuse": "VerificationError"}
"""Functions that make or raise an error of that class from the same arguments."""

TITLES = {
    "SpecError": "The requested release: method, parameters, privacy loss, rows",
    "DomainError": "The public description of a table",
    "TableError": "The table itself",
    "InputError": "Other files and answers",
    "Conflict": "Not possible in the current state",
    "Forbidden": "Not permitted",
    "Refused": "Other errors of the application",
    "InstallationRefused": "Errors of the local installation",
    "BackupRefused": "Errors of key backups",
    "PrivacyError": "Privacy: the guarantee would not hold",
    "VerificationError": "A receipt does not prove its claim",
}

STATUSES = {
    "Busy": "429",
    "Conflict": "409",
    "Forbidden": "403",
    "Gone": "410",
    "InUse": "423",
    "Refused": "422",
}
"""Class → HTTP status of the errors below it."""

FOLDED = """## {title}

<details>
<summary>{number} messages</summary>

| what is wrong | what to do |
|---|---|
{lines}
</details>
"""

HEAD = """# Errors

Every error message says what is wrong, where (column, field or line), and what to do. It never repeats a
value of a table. On this page … stands for the part that varies. In the application a search field above the
tables takes words or a whole message.

- *Command line*: one line on stderr. The [exit code](command-line.md) is 2 for bad input and 1 for
  everything else.
- *REST*: an `application/problem+json` document ([REST](rest.md)); its `type` is `urn:synthweb:code` with a
  code of the first table.

`python -m tests.errors_page` writes this page from the code; a test keeps it complete.

## Error codes

| code | status | meaning |
|---|---|---|
"""


class Rule(NamedTuple):
    """One thing that can be wrong."""

    family: str
    text: str
    repair: str


def main() -> None:
    """Write the page."""
    PAGE.write_text(page())
    sys.stdout.write(f"{PAGE.relative_to(ROOT)} written\n")


def page() -> str:
    """The page as the code says that it should be."""
    rows = "".join(
        f"| `{code}` | {status} | {text} |\n" for code, status, text in sorted(set(_codes()))
    )
    parts = [HEAD + rows]
    rules = sorted(set(_rules()))
    for family, title in TITLES.items():
        found = [rule for rule in rules if rule.family == family]
        if found:
            lines = "".join(
                f"| {_cell(rule.text)} | {_cell(rule.repair)} |\n" for rule in found
            )
            parts.append(FOLDED.format(title=title, number=len(found), lines=lines))
    return "\n".join(parts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def _codes() -> Iterator[tuple[str, str, str]]:
    """(code, HTTP status, meaning) of each refusal of the application."""
    for name, node in _classes().items():
        status = STATUSES.get(_family(name, among=STATUSES) or "")
        for statement in node.body if status else ():
            match statement:
                case ast.Assign(
                    targets=[ast.Name(id="code")], value=ast.Constant(value=str(code))
                ):
                    yield code, str(status), _meaning(node)


def _meaning(node: ast.ClassDef) -> str:
    """The first line of its docstring, or what the tree of errors on top of its module says."""
    if own := ast.get_docstring(node):
        return own.split("\n")[0].rstrip(".")
    trees = (ast.get_docstring(tree) or "" for tree in _trees().values() if node in tree.body)
    found = (re.search(rf"── {node.name} +(.+)", text) for text in trees)
    return next((match[1] for match in found if match), "")


def _rules() -> Iterator[Rule]:
    for tree in _trees().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and (family := _raises(node)):
                given = {keyword.arg: keyword.value for keyword in node.keywords}
                for text in _texts(node.args[0]):
                    yield Rule(
                        family,
                        text,
                        next(_texts(given["repair"]), "") if "repair" in given else "",
                    )


def _raises(call: ast.Call) -> str | None:
    name = _name(call.func)
    return _family(HELPERS.get(name, name)) if call.args and any(_texts(call.args[0])) else None


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _texts(node: ast.expr) -> Iterator[str]:
    """What a text can be: a constant, one with holes, one of two, or several put together."""
    match node:
        case ast.Constant(value=str(text)) if (
            "%s" not in text
        ):  # that would be a line of the log
            yield text
        case ast.JoinedStr(values=parts):
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else "…" for part in parts
            )
        case ast.IfExp(body=one, orelse=other):
            yield from _texts(one)
            yield from _texts(other)
        case ast.BinOp(left=left, right=right, op=ast.Add()):
            yield next(_texts(left), "…") + next(_texts(right), "…")


def _family(name: str, *, among: Container[str] = TITLES) -> str | None:
    """The heading under which an error of that class stands: its nearest ancestor with one, or of those `among`."""
    seen: set[str] = set()
    while name not in among:
        node = _classes().get(name)
        if name in seen or node is None or not node.bases:
            return None
        seen.add(name)
        name = _name(node.bases[0])
    return name


@cache
def _classes() -> dict[str, ast.ClassDef]:
    """All classes of both packages by name; no two of one package have the same."""
    nodes = [
        node
        for tree in _trees().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    ]
    return {node.name: node for node in reversed(nodes)}


@cache
def _trees() -> dict[Path, ast.Module]:
    paths = [path for folder in CODE for path in sorted((ROOT / folder).rglob("*.py"))]
    return {
        path: ast.parse(path.read_text()) for path in paths if "migrations" not in path.parts
    }


if __name__ == "__main__":
    main()
