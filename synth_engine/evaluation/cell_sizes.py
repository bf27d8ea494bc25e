"""The size of a cell of a tree of places on the ground, by depth. It follows from public facts
alone: the box, and how often each of its sides has been halved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from synth_engine.domain import Domain
from synth_engine.evaluation import tree_cells
from synth_engine.evaluation.thousands import grouped
from synth_engine.hierarchy import Hierarchy, SpatialHierarchy
from synth_engine.indexing.places import EARTH_RADIUS_KM, KILOMETRES_A_MILE

FEET_A_MILE = 5280
MAX_DEPTHS_IN_TEXT = 5
"""Depths of which sizes are listed in a line, at most."""


@dataclass(frozen=True, kw_only=True)
class _Units:
    """A unit in kilometres, for sides of at least so many of them, and a smaller one."""

    large: float
    small: float
    names: tuple[str, str]
    least: float


_METRES = _Units(large=1.0, small=0.001, names=("km", "m"), least=1.0)
_MILES = _Units(
    large=KILOMETRES_A_MILE,
    small=KILOMETRES_A_MILE / FEET_A_MILE,
    names=("miles", "ft"),
    least=0.1,
)


@dataclass(frozen=True, kw_only=True)
class Size:
    """The mean cell of one place, in kilometres from south to north and, at the middle latitude of the box,
    from west to east."""

    name: str
    north: float
    east: float


def of_depth(hierarchy: Hierarchy, domain: Domain, depth: int) -> tuple[Size, ...]:
    """One for each place of the tree; none of a tree without places. Bins of several widths make cells of
    several sizes, of which these are the mean along each side; a degree is as long as on a sphere."""
    points = hierarchy.component(SpatialHierarchy)
    if points is None:
        return ()
    # In a product, classes and texts take turns with the points: a depth of the tree is fewer
    # halvings of the box.
    levels = hierarchy.component_levels(hierarchy.components.index(points))
    own = int(levels[depth])
    return tuple(_size(points, site, own) for site in tree_cells.sites(points, domain))


def _size(points: SpatialHierarchy, site: tree_cells.PlaceAxes, level: int) -> Size:
    north, east = (
        math.radians(points.high[axis] - points.low[axis])
        * EARTH_RADIUS_KM
        / 2 ** points.halvings(level, axis)
        for axis in site.axes
    )
    # Meridians converge: a degree east is cos(latitude) of one north.
    middle = math.radians((points.low[site.north] + points.high[site.north]) / 2)
    return Size(name=site.name, north=north, east=east * math.cos(middle))


def describe(sizes: Sequence[Size]) -> str:
    """`1.4 × 1.1 km (0.87 × 0.68 miles)`, from south to north and from west to east; of places whose cells
    differ, each with its name."""
    texts = {size.name: f"{_sides(size, _METRES)} ({_sides(size, _MILES)})" for size in sizes}
    if len(set(texts.values())) == 1:
        return next(iter(texts.values()))
    return " and ".join(f"{name} {text}" for name, text in texts.items())


def describe_depths(hierarchy: Hierarchy, domain: Domain) -> str:
    """Describes the cells of some depths, the first and the last among them, in a sentence;
    empty for a tree without places."""
    last = hierarchy.depth
    depths = sorted(
        {
            1 + round((last - 1) * step / (MAX_DEPTHS_IN_TEXT - 1))
            for step in range(MAX_DEPTHS_IN_TEXT)
        }
    )
    parts = [
        f"{describe(sizes)} at depth {depth}"
        for depth in depths
        if (sizes := of_depth(hierarchy, domain, depth))
    ]
    return (
        f"From south to north and from west to east a cell is about {'; '.join(parts)}."
        if parts
        else ""
    )


def _sides(size: Size, units: _Units) -> str:
    is_large = max(size.north, size.east) >= units.least * units.large
    kilometres, unit = (
        (units.large, units.names[0]) if is_large else (units.small, units.names[1])
    )
    return f"{_short(size.north / kilometres)} × {_short(size.east / kilometres)} {unit}"


def _short(value: float) -> str:
    """Two digits that count, without an exponent."""
    rounded = float(f"{value:.2g}")
    places = max(0, 1 - math.floor(math.log10(rounded))) if rounded > 0 else 0
    return grouped(rounded, f",.{places}f")
