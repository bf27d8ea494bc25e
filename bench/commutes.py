"""Makes examples/commutes/commutes.parquet from two public files of the US Census Bureau.

    python bench/commutes.py ri_od_main_JT00_2019.csv.gz ri_xwalk.csv.gz examples/commutes/commutes.parquet

Both are of LODES 7, Rhode Island (https://lehd.ces.census.gov/data/): jobs by census block of work and of home in 2019,
all jobs, both ends in the state; and the crosswalk from blocks to points and areas. Every job becomes a row. Blocks
are replaced by their county, their town and the point inside them that the crosswalk gives, rounded to four decimals
(about ten metres). Nothing is drawn, left out or made up. Rows are sorted by place, which says nothing and packs well.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

AREAS = {
    "county": "ctyname",
    "town": "ctycsubname",
    "latitude": "blklatdd",
    "longitude": "blklondd",
}


def commutes(pairs: pd.DataFrame, blocks: pd.DataFrame) -> pd.DataFrame:
    """One row a job: home and work, each by county, town, latitude and longitude."""
    places = pd.DataFrame({name: blocks[column] for name, column in AREAS.items()})
    places["county"] = places["county"].str.removesuffix(" County, RI")
    places["town"] = places["town"].str.replace(r" (city|town)? ?\(.*\)$", "", regex=True)
    places[["latitude", "longitude"]] = places[["latitude", "longitude"]].astype(float).round(4)
    places.index = blocks["tabblk2010"]
    times = pairs["S000"].astype(int)
    jobs = pairs.loc[pairs.index.repeat(times)]
    home = places.loc[jobs["h_geocode"]].add_prefix("home_").reset_index(drop=True)
    work = places.loc[jobs["w_geocode"]].add_prefix("work_").reset_index(drop=True)
    table = pd.concat([home, work], axis=1)
    order = ["work_latitude", "work_longitude", "home_latitude", "home_longitude"]
    return table.sort_values(order, kind="stable", ignore_index=True)


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
    main(*sys.argv[1:])
