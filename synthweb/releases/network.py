"""The network of a release as a drawing and a table: which columns each column is drawn from.

Made from the model's list of nodes and the public description alone: post-processing of noisy answers, for
whoever may see the release. Every column has a line of its own, in the order in which columns are drawn, and
an arc leads from a parent to its child: a name is never crossed, and more columns only make the drawing
taller.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F

from synth_engine import mechanisms
from synth_engine.domain import Domain
from synthweb.releases.models import Release

# units between two columns; the drawing is WIDTH units wide, about as many as a telephone has pixels
LINE = 26
TOP = 16
NAMES = 132  # names end here, arcs begin a little to the right
WIDTH = 340
LONGEST_NAME = 18  # characters; the whole name is in the table and in the title of the line


@dataclass(frozen=True, kw_only=True)
class Arc:
    """From a parent to its child: an SVG path that ends in an arrow head."""

    parent: str
    child: str
    path: str
    head: str


@dataclass(frozen=True, kw_only=True)
class NetworkLine:
    """One column: where it stands, what it is drawn from, and the table that says how."""

    name: str
    shown: str
    y: int
    parents: tuple[str, ...]
    arcs: tuple[Arc, ...]
    shape: tuple[int, ...]
    cells: int

    @property
    def sizes(self) -> str:
        """`2 × 10 = 20` as the table of the column is made."""
        return " × ".join(str(size) for size in self.shape)


@dataclass(frozen=True, kw_only=True)
class Network:
    """Everything the page shows."""

    lines: tuple[NetworkLine, ...]
    height: int
    width: int = WIDTH
    names: int = NAMES

    @property
    def arcs(self) -> int:
        return sum(len(line.arcs) for line in self.lines)

    @property
    def cells(self) -> int:
        return sum(line.cells for line in self.lines)

    @property
    def words(self) -> str:
        """What the drawing shows, for who cannot see it."""
        parents = "; ".join(
            f"{line.name} from {' and '.join(line.parents)}"
            for line in self.lines
            if line.parents
        )
        alone = ", ".join(line.name for line in self.lines if not line.parents)
        return (
            f"Columns in the order in which they are drawn. By themselves: {alone}. {parents}".strip()
            + "."
        )


def network_of(release: Release) -> Network | None:
    """The network of a release, or None where its method has none; reads the nodes only, not the model's
    tables."""
    if not mechanisms.traits(release.mechanism).has_network:
        return None
    nodes = (
        Release.objects.filter(pk=release.pk)
        .values_list(F("model__network"), flat=True)
        .first()
    )
    return lay_out(nodes, domain=Domain.from_json(release.model["domain"])) if nodes else None


def lay_out(nodes: Sequence[Mapping[str, Any]], *, domain: Domain) -> Network:
    """Lines and arcs of the nodes of a model document."""
    height = {str(node["attribute"]): TOP + LINE * place for place, node in enumerate(nodes)}
    lines = tuple(
        _line(str(node["attribute"]), tuple(node["parents"]), height=height, domain=domain)
        for node in nodes
    )
    return Network(lines=lines, height=TOP * 2 + LINE * (len(nodes) - 1))


def _line(
    name: str, parents: tuple[str, ...], *, height: Mapping[str, int], domain: Domain
) -> NetworkLine:
    shape = tuple(domain.shape((*parents, name)))
    longest = max(height.values()) - TOP
    return NetworkLine(
        name=name,
        shown=name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…",
        y=height[name],
        parents=parents,
        arcs=tuple(
            _arc(
                parent,
                name,
                top=height[parent],
                bottom=height[name],
                longest=longest,
                side=9 * place,
            )
            for place, parent in enumerate(parents)
        ),
        shape=shape,
        cells=math.prod(shape),
    )


def _arc(parent: str, child: str, *, top: int, bottom: int, longest: int, side: int) -> Arc:
    """Half an ellipse to the right, wider the longer it is; arrows into one column arrive a little apart."""
    start, end = NAMES + 16, NAMES + 16 + side
    # A square root, so that short arcs stay apart and the longest stays in the drawing.
    reach = 14 + (WIDTH - NAMES - 40) * math.sqrt((bottom - top) / max(longest, LINE))
    path = f"M{start} {top}C{start + reach:.0f} {top} {end + reach:.0f} {bottom} {end + 6} {bottom}"
    head = f"M{end + 7} {bottom - 4}L{end} {bottom}L{end + 7} {bottom + 4}Z"
    return Arc(parent=parent, child=child, path=path, head=head)
