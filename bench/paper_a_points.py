"""The part of bench/paper_a.py that is about points: homes and places of work in Rhode Island."""

from __future__ import annotations

import csv
import gzip
import json
import time
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from synth_engine import codec, mechanisms
from synth_engine.domain import Domain
from synth_engine.hierarchy import SpatialHierarchy
from synth_engine.indexing import places, prefixes
from synth_engine.room.rows import Rows
from synth_engine.room.session import open_session
from synth_engine.spec import Spec

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "commutes"
BLOCKS = "data/lodes_ri/ri_xwalk.csv.gz"
DEPTHS = 8
CITIES = {
    "Providence": (41.824, -71.413),
    "Newport": (41.490, -71.313),
    "Westerly": (41.378, -71.827),
}
WORK = ("work_latitude", "work_longitude")
RADIUS = 5 * 1.609344  # kilometres in five miles
KILOMETRES = np.array([1, 2, 5, 10, 15, 20, 30, 40, 60, 80])
Floats = npt.NDArray[np.float64]
Codes = dict[str, npt.NDArray[np.uint16]]


@dataclass(frozen=True, kw_only=True)
class Source:
    """The table in the room, read once for all runs, with what the figures need of the truth."""

    domain: Domain
    supported: Domain | None
    points: SpatialHierarchy
    columns: Codes
    sorted: npt.NDArray[np.uint64]
    far: dict[str, Floats]


@cache
def source(folder: Path) -> Source:
    """folder: the one with data/; without its blocks nothing has a support."""
    document = json.loads((EXAMPLE / "points.domain.json").read_text())
    domain = Domain.from_json(document)
    table = pq.read_table(EXAMPLE / "commutes.parquet", columns=list(domain.names))
    columns = codec.encode(domain, {name: table[name].cast("string") for name in domain.names})
    points = prefixes.hierarchy(domain, domain.names)
    assert isinstance(points, SpatialHierarchy)
    blocks = folder / BLOCKS
    supported = None
    if blocks.exists():
        with gzip.open(blocks, "rt", newline="") as lines:
            at = [
                [round(float(line[name]), 4) for name in ("blklatdd", "blklondd")]
                for line in csv.DictReader(lines)
            ]
        (south, north), (west, east) = (inside(domain, name) for name in WORK)
        at = [
            [north_of, east_of]
            for north_of, east_of in at
            if south <= north_of <= north and west <= east_of <= east
        ]
        supported = Domain.from_json(
            document | {"points": [{"place": name, "at": at} for name in ("home", "work")]}
        )
    return Source(
        domain=domain,
        supported=supported,
        points=points,
        columns=columns,
        sorted=np.sort(prefixes.of_codes(points, columns, domain)),
        far=distances(domain, columns),
    )


def inside(domain: Domain, name: str) -> tuple[float, float]:
    cuts = domain.attribute(name).cuts  # type: ignore[attr-defined]
    return float(cuts[0]), float(cuts[-1])


def cells(
    points: SpatialHierarchy, codes: npt.NDArray[np.uint64], depth: int
) -> tuple[npt.NDArray[np.uint64], Floats]:
    """Of sorted codes: the nodes of that depth that hold any, and how many each holds."""
    found = points.prefix(codes, depth)
    first = np.flatnonzero(np.append(True, found[1:] != found[:-1])[: found.size])
    return found[first], np.diff(np.append(first, found.size)).astype(np.float64)


def emd(
    points: SpatialHierarchy, real: npt.NDArray[np.uint64], synthetic: npt.NDArray[np.uint64]
) -> Floats:
    """Cumulated over depths 0 to DEPTHS, as a share of the records. Both sorted."""
    found = []
    for depth in range(DEPTHS + 1):
        sides = [cells(points, codes, depth) for codes in (real, synthetic)]
        names = np.concatenate([sides[0][0], sides[1][0]])
        order = np.argsort(names, kind="stable")
        moved = np.concatenate([sides[0][1], -sides[1][1]])[order]
        starts = np.flatnonzero(np.append(True, np.diff(names[order]) != 0))
        found.append(2.0**-depth * np.abs(np.add.reduceat(moved, starts)).sum() / real.size)
    return np.cumsum(found)


def resample(points: SpatialHierarchy, real: npt.NDArray[np.uint64]) -> Floats:
    """The expected value for a resample: the mean deviation of a count is nearly its root times sqrt(2 /
    pi)."""
    found = []
    for depth in range(DEPTHS + 1):
        counts = cells(points, real, depth)[1]
        spread = np.sqrt(counts * (1 - counts / real.size) * 2 / np.pi)
        found.append(2.0**-depth * spread.sum() / real.size)
    return np.cumsum(found)


def positions(domain: Domain, codes: Codes) -> dict[str, Floats]:
    """Middles of bins, in degrees."""
    at = {}
    for name in domain.names:
        cuts = np.array(domain.attribute(name).cuts)  # type: ignore[attr-defined]
        at[name] = ((cuts[:-1] + cuts[1:]) / 2)[codes[name]]
    return at


def near(at: dict[str, Floats], city: str) -> npt.NDArray[np.bool_]:
    one = [np.full(at["home_latitude"].size, degrees) for degrees in CITIES[city]]
    found: npt.NDArray[np.bool_] = (
        places.great_circle(at["home_latitude"], at["home_longitude"], *one) <= RADIUS
    )
    return found


def distances(domain: Domain, codes: Codes) -> dict[str, Floats]:
    """Commute distances in kilometres of homes near each city, sorted."""
    at = positions(domain, codes)
    apart = places.great_circle(
        at["home_latitude"], at["home_longitude"], at["work_latitude"], at["work_longitude"]
    )
    return {city: np.sort(apart[near(at, city)]) for city in CITIES}


def destinations(domain: Domain, codes: Codes) -> list[list[int]]:
    """Table 1: places of work of homes near Providence, on a grid of 40 by 40; rows from south to north."""
    at = positions(domain, codes)
    mine = near(at, "Providence")
    cuts = [np.linspace(*inside(domain, name), 41) for name in WORK]
    found = np.histogram2d(at[WORK[0]][mine], at[WORK[1]][mine], bins=cuts)[0]
    return found.astype(int).tolist()


def ks(one: Floats, other: Floats) -> float:
    if not one.size or not other.size:
        return 1.0
    at = np.concatenate([one, other])
    sides = [np.searchsorted(side, at, side="right") / side.size for side in (one, other)]
    return float(np.abs(sides[0] - sides[1]).max())


def cdf(far: Floats) -> list[float]:
    shares: Floats = np.searchsorted(far, KILOMETRES, side="right") / max(1, far.size)
    return [float(share) for share in shares]


def truth(folder: Path) -> dict[str, Any]:
    found = source(folder)
    return {
        "records": int(found.sorted.size),
        "resample": resample(found.points, found.sorted).tolist(),
        "cdf": {city: cdf(far) for city, far in found.far.items()},
        "destinations": destinations(found.domain, found.columns),
        "supported": found.supported is not None,
    }


def measured(
    folder: Path, mechanism: str, epsilon: str, *, runs: int, support: bool
) -> dict[str, Any]:
    """Means over runs of one mechanism at one epsilon."""
    found = source(folder)
    domain = found.supported if support and found.supported is not None else found.domain
    plan = mechanisms.plan(domain, Spec(mechanism=mechanism, epsilon=Fraction(epsilon)))
    rows = Rows(found.columns, domain=domain)
    lines: dict[str, list[Any]] = {name: [] for name in ("emd", "ks", "off", "seconds", "cdf")}
    for run in range(runs):
        start = time.perf_counter()
        answers = plan.run(open_session(rows, domain=domain, cap=plan.loss))
        model = plan.fit(answers)
        lines["seconds"].append(time.perf_counter() - start)
        drawn = model.sample(model.rows, seed=str(run))
        synthetic = np.sort(prefixes.of_codes(found.points, drawn, found.domain))
        far = distances(found.domain, drawn)
        lines["emd"].append(emd(found.points, found.sorted, synthetic))
        lines["ks"].append([ks(found.far[city], far[city]) for city in CITIES])
        lines["cdf"].append([cdf(far[city]) for city in CITIES])
        lines["off"].append(
            abs(model.rows - found.sorted.size)
            / float(getattr(answers.calls[0].event, "scale", 1))
        )
    means = {
        name: np.mean(lines[name], axis=0).tolist() for name in ("emd", "ks", "seconds", "cdf")
    }
    return means | {"off": lines["off"], "destinations": destinations(found.domain, drawn)}
