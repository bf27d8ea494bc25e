"""Constraints of the draft: as typed into four small forms of the describe page, and as the domain document
has them.

The draft holds them as the engine writes them; they are judged with the columns that are described soundly by
then, and all together when the description is confirmed."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from django.http import QueryDict

from synth_engine.domain import MISSING, OTHER, Attribute, Constraint, Domain, Range, Scale
from synth_engine.domain import constraints as rules
from synth_engine.errors import DomainError
from synth_engine.kinds import KINDS
from synth_engine.kinds.attribute import MAX_CODES
from synth_engine.strict_json import JsonObject
from synthweb.datasets import draft as drafts
from synthweb.datasets.draft_to_attribute import attribute_of
from synthweb.datasets.kinds.typed import CHECKED
from synthweb.datasets.list_fields import join, split

Document: TypeAlias = JsonObject
Typed = dict[str, str]
Ends = Literal["numbers", "days"]

ADD, DROP = "rule-add-", "rule-drop-"
MAX_CELL_LENGTH = 10_000
"""Characters of one text in a list of pairs: more come from a quotation mark without its other one."""
PARTS = (1, 2, 3)  # columns of an impossible combination that the form has room for
FIELDS: dict[str, tuple[str, ...]] = {
    "impossible": tuple(f"{what}{part}" for part in PARTS for what in ("column", "values")),
    "order": ("first", "second", "strict"),
    "dependency": ("from", "to", "table"),
    "existing-pairs": ("first", "second", "table"),
    "missing-iff": ("column", "when", "values"),
}
COLUMN_OF = {**{f"values{part}": f"column{part}" for part in PARTS}, "values": "when"}
"""The input that names the column, by the one that takes values of it."""
PRESSED = "-pressed"  # behind the name of such an input: values of its column that are pressed
MOST_CHIPS = 60
WITH_TABLE = ("dependency", "existing-pairs")
"""Kinds whose list may be uploaded."""
_TO = ".."
UNSTATED = "unstated"
"""The origin of a proposed rule, until somebody has chosen one."""


@dataclass(frozen=True, kw_only=True)
class ConstraintLine:
    """One constraint of the list."""

    number: int
    sentence: str
    origin: str


@dataclass(frozen=True, kw_only=True)
class Chip:
    """A value of a column that may be pressed."""

    text: str
    pressed: bool


def lines(draft: drafts.Draft) -> list[ConstraintLine]:
    """The constraints of a draft, for reading."""
    constraints = rules.parse(documents(draft))
    return [
        ConstraintLine(
            number=number, sentence=each.sentence, origin=str(drafts.ORIGINS[each.provenance])
        )
        for number, each in enumerate(constraints)
    ]


def documents(draft: drafts.Draft) -> list[Document]:
    """As they are kept."""
    constraints: list[Document] = draft.get("constraints") or []
    return constraints


def apply_change(
    draft: drafts.Draft,
    *,
    verb: str,
    typed: Typed,
    table: bytes | None,
    names: Sequence[str],
) -> list[Document]:
    """The constraints after the press of a button of theirs. `table`: a public lookup that was uploaded.
    Raises DomainError for one that cannot be, and keeps nothing of it then."""
    standing = documents(draft)
    if verb.startswith(DROP):
        number = verb.removeprefix(DROP)
        # Compared as texts: what is no number, or one that is gone, removes nothing.
        return [each for place, each in enumerate(standing) if str(place) != number]
    (added,) = rules.parse([_document(verb.removeprefix(ADD), typed, draft=draft, table=table)])
    for name in added.columns:
        if name not in names:
            raise DomainError(
                "the table has no such column",
                repair="take its name from the list",
                column=name,
            )
    if added.to_json() in standing:
        raise DomainError(
            "this constraint is there already", repair="see the list", column=added.columns[0]
        )
    _check([*rules.parse(standing), added], draft)
    return [*standing, added.to_json()]


def matching_constraints(
    constraints: Iterable[Constraint], names: Iterable[str]
) -> list[Document]:
    """Those that are about these columns alone."""
    known = set(names)
    return [each.to_json() for each in constraints if known.issuperset(each.columns)]


def typed_of(data: QueryDict, kind: str) -> Typed:
    """What stands in the form of one kind; of values that are pressed, one a line."""
    fields = FIELDS.get(kind, ())
    typed = {field: data.get(f"rule-{kind}-{field}", "") for field in (*fields, "origin")}
    for field in COLUMN_OF.keys() & set(fields):
        typed[field + PRESSED] = join(data.getlist(f"rule-{kind}-{field}{PRESSED}"))
    return typed


def chips(draft: drafts.Draft, kind: str, typed: Typed) -> dict[str, list[Chip]]:
    """The values to choose from, by the input that takes them."""
    return {
        field: _chips(draft, typed.get(COLUMN_OF[field], ""), typed.get(field + PRESSED, ""))
        for field in FIELDS.get(kind, ())
        if field in COLUMN_OF
    }


def _chips(draft: drafts.Draft, name: str, pressed: str) -> list[Chip]:
    """The values or bins of a column, then other and missing where it has them. Of a long list and of values
    that a run learns these two alone; nothing of a column that is not soundly described."""
    column = drafts.columns(draft).get(name)
    try:
        attribute = None if column is None else attribute_of(name, column)
    except DomainError:
        return []
    if attribute is None or not attribute.size:
        return []
    if attribute.size <= MOST_CHIPS and not isinstance(attribute, Scale | Range):
        texts = attribute.labels
    else:
        there = ((OTHER, attribute.has_other), (MISSING, attribute.missing is not None))
        texts = tuple(text for text, is_there in there if is_there)
    chosen = split(pressed)
    on_a_line = (text for text in texts if len(text.splitlines()) < 2)
    return [Chip(text=text, pressed=text in chosen) for text in on_a_line]


def proposed(kind: str, facts: Mapping[str, Any]) -> Typed | None:
    """The form of a rule that holds in the table, with its columns filled in; None for a kind that has
    none."""
    if kind not in FIELDS:
        return None
    typed = {key: str(text) for key, text in facts.items() if key in FIELDS[kind]}
    return {**typed, "origin": UNSTATED}


def _check(constraints: Sequence[Constraint], draft: drafts.Draft) -> None:
    """Against the columns that are described soundly so far; the rest is judged when all are."""
    known: dict[str, Attribute] = {}
    for name in {name for each in constraints for name in each.columns}:
        column = drafts.columns(draft).get(name)
        if column is not None and column.get("confirmed"):
            known[name] = attribute_of(name, column)
    judged = tuple(each for each in constraints if set(each.columns) <= set(known))
    if judged:
        Domain(attributes=tuple(known.values()), constraints=judged)


def _document(kind: str, typed: Typed, *, draft: drafts.Draft, table: bytes | None) -> Document:
    """A constraint as typed, as JSON."""
    if typed.get("origin") == UNSTATED:
        raise DomainError(
            "where this rule comes from is not chosen",
            repair="choose it; a rule that is written nowhere, and only holds in this table, is not public",
        )
    origin = typed["origin"] if typed.get("origin") in rules.ORIGINS else "declared"
    document: Document = {"kind": kind, "provenance": origin}
    match kind:
        case "order":
            return document | {
                "first": typed["first"],
                "second": typed["second"],
                "strict": typed["strict"] == CHECKED,
            }
        case "missing-iff":
            values = _values(typed, "values", draft=draft)
            return document | {
                "column": typed["column"],
                "when": typed["when"],
                "values": values,
            }
        case "dependency":
            rows = _pairs(
                _text(table) if table else typed["table"], names=(typed["from"], typed["to"])
            )
            return document | {"from": typed["from"], "to": typed["to"], "table": rows}
        case "existing-pairs":
            named_columns = (typed["first"], typed["second"])
            text = _text(table) if table else typed["table"]
            rows = _pairs(text, names=named_columns, most=rules.MAX_PAIRS, what="list of pairs")
            return document | {
                "first": named_columns[0],
                "second": named_columns[1],
                "table": rows,
            }
    named = {f"values{part}": name for part in PARTS if (name := typed.get(f"column{part}"))}
    if len({*named.values()}) != len(named):
        raise DomainError(
            "an impossible combination names a column twice",
            repair="name each once, with all its values",
        )
    return document | {
        "columns": {name: _values(typed, field, draft=draft) for field, name in named.items()}
    }


def _values(typed: Typed, field: str, *, draft: drafts.Draft) -> list[Any]:
    """Those that are pressed, then those that are typed besides."""
    ends = _type_of_ends(drafts.columns(draft).get(typed[COLUMN_OF[field]]) or {})
    pressed = [_value(each, ends=None) for each in split(typed.get(field + PRESSED, ""))]
    besides = [_value(each, ends=ends) for each in split(typed.get(field, ""))]
    return pressed + [value for value in besides if value not in pressed]


def _type_of_ends(column: Mapping[str, Any]) -> Ends | None:
    """How ends of ranges of a column are stated; None for a column without an order."""
    kind = KINDS.get(str(column.get("kind")))
    if kind is None:
        return None
    if issubclass(kind, Scale | Range):
        return "days" if "date" in str((column.get("fields") or {}).get("of")) else "numbers"
    if not kind.is_comparable:
        return None
    return "days" if kind.span_units else "numbers"


def _value(text: str, *, ends: Ends | None) -> Any:
    """A value as typed: "(missing)", a text, or of a scale "0..14", "65..", "..14"."""
    if text == MISSING:
        return None
    if ends is None or _TO not in text:
        return text
    low, _, high = (part.strip() for part in text.partition(_TO))
    typed = {"from": low, "to": high}
    return {key: end if ends == "days" else _number(end) for key, end in typed.items() if end}


def _number(text: str) -> float | str:
    try:
        number = float(text)
        return int(number) if number.is_integer() else number
    except (ValueError, OverflowError):
        return text  # the engine says what is wrong with it


def _pairs(
    text: str, *, names: tuple[str, str], most: int = MAX_CODES, what: str = "dependency"
) -> list[list[str | None]]:
    """Two columns of a CSV, with or without a header of the two names."""
    first = text.partition("\n")[0]
    delimiter = next((sign for sign in (",", ";", "\t") if sign in first), ",")
    pairs: list[list[str | None]] = []
    for number, row in enumerate(_rows(text, delimiter=delimiter, column=names[0]), start=1):
        if not any(row) or (number == 1 and tuple(map(str.strip, row)) == names):
            continue
        if len(row) != 2 or len(pairs) >= most:
            raise DomainError(
                f"line {number} of a {what} is not two values, or there are more than {most:,}",
                repair="write two values, one pair a line, with a comma between",
                column=names[0],
            )
        pairs.append([None if cell.strip() == MISSING else cell.strip() for cell in row])
    return pairs


def _rows(text: str, *, delimiter: str, column: str) -> Iterator[list[str]]:
    lines = io.StringIO(text, newline=None)  # whichever way lines end
    refusal = DomainError(
        "a list of pairs is no CSV of two short texts a line",
        repair="look for a quotation mark without its other one",
        column=column,
    )
    try:
        for row in csv.reader(lines, delimiter=delimiter, skipinitialspace=True):
            # The limit of the csv module belongs to the whole process, and readers of tables change it.
            if any(len(cell) > MAX_CELL_LENGTH for cell in row):
                raise refusal
            yield row
    except csv.Error:
        raise refusal from None


def _text(raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DomainError(
            "the file of a list of pairs is not CSV in UTF-8", repair="save it as UTF-8"
        ) from None
