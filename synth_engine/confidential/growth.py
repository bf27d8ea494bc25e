"""Trees grown over a public hierarchy (docs/proofs/grow.md): children are counted where they can exist, whoever is in them."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from synth_engine.confidential import discovery
from synth_engine.hierarchy import Codes, Growth, Hierarchy, Rule, children
from synth_engine.measurement import Counts, Noise
from synth_engine.privacy import thresholds

_AT_ONCE = 30
"""Nodes without records that are expected to pass at once: how many do is drawn in steps."""


class Sampler(Protocol):
    """The part of the session's sampler that trees need."""

    def counts(self, vector: Counts, noise: Noise) -> Counts: ...

    def passing(self, scores: Counts, *, threshold: int, noise: Noise) -> NDArray[np.bool_]: ...

    def part(self, sizes: Counts, number: int) -> Counts: ...


def grown(
    leaves: tuple[Codes, Counts | None], *, hierarchy: Hierarchy, rule: Rule, noise: Noise, sampler: Sampler
) -> Growth:
    """leaves: codes, increasing, and how many records have each; one, where that is left out."""
    codes = leaves[0]
    left = np.ones(codes.size, dtype=np.int64) if leaves[1] is None and rule.name == "improved" else leaves[1]
    reached = None if left is None else np.append(0, np.cumsum(left))
    prefixes, end = hierarchy.root(), np.array([codes.size])
    opened: list[Counts] = []
    counts: list[Counts] = []
    while prefixes.size and len(opened) < rule.depth:
        level = children(hierarchy, prefixes, len(opened), depth=rule.depth)
        first = np.searchsorted(codes, level.prefixes)
        following = np.append(first[1:], codes.size)
        lasts = np.append(level.parents[1:] != level.parents[:-1], True)
        last = np.where(lasts, end[level.parents], following)
        tally = last - first if reached is None else reached[last] - reached[first]
        opens = level.opens.copy()
        if rule.name == "basic":
            counts.append(sampler.counts(tally, noise))
            opens &= counts[-1] >= rule.threshold
        else:
            scores = rule.scores(tally[opens], level=level.level)
            opens[opens] = sampler.passing(scores, threshold=rule.least, noise=noise)
        opened.append(np.flatnonzero(opens))
        if rule.name == "improved" and left is not None and reached is not None:
            left = left.copy() if left is leaves[1] else left
            _discount(left, first[opens], reached, tally[opens], sampler.part(tally[opens], rule.discount))
            reached = np.append(0, np.cumsum(left))
        prefixes, end = level.prefixes[opens], last[opens]
    return Growth(columns=hierarchy.columns, rule=rule, opened=tuple(opened), counts=tuple(counts))


def _discount(left: Counts, first: Counts, reached: Counts, sizes: Counts, taken: Counts) -> None:
    """Takes records out of nodes: those with these numbers among the records of the node that are left."""
    places = np.searchsorted(reached, (reached[first][:, None] + taken)[taken < sizes[:, None]], side="right") - 1
    np.subtract.at(left, places, 1)


def passing(
    scores: Counts,
    *,
    threshold: int,
    noise: Noise,
    noisy: Callable[[Counts, Noise], Counts],
    below: Callable[[int], int] = secrets.randbelow,
) -> NDArray[np.bool_]:
    """Which scores reach the threshold with noise. Of scores of 0, each passes with one chance: how many do is drawn, and
    which; the law is the same."""
    some, none = np.flatnonzero(scores), np.flatnonzero(scores == 0)
    passed = np.zeros(scores.size, dtype=np.bool_)
    passed[some] = noisy(scores[some], noise) >= threshold
    expected = thresholds.by_chance(none.size, threshold=threshold, scale=noise.scale)
    for part in np.array_split(none, max(1, int(expected / _AT_ONCE))):
        number = discovery.number_passing(part.size, scale=noise.scale, threshold=threshold)
        passed[part[discovery.without_repetition(number, size=part.size, taken=(), below=below)]] = True
    return passed


def uniform(bounds: Counts) -> Counts:
    """Whole numbers from 0 on below each bound, each as likely as another, from the operating system."""
    limits = bounds.astype(np.uint64)
    most = (np.uint64(2**63) // limits) * limits
    drawn = np.full(bounds.size, 2**63, dtype=np.uint64)
    while (again := np.flatnonzero(drawn >= most)).size:
        drawn[again] = np.frombuffer(os.urandom(8 * again.size), dtype=np.uint64) >> np.uint64(1)
    return (drawn % limits).astype(np.int64)
