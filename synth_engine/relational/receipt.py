"""The receipt of a database: the receipts of all its views, the tables that they are of, and what they add up
to."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from synth_engine.privacy import receipt as receipts
from synth_engine.privacy.loss import NANO, Budget, Pure, nano, ratio
from synth_engine.privacy.static_calibration import Certificate
from synth_engine.relational.answers import DatabaseAnswers
from synth_engine.relational.plan import DatabasePlan
from synth_engine.strict_json import JsonObject

SCHEMA = "synthweb/database-receipt/1"


def build(
    plan: DatabasePlan,
    answers: DatabaseAnswers,
    *,
    post_processing: Mapping[str, str],
    sample: Mapping[str, object] | None = None,
) -> JsonObject:
    """The receipt of a run that gave these answers about the views. sample: rows of the root table, seed or
    commitment to it, and the digest of the tables that were written."""
    document: JsonObject = {
        "schema": SCHEMA,
        "tables": plan.database.statement,
        "relation": "add-remove",
        "target": {"epsilon": ratio(plan.epsilon), "delta": ratio(plan.delta)},
        "cap": _cap(plan.cap),
        "guarantee": _guarantee(plan),
        "views": [
            dict(view.receipt(given))  # type: ignore[arg-type]
            for view, given in zip(plan.measured(answers.views), answers, strict=True)
        ],
        "post_processing": dict(post_processing),
        "sample": None if sample is None else dict(sample),  # type: ignore[arg-type]
    }
    return document | {"digest": receipts.digest(document)}


def _cap(cap: Budget) -> JsonObject:
    name = "epsilon" if isinstance(cap, Pure) else "mu_squared"
    return {name: ratio(cap.amount)}


def _guarantee(plan: DatabasePlan) -> JsonObject:
    pure = isinstance(plan.cap, Pure)
    certificate: Certificate = "basic" if pure else "gdp"
    return {
        "epsilon": ratio(plan.epsilon),
        "delta": ratio(plan.delta),
        "rho": ratio(Fraction(nano(plan.rho), NANO)),
        "certificate": certificate,
        "sentence": plan.sentence,
    }
