"""What a release is good for, in words of a few levels: from its model, its receipt, its expected ranges and
errors, and figures that were paid for.

What people compute is judged part by part: counts, averages, relations of two and of three columns, and from
which size on groups may be counted. A part has the level of its worst column, a release that of its worst
part. What was not measured is unknown, and no part of a good verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from synth_engine.evaluation import expected_quality, quality_words
from synth_engine.evaluation.expected import ExpectedColumn
from synth_engine.evaluation.least_group import WITHIN, rounded_up
from synth_engine.evaluation.quality_words import ColumnWord

Level: TypeAlias = str
SEVERITY: tuple[Level, ...] = ("good", "unknown", "weak", "lost")
"""The levels, from good to bad. What is unknown is no better than good, and hides nothing that is weak."""

FEW = 4
"""A group that is larger than this part of the records is none that anybody looks for."""
_RELATION_LEVELS: Mapping[str, Level] = {
    "kept": "good",
    "weak": "weak",
    "lost": "lost",
    "unknown": "unknown",
}
_COLUMN_LEVELS: Mapping[ColumnWord, Level] = {
    "found": "good",
    "coarse": "weak",
    "not found": "lost",
    "unknown": "unknown",
}


@dataclass(frozen=True, kw_only=True)
class TripleFindings:
    """What a search for relations of three columns beyond those of pairs said. measured: groups that were
    counted then. largest: the largest share of records that a group is away from what its pairs imply;
    by_noise: what noise alone makes of it."""

    measured: int
    largest: float
    by_noise: float


@dataclass(frozen=True, kw_only=True)
class DistanceInterval:
    """The interval of a distance from the real table that was paid for, by how many columns it is of."""

    columns: int
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class GroupInterval:
    """The size of a group in the synthetic table, and the interval of that in the real one, which was paid
    for."""

    synthetic: float
    low: float
    high: float

    @property
    def is_off(self) -> bool:
        """Whether the count is certainly farther off than counts of large groups may be."""
        off = max(self.low - self.synthetic, self.synthetic - self.high, 0.0)
        return off > WITHIN * max(self.high, 1.0)


@dataclass(frozen=True, kw_only=True)
class ReleaseEvidence:
    """All that a verdict rests on. columns: the expected ranges. learned: how well the columns that were
    learned are known. relations: the word of pairs of columns. least_group: of `least_group`, None where it
    is not known. search: None where the method had none."""

    records: int
    columns: Sequence[ExpectedColumn]
    learned: Mapping[str, ColumnWord]
    relations: str
    least_group: int | None
    search: TripleFindings | None = None
    distances: Sequence[DistanceInterval] = ()
    groups: Sequence[GroupInterval] = ()


@dataclass(frozen=True, kw_only=True)
class PartVerdict:
    """One thing that people compute. good, of: columns that are good for it, and all that it is about; none
    of relations, nor where a figure that was paid for says that it is off."""

    key: str
    level: Level
    good: int = 0
    of: int = 0

    @property
    def is_mostly_good(self) -> bool:
        """Whether it is good for at least half of its columns."""
        return self.level == "good" or 0 < self.of <= 2 * self.good


@dataclass(frozen=True, kw_only=True)
class ColumnVerdict:
    """One column, in the words of a forecast. learned: how well its values were learned, None where they were
    described."""

    name: str
    word: ColumnWord
    learned: ColumnWord | None = None

    @property
    def level(self) -> Level:
        """The level that parts of its column have for it."""
        return _COLUMN_LEVELS[self.word]


@dataclass(frozen=True, kw_only=True)
class ReleaseVerdict:
    """level: of the worst part. parts: those that the table has. columns: worst first. least_group: None
    where it is not known. any_group: whether there are groups small enough to be looked for and large enough
    to be counted."""

    level: Level
    parts: tuple[PartVerdict, ...]
    columns: tuple[ColumnVerdict, ...]
    least_group: int | None
    any_group: bool


def verdict(evidence: ReleaseEvidence) -> ReleaseVerdict:
    """Judge a release."""
    evidence = replace(evidence, columns=[*evidence.columns, *_not_modelled(evidence)])
    columns = [_column(each, evidence.learned.get(each.name)) for each in evidence.columns]
    parts = [*_of_columns(evidence), *_of_relations(evidence)]
    least = _least_group(evidence)
    return ReleaseVerdict(
        level=worst(each.level for each in parts),
        parts=tuple(parts),
        columns=tuple(sorted(columns, key=lambda each: -SEVERITY.index(each.level))),
        least_group=least,
        any_group=least is not None and FEW * least <= evidence.records,
    )


def _not_modelled(evidence: ReleaseEvidence) -> list[ExpectedColumn]:
    """The columns that were not found, of which a model may have nothing, so that they have no expected
    ranges."""
    names = {each.name for each in evidence.columns}
    return [
        ExpectedColumn(name=name, kind="not-found", figures=())
        for name, word in evidence.learned.items()
        if word == "not found" and name not in names
    ]


def worst(levels: Iterable[Level]) -> Level:
    """The worst of some levels; unknown of none."""
    return max(levels, key=SEVERITY.index, default="unknown")


def count_word(column: ExpectedColumn) -> ColumnWord:
    """How well shares of a column are known; unknown where it has none."""
    return quality_words.of_share(expected_quality.share_deviation(column))


def mean_word(column: ExpectedColumn) -> ColumnWord:
    """How well the mean of a column is known; unknown where it has none."""
    return quality_words.of_mean(expected_quality.mean_deviation(column))


def _has_mean(column: ExpectedColumn) -> bool:
    return any(each.key == "mean" for each in column.figures)


def _column(column: ExpectedColumn, learned: ColumnWord | None) -> ColumnVerdict:
    of_mean = [mean_word(column)] if _has_mean(column) else []
    # Of numbers without frequent values there is a mean and no share.
    of_shares = [] if of_mean and count_word(column) == "unknown" else [count_word(column)]
    words = [*of_mean, *of_shares, *([learned] if learned else [])]
    if learned == "not found":  # it has no ranges, because there is nothing to be far from
        words = ["not found"]
    return ColumnVerdict(
        name=column.name, word=quality_words.worst_column(words), learned=learned
    )


def _of_columns(evidence: ReleaseEvidence) -> list[PartVerdict]:
    """Counts of all columns, and averages of those that are numbers. One that was not found is lost for
    both."""
    with_means = [each for each in evidence.columns if _has_mean(each)]
    parts = [_part("counts", evidence, evidence.columns, _counted)]
    if with_means:
        parts.append(_part("averages", evidence, with_means, mean_word))
    return parts


def _counted(column: ExpectedColumn) -> ColumnWord:
    """Counts of a column of numbers without frequent values are as good as its mean."""
    word = count_word(column)
    return mean_word(column) if word == "unknown" and _has_mean(column) else word


def _part(
    key: str,
    evidence: ReleaseEvidence,
    columns: Sequence[ExpectedColumn],
    word_of: Callable[[ExpectedColumn], ColumnWord],
) -> PartVerdict:
    levels: list[Level] = []
    for column in columns:
        learned = evidence.learned.get(column.name, "found")
        words = [learned] if learned == "not found" else [word_of(column), learned]
        levels.append(_COLUMN_LEVELS[quality_words.worst_column(words)])
    paid = worst(["good", *_paid(evidence, 1)])
    good = levels.count("good") if paid == "good" else 0
    return PartVerdict(key=key, level=worst([*levels, paid]), good=good, of=len(levels))


def _of_relations(evidence: ReleaseEvidence) -> list[PartVerdict]:
    """Relations of two columns, and of three, which are never better. Columns that were not found have none;
    the relations of coarse ones are coarse."""
    if len(evidence.columns) < 2:
        return []
    pairs = worst([_RELATION_LEVELS[evidence.relations], *_paid(evidence, 2)])
    if any(word != "found" for word in evidence.learned.values()):
        pairs = worst([pairs, "weak"])
    parts = [PartVerdict(key="pairs", level=pairs)]
    if len(evidence.columns) > 2:
        triples = worst([pairs, _triples(evidence), *_paid(evidence, 3)])
        parts.append(PartVerdict(key="triples", level=triples))
    return parts


def _triples(evidence: ReleaseEvidence) -> Level:
    """Good where a search that noise left precise found no relation of three columns beyond those of pairs,
    or counted it. Without a search there is no more of them than pairs imply."""
    search = evidence.search
    if search is None:
        return "unknown" if evidence.relations == "unknown" else "weak"
    is_precise = search.by_noise <= quality_words.KEPT_DISTANCE
    has_all = search.measured > 0 or search.largest <= search.by_noise
    return "good" if is_precise and has_all else "weak"


def _paid(evidence: ReleaseEvidence, columns: int) -> list[Level]:
    """The levels of paid distances by what is certain: the lower ends of their intervals. They make a part
    worse, and none better: a distance of some columns says nothing of the others."""
    return [
        _COLUMN_LEVELS[quality_words.of_share(each.low)]
        for each in evidence.distances
        if each.columns == columns
    ]


def _least_group(evidence: ReleaseEvidence) -> int | None:
    """Beyond the largest group that was paid for and is certainly off."""
    off = [rounded_up(each.high + 1) for each in evidence.groups if each.is_off]
    known = [] if evidence.least_group is None else [evidence.least_group]
    # What was paid for says of a few groups that they are off, and of none that all others are right.
    return max([*known, *off]) if known else None
