"""From the nodes at which a tree ends, with counts that were cleaned, to the part of a model that is a tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from synth_engine.domain import Domain, Text
from synth_engine.hierarchy import (
    Hierarchy,
    Prefixes,
    ProductHierarchy,
    SpatialHierarchy,
    StringHierarchy,
    TaxonomyHierarchy,
)
from synth_engine.kinds.completions import Completions
from synth_engine.models.trees import taxonomy
from synth_engine.models.trees.spatial import Placement, SpatialTree
from synth_engine.models.trees.strings import IncompletePrefixes, StringTree
from synth_engine.models.trees.taxonomy import ProductTree
from synth_engine.models.weights import whole_weights

AnyTree = SpatialTree | StringTree | ProductTree


def tree(
    hierarchy: Hierarchy,
    levels: npt.NDArray[np.int64],
    prefixes: Prefixes,
    counts: npt.NDArray[np.float64],
    *,
    incomplete_prefixes: IncompletePrefixes = "completed",
    completions: Completions | None = None,
    placed: Placement = "density",
) -> AnyTree:
    """Nodes, none inside another, with weights in proportion to their counts."""
    weights = whole_weights(counts)
    if isinstance(hierarchy, StringHierarchy):
        return StringTree.of_nodes(
            hierarchy,
            levels,
            prefixes,
            weights,
            incomplete_prefixes=incomplete_prefixes,
            completions=completions,
        )
    if isinstance(hierarchy, TaxonomyHierarchy | ProductHierarchy):
        return ProductTree(
            hierarchy=hierarchy,
            levels=levels,
            cells=prefixes,
            weights=weights,
            placed=placed,
            incomplete_prefixes=incomplete_prefixes,
            completions=completions,
        )
    assert isinstance(hierarchy, SpatialHierarchy)  # noqa: S101 - no other hierarchy is made of a domain
    return SpatialTree(
        hierarchy=hierarchy, levels=levels, cells=prefixes, weights=weights, placed=placed
    )


def read(obj: Mapping[str, Any], domain: Domain) -> AnyTree:
    """What `to_json` of any of them wrote. Errors: KeyError, TypeError, ValueError, DomainError, InputError."""
    match obj.get("kind"):
        case "classes" | taxonomy.WITH_TEXTS:
            return ProductTree.from_json(obj, domain)
        case "texts":
            return StringTree.from_json(obj, domain)
        case _:
            return SpatialTree.from_json(obj, domain)


def root_alone(found: AnyTree) -> bool:
    """Whether a tree has its root and nothing below: it says of no record where it lies, or how its text begins."""
    return bool(found.levels.tolist() == [0])


def texts(found: AnyTree | None) -> StringTree | None:
    """A tree as its texts see it; None where it has none."""
    return (
        found.texts
        if isinstance(found, ProductTree)
        else found
        if isinstance(found, StringTree)
        else None
    )


def in_release(domain: Domain, text: Text) -> Domain:
    """The domain with that column in place of the one of its name."""
    attributes = tuple(text if each.name == text.name else each for each in domain.attributes)
    return replace(domain, attributes=attributes)
