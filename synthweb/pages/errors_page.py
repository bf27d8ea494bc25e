"""The page of errors: every rule that the application can name and its repair, read from the source when the
page is read."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import synth_engine

SLUG = "errors"
TITLE = "Errors"
FOLDERS = (Path(synth_engine.__file__).parent, Path(__file__).resolve().parents[1])
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
value of a table. On this page … stands for the part that varies. The search field takes words or a whole
message.

- *Command line*: one line on stderr. The [exit code](command-line.md) is 2 for bad input and 1 for
  everything else.
- *REST*: an `application/problem+json` document ([REST](rest.md)); its `type` is `urn:synthweb:code` with a
  code of the first table.

## Error codes

| code | status | meaning |
|---|---|---|
"""

_CLASS = re.compile(r"^ *class (\w+)\((\w+)(?:\.(\w+))?", re.MULTILINE)
_CODE = re.compile(r'^    code = "', re.MULTILINE)


class ErrorRule(NamedTuple):
    """One thing that can be wrong."""

    family: str
    text: str
    repair: str


@cache
def page() -> str:
    """The page as Markdown; made once a process, because the code does not change under it."""
    rows = "".join(
        f"| `{code}` | {status} | {text} |\n" for code, status, text in sorted(set(_codes()))
    )
    parts = [HEAD + rows]
    listed = rules()
    for family, title in TITLES.items():
        lines = [
            f"| {_cell(rule.text)} | {_cell(rule.repair)} |\n"
            for rule in listed
            if rule.family == family
        ]
        if lines:
            parts.append(FOLDED.format(title=title, number=len(lines), lines="".join(lines)))
    return "\n".join(parts)


@cache
def rules() -> tuple[ErrorRule, ...]:
    """Every rule of both packages once, sorted."""
    return tuple(sorted({rule for text in _sources() for rule in _rules(text)}))


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def _codes() -> Iterator[tuple[str, str, str]]:
    """(code, HTTP status, meaning) of each refusal of the application."""
    for source in filter(_CODE.search, _sources()):
        tree = ast.parse(source)
        module_text = ast.get_docstring(tree) or ""
        for node in tree.body:
            if not isinstance(node, ast.ClassDef):
                continue
            status = STATUSES.get(_family(node.name, among=STATUSES) or "")
            for statement in node.body if status else ():
                match statement:
                    case ast.Assign(
                        targets=[ast.Name(id="code")], value=ast.Constant(value=str(code))
                    ):
                        yield code, str(status), _meaning(node, module_text)


def _meaning(node: ast.ClassDef, module_text: str) -> str:
    """The first line of its docstring, or what the tree of errors on top of its module says."""
    if own := ast.get_docstring(node):
        return own.split("\n")[0].rstrip(".")
    line = re.search(rf"── {node.name} +(.+)", module_text)
    return line[1] if line else ""


def _rules(source: str) -> Iterator[ErrorRule]:
    for call in _calls(source):
        family = _family(HELPERS.get(_name(call.func), _name(call.func)))
        if family is None or not call.args:
            continue
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        repair = next(_texts(given["repair"]), "") if "repair" in given else ""
        for text in _texts(call.args[0]):
            yield ErrorRule(family, text, repair)


def _calls(source: str) -> Iterator[ast.Call]:
    """The calls in a module that can make an error.

    Only these calls are parsed: to parse all modules would take seconds.
    """
    for match in _makers().finditer(source):
        end = match.end()
        # The shortest text up to a closing bracket that is an expression is the whole call.
        while end := source.find(")", end) + 1:
            try:
                call = ast.parse(source[match.start() : end], mode="eval").body
            except SyntaxError:
                continue
            if isinstance(call, ast.Call):
                yield call
            break


@cache
def _makers() -> re.Pattern[str]:
    """Finds the name of an error, or of a function that makes one, and the bracket after it."""
    names = [*HELPERS, *(name for name in _bases() if _family(name) is not None)]
    return re.compile(rf"(?<!def )(?<!class )\b(?:{'|'.join(names)})\(")


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _texts(node: ast.expr) -> Iterator[str]:
    """What a text can be: a constant, one with holes, one of two, or several put together."""
    match node:
        # With %s it would be a line of the log.
        case ast.Constant(value=str(text)) if "%s" not in text:
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
    """The heading under which an error of that class stands: its nearest ancestor with one, or of those
    `among`."""
    seen: set[str] = set()
    while name not in among:
        if name in seen or name not in _bases():
            return None
        seen.add(name)
        name = _bases()[name]
    return name


@cache
def _bases() -> dict[str, str]:
    """Class → its first base, of all classes of both packages by name; no two of one package have the
    same."""
    matches = [match for source in _sources() for match in _CLASS.finditer(source)]
    return {match[1]: match[3] or match[2] for match in reversed(matches)}


def _sources() -> Iterator[str]:
    for folder in FOLDERS:
        for path in sorted(folder.rglob("*.py")):
            if "migrations" not in path.parts:
                yield path.read_text(encoding="utf-8")
