"""The part of bench/paper_c.py that is about the data: jobs in Rhode Island by blocks of work and home, and
how far these are apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from synth_engine.domain.resolution import cells
from synth_engine.inference import geography
from synth_engine.inference.geography import Geography

SCALE = 6.0
"""Miles over which commutes become rarer by a factor of 2.7: public knowledge of American commutes, not
fitted."""
Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Map:
    """home, work: of each job, by place of work: a block of home and a place in `works`; at: of each block;
    areas: the part of each block by how it is cut."""

    home: Whole
    work: Whole
    works: Whole
    at: Floats
    areas: dict[str, Whole]
    sizes: Whole

    def geography(self, parts: str) -> Geography:
        return _geography(self, parts)


@cache
def _geography(commutes: Map, parts: str) -> Geography:
    part = commutes.areas[parts]
    return Geography(
        groups=commutes.at[commutes.works],
        origins=commutes.at,
        weights=np.ones(len(part)),
        part=part,
        parts=int(part.max()) + 1,
        scale=SCALE,
    )


def read(folder: Path) -> Map:
    pairs = pd.read_csv(
        folder / "ri_od_main_JT00_2019.csv.gz",
        usecols=["w_geocode", "h_geocode", "S000"],
        dtype=str,
    )
    blocks = pd.read_csv(folder / "ri_xwalk.csv.gz", dtype=str)
    place = pd.Series(np.arange(len(blocks)), index=blocks["tabblk2010"])
    jobs = pairs.loc[pairs.index.repeat(pairs["S000"].astype(int))]
    works, work = np.unique(place[jobs["w_geocode"]].to_numpy(), return_inverse=True)
    order = np.argsort(work, kind="stable")
    columns = {"block groups": "bgrp", "tracts": "trct", "towns": "ctycsub", "counties": "cty"}
    areas = {
        name: pd.factorize(blocks[column], sort=True)[0].astype(np.int64)
        for name, column in columns.items()
    }
    at = blocks[["blklatdd", "blklondd"]].astype(float).to_numpy()
    points = [(latitude, longitude, 1.0) for latitude, longitude in at.tolist()]
    areas |= {f"{number} cells": np.array(cells(points, number)) for number in (64,)}
    return Map(
        home=place[jobs["h_geocode"]].to_numpy().astype(np.int64)[order],
        work=work[order].astype(np.int64),
        works=works,
        at=at,
        areas={"blocks": np.arange(len(blocks)), **areas},
        sizes=np.bincount(work),
    )


def miles_of(homes: Whole, commutes: Map) -> Floats:
    a, b = (
        np.radians(commutes.at[places]) for places in (homes, commutes.works[commutes.work])
    )
    half = np.sin((b[:, 0] - a[:, 0]) / 2) ** 2
    half += np.cos(a[:, 0]) * np.cos(b[:, 0]) * np.sin((b[:, 1] - a[:, 1]) / 2) ** 2
    found: Floats = 2 * geography.EARTH_RADIUS_MILES * np.arcsin(np.sqrt(half))
    return found


def averages(apart: Floats, commutes: Map, *, most: float = math.inf) -> Floats:
    """Average commute of each block of work, of those up to `most` miles; NaN where there is none."""
    kept = apart <= most
    sums = np.bincount(commutes.work[kept], weights=apart[kept], minlength=commutes.works.size)
    with np.errstate(invalid="ignore"):
        found: Floats = sums / np.bincount(commutes.work[kept], minlength=commutes.works.size)
    return found


def cdf(apart: Floats, cuts: Floats) -> Floats:
    found: Floats = np.searchsorted(np.sort(apart), cuts, side="right") / apart.size
    return found
