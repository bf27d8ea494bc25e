"""What a worker drew of a model and read of its receipt, beside the first rows: relations, distances, and
what the verdict takes."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from synth_engine.evaluation import model_pairs
from synth_engine.evaluation.model_distances import ModelCurve
from synth_engine.evaluation.model_pairs import Pairs
from synthweb.releases import look, quality_facts
from synthweb.releases.models import Release
from synthweb.releases.quality_facts import QualityFacts


@dataclass(frozen=True, kw_only=True)
class DrawnRelations:
    """Of synthetic records. names: the columns whose pairs were measured. together: the pairs that are more
    than chance. curves: of each commute."""

    names: tuple[str, ...]
    pairs: Pairs
    together: frozenset[tuple[str, str]]
    curves: tuple[ModelCurve, ...]


def facts_of(release: Release) -> QualityFacts | None:
    """What the verdict takes from model and receipt; None before a worker has read them. The caller
    authorised."""
    document = look.document_of(release)
    return None if document is None else quality_facts.read(document["facts"])


def pairs_of(release: Release) -> Pairs | None:
    """How dependent the columns of the model are, pair by pair; None before a worker has drawn the rows. The
    caller authorised."""
    relations = relations_of(release)
    return None if relations is None else relations.pairs


def relations_of(release: Release) -> DrawnRelations | None:
    """What figures of relations are drawn from; None before a worker has drawn the rows. The caller
    authorised."""
    document = look.document_of(release)
    if document is None:
        return None
    pairs = model_pairs.pairs_of(document["pairs"]["columns"], document["pairs"]["dependence"])
    return DrawnRelations(
        names=tuple(document["pairs"]["columns"]),
        pairs=pairs,
        together=frozenset(itertools.compress(pairs, document["pairs"]["together"])),
        curves=tuple(document["curves"]),
    )
