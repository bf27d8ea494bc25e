"""Trees grown over a public hierarchy (docs/proofs/grow.md): children are counted where they can exist,
whoever is in them."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from synth_engine.errors import PrivacyError
from synth_engine.hierarchy import (
    Codes,
    Growth,
    Hierarchy,
    Level,
    ParentRanges,
    Rule,
    child_level,
    discount_cells,
    public_order,
    ranges,
)
from synth_engine.measurement import Counts, Noise
from synth_engine.privacy import thresholds
from synth_engine.room import discovery
from synth_engine.room import noise as of_noise

_AT_ONCE = 30
"""Nodes without records that are expected to pass at once: how many do is drawn in steps."""
_SELDOM = 300
"""Where fewer than one in so many pass, their number and their choice are drawn instead of
noise for each."""


class TreeSampler(Protocol):
    """The part of the session's sampler that trees need."""

    def counts(self, vector: Counts, noise: Noise) -> Counts: ...

    def passing(self, scores: Counts, *, threshold: int, noise: Noise) -> NDArray[np.bool_]: ...

    def above_threshold(self, vector: Counts, *, threshold: int, noise: Noise) -> Counts: ...

    def part(self, sizes: Counts, number: int) -> Counts: ...


def grow_tree(
    leaves: tuple[Codes, Counts | None],
    *,
    hierarchy: Hierarchy,
    rule: Rule,
    noise: Noise,
    sampler: TreeSampler,
    depth_of: Callable[[Callable[[], Growth]], Growth] = lambda draw: draw(),
) -> Growth:
    """leaves: codes, increasing, and how many records have each; one, where that is left out. depth_of: does
    the drawing of one depth, or gives what was drawn of it before the run was interrupted. Errors:
    PrivacyError where that is of another tree."""
    codes, left = leaves
    if rule.spread != "chance" and left is None:  # by cells, not by records
        codes, left = np.unique(codes, return_counts=True)
    if rule.name == "improved":
        left = np.ones(codes.size, dtype=np.int64) if left is None else left
        left = left * rule.parts
    reached = None if left is None else np.append(0, np.cumsum(left))
    prefixes, start, end = hierarchy.root(), np.array([0]), np.array([codes.size])
    opened: list[Counts] = []
    counts: list[Counts] = []
    while prefixes.size and len(opened) < rule.depth:
        level = child_level(hierarchy, prefixes, len(opened), depth=rule.depth)
        first, last, tally = ranges(
            codes,
            level.prefixes,
            level=level.level,
            parents=ParentRanges(of=level.parents, starts=start, ends=end),
            reached=reached,
        )
        # Every child that can exist is counted and gets noise, with records or without: the set
        # of nodes is public given `opened`.
        able = np.flatnonzero(level.opens)
        scores = tally if rule.name == "basic" else rule.scores(tally[able], level=level.level)
        draw = partial(_depth, hierarchy, rule, noise, sampler, able=able, scores=scores)
        one_depth = depth_of(draw)
        _require_within(one_depth, level)
        [opens] = one_depth.opened
        opened.append(opens)
        counts += one_depth.counts
        prefixes, start, end = level.prefixes[opens], first[opens], last[opens]
        # Before the next depth is laid out: each is as long as that has nodes.
        del level, first, last, tally, able, scores, draw
        if rule.name == "improved" and left is not None and reached is not None:
            if rule.spread == "chance":
                _discount(left, start, end, reached, rule.discount, sampler=sampler)
            else:
                left = discount_cells(
                    left,
                    start,
                    end,
                    public_order(codes),
                    rule.discount,
                    fullest=rule.spread == "fullest",
                )
            reached = np.append(0, np.cumsum(left))
    return Growth(
        columns=hierarchy.columns, rule=rule, opened=tuple(opened), counts=tuple(counts)
    )


def _depth(
    hierarchy: Hierarchy,
    rule: Rule,
    noise: Noise,
    sampler: TreeSampler,
    *,
    able: Counts,
    scores: Counts,
) -> Growth:
    """One depth, as a tree of this depth alone. able: the nodes that may be opened; scores: theirs, or under
    the basic rule the counts of all nodes."""
    if rule.name == "basic":
        counts = sampler.counts(scores, noise)
        opens = able[counts[able] >= rule.threshold]
        return Growth(columns=hierarchy.columns, rule=rule, opened=(opens,), counts=(counts,))
    opens = able[sampler.passing(scores, threshold=rule.least, noise=noise)]
    return Growth(columns=hierarchy.columns, rule=rule, opened=(opens,))


def _require_within(one_depth: Growth, level: Level) -> None:
    """What was stored has a checksum and belongs to this call, so that this does not happen; but nodes that
    are not there must not be looked for."""
    if (
        len(one_depth.opened) != 1
        or any(len(counts) != len(level) for counts in one_depth.counts)
        or not np.isin(one_depth.opened[0], np.flatnonzero(level.opens)).all()
    ):
        raise PrivacyError("the stored answers are not those of this run")


def _discount(
    left: Counts,
    first: Counts,
    last: Counts,
    reached: Counts,
    number: int,
    *,
    sampler: TreeSampler,
) -> None:
    """Takes so many records out of each node: all of one that has no more; of others those that are drawn."""
    sizes = reached[last] - reached[first]
    few, many = sizes <= number, sizes > number
    emptied = np.zeros(
        left.size + 1, dtype=np.int64
    )  # nodes lie side by side: 1 where one begins, -1 where one ends
    np.add.at(emptied, first[few], 1)
    np.add.at(emptied, last[few], -1)
    left[np.cumsum(emptied[:-1]) > 0] = 0
    if many.any():
        records = reached[first[many]][:, None] + sampler.part(sizes[many], number)
        np.subtract.at(left, np.searchsorted(reached, records.ravel(), side="right") - 1, 1)


def passing(
    scores: Counts,
    *,
    threshold: int,
    noise: Noise,
    noisy: Callable[[Counts, Noise], Counts],
) -> NDArray[np.bool_]:
    """Draws which scores reach the threshold with noise. All scores of 0 pass with the same
    probability: where it is small, their number is drawn, and then which they are; the law is
    the same."""
    some, passed = np.flatnonzero(scores), np.zeros(scores.size, dtype=np.bool_)
    passed[some] = noisy(scores[some], noise) >= threshold
    if thresholds.expected_by_chance(_SELDOM, threshold=threshold, scale=noise.scale) > 1:
        passed[scores == 0] = of_noise.reaching(
            scores.size - some.size, threshold=threshold, noise=noise
        )
        return passed
    # Few of many nodes without records pass: their number is binomial and their choice uniform, so noise need
    # not be drawn for each of them.
    none = np.flatnonzero(scores == 0)
    expected = thresholds.expected_by_chance(none.size, threshold=threshold, scale=noise.scale)
    for part in np.array_split(none, max(1, int(expected / _AT_ONCE))):
        number = discovery.number_passing(part.size, scale=noise.scale, threshold=threshold)
        passed[
            part[
                discovery.sample_without_replacement(
                    number, size=part.size, taken=(), below=secrets.randbelow
                )
            ]
        ] = True
    return passed


def threshold_counts(
    vector: Counts, *, threshold: int, noise: Noise, noisy: Callable[[Counts, Noise], Counts]
) -> Counts:
    """Counts with noise where that reaches the threshold, 0 elsewhere; of cells without records as `passing`
    has it."""
    thresholded, some, none = (
        np.zeros_like(vector),
        np.flatnonzero(vector),
        np.flatnonzero(vector == 0),
    )
    noisy_counts = noisy(vector[some], noise)
    thresholded[some] = np.where(noisy_counts >= threshold, noisy_counts, 0)
    through = none[
        passing(
            np.zeros(none.size, dtype=np.int64), threshold=threshold, noise=noise, noisy=noisy
        )
    ]
    thresholded[through] = discovery.sample_exceedances(
        through.size,
        threshold=threshold,
        noisy=lambda values: noisy(np.array(values, dtype=np.int64), noise).tolist(),
    )
    return thresholded


def uniform(bounds: Counts) -> Counts:
    """Whole numbers from 0 on below each bound, each as likely as another, from the operating system."""
    limits = bounds.astype(np.uint64)
    most = (np.uint64(2**63) // limits) * limits
    random_bits = np.full(bounds.size, 2**63, dtype=np.uint64)
    while (again := np.flatnonzero(random_bits >= most)).size:
        random_bits[again] = np.frombuffer(
            os.urandom(8 * again.size), dtype=np.uint64
        ) >> np.uint64(1)
    return (random_bits % limits).astype(np.int64)
