"""Whether a run found what is in the columns that it had to learn: found, coarse, or not found; from its
model alone."""

from __future__ import annotations

from collections.abc import Collection

from synth_engine.domain import OTHER, Attribute
from synth_engine.evaluation import column_shapes
from synth_engine.evaluation.expected import model_counts
from synth_engine.evaluation.quality_words import WIDE_INTERVAL, ColumnWord
from synth_engine.models.model import Model


def of_model(model: Model, *, empty: Collection[str] = ()) -> dict[str, ColumnWord]:
    """The word of each column that was learned. empty: columns of which the receipt states that nothing was
    found."""
    return {
        attribute.name: "not found" if attribute.name in empty else found_of(model, attribute)
        for attribute in model.domain.attributes
        if "learned" in attribute.facts.values()
    }


def found_of(model: Model, attribute: Attribute) -> ColumnWord:
    """The word of one column."""
    if not attribute.is_found:
        return "not found"
    # Other columns than places are in the model of cells, which is the one with tables.
    counts = model_counts(model.coded or model, attribute)
    if counts is None or not counts.sum():
        return "found"
    shape = column_shapes.of_attribute(attribute, counts)
    if not len(shape.firsts):
        return (
            "coarse" if _of_other(attribute, shape.shares.tolist()) > WIDE_INTERVAL else "found"
        )
    wide = shape.shares[shape.lasts > shape.firsts]
    return "coarse" if float(wide.max(initial=0.0)) > WIDE_INTERVAL else "found"


def _of_other(attribute: Attribute, shares: list[float]) -> float:
    labels = [
        label for code, label in enumerate(attribute.labels) if code != attribute.missing_code
    ]
    return sum(share for label, share in zip(labels, shares, strict=True) if label == OTHER)
