"""Triples that a mixture explains: tables fitted from its own, models that store it, and when `auto` takes
it."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from synth_engine import mechanisms
from synth_engine.domain import Domain, Integer
from synth_engine.errors import InputError
from synth_engine.inference import maxent_triples
from synth_engine.inference.triple_start import TripleStart
from synth_engine.measurement import AnsweredCall, Answers, Scores
from synth_engine.mechanisms.auto import explained
from synth_engine.mechanisms.auto.denoising import Fine
from synth_engine.models import description
from synth_engine.models.model import WHOLE, Model, Table, whole_weights
from synth_engine.models.triple_mixture import MixtureColumn, TripleMixture
from synth_engine.room.rows import Rows
from synth_engine.room.session import open_session
from synth_engine.spec import Spec

Floats = npt.NDArray[np.float64]

SHARES = np.array([0.5, 0.3, 0.2])
SIZES = (4, 3, 5, 4)
ROWS = 6_000
TRIPLES = list(itertools.combinations(range(len(SIZES)), 3))


def start() -> TripleStart:
    rng = np.random.default_rng(0)
    return TripleStart(
        shares=SHARES,
        columns=[rng.dirichlet(np.full(size, 0.3), SHARES.size).T for size in SIZES],
    )


def of_mixture(mixture: TripleStart, axes: tuple[int, ...]) -> Floats:
    columns = [mixture.columns[axis] for axis in axes]
    letters = "abc"[: len(axes)]
    terms = ",".join(f"{letter}k" for letter in letters)
    table: Floats = np.einsum(f"k,{terms}->{letters}", mixture.shares, *columns)
    return table


def sides(table: Floats) -> list[Floats]:
    return [table.sum(axis=axis) for axis in (2, 1, 0)]


def away(found: Floats, wanted: Floats) -> float:
    return float(np.abs(found / found.sum() - wanted / wanted.sum()).sum() / 2)


# --- tables -------------------------------------------------------------------------------------------------


def test_a_mixture_with_the_right_pairs_stays_as_it_is() -> None:
    table = of_mixture(start(), (0, 1, 2))
    found = start().fitted((0, 1, 2), [side * 100 for side in sides(table)])
    np.testing.assert_allclose(found, table * 100, rtol=1e-9)
    entropy = maxent_triples.product(maxent_triples.factors(sides(table), rounds=200))
    assert away(entropy, table) > 0.01


def test_other_pairs_are_those_that_are_given() -> None:
    wanted = np.random.default_rng(1).random((4, 3, 5)) + 0.1
    wanted[0, 1] = 0
    found = start().fitted((0, 1, 2), sides(wanted), rounds=500)
    for side, given in zip(sides(found), sides(wanted), strict=True):
        np.testing.assert_allclose(side, given, rtol=1e-4, atol=1e-9)
    assert not found[0, 1].any() and np.isfinite(found).all()


def test_one_component_gives_the_table_of_most_entropy() -> None:
    alone = TripleStart(shares=np.ones(1), columns=[np.ones((size, 1)) for size in SIZES])
    wanted = sides(np.random.default_rng(2).random((4, 3, 5)))
    np.testing.assert_allclose(
        alone.fitted((0, 1, 2), wanted),
        maxent_triples.product(maxent_triples.factors(wanted)),
        rtol=1e-9,
    )


def test_bins_are_sums_of_values() -> None:
    bins = np.array([0, 1, 1, 0, 2])
    binned = start().by_bins({2: bins})
    fine, coarse = of_mixture(start(), (0, 1, 2)), of_mixture(binned, (0, 1, 2))
    np.testing.assert_allclose(coarse[:, :, 0], fine[:, :, 0] + fine[:, :, 3])
    np.testing.assert_allclose(coarse[:, :, 1], fine[:, :, 1] + fine[:, :, 2])
    assert np.array_equal(binned.columns[0], start().columns[0])


# --- models -------------------------------------------------------------------------------------------------


def model(*, mixed: bool = True) -> Model:
    """Independent columns, all pairs of a mixture as targets, and the mixture itself."""
    domain = Domain(
        attributes=tuple(
            Integer(name=f"c{place}", low=0, high=size - 1, width=1)
            for place, size in enumerate(SIZES)
        )
    )
    mixture, names = start(), domain.names

    def table(*axes: int) -> Table:
        clique = tuple(names[axis] for axis in axes)
        return Table(clique=clique, weights=whole_weights(of_mixture(mixture, axes)))

    stored = TripleMixture.of(
        shares=SHARES,
        columns={
            name: (column, np.arange(len(column)))
            for name, column in zip(names, mixture.columns, strict=True)
        },
    )
    return Model(
        mechanism="auto",
        domain=domain,
        rows=ROWS,
        tables=tuple(table(axis) for axis in range(len(SIZES))),
        targets=tuple(table(*pair) for pair in itertools.combinations(range(len(SIZES)), 2)),
        mixture=stored if mixed else None,
    )


def of_triples(given: Model) -> float:
    """The mean distance of the triples of its rows from those of the mixture."""
    codes = given.sample(ROWS, seed="s")
    distances = []
    for axes in TRIPLES:
        wanted = of_mixture(start(), axes)
        found = np.zeros(wanted.shape)
        np.add.at(found, tuple(codes[given.domain.names[axis]] for axis in axes), 1)
        distances.append(away(found, wanted))
    return float(np.mean(distances))


def test_rows_come_near_to_the_triples_of_the_mixture() -> None:
    assert of_triples(model()) < 0.6 * of_triples(model(mixed=False))


def test_documents_and_descriptions_round_trip() -> None:
    given = model()
    document = json.loads(json.dumps(given.to_json()))
    assert document["schema"] == "synth_engine/model/1"
    again = Model.from_json(document)
    assert again.to_json() == given.to_json()
    for name, column in given.sample(900, seed="s").items():
        assert np.array_equal(again.sample(900, seed="s")[name], column)
    described = json.loads(json.dumps(description.write(given)))
    read = description.read(described)
    assert read.to_json() == given.to_json() and not description.edited(described, read)


def test_without_a_mixture_a_document_is_as_before() -> None:
    document = model(mixed=False).to_json()
    assert "mixture" not in document


@pytest.mark.parametrize(
    "change",
    [
        lambda one: one["shares"].append(0),
        lambda one: one["shares"].__setitem__(0, WHOLE),
        lambda one: one.update(shares=[]),
        lambda one: one["columns"].pop(),
        lambda one: one["columns"].append(one["columns"][0]),
        lambda one: one["columns"][0].update(attribute="nobody"),
        lambda one: one["columns"][0]["bins"].pop(),
        lambda one: one["columns"][0]["bins"].__setitem__(0, 9),
        lambda one: one["columns"][0]["weights"].pop(),
        lambda one: one["columns"][0]["weights"][0].append(0),
        lambda one: one["columns"][0]["weights"][0].__setitem__(0, -1),
        lambda one: one.pop("columns"),
    ],
)
def test_broken_mixtures_are_refused(change: Any) -> None:
    document = json.loads(json.dumps(model().to_json()))
    change(document["mixture"])
    with pytest.raises(InputError):
        Model.from_json(document)
    described = json.loads(json.dumps(description.write(model())))
    change(described["mixture"])
    with pytest.raises(InputError):
        description.read(described)


def test_a_synthesis_without_triples_has_no_mixture() -> None:
    with pytest.raises(InputError, match="mixture"):
        replace(model(), synthesis="mcf")


def test_values_of_a_bin_are_spread_as_their_histogram() -> None:
    column = MixtureColumn(
        attribute="c", bins=np.array([0, 0, 1, 1]), weights=np.array([[3, 0], [1, 4]])
    )
    np.testing.assert_allclose(
        column.shares(np.array([1.0, 3.0, 0.0, 0.0])),
        [[0.1875, 0.0], [0.5625, 0.0], [0.125, 0.5], [0.125, 0.5]],
    )


# --- when it is taken ---------------------------------------------------------------------------------------


def profiles(rows: int, columns: int) -> npt.NDArray[np.int64]:
    """Eight profiles over columns of three codes; nine of ten cells are those of the profile."""
    rng = np.random.default_rng(0)
    codes, profile = rng.integers(0, 3, (8, columns)), rng.integers(0, 8, rows)
    return np.where(
        rng.random((rows, columns)) < 0.9, codes[profile], rng.integers(0, 3, (rows, columns))
    )


def chain(rows: int, columns: int) -> npt.NDArray[np.int64]:
    """Each column follows from the one before, six times of ten."""
    rng = np.random.default_rng(0)
    table = rng.integers(0, 3, (rows, columns))
    for column in range(1, columns):
        same = rng.random(rows) < 0.6
        table[:, column] = np.where(same, table[:, column - 1], table[:, column])
    return table


def fitted(table: npt.NDArray[np.int64], *, epsilon: str) -> tuple[Any, Answers, Model]:
    domain = Domain(
        attributes=tuple(
            Integer(name=f"c{place}", low=0, high=2, width=1) for place in range(table.shape[1])
        )
    )
    spec = Spec(mechanism="auto", epsilon=Fraction(epsilon), delta=Fraction(1, 10**9))
    plan: Any = mechanisms.plan(domain, spec)
    codes = {name: table[:, place].astype(np.uint16) for place, name in enumerate(domain.names)}
    answers: Answers = plan.run(
        open_session(Rows(codes, domain=domain), domain=domain, cap=plan.loss)
    )
    return plan, answers, plan.fit(answers)


def test_profiles_are_explained_by_the_mixture_and_their_triples_come_out() -> None:
    table = profiles(20_000, 10)
    _, _, found = fitted(table, epsilon="1")
    assert found.mixture is not None
    codes, without = (
        one.sample(20_000, seed="s") for one in (found, replace(found, mixture=None))
    )
    distances = []
    for drawn in (codes, without):
        parts = []
        for triple in itertools.combinations(range(10), 3):
            counts = [np.zeros((3, 3, 3)), np.zeros((3, 3, 3))]
            np.add.at(counts[0], tuple(table[:, axis] for axis in triple), 1)
            np.add.at(counts[1], tuple(drawn[f"c{axis}"] for axis in triple), 1)
            parts.append(away(*counts))
        distances.append(float(np.mean(parts)))
    assert distances[0] < 0.8 * distances[1]


def test_a_chain_is_not_and_the_model_stays_one_of_pairs() -> None:
    _, _, found = fitted(chain(20_000, 8), epsilon="2")
    assert found.mixture is None


def test_scores_that_the_mixture_does_not_predict_refuse_it() -> None:
    plan, answers, found = fitted(profiles(20_000, 10), epsilon="1")
    assert found.mixture is not None
    scored = answers.scores[1]  # those of triples
    for values in (scored.values * 4, scored.values * 0):
        other = replace(scored, values=values)
        lines = [
            AnsweredCall(line.call, other if line.answer is scored else line.answer)
            for line in answers.answered
        ]
        assert plan.fit(Answers(tuple(lines))).mixture is None


def test_a_mixture_that_misses_pairs_is_not_taken_for_triples(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan, answers, found = fitted(profiles(20_000, 10), epsilon="1")
    assert found.mixture is not None
    holds, left = explained.holds, []

    def decided(*searches: Any, left_of_pairs: float, **others: Any) -> bool:
        left.append(left_of_pairs)
        # All triples agree; the mixture of pairs does not.
        return holds(*searches, left_of_pairs=0.21, **others)

    monkeypatch.setattr(explained, "holds", decided)
    assert plan.fit(answers).mixture is None
    assert 0 < left[0] < 0.2


def test_what_a_mixture_leaves_of_pairs_is_a_part_of_their_distances() -> None:
    fine = Fine(rows=40, histograms=(np.full(2, 20.0),) * 2, levels=((np.arange(2),),) * 2)
    independent, estimate = np.full((2, 2), 10.0), np.array([[18.0, 2.0], [2.0, 18.0]])
    for part in (0.0, 0.25, 1.0):
        predicted = estimate + part * (independent - estimate)
        left = explained.left_of_pairs(fine, {(0, 1): predicted}, {(0, 1): estimate})
        assert left == pytest.approx(part)
    assert explained.left_of_pairs(fine, {}, {}) == 0


def test_too_few_scores_decide_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, answers, found = fitted(profiles(20_000, 10), epsilon="1")
    assert found.mixture is not None
    monkeypatch.setattr(explained, "MIN_SCORED", answers.scores[1].values.size + 1)
    assert plan.fit(answers).mixture is None


def test_scores_of_other_groups_are_refused() -> None:
    plan, answers, _ = fitted(chain(2_000, 4), epsilon="2")
    pairs, compared, *_ = (line for line in answers.answered if isinstance(line.answer, Scores))
    for call in (
        replace(
            compared.call, query=replace(compared.call.query, candidates=(("c0", "c1"),) * 4)
        ),
        pairs.call,
    ):
        lines = [
            AnsweredCall(call, line.answer) if line is compared else line
            for line in answers.answered
        ]
        with pytest.raises(InputError, match="not of this plan"):
            plan.fit(Answers(tuple(lines)))
