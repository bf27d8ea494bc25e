"""The inputs of a column's editor: which ones a kind has, what they are called, what they offer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

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
    "values": (_("Values"), _("One a line, or separated by commas on a single line.")),
    "ordered": (_("The values have an order, as listed"), ""),
    "low": (_("Lowest"), ""),
    "high": (_("Highest"), ""),
    "width": (_("or bin width"), ""),
    "unordered": (_("The numbers are codes without an order"), ""),
    "step": (_("A value every"), _("Empty: 1.")),
    "unit": (_("unit"), ""),
    "regenerate": (_("In a synthetic table it"), ""),
    "pattern": (
        _("Pattern"),
        _(
            "# a digit, @ a capital letter, * either, as in P-####. Never one copied from a record."
        ),
    ),
    "bins": (_("Number of bins"), ""),
    "edges": (_("or edges"), _("From lowest to highest, separated by commas.")),
    "true": (_("Written for yes"), ""),
    "false": (_("Written for no"), ""),
    "step_days": (_("Step in days"), _("Empty: each day.")),
    "format": (_("How dates are written"), _("Empty: %Y-%m-%d, that is 2024-12-31.")),
    "set_values": (
        _("Public list"),
        _("One value a line, each once; or take a file of such lines."),
    ),
    "set_step": (_("Step"), _("Like 0.01.")),
    "set_pattern": (
        _("Pattern"),
        _("Letters, [classes], (groups|alternatives) and {1,8}; no * and no +."),
    ),
    "widest_low": (_("Lowest at the widest"), _("So low that every value is surely above it.")),
    "widest_high": (
        _("Highest at the widest"),
        _("So high that every value is surely below it."),
    ),
    "most_bins": (
        _("Number of bins at most"),
        _("Empty: 16. Learning takes about a tenth of ε; bounds that are known cost nothing."),
    ),
    "set_low": (_("Lowest"), _("Days like 2024-12-31.")),
    "set_high": (_("Highest"), ""),
    "day_format": (_("How days are written"), _("Empty: %Y-%m-%d, that is 2024-12-31.")),
    "set": (
        _("Which values there may be"),
        _("A public set; which of them occur is found with budget."),
    ),
    "separator": (_("Between the two words"), _("One or more characters. If empty, a hyphen.")),
    "with_lower": (_("a to z"), ""),
    "with_upper": (_("A to Z"), ""),
    "with_digits": (_("0 to 9"), ""),
    "with_blank": (_("a blank"), ""),
    "alphabet": (
        _("And these characters"),
        _("One after another, each once; a-z, A-Z and 0-9 stand for all of those."),
    ),
    "min_length": (_("Shortest"), _("Signs in a text.")),
    "max_length": (_("Longest"), _("Signs in a text.")),
    "set_min_length": (_("Shortest"), _("Signs in a text.")),
    "set_max_length": (_("Longest"), _("Signs in a text.")),
    "set_case": (_("Texts are read"), ""),
    "set_replace": (
        _("Characters replaced"),
        _(
            'One a line, like é = e; nothing after = takes it away; " " = _ for a blank. After the case is '
            "changed."
        ),
    ),
    "document": (
        _("The set"),
        _('As docs/domain.md has it, for example {"set": "product", "parts": […]}.'),
    ),
    "rho": (
        _("Chance that nothing is invented"),
        _(
            "ρ, between 0 and 1. Empty: 0.9, or the one of all tables if your organisation has one."
        ),
    ),
    "of": (_("Of"), ""),
    "lower": (_("small letters"), ""),
    "upper": (_("capital letters"), ""),
    "digits": (_("digits"), ""),
    "blanks": (_("blanks"), ""),
    "punctuation": (_("punctuation"), ""),
    "leading": (_("Keep what kind of sign texts begin with"), ""),
    "function": (
        _("In a synthetic table it is"),
        _("The column is not read, and costs nothing."),
    ),
    "sources": (_("Columns"), _("Their names, one a line or separated by commas.")),
    "constant": (
        _("Constant"),
        _("The number of the formula. Empty: 1; e for a logarithm, 100 for hour and minute."),
    ),
    "rounded": (_("Decimals of the result"), _("Empty: whole numbers.")),
    "beside": (
        _("Public list"),
        _(
            "One a line: a value, or a value of each column, and what stands beside it, with commas."
        ),
    ),
    "located": (
        _("Public points"),
        _(
            "One a line: latitude, longitude, and what belongs to the point, as 41.49, -71.31, Newport."
        ),
    ),
    "marker": (_("Written where there is no result"), _("Empty: an empty cell.")),
    "grouped": (_("Thousands have the sign of the file between them"), ""),
    "decimals": (
        _("Digits after the decimal mark, at least"),
        _("Filled with zeros. Empty: none."),
    ),
    "before": (_("Written before the number"), _("As $ or EUR with a blank.")),
    "after": (_("Written after the number"), _("As % or kg.")),
    "digits_wide": (
        _("Digits in front, at least"),
        _("Filled with leading zeros: 5 for 01234."),
    ),
    "unpadded": (_("Days and months below ten have one digit, as 2/9/21"), ""),
    "items": (
        _("Items"),
        _("Those that matter, one a line; others are left out of their baskets."),
    ),
    "keep": (
        _("How many items a run chooses"),
        _("Those that most baskets have, for a tenth of its budget. Empty: 50."),
    ),
    "items_between": (_("Items are separated by"), ""),
    "wide": (_("Synthetic tables have a column of 0 and 1 for each item"), ""),
    "missing_empty": (_("An empty cell means missing"), ""),
    "separate_markers": (
        _("Keep each marker in samples, for the budget of one more column"),
        "",
    ),
    "protected": (_("Protected attribute, such as sex or origin"), ""),
    "missing": (_("Other markers of missing values"), _("For example ?, NA. Empty: none.")),
    "outside": (_("A value outside this"), ""),
}


def of(key: str, kind: str, value: str) -> Input:
    """One input as it stands."""
    form = FORMS[kind]
    label, hint = map(str, form.labels.get(key) or _LABELS[key])
    if key in ("values", "beside", "located", "set_values", "set_replace", "document", "items"):
        return Input(
            key=key,
            label=label,
            hint=hint,
            value=value,
            type="area",
            wide=True,
            fills=key in ("set_values", "items"),
        )
    if key in (
        "ordered",
        "unordered",
        "missing_empty",
        "separate_markers",
        "protected",
        "leading",
        "grouped",
        "unpadded",
        "wide",
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
            options={key: str(text) for key, text in options.items()},
            redraws=key in form.redraws,
        )
    return Input(key=key, label=label, hint=hint, value=value, wide=key == "edges")
