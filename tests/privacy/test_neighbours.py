"""Neighbouring tables that get the same noisy answers get the same everything: plans, bins, schemas, models,
receipts.

A sampler whose answers do not depend on counts stands in for noise, so that whatever still differs between
two tables came another way than through answers that were paid for."""

from __future__ import annotations

import csv
import datetime
import json
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth_engine import mechanisms, verifier
from synth_engine.domain import (
    Attribute,
    Basket,
    Boolean,
    Categorical,
    Date,
    Domain,
    Integer,
    Number,
    Range,
    Scale,
    Weak,
    WeakBasket,
)
from synth_engine.measurement import Counts, Noise
from synth_engine.room.selection import SelectionLaw
from synth_engine.room.session import open_session
from synth_engine.sources import opening
from synth_engine.spec import Spec
from synth_engine.values import Listed, from_json

Record = tuple[str, ...]
WORDS = from_json(
    {
        "set": "strings",
        "alphabet": "abcdefghijklmnopqrstuvwxyz",
        "min_length": 1,
        "max_length": 8,
    }
)
FIRST, LAST = datetime.date(1900, 1, 1), datetime.date(2100, 1, 1)
WAYS: tuple[tuple[Attribute, Attribute], ...] = (
    (
        Categorical(name="job", values=("clerk", "cook"), other=True),
        Weak(name="job", values=WORDS),
    ),
    (
        Weak(name="word", values=WORDS, missing=("",)),
        Weak(name="word", values=WORDS, missing=("?",), outside="missing"),
    ),
    (
        Integer(name="age", low=0, high=99),
        Range(name="age", of="integer", low=0, high=150, missing=("",)),
    ),
    (
        Number(name="gain", low=0, high=1),
        Range(name="gain", of="number", low=-1e6, high=1e9, bins=5),
    ),
    (
        Date(name="born", low=FIRST, high=LAST, step_days=3650),
        Range(name="born", of="date", low=FIRST, high=LAST, missing=("",)),
    ),
    (
        Boolean(name="member", true="yes", false="no"),
        Boolean(name="member", true="yes", false="no", missing=("",)),
    ),
    (
        Integer(name="pay", low=0, high=99),
        Scale(name="pay", of="integer", low=0, high=10**6, missing=("?",), outside="missing"),
    ),
    (
        Basket(name="bag", items=("clerk", "17")),
        WeakBasket(name="bag", values=Listed(["17", "?", "abba", "clerk", "cook"]), keep=2),
    ),
)
"""Two descriptions of each column: known, and as far as possible open."""
NAMES = [known.name for known, _ in WAYS]
CELLS = st.one_of(
    st.sampled_from(
        [
            "",
            "?",
            "clerk",
            "cook",
            "abba",
            "17",
            "2024-02-29",
            "yes",
            "-1e300",
            "9" * 400,
            "nan",
            "(other)",
        ]
    ),
    st.text(
        st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\r\n"), max_size=9
    ),
)
RECORDS = st.tuples(*[CELLS] * len(WAYS))


class SameAnswers:
    """What it says depends on the question and its own seed alone."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def counts(self, vector: Counts, noise: Noise) -> Counts:
        del noise
        return self.rng.integers(-5, 60, size=vector.size)

    def choose(self, scores: Counts, *, scale: Fraction, law: SelectionLaw) -> int:
        del scale, law
        return int(self.rng.integers(scores.size))

    def discover(
        self, tally: dict[int, int], *, size: int, threshold: int, noise: Noise
    ) -> list[tuple[int, int]]:
        del tally, noise
        ranks = sorted(
            {int(self.rng.integers(min(size, 2**60))) for _ in range(int(self.rng.integers(6)))}
        )
        return [(rank, threshold + int(self.rng.integers(50))) for rank in ranks]


def released(table: list[Record], *, domain: Domain, spec: Spec, seed: int) -> dict[str, Any]:
    """All that a run leaves behind."""
    with tempfile.NamedTemporaryFile("w", suffix=".csv", encoding="utf-8", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([NAMES, *table])
        file.flush()
        rows = opening.open_table(Path(file.name), domain)
    plan = mechanisms.plan(domain, spec)
    room = open_session(
        rows, domain=domain, cap=plan.loss, sampler=SameAnswers(seed), planned=plan.calls
    )
    answers = plan.run(room)
    model = plan.fit(answers)
    receipt = plan.receipt(answers)
    verifier.verify(receipt)
    drawn = mechanisms.draw_table(model, 20, "seed")
    return {
        "plan": plan.digest,
        "calls": [call.to_json() for call in answers.calls],
        "answers": answers.digest,
        "domain": model.domain.to_json(),
        "model": model.to_json(),
        "receipt": receipt,
        "schema": drawn.dtypes.astype(str).to_dict(),
        "table": drawn.astype(str).to_dict(),
    }


@pytest.mark.slow
@settings(max_examples=40)
@given(
    table=st.lists(RECORDS, min_size=1, max_size=6),
    one_more=RECORDS,
    ways=st.tuples(*[st.booleans()] * len(WAYS)),
    mechanism=st.sampled_from(list(mechanisms.REGISTRY)),
    delta=st.sampled_from([Fraction(0), Fraction(1, 10**9)]),
    seed=st.integers(0, 2**32),
)
def test_one_record_more_changes_nothing_but_noisy_answers(
    table: list[Record],
    one_more: Record,
    ways: tuple[bool, ...],
    mechanism: str,
    delta: Fraction,
    seed: int,
) -> None:
    domain = Domain(
        attributes=tuple(pair[is_open] for pair, is_open in zip(WAYS, ways, strict=True))
    )
    if not mechanisms.REGISTRY[mechanism].suits(domain):
        return
    spec = Spec(mechanism=mechanism, epsilon=Fraction(3), delta=delta)
    without = released(table, domain=domain, spec=spec, seed=seed)
    with_it = released([*table, one_more], domain=domain, spec=spec, seed=seed)
    assert json.dumps(without, sort_keys=True) == json.dumps(with_it, sort_keys=True)


@pytest.mark.slow
def test_a_leak_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A discovery that looks for another number of values where more occur."""
    domain = Domain(attributes=tuple(pair[1] for pair in WAYS))
    honest = SameAnswers.discover

    def leaky(
        self: SameAnswers, tally: dict[int, int], *, size: int, threshold: int, noise: Noise
    ) -> list[tuple[int, int]]:
        return honest(self, tally, size=size, threshold=threshold, noise=noise)[: len(tally)]

    monkeypatch.setattr(SameAnswers, "discover", leaky)
    spec = Spec(mechanism="weak-domain", epsilon=Fraction(3))
    table = [("clerk", "abba", "17", "1", "2024-02-29", "yes", "17", "cook 17")]
    seeds = range(4)
    one = [released(table, domain=domain, spec=spec, seed=seed) for seed in seeds]
    other = [
        released(
            [*table, ("cook", "x", "", "", "", "", "", "")], domain=domain, spec=spec, seed=seed
        )
        for seed in seeds
    ]
    assert one != other
