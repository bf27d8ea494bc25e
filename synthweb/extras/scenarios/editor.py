"""The page that makes test data of a release: steps of a scenario, shares of a column to change, and
situations and faults to add.

Nothing is stored: what was done so far travels with the form, so that the page works without scripts and in
several windows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from synth_engine import strict_json
from synth_engine.domain import Attribute, Domain, Identifier
from synth_engine.errors import InputError
from synth_engine.evaluation.figure_origins import ModelFigure
from synth_engine.extras.scenarios import engine as scenarios
from synth_engine.extras.scenarios.engine import Scenario
from synth_engine.plans.parameters import ParameterRule
from synthweb.extras.scenarios.altered import BeforeAndAfter
from synthweb.lib.language import translated, typed_number, written_number

MOST_BARS = 30
RANGES = 10
"""ColumnShares of a column of numbers that has more values."""
MOST_SIGNS = 200_000
PREFIX = "step-"
SHARES = "shares"
_ROUNDED = 0.011
"""Per cent that a share may be off because two decimals are shown."""


@dataclass(frozen=True, kw_only=True)
class ShareBar:
    """One value of a column. text: as a scenario names it. model, now: its share before and after the steps.
    typed: the share in per cent that stands in its field."""

    place: int
    text: str
    model: ModelFigure
    now: ModelFigure
    typed: str
    error: str = ""


@dataclass(frozen=True, kw_only=True)
class ColumnShares:
    """The shares of a column, of all records or given a value of another column. whens: values of that
    column. others: of values without a bar."""

    column: str
    given: str
    when: str
    whens: tuple[str, ...]
    bars: tuple[ShareBar, ...]
    others: ModelFigure


@dataclass(frozen=True, kw_only=True)
class StepLine:
    """A step in words."""

    number: int
    title: str
    words: str


@dataclass
class PageState:
    """What the form says: steps so far, in the order in which they were added; which column has bars, and of
    which records."""

    steps: list[dict[str, Any]] = field(default_factory=list)
    column: str = ""
    given: str = ""
    when: str = ""
    kind: str = "individual-unfairness"
    rows: str = ""
    seed: str = "1"
    shares: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, data: Mapping[str, str], *, bars_shown: bool) -> PageState:
        """bars_shown: of the column whose bars the page showed, not of the one that is chosen now. Raises
        InputError where the steps are unreadable, which no page sends."""
        ending = "_shown" if bars_shown else ""
        texts = (data.get(f"value-{place}") for place in range(MOST_BARS))
        given = data.get(f"given{ending}", "")
        # A value of another column than the one that is chosen now.
        when = data.get(f"when{ending}", "") if given == data.get("given_shown") else ""
        return cls(
            steps=_steps(data.get("steps", "[]")),
            column=data.get(f"column{ending}", ""),
            given=given,
            when=when,
            kind=data.get("kind", cls.kind),
            rows=data.get("rows", ""),
            seed=data.get("seed", ""),
            shares={
                text: data.get(f"share-{place}", "").strip()
                for place, text in enumerate(texts)
                if text is not None
            },
        )

    @property
    def steps_text(self) -> str:
        """The steps as the form carries them."""
        return json.dumps(self.steps, ensure_ascii=False)

    @property
    def document(self) -> dict[str, object]:
        """The scenario: situations before faults, whatever the order in which they were added."""
        faults = {each["id"] for each in scenarios.catalogue() if each["group"] == "fault"}
        return {
            "schema": scenarios.SCHEMA,
            "steps": sorted(self.steps, key=lambda step: step.get("kind") in faults),
        }

    @property
    def scenario(self) -> Scenario | None:
        """None without a step. Raises InputError."""
        return Scenario.from_json(self.document) if self.steps else None


def _steps(text: str) -> list[dict[str, Any]]:
    broken = InputError("the steps of the page are unreadable", repair="open the page again")
    if len(text) > MOST_SIGNS:
        raise broken
    try:
        steps = strict_json.loads(text)
    except (ValueError, RecursionError):
        raise broken from None
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        raise broken
    return steps


def uploaded(content: bytes) -> list[dict[str, Any]]:
    """The steps of a scenario that somebody uploads. Raises InputError."""
    broken = InputError("the file is no JSON", repair="upload a scenario.json of an archive")
    if len(content) > MOST_SIGNS:
        raise InputError("the scenario is too long", repair="make two of it")
    try:
        document = strict_json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise broken from None
    return [step.to_json() for step in Scenario.from_json(document).steps]


# --- bars ---------------------------------------------------------------------------------------------------
def bars_of(state: PageState, shown: BeforeAndAfter, *, typed: bool) -> ColumnShares:
    """The bars of the chosen column. typed: whether their fields keep what was typed. Raises InputError where
    there is no such column or value."""
    column = _attribute(shown.domain, state.column or _first(shown), parameter="column")
    before, after = shown.before, shown.after
    when, whens = "", []
    if state.given:
        other = _attribute(shown.domain, state.given, parameter="given")
        if other.name == column.name:
            raise InputError(
                "both columns are the same", repair="choose another", column=column.name
            )
        whens = _texts_of(other, shown.before[other.name])
        when = state.when or whens[0]
        before = before[_is(before[other.name], when, other)]
        after = after[_is(after[other.name], when, other)]
        if before.empty and after.empty:
            raise InputError(
                "no record has the value of the other column",
                repair="choose another of its values",
                column=other.name,
            )
    texts = _texts_of(column, shown.before[column.name])
    model, now = (_shares(frame[column.name], texts, column) for frame in (before, after))
    return ColumnShares(
        column=column.name,
        given=state.given,
        when=when,
        whens=tuple(whens),
        bars=tuple(
            ShareBar(
                place=place,
                text=text,
                model=ModelFigure(value=model[place]),
                now=ModelFigure(value=now[place]),
                typed=state.shares.get(text, "") if typed else f"{100 * now[place]:.2f}",
            )
            for place, text in enumerate(texts)
        ),
        others=ModelFigure(value=max(0.0, 1 - sum(now))),
    )


def with_errors(bars: ColumnShares, errors: Mapping[str, str]) -> ColumnShares:
    """The bars with what is wrong with their typed shares, by value."""
    marked = (replace(bar, error=errors.get(bar.text, "")) for bar in bars.bars)
    return replace(bars, bars=tuple(marked))


def _first(shown: BeforeAndAfter) -> str:
    """The column whose bars are shown first: one with few values."""
    names = columns_of(shown.domain)
    return min(
        names, key=lambda name: (shown.before[name].nunique() > RANGES, names.index(name))
    )


def columns_of(domain: Domain) -> list[str]:
    """The columns whose shares can change."""
    return [
        column.name for column in domain.table_columns if not isinstance(column, Identifier)
    ]


def _attribute(domain: Domain, name: str, *, parameter: str) -> Attribute:
    for column in domain.table_columns:
        if column.name == name:
            return column
    raise InputError(
        f"{parameter!r} names no column of the table", repair="take a name from its header"
    )


def _texts_of(column: Attribute, cells: pd.Series) -> list[str]:
    """What has a bar: the values, the most frequent of many, or ranges of numbers."""
    counts = cells.value_counts()
    if len(counts) > MOST_BARS and column.holds_numbers:
        return _ranges(cells)
    frequent = [str(text) for text in counts.index[:MOST_BARS]]
    order = {text: place for place, text in enumerate(column.value_labels)}
    if column.holds_numbers:
        numbers = pd.to_numeric(pd.Series(frequent), errors="coerce").fillna(np.inf)
        return [frequent[place] for place in np.argsort(numbers, kind="stable")]
    return sorted(frequent, key=lambda text: order.get(text, len(order)))


def _ranges(cells: pd.Series) -> list[str]:
    """Ranges of equal width, as a scenario writes them; one of whole numbers ends before the next begins."""
    numbers = pd.to_numeric(cells, errors="coerce").dropna()
    low, high = float(numbers.min()), float(numbers.max())
    if (numbers % 1 == 0).all():
        cuts = np.unique(np.linspace(low, high + 1, RANGES + 1).round().astype(int))
        return [f"{a}..{b - 1}" for a, b in pairwise(cuts)]
    edges = [f"{cut:.6f}".rstrip("0").rstrip(".") for cut in np.linspace(low, high, RANGES + 1)]
    return [f"{a}..{b}" for a, b in pairwise(edges)]


def _is(cells: pd.Series, text: str, column: Attribute) -> pd.Series:
    span = scenarios.span_of(text) if column.holds_numbers else None
    if span is None:
        return cells == text
    return pd.to_numeric(cells, errors="coerce").between(*span)


def _shares(cells: pd.Series, texts: Sequence[str], column: Attribute) -> list[float]:
    """A cell counts for the first text that has it, as in the step."""
    left = np.ones(len(cells), dtype=bool)
    shares = []
    for text in texts:
        matches = left & _is(cells, text, column).to_numpy()
        shares.append(float(matches.sum()) / max(1, len(cells)))
        left &= ~matches
    return shares


def read_shares(state: PageState) -> tuple[dict[str, float], dict[str, str]]:
    """The shares in per cent that were typed, and what is wrong with the others, by value."""
    shares, errors = {}, {}
    for text, typed in state.shares.items():
        try:
            share = float(typed.replace(",", ".").removesuffix("%").strip())
        except ValueError:
            errors[text] = gettext("Write a number of per cent, such as 12.5.")
            continue
        if not 0 <= share <= 100:
            errors[text] = gettext("A share lies between 0 and 100 %.")
        else:
            shares[text] = share
    return shares, errors


def normalised(state: PageState, shares: Mapping[str, float], *, others: float) -> None:
    """Has the typed shares add up to what other values leave of 100 %. Raises InputError where all are 0."""
    total = sum(shares.values())
    if total <= 0:
        raise InputError("all shares are 0", repair="give one of them a share")
    scale = (100 - 100 * others) / total
    for text, share in shares.items():
        state.shares[text] = f"{share * scale:.2f}"


def share_step(shares: Mapping[str, float], bars: ColumnShares) -> dict[str, Any]:
    """The step that gives a column the typed shares. Raises InputError with the sum where no table has
    them."""
    total = sum(shares.values())
    close = _ROUNDED * len(shares)
    if total > 100 + close:
        raise InputError(
            f"the shares add up to {total:.2f} %, more than 100 %",
            repair="lower one, or press Normalise",
            column=bars.column,
        )
    whole = bars.others.value == 0 or abs(total - 100) <= close
    if whole and abs(total - 100) > close:
        raise InputError(
            f"the shares add up to {total:.2f} %, and no record has another value",
            repair="raise one, or press Normalise",
            column=bars.column,
        )
    # Two decimals do not quite add up to 100.
    scale = total if whole else 100
    step: dict[str, Any] = {
        "kind": SHARES,
        "column": bars.column,
        "values": list(shares),
        "shares": [round(share / scale, 9) for share in shares.values()],
    }
    return step | ({"given": bars.given, "when": bars.when} if bars.given else {})


# --- situations and faults ----------------------------------------------------------------------------------
def kinds() -> list[tuple[str, list[tuple[str, str]]]]:
    """The kinds of steps that the page adds by a form, by group."""
    groups: dict[str, list[tuple[str, str]]] = {"situation": [], "fault": []}
    for each in scenarios.catalogue():
        if each["id"] != SHARES:
            groups[str(each["group"])].append((str(each["id"]), str(each["title"])))
    return [(gettext("Situations"), groups["situation"]), (gettext("Faults"), groups["fault"])]


class StepForm(forms.Form):
    """The parameters of one kind of step; the engine checks the values."""

    def __init__(self, data: Mapping[str, Any] | None, *, kind: str, domain: Domain) -> None:
        super().__init__(data, prefix="step")
        known = {str(each["id"]): each for each in scenarios.catalogue()}
        described = known.get(kind, known[PageState.kind])
        self.kind = str(described["id"])
        self.summary = str(described["summary"])
        parameters: Any = described["parameters"]
        for name, rule in parameters["properties"].items():
            self.fields[name] = _field(name, rule, domain)

    def step(self) -> dict[str, Any]:
        """The step as the form has it; empty texts are left out. Call it after `is_valid`."""
        values: dict[str, Any] = {}
        for name, text in self.cleaned_data.items():
            if text == "":
                continue
            field = self.fields[name]
            if isinstance(field, TextsField):
                values[name] = [part.strip() for part in text.split(";")]
            else:
                values[name] = typed_number(text) if isinstance(field, NumberField) else text
        return {"kind": self.kind, **values}


class TextsField(forms.CharField):
    """Several texts, separated by semicolons."""


class NumberField(forms.CharField):
    """A number as people write it in the language of the page."""


def _field(name: str, rule: ParameterRule, domain: Domain) -> forms.Field:
    common: dict[str, Any] = {
        "label": translated(rule.get("title", name)),
        "help_text": translated(rule.get("description", "")),
        "required": False,
    }
    select = forms.Select(attrs={"class": "form-select"})
    if "x-columns" in rule:
        first = _protected(domain) if name == "protected" else ()
        common["initial"] = first[0] if first else ""
        choices = _column_choices(domain, first=first)
        return forms.ChoiceField(choices=choices, widget=select, **common)
    common["initial"] = rule.get("default")
    if "enum" in rule:
        labels = rule.get("x-labels", {})
        choices = [(value, translated(labels.get(value, value))) for value in rule["enum"]]
        return forms.ChoiceField(choices=choices, widget=select, **common)
    text = forms.TextInput(attrs={"class": "form-control", "autocomplete": "off"})
    if rule["type"] == "array":
        common["initial"] = "; ".join(map(str, common["initial"] or ()))
        common["help_text"] = _("%(words)s Separate several by semicolons.") % {
            "words": common["help_text"]
        }
        return TextsField(max_length=2_000, widget=text, **common)
    if rule["type"] in ("integer", "number"):
        if common["initial"] is not None:
            common["initial"] = written_number(str(common["initial"]))
        return NumberField(max_length=40, widget=text, **common)
    return forms.CharField(max_length=200, widget=text, **common)


def _protected(domain: Domain) -> list[str]:
    """The columns that the description marks as protected."""
    return [column.name for column in domain.table_columns if column.protected]


def _column_choices(domain: Domain, *, first: Sequence[str]) -> list[tuple[str, Any]]:
    """All columns; those that come first are a group of their own."""
    others = [column.name for column in domain.table_columns if column.name not in first]
    offered = [(name, name) for name in others]
    if not first:
        return [("", "–"), *offered]
    return [
        (gettext("Protected attributes"), [(name, name) for name in first]),
        (gettext("Other columns"), offered),
    ]


# --- words --------------------------------------------------------------------------------------------------
def lines(steps: Sequence[Mapping[str, Any]]) -> list[StepLine]:
    """The steps in words, in the order in which they were added."""
    titles = {each["id"]: str(each["title"]) for each in scenarios.catalogue()}
    return [
        StepLine(
            number=number,
            title=titles.get(step.get("kind"), str(step.get("kind"))),
            words=", ".join(_words(step)),
        )
        for number, step in enumerate(steps, start=1)
    ]


def _words(step: Mapping[str, Any]) -> list[str]:
    if step.get("kind") == SHARES:
        of = str(step.get("column"))
        given = f" | {step['given']} = {step['when']}" if step.get("given") else ""
        return [f"{of}{given}"]
    words = []
    for name, value in step.items():
        if name == "kind" or value in ("", [], None):
            continue
        text = "; ".join(map(str, value)) if isinstance(value, list) else str(value)
        words.append(f"{name} {text}")
    return words
