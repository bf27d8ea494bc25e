"""Ageing of a release: a public rule that says how every record changes, such as everybody being a year
older, applied to rows that a model generated (*deterministic updates*, Li, Zhang and Wang 2018).

Post-processing of a released model by a rule that no table is asked for: a row is changed by what stands in
it alone. The receipt names that of the release by its digest, and states the rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Literal, TypeGuard, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_engine import codec
from synth_engine.domain import Attribute, Categorical, Derived, Domain, Integer, Number
from synth_engine.errors import SpecError
from synth_engine.mixing import of_release
from synth_engine.strict_json import JsonObject

RULE_SCHEMA = "synth_engine/update-rule/1"
SCHEMA = "synth_engine/update-receipt/1"
STATEMENT = (
    "This table is post-processing: its rows were generated from the model of the release below and "
    "changed by a rule that a person gave as public. No table was read, so that it costs no privacy beyond "
    "the release, whose receipt proves its guarantee. Nothing says that the rule holds: who came, left or "
    "changed otherwise since the release is not in it."
)
MAX_STEPS = 100
Beyond = Literal["hold", "leave-out"]
"""What becomes of a row whose number the rule takes beyond the bounds of the description: it stays at the
bound, or the row is left out."""


@dataclass(frozen=True, kw_only=True)
class UpdateStep:
    """One change of one column. add: what is added to a number; replace: the new value of each value that
    changes; one of both. when: for other columns, the values that a row must have; a row is judged as the
    steps before left it."""

    column: str
    add: Decimal | None
    replace: Mapping[str, str]
    beyond: Beyond
    when: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class UpdateRule:
    """A public rule. published: in words, what it says and where that is written."""

    published: str
    steps: tuple[UpdateStep, ...]

    def to_json(self) -> JsonObject:
        """The document that `rule_of` reads."""
        steps: list[JsonObject] = []
        for step in self.steps:
            line: JsonObject = {"column": step.column}
            if step.add is None:
                line["replace"] = dict(step.replace)
            else:
                line |= {"add": format(step.add, "f"), "beyond": step.beyond}
            if step.when:
                line["when"] = {name: list(values) for name, values in step.when.items()}
            steps.append(line)
        return {"schema": RULE_SCHEMA, "published": self.published, "steps": steps}


@dataclass(frozen=True, kw_only=True, eq=False)
class UpdatedRows:
    """Rows after the rule. texts: as a file writes them. changed: rows that each step changed. left_out: rows
    that the rule took beyond the bounds of a column."""

    texts: pd.DataFrame
    changed: tuple[int, ...]
    left_out: int


# --- the rule -----------------------------------------------------------------------------------------------
def rule_of(document: object) -> UpdateRule:
    """A rule from its JSON document. Errors: SpecError by step and rule."""
    if not isinstance(document, Mapping) or set(document) != {"schema", "published", "steps"}:
        raise SpecError(
            "the rule is no object with schema, published and steps",
            repair="write these three fields",
        )
    if document["schema"] != RULE_SCHEMA:
        raise SpecError("the rule has another schema", repair=f'write "{RULE_SCHEMA}"')
    published, steps = document["published"], document["steps"]
    if not isinstance(published, str) or not published.isprintable() or not published.strip():
        raise SpecError(
            "the rule does not say what is published",
            repair="say the rule and its source in a line",
        )
    if not isinstance(steps, list) or not 1 <= len(steps) <= MAX_STEPS:
        raise SpecError(
            f"the rule has no list of 1 to {MAX_STEPS} steps", repair="list what changes"
        )
    return UpdateRule(
        published=published,
        steps=tuple(_step(step, number) for number, step in enumerate(steps, start=1)),
    )


def _step(given: object, number: int) -> UpdateStep:
    if not isinstance(given, Mapping) or not isinstance(given.get("column"), str):
        raise SpecError(f"step {number} names no column", repair='write {"column": …, …}')
    column = given["column"]
    ways = [way for way in ("add", "replace") if way in given]
    optional = {"beyond", "when"} if ways == ["add"] else {"when"}
    if len(ways) != 1 or not set(given) <= {"column", *ways, *optional}:
        raise SpecError(
            f"step {number} is no change of a column by add or by replace",
            repair='write "add" with "beyond", or "replace", and "when" where it is not of every row',
            column=column,
        )
    beyond = given.get("beyond", "hold")
    if beyond not in get_args(Beyond):
        raise SpecError(
            f"step {number} does not say what becomes of rows beyond the bounds",
            repair='write "hold" or "leave-out"',
            column=column,
        )
    replace, when = given.get("replace", {}), given.get("when", {})
    if not _is_replacement(replace) or ("replace" in given and not replace):
        raise SpecError(
            f"step {number} replaces no values", repair='write {"old": "new", …}', column=column
        )
    if not _is_condition(when):
        raise SpecError(
            f"step {number} has a condition that is none",
            repair='write {"column": ["value", …]}',
            column=column,
        )
    return UpdateStep(
        column=column,
        add=_amount(given["add"], number, column) if "add" in given else None,
        replace=dict(replace),
        beyond=beyond,
        when={name: tuple(values) for name, values in when.items()},
    )


def _amount(given: object, number: int, column: str) -> Decimal:
    """What is added: a whole number, or a decimal number as text."""
    try:
        amount = Decimal(given) if type(given) in (int, str) else None  # type: ignore[arg-type]
    except InvalidOperation:
        amount = None
    if amount is None or not amount.is_finite() or abs(amount) > 10**15:
        raise SpecError(
            f"step {number} adds no number",
            repair="write a whole number, or a decimal number as text",
            column=column,
        )
    return amount


def _is_replacement(given: object) -> TypeGuard[Mapping[str, str]]:
    return isinstance(given, Mapping) and all(isinstance(new, str) for new in given.values())


def _is_condition(given: object) -> TypeGuard[Mapping[str, Sequence[str]]]:
    return isinstance(given, Mapping) and all(
        isinstance(values, list) and values and all(isinstance(each, str) for each in values)
        for values in given.values()
    )


def require(domain: Domain, rule: UpdateRule) -> None:
    """Errors: SpecError for a column that is not there, is of another kind, or is bound to others by what is
    declared of every record."""
    bound = {name for constraint in domain.constraints for name in constraint.columns}
    sources = {
        name for each in domain.table_columns if isinstance(each, Derived) for name in each.of
    }
    columns = {column.name: column for column in domain.table_columns}
    for step in rule.steps:
        for name in (step.column, *step.when):
            if name not in columns:
                raise SpecError(
                    "the rule names a column that the release has not",
                    repair="name one of its columns",
                    column=name,
                )
        if step.column in bound or step.column in sources:
            raise SpecError(
                "a rule of the description connects this column with others, and rows would break it",
                repair="change other columns, or describe the later year by itself",
                column=step.column,
            )
        _require_kind(columns[step.column], step)


def _require_kind(column: Attribute, step: UpdateStep) -> None:
    if step.add is not None and not isinstance(column, (Integer, Number)):
        raise SpecError(
            "only a whole number or a number can be added to",
            repair="replace values",
            column=column.name,
        )
    if isinstance(column, Integer) and step.add is not None and step.add % 1:
        raise SpecError(
            "a whole number stays one", repair="add a whole number", column=column.name
        )
    if step.add is None:
        known = column.values if isinstance(column, Categorical) else ()
        if not set(step.replace.values()) <= set(known) or not set(step.replace) <= set(known):
            raise SpecError(
                "values are replaced that the description does not list",
                repair="replace one listed value by another one",
                column=column.name,
            )


# --- the rows -----------------------------------------------------------------------------------------------
def update(domain: Domain, frame: pd.DataFrame, rule: UpdateRule) -> UpdatedRows:
    """Change every row by a rule, step by step. frame: values that a model generated, shape (rows, columns).
    Errors: SpecError as of `require`."""
    require(domain, rule)
    texts = codec.as_text(domain, frame)
    columns = {column.name: column for column in domain.table_columns}
    changed: list[int] = []
    before = len(texts)
    for step in rule.steps:
        attribute, column, rows = columns[step.column], texts[step.column], _rows(texts, step)
        inside = np.ones(len(texts), dtype=np.bool_)
        if step.add is not None and isinstance(attribute, (Integer, Number)):
            new, inside = _added(attribute, column, rows, step.add)
        else:
            new = _replaced(column, rows, step.replace)
        changed.append(int((new.to_numpy() != column.to_numpy()).sum()))
        texts = texts.assign(**{step.column: new})
        if step.beyond == "leave-out":
            texts = texts[inside].reset_index(drop=True)
    return UpdatedRows(texts=texts, changed=tuple(changed), left_out=before - len(texts))


def _rows(texts: pd.DataFrame, step: UpdateStep) -> NDArray[np.bool_]:
    """The rows that a step is about."""
    rows = np.ones(len(texts), dtype=np.bool_)
    for name, values in step.when.items():
        rows &= texts[name].isin(values).to_numpy(dtype=np.bool_)
    return rows


def _replaced(
    column: pd.Series, rows: NDArray[np.bool_], replace: Mapping[str, str]
) -> pd.Series:
    return column.where(~rows, column.map(lambda text: replace.get(text, text)))


def _added(
    attribute: Integer | Number, column: pd.Series, rows: NDArray[np.bool_], amount: Decimal
) -> tuple[pd.Series, NDArray[np.bool_]]:
    """The column with an amount added, at its bounds where it would leave them, and which rows did not leave
    them. Cells without a number stay."""
    low, high = Decimal(str(attribute.low)), Decimal(str(attribute.high))
    moved: dict[str, tuple[str, bool]] = {}
    for text in column[rows].unique():
        number = None if text in (attribute.missing or ()) else _number(text)
        wanted = None if number is None else number + amount
        held = None if wanted is None else min(max(wanted, low), high)
        moved[text] = (text if held is None else format(held, "f"), held == wanted)
    new = column.where(~rows, column.map(lambda text: moved.get(text, (text, True))[0]))
    inside = column.map(lambda text: moved.get(text, (text, True))[1]).to_numpy(dtype=np.bool_)
    return new, inside | ~rows


def _number(text: str) -> Decimal | None:
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


# --- the receipt --------------------------------------------------------------------------------------------
def receipt(
    release: Mapping[str, Any], *, model: Mapping[str, Any], made: Mapping[str, Any]
) -> JsonObject:
    """The receipt of an updated table; arguments and errors as of `of_release.receipt`."""
    return of_release.receipt(
        release, model=model, schema=SCHEMA, statement=STATEMENT, made=made
    )
