"""Small files of the shapes that documented commands read: the examples, and the public data that programs of
bench/ take."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
BLOCKS = 40
ADULT_RECORDS, COMMUTES = 3_000, 5_000


def people(folder: Path, *, rows: int = 300) -> Path:
    """people.csv: ages and jobs, with a column of persons that nobody needs."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 80, rows),
            "job": rng.choice(["clerk", "smith", "cook"], rows, p=[0.5, 0.3, 0.2]),
        }
    )
    table.to_csv(folder / "people.csv", index=False)
    return folder / "people.csv"


def described_people(folder: Path) -> Path:
    """domain.json of that table, confirmed."""
    attributes = [
        {"name": "age", "kind": "integer", "low": 0, "high": 99},
        {
            "name": "job",
            "kind": "categorical",
            "values": ["clerk", "smith", "cook"],
            "outside": "clamp",
        },
    ]
    (folder / "domain.json").write_text(json.dumps({"attributes": attributes}))
    return folder / "domain.json"


def examples(folder: Path) -> Path:
    """The folder examples/ with some records of its tables, and as many public totals; the descriptions are
    as they are."""
    out = folder / "examples"
    (out / "commutes").mkdir(parents=True)
    lines = gzip.decompress((EXAMPLES / "adult.csv.gz").read_bytes()).splitlines(keepends=True)
    (out / "adult.csv.gz").write_bytes(gzip.compress(b"".join(lines[: ADULT_RECORDS + 1])))
    commutes = pd.read_parquet(EXAMPLES / "commutes" / "commutes.parquet")
    # Every town has a job, as every one has a public total.
    chosen = commutes.groupby("work_town", sort=False).head(1).index
    some = commutes.loc[chosen.union(commutes.sample(COMMUTES, random_state=0).index)]
    some.to_parquet(out / "commutes" / "commutes.parquet", index=False)
    for path in EXAMPLES.rglob("*.json"):
        target = out / path.relative_to(EXAMPLES)
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(path.read_bytes())
    jobs = {str(town): int(number) for town, number in some["work_town"].value_counts().items()}
    towns = json.loads((EXAMPLES / "commutes" / "towns.domain.json").read_text())
    towns["totals"]["counts"] = jobs
    (out / "commutes" / "towns.domain.json").write_text(json.dumps(towns))
    _city(out / "city", some, jobs)
    return out


def _city(out: Path, commutes: pd.DataFrame, jobs: dict[str, int]) -> None:
    """The specification of the city with these jobs of its towns, and its blocks with those of its blocks."""
    specification = yaml.safe_load((EXAMPLES / "city" / "city.yaml").read_text())
    [total] = specification["tables"]["jobs"]["totals"]
    total["counts"] = jobs
    (out / "city.yaml").write_text(yaml.safe_dump(specification, sort_keys=False))
    blocks = pd.read_csv(EXAMPLES / "city" / "blocks.csv.gz", dtype={"block": str})
    ends = pd.MultiIndex.from_frame(commutes[["work_latitude", "work_longitude"]])
    at = pd.MultiIndex.from_frame(blocks[["latitude", "longitude"]])
    blocks["jobs"] = ends.value_counts().reindex(at, fill_value=0).to_numpy()
    homes = pd.MultiIndex.from_frame(commutes[["home_latitude", "home_longitude"]])
    blocks = blocks[(blocks["jobs"] > 0) | at.isin(homes)]
    blocks.to_csv(out / "blocks.csv.gz", index=False)


def commutes(folder: Path, *, jobs: int = 1_500) -> None:
    """The two files of LODES: pairs of census blocks, and blocks with their places and areas."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(2)
    number = np.arange(BLOCKS)
    town, tract = number // 10, number // 5
    blocks = pd.DataFrame(
        {
            "tabblk2010": [
                f"44001{each:02}{place:08}" for each, place in zip(tract, number, strict=True)
            ],
            "cty": "44001",
            "ctyname": "Bristol County, RI",
            "trct": [f"44001{each:06}" for each in tract],
            "bgrp": [f"44001{each:07}" for each in number // 3],
            "ctycsub": [f"44001{each:05}" for each in town],
            "ctycsubname": [f"Town {each}" for each in town],
            "blklatdd": 41.5 + 0.05 * town + rng.random(BLOCKS) * 0.04,
            "blklondd": -71.5 + 0.02 * (number % 10) + rng.random(BLOCKS) * 0.01,
        }
    )
    blocks.to_csv(folder / "ri_xwalk.csv.gz", index=False)
    pairs = pd.DataFrame(
        {
            "w_geocode": blocks["tabblk2010"].to_numpy()[rng.integers(0, BLOCKS // 4, jobs)],
            "h_geocode": blocks["tabblk2010"].to_numpy()[rng.integers(0, BLOCKS, jobs)],
            "S000": rng.integers(1, 3, jobs),
        }
    ).drop_duplicates(["w_geocode", "h_geocode"])
    pairs.to_csv(folder / "ri_od_main_JT00_2019.csv.gz", index=False)


def baskets(path: Path, *, rows: int = 800) -> None:
    """Lists of items, of which small numbers are frequent, and a blank line."""
    rng = np.random.default_rng(3)
    lines = [
        " ".join(map(str, np.unique(rng.geometric(0.03, rng.integers(1, 8)))))
        for _ in range(rows)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("\n".join([*lines, ""]).encode() + b"\n"))


# ---- the public data of benchmarks
# ---------------------------------------------------------------------------------

CATEGORIES = {
    "SEX": ("1", "2"), "HISP": ("0", "1", "2"), "RAC1P": ("1", "2", "6", "8", "9"),
    "MSP": ("1", "4", "6", "N"),
    "HOUSING_TYPE": ("1", "2", "3"), "OWN_RENT": ("1", "2", "0"), "INDP_CAT": ("1", "4", "9", "N"),
    "EDU": ("1", "5", "7", "9", "N"),
    "PINCP_DECILE": ("0", "3", "7", "N"), "DVET": ("1", "N"), "DREM": ("1", "2", "N"),
    "DPHY": ("1", "2", "N"),
    "DEYE": ("1", "2"), "DEAR": ("1", "2"), "PUMA": ("01-01301", "25-00503", "25-00703"),
}  # fmt: skip
NUMBERS = {"AGEP": (0, 99), "NOC": (1, 19), "NPF": (2, 20), "DENSITY": (16.3, 52864.7),
    "PINCP": (-9000, 1341000),
           "POVPIP": (0, 500), "WGTP": (1, 9999), "PWGTP": (1, 9999)}  # fmt: skip
SPLIT = """
import json, pathlib, sys
import pandas as pd
data, out = pathlib.Path(__file__).resolve().parent.parent / "data" / "adult", pathlib.Path(sys.argv[1])
domain = json.loads((data / "adult_discretised-domain.json").read_text())
table = pd.read_csv(data / "adult_discretised.csv.gz")[list(domain)]
cut = len(table) * 4 // 5
table.iloc[:cut].to_csv(out / "train.csv", index=False)
table.iloc[cut:].to_csv(out / "test.csv", index=False)
(out / "domain.json").write_text(json.dumps(domain))
"""
SCORE = """
import numpy as np

def tvd(real, synthetic, columns, sizes, place):
    shape = [sizes[name] for name in columns]
    axes = [place[name] for name in columns]
    cells = int(np.prod(shape))
    shares = [np.bincount(np.ravel_multi_index(table[:, axes].T, shape), minlength=cells) / len(table)
              for table in (real, synthetic)]
    return 0.5 * np.abs(shares[0] - shares[1]).sum()

def ml(train, test, sizes, place, columns, target):
    return {"lr_auc": 0.5, "hgb_auc": 0.5}
"""
PLANTED = """
import argparse, json, pathlib
import numpy as np
import pandas as pd
parser = argparse.ArgumentParser()
parser.add_argument("kind"), parser.add_argument("out"), parser.add_argument("--seed", type=int)
given = parser.parse_args()
columns = {f"c{number}": 2 for number in range(4)} | {"label": 2}
codes = np.random.default_rng(given.seed).integers(0, 2, (500, 5))
codes[:, 4] = codes[:, 0] ^ codes[:, 1]
pd.DataFrame(codes, columns=list(columns)).to_csv(given.out, index=False)
(pathlib.Path(given.out).parent / "domain.json").write_text(json.dumps(columns))
"""


def shared(folder: Path) -> Path:
    """The folder that programs of bench/ take: data/ and tools/, as ../shared has them."""
    out, data = folder / "shared", folder / "shared" / "data"
    (out / "tools").mkdir(parents=True)
    for name, text in (("split", SPLIT), ("score", SCORE), ("planted", PLANTED)):
        (out / "tools" / f"{name}.py").write_text(text)
    _adult(data / "adult")
    _survey(data / "nist_acs")
    commutes(data / "lodes_ri")
    baskets(data / "transactions" / "retail.dat.gz", rows=1_500)
    _words(data / "text")
    _bank(data / "bank")
    _fire(data / "fire")
    return out


def _adult(folder: Path) -> None:
    folder.mkdir(parents=True)
    table = pd.read_csv(EXAMPLES / "adult.csv.gz", dtype=str, nrows=ADULT_RECORDS)
    table.to_csv(folder / "adult.csv.gz", index=False)
    codes = table.drop(columns=["education", "income"]).apply(
        lambda column: pd.factorize(column, sort=True)[0] % 20
    )
    codes["income>50K"] = (table["income"] == ">50K").astype(int)
    codes.to_csv(folder / "adult_discretised.csv.gz", index=False)
    sizes = {str(name): int(codes[name].max()) + 1 for name in codes}
    (folder / "adult_discretised-domain.json").write_text(json.dumps(sizes))


def _survey(folder: Path, *, rows: int = 1_500) -> None:
    folder.mkdir(parents=True)
    rng = np.random.default_rng(4)
    columns = {name: rng.choice(values, rows).tolist() for name, values in CATEGORIES.items()}
    columns |= {
        name: rng.integers(int(low), min(int(high), 90) + 1, rows).astype(str).tolist()
        for name, (low, high) in NUMBERS.items()
    }
    columns["INDP"] = rng.choice(["170", "3291", "7860", "N"], rows).tolist()
    pd.DataFrame(columns).to_csv(folder / "national2019.csv.gz", index=False)
    dictionary = {
        name: {"values": dict.fromkeys(values, "")} for name, values in CATEGORIES.items()
    }
    dictionary |= {
        name: {"values": {"N": "", "min": low, "max": high}}
        for name, (low, high) in NUMBERS.items()
    }
    dictionary["INDP"] = {"description": "Industry codes"}
    (folder / "data_dictionary.json").write_text(json.dumps(dictionary))


def _words(folder: Path) -> None:
    folder.mkdir(parents=True)
    rng = np.random.default_rng(5)
    letters = np.array(list("etaoinshrdlu"))[rng.integers(0, 12, (400, 5))]
    words = dict.fromkeys("".join(word) for word in letters)
    lines = [f"{word}\t{10**9 // (rank + 1)}" for rank, word in enumerate(words)]
    (folder / "unigrams_150k.tsv.gz").write_bytes(gzip.compress("\n".join(lines).encode()))


def _bank(folder: Path, *, rows: int = 600) -> None:
    folder.mkdir(parents=True)
    rng = np.random.default_rng(6)
    age = rng.integers(18, 90, rows)
    table = pd.DataFrame(
        {
            "age": age,
            "job": rng.choice(["management", "technician", "services"], rows),
            "balance": np.rint(rng.lognormal(6, 1.5, rows)).astype(int) - 300,
            "housing": rng.choice(["yes", "no"], rows),
            "y": np.where(age + rng.normal(0, 20, rows) > 60, "yes", "no"),
        }
    )
    table.to_csv(folder / "bank-full.csv.gz", sep=";", index=False)


def _fire(folder: Path, *, rows: int = 600) -> None:
    folder.mkdir(parents=True)
    rng = np.random.default_rng(7)
    sizes = {f"column {number}": 2 + number for number in range(6)}
    table = pd.DataFrame({name: rng.integers(0, size, rows) for name, size in sizes.items()})
    with zipfile.ZipFile(folder / "fire.zip", "w") as archive:
        archive.writestr("fire.csv", table.to_csv(index=False))
    (folder / "fire-domain.json").write_text(json.dumps(sizes))
