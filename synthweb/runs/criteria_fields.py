"""Fields of the new-release form for criteria: what has to hold for the release to be used, fixed before its
run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from django import forms
from django.utils.translation import gettext as _

from synth_engine.domain import Domain
from synth_engine.errors import InputError, SpecError
from synth_engine.evaluation.criteria import Criterion
from synth_engine.evaluation.marginals import labels_of
from synth_engine.plans.release_check import CheckedFigure, FigureKind
from synth_engine.privacy.loss import plain
from synthweb.runs.checks import classifier_of
from synthweb.runs.figure_fields import PER_CENT, columns_of, share_of

FIELDS = (
    "criteria_counts",
    "criteria_least",
    "criteria_within",
    "criteria_distances",
    "criteria_ks",
    "criteria_auc",
    "criteria_pairs",
)

STATING = (
    "criteria_counts",
    "criteria_distances",
    "criteria_ks",
    "criteria_auc",
    "criteria_pairs",
)
"""Those that state a criterion by themselves."""


class CriteriaFault(Exception):
    """The fault of a field, in words."""

    def __init__(self, field: str, words: str) -> None:
        self.field, self.words = field, words
        super().__init__(words)


def parsed(cleaned: Mapping[str, Any], domain: Domain) -> Iterator[Criterion]:
    """The criteria that the fields state. Errors: CriteriaFault."""
    if counts := (cleaned.get("criteria_counts") or "").strip():
        least = (cleaned.get("criteria_least") or "").strip()
        if not (least.isascii() and least.isdigit() and 0 < int(least[:13]) < 10**12):
            raise CriteriaFault("criteria_least", _("A whole number from 1, such as 500."))
        within = _share("criteria_within", cleaned.get("criteria_within") or "")
        yield Criterion(
            asked=CheckedFigure(
                kind="counts",
                columns=columns_of(counts, domain),
                least=int(least),
                within=within,
            )
        )
    for line in (cleaned.get("criteria_distances") or "").splitlines():
        if line.strip():
            yield _distance(line, domain, field="criteria_distances", kind="distance")
    for line in (cleaned.get("criteria_ks") or "").splitlines():
        if line.strip():
            yield _distance(line, domain, field="criteria_ks", kind="ks")
    for line in (cleaned.get("criteria_auc") or "").splitlines():
        if line.strip():
            yield _area(line, domain)
    if pairs := (cleaned.get("criteria_pairs") or "").strip():
        asked = CheckedFigure(kind="mean-distance", columns=tuple(domain.sizes))
        yield Criterion(asked=asked, most=_share("criteria_pairs", pairs))


def _distance(line: str, domain: Domain, *, field: str, kind: FigureKind) -> Criterion:
    # The last colon: names may hold colons, and numbers do not.
    names, colon, most = line.rpartition(":")
    if not colon or not names.strip():
        raise CriteriaFault(
            field,
            _(
                "A line is not columns, a colon and a number of per cent: write it like “age: 5”."
            ),
        )
    asked = CheckedFigure(kind=kind, columns=columns_of(names, domain))
    return Criterion(asked=asked, most=_share(field, most))


def _area(line: str, domain: Domain) -> Criterion:
    classifier, _colon, least = line.rpartition(":")
    where, semicolon, predictors = classifier.rpartition(";")
    if not semicolon:
        raise CriteriaFault(
            "criteria_auc",
            _(
                "A line is not a condition, a semicolon, columns, a colon and a number of per cent: write "
                "it like “works=yes; age, region: 70”."
            ),
        )
    try:
        asked, _accuracy = classifier_of(domain, where.strip(), columns_of(predictors, domain))
    except InputError as error:
        raise CriteriaFault("criteria_auc", error.text) from None
    return Criterion(asked=asked, at_least=_share("criteria_auc", least))


def _share(field: str, text: str) -> Fraction:
    try:
        share = share_of(text)
    except SpecError as error:
        raise CriteriaFault(field, error.text) from None
    if not Fraction(1, 10_000) <= share < 1:
        raise CriteriaFault(field, _("A number of per cent from 0.01 to below 100, such as 5."))
    return share


def initial_of(criteria: Sequence[Criterion], domain: Domain) -> dict[str, str]:
    """What the fields begin with to state the same again. domain: of the new release; a classifier of values
    that it lacks is left out."""
    fields: dict[str, str] = {}
    lines: dict[str, list[str]] = {"distance": [], "ks": [], "auc": []}
    for criterion in criteria:
        asked = criterion.asked
        names = ", ".join(asked.columns)
        if criterion.at_least is not None:
            if classifier := classifier_text(asked, domain):
                lines["auc"].append(f"{classifier}: {plain(criterion.at_least * PER_CENT)}")
        elif criterion.most is None:
            fields |= {
                "criteria_counts": names,
                "criteria_least": str(asked.least),
                "criteria_within": plain(asked.within * PER_CENT),
            }
        elif asked.kind in lines:
            lines[asked.kind].append(f"{names}: {plain(criterion.most * PER_CENT)}")
        else:
            fields["criteria_pairs"] = plain(criterion.most * PER_CENT)
    stated = {
        "criteria_distances": lines["distance"],
        "criteria_ks": lines["ks"],
        "criteria_auc": lines["auc"],
    }
    return fields | {name: "\n".join(each) for name, each in stated.items() if each}


def classifier_text(asked: CheckedFigure, domain: Domain) -> str:
    """A classifier as fields state it; empty where the description lacks its values."""
    target, *predictors = asked.columns
    (codes,) = asked.codes
    if target not in domain.sizes or codes[-1] >= domain.sizes[target]:
        return ""
    labels = labels_of(domain, target)
    return f"{target}={'|'.join(labels[code] for code in codes)}; {', '.join(predictors)}"


def _lines(*, label: str, help_text: str) -> forms.CharField:
    """A field of criteria, one a line."""
    return forms.CharField(
        required=False,
        max_length=20_000,
        label=label,
        help_text=help_text,
        widget=forms.Textarea(attrs={"class": "form-control", "rows": 2}),
    )


def fields() -> dict[str, forms.CharField]:
    """The fields, none of which has to be filled in."""
    text = {"class": "form-control"}
    number = text | {"inputmode": "decimal"}
    return {
        "criteria_counts": forms.CharField(
            required=False,
            max_length=2_000,
            label=_("Every count of"),
            help_text=_("One to three columns, separated by commas."),
            widget=forms.TextInput(attrs=text),
        ),
        "criteria_least": forms.CharField(
            required=False,
            max_length=12,
            label=_("of at least"),
            initial="500",
            widget=forms.TextInput(attrs=number),
        ),
        "criteria_within": forms.CharField(
            required=False,
            max_length=10,
            label=_("is within per cent"),
            initial="5",
            widget=forms.TextInput(attrs=number),
        ),
        "criteria_distances": _lines(
            label=_("The distance of these tables is at most"),
            help_text=_(
                "One a line: one to three columns, a colon, and per cent, such as “age, sex: 5”."
            ),
        ),
        "criteria_ks": _lines(
            label=_("The Kolmogorov–Smirnov distance is at most"),
            help_text=_(
                "One a line: a column whose values have an order, a colon, and per cent, such as “age: 5”."
            ),
        ),
        "criteria_auc": _lines(
            label=_("The AUC of these classifiers is at least"),
            help_text=_(
                "One a line: what it predicts, a semicolon, one to three columns, a colon, and per cent, "
                "such as “works=yes; age, region: 70”. Only a check with budget can tell."
            ),
        ),
        "criteria_pairs": forms.CharField(
            required=False,
            max_length=10,
            label=_("The mean distance of all pairs is at most, per cent"),
            widget=forms.TextInput(attrs=number),
        ),
    }
