"""Limits of a comparison in the bins of the description: a column that it cannot judge is not
called preserved.

A column is compared after it was encoded. If most real values lie in one bin, or many were
moved to a bound or could not be read, both sides agree whatever the values within are: a small
distance means nothing then."""

from __future__ import annotations

from collections.abc import Sequence

from synth_engine.codec import Fit
from synth_engine.domain import Attribute
from synth_engine.evaluation.tallies import Tallies
from synth_engine.evaluation.wording import FigureVerdict, per_hundred

MAX_BIN_SHARE = 0.5
"""Share of the real values of a column in one bin of several values, above which its distance says nothing of
it: the middle value lies in that bin, and may be anywhere in it."""
MAX_MISFIT_SHARE = 0.05
"""Share of the real values that were moved to a bound or could not be read, above which the comparison is of
other values than those of the table. It is also the distance up to which a difference is called small."""
SMALL_LEVELS = ("same", "small")


def limits(attribute: Attribute, real: Tallies, fit: Fit | None) -> list[str]:
    """Returns why the distance of a column says too little, in words; nothing if it can be
    judged. real: tallies of the real table."""
    reasons = []
    share = largest_bin(attribute, real)
    if share > MAX_BIN_SHARE:
        reasons.append(
            f"{per_hundred(share)} of 100 real values lie in one bin: the comparison cannot see inside it, "
            "so describe the column in finer bins"
        )
    # A private comparison has no fits: they are exact counts of real cells.
    if fit is None or not fit.cells:
        return reasons
    if fit.unreadable > MAX_MISFIT_SHARE * fit.cells:
        reasons.append(
            f"{per_hundred(fit.unreadable / fit.cells)} of 100 real values cannot be read as "
            f"{attribute.reader.cell_words}: say how they are written"
        )
    if fit.outside > MAX_MISFIT_SHARE * fit.cells:
        beyond = "bounds" if attribute.is_comparable else "values"
        reasons.append(
            f"{per_hundred(fit.outside / fit.cells)} of 100 real values are beyond the declared {beyond}"
        )
    return reasons


def largest_bin(attribute: Attribute, real: Tallies) -> float:
    """The share of the real values that lie in one bin of several values; 0 for a column without such
    bins."""
    wide = _wide_bins(attribute)
    # "Other" and missing are left out: these codes are no bins in which values could hide.
    counts = real[(attribute.name,)].dense()[: attribute.value_count]
    total = int(counts.sum())
    if total <= 0 or not any(wide):
        return 0.0
    return (
        max(int(count) for count, several in zip(counts, wide, strict=True) if several) / total
    )


def _wide_bins(attribute: Attribute) -> list[bool]:
    """Returns for each bin whether it holds more than one value of its column."""
    if attribute.is_comparable:
        first, last = attribute.bin_spans()
        return [bool(stop > start) for start, stop in zip(first, last, strict=True)]
    return [False] * attribute.value_count


def column_verdict(verdict: FigureVerdict, limits: Sequence[str]) -> FigureVerdict:
    """Return the verdict on one column, qualified by what limits it. A clear difference keeps its verdict."""
    if not limits:
        return verdict
    reasons = "; ".join(limits)
    # A blind spot can hide a difference and never invent one, so a clear difference stands.
    if verdict["level"] in SMALL_LEVELS:
        return {"level": "unseen", "words": f"Cannot be judged: {reasons}."}
    return {"level": verdict["level"], "words": f"{verdict['words']} Besides, {reasons}."}


def group_verdict(verdict: FigureVerdict, hidden: Sequence[str]) -> FigureVerdict:
    """Return the verdict on several columns, some of which the comparison cannot judge."""
    if not hidden or verdict["level"] not in SMALL_LEVELS:
        return verdict
    return {
        "level": "unseen",
        "words": f"Cannot be judged: see {' and '.join(hidden)} by itself.",
    }
