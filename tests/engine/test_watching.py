"""Progress from inside computations: shares only grow, nested parts divide them, and they follow from plans
alone."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from synth_engine import mechanisms, pipeline, watching
from synth_engine.domain import Domain
from synth_engine.evaluation import marginals
from synth_engine.plans.plan import Plan
from synth_engine.spec import Spec
from synth_engine.verifier import resampling

ROWS = 60


def table(folder: Path, seed: int) -> Path:
    """Three columns of a few values, drawn at random."""
    codes = np.random.default_rng(seed).integers(0, 3, (ROWS, 3))
    path = folder / f"table-{seed}.csv"
    lines = ["a,b,c", *(",".join(f"v{code}" for code in row) for row in codes)]
    path.write_text("\n".join(lines) + "\n")
    return path


def plan(mechanism: str) -> Plan:
    values = [f"v{code}" for code in range(3)]
    attributes = [
        {"name": name, "kind": "categorical", "values": values, "outside": "clamp"}
        for name in "abc"
    ]
    domain = Domain.from_json({"relation": "add-remove", "attributes": attributes})
    return mechanisms.plan(
        domain, Spec.from_json({"mechanism": mechanism, "epsilon": "1", "delta": "1e-9"})
    )


def test_parts_divide_the_share_of_what_is_around_them() -> None:
    told: list[float] = []
    with watching.watched(told.append):
        with watching.part(0.0, 0.5):
            assert list(watching.each("ab")) == ["a", "b"]
        with watching.part(0.5, 1.0):
            for _ in watching.each(range(2)):
                watching.tell(0.5)
    assert told == [0.0, 0.0, 0.25, 0.5, 0.5, 0.625, 0.75, 0.875]


def test_a_share_never_falls() -> None:
    told: list[float] = []
    with watching.watched(told.append) as tell:
        tell(0.7)
        watching.tell(0.2)
    assert told == [0.7, 0.7]


def test_nobody_is_told_outside() -> None:
    told: list[float] = []
    with watching.watched(told.append), pytest.raises(ValueError, match="stop"):
        for _ in watching.each(range(3)):
            raise ValueError("stop")
    watching.tell(0.9)
    assert list(watching.each(range(2))) == [0, 1]
    assert told == [0.0]


def test_a_listener_ends_a_computation() -> None:
    def refuse(_share: float) -> None:
        raise KeyError("gone")

    with watching.watched(refuse), pytest.raises(KeyError, match="gone"):
        list(watching.each(range(3)))


def test_progress_of_a_static_plan_is_the_same_for_every_table(tmp_path: Path) -> None:
    asked = plan("independent")
    heard = []
    for seed in (1, 2):
        told: list[tuple[str, float]] = []
        pipeline.measure(
            table(tmp_path, seed),
            plan=asked,
            progress=lambda stage, share, into=told: into.append((stage, share)),
        )
        heard.append([share for stage, share in told if stage == "measure"])
    assert heard[0] == heard[1]
    assert len(set(heard[0])) >= 3


@pytest.mark.parametrize("mechanism", ["auto", "mst"])
def test_every_stage_tells_how_far_it_is(mechanism: str, tmp_path: Path) -> None:
    told: list[tuple[str, float]] = []

    def hear(stage: str, share: float) -> None:
        told.append((stage, share))

    asked = plan(mechanism)
    release = pipeline.synthesize(
        table(tmp_path, 1), domain=asked.domain, spec=asked.spec, progress=hear
    )
    marginals.publish(release.model, release.plan, release.answers, progress=hear)
    for stage in ("measure", "fit", "gather", "generate"):
        shares = [share for name, share in told if name == stage]
        assert shares == sorted(shares)
        assert 0 <= shares[0] <= shares[-1] <= 1


def test_the_verifier_tells_how_many_records_are_in_groups_that_are_done() -> None:
    told: list[float] = []
    noise = {"origins": 4, "unit": 10, "priors": [[3, 5], [5, 7], [12, 9]]}
    resampling.group_delta(noise, Fraction(1), progress=told.append)
    assert told == [0, 3 / 20, 8 / 20]
