"""What each figure shows, how to read it, and a verdict in words: one place for report, pages and documents."""

from __future__ import annotations

from typing import Literal, TypedDict

NOT_PRIVATE = "Computed on real data: not differentially private"
PRIVATE = "Computed from differentially private answers alone: covered by the guarantee of the release"

Level = Literal["same", "small", "clear", "large", "unseen"]


class Verdict(TypedDict):
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
_LEVEL_WORDS: dict[Level, str] = {
    "same": "No difference to speak of",
    "small": "Small difference",
    "clear": "Clear difference",
    "large": "Large difference",
    "unseen": "Cannot be judged",
}

READINGS: dict[str, Explanation] = {
    "histogram": {
        "title": "How often each value occurs",
        "what": "For one column, the share of records in each public category or bin, real beside synthetic. The bins "
        "are those of the domain, so both sides are cut at the same edges.",
        "how": "Solid blue is real, hatched or dashed orange is synthetic. Where the two are equally high, the column "
        "is kept. The distance is the share of records that would have to move to another bin for both to agree: 0 is "
        "the same, 1 is nothing in common.",
    },
    "nmi_real": {
        "title": "Dependence in the real table",
        "what": "How much one column tells about another, for every pair of columns: mutual information divided by "
        "the smaller of the two entropies.",
        "how": "Faint (0) means that the columns tell nothing about each other, strong (1) that one determines the "
        "other. Compare it with the map of the synthetic table, which has the same colour scale.",
    },
    "nmi_synthetic": {
        "title": "Dependence in the synthetic table",
        "what": "The same measure as beside it, computed from the synthetic table.",
        "how": "A square fainter than in the real map is a dependence that was weakened or lost; a stronger one was "
        "invented. Columns with many rare values look slightly dependent in any small table.",
    },
    "nmi_difference": {
        "title": "Dependence: synthetic minus real",
        "what": "The difference of the two maps beside it, square by square.",
        "how": "White means kept. Blue means weaker in the synthetic table than in the real one, red means stronger. "
        "Do not use the synthetic table to study a pair of columns whose square is strongly coloured.",
    },
    "pairs": {
        "title": "Pairs of columns: distance",
        "what": "For every pair of columns, the total variation distance between the real and the synthetic table of "
        "their joint values.",
        "how": "White (0) means that every combination is as frequent in both tables; the redder, the more records "
        "would have to change. Pairs with many combinations differ somewhat by chance alone: the table says how much.",
    },
    "triples": {
        "title": "Triples of columns: distance",
        "what": "The same distance for groups of three columns: all of them, or 200 drawn once by a fixed seed.",
        "how": "A synthetic table can match every pair and still miss how three columns go together. With many "
        "combinations, chance alone gives a large distance; the excess over it is what counts.",
    },
    "place_distances": {
        "title": "How far apart two places are",
        "what": "The share of records whose two places are at most so many kilometres apart, along a great circle, "
        "real and synthetic. The distance of Kolmogorov and Smirnov is the largest gap between the curves.",
        "how": "Solid blue is real, dashed orange is synthetic; the dotted line marks the largest gap. Where the orange "
        "curve lies below, synthetic records have places farther apart than real ones. On both sides every place "
        "stands at its public point, or at the centre of its public cell of latitude and longitude: distances below the "
        "size of a cell mean nothing, and two places in one cell are 0 apart. Records that lack a place are left out; the table counts "
        "them.",
    },
    "cells": {
        "title": "How far records would have to be moved",
        "what": "The box of all places is cut in halves along each side, again and again. At every depth the shares of records "
        "in its cells are compared, and what differs counts as much as the cell's side measures beside the box's: a half at "
        "depth 1, a quarter at depth 2. Added up from the top, that is the earth mover's distance by depth.",
        "how": "The lower, the better. At the last depth the curve is at most how far an average record would have to be moved "
        "for both tables to agree: kilometres of all places of a record together. The dotted line is what as many records drawn from "
        "the real ones with replacement would come to, on average: a release below it at some depth has the coarse picture "
        "better than a sample would; far above it, noise or a tree that is not deep enough is what one sees. Records stand in "
        "their bins, so nothing finer counts.",
    },
    "texts_common": {
        "title": "Texts found again, the most frequent first",
        "what": "The share of the real records whose text is in so many records or more, and of those that the synthetic table has "
        "again: each text as often as the smaller of its two counts.",
        "how": "Solid blue is real, dashed orange is found again. From left to right rarer texts come in; where the curves part, "
        "texts are too rare for noise to let them through. At the right end the orange curve is the share of all real texts "
        "that are found. Texts that were made up, or of which the beginning alone was found, do not count.",
    },
    "texts_rare": {
        "title": "Texts found again, the rarest first",
        "what": "The share of the real records whose text is in at most so many records, and of those that the synthetic table has "
        "again: each text as often as the smaller of its two counts.",
        "how": "Solid blue is real, dashed orange is found again. From left to right more frequent texts come in. Texts of few "
        "records are lost: that is what protects who has them, so the orange curve starts flat, and rises as steeply as "
        "the blue one where texts are frequent enough. At the right end it is the share of all real texts that are found.",
    },
    "texts_lengths": {
        "title": "Texts found again, by length",
        "what": "Of the real texts of each length, the share that the synthetic table has again, each as often as the smaller of "
        "its two counts.",
        "how": "Long texts are found sign by sign: each sign more divides the records once more, so their share falls. The table "
        "says how many real records each length has; a bar of few records means little.",
    },
    "texts_read": {
        "title": "How the real texts were read",
        "what": "How many real records have a text over the declared alphabet as it is written, how many only after the declared "
        "change of case or characters, and how many have another text or none.",
        "how": "A text outside the alphabet or its lengths is “other” and is never released as it is. If there are many, widen "
        "the alphabet or the lengths, or declare what characters are replaced by. These are counts of real records: do not "
        "publish them.",
    },
    "group_sizes": {
        "title": "How many rows a person has",
        "what": "The share of persons with one row, two, three and so on, real beside synthetic. Real rows beyond what one "
        "person may have were left out before, as for everything here.",
        "how": "Solid blue is real, hatched or dashed orange is synthetic. The sizes of groups are kept, and nothing "
        "else of them: the rows of one synthetic person are no more alike than those of two, so do not study with them "
        "how a person's rows go together.",
    },
    "constraints": {
        "title": "Constraints",
        "what": "How many records break each constraint that the description declares: of the real table, of the "
        "synthetic one as the model alone would draw it, and of the synthetic one as it is drawn.",
        "how": "The last number is 0 for every constraint. Real records that break one are errors in the table, or the "
        "constraint is not true; they were counted like any other. Many synthetic ones in the middle mean that the "
        "method did not see how these columns go together, and that much had to be drawn again. Records are judged by "
        "the bins that they fall into, so two values of one bin count as in order.",
    },
    "summary": {
        "title": "In short",
        "what": "Mean distances over all single columns, all pairs and up to 200 triples, and the mean difference of "
        "normalised mutual information over all pairs. Before them what a table of places or texts is for: the largest gap "
        "between curves of distances, how many kilometres records would have to be moved, and the share "
        "of texts that are not found again.",
        "how": "Each but kilometres runs from 0 (the same) to 1. 'By chance' is the distance that dealing all records out at random to two "
        "tables of these sizes would give: a value near it is as good as a second sample of the same people.",
    },
    "rows": {
        "title": "Rows side by side",
        "what": "Some real rows and some synthetic rows, to see that formats and values look alike.",
        "how": "The rows are not pairs: no synthetic row stands for the real row beside it. They say nothing about "
        "how well the synthetic table fits.",
    },
}


def per_hundred(value: float) -> str:
    """A share as records in a hundred, with as many digits as matter."""
    amount = 100 * value
    if 0 < amount < 0.1:
        return "fewer than 0.1"
    return f"{amount:.1f}" if amount < 10 else f"{amount:.0f}"


def distance_verdict(value: float, *, chance: float, of: str = "records") -> Verdict:
    """On a total variation distance, judged by its excess over what chance alone would give."""
    level = _level(max(0.0, value - chance), DISTANCE_STEPS)
    words = f"{_LEVEL_WORDS[level]}: {per_hundred(value)} of 100 {of} would have to change"
    if chance >= 0.0005:
        words += f" (about {per_hundred(chance)} by chance alone)"
    return {"level": level, "words": words + "."}


def gap_verdict(value: float, *, chance: float) -> Verdict:
    """On the largest gap between two curves of cumulative shares, judged like a distance."""
    level = _level(max(0.0, value - chance), DISTANCE_STEPS)
    words = (
        f"{_LEVEL_WORDS[level]}: the curves are up to {per_hundred(value)} of 100 records apart"
    )
    return {"level": level, "words": f"{words} (about {per_hundred(chance)} by chance alone)."}


def moved_verdict(value: float, *, chance: float, kilometres: float) -> Verdict:
    """On the earth mover's distance, as a part of the diagonal of the box, which is so many kilometres long; judged by its
    excess over a plain resample."""
    level = _level(max(0.0, value - chance), DISTANCE_STEPS)
    far, by_chance = (f"{kilometres * part:.3g} km" for part in (value, chance))
    words = f"an average record would have to be moved by at most {far}"
    return {
        "level": level,
        "words": f"{_LEVEL_WORDS[level]}: {words} ({by_chance} in a plain resample of the real records).",
    }


PRICE_OF_COMPARISON = (
    "Looking costs no budget and is no release: it is computed on real data, for the steward alone. What is chosen after it "
    "rests on real data, which no budget covers; receipts of later releases say that somebody looked."
)


def dependence_verdict(*, real: float, synthetic: float) -> Verdict:
    """On how the dependence of one pair of columns came through."""
    level = _level(abs(synthetic - real), DEPENDENCE_STEPS)
    if level == "same":
        return {"level": level, "words": "Kept."}
    weaker = synthetic < real
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


def mean_dependence_verdict(value: float) -> Verdict:
    """On the mean difference of normalised mutual information over all pairs."""
    level = _level(value, ((0.005, "same"), (0.02, "small"), (0.06, "clear")))
    words = {
        "same": "Dependences between columns are kept.",
        "small": "Most dependences between columns are kept.",
        "clear": "Some dependences between columns are weakened or invented: see which before using them.",
        "large": "Dependences between columns are largely lost or invented.",
        "unseen": "Dependences between columns cannot be judged.",
    }[level]
    return {"level": level, "words": words}


def _level(value: float, steps: tuple[tuple[float, Level], ...]) -> Level:
    return next((level for bound, level in steps if value <= bound), "large")
