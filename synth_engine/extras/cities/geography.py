"""The geography that all tables of a city share: areas with a code, a point, and what is publicly known of
them."""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.spatial import KDTree

from synth_engine.errors import SpecError, TableError
from synth_engine.extras.cities.specification import Areas
from synth_engine.kinds.nearest_points import on_sphere

EARTH_KILOMETRES = 6371.0088
MAX_BYTES = 50_000_000
"""Of a file that is unpacked in memory."""
MAX_AREAS = 2_000_000
Indices = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class AreaTable:
    """The areas. table: a text in each cell, but for numbers in latitude and longitude. sha256: of the
    file."""

    areas: Areas
    table: pd.DataFrame
    sha256: str

    def __len__(self) -> int:
        return len(self.table)

    @cached_property
    def latitude(self) -> Floats:
        """In degrees, shape (areas,)."""
        degrees: Floats = self.table[self.areas.latitude].to_numpy(dtype=np.float64)
        return degrees

    @cached_property
    def longitude(self) -> Floats:
        """In degrees, shape (areas,)."""
        degrees: Floats = self.table[self.areas.longitude].to_numpy(dtype=np.float64)
        return degrees

    @cached_property
    def points(self) -> Floats:
        """Points of the unit sphere, shape (areas, 3)."""
        return on_sphere(self.latitude, self.longitude)

    @cached_property
    def _tree(self) -> KDTree:
        return KDTree(self.points)

    def of_codes(self, codes: pd.Series) -> Indices:
        """The index of the area of each code; -1 for a code of no area."""
        known = pd.Index(self.table[self.areas.key])
        indices: Indices = known.get_indexer(codes).astype(np.int64)
        return indices

    def of_points(self, latitude: Floats, longitude: Floats) -> Indices:
        """The index of the nearest area of each point."""
        _, index = self._tree.query(on_sphere(latitude, longitude))
        nearest: Indices = np.asarray(index, dtype=np.int64)
        return nearest

    def require(self, column: str, *, of: str) -> pd.Series:
        """A column of the areas, as texts. Errors: SpecError. of: what names it."""
        if column not in self.table:
            raise SpecError(
                f"{of}: the areas have no column {column!r}",
                repair=f"use one of {', '.join(map(str, self.table.columns))}",
            )
        texts: pd.Series = self.table[column]
        return texts

    def whole_numbers(self, column: str, *, of: str) -> Indices:
        """A column of the areas as whole numbers of 0 or more. Errors: SpecError."""
        numbers = pd.to_numeric(self.require(column, of=of), errors="coerce")
        if numbers.isna().any() or (numbers < 0).any() or (numbers % 1 != 0).any():
            raise SpecError(
                f"{of}: the column {column!r} of the areas is not of whole numbers of 0 or more",
                repair="name a column of counts",
            )
        return numbers.to_numpy(dtype=np.int64)

    def kilometres(self, first: Indices, second: Indices) -> Floats:
        """Distances between areas as the crow flies."""
        chord = np.linalg.norm(self.points[first] - self.points[second], axis=1)
        # Rounding may carry a chord beyond the diameter.
        angle: Floats = 2 * np.arcsin(np.minimum(chord / 2, 1.0))
        return angle * EARTH_KILOMETRES

    def projected(self) -> tuple[Floats, Floats, int]:
        """Metres east and north of every area in the zone of UTM of their middle, and the code of the zone
        (EPSG)."""
        zone = int(np.clip(np.floor((self.longitude.mean() + 180) / 6) + 1, 1, 60))
        south = bool(self.latitude.mean() < 0)
        east, north = _utm(self.latitude, self.longitude - (6 * zone - 183))
        return east, north + (10_000_000 if south else 0), (32700 if south else 32600) + zone


def _utm(latitude: Floats, from_meridian: Floats) -> tuple[Floats, Floats]:
    """Metres in the universal transverse Mercator projection on WGS 84, by the series of Krüger (1912) to the
    third order of the flattening, which is exact to a millimetre within a zone. from_meridian: degrees from
    the central meridian."""
    flattening = 1 / 298.257223563
    n = flattening / (2 - flattening)
    radius = 6_378_137 / (1 + n) * (1 + n**2 / 4 + n**4 / 64)
    alpha = (
        n / 2 - 2 * n**2 / 3 + 5 * n**3 / 16,
        13 * n**2 / 48 - 3 * n**3 / 5,
        61 * n**3 / 240,
    )
    eccentricity = 2 * np.sqrt(n) / (1 + n)
    sine, turn = np.sin(np.radians(latitude)), np.radians(from_meridian)
    conformal = np.sinh(np.arctanh(sine) - eccentricity * np.arctanh(eccentricity * sine))
    xi = np.arctan2(conformal, np.cos(turn))
    eta = np.arctanh(np.sin(turn) / np.sqrt(1 + conformal**2))
    east, north = eta.copy(), xi.copy()
    for order, factor in enumerate(alpha, start=1):
        east += factor * np.cos(2 * order * xi) * np.sinh(2 * order * eta)
        north += factor * np.sin(2 * order * xi) * np.cosh(2 * order * eta)
    return 500_000 + 0.9996 * radius * east, 0.9996 * radius * north


def unpacked(raw: bytes) -> bytes:
    """The bytes of a file that is packed by gzip. Errors: SpecError."""
    try:
        with gzip.open(io.BytesIO(raw)) as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error):
        raise SpecError(
            "the file of the areas is not packed by gzip", repair="pack it again"
        ) from None
    if len(content) > MAX_BYTES:
        raise SpecError("the file of the areas is too large", repair="use fewer areas")
    return content


def load(areas: Areas, *, folder: Path) -> AreaTable:
    """The areas in a CSV, packed by gzip or not. Errors: TableError, SpecError with column, rule and
    repair."""
    path = folder / areas.file
    try:
        raw = path.read_bytes()
        content = gzip.decompress(raw) if path.name.endswith(".gz") else raw
        table = pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False)
    except OSError:
        raise SpecError(
            "the file of the areas is not there",
            repair="name it; paths start at the folder of the specification",
        ) from None
    except (ValueError, EOFError):
        raise TableError(
            "the file of the areas is no CSV in UTF-8 with names in its first line",
            repair="write it so",
        ) from None
    for column in (areas.key, areas.latitude, areas.longitude):
        if column not in table:
            raise TableError(
                "the areas have no such column",
                repair=f"name one of {', '.join(map(str, table.columns))}",
                column=column,
            )
    if not 1 <= len(table) <= MAX_AREAS:
        raise TableError(f"the areas are not from 1 to {MAX_AREAS:,}", repair="check the file")
    repeated = table[areas.key].duplicated() | (table[areas.key] == "")
    if repeated.any():
        raise TableError(
            "an area has no code, or that of another one",
            repair="give each a code of its own",
            column=areas.key,
            line=int(np.argmax(repeated)) + 2,
        )
    bounds: Mapping[str, int] = {areas.latitude: 90, areas.longitude: 180}
    for column, bound in bounds.items():
        degrees = pd.to_numeric(table[column], errors="coerce")
        wrong = degrees.isna() | (degrees.abs() > bound)
        if wrong.any():
            raise TableError(
                f"it is no number of degrees from -{bound} to {bound}",
                repair="give the point of each area in degrees",
                column=column,
                line=int(np.argmax(wrong)) + 2,
            )
        table[column] = degrees
    return AreaTable(areas=areas, table=table, sha256=hashlib.sha256(raw).hexdigest())
