"""What is made of groups drawn anew: geography, the gravity model that explains a draw, and the records
placed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from synth_engine.errors import SpecError
from synth_engine.inference import gravity
from synth_engine.inference.geography import Geography
from synth_engine.inference.gravity import Draw, Gravity
from tests.engine import great_circle

PARTS = 12


def place_of(groups: int = 40, *, farthest: float = math.inf, scale: float = 6.0) -> Geography:
    """Groups along a line of 40 miles or so, and 12 parts of 5 points each along the same line."""
    along = np.linspace(0, 0.6, groups)
    homes = np.linspace(0, 0.6, PARTS * 5)
    return Geography(
        groups=np.column_stack([41 + along, np.full(groups, -71.0)]),
        origins=np.column_stack([41 + homes, np.full(homes.size, -71.01)]),
        weights=np.ones(homes.size),
        part=np.repeat(np.arange(PARTS), 5),
        parts=PARTS,
        scale=scale,
        farthest=farthest,
    )


def truth_of(place: Geography, sizes: np.ndarray, *, steep: float, seed: int) -> np.ndarray:
    """Counts of groups by parts: nearer ones, with another decay than the public one, and one part that many
    come from."""
    rng = np.random.default_rng(seed)
    _, apart = place.rows(0, sizes.size)
    shares = np.exp(-apart / steep)
    shares[:, 3] *= 4
    return np.array(
        [rng.multinomial(n, q / q.sum()) for n, q in zip(sizes, shares, strict=True)]
    )


def draw_of(counts: np.ndarray, *, alpha: float, seed: int, beyond: int = 0) -> Draw:
    rng = np.random.default_rng(seed)
    drawn = np.array(
        [
            rng.multinomial(row.sum(), rng.dirichlet(row + alpha)) if row.sum() else 0 * row
            for row in counts
        ]
    )
    groups, parts = np.nonzero(drawn)
    return Draw(
        groups=groups, parts=parts, counts=drawn[groups, parts], sizes=counts.sum(axis=1),
        alpha=np.full(len(counts), alpha), beyond=beyond,
    )  # fmt: skip


def table(
    cells: tuple[np.ndarray, np.ndarray, np.ndarray], groups: int, parts: int = PARTS
) -> np.ndarray:
    found = np.zeros((groups, parts), dtype=np.int64)
    np.add.at(found, cells[:2], cells[2])
    return found


def test_distances_are_great_circles() -> None:
    place = place_of()
    exact = great_circle.miles(place.groups, place.origins)
    _, apart = place.rows(0, 40)
    nearest = place_of(scale=1e9).rows(0, 40)[1]
    assert nearest == pytest.approx(exact.reshape(40, PARTS, 5).mean(axis=2), rel=1e-6)
    assert (apart <= nearest + 1e-9).all(), "within a part the near ones weigh more"
    far = Geography(
        groups=np.array([[0.0, 0.1]]), origins=np.array([[0.0, 179.0], [60.0, 100.0]]), weights=np.ones(2),
        part=np.arange(2), parts=2, scale=1e9,
    )  # fmt: skip
    assert far.rows(0, 1)[1] == pytest.approx(
        great_circle.miles(far.groups, far.origins), rel=1e-9
    )


def test_what_the_prior_added_is_told_from_records_better_than_by_public_decay_alone() -> None:
    """Mean distances of groups, over ten draws: fitted beats the public decay, and both the draw itself."""
    place, rng = place_of(), np.random.default_rng(3)
    sizes = rng.integers(1, 200, 40)
    truth = truth_of(place, sizes, steep=3.0, seed=1)
    _, apart = place.rows(0, 40)
    area = gravity.areas([(*at, 1.0) for at in place.groups.tolist()])

    def error(counts: np.ndarray) -> float:
        means = [(one * apart).sum(axis=1) / sizes for one in (counts, truth)]
        return float((np.abs(means[0] - means[1]) * sizes).sum() / sizes.sum())

    errors = np.zeros(3)
    for seed in range(10):
        draw = draw_of(truth, alpha=4.0, seed=seed)
        model = gravity.fit(draw, place, area=area)
        public = gravity.posterior_counts(
            draw, place, Gravity.public(draw, place), filtered=True, shrunk=False
        )
        fitted = gravity.posterior_counts(draw, place, model, filtered=True, shrunk=True)
        raw = table((draw.groups, draw.parts, draw.counts), 40)
        errors += error(raw), error(table(public, 40)), error(table(fitted, 40))
    assert errors[2] < 0.7 * errors[1] < 0.7 * errors[0]


def test_groups_keep_their_sizes_and_empty_ones_get_nobody() -> None:
    place = place_of(10)
    sizes = np.array([0, 1, 2, 50, 0, 7, 300, 1, 1, 0])
    draw = draw_of(truth_of(place, sizes, steep=4.0, seed=2), alpha=1.0, seed=4)
    model = gravity.fit(draw, place, area=np.zeros(10, dtype=np.int64))
    for shrunk in (True, False):
        cells = gravity.posterior_counts(draw, place, model, filtered=True, shrunk=shrunk)
        assert table(cells, 10).sum(axis=1).tolist() == sizes.tolist()
        homes = place.assign_origins(*cells)
        assert (place.part[homes] == np.repeat(cells[1], cells[2])).all()


def test_without_a_prior_and_a_filter_the_draw_stays() -> None:
    place = place_of(5)
    draw = draw_of(
        truth_of(place, np.array([3, 20, 1, 90, 6]), steep=6.0, seed=5), alpha=1e-9, seed=6
    )
    kept = gravity.posterior_counts(
        draw, place, Gravity.public(draw, place), filtered=False, shrunk=False
    )
    assert (table(kept, 5) == table((draw.groups, draw.parts, draw.counts), 5)).all()


def test_parts_that_lie_nowhere_are_judged_by_how_many_come_from_there() -> None:
    """Nobody comes from the first of two, half of all from the second: public decay leaves both alone, a
    fitted one does not."""
    place, sizes = place_of(30), np.full(30, 60)
    counts = np.hstack(
        [
            truth_of(place, sizes // 2, steep=6.0, seed=7),
            np.zeros((30, 1), dtype=int),
            np.full((30, 1), 30),
        ]
    )
    draw = draw_of(counts, alpha=1.0, seed=8, beyond=2)
    drawn = table((draw.groups, draw.parts, draw.counts), 30, PARTS + 2).sum(axis=0)
    public = gravity.posterior_counts(
        draw, place, Gravity.public(draw, place), filtered=True, shrunk=False
    )
    assert table(public, 30, PARTS + 2).sum(axis=0)[PARTS:] == pytest.approx(
        drawn[PARTS:], abs=3
    )
    model = gravity.fit(
        draw, place, area=gravity.areas([(*at, 1.0) for at in place.groups.tolist()])
    )
    fitted = table(
        gravity.posterior_counts(draw, place, model, filtered=True, shrunk=False), 30, PARTS + 2
    ).sum(axis=0)
    assert fitted[PARTS] < drawn[PARTS] / 2
    assert abs(fitted[PARTS + 1] - 900) < abs(drawn[PARTS + 1] - 900)


def test_beyond_the_farthest_distance_nobody_is_left() -> None:
    place = place_of(10, farthest=12.0)
    draw = draw_of(truth_of(place, np.full(10, 80), steep=20.0, seed=9), alpha=2.0, seed=10)
    for model in (
        Gravity.public(draw, place),
        gravity.fit(draw, place, area=np.zeros(10, dtype=np.int64)),
    ):
        groups, parts, counts = gravity.posterior_counts(
            draw, place, model, filtered=True, shrunk=False
        )
        homes = place.assign_origins(groups, parts, counts)
        apart = great_circle.miles(place.groups, place.origins)[
            np.repeat(groups, counts), homes
        ]
        assert apart.max() <= 12.0
    with pytest.raises(SpecError, match="farthest"):
        place_of(10, farthest=0.1).rows(0, 10)


def test_spread_keeps_sums_and_is_right_on_average() -> None:
    wished = np.array([0.25, 2.5, 0.0, 1.25, 3.0])
    by = np.array([3.0, 1.0, 2.0, 9.0, 4.0])
    starts = (np.arange(200) + 0.5) / 200
    found = np.array(
        [gravity.round_in_order(wished, by=by, total=7, start=start) for start in starts]
    )
    assert (found.sum(axis=1) == 7).all()
    assert found.mean(axis=0) == pytest.approx(wished, abs=0.01)
    assert (np.abs(found - wished) < 1).all()


def test_records_within_a_part_are_spread_by_weight_and_distance() -> None:
    place = place_of(2, scale=3.0)
    homes = place.assign_origins(np.zeros(1, dtype=int), np.array([1]), np.array([1000]))
    near = great_circle.miles(place.groups[:1], place.origins[5:10])[0]
    shares = np.exp(-near / 3.0)
    assert np.bincount(homes - 5, minlength=5) / 1000 == pytest.approx(
        shares / shares.sum(), abs=0.002
    )


def test_the_same_draw_gives_the_same_records_whether_distances_are_kept_or_found_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = place_of()
    draw = draw_of(truth_of(place, np.full(40, 30), steep=4.0, seed=11), alpha=1.0, seed=12)
    area = gravity.areas([(*at, 1.0) for at in place.groups.tolist()])
    first = gravity.posterior_counts(
        draw, place, gravity.fit(draw, place, area=area), filtered=True, shrunk=True
    )
    monkeypatch.setattr(gravity, "MAX_CACHED_PAIRS", 0)
    monkeypatch.setattr("synth_engine.inference.geography.MAX_CACHED_PAIRS", 0)
    monkeypatch.setattr(gravity, "_MAX_BLOCK_CELLS", 7 * PARTS)
    again = gravity.posterior_counts(
        draw, place_of(), gravity.fit(draw, place, area=area), filtered=True, shrunk=True
    )
    assert all((one == other).all() for one, other in zip(first, again, strict=True))
