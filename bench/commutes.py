"""Makes examples/commutes/commutes.parquet from two public files of the US Census Bureau, and describes towns
and counties.

    python bench/commutes.py ri_od_main_JT00_2019.csv.gz ri_xwalk.csv.gz examples/commutes/commutes.parquet
    python bench/commutes.py --describe ri_xwalk.csv.gz examples/commutes/commutes.domain.json

Both are of LODES 7, Rhode Island (https://lehd.ces.census.gov/data/): jobs by census block of work and of
home in 2019, all jobs, both ends in the state; and the crosswalk from blocks to points and areas. Every job
becomes a row. Blocks are replaced by their county, their town and the point inside them that the crosswalk
gives, rounded to four decimals (about ten metres). Nothing is drawn, left out or made up. Rows are sorted by
place, which says nothing and packs well.

`--describe` writes into the description that a town is that of the nearest census block of the crosswalk, and
a county that of its town. Blocks that change the town of no other block are left out.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.spatial import KDTree

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from synth_engine.kinds.nearest_points import on_sphere

AREAS = {
    "county": "ctyname",
    "town": "ctycsubname",
    "latitude": "blklatdd",
    "longitude": "blklondd",
}


def places_of(blocks: pd.DataFrame) -> pd.DataFrame:
    """County, town, latitude and longitude of each census block."""
    places = pd.DataFrame({name: blocks[column] for name, column in AREAS.items()})
    places["county"] = places["county"].str.removesuffix(" County, RI")
    places["town"] = places["town"].str.replace(r" (city|town)? ?\(.*\)$", "", regex=True)
    places[["latitude", "longitude"]] = places[["latitude", "longitude"]].astype(float).round(4)
    places.index = pd.Index(blocks["tabblk2010"])
    return places


def commutes(pairs: pd.DataFrame, blocks: pd.DataFrame) -> pd.DataFrame:
    """One row a job: home and work, each by county, town, latitude and longitude."""
    places = places_of(blocks)
    times = pairs["S000"].astype(int)
    jobs = pairs.loc[pairs.index.repeat(times)]
    home = places.loc[jobs["h_geocode"]].add_prefix("home_").reset_index(drop=True)
    work = places.loc[jobs["w_geocode"]].add_prefix("work_").reset_index(drop=True)
    table = pd.concat([home, work], axis=1)
    order = ["work_latitude", "work_longitude", "home_latitude", "home_longitude"]
    return table.sort_values(order, kind="stable", ignore_index=True)


def condensed(places: pd.DataFrame) -> pd.DataFrame:
    """The places of which the nearest has the right town for every other one: condensed nearest neighbours
    (Hart 1968)."""
    at = on_sphere(places["latitude"].to_numpy(), places["longitude"].to_numpy())
    towns = places["town"].to_numpy()
    retained = ~places["town"].duplicated().to_numpy()
    while True:
        indices = np.flatnonzero(retained)
        nearest = indices[KDTree(at[indices]).query(at)[1]]
        wrong = np.flatnonzero(towns[nearest] != towns)
        if not wrong.size:
            return places[retained]
        # One more around each point that has a wrong neighbour: fewer remain than if all were added.
        _, first = np.unique(nearest[wrong], return_index=True)
        retained[wrong[first]] = True


def describe(blocks_file: str, domain_file: str) -> None:
    """Writes towns and counties as computed columns into a description of the commutes."""
    path = Path(domain_file)
    document = json.loads(path.read_text())
    # Blocks of water have no town, and two lie in Massachusetts.
    places = places_of(pd.read_csv(blocks_file, dtype=str)).dropna(subset="town")
    places = places[
        places["county"].isin(["Bristol", "Kent", "Newport", "Providence", "Washington"])
    ]
    places = places.drop_duplicates(["latitude", "longitude"])
    counties = places.drop_duplicates("town").sort_values("town")
    points = condensed(places).sort_values(["latitude", "longitude"])
    derived = {}
    for end in ("home", "work"):
        derived[f"{end}_town"] = {
            "rule": "nearest",
            "of": [f"{end}_latitude", f"{end}_longitude"],
            "points": points[["latitude", "longitude", "town"]].to_numpy().tolist(),
            "provenance": "public-file",
            "why": "The town of the nearest census block of the Census Bureau's crosswalk (LODES 7, "
            "ri_xwalk).",
        }
        derived[f"{end}_county"] = {
            "rule": "lookup",
            "of": [f"{end}_town"],
            "table": counties[["town", "county"]].to_numpy().tolist(),
            "provenance": "public-file",
            "why": "The county in which the town lies, by the same crosswalk.",
        }
    lines = []
    for column in document["attributes"]:
        name = column["name"]
        if name in derived:
            column = {"name": name, "kind": "derived", **derived[name]}
        lines.append("  " + json.dumps(column, ensure_ascii=False))
    head = {key: value for key, value in document.items() if key != "attributes"}
    start = json.dumps(head, ensure_ascii=False, indent=1).removesuffix("\n}")
    path.write_text(start + ',\n "attributes": [\n' + ",\n".join(lines) + "\n ]\n}\n")
    print(f"{len(points):,} of {len(places):,} blocks, {path.stat().st_size:,} bytes")


def main(pairs_file: str, blocks_file: str, out: str) -> None:
    pairs, blocks = (pd.read_csv(path, dtype=str) for path in (pairs_file, blocks_file))
    table = pa.Table.from_pandas(
        commutes(pairs, blocks), preserve_index=False
    ).replace_schema_metadata(None)
    pq.write_table(
        table,
        out,
        compression="zstd",
        compression_level=19,
        use_dictionary=True,
        row_group_size=1 << 20,
    )
    jobs = int(np.sum(pairs["S000"].astype(int)))
    print(f"{table.num_rows:,} rows of {jobs:,} jobs, {Path(out).stat().st_size:,} bytes")


if __name__ == "__main__":
    if sys.argv[1] == "--describe":
        describe(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
