"""Records mended towards wished counts."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from synth_engine.inference.cost_tables import SOFTNESS, AttributeFacts
from synth_engine.inference.record_refinement import refine, rows_refined

ROOT = Path(__file__).parents[2]
SIZES = (5, 4, 3, 6)
ROWS = 3_000
PAIRS = list(itertools.combinations(range(len(SIZES)), 2))
Codes = npt.NDArray[np.uint16]
Floats = npt.NDArray[np.float64]
Targets = list[tuple[tuple[int, ...], Floats]]


def count(codes: Codes, axes: tuple[int, ...]) -> Floats:
    found = np.zeros([SIZES[axis] for axis in axes])
    np.add.at(found, tuple(codes[axis] for axis in axes), 1)
    return found


def dependent(seed: int = 0) -> Codes:
    rng = np.random.default_rng(seed)
    hidden = rng.random(ROWS)
    return np.array(
        [((hidden + rng.random(ROWS)) / 2 * size).astype(np.uint16) for size in SIZES]
    )


def uniform(seed: int = 1) -> Codes:
    rng = np.random.default_rng(seed)
    return np.array([rng.integers(0, size, ROWS).astype(np.uint16) for size in SIZES])


def loss(codes: Codes, targets: Targets) -> float:
    return sum(
        float(((count(codes, axes) - t) ** 2 / (t + SOFTNESS)).sum()) for axes, t in targets
    )


def distance(codes: Codes, targets: Targets) -> float:
    return float(
        np.mean([np.abs(count(codes, axes) - t).sum() / 2 / ROWS for axes, t in targets])
    )


@pytest.fixture(scope="module")
def targets() -> Targets:
    return [(axes, count(dependent(), axes)) for axes in PAIRS]


def test_counts_come_near_to_all_pairs(targets: Targets) -> None:
    start = uniform()
    found = refine(start, targets=targets, rng=np.random.default_rng(2))
    assert distance(start, targets) > 0.2
    assert distance(found, targets) < 0.01
    assert found.shape == start.shape and found.dtype == np.uint16
    assert all(column.max() < size for column, size in zip(found, SIZES, strict=True))


def test_counts_come_near_to_triples() -> None:
    wished: Targets = [(axes, count(dependent(), axes)) for axes in [(0, 1, 2), (3, 1, 0)]]
    found = refine(uniform(), targets=wished, rng=np.random.default_rng(2))
    assert distance(found, wished) < 0.02


def test_the_same_generator_gives_the_same_rows_and_leaves_the_given_ones(
    targets: Targets,
) -> None:
    start = uniform()
    kept = start.copy()
    found = [
        refine(start, targets=targets, rng=np.random.default_rng(seed)) for seed in (7, 7, 8)
    ]
    assert np.array_equal(found[0], found[1]) and not np.array_equal(found[0], found[2])
    assert np.array_equal(start, kept)


def test_targets_are_shares_or_counts_alike(targets: Targets) -> None:
    shares = [(axes, table / table.sum()) for axes, table in targets]
    found = [
        refine(uniform(), targets=t, rng=np.random.default_rng(7)) for t in (targets, shares)
    ]
    assert distance(found[0], targets) == pytest.approx(distance(found[1], targets), abs=0.002)


def test_attributes_without_a_target_stay(targets: Targets) -> None:
    start = uniform()
    found = refine(
        start, targets=[one for one in targets if 2 not in one[0]], rng=np.random.default_rng(2)
    )
    assert np.array_equal(found[2], start[2]) and not np.array_equal(found[0], start[0])


def test_cells_that_may_not_be_entered_stay_empty(targets: Targets) -> None:
    """Though the targets wish for records there."""
    may = np.ones((SIZES[0], SIZES[3]), dtype=np.bool_)
    may[:2, 3:] = False
    start = uniform()
    start[0][~may[start[0], start[3]]] = 4
    found = refine(
        start,
        targets=targets,
        rng=np.random.default_rng(2),
        facts=AttributeFacts(allowed=[((0, 3), may)]),
    )
    assert may[found[0], found[3]].all()
    assert distance(found, targets) < distance(start, targets)


@pytest.mark.parametrize(
    "wrong",
    [
        [((0,), np.ones(5))],
        [((0, 0), np.ones((5, 5)))],
        [((0, 1), np.ones((5, 4))), ((1, 2), np.ones((5, 3)))],
    ],
)
def test_tables_of_the_wrong_shape_are_refused(wrong: Targets) -> None:
    with pytest.raises(ValueError, match="of the finish"):
        refine(uniform(), targets=wrong, rng=np.random.default_rng(0))


def test_rows_that_are_fixed_count_and_stay(targets: Targets) -> None:
    start = np.concatenate([dependent()[:, :1_000], uniform()[:, :2_000]], axis=1)
    found = refine(start, fixed=1_000, targets=targets, rng=np.random.default_rng(2))
    assert found.shape == (len(SIZES), 2_000)
    assert distance(np.concatenate([start[:, :1_000], found], axis=1), targets) < 0.02


def test_fewer_rows_are_refined_of_more_columns() -> None:
    assert (
        rows_refined(10**9, 100)
        == rows_refined(10**9, 1_000)
        < rows_refined(10**9, 30)
        < rows_refined(10**9, 10)
    )


def test_nothing_to_do() -> None:
    start = uniform()
    assert np.array_equal(refine(start, targets=[], rng=np.random.default_rng(0)), start)
    none = start[:, :0]
    assert refine(
        none, targets=[((0, 1), np.ones((5, 4)))], rng=np.random.default_rng(0)
    ).shape == (4, 0)


@pytest.mark.slow
def test_where_nothing_can_be_kept_on_disk_functions_are_compiled_anew(tmp_path: Path) -> None:
    """Neither beside the source, where a file stands in the way, nor in a folder of the user's, who has
    none."""
    (tmp_path / "__pycache__").write_text("")
    (tmp_path / "doubled.py").write_text(
        "from synth_engine.jit import compiled\n@compiled\ndef doubled(x: int) -> int:\n    return 2 * x\n"
    )
    nowhere = {
        "HOME": "/proc/nowhere",
        "XDG_CACHE_HOME": "/proc/nowhere",
        "NUMBA_CACHE_DIR": "",
    }
    command = [
        sys.executable,
        "-c",
        "import doubled; print(doubled.doubled(21), doubled.doubled.machine_code.stats.cache_path)",
    ]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=os.environ | nowhere | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.strip(), done.returncode) == ("42 None", 0), done.stderr
