"""Several plausible tables (implicates) of one release: multiple imputation of the table that was measured.

An implicate is a table that could have given the noisy answers. A mechanism publishes y = A x + e: counts A x
of the real table x, and noise e of a public law. With a flat prior on consistent tables and Gaussian noise,
the least-squares estimate from y + e*, where e* is fresh noise of the same law, has exactly the posterior law
of x given y (perturb and optimise; Papandreou and Yuille 2010). Here the estimate is the plan's own fit,
which also shrinks and keeps counts consistent and not negative, so the law holds approximately; measured
coverage: docs/benchmarks.md.

A fit that shrinks makes tables too much alike. With a normal prior a count is moved to its expectation with a
weight w below 1: given the answers the truth has variance w s², with s² that of the noise, and refits of
noise of the same width have w² s². Noise wider by the root of 1/w gives both the same variance. Counts of
three and more standard deviations of the noise, of which intervals are asked, keep about three quarters of a
deviation or more, so that noise 1.15 times as wide is enough. Interactions, of which `auto` measures pairs,
are read around what other answers predict and keep a little more than half: their noise is 1.35 times as
wide.

What was not perturbed is the same in all implicates: which tables were selected, values and cuts that a run
learned, and scores. What no answer counts is the model's in every one of them, so that implicates agree there
without being right. Nothing but noisy answers and a public seed goes in: this is post-processing, which costs
nothing (docs/proofs/implicates.md).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from synth_engine.errors import SpecError
from synth_engine.measurement import Answers
from synth_engine.measurement.answer import (
    Discovery,
    GroupSizes,
    Measurement,
    Scores,
    Selection,
)
from synth_engine.measurement.answers import Answer, AnsweredCall
from synth_engine.measurement.noise import Noise
from synth_engine.measurement.paid_counts import counted_calls
from synth_engine.measurement.question import Counts
from synth_engine.models.model import Model, generator
from synth_engine.plans.plan import Plan

VERSION = "implicates/3"
"""Of the computation: implicates of another one differ."""
FEWEST, MOST = 2, 20
"""Numbers of implicates that are made of one release."""
WIDER = 1.15
"""Standard deviation of the fresh noise, as a multiple of that of the answers: for what a fit shrinks."""
WIDER_FOR_INTERACTIONS = 1.35
"""The same for interactions, which a fit shrinks more."""
_SUPPORTED = (Measurement, Scores, Selection, Discovery, GroupSizes)


def seed_of(receipt_digest: str, number: int) -> str:
    """The public seed of an implicate, from which its noise and its table are drawn. number: from 1 on."""
    return f"{VERSION}/{receipt_digest}/{number}"


def require(plan: Plan, answers: Answers) -> frozenset[int]:
    """Returns the places of the answers that are perturbed. Errors: SpecError for a method whose answers are
    no counts of a fixed table, InputError for answers of another plan."""
    others = [line for line in answers.answered if not isinstance(line.answer, _SUPPORTED)]
    counted = frozenset() if others else counted_calls(plan, answers, domain=plan.domain)
    if not counted:
        raise SpecError(
            f"{plan.mechanism} has no plausible tables: its answers are no counts of tables fixed beforehand",
            repair="draw a sample, or use a method that measures counts of columns, such as auto",
        )
    return counted


def fit(plan: Plan, answers: Answers, *, seed: str) -> Model:
    """The model of one implicate. seed: public, different for each; the same one gives the same model.
    Errors: SpecError, InputError."""
    return plan.fit(perturbed(answers, places=require(plan, answers), seed=seed))


def perturbed(answers: Answers, *, places: frozenset[int], seed: str) -> Answers:
    """Answers with fresh noise of the same law and wider, on those at these places and on group sizes."""
    return Answers(tuple(_perturbed(answers, places, seed)))


def _perturbed(answers: Answers, places: frozenset[int], seed: str) -> Iterator[AnsweredCall]:
    for index, line in enumerate(answers.answered):
        answer: Answer = line.answer
        if isinstance(answer, Measurement | GroupSizes) and (
            index in places or isinstance(answer, GroupSizes)
        ):
            answer = _with_noise(answer, generator(seed, purpose=("implicate", str(index))))
        yield AnsweredCall(line.call, answer)


def _with_noise(
    answer: Measurement | GroupSizes, rng: np.random.Generator
) -> Measurement | GroupSizes:
    if isinstance(answer, GroupSizes):
        noise = _noise(answer.noise, answer.values.shape, rng, wider=WIDER)
        return dataclasses.replace(answer, values=answer.values + noise)
    wider = WIDER_FOR_INTERACTIONS if answer.interaction else WIDER
    noise = _noise(answer.noise, answer.values.shape, rng, wider=wider)
    # What the run chose by this answer stays, such as the bins of later tables.
    return dataclasses.replace(answer, values=answer.values + noise, first=answer)


def _noise(
    noise: Noise, shape: tuple[int, ...], rng: np.random.Generator, *, wider: float
) -> Counts:
    scale = wider * float(noise.scale)
    if noise.law == "discrete-laplace":
        # The difference of two geometric values has the two-sided geometric law.
        chance = -np.expm1(-1 / scale)
        first, second = rng.geometric(chance, shape), rng.geometric(chance, shape)
        return np.asarray(first - second, dtype=np.int64)
    return np.rint(rng.normal(0.0, scale, shape)).astype(np.int64)
