"""`auto` on few records, or of many columns: a tree of pairs is selected where noise would hide the scores of
all; tables keep what columns would have taken."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from synth_engine.errors import InputError
from synth_engine.measurement import Answers, Selection
from synth_engine.mechanisms.auto import pair_selection
from synth_engine.privacy.filter import Filter
from tests.engine.test_auto import answered, asked, chain, distance, domain_of, planned

DELTA = Fraction(1, 10**9)
SIZES = (2, 3, 4, 2, 5, 3)


def small(delta: Fraction = DELTA) -> tuple[np.ndarray, object]:
    """Few records of which each column goes with the one before, and a plan for them."""
    return chain(300, *SIZES), planned(domain_of(*SIZES), epsilon="1", delta=delta)


@pytest.mark.parametrize("delta", [Fraction(0), DELTA])
def test_of_few_records_a_tree_of_pairs_is_selected_and_only_its_pairs_are_scored(
    delta: Fraction,
) -> None:
    table, plan = small(delta)
    answers = answered(plan, table)
    selects = asked(answers, "select")
    # Of fifteen pairs five make a tree, and each that is taken leaves fewer.
    assert len(selects) == 5
    assert selects[0] == 15
    assert selects == sorted(set(selects), reverse=True)
    assert asked(answers, "score") == [5]
    scored = next(call.query for call in answers.calls if call.query.verb == "score")
    pairs = [m.clique for m in answers.measurements if len(m.clique) > 1]
    assert set(pairs) <= set(scored.candidates)
    spent = Filter(plan.loss)  # type: ignore[attr-defined]
    for call in answers.calls:
        spent.admit(call.event)
    assert spent.remaining <= plan.loss.amount / 10**5  # type: ignore[attr-defined]


def test_with_more_records_all_pairs_are_scored_as_ever() -> None:
    plan = planned(domain_of(*SIZES), epsilon="1")
    answers = answered(plan, chain(20_000, *SIZES))
    assert asked(answers, "score")[0] == 15
    first = [call.query.verb for call in answers.calls][: len(SIZES) + 1]
    assert first == ["measure"] * len(SIZES) + ["score"]


def test_a_strong_relation_of_few_records_is_kept() -> None:
    """By chance alone the first two columns differ by more than this in one of many millions of runs."""
    rng = np.random.default_rng(3)
    table = rng.integers(0, 2, (1_000, 9))
    table[:, 5] = table[:, 2]
    plan = planned(domain_of(*[2] * 9), epsilon="2")
    model = plan.fit(answered(plan, table))
    codes = model.sample(10_000, seed="x")
    assert np.mean(codes["c2"] == codes["c5"]) > 0.75
    assert distance(table, model, 2, 5) < 0.25


def test_selections_that_are_no_tree_of_all_columns_are_refused() -> None:
    table, plan = small()
    answers = answered(plan, table)
    plan.fit(answers)  # type: ignore[attr-defined]
    lines = list(answers.answered)
    last = max(n for n, line in enumerate(lines) if isinstance(line.answer, Selection))
    missing = Answers(tuple(lines[:last] + lines[last + 1 :]))
    twice = Answers((*lines[:last], lines[last - 1], *lines[last + 1 :]))
    unknown = replace(lines[last], answer=Selection(index=99))
    beyond = Answers((*lines[:last], unknown, *lines[last + 1 :]))
    for wrong in (missing, twice, beyond):
        with pytest.raises(InputError):
            plan.fit(wrong)  # type: ignore[attr-defined]


def test_two_columns_have_nothing_to_select() -> None:
    plan = planned(domain_of(3, 4), epsilon="0.1")
    answers = answered(plan, chain(100, 3, 4))
    assert asked(answers, "select") == []
    assert asked(answers, "score") == [1]


def test_tables_are_never_given_up_for_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of few records, columns seem to gain most; the relation between two of them is measured all the
    same."""
    table, plan = small()
    monkeypatch.setattr(pair_selection, "MAX_SCORE_NOISE", 10.0)
    assert 2 in [len(m.clique) for m in answered(plan, table).measurements]
