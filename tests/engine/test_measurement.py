"""Answers: stored without pickles, named by a digest of their values, read back as they were."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from synth_engine.errors import InputError
from synth_engine.measurement import (
    AnsweredCall,
    Answers,
    Call,
    Measurement,
    Noise,
    Query,
    Selection,
)
from synth_engine.privacy.events import Gumbel
from synth_engine.privacy.unit import Sensitivity
from tests.answers import replaced

SENSITIVITY = Sensitivity(l1=1, l2_squared=1, linf=1)


def answers() -> Answers:
    noise = Noise(law="discrete-gaussian", scale=Fraction(7, 2))
    values = np.array([[1, -2, 3], [0, 5, 2**40]], dtype=np.int64)
    calls = (
        Call(
            query=Query(verb="measure", clique=("a", "é"), cells=6),
            event=noise.event(SENSITIVITY),
        ),
        Call(
            query=Query(verb="select", candidates=(("a",), ("é",)), cells=5),
            event=Gumbel(scale=Fraction(3), linf=1),
        ),
    )
    measurement = Measurement(clique=("a", "é"), noise=noise, values=values)
    return Answers(tuple(map(AnsweredCall, calls, (measurement, Selection(1)))))


def test_answers_are_read_back_as_they_were(tmp_path: Path) -> None:
    before = answers()
    before.save(tmp_path / "answers.npz")
    after = Answers.load(tmp_path / "answers.npz")
    assert after.digest == before.digest
    assert after.calls == before.calls
    assert after.selections == before.selections
    assert np.array_equal(after.measurements[0].values, before.measurements[0].values)
    assert after.measurements[0].noise == before.measurements[0].noise


def test_the_digest_notices_every_change() -> None:
    base = answers()
    (one,) = base.measurements
    changed = one.values.copy()
    changed[0, 0] += 1
    variants = [
        replaced(base, Measurement, [replace(one, values=changed)]),
        replaced(base, Measurement, [replace(one, values=one.values.reshape(3, 2))]),
        replaced(
            base,
            Measurement,
            [replace(one, noise=Noise(law="discrete-gaussian", scale=Fraction(4)))],
        ),
        replaced(base, Measurement, [replace(one, clique=("é", "a"))]),
        replaced(base, Selection, [0]),
        base[:1],
    ]
    assert len({variant.digest for variant in variants} | {base.digest}) == len(variants) + 1


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 broken", b"\x80\x04\x95"])
def test_another_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "answers.npz"
    path.write_bytes(content)
    with pytest.raises(InputError):
        Answers.load(path)


def test_a_pickled_array_is_never_loaded(tmp_path: Path) -> None:
    path = tmp_path / "answers.npz"
    with path.open("wb") as file:
        np.savez(file, header=np.array([object()], dtype=object), allow_pickle=True)
    with pytest.raises(InputError):
        Answers.load(path)


def test_values_of_another_type_are_refused() -> None:
    noise = Noise(law="discrete-laplace", scale=Fraction(1))
    with pytest.raises(TypeError):
        Measurement(clique=("a",), noise=noise, values=np.zeros(3))
    with pytest.raises(TypeError):
        Measurement(clique=("a", "b"), noise=noise, values=np.zeros(3, dtype=np.int64))


@pytest.mark.parametrize(
    "scale", [Fraction(1, 2**9), Fraction(1, 4), Fraction(1), Fraction(100)]
)
def test_the_stated_variance_and_deviation_of_laplace_noise_are_exact(scale: Fraction) -> None:
    noise = Noise(law="discrete-laplace", scale=scale)
    k = np.arange(-5000, 5001)
    weights = np.exp(-np.abs(k) / float(scale))
    chances = weights / weights.sum()
    assert noise.variance == pytest.approx(float((chances * k**2).sum()), rel=1e-9, abs=1e-17)
    assert noise.mean_deviation == pytest.approx(
        float((chances * np.abs(k)).sum()), rel=1e-9, abs=1e-17
    )
