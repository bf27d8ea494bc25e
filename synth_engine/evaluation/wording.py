"""Texts of the comparison: what each figure shows, how to read it, and a verdict in words; one
place for report, pages and documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypedDict

NOT_PRIVATE = "Computed on real data: not differentially private"
PRIVATE = "Computed from differentially private answers alone: covered by the guarantee of the release"

Level = Literal["same", "small", "clear", "large", "unseen", "damaged"]


Json = dict[str, Any]
"""An entry of a report: a JSON document."""


class FigureVerdict(TypedDict):
    """`level` for machines and icons, `words` for people."""

    level: Level
    words: str


class Explanation(TypedDict):
    """The texts beside a figure."""

    title: str
    what: str
    how: str


DISTANCE_STEPS: tuple[tuple[float, Level], ...] = (
    (0.01, "same"),
    (0.05, "small"),
    (0.15, "clear"),
)
DEPENDENCE_STEPS: tuple[tuple[float, Level], ...] = (
    (0.02, "same"),
    (0.05, "small"),
    (0.15, "clear"),
)
RELATIVE_STEPS: tuple[tuple[float, Level], ...] = (
    (0.25, "same"),
    (0.50, "small"),
    (0.75, "clear"),
)
"""Steps of the share of one real dependence that changed."""
WEAK_DEPENDENCE = 0.05
"""A dependence below it that is lost is a clear difference, and no large one."""
VALUE_STEPS: tuple[tuple[float, Level], ...] = (
    (0.01, "same"),
    (0.03, "small"),
    (0.10, "clear"),
)
"""Steps of the Kolmogorov distance of values minus chance. Beyond the last a column is damaged."""
LEVEL_WORDS: dict[Level, str] = {
    "same": "No difference to speak of",
    "small": "Small difference",
    "clear": "Clear difference",
    "large": "Large difference",
    "unseen": "Cannot be judged",
    "damaged": "Damaged",
}
_SEVERITY: tuple[Level, ...] = ("same", "small", "clear", "large", "unseen", "damaged")

AXIS_TITLES = (
    "share of records",
    "share of values",
    "share of attacks that succeed",
    "area under the curve",
    "adjusted Rand index",
    "real records that end at the destination",
    "signs of a text",
    "depth: how often each side is halved",
    "depth at which a cell ends",
    "columns of a table",
    "k-marginal score",
    "records a km²",
    "degrees east",
    "degrees north",
    "share of persons",
    "kilometres",
    "texts in so many records or more",
    "texts in at most so many records",
    "records that end there",
    "records that end there (public total)",
    "records that end there (of each table)",
    "records in a square",
    "synthetic minus real, of all records",
)
"""Titles of axes and of colour bars that pages translate. Others have names of columns in them, or are words
that a column may be called."""
TRACE_NAMES = (
    "real",
    "synthetic",
    "real records",
    "found again",
    "synthetic minus real",
    "largest gap",
    "implicates",
    "columns",
    "this release",
    "plain resample",
    "a second sample of the same people",
    "all commutes",
    "short commutes",
    "trained on real records",
    "trained on synthetic records",
    "baseline",
    "guessing",
    "with the synthetic table",
    "control: other real records",
)
"""Names of what a figure draws, as legends and labels under the pointer have them; pages translate them."""
PAGE_EXPLANATIONS: dict[str, Explanation] = {
    "summary": {
        "title": "In short",
        "what": "How many single columns, pairs and triples of columns are kept, and how many of the pairs "
        "that go together in the real table also do so in the synthetic one. Before them what a table of "
        "places or texts is for; after them rank correlations, means within groups and the other sections.",
        "how": "No verdict is better than the worst part of its section, and none counts what chance alone "
        "may give. A part is kept if it has no difference to speak of, or a small one. Trained models and "
        "attacks have verdicts of their own.",
    },
    "rows": {
        "title": "Rows side by side",
        "what": "Some real rows and some synthetic rows, to see that formats and values look alike.",
        "how": "The rows are not pairs: no synthetic row stands for the real row beside it. They say "
        "nothing about how well the synthetic table fits.",
    },
}


def per_hundred(value: float) -> str:
    """A share as records in a hundred, with as many digits as matter."""
    amount = 100 * value
    if 0 < amount < 0.1:
        return "fewer than 0.1"
    return f"{amount:.1f}" if amount < 10 else f"{amount:.0f}"


def up_to(value: float) -> str:
    """A largest share as records in a hundred."""
    amount = per_hundred(value)
    return amount if amount.startswith("fewer") else f"up to {amount}"


def distance_verdict(value: float, *, chance: float, of: str = "records") -> FigureVerdict:
    """Judges a total variation distance by its excess over what chance alone would give."""
    level = level_of(max(0.0, value - chance), DISTANCE_STEPS)
    words = f"{LEVEL_WORDS[level]}: {per_hundred(value)} of 100 {of} would have to change"
    if chance >= 0.0005:
        words += f" (about {per_hundred(chance)} by chance alone)"
    return {"level": level, "words": words + "."}


def empty_days_verdict(real: float, synthetic: float, *, chance: float) -> FigureVerdict:
    """Judges the shares of days without a record by their difference beyond chance."""
    level = level_of(max(0.0, abs(synthetic - real) - chance), DISTANCE_STEPS)
    words = (
        f"{LEVEL_WORDS[level]}: of as many records, {per_hundred(real)} of 100 days are empty in the real "
        f"table and {per_hundred(synthetic)} in the synthetic one"
    )
    return {"level": level, "words": f"{words}."}


def gap_verdict(value: float, *, chance: float) -> FigureVerdict:
    """Judges the largest gap between two curves of cumulative shares like a distance."""
    level = level_of(max(0.0, value - chance), DISTANCE_STEPS)
    words = (
        f"{LEVEL_WORDS[level]}: the curves are up to {per_hundred(value)} of 100 records apart"
    )
    return {"level": level, "words": f"{words} (about {per_hundred(chance)} by chance alone)."}


def moved_verdict(value: float, *, chance: float, kilometres: float) -> FigureVerdict:
    """Judges the earth mover's distance by its excess over a plain resample.

    value, chance: parts of the diagonal of the box. kilometres: its length."""
    level = level_of(max(0.0, value - chance), DISTANCE_STEPS)
    far, by_chance = (f"{kilometres * part:.3g} km" for part in (value, chance))
    words = f"an average record would have to be moved by at most {far}"
    return {
        "level": level,
        "words": f"{LEVEL_WORDS[level]}: {words} ({by_chance} in a plain resample of the real records).",
    }


def worse(first: FigureVerdict, second: FigureVerdict) -> FigureVerdict:
    """The more severe of two verdicts, the first of two that are alike."""
    if _SEVERITY.index(second["level"]) > _SEVERITY.index(first["level"]):
        return second
    return first


def value_verdict(
    gap: float, *, chance: float, levels: Sequence[Level], parts: Sequence[str]
) -> FigureVerdict:
    """Judges the values of a column by the Kolmogorov distance, by its excess over chance, and by what else
    was found.

    levels: those of the median and of all findings. parts: both medians in words, and what else there is to
    say."""
    gap_level = level_of(max(0.0, gap - chance), VALUE_STEPS)
    level = max((gap_level, *levels), key=_SEVERITY.index)
    words = (
        f"{LEVEL_WORDS[level]}: the values are up to {per_hundred(gap)} of 100 records apart"
    )
    if chance >= 0.0005:
        words += f" (about {per_hundred(chance)} by chance alone)"
    return {"level": level, "words": f"{words}; {'; '.join(parts)}."}


def other_verdict(share: float) -> FigureVerdict:
    """Judges the share of synthetic cells that stand for values that were not declared or not found."""
    level = level_of(share, DISTANCE_STEPS)
    words = f'{per_hundred(share)} of 100 synthetic cells are "(other)", which the real table does not have'
    return {"level": level, "words": f"{LEVEL_WORDS[level]}: {words}."}


def missing_verdict(real: float, synthetic: float, *, chance: float) -> FigureVerdict:
    """Judges the shares of missing cells by their difference beyond chance."""
    level = level_of(max(0.0, abs(synthetic - real) - chance), DISTANCE_STEPS)
    words = f"{per_hundred(real)} of 100 real and {per_hundred(synthetic)} of 100 synthetic cells are missing"
    return {"level": level, "words": f"{LEVEL_WORDS[level]}: {words}."}


LOST: FigureVerdict = {
    "level": "damaged",
    "words": "Damaged: the real table has values in this column, and the synthetic one has none.",
}
MADE_UP: FigureVerdict = {
    "level": "damaged",
    "words": "Damaged: the synthetic table has values in this column, and the real one has none.",
}


def damage_verdict(reasons: Sequence[str], *, by_noise: bool = False) -> FigureVerdict:
    """The verdict on a column whose values did not survive, with each reason and its repair."""
    cause = "noise" if by_noise else "its description"
    return {
        "level": "damaged",
        "words": f"{LEVEL_WORDS['damaged']} by {cause}: {'; '.join(reasons)}.",
    }


PRICE_OF_COMPARISON = (
    "Looking costs no budget and is no release: it is computed on real data, for the steward alone. What "
    "is chosen after it rests on real data, which no budget covers; receipts of later releases say that "
    "somebody looked."
)


def dependence_verdict(
    *, real: float, synthetic: float, chance: float = 0.0, is_real: bool = False
) -> FigureVerdict:
    """Judge how well the dependence of one pair of columns is preserved.

    real, synthetic: what each has beyond chance. chance: up to how much they differ by chance. is_real:
    whether the columns go together in the real table; the share of such a dependence that changed counts as
    well, because a weak one has little to lose."""
    change = max(0.0, abs(synthetic - real) - chance)
    level = level_of(change, DEPENDENCE_STEPS)
    if is_real and real > 0:
        relative = level_of(change / real, RELATIVE_STEPS)
        if relative == "large" and real < WEAK_DEPENDENCE:
            relative = "clear"
        level = max((level, relative), key=_SEVERITY.index)
    if level == "same":
        return {"level": level, "words": "Kept."}
    weaker = synthetic < real
    # A small difference may be a large ratio of two dependences that are both near zero.
    if weaker and level != "small" and synthetic < real / 4:
        return {
            "level": level,
            "words": "Lost: the synthetic table shows little of this dependence.",
        }
    if not weaker and level != "small" and real < synthetic / 4:
        return {
            "level": level,
            "words": "Invented: the real table shows little of this dependence.",
        }
    degree = {"small": "Slightly", "clear": "Clearly"}.get(level, "Much")
    return {
        "level": level,
        "words": f"{degree} {'weaker' if weaker else 'stronger'} in the synthetic table.",
    }


def rank_verdict(*, real: float, synthetic: float, chance: float) -> FigureVerdict:
    """Judges a rank correlation of one pair by its difference beyond chance."""
    level = level_of(max(0.0, abs(synthetic - real) - chance), DEPENDENCE_STEPS)
    if level == "same":
        return {"level": level, "words": "Kept."}
    degree = {"small": "Slightly", "clear": "Clearly"}.get(level, "Much")
    if real * synthetic < 0 and min(abs(real), abs(synthetic)) > chance:
        return {
            "level": level,
            "words": f"{degree} different: it has the other sign in the synthetic table.",
        }
    change = "weaker" if abs(synthetic) < abs(real) else "stronger"
    return {"level": level, "words": f"{degree} {change} in the synthetic table."}


def group_mean_verdict(value: float, *, chance: float) -> FigureVerdict:
    """Judges how far the means of a number within groups are apart, in standard deviations, beyond chance."""
    level = level_of(max(0.0, value - chance), DEPENDENCE_STEPS)
    words = f"{LEVEL_WORDS[level]}: means within groups are {value:.2g} standard deviations apart on average"
    return {"level": level, "words": f"{words} (about {chance:.2g} by chance alone)."}


def level_of(value: float, steps: Sequence[tuple[float, Level]]) -> Level:
    """The level of the first step that a value does not exceed; beyond all, "large"."""
    return next((level for bound, level in steps if value <= bound), "large")
