"""Models that are trained on synthetic records and on real ones, and tested on the same real records.

Train on synthetic, test on real: Esteban, Hyland and Rätsch 2017, *Real-valued (medical) time series
generation with recurrent conditional GANs*. Propensity score: Snoke, Raab, Nowok, Dibben and Slavkovic 2018,
*General and specific utility measures for synthetic data*. Gaps between groups: Hardt, Price and Srebro 2016,
*Equality of opportunity in supervised learning*.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_engine.domain import Attribute, Domain
from synth_engine.errors import SpecError
from synth_engine.strict_json import JsonObject
from synth_engine.trials.features import FeatureEncoder
from synth_engine.trials.record_samples import (
    MIN_RECORDS,
    SEED,
    Floats,
    RecordSample,
    values_of,
)

MAX_RECORDS = 10_000  # of either table that models are trained on, and that they are tested on
MAX_COMPARED = 5_000  # of either table, which a model tells apart
MAX_CLASSES = 10  # the rarest of more are joined
MIN_GROUP = 50  # tested records of a group that is compared
MAX_GROUPS = 10
CLUSTERS = 5
PERMUTATIONS = 10
FOLDS = 3
CONVERGENCE = {
    "tol": 1e-3,
    "max_iter": 5_000,
}  # of logistic regression, far more steps than it needs

Labels = NDArray[np.int64]
Figures = dict[str, Any]
"""Figures of models, a JSON document."""
Progress = Callable[[str, float], None]


@dataclass(frozen=True, kw_only=True)
class TrainingAim:
    """What models predict, and the groups that they must treat alike; empty for neither. Both are names of
    columns."""

    target: str = ""
    protected: str = ""

    def require(self, domain: Domain) -> None:
        """Raises SpecError where the table has no such column."""
        for name in (self.target, self.protected):
            if name and name not in domain.names:
                raise SpecError(
                    "the comparison has no such column",
                    repair="choose a column of the table",
                    column=name,
                )


@dataclass(frozen=True, kw_only=True, eq=False)
class TrainingTables:
    """Real records to train on and others to test on, and synthetic ones to train on."""

    real: RecordSample
    synthetic: RecordSample
    tested: RecordSample

    @classmethod
    def of(
        cls, halves: tuple[RecordSample, RecordSample], synthetic: RecordSample
    ) -> TrainingTables:
        """Bounded parts, both tables to train on of one size."""
        first, second = halves
        size = min(len(first), len(synthetic), MAX_RECORDS)
        return cls(
            real=first.first(size),
            synthetic=synthetic.first(size),
            tested=second.first(MAX_RECORDS),
        )


def train(
    halves: tuple[RecordSample, RecordSample],
    synthetic: RecordSample,
    aim: TrainingAim,
    *,
    progress: Progress,
) -> JsonObject:
    """Trains all models and returns their exact scores: not private. What cannot be computed is said in
    `notes`."""
    from threadpoolctl import threadpool_limits

    aim.require(halves[0].domain)
    tables = TrainingTables.of(halves, synthetic)
    notes: list[str] = []
    document: Figures = {
        "target": aim.target,
        "protected": aim.protected,
        "records": {
            "trained": len(tables.real),
            "tested": len(tables.tested),
        },
        "prediction": None,
        "fairness": None,
        "notes": notes,
    }
    # One thread, so that the same tables give the same figures.
    with threadpool_limits(limits=1):
        progress("predict", 0.0)
        if aim.target:
            document |= _predict(tables, aim, notes, progress)
        else:
            notes.append("No column to predict was chosen, so that no model predicts one.")
        progress("cluster", 0.0)
        document["clusters"] = _cluster(tables)
        document["propensity"] = _propensity(tables, progress)
    return document


# --- prediction ---------------------------------------------------------------------------------------------
def _predict(
    tables: TrainingTables, aim: TrainingAim, notes: list[str], progress: Progress
) -> Figures:
    attribute = tables.real.domain.attribute(aim.target)
    known = TrainingTables(
        real=_with_value(tables.real, attribute),
        synthetic=_with_value(tables.synthetic, attribute),
        tested=_with_value(tables.tested, attribute),
    )
    if min(map(len, (known.real, known.synthetic, known.tested))) < MIN_RECORDS // 2:
        notes.append(
            f"Too few records have a value of {aim.target}: models that predict it say nothing."
        )
        return {}
    if len(known.real.domain.names) < 2:
        notes.append("There is no other column from which one could be predicted.")
        return {}
    if attribute.ordered and attribute.value_count > MAX_CLASSES:
        if aim.protected:
            notes.append(
                "Groups are compared where the column to predict has two values; it is a number."
            )
        return _regress(known, attribute, notes, progress)
    return _classify(known, aim, notes, progress)


def _with_value(records: RecordSample, attribute: Attribute) -> RecordSample:
    """The records whose value is not missing."""
    return records.take(records.codes[attribute.name] != attribute.missing_code)


def _others(domain: Domain, name: str) -> list[str]:
    return [other for other in domain.names if other != name]


def _regress(
    tables: TrainingTables, attribute: Attribute, notes: list[str], progress: Progress
) -> Figures:
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.linear_model import Ridge

    numbers = {
        side: values_of(attribute, records.codes[attribute.name])
        for side, records in _sides(tables).items()
    }
    truth = numbers["tested"]
    known = ~np.isnan(truth)
    spread = float(truth[known].std()) if known.any() else 0.0
    if not spread:
        notes.append(
            f"{attribute.name} has one value in the records to test on: nothing to predict."
        )
        return {}
    results: dict[str, dict[str, Floats]] = {}
    for number, side in enumerate(("real", "synthetic")):
        progress("predict", number / 2)
        records = _sides(tables)[side]
        usable = ~np.isnan(numbers[side])
        encoder = FeatureEncoder(records, _others(records.domain, attribute.name))
        trees = HistGradientBoostingRegressor(
            max_iter=50,
            early_stopping=False,
            categorical_features=encoder.categorical,
            random_state=SEED,
        )
        trees.fit(encoder.for_trees(records)[usable], numbers[side][usable])
        lines = Ridge().fit(encoder.for_lines(records)[usable], numbers[side][usable])
        results[side] = {
            "gradient boosting": trees.predict(encoder.for_trees(tables.tested)),
            "ridge regression": lines.predict(encoder.for_lines(tables.tested)),
        }
    scores = [
        {
            "model": model,
            "measure": measure,
            **{side: score(truth[known], results[side][model][known]) for side in results},
            "baseline": baseline,
        }
        for model in ("gradient boosting", "ridge regression")
        for measure, score, baseline in (
            ("R²", _determination, 0.0),
            ("error in standard deviations", lambda t, p: _deviation(t, p) / spread, 1.0),
        )
    ]
    return {"prediction": {"task": "regression", "scores": scores, "classes": []}}


def _determination(truth: Floats, predicted: Floats) -> float:
    return float(
        1.0 - np.square(truth - predicted).sum() / np.square(truth - truth.mean()).sum()
    )


def _deviation(truth: Floats, predicted: Floats) -> float:
    return float(np.sqrt(np.square(truth - predicted).mean()))


def _sides(tables: TrainingTables) -> dict[str, RecordSample]:
    return {"real": tables.real, "synthetic": tables.synthetic, "tested": tables.tested}


def _classify(
    tables: TrainingTables, aim: TrainingAim, notes: list[str], progress: Progress
) -> Figures:
    attribute = tables.real.domain.attribute(aim.target)
    classes = _classes(tables, attribute)
    labels = {
        side: classes[records.codes[attribute.name]] for side, records in _sides(tables).items()
    }
    if len(np.unique(labels["real"])) < 2 or len(np.unique(labels["tested"])) < 2:
        notes.append(
            f"{attribute.name} has one value in the real records: there is nothing to predict."
        )
        return {}
    if len(np.unique(labels["synthetic"])) < 2:
        notes.append(
            f"{attribute.name} has one value in the synthetic records: a model trained on them always "
            "predicts it."
        )
    number = int(classes.max()) + 1
    chances: dict[str, dict[str, Floats]] = {}
    for turn, side in enumerate(("real", "synthetic")):
        progress("predict", turn / 2)
        records = _sides(tables)[side]
        chances[side] = _chances(records, labels[side], tables.tested, attribute.name, number)
    truth = labels["tested"]
    most_frequent = np.bincount(labels["real"], minlength=number).argmax()
    always = np.eye(number)[np.full(len(truth), most_frequent)]
    scores = [
        {
            "model": model,
            "measure": measure,
            **{side: score(truth, chances[side][model]) for side in chances},
            "baseline": score(truth, always),
        }
        for model in ("gradient boosting", "logistic regression")
        for measure, score in _measures(number)
    ]
    document: Figures = {
        "prediction": {
            "task": "classification",
            "scores": scores,
            "classes": _class_labels(attribute, classes),
        }
    }
    if aim.protected:
        predicted = {
            side: chances[side]["gradient boosting"].argmax(axis=1) for side in chances
        }
        groups = _compare_groups(tables.tested, aim, labels, predicted, notes)
        rarer = document["prediction"]["classes"][-1]
        document["fairness"] = groups and {"positive": rarer, **groups}
    return document


def _classes(tables: TrainingTables, attribute: Attribute) -> Labels:
    """The class of each code that occurs, -1 of others: values by falling frequency in the real records, last
    those that are joined: the rarest of many, and those that only other records have."""
    real, *others = (
        np.bincount(records.codes[attribute.name], minlength=attribute.size)
        for records in _sides(tables).values()
    )
    order = np.argsort(-real, kind="stable")
    present = int((real > 0).sum())
    shown = present if present <= MAX_CLASSES else MAX_CLASSES - 1
    classes = np.full(attribute.size, -1, dtype=np.int64)
    classes[sum(others) + real > 0] = min(shown, MAX_CLASSES - 1)
    classes[order[:shown]] = np.arange(shown)
    return classes


def _class_labels(attribute: Attribute, classes: Labels) -> list[str]:
    named = [np.flatnonzero(classes == number) for number in range(int(classes.max()) + 1)]
    return [attribute.labels[codes[0]] if len(codes) == 1 else "all others" for codes in named]


def _chances(
    records: RecordSample, labels: Labels, tested: RecordSample, target: str, number: int
) -> dict[str, Floats]:
    """What each model gives each class of each tested record, shape (tested, classes)."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression

    present = np.unique(labels)
    if present.size < 2:
        always = np.eye(number)[np.full(len(tested), present[0])]
        return {"gradient boosting": always, "logistic regression": always}
    encoder = FeatureEncoder(records, _others(records.domain, target))
    trees = HistGradientBoostingClassifier(
        max_iter=50,
        early_stopping=False,
        categorical_features=encoder.categorical,
        random_state=SEED,
    ).fit(encoder.for_trees(records), labels)
    lines = LogisticRegression(**CONVERGENCE).fit(encoder.for_lines(records), labels)
    chances = {}
    for name, model, matrix in (
        ("gradient boosting", trees, encoder.for_trees(tested)),
        ("logistic regression", lines, encoder.for_lines(tested)),
    ):
        # A class that the training records lack has no chance.
        whole = np.zeros((len(tested), number))
        whole[:, present] = model.predict_proba(matrix)
        chances[name] = whole
    return chances


Score = Callable[[Labels, Floats], float]


def _measures(number: int) -> list[tuple[str, Score]]:
    accuracy: list[tuple[str, Score]] = [
        ("accuracy", lambda truth, chances: float((chances.argmax(axis=1) == truth).mean())),
        ("balanced accuracy", _balanced_accuracy),
    ]
    return [("AUC", _area_under_curve), *accuracy] if number == 2 else accuracy


def _area_under_curve(truth: Labels, chances: Floats) -> float:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(truth, chances[:, 1]))


def _balanced_accuracy(truth: Labels, chances: Floats) -> float:
    predicted = chances.argmax(axis=1)
    return float(
        np.mean([(predicted[truth == label] == label).mean() for label in np.unique(truth)])
    )


# --- groups -------------------------------------------------------------------------------------------------
def _compare_groups(
    tested: RecordSample,
    aim: TrainingAim,
    labels: Mapping[str, Labels],
    predicted: Mapping[str, Labels],
    notes: list[str],
) -> Figures | None:
    """Shares by group; None, and a note, where groups cannot be compared. predicted: by the table that was
    trained on."""
    if aim.protected == aim.target:
        notes.append("Groups are compared by another column than the one to predict.")
        return None
    truth = labels["tested"]
    # Classes are numbered by their frequency in the real records, so that of two the last is the rarer.
    if max(int(each.max()) for each in labels.values()) != 1:
        notes.append("Groups are compared where the column to predict has two values.")
        return None
    positive = 1
    attribute = tested.domain.attribute(aim.protected)
    codes = tested.codes[aim.protected]
    sizes = np.bincount(codes, minlength=attribute.size)
    frequent = [int(code) for code in np.argsort(-sizes, kind="stable")[:MAX_GROUPS]]
    judged = [code for code in frequent if sizes[code] >= MIN_GROUP]
    if len(judged) < 2:
        notes.append(
            f"{aim.protected} has fewer than two groups of {MIN_GROUP} tested records: gaps between them "
            "say nothing."
        )
        return None
    groups: list[Figures] = [
        {
            "label": attribute.labels[code],
            "records": int(sizes[code]),
            "selected": {
                side: float((guess[codes == code] == positive).mean())
                for side, guess in predicted.items()
            },
            "found": {
                side: _share(guess[(codes == code) & (truth == positive)] == positive)
                for side, guess in predicted.items()
            },
        }
        for code in judged
    ]
    return {
        "groups": groups,
        "gaps": {
            measure: {
                side: _gap([group[measure][side] for group in groups]) for side in predicted
            }
            for measure in ("selected", "found")
        },
    }


def _share(hits: NDArray[np.bool_]) -> float | None:
    return float(hits.mean()) if hits.size else None


def _gap(rates: list[float | None]) -> float | None:
    known = [rate for rate in rates if rate is not None]
    return max(known) - min(known) if len(known) > 1 else None


# --- clusters and propensity --------------------------------------------------------------------------------
def _cluster(tables: TrainingTables) -> Figures:
    """How alike k-means of either table groups the tested records: the adjusted Rand index, 1 for the same
    groups."""
    encoder = FeatureEncoder(tables.real, tables.real.domain.names)
    real, synthetic, tested = (
        encoder.for_lines(records) for records in (tables.real, tables.synthetic, tables.tested)
    )
    half = len(real) // 2
    groups = {
        name: _groups_of(matrix, tested)
        for name, matrix in (
            ("real", real),
            ("synthetic", synthetic),
            ("first", real[:half]),
            ("second", real[half:]),
        )
    }
    from sklearn.metrics import adjusted_rand_score

    return {
        "clusters": CLUSTERS,
        "agreement": float(adjusted_rand_score(groups["real"], groups["synthetic"])),
        "between_real_halves": float(adjusted_rand_score(groups["first"], groups["second"])),
    }


def _groups_of(matrix: Floats, tested: Floats) -> Labels:
    from sklearn.cluster import KMeans

    # A table of few different records has no more clusters than these.
    clusters = min(CLUSTERS, len(np.unique(matrix, axis=0)))
    model = KMeans(n_clusters=clusters, n_init=5, random_state=SEED).fit(matrix)
    return np.asarray(model.predict(tested), dtype=np.int64)


def _propensity(tables: TrainingTables, progress: Progress) -> Figures:
    """How well a model tells real and synthetic records apart: pMSE of logistic regression with its ratio to
    permuted labels, and the area under the curve of gradient boosting on records that it was not trained
    on."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import cross_val_predict

    size = min(MAX_COMPARED, len(tables.real), len(tables.synthetic))
    both = _joined(tables.real.first(size), tables.synthetic.first(size))
    labels = np.repeat([0, 1], size)
    encoder = FeatureEncoder(both, both.domain.names)
    lines = encoder.for_lines(both)

    def squared(given: Labels) -> float:
        fitted = LogisticRegression(**CONVERGENCE).fit(lines, given)
        return float(np.square(fitted.predict_proba(lines)[:, 1] - 0.5).mean())

    rng = np.random.default_rng(SEED)
    by_chance = []
    for permutation in range(PERMUTATIONS):
        progress("tell", permutation / PERMUTATIONS)
        by_chance.append(squared(rng.permutation(labels)))
    null = float(np.mean(by_chance))
    trees = HistGradientBoostingClassifier(
        max_iter=50,
        early_stopping=False,
        categorical_features=encoder.categorical,
        random_state=SEED,
    )
    # Both tables are in random order, and folds are made within each.
    chances = cross_val_predict(
        trees, encoder.for_trees(both), labels, cv=FOLDS, method="predict_proba"
    )
    pmse = squared(labels)
    return {
        "records": size,
        "pmse": pmse,
        "ratio": pmse / null if null else None,
        "auc": float(roc_auc_score(labels, chances[:, 1])),
    }


def _joined(first: RecordSample, second: RecordSample) -> RecordSample:
    return RecordSample(
        domain=first.domain,
        codes={
            name: np.concatenate([first.codes[name], second.codes[name]])
            for name in first.domain.names
        },
    )
