"""Public questions, and the lines of the journal: what was asked and what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from synth_engine.hierarchy import Rule
from synth_engine.kinds.lattice import Lattice
from synth_engine.privacy import events
from synth_engine.privacy.receipt import QueryDocument, digest

MAX_TABLE_CELLS = 1_000_000
"""Cells of the largest table of counts that the room answers."""

Clique = tuple[str, ...]
Counts = npt.NDArray[np.int64]
Truth = npt.NDArray[np.bool_]
Merged = Mapping[str, npt.NDArray[np.integer[Any]]]
"""Bins by attribute: the bin of each of its codes, from 0 on without a gap. Public, or a
function of paid answers alone."""


def partition_digest(lattice: Lattice, cuts: Sequence[int], divisors: Sequence[int]) -> str:
    """SHA-256 of what intervals are counts of, so that stored answers are not taken for those of other
    intervals, or of another lattice with as many positions."""
    facts = {
        "values": [lattice.of, lattice.label(0), lattice.label(lattice.count - 1)],
        # As text: positions are larger than the numbers that JSON is sure to hold.
        "cuts": [str(cut) for cut in cuts],
        "divisors": [str(divisor) for divisor in divisors],
    }
    return digest(facts)


@dataclass(frozen=True, kw_only=True)
class Query:
    """A public question. `clique`: of a measurement, empty for the number of records, or the one attribute of
    a discovery or of items; `candidates`: of a selection, a division, or scores; `threshold`: of a discovery;
    `cells`: counts that get noise, written down or not, which of group sizes are as many as a unit may have
    records, or of choices and scores the cells of all candidates; `bins`: how many codes or bins each
    attribute counts by, of a measurement where codes were merged, and of every interaction; `rule`,
    `branching`: of a tree, by what it is grown, and how many children a node has at each depth; `parts`,
    `by`: of leaves, how many parts of the hierarchy over the clique are counted, and further attributes by
    which each is; `parts` also of boxes over the clique, how many are counted or may be divided;
    `parting`: of groups drawn anew, the name of the public parts in which origins are counted, empty for
    origins themselves."""

    verb: Literal[
        "measure",
        "interaction",
        "select",
        "refine",
        "score",
        "discover",
        "group-sizes",
        "grow",
        "items",
        "resample",
        "leaves",
        "intervals",
        "divide",
        "boxes",
    ]
    clique: Clique = ()
    candidates: tuple[Clique, ...] = ()
    cells: int
    threshold: int | None = None
    bins: tuple[int, ...] | None = None
    rule: Rule | None = None
    branching: tuple[int, ...] = ()
    parts: int | None = None
    by: Clique = ()
    parting: str = ""

    def to_json(self) -> QueryDocument:
        shared: QueryDocument = {
            "verb": self.verb,
            "clique": list(self.clique),
            "cells": self.cells,
        }
        # Only the fields of its own verb are written: journals from before a field existed keep
        # their digests.
        if self.verb == "discover":
            return {**shared, "threshold": self.threshold}
        if self.rule is not None:
            return {**shared, "branching": list(self.branching), "grown": self.rule.to_json()}
        if self.parts is not None:
            shared = {**shared, "parts": self.parts, "by": list(self.by)}
            return shared if self.threshold is None else {**shared, "threshold": self.threshold}
        if self.parting:
            return {**shared, "parting": self.parting}
        if self.bins is not None:
            return {**shared, "bins": list(self.bins)}
        if self.verb in ("select", "refine", "score"):
            return {**shared, "candidates": [list(c) for c in self.candidates]}
        return shared

    @classmethod
    def from_json(cls, obj: Mapping[str, Any]) -> Query:
        candidates = tuple(tuple(c) for c in obj.get("candidates", ()))
        return cls(
            verb=obj["verb"],
            clique=tuple(obj["clique"]),
            candidates=candidates,
            cells=obj["cells"],
            threshold=obj.get("threshold"),
            bins=tuple(obj["bins"]) if "bins" in obj else None,
            rule=Rule.from_json(obj["grown"]) if "grown" in obj else None,
            branching=tuple(obj.get("branching", ())),
            parts=obj.get("parts"),
            by=tuple(obj.get("by", ())),
            parting=obj.get("parting", ""),
        )


@dataclass(frozen=True, kw_only=True)
class Call:
    """A line of the journal: what was asked and what it cost. It holds no answer."""

    query: Query
    event: events.Event

    def to_json(self) -> dict[str, object]:
        return {"query": self.query.to_json(), "event": self.event.to_json()}

    @classmethod
    def from_json(cls, obj: Mapping[str, Any]) -> Call:
        return cls(query=Query.from_json(obj["query"]), event=events.from_json(obj["event"]))


@dataclass(frozen=True, kw_only=True, eq=False)
class Candidate:
    """A clique that may be selected, or gets a score: the L1 distance of the true counts from `reference`,
    less `penalty`; both are public, so the penalty moves no score between neighbours. The reference can no
    more be written to: the same array in a later question has the same distance. `merged`: attributes that
    are counted by bins."""

    clique: Clique
    reference: Counts
    penalty: int = 0
    merged: Merged | None = None

    def __post_init__(self) -> None:
        if self.reference.dtype != np.int64 or self.reference.ndim != len(self.clique):
            raise TypeError("a reference is int64 with one axis for each attribute")
        if type(self.penalty) is not int:
            raise TypeError("a penalty is a whole number")
        # The room keeps distances by the identity of this array, so it must not change.
        self.reference.setflags(write=False)
