"""The part of bench/paper_c.py that is about trees: homes and works as points of one tree, by the mechanism
`adaptive`.

The tree counts pairs within the public points of blocks and has all of epsilon, with a delta of 0 and records
added or removed, so that it protects places of work too. It does not know how many work in a block; that is
public here, so each block of work gets as many of the synthetic pairs as it has workers, those whose work is
nearest, with their homes on the nearest block.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
from scipy.spatial import KDTree

from bench import paper_a_points
from bench.paper_c_map import Floats, Map, Whole
from synth_engine import mechanisms
from synth_engine.room.rows import Rows
from synth_engine.room.session import open_session
from synth_engine.spec import Spec

NAME = "tree of homes and works (adaptive, public support), pairs nearest to a block of work"


def homes(commutes: Map, folder: Path, epsilon: str) -> Whole:
    """A block of home for every job."""
    found = paper_a_points.source(folder)
    assert (
        found.supported is not None
    )  # the blocks are there: the jobs were read from beside them
    plan = mechanisms.plan(
        found.supported, Spec(mechanism="adaptive", epsilon=Fraction(epsilon))
    )
    rows = Rows(found.columns, domain=found.supported)
    model = plan.fit(plan.run(open_session(rows, domain=found.supported, cap=plan.loss)))
    at = paper_a_points.positions(found.domain, model.sample(model.rows, seed="trees"))
    home, work = (
        np.column_stack([at[f"{end}_latitude"], at[f"{end}_longitude"]])
        for end in ("home", "work")
    )
    blocks = np.asarray(KDTree(flat(commutes.at, commutes)).query(flat(home, commutes))[1])
    return np.concatenate(
        [blocks[pairs] for pairs in nearest(flat(work, commutes), commutes)]
    ).astype(np.int64)


def nearest(work: Floats, commutes: Map) -> list[Whole]:
    """For each block of work, as many of the pairs as it has workers: those that end nearest to it."""
    places, at = np.unique(work, axis=0, return_inverse=True)
    mixed = np.random.default_rng(0).permutation(
        len(work)
    )  # pairs that end at one place are as good as each other
    order = mixed[np.argsort(at.ravel()[mixed], kind="stable")]
    ends = np.concatenate([[0], np.cumsum(np.bincount(at.ravel(), minlength=len(places)))])
    tree, found = KDTree(places), []
    for block, size in zip(
        flat(commutes.at[commutes.works], commutes), commutes.sizes, strict=True
    ):
        asked = 4
        while True:  # of many pairs that end at one place, the place is looked for once
            near = np.atleast_1d(tree.query(block, k=min(asked, len(places)))[1])
            pairs = np.concatenate([order[ends[place] : ends[place + 1]] for place in near])
            if pairs.size >= size or asked >= len(places):
                break
            asked *= 4
        spread = np.arange(size) if pairs.size >= size else np.arange(size) % pairs.size
        found.append(pairs[spread])
    return found


def flat(at: Floats, commutes: Map) -> Floats:
    """Degrees with longitudes as long as latitudes are."""
    found: Floats = at * np.array([1.0, np.cos(np.radians(commutes.at[:, 0].mean()))])
    return found
