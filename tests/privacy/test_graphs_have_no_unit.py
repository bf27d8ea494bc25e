"""Why a vertex with its edges is no privacy unit here: rules that cut graphs to a largest degree are not
stable (docs/papers.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

Edges = Sequence[tuple[int, int]]


def greedy(edges: Edges, *, most: int) -> set[tuple[int, int]]:
    """In their public order, the edges whose ends both have fewer than `most` so far."""
    degrees: Counter[int] = Counter()
    retained = set()
    for one, other in sorted(edges):
        if degrees[one] < most and degrees[other] < most:
            retained.add((one, other))
            degrees.update((one, other))
    return retained


def without_large_vertices(edges: Edges, *, most: int) -> set[tuple[int, int]]:
    """The edges between vertices of at most `most` edges."""
    degrees = Counter(vertex for edge in edges for vertex in edge)
    return {edge for edge in edges if all(degrees[vertex] <= most for vertex in edge)}


@pytest.mark.parametrize("n", [10, 100, 1_000])
def test_one_vertex_turns_every_choice_of_a_greedy_rule(n: int) -> None:
    path = [(vertex, vertex + 1) for vertex in range(1, n)]
    longer = [(0, 1), *path]
    changed = greedy(path, most=1) ^ greedy(longer, most=1)
    assert len(changed) == n


@pytest.mark.parametrize("n", [10, 100, 1_000])
def test_one_vertex_takes_out_all_that_it_touches(n: int) -> None:
    most = 2
    ring = [(1 + vertex, 1 + (vertex + 1) % n) for vertex in range(n)]
    hub = [(0, 1 + vertex) for vertex in range(n)]
    assert len(without_large_vertices(ring, most=most)) == n
    assert not without_large_vertices([*ring, *hub], most=most)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 0.0), (1.0, 0.0), (1.0, 1e-6)])
def test_no_release_tells_a_star_from_no_edges(epsilon: float, delta: float) -> None:
    """The bound of docs/papers.md is met by randomised response, and by nothing better."""
    import math

    least = (1 - delta) / (1 + math.exp(epsilon))
    # Of all pairs (p, q) that the guarantee allows, the smallest larger failure is where both are alike.
    failure = min(
        max(1 - p, math.exp(-epsilon) * (p - delta))
        for p in (k / 10_000 for k in range(10_001))
    )
    assert failure == pytest.approx(least, abs=1e-4)
