"""What the verdict on a release takes from its model and its receipt; a worker reads them, and stores this
beside the first rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from synth_engine.evaluation import learned_columns
from synth_engine.evaluation.least_group import least_group
from synth_engine.evaluation.quality_words import ColumnWord
from synth_engine.evaluation.release_verdict import TripleFindings
from synth_engine.models.model import Model
from synthweb.releases.models import Release


@dataclass(frozen=True, kw_only=True)
class QualityFacts:
    """learned: how well the columns are known that were learned. least_groups: by one column and by two, None
    where no such table was counted. search: None where the method did not look for relations of three
    columns."""

    learned: Mapping[str, ColumnWord]
    least_groups: tuple[int | None, int | None]
    search: TripleFindings | None


def document_of(release: Release, model: Model) -> dict[str, Any]:
    """The facts as plain values."""
    empty = release.receipt["post_processing"].get("not_found")
    search = release.model.get("findings", {}).get("triples")
    calls = release.receipt["calls"]
    return {
        "learned": learned_columns.of_model(model, empty=empty or ()),
        "least_groups": [least_group(calls, columns=number) for number in (1, 2)],
        "search": None
        if search is None
        else {
            "measured": search["measured"],
            "largest": search["largest"]["distance"],
            "by_noise": search["by_noise"],
        },
    }


def read(document: Mapping[str, Any]) -> QualityFacts:
    """The facts of `document_of`."""
    one, two = document["least_groups"]
    search = document["search"]
    return QualityFacts(
        learned=document["learned"],
        least_groups=(one, two),
        search=None if search is None else TripleFindings(**search),
    )
