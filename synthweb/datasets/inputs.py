"""The inputs of a column's editor: which ones a kind has, what they are called, what they offer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from synth_engine.kinds.date_time import UNITS
from synth_engine.kinds.text import CLASSES
from synth_engine.values.strings import CASES
from synthweb.datasets import draft as drafts
from synthweb.datasets import sets

SCALES = {"integer": "whole numbers", "number": "numbers", "date": "days"}


@dataclass(frozen=True, kw_only=True)
class Input:
    """One input of the editor."""

    key: str
    label: str
    value: str
    type: str = "text"  # text, area, box, choice
    hint: str = ""
    options: Mapping[str, str] | None = None
    wide: bool = False
    redraws: bool = False  # other inputs depend on it
    fills: bool = False  # a file of lines may be taken into it

    @property
    def rows(self) -> int:
        return max(3, min(12, self.value.count("\n") + 2))


def is_shown(key: str, kind: str, fields: Mapping[str, str]) -> bool:
    """Whether an input is of use as things stand. Numbers without an order are codes; for other kinds that is rare, and
    shown only where somebody said so."""
    if key == "completions":
        return False  # too many texts to type: they come with a file, and are told in words
    if kind == "weak" and key in sets.ALL_INPUTS:
        return key in sets.INPUTS.get(fields.get("set", ""), ())
    if key == "day_format":
        return fields.get("of") == "date"
    return key != "unordered" or kind == "integer" or bool(fields.get(key))


_LABELS = {
    "values": ("Values", "One a line, or separated by commas on a single line."),
    "ordered": ("The values have an order, as listed", ""),
    "low": ("Lowest", ""),
    "high": ("Highest", ""),
    "width": ("or bin width", ""),
    "unordered": ("The numbers are codes without an order", ""),
    "step": ("A value every", "Empty: 1."),
    "unit": ("unit", ""),
    "regenerate": ("In a synthetic table it", ""),
    "pattern": (
        "Pattern",
        "# a digit, @ a capital letter, * either, as in P-####. Never one copied from a record.",
    ),
    "bins": ("Number of bins", ""),
    "edges": ("or edges", "From lowest to highest, separated by commas."),
    "true": ("Written for yes", ""),
    "false": ("Written for no", ""),
    "step_days": ("Step in days", "Empty: each day."),
    "format": ("How dates are written", "Empty: %Y-%m-%d, that is 2024-12-31."),
    "set_values": ("Public list", "One value a line, each once; or take a file of such lines."),
    "set_step": ("Step", "Like 0.01."),
    "set_pattern": (
        "Pattern",
        "Letters, [classes], (groups|alternatives) and {1,8}; no * and no +.",
    ),
    "widest_low": ("Lowest at the widest", "So low that every value is surely above it."),
    "widest_high": ("Highest at the widest", "So high that every value is surely below it."),
    "most_bins": (
        "Number of bins at most",
        "Empty: 16. Learning takes about a tenth of ε; bounds that are known cost nothing.",
    ),
    "set_low": ("Lowest", "Days like 2024-12-31."),
    "set_high": ("Highest", ""),
    "day_format": ("How days are written", "Empty: %Y-%m-%d, that is 2024-12-31."),
    "set": (
        "Which values there may be",
        "A public set; which of them occur is found with budget.",
    ),
    "separator": ("Between the two words", "One or more signs. Empty: a hyphen."),
    "with_lower": ("a to z", ""),
    "with_upper": ("A to Z", ""),
    "with_digits": ("0 to 9", ""),
    "with_blank": ("a blank", ""),
    "alphabet": (
        "And these signs",
        "One after another, each once; a-z, A-Z and 0-9 stand for all of those.",
    ),
    "min_length": ("Shortest", "Signs in a text."),
    "max_length": ("Longest", "Signs in a text."),
    "set_min_length": ("Shortest", "Signs in a text."),
    "set_max_length": ("Longest", "Signs in a text."),
    "set_case": ("Texts are read", ""),
    "set_replace": (
        "Characters replaced",
        'One a line, like é = e; nothing after = takes it away; " " = _ for a blank. After the case is changed.',
    ),
    "document": (
        "The set",
        'As docs/domain.md has it, for example {"set": "product", "parts": […]}.',
    ),
    "rho": ("Chance that nothing is invented", "ρ, between 0 and 1. Empty: 0.9."),
    "of": ("Of", ""),
    "lower": ("small letters", ""),
    "upper": ("capital letters", ""),
    "digits": ("digits", ""),
    "blanks": ("blanks", ""),
    "punctuation": ("punctuation", ""),
    "leading": ("Keep what kind of sign texts begin with", ""),
    "missing_empty": ("An empty cell means missing", ""),
    "missing": ("Other markers of missing values", "For example ?, NA. Empty: none."),
    "outside": ("A value outside this", ""),
}


_BY_KIND = {
    ("integer", "bins"): (
        "Number of bins",
        "All empty: one bin a value up to 100, else 32 bins.",
    ),
    ("number", "bins"): ("Number of bins", "Both empty: 32 of equal width."),
    ("date", "low"): ("First day", "Like 2024-12-31."),
    ("date", "high"): ("Last day", "Like 2024-12-31."),
    ("date", "bins"): ("Number of bins", "Or the step that makes them."),
    ("text", "min_length"): ("Shortest", "Signs in a text. Empty: 1."),
    ("text", "pattern"): (
        "or a pattern",
        "# a digit, @ a capital letter, * either; then no length is kept.",
    ),
    ("datetime", "low"): ("From", "Like 2024-01-01 00:00. No time zone."),
    ("datetime", "high"): ("To", "Like 2024-12-31 23:59."),
    ("datetime", "bins"): ("Number of bins", "Both empty: one a step up to 100, else 32 bins."),
    ("datetime", "width"): ("or steps in a bin", ""),
    ("datetime", "format"): (
        "How they are written",
        "Empty: ISO, that is 2024-12-31T23:59:00. A zone is plain text.",
    ),
}


def of(key: str, kind: str, value: str) -> Input:
    """One input as it stands."""
    label, hint = _BY_KIND.get((kind, key)) or _LABELS[key]
    if key in ("values", "set_values", "set_replace", "document"):
        return Input(
            key=key,
            label=label,
            hint=hint,
            value=value,
            type="area",
            wide=True,
            fills=key == "set_values",
        )
    if key in ("ordered", "unordered", "missing_empty", "leading", *CLASSES, *sets.SIGNS):
        return Input(key=key, label=label, value=value, type="box")
    if key in ("outside", "unit", "regenerate", "set", "set_case", "of"):
        options, usual = _choices(key, kind)
        redraws = key in ("set", "of")
        return Input(
            key=key,
            label=label,
            value=value or usual,
            type="choice",
            options=options,
            redraws=redraws,
        )
    return Input(key=key, label=label, hint=hint, value=value, wide=key == "edges")


def _choices(key: str, kind: str) -> tuple[Mapping[str, str], str]:
    """The options of a choice, and the usual one."""
    if key == "outside":
        return drafts.OUTSIDES[kind], drafts.usual_outside(kind, has_missing=False)
    if key == "set_case":
        return sets.READ, CASES[0]
    if key in ("set", "of"):
        return (sets.CHOICES, "") if key == "set" else (SCALES, "integer")
    return (
        (dict(zip(UNITS, UNITS, strict=True)), "hours")
        if key == "unit"
        else (drafts.REGENERATE, "")
    )
