"""The tree of a description: a share for each node at which the tree ends, beside the values that the node
stands for.

Shares can be edited. Labels are for people; what the nodes are is written under `form`, and both have to
agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from synth_engine.domain import Domain
from synth_engine.errors import DomainError, InputError
from synth_engine.hierarchy import Prefixes, SpatialHierarchy, TaxonomyHierarchy
from synth_engine.indexing import prefixes
from synth_engine.models.described_column import TOLERANCE, is_share, whole
from synth_engine.models.trees import factory
from synth_engine.models.trees.factory import ModelTree
from synth_engine.models.trees.spatial import SpatialTree
from synth_engine.models.trees.strings import StringTree
from synth_engine.models.weights import WHOLE
from synth_engine.strict_json import JsonObject, JsonValue

DIGITS = 10
MAX_LISTED_NODES = 1_000_000
_CLASSES_BETWEEN = " / "
_ANY = "any"
"""The label of the root: nothing is told apart."""

Labels = list[dict[str, JsonValue]]


def write(tree: ModelTree, domain: Domain) -> JsonObject:
    """The nodes of a tree with their shares. Errors: InputError for too many."""
    if tree.weights.size > MAX_LISTED_NODES:
        raise InputError(
            f"the tree has more than {MAX_LISTED_NODES:,} nodes to be listed",
            repair="keep the model itself",
        )
    form = {name: value for name, value in tree.to_json().items() if name != "weights"}
    nodes: list[JsonValue] = [
        {"node": label, "share": round(weight / WHOLE, DIGITS)}
        for label, weight in zip(_labels(tree, domain), tree.weights.tolist(), strict=True)
    ]
    return {"nodes": nodes, "form": form}


def read(given: object, domain: Domain) -> ModelTree:
    """The tree that is described. Errors: InputError, DomainError."""
    if not isinstance(given, Mapping) or set(given) != {"nodes", "form"}:
        raise InputError(
            'tree is not an object of "nodes" and "form"', repair="write it as it was there"
        )
    nodes, form = given["nodes"], given["form"]
    if not isinstance(nodes, list) or not 0 < len(nodes) <= MAX_LISTED_NODES:
        raise InputError(
            f"tree lists no node, or more than {MAX_LISTED_NODES:,}",
            repair="give every node that was there",
        )
    shares = np.array([_share(node, number) for number, node in enumerate(nodes, start=1)])
    if abs(float(shares.sum()) - 1) > TOLERANCE:
        raise InputError("the shares of the nodes do not add up to 1", repair="change a share")
    tree = _tree(form, domain, weights=whole(shares, WHOLE).tolist())
    for number, (node, label) in enumerate(zip(nodes, _labels(tree, domain), strict=True), 1):
        if node["node"] != label:
            raise InputError(
                f"node {number} of the tree is another one than its form says",
                repair="change shares alone, and give every node that was there",
            )
    return tree


def _share(node: object, number: int) -> float:
    if not isinstance(node, Mapping) or set(node) != {"node", "share"}:
        raise InputError(
            f"node {number} of the tree has missing or unknown fields",
            repair='give "node" and "share"',
        )
    if not is_share(node["share"]):
        raise InputError(
            f"the share of node {number} of the tree is not from 0 to 1", repair="mend it"
        )
    return float(node["share"])


def _tree(form: object, domain: Domain, *, weights: Sequence[int]) -> ModelTree:
    wrong = InputError("the form of the tree is malformed", repair="leave it as it was written")
    if not isinstance(form, Mapping) or "weights" in form:
        raise wrong
    try:
        return factory.read({**form, "weights": weights}, domain)
    except DomainError:
        raise
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError):
        raise wrong from None


def _labels(tree: ModelTree, domain: Domain) -> Labels:
    """Of each node, by column: the values that it stands for."""
    if isinstance(tree, StringTree):
        return [{tree.hierarchy.columns[0]: text} for text in _texts(tree)]
    if isinstance(tree, SpatialTree):
        return _boxes(tree.hierarchy, tree.cells, tree.levels, domain)
    labels: Labels = [{} for _ in range(tree.levels.size)]
    for index, component in enumerate(tree.hierarchy.components):
        levels = tree.hierarchy.component_levels(index)[tree.levels]
        cells = tree.hierarchy.component_prefixes(tree.cells, index)
        more: Labels
        if isinstance(component, SpatialHierarchy):
            more = _boxes(component, cells, levels, domain)
        elif isinstance(component, TaxonomyHierarchy):
            more = [
                {component.columns[0]: _CLASSES_BETWEEN.join(path) or _ANY}
                for path in component.decode(cells)
            ]
        else:
            texts = tree.texts
            more = [
                {component.columns[0]: text}
                for text in ([] if texts is None else _texts(texts))
            ]
        labels = [{**one, **other} for one, other in zip(labels, more, strict=True)]
    return labels


def _texts(tree: StringTree) -> list[str]:
    """Texts as they are, and prefixes with the mark that no text can have behind them."""
    return [
        text + tree.mark if partial else text
        for text, partial in zip(tree.texts, tree.partial.tolist(), strict=True)
    ]


def _boxes(
    points: SpatialHierarchy,
    cells: Prefixes,
    levels: npt.NDArray[np.int64],
    domain: Domain,
) -> Labels:
    """Of each cell the range of each coordinate: the labels of its first and its last bin, or, of public
    points, degrees."""
    first = points.positions(cells)
    low, high = np.array(points.low), np.array(points.high)
    boxes: Labels = [{} for _ in range(levels.size)]
    for axis, name in enumerate(points.axes):
        halved = np.array([points.halvings(level, axis) for level in range(points.depth + 1)])
        ends = first[:, axis] + (points.parts >> halved[levels])
        ranges: list[list[JsonValue]]
        if points.axes.count(name) > 1:
            width = (high[axis] - low[axis]) / points.parts
            ranges = [
                [round(float(low[axis] + at * width), 6) for at in pair]
                for pair in zip(first[:, axis].tolist(), ends.tolist(), strict=True)
            ]
            side = "latitude" if points.axes.index(name) == axis else "longitude"
            for box, values in zip(boxes, ranges, strict=True):
                box[name] = {**_object(box.get(name)), side: values}
            continue
        attribute = domain.attribute(name)
        texts, size = attribute.labels, domain.sizes[name]
        bins = (prefixes.first_bins(points, at, size=size) for at in (first[:, axis], ends))
        for box, begin, end in zip(boxes, *(one.tolist() for one in bins), strict=True):
            box[name] = [texts[begin], texts[end - 1]] if end - begin > 1 else [texts[begin]]
    return boxes


def _object(value: Any) -> dict[str, JsonValue]:
    return dict(value) if isinstance(value, Mapping) else {}
