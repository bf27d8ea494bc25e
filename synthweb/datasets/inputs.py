"""The inputs of a column's editor: which ones a kind has, what they are called, what they offer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from synth_engine.kinds.text import CLASSES
from synthweb.datasets import sets
from synthweb.datasets.kinds import FORMS


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
    error: str = ""  # what is wrong with it, once somebody has tried to confirm

    @property
    def described_by(self) -> list[str]:
        """The parts below it that say more."""
        return [part for part in ("error", "hint") if getattr(self, part)]

    @property
    def rows(self) -> int:
        return max(3, min(12, self.value.count("\n") + 2))


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
    "separator": ("Between the two words", "One or more characters. If empty, a hyphen."),
    "with_lower": ("a to z", ""),
    "with_upper": ("A to Z", ""),
    "with_digits": ("0 to 9", ""),
    "with_blank": ("a blank", ""),
    "alphabet": (
        "And these characters",
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
    "function": ("In a synthetic table it is", "The column is not read, and costs nothing."),
    "sources": ("Columns", "Their names, one a line or separated by commas."),
    "rounded": ("Decimals of the result", "Empty: whole numbers."),
    "beside": ("Public list", "One pair a line: a value, a comma, what stands beside it."),
    "marker": ("Written where there is no result", "Empty: an empty cell."),
    "grouped": ("Thousands have the sign of the file between them", ""),
    "decimals": ("Digits after the decimal mark, at least", "Filled with zeros. Empty: none."),
    "before": ("Written before the number", "As $ or EUR with a blank."),
    "after": ("Written after the number", "As % or kg."),
    "digits_wide": ("Digits in front, at least", "Filled with leading zeros: 5 for 01234."),
    "unpadded": ("Days and months below ten have one digit, as 2/9/21", ""),
    "missing_empty": ("An empty cell means missing", ""),
    "missing": ("Other markers of missing values", "For example ?, NA. Empty: none."),
    "outside": ("A value outside this", ""),
}


def of(key: str, kind: str, value: str) -> Input:
    """One input as it stands."""
    form = FORMS[kind]
    label, hint = form.labels.get(key) or _LABELS[key]
    if key in ("values", "beside", "set_values", "set_replace", "document"):
        return Input(
            key=key,
            label=label,
            hint=hint,
            value=value,
            type="area",
            wide=True,
            fills=key == "set_values",
        )
    if key in (
        "ordered",
        "unordered",
        "missing_empty",
        "leading",
        "grouped",
        "unpadded",
        *CLASSES,
        *sets.SIGNS,
    ):
        return Input(key=key, label=label, value=value, type="box")
    if key == "outside" or key in form.choices:
        options, usual = form.choices.get(key) or (form.outsides, form.usual_outside(False))
        return Input(
            key=key,
            label=label,
            value=value or usual,
            type="choice",
            options=options,
            redraws=key in form.redraws,
        )
    return Input(key=key, label=label, hint=hint, value=value, wide=key == "edges")
