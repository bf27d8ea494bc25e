"""The first card of Quality: what a release is good for, and what that rests on.

Nothing but what was released goes in: receipt and model as a worker read them, the expected ranges and
errors, and figures that were paid for. Whoever may draw samples may see all of it. Whoever has a public link
sees no receipts of paid figures, and is shown the answer without them.
"""

from __future__ import annotations

from dataclasses import dataclass

from synth_engine.evaluation import release_verdict
from synth_engine.evaluation.release_verdict import (
    DistanceInterval,
    GroupInterval,
    ReleaseEvidence,
    ReleaseVerdict,
)
from synthweb.releases import expected, look, model_relations, paid, verdict_words
from synthweb.releases.models import Release


@dataclass(frozen=True, kw_only=True)
class PartLine:
    """One thing that people compute. name: in the language of the page. note: of how many columns it is good,
    empty where of all or none."""

    key: str
    name: str
    level: str
    note: str


@dataclass(frozen=True, kw_only=True)
class ReleaseAnswer:
    """The verdict as the page says it. columns: codes and sentences that name columns. pending: whether the
    simulation of the release, which says what is lost of its relations, is still to come."""

    verdict: ReleaseVerdict
    sentences: tuple[str, ...]
    parts: tuple[PartLine, ...]
    columns: tuple[tuple[str, str], ...]
    pending: bool


def answer_of(release: Release, *, paid_figures: bool = True) -> ReleaseAnswer | None:
    """What the release is good for; None before a worker has computed what that takes. paid_figures: whether
    figures with receipts of their own count. The caller authorised."""
    evidence = evidence_of(release, paid_figures=paid_figures)
    if evidence is None:
        return None
    verdict = release_verdict.verdict(evidence)
    return ReleaseAnswer(
        verdict=verdict,
        sentences=verdict_words.sentences(verdict),
        parts=tuple(
            PartLine(
                key=part.key,
                name=str(verdict_words.PARTS[part.key]),
                level=part.level,
                note=f"{part.good} / {part.of}" if 0 < part.good < part.of else "",
            )
            for part in verdict.parts
        ),
        columns=verdict_words.of_columns(verdict),
        pending=expected.are_errors_pending(release),
    )


def evidence_of(release: Release, *, paid_figures: bool = True) -> ReleaseEvidence | None:
    """What the verdict rests on; None before a worker has computed it. paid_figures: as of `answer_of`."""
    facts, columns = model_relations.facts_of(release), expected.columns_of(release)
    if facts is None or columns is None:
        return None
    relations = look.quality_with_relations(release, columns).relations
    by_one, by_two = facts.least_groups
    distances, groups = _paid(release) if paid_figures else ([], [])
    return ReleaseEvidence(
        records=release.rows,
        columns=columns,
        learned=facts.learned,
        relations=relations,
        # Where relations are lost, groups by one column are all that there is.
        least_group=by_one if relations == "lost" else by_two,
        search=facts.search,
        distances=distances,
        groups=groups,
    )


def _paid(release: Release) -> tuple[list[DistanceInterval], list[GroupInterval]]:
    """Figures of the checks that count: the verifier accepts their receipts, and nobody took them back."""
    distances, groups = [], []
    for check in paid.checks_of(release):
        if paid.void_of(check) is not None or not paid.is_proved(check.receipt):
            continue
        for asked, result in paid.results_of(check):
            figure = result.figure
            if asked.kind in ("distance", "ks", "mean-distance"):
                size = 2 if asked.kind == "mean-distance" else len(asked.columns)
                distances.append(
                    DistanceInterval(columns=size, low=figure.low, high=figure.high)
                )
            groups += [
                GroupInterval(
                    synthetic=each.synthetic.value, low=each.real.low, high=each.real.high
                )
                for each in result.groups
            ]
    return distances, groups
