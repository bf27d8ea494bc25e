"""Models trained on synthetic records: the same where the tables are, no better than guessing where a column
is noise, and bad input told in words."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synth_engine import pipeline
from synth_engine.domain import Categorical, Domain, Integer
from synth_engine.errors import SpecError
from synth_engine.evaluation.figures import trained_models
from synth_engine.trials import training
from synth_engine.trials.record_samples import RecordSample
from tests.engine.evaluation import tables

ROWS = 3000
DOMAIN = Domain(
    attributes=(
        Integer(name="age", low=0, high=99, missing=("",)),
        Categorical(name="sex", values=("f", "m"), outside="clamp"),
        Categorical(name="job", values=tuple("abcdefgh"), outside="clamp"),
        # Nobody's riches are missing: that code is no class.
        Categorical(name="rich", values=("no", "yes"), missing=("?",)),
        Integer(name="pay", low=0, high=99),
    )
)
Codes = dict[str, Any]


def population(seed: int, rows: int = ROWS) -> Codes:
    """Pay follows age and sex, and riches follow pay."""
    rng = np.random.default_rng(seed)
    age, sex = rng.integers(0, 100, rows), rng.integers(0, 2, rows)
    pay = np.clip(age // 2 + 20 * sex + rng.integers(0, 20, rows), 0, 99)
    age = np.where(rng.random(rows) < 0.05, 100, age)  # the code of a missing value
    return {
        "age": age,
        "sex": sex,
        "job": rng.integers(0, 8, rows),
        "rich": (pay > 55).astype(int),
        "pay": pay,
    }


def sample(codes: Codes, domain: Domain = DOMAIN) -> RecordSample:
    return RecordSample(domain=domain, codes=codes)


def shuffled(codes: Codes, *columns: str) -> Codes:
    rng = np.random.default_rng(9)
    return {n: rng.permutation(c) if n in columns else c for n, c in codes.items()}


def trained(
    synthetic: Codes, *, target: str = "", protected: str = "", real: int = 0
) -> dict[str, Any]:
    halves = sample(population(real)), sample(population(real + 1))
    aim = training.TrainingAim(target=target, protected=protected)
    return training.train(halves, sample(synthetic), aim, progress=lambda *_: None)


def score(document: dict[str, Any], measure: str, model: str = "gradient boosting") -> Any:
    (line,) = (
        each
        for each in document["prediction"]["scores"]
        if (each["measure"], each["model"]) == (measure, model)
    )
    return line


def test_a_table_like_the_real_one_trains_as_well() -> None:
    document = trained(population(7), target="rich", protected="sex")
    for measure in ("AUC", "accuracy", "balanced accuracy"):
        line = score(document, measure)
        assert line["real"] > 0.85 and line["synthetic"] == pytest.approx(
            line["real"], abs=0.05
        )
    assert score(document, "AUC")["baseline"] == 0.5
    assert document["propensity"]["ratio"] < 2.5
    assert 0.4 < document["propensity"]["auc"] < 0.6
    assert document["notes"] == []
    gaps = document["fairness"]["gaps"]
    assert document["fairness"]["positive"] == "yes"
    assert gaps["selected"]["real"] > 0.2
    assert gaps["selected"]["synthetic"] == pytest.approx(gaps["selected"]["real"], abs=0.1)


def test_a_target_without_relation_is_guessed_and_has_no_gap() -> None:
    document = trained(shuffled(population(7), "rich"), target="rich", protected="sex")
    line = score(document, "AUC")
    assert line["real"] > 0.9 and 0.3 < line["synthetic"] < 0.7
    gap = document["fairness"]["gaps"]["selected"]
    assert gap["synthetic"] < gap["real"] / 2
    # Riches that do not follow pay give a synthetic record away.
    assert document["propensity"]["auc"] > 0.7


def test_the_rarest_of_many_values_and_values_of_other_records_are_one_class() -> None:
    domain = Domain(
        attributes=(
            Categorical(name="town", values=tuple(map(str, range(15))), outside="clamp"),
            Categorical(name="sex", values=("f", "m"), outside="clamp"),
        )
    )
    rng = np.random.default_rng(0)
    real = {"town": np.minimum(rng.geometric(0.2, ROWS) - 1, 13), "sex": np.zeros(ROWS, int)}
    other = real | {"town": np.full(ROWS, 14)}
    tables = training.TrainingTables(
        real=sample(real, domain), synthetic=sample(other, domain), tested=sample(real, domain)
    )
    classes = training._classes(tables, domain.attribute("town"))
    assert classes.max() == 9 and classes[0] == 0 and classes[14] == 9
    assert training._class_labels(domain.attribute("town"), classes)[-1] == "all others"


def test_a_number_is_predicted_by_regression() -> None:
    document = trained(population(7), target="pay")
    line = score(document, "R²")
    assert document["prediction"]["task"] == "regression"
    assert line["real"] > 0.8 and line["synthetic"] == pytest.approx(line["real"], abs=0.05)
    assert score(document, "error in standard deviations")["real"] < 0.5
    worse = trained(shuffled(population(7), "pay"), target="pay")
    assert score(worse, "R²")["synthetic"] < 0.1


def test_clusters_of_tables_of_one_population_agree_and_of_others_do_not() -> None:
    same = trained(population(0))
    assert same["clusters"]["agreement"] == pytest.approx(1.0)
    constant = {name: np.zeros_like(column) for name, column in population(7).items()}
    assert trained(constant)["clusters"]["agreement"] < 0.5


def test_a_target_of_one_value_is_told_and_the_rest_is_computed() -> None:
    flat = population(0) | {"rich": np.zeros(ROWS, dtype=int)}
    halves = sample(flat), sample(flat)
    aim = training.TrainingAim(target="rich")
    document = training.train(halves, sample(flat), aim, progress=lambda *_: None)
    assert document["prediction"] is None and "one value" in document["notes"][0]
    assert document["clusters"] and document["propensity"]


def test_a_synthetic_target_of_one_value_predicts_it_always() -> None:
    flat = population(7) | {"rich": np.zeros(ROWS, dtype=int)}
    document = trained(flat, target="rich")
    assert score(document, "AUC")["synthetic"] == 0.5
    assert "synthetic records" in document["notes"][0]


@pytest.mark.parametrize(
    ("target", "protected", "words"),
    [
        ("", "", "No column to predict"),
        ("job", "sex", "two values"),
        ("pay", "sex", "it is a number"),
        ("rich", "rich", "another column"),
    ],
)
def test_what_cannot_be_computed_is_told_in_words(
    target: str, protected: str, words: str
) -> None:
    document = trained(population(7), target=target, protected=protected)
    assert words in " ".join(document["notes"])
    assert document["fairness"] is None


def test_groups_that_are_too_small_are_not_compared() -> None:
    rare = Domain(
        attributes=(
            *DOMAIN.attributes,
            Categorical(name="place", values=("here", "there"), outside="clamp"),
        )
    )
    codes = [
        population(seed) | {"place": np.append(np.zeros(ROWS - 9, dtype=int), [1] * 9)}
        for seed in (0, 1, 7)
    ]
    halves = sample(codes[0], rare), sample(codes[1], rare)
    aim = training.TrainingAim(target="rich", protected="place")
    document = training.train(halves, sample(codes[2], rare), aim, progress=lambda *_: None)
    assert document["fairness"] is None and "fewer than two groups" in document["notes"][0]


def test_a_missing_column_is_named_with_its_repair() -> None:
    with pytest.raises(SpecError) as refused:
        training.TrainingAim(target="income").require(DOMAIN)
    assert refused.value.column == "income" and refused.value.repair


def test_the_same_tables_give_the_same_figures() -> None:
    assert trained(population(7), target="job") == trained(population(7), target="job")


def written(path: Path, codes: Codes) -> Path:
    frame = pd.DataFrame(
        {
            attribute.name: [attribute.labels[code] for code in codes[attribute.name]]
            for attribute in DOMAIN.attributes
        }
    )
    frame["age"] = [str(age) if age < 100 else "" for age in codes["age"]]
    frame.to_csv(path, index=False)
    return path


def test_files_are_compared_stage_by_stage(tmp_path: Path) -> None:
    real = written(tmp_path / "real.csv", population(0))
    synthetic = pipeline.WrittenTable(
        path=written(tmp_path / "synthetic.csv", population(7)), domain=DOMAIN
    )
    stages: dict[str, None] = {}
    document = pipeline.train_models(
        real,
        synthetic,
        aim=pipeline.TrainingAim(target="rich"),
        progress=lambda stage, _: stages.setdefault(stage),
    )
    assert list(stages)[-3:] == ["predict", "cluster", "tell"]
    assert score(document, "AUC")["synthetic"] > 0.85
    json.dumps(document, allow_nan=False)


def test_a_table_that_is_too_small_and_a_missing_column_are_told_in_words(
    tmp_path: Path,
) -> None:
    few = written(tmp_path / "few.csv", population(0, rows=50))
    synthetic = pipeline.WrittenTable(path=few, domain=DOMAIN)
    small = pipeline.train_models(few, synthetic, aim=pipeline.TrainingAim())
    assert "fewer than 200" in small["notes"][0]
    assert [card.table.rows for card in cards(small)] == [[(small["notes"][0],)]]
    aim = pipeline.TrainingAim(target="income")
    missing = pipeline.train_models(few, synthetic, aim=aim)
    assert "'income'" in missing["notes"][0]
    risks = pipeline.estimate_risks(few, synthetic)
    assert "fewer than 200" in risks["notes"][0]


def cards(document: dict[str, Any]) -> Iterable[Any]:
    report = tables.compared(tables.codes(300, seed=1), tables.codes(300, seed=2))
    report["models"] = document
    return trained_models.FIGURE.cards(report)


def test_cards_have_words_drawing_and_table() -> None:
    document = trained(population(7), target="rich", protected="sex")
    made = list(cards(document))
    assert [card.key for card in made] == [
        "model-scores",
        "model-groups",
        "model-clusters",
        "propensity",
    ]
    assert all(card.figure and card.table.rows and card.verdict and card.red for card in made)
    assert [card.key for card in cards(trained(population(7)))] == [
        "model-clusters",
        "propensity",
    ]


def test_a_report_without_models_has_no_such_cards() -> None:
    report = tables.compared(tables.codes(300, seed=1), tables.codes(300, seed=2))
    assert report["models"] is None and trained_models.FIGURE.cards(report) == []
