"""Models trained on synthetic records and tested on real ones, beside models trained on real records.

The room trains them on demand (`trials/training.py`); a report without them has no such cards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from synth_engine.evaluation import style
from synth_engine.evaluation.cards import MARKS, Card, make_card, make_notes_card, make_table
from synth_engine.evaluation.figure import ComparisonFigure, FigureSection
from synth_engine.evaluation.plots import Report
from synth_engine.evaluation.rate_bars import RateSeries, draw_rates
from synth_engine.evaluation.thousands import grouped
from synth_engine.evaluation.wording import Explanation, Json, Level

SECTION = FigureSection("models", "Trained models", 70, (("models", "Models"),))
SIDES = (
    ("real", "trained on real records", style.REAL),
    ("synthetic", "trained on synthetic records", style.SYNTHETIC),
)
STEPS: tuple[tuple[float, Level], ...] = ((0.01, "same"), (0.03, "small"), (0.10, "clear"))
"""Of the loss of a score that runs to 1; more is large."""
RATIO_STEPS: tuple[tuple[float, Level], ...] = ((1.5, "same"), (3.0, "small"), (10.0, "clear"))
GAP_STEPS: tuple[tuple[float, Level], ...] = ((0.02, "same"), (0.05, "small"), (0.15, "clear"))
_MEASURES = {"selected": "Selected", "found": "Found (true positives)"}


class TrainedModels(ComparisonFigure):
    """Bars of scores, of groups, of clusters, and of how well a model tells both tables apart."""

    field = "models"
    position = 200
    section = SECTION
    explanations = {
        "model_scores": Explanation(
            title="Prediction: trained on synthetic, tested on real",
            what="Two models learn to predict the chosen column from all others: gradient boosting, and "
            "logistic or ridge regression. Each is trained once on real and once on as many synthetic "
            "records, at most 10,000, and both are tested on the same real records that neither was "
            "trained on. The baseline always predicts the most frequent value, or the mean.",
            how="The same score means that the synthetic table serves this prediction as well as the real "
            "one. The release itself was made of all records, the tested ones included.",
        ),
        "model_groups": Explanation(
            title="Gaps between groups",
            what="Of the tested records of each group, the share for which gradient boosting predicts the "
            "rarer value (selected), and that share among the records that have it (found, the true "
            "positive rate).",
            how="The gap is the largest share less the smallest. A gap that grows or vanishes with "
            "synthetic training means that a model built on the synthetic table treats groups differently "
            "from one built on the real table.",
        ),
        "model_clusters": Explanation(
            title="Clusters",
            what="k-means with five clusters is fitted to either table, and both group the same tested "
            "records. Agreement is the adjusted Rand index: 1 for the same groups, 0 for unrelated ones.",
            how="Compare with the agreement between two halves of the real records: where this is low, the "
            "table has no clear clusters, and the figure says little.",
        ),
        "propensity": Explanation(
            title="Propensity: telling both tables apart",
            what="Logistic regression learns to tell real from synthetic records. pMSE is the mean squared "
            "distance of its propensity scores from one half; the ratio divides it by its mean over ten "
            "permutations of the labels. The area under the curve is that of gradient boosting on records "
            "that it was not trained on.",
            how="A ratio near 1 and an area near 0.5 mean that both tables look alike. Gradient boosting "
            "sees every difference, such as combinations that never occur, so that its area may be high "
            "where simple figures are kept.",
        ),
    }

    def verdict(self, report: Report) -> str:
        entry = report.get(self.field)
        # Where there are notes alone, their card shows them.
        return " ".join(entry["notes"]) if entry and entry.get("clusters") else ""

    def cards(self, report: Report) -> list[Card]:
        entry = report.get(self.field)
        if not entry:
            return []
        cards = []
        if entry.get("prediction"):
            cards.append(_prediction_card(report, entry))
        if entry.get("fairness"):
            cards.append(_group_card(report, entry))
        if entry.get("clusters"):  # of a table that is too small there are notes alone
            cards += [_cluster_card(report, entry), _propensity_card(report, entry)]
        return cards or [
            make_notes_card(
                report, "models-notes", _reading(report, "model_scores"), entry["notes"]
            )
        ]


def _prediction_card(report: Report, entry: Json) -> Card:
    scores = entry["prediction"]["scores"]
    rows = [
        (
            line["model"],
            line["measure"],
            f"{line['real']:.3f}",
            f"{line['synthetic']:.3f}",
            f"{line['synthetic'] - line['real']:+.3f}",
            f"{line['baseline']:.3f}",
        )
        for line in scores
    ]
    head = (
        "Model",
        "Measure",
        "Trained on real",
        "Trained on synthetic",
        "Difference",
        "Baseline",
    )
    records = entry["records"]
    caption = (
        f"Prediction of {entry['target']}, {grouped(records['trained'])} records of each table, "
        f"{grouped(records['tested'])} tested"
    )
    first = scores[0]
    loss = first["real"] - first["synthetic"]
    level = _level(loss, STEPS)
    words = (
        f"{first['measure']} of {first['model']} for {entry['target']}: {first['synthetic']:.3f} trained "
        f"on synthetic, {first['real']:.3f} trained on real records (baseline {first['baseline']:.3f})."
    )
    series = [
        RateSeries(name=name, colour=colour, values=[line[side] for line in scores])
        for side, name, colour in SIDES
    ]
    baseline = RateSeries(
        name="baseline", colour=style.QUIET, values=[line["baseline"] for line in scores]
    )
    figure = draw_rates(
        report,
        [f"{line['measure']}, {line['model']}" for line in scores],
        [*series, baseline],
        axis="score",
        words=words,
    )
    made = make_card(
        report,
        "model-scores",
        _reading(report, "model_scores"),
        make_table(caption, head, rows, names=2),
        words,
        figure=figure,
    )
    return replace(made, mark=MARKS[level])


def _group_card(report: Report, entry: Json) -> Card:
    fairness = entry["fairness"]
    groups = fairness["groups"]
    rows = [
        (
            group["label"],
            grouped(group["records"]),
            *(_text(group[measure][side]) for measure in _MEASURES for side, _, _ in SIDES),
        )
        for group in groups
    ]
    head = (
        entry["protected"],
        "Tested records",
        "Selected, real",
        "Selected, synthetic",
        "Found, real",
        "Found, synthetic",
    )
    gaps = fairness["gaps"]
    changes = [
        abs(gap["synthetic"] - gap["real"]) for gap in gaps.values() if None not in gap.values()
    ]
    level = _level(max(changes, default=0.0), GAP_STEPS)
    sentences = [
        (
            f"{title}: a gap of {_text(gaps[measure]['synthetic'])} trained on synthetic, "
            f"{_text(gaps[measure]['real'])} trained on real records"
        )
        for measure, title in _MEASURES.items()
    ]
    words = f"{entry['target']} is {fairness['positive']}, by {entry['protected']}. {'; '.join(sentences)}."
    series = [
        RateSeries(
            name=name,
            colour=colour,
            values=[group[measure][side] for measure in _MEASURES for group in groups],
        )
        for side, name, colour in SIDES
    ]
    labels = [f"{measure}: {group['label']}" for measure in _MEASURES for group in groups]
    made = make_card(
        report,
        "model-groups",
        _reading(report, "model_groups"),
        make_table("Shares by group", head, rows),
        words,
        figure=draw_rates(report, labels, series, axis="share of records", words=words),
    )
    return replace(made, mark=MARKS[level])


def _cluster_card(report: Report, entry: Json) -> Card:
    clusters = entry["clusters"]
    values = [
        ("Real and synthetic table", clusters["agreement"]),
        ("Two halves of the real records", clusters["between_real_halves"]),
    ]
    level = _level(clusters["between_real_halves"] - clusters["agreement"], GAP_STEPS)
    words = (
        f"Clusters of both tables agree by {values[0][1]:.2f} (adjusted Rand index); those of two halves "
        f"of the real records by {values[1][1]:.2f}."
    )
    colours = (style.SYNTHETIC, style.REAL)
    figure = draw_rates(
        report,
        ["agreement"],
        [
            RateSeries(name=name, colour=colour, values=[value])
            for (name, value), colour in zip(values, colours, strict=True)
        ],
        axis="adjusted Rand index",
        words=words,
    )
    rows = [(name, f"{value:.3f}") for name, value in values]
    made = make_card(
        report,
        "model-clusters",
        _reading(report, "model_clusters"),
        make_table(
            "Agreement of clusters", ("Clusters fitted to", "Adjusted Rand index"), rows
        ),
        words,
        figure=figure,
    )
    return replace(made, mark=MARKS[level])


def _propensity_card(report: Report, entry: Json) -> Card:
    propensity = entry["propensity"]
    ratio = propensity["ratio"]
    level: Level = "unseen" if ratio is None else _level(ratio, RATIO_STEPS)
    words = (
        f"pMSE is {_text(ratio)} times that of permuted labels; gradient boosting tells both tables apart "
        f"with an area under the curve of {propensity['auc']:.3f} (0.5 is guessing)."
    )
    rows = [
        ("Records of each table", grouped(propensity["records"])),
        ("pMSE", f"{propensity['pmse']:.5f}"),
        ("Ratio to permuted labels", _text(ratio)),
        ("Area under the curve, gradient boosting", f"{propensity['auc']:.3f}"),
    ]
    figure = draw_rates(
        report,
        ["area under the curve"],
        [
            RateSeries(name="synthetic", colour=style.SYNTHETIC, values=[propensity["auc"]]),
            RateSeries(name="guessing", colour=style.QUIET, values=[0.5]),
        ],
        axis="area under the curve",
        words=words,
    )
    made = make_card(
        report,
        "propensity",
        _reading(report, "propensity"),
        make_table("Propensity", ("Figure", "Value"), rows),
        words,
        figure=figure,
    )
    return replace(made, mark=MARKS[level])


def _reading(report: Report, key: str) -> Explanation:
    """The texts of a report, or those of today for one that was made before there were any."""
    reading: Explanation = report["reading"].get(key, TrainedModels.explanations[key])
    return reading


def _level(value: float, steps: Sequence[tuple[float, Level]]) -> Level:
    return next((level for bound, level in steps if value <= bound), "large")


def _text(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


FIGURE = TrainedModels()
