"""Recognise the roles of columns by their names: the files of LODES, and names that are in use."""

from __future__ import annotations

from collections.abc import Sequence

from synth_engine.references.base import Roles

# LODES 7 and 8, "Geography Crosswalk": https://lehd.ces.census.gov/data/lodes/LODES8/LODESTechDoc8.1.pdf
_BLOCKS = ("tabblk2020", "tabblk2010")
_PARENTS = (
    ("block group", "bgrp"),
    ("tract", "trct"),
    ("town", "ctycsub"),
    ("county", "cty"),
    ("state", "st"),
)
_NAMES = (
    *(("block group", "bgrpname"), ("tract", "trctname"), ("town", "ctycsubname")),
    *(("county", "ctyname"), ("state", "stname")),
)
_CODES = ("code", "geocode", "geoid", "geoid20", "geoid10", "id", "area", "zone", "zip", "zcta")
_LATITUDES = ("latitude", "lat", "blklatdd", "intptlat", "intptlat20", "y")
_LONGITUDES = (
    "longitude",
    "lon",
    "lng",
    "long",
    "blklondd",
    "intptlong",
    "intptlon",
    "intptlong20",
    "x",
)
_WEIGHTS = ("weight", "population", "pop", "residents", "jobs", "workers", "count")


def is_crosswalk(names: Sequence[str]) -> bool:
    """Whether this is a `*_xwalk.csv.gz` of LODES."""
    return {"blklatdd", "blklondd"} <= set(names) and any(block in names for block in _BLOCKS)


def is_origin_destination(names: Sequence[str]) -> bool:
    """Whether this is a `*_od_*.csv.gz` of LODES: jobs by block of work and block of home."""
    return {"w_geocode", "h_geocode", "S000"} <= set(names)


def recognise(names: Sequence[str]) -> Roles | None:
    """The roles of a file's columns as far as their names tell; None where no column can be the code."""
    if is_crosswalk(names):
        block = next(block for block in _BLOCKS if block in names)
        parents = tuple((name, column) for name, column in _PARENTS if column in names)
        named_parents = {name for name, _ in parents}
        called = tuple(
            (name, column)
            for name, column in _NAMES
            if column in names and name in named_parents
        )
        return Roles(
            code=block, latitude="blklatdd", longitude="blklondd", parents=parents, names=called
        )
    if is_origin_destination(names):
        # One line is a pair of home and work: over all workplaces it sums to workers by home.
        return Roles(code="h_geocode", weight="S000", adds=True)
    # Reversed, so that of two names that differ in case the first column counts.
    lower = {name.lower(): name for name in reversed(names)}
    code = _first(_CODES, lower)
    latitude, longitude, weight = (
        _first(known, lower) for known in (_LATITUDES, _LONGITUDES, _WEIGHTS)
    )
    if latitude is None or longitude is None:
        latitude = longitude = None
    if code is None or (latitude is None and weight is None):
        return None
    return Roles(code=code, latitude=latitude, longitude=longitude, weight=weight)


def _first(known: Sequence[str], names: dict[str, str]) -> str | None:
    return next((names[name] for name in known if name in names), None)
