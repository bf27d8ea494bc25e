"""The construction of the tree of a model from the nodes at which a grown tree ends and their
estimated counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from synth_engine.domain import Domain, Text
from synth_engine.hierarchy import (
    Hierarchy,
    SpatialHierarchy,
    StringHierarchy,
)
from synth_engine.hierarchy.base import PathHierarchy
from synth_engine.hierarchy.estimate import LeafEstimates
from synth_engine.kinds.completions import Completions
from synth_engine.models.trees import taxonomy
from synth_engine.models.trees.covariates import Covariates
from synth_engine.models.trees.spatial import Placement, SpatialTree
from synth_engine.models.trees.strings import IncompletePrefixes, StringTree
from synth_engine.models.trees.taxonomy import ProductTree
from synth_engine.models.weights import whole_weights

ModelTree = SpatialTree | StringTree | ProductTree


def tree(
    hierarchy: Hierarchy,
    leaves: LeafEstimates,
    *,
    incomplete_prefixes: IncompletePrefixes = "completed",
    completions: Completions | None = None,
    placed: Placement = "density",
    attached: Covariates | None = None,
) -> ModelTree:
    """Nodes, none inside another, with weights in proportion to their counts."""
    weights = whole_weights(leaves.counts)
    match hierarchy:
        case StringHierarchy():
            strings = StringTree.of_nodes(
                hierarchy,
                leaves.levels,
                leaves.prefixes,
                weights,
                incomplete_prefixes=incomplete_prefixes,
                completions=completions,
            )
            return replace(strings, attached=attached)
        case SpatialHierarchy():
            return SpatialTree(
                hierarchy=hierarchy,
                levels=leaves.levels,
                cells=leaves.prefixes,
                weights=weights,
                placed=placed,
                attached=attached,
            )
    if attached is not None:
        raise TypeError("columns stand beside points or strings alone")
    if not isinstance(hierarchy, PathHierarchy):
        raise TypeError("codes of classes are paths of symbols")
    return ProductTree(
        hierarchy=hierarchy,
        levels=leaves.levels,
        cells=leaves.prefixes,
        weights=weights,
        placed=placed,
        incomplete_prefixes=incomplete_prefixes,
        completions=completions,
    )


def read(obj: Mapping[str, object], domain: Domain) -> ModelTree:
    """Reads what `to_json` of any of them wrote. Errors: KeyError, TypeError, ValueError,
    DomainError, InputError."""
    match obj.get("kind"):
        case "classes" | taxonomy.WITH_TEXTS:
            return ProductTree.from_json(obj, domain)
        case "texts":
            return StringTree.from_json(obj, domain)
        case _:
            # Trees of points are written without a kind.
            return SpatialTree.from_json(obj, domain)


def root_alone(tree: ModelTree) -> bool:
    """Returns whether a tree has its root and nothing below: it says of no record where it
    lies, or how its text begins."""
    # Cells are disjoint, so a tree that has its root has nothing else.
    return bool(tree.levels.tolist() == [0])


def texts(tree: ModelTree | None) -> StringTree | None:
    """A tree as its texts see it; None where it has none."""
    return (
        tree.texts
        if isinstance(tree, ProductTree)
        else (tree if isinstance(tree, StringTree) else None)
    )


def in_release(domain: Domain, text: Text) -> Domain:
    """The domain with that column in place of the one of its name."""
    attributes = tuple(
        text if attribute.name == text.name else attribute for attribute in domain.attributes
    )
    return replace(domain, attributes=attributes)
