"""Notes on the tree of a model in words: that it is noise, or what ended it. As private as the
release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from synth_engine.hierarchy import SpatialHierarchy, StringHierarchy
from synth_engine.mechanisms import Model
from synth_engine.models.trees import factory, taxonomy
from synth_engine.models.trees.diagnostics import TreeDiagnostics, Why

Of = Literal["points", "texts", "classes"]
"""The kind of values in a tree."""
_WHAT: Mapping[Of, str] = {
    "points": "where they lie",
    "texts": "the texts they hold",
    "classes": "how columns go together",
}
_NODES: Mapping[Of, str] = {"points": "cell", "texts": "beginning of a text", "classes": "cell"}
_COARSER: Mapping[Of, str] = {
    "points": "a box that is halved less often, or that is smaller",
    "texts": "shorter texts, or an alphabet of fewer signs",
    "classes": "fewer columns in the tree, or wider classes",
}
_HELPS = (
    "What helps, the most effective first: a larger ε or more records; {coarser}; a method that asks less "
    "of the table."
)
_BARE = (
    "Nothing stood out of the noise but the number of records. The release is valid, and says nothing of "
    "{what}. "
)
_NOISE = (
    "No {node} stood out of the noise: of a table without records the tree would most likely look like "
    "this one. The release is valid, and says of {what} what noise says; about how many records there are "
    "is all that it tells. At this ε a {node} is divided from about {least:,} records on, and there are "
    "about {rows:,}. "
)
_WHY: Mapping[Why, str] = {
    "nodes": "The tree was cut off at depth {depth}, as more cells than can be stored would have followed "
    "below. A smaller depth, or fewer and wider bins, keep it whole.",
    "depth": "The tree ends at depth {depth}, as deep as it may go here; a larger depth would divide them "
    "further, as far as ε bears it.",
    "codes": "The tree ends at depth {depth}, as codes of cells have no more than 64 bits: with fewer "
    "coordinates, each could be halved more often.",
    "bins": "The tree ends at depth {depth}, where cells are as small as the description has them: with "
    "more and narrower bins, it would tell more places apart.",
}
_FULL = (
    "{share:.0%} of the records lie in {cells} of the last depth with records enough to be divided: it is "
    "not noise that keeps them together. Within a cell records are spread as if each part of it were as "
    "likely as another. "
)
_WHY_OF_TEXTS: Mapping[Why, str] = {
    "nodes": "The tree was cut off at depth {depth}, as more beginnings than can be stored would have "
    "followed. A smaller depth, or an alphabet of fewer signs, keep it whole.",
    "bins": "The tree ends at depth {depth}, where texts are as long as the description has them: with "
    "longer ones, it would tell more texts apart.",
}
_FULL_OF_TEXTS = (
    "{share:.0%} of the records have {cells} of the last depth with records enough to be read on: it is "
    "not noise that keeps them together. How such texts go on is not known; they are completed by public "
    "texts, or end there. "
)


def of_what(kind: str | None) -> Of:
    """kind: as the tree of a model says it, None where it says none."""
    return (
        "texts"
        if kind == "texts"
        else "classes"
        if kind in ("classes", taxonomy.WITH_TEXTS)
        else "points"
    )


def sentences(model: Model) -> tuple[str, ...]:
    """Returns all notes on a model; empty for one without a tree."""
    if model.tree is None:
        return ()
    hierarchy = model.tree.hierarchy
    of: Of = (
        "texts"
        if isinstance(hierarchy, StringHierarchy)
        else "points"
        if isinstance(hierarchy, SpatialHierarchy)
        else "classes"
    )
    return tree_statements(
        model.notes, of=of, rows=model.rows, root_alone=factory.root_alone(model.tree)
    )


def tree_statements(
    notes: TreeDiagnostics | None, *, of: Of, rows: int, root_alone: bool
) -> tuple[str, ...]:
    """The same of a model of which these parts are at hand. root_alone: whether its tree has its root and
    nothing below."""
    # Without any node below the root, a note on what ended the tree would explain what is not
    # there.
    if root_alone:
        return (root_only_note(of),)
    statements = (
        [] if notes is None else [noise_note(notes, of=of, rows=rows), limit_note(notes, of=of)]
    )
    return tuple(note for note in statements if note)


def root_only_note(of: Of) -> str:
    """Describes a tree that has its root alone."""
    return _BARE.format(what=_WHAT[of]) + _HELPS.format(coarser=_COARSER[of])


def noise_note(notes: TreeDiagnostics, *, of: Of, rows: int) -> str:
    """Empty for a tree in which something stood out."""
    if not notes.noise:
        return ""
    text = _NOISE.format(
        node=_NODES[of], what=_WHAT[of], least=notes.min_records_to_split, rows=rows
    )
    return text + _HELPS.format(coarser=_COARSER[of])


def limit_note(notes: TreeDiagnostics, *, of: Of = "points") -> str:
    """Empty for a tree that ended where noise did, nearly everywhere."""
    if (limit := notes.stop_reason) is None:
        return ""
    plural = "" if limit.cells == 1 else "s"
    cells = (
        f"{limit.cells:,} beginning{plural}"
        if of == "texts"
        else f"{limit.cells:,} cell{plural}"
    )
    template = _FULL_OF_TEXTS if of == "texts" else _FULL
    why = _WHY_OF_TEXTS.get(limit.why, _WHY[limit.why]) if of == "texts" else _WHY[limit.why]
    return (
        template.format(share=limit.share, cells=cells) if limit.cells else ""
    ) + why.format(depth=limit.depth)
