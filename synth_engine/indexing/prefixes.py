"""The public hierarchies that a domain has, and the codes of records in them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_engine.domain import Domain, Integer, Number, Weak
from synth_engine.errors import DomainError
from synth_engine.hierarchy import (
    Codes,
    GazetteerHierarchy,
    Hierarchy,
    ProductHierarchy,
    SpatialHierarchy,
    StringHierarchy,
    TaxonomyHierarchy,
)
from synth_engine.hierarchy.points import BITS
from synth_engine.indexing import classes, gazetteers
from synth_engine.values.strings import Strings

FINEST = 16
"""How often each side of a box around public points is halved at most: cells of a state are then a few metres
long."""


def hierarchy(
    domain: Domain,
    columns: Sequence[str],
    *,
    together: bool = True,
    texts: StringHierarchy | None = None,
) -> Hierarchy:
    """Return the public hierarchy of some columns.

    Columns of numbers give points in the box of their bounds, as fine as the bins of all of them allow.
    Columns of codes with public points give these points, in the box around them; only cells with such points
    count. One column of unknown texts over an alphabet gives its characters, one column with partitions its
    classes. Several columns of which some are no coordinates take turns: all coordinates as points, the
    classes of each other column, and the characters of one column of unknown texts.

    texts: the hierarchy of the texts that a release measured, whose own texts are made up. Errors:
    DomainError naming the column."""
    attributes = [domain.attribute(name) for name in columns]
    if len(attributes) == 1 and isinstance(attributes[0], Weak):
        return words(attributes[0])
    coded = {site.columns[0] for site in gazetteers.sites(domain, columns) if site.of_codes}
    sided = [
        each.name
        for each in attributes
        if isinstance(each, Number | Integer) or each.name in coded
    ]
    if len(sided) == len(attributes):
        return _points(domain, columns, together=together)
    if len(attributes) == 1 and not any(
        each.column == columns[0] for each in domain.partitions
    ):
        return _points(domain, columns, together=together)  # which says what is amiss
    return _product(domain, columns, sided=sided, together=together, texts=texts)


def _product(
    domain: Domain,
    columns: Sequence[str],
    *,
    sided: Sequence[str],
    together: bool,
    texts: StringHierarchy | None,
) -> TaxonomyHierarchy | ProductHierarchy:
    factors: list[SpatialHierarchy | TaxonomyHierarchy | StringHierarchy] = (
        [_points(domain, sided, together=together)] if sided else []
    )
    for name in columns:
        attribute = domain.attribute(name)
        if texts is not None and name in texts.columns:
            factors.append(texts)
        elif isinstance(attribute, Weak) and not any(
            isinstance(each, StringHierarchy) for each in factors
        ):
            factors.append(words(attribute))
        elif isinstance(attribute, Weak) or not attribute.size:
            raise attribute.error(
                "a column whose values are not known, among those of a tree",
                repair="describe its values, or leave it out",
            )
        elif name not in sided:
            factors.append(classes.taxonomy(domain, name))
    if len(columns) == 1 and isinstance(factors[0], TaxonomyHierarchy):
        return factors[0]
    return ProductHierarchy(columns=tuple(columns), components=tuple(factors))


def _points(domain: Domain, columns: Sequence[str], *, together: bool) -> SpatialHierarchy:
    gazetteer_sites = gazetteers.sites(domain, columns)
    coded = {site.columns[0]: site for site in gazetteer_sites if site.of_codes}
    sides = [
        _Side.of_points(name, site) if (site := coded.get(name)) else _Side.of(domain, name)
        for name in columns
    ]
    if not sides:
        raise DomainError("points have no coordinate", repair="name columns of numbers")
    low, high = (
        tuple(bound for side in sides for bound in getattr(side, end))
        for end in ("low", "high")
    )
    halvings = min(side.halvings for side in sides)
    # A code holds the bits of all coordinates in one machine word, and no side can be
    # finer than its coarsest column.
    box: dict[str, Any] = {
        "low": low,
        "high": high,
        "resolution": min(halvings, BITS // len(low)),
        "together": together,
    }
    if not gazetteer_sites:
        return SpatialHierarchy(columns=tuple(columns), **box)
    names = tuple(side.name for side in sides for _ in side.low)
    points = GazetteerHierarchy(columns=tuple(columns), sides=names, supports=(), **box)
    supports = tuple(
        gazetteers.support(points, site, positions=_parts(points, site, domain))
        for site in gazetteer_sites
    )
    return replace(points, supports=supports)


@dataclass(frozen=True, kw_only=True)
class _Side:
    """The coordinates of a column in a box: their bounds, and how often the bins can be halved."""

    name: str
    low: tuple[float, ...]
    high: tuple[float, ...]
    halvings: int

    @classmethod
    def of_points(cls, name: str, site: gazetteers.Site) -> _Side:
        low, high = zip(*site.bounds(), strict=True)
        return cls(name=name, low=low, high=high, halvings=FINEST)

    @classmethod
    def of(cls, domain: Domain, name: str) -> _Side:
        attribute = domain.attribute(name)
        if not isinstance(attribute, Number | Integer):
            raise attribute.error(
                "a coordinate of points that is no number",
                repair="describe it as a number, give public points of its values, or leave it out",
            )
        if attribute.missing is not None:
            raise attribute.error(
                "a coordinate of points that may be missing",
                repair="leave such records out, and the markers",
            )
        if attribute.value_count < 2:
            raise attribute.error(
                "a coordinate of points with one bin",
                repair="declare more bins, or leave it out",
            )
        end = float(attribute.high if isinstance(attribute, Number) else attribute.high + 1)
        halvings = attribute.value_count.bit_length() - 1
        return cls(name=name, low=(float(attribute.low),), high=(end,), halvings=halvings)


def _parts(
    points: SpatialHierarchy, site: gazetteers.Site, domain: Domain
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the part of latitude and of longitude in which each public point lies."""
    if not site.of_codes:
        north, east = (
            _positions(points, domain.sizes[name])[site.codes[name]] for name in site.columns
        )
        return north, east
    both = []
    for values, (low, high) in zip(site.at.T[:2], site.bounds(), strict=True):
        parts = np.floor((values - low) / (high - low) * points.parts).astype(np.int64)
        both.append(np.clip(parts, 0, points.parts - 1))
    return both[0], both[1]


def _positions(points: SpatialHierarchy, size: int) -> NDArray[np.int64]:
    """Return the part of a coordinate in which each of its bins begins."""
    positions: NDArray[np.int64] = np.arange(size) * points.parts // size
    return positions


def words(attribute: Weak) -> StringHierarchy:
    """The signs of a column of unknown texts. Errors: DomainError if its texts are not those over an
    alphabet."""
    values = attribute.values
    if not isinstance(values, Strings):
        raise attribute.error(
            "texts that are not those over an alphabet", repair='declare the set "strings"'
        )
    return StringHierarchy(
        columns=(attribute.name,),
        alphabet=values.alphabet,
        shortest=values.min_length,
        longest=values.max_length,
    )


def of_codes(
    hierarchy: Hierarchy, columns: Mapping[str, NDArray[Any]], domain: Domain
) -> Codes:
    """Codes of records from the numbers of their bins. A part of the box is the bins that begin in it, so
    that bins of one width and a power of two of them are its parts. Where cells have public points, a record
    in a cell without any is moved to the nearest, by itself; the code of one that lies nowhere means nothing.
    Of classes the code is that of the value. Of texts, whose values have no bins, the codes themselves are
    given (`ranked`)."""
    parts = []
    for part in hierarchy.components:
        values = columns[part.columns[0]]
        match part:
            case SpatialHierarchy():
                parts.append(_codes_of_points(part, columns, domain))
            case TaxonomyHierarchy():
                parts.append(part.codes[values])
            case _:
                parts.append(values)
    return hierarchy.join(parts)


def _codes_of_points(
    points: SpatialHierarchy, columns: Mapping[str, NDArray[Any]], domain: Domain
) -> Codes:
    coded = {
        site.columns[0]: site
        for site in gazetteers.sites(domain, points.columns)
        if site.of_codes
    }
    tables = []
    for name in points.columns:
        if name not in coded:
            positions = _positions(points, domain.sizes[name])
            tables.append(points.spread(positions, points.axes.index(name)))
            continue
        bits = gazetteers.bits(points, coded[name])
        # Other and missing values lie nowhere (`nowhere`); the bits of the first point only keep the arrays
        # whole.
        tables.append(np.append(bits, np.repeat(bits[:1], domain.sizes[name] - bits.size)))
    codes = points.looked_up([columns[name] for name in points.columns], tables)
    return points.supported(codes) if isinstance(points, GazetteerHierarchy) else codes


def partial(domain: Domain, columns: Sequence[str]) -> bool:
    """Whether a record can lie nowhere, having another code than those with points."""
    placed = {points.column for points in domain.points}
    return any(
        name in placed and domain.attribute(name).value_count < domain.sizes[name]
        for name in columns
    )


def nowhere(
    hierarchy: Hierarchy, columns: Mapping[str, NDArray[np.integer[Any]]], domain: Domain
) -> NDArray[np.bool_] | None:
    """Return which records lie nowhere, each judged by itself: those whose column of codes has no declared
    value. None: no record can."""
    missing = None
    for name in hierarchy.columns:
        if partial(domain, (name,)):
            mine = columns[name] >= domain.attribute(name).value_count
            missing = mine if missing is None else missing | mine
    return missing


def first_bins(
    points: SpatialHierarchy, positions: NDArray[np.int64], *, size: int
) -> NDArray[np.int64]:
    """The first bin of each part of a coordinate that has so many; of part i + 1 it is the end of part i."""
    bins: NDArray[np.int64] = -(-positions * size // points.parts)
    return bins


def ranked(
    texts: StringHierarchy, domain: Domain, ranks: Sequence[int]
) -> tuple[Codes, NDArray[np.bool_]]:
    """Codes of texts from their numbers within the public set, and which of these are of a text at all:
    "other" and missing are not."""
    attribute = domain.attribute(texts.columns[0])
    if not (isinstance(attribute, Weak) and isinstance(attribute.values, Strings)):
        raise TypeError("the attribute is not a set of strings")
    values: Strings = attribute.values
    inside = np.array([rank < values.size for rank in ranks], dtype=np.bool_)
    return texts.code(
        _signs(values, [rank if rank < values.size else 0 for rank in ranks])
    ), inside


def _signs(values: Strings, ranks: Sequence[int]) -> NDArray[np.uint8]:
    """Return the character of the alphabet, from 1 on, that each text has at each place, and 0 after its end.
    Among those of its length a text is a number whose digits are signs: as many as a machine word holds are
    taken off at a time, from the end."""
    lengths, rest = values.splits(ranks)
    places = np.array(lengths, dtype=np.int64)
    symbols = np.zeros((len(rest), values.max_length), dtype=np.uint8)
    base = len(values.alphabet)
    digits = int(62 / math.log2(max(base, 2)))
    unit = base**digits
    while (left := np.flatnonzero(places)).size:
        word = np.array([value % unit for value in rest], dtype=np.int64)
        rest = [value // unit for value in rest]
        for _ in range(min(digits, int(places.max()))):
            places[left] -= 1
            symbols[left, places[left]] = word[left] % base + 1
            word //= base
            left = left[places[left] > 0]
    return symbols
