"""Columns of more codes than 16 bits hold: commutes from 120,690 and 233,726 blocks, the domains of origins of *Theory meets
practice on the map*, from the command line.

    python bench/wide.py [WORDS …]        only settings whose name has one of these words

The commutes are made up, with what the paper publishes of its own: half of them are shorter than 6.23 miles, three in four shorter
than 13.1, none longer than 200; a block of work has 15 workers on average. Blocks lie around 800 towns in a box of the size of Minnesota, 40
to a tract. Each command is a process of its own. Printed are the seconds and the peak of memory of each, what was forecast, the
sizes of files, and the error of the average commute of a block of work in miles, weighted by workers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.spatial import cKDTree

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from synth_engine import domain, mechanisms  # noqa: E402
from synth_engine.spec import Spec  # noqa: E402

MEGABYTE = 1_000_000
MILES = 69.0
"""Of a degree of latitude."""
TOWNS, BLOCKS_OF_A_TRACT, TRACTS_OF_A_COUNTY = 800, 40, 60
SOUTH, WEST, NORTH, EAST = 43.5, -97.0, 49.0, -90.0
MEDIAN, SPREAD, FARTHEST = 6.23, 1.102, 200.0
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Setting:
    name: str
    origins: int
    destinations: int
    mechanism: str = "on-the-map"
    epsilon: str = "8.6"
    delta: str = "1e-5"
    parameters: tuple[str, ...] = ()


PLAIN = ("parts=values", "filter=false")
PAPER = (*PLAIN, "prior=zero-sample")
SETTINGS = (
    Setting("120,690 blocks, 120 of work, prior of the paper", 120_690, 120, parameters=PAPER),
    Setting("233,726 blocks, 120 of work, prior of the paper", 233_726, 120, parameters=PAPER),
    Setting("233,726 blocks, 120 of work, least prior", 233_726, 120, parameters=PLAIN),
    Setting("120,690 blocks, 20,000 of work", 120_690, 20_000),
    Setting("233,726 blocks, 20,000 of work", 233_726, 20_000),
    Setting("233,726 blocks, 100,000 of work", 233_726, 100_000),
    Setting("233,726 blocks, 20,000 of work, independent", 233_726, 20_000, "independent"),
    Setting("233,726 blocks, 20,000 of work, adaptive", 233_726, 20_000, "adaptive", delta="0"),
)


def main(words: list[str]) -> None:
    for setting in SETTINGS:
        if not words or any(word in setting.name for word in words):
            with tempfile.TemporaryDirectory() as folder:
                measure(setting, Path(folder))


def measure(setting: Setting, folder: Path) -> None:
    # The peak of a process begins with that of the one which started it, so that tables are made elsewhere.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as elsewhere:
        given = elsewhere.submit(prepared, setting, folder).result()
    out = ["--out", "out.csv", "--receipt", "receipt.json", "--model", "model.json"]
    run(folder, "synthesize", "t.csv", *given, *out)
    run(folder, "sample", "model.json", "--seed", "s", "--out", "again.csv")
    run(folder, "verify", "receipt.json")
    if (folder / "out.csv").exists():
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as elsewhere:
            off = elsewhere.submit(error, setting, folder / "out.csv").result()
        print(
            f"  model {size(folder, 'model.json')}, receipt {size(folder, 'receipt.json')}, "
            f"error of average commutes {off:.2f} miles"
        )


def prepared(setting: Setting, folder: Path) -> list[str]:
    """Write the table and its description, say what is planned, and return the arguments of the release."""
    at, truth = made(setting.origins, setting.destinations)
    (folder / "d.json").write_text(json.dumps(described(setting, at, truth)))
    labels = codes(len(at))
    table = pd.DataFrame({"work": labels[truth["work"]], "home": labels[truth["home"]]})
    table.to_csv(folder / "t.csv", index=False)
    given = ["--domain", "d.json", "--mechanism", setting.mechanism]
    given += ["--epsilon", setting.epsilon, "--delta", setting.delta]
    given += [part for each in setting.parameters for part in ("--param", each)]
    print(f"\n{setting.name}: {len(table):,} jobs, description {size(folder, 'd.json')}")
    started = time.perf_counter()
    found = described(setting, at, truth)
    parsed = domain.Domain.from_json(found)
    seconds = time.perf_counter() - started
    spec = Spec(
        mechanism=setting.mechanism,
        epsilon=Fraction(setting.epsilon),
        delta=Fraction(setting.delta),
        parameters=dict(each.split("=", 1) for each in setting.parameters),
    )
    started = time.perf_counter()
    forecast = mechanisms.plan(parsed, spec).needs(rows=len(table))
    print(
        f"  description read in {seconds:.1f} s, planned in {time.perf_counter() - started:.1f} s, "
        f"forecast {forecast.seconds:.0f} s and {forecast.memory_bytes / MEGABYTE:,.0f} MB"
    )
    return given


def size(folder: Path, name: str) -> str:
    return f"{(folder / name).stat().st_size / MEGABYTE:.1f} MB"


def run(folder: Path, *arguments: str) -> None:
    """One command: its seconds, its peak of memory, and its last line where it failed."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "synth_engine", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    said = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds, cpu = time.perf_counter() - started, used.ru_utime + used.ru_stime
    print(
        f"  {arguments[0]:10} {cpu:6.1f} s of processor ({seconds:.1f} s), {used.ru_maxrss * 1024 / MEGABYTE:,.0f} MB"
    )
    wanted = [line for line in said.splitlines() if "MB" in line or "second" in line]
    for line in wanted if process.returncode == 0 else said.splitlines()[-3:]:
        print(f"             {line[:240]}")


def made(origins: int, destinations: int) -> tuple[Floats, pd.DataFrame]:
    """Where blocks lie, in degrees, and for each job its blocks of work and home."""
    rng = np.random.default_rng(origins)
    towns = rng.uniform([SOUTH, WEST], [NORTH, EAST], (TOWNS, 2))
    of_town = np.sort(rng.choice(TOWNS, origins, p=_shares(TOWNS)))
    wide = 0.02 + 0.25 * np.sqrt(_shares(TOWNS))[of_town, None]
    at = np.round(towns[of_town] + wide * rng.standard_normal((origins, 2)), 6)
    sizes = np.maximum(1, np.rint(rng.lognormal(2.2, 1.0, destinations))).astype(np.int64)
    works = np.sort(rng.choice(origins, destinations, replace=False))
    work = np.repeat(works, sizes)
    far = np.minimum(MEDIAN * np.exp(SPREAD * rng.standard_normal(work.size)), FARTHEST) / MILES
    turn = rng.uniform(0, 2 * np.pi, work.size)
    shrink = np.cos(np.radians(at[work, 0]))
    aim = at[work] + np.stack([far * np.sin(turn), far * np.cos(turn) / shrink], axis=1)
    return at, pd.DataFrame({"work": work, "home": cKDTree(at).query(aim)[1]})


def _shares(number: int) -> Floats:
    weights = 1 / np.arange(1.0, number + 1)
    shares: Floats = weights / weights.sum()
    return shares


def codes(number: int) -> npt.NDArray[np.str_]:
    """Fifteen digits: state, county, tract, block."""
    tract, block = np.divmod(np.arange(number), BLOCKS_OF_A_TRACT)
    county = tract // TRACTS_OF_A_COUNTY
    return np.array(
        [
            f"27{c:03d}{t:06d}{b:04d}"
            for c, t, b in zip(county.tolist(), tract.tolist(), block.tolist(), strict=True)
        ]
    )


def described(setting: Setting, at: Floats, truth: pd.DataFrame) -> dict[str, object]:
    """Both columns with points, homes with tracts and counties; works with public totals where the method needs them."""
    labels = codes(len(at)).tolist()
    works = [labels[place] for place in np.unique(truth["work"])]
    at_of = dict(zip(labels, at.tolist(), strict=True))
    document: dict[str, object] = {
        "attributes": [
            {"name": "work", "kind": "categorical", "values": works, "outside": "clamp"},
            {"name": "home", "kind": "categorical", "values": labels, "outside": "clamp"},
        ],
        "points": [
            {"column": "work", "at": {code: at_of[code] for code in works}},
            {"column": "home", "at": at_of},
        ],
    }
    if setting.mechanism == "on-the-map":
        counts = truth["work"].value_counts().sort_index()
        totals = dict(zip(works, counts.tolist(), strict=True))
        document |= {
            "rows": len(truth),
            "relation": "replace-one",
            "totals": {"column": "work", "counts": totals},
            "partitions": [
                {"name": name, "column": "home", "of": {code: code[:end] for code in labels}}
                for name, end in (("county", 5), ("tract", 11))
            ],
        }
    return document


def error(setting: Setting, drawn: Path) -> float:
    """By how many miles average commutes of blocks of work are off, weighted by workers."""
    at, truth = made(setting.origins, setting.destinations)
    place = {code: number for number, code in enumerate(codes(len(at)).tolist())}
    table = pd.read_csv(drawn, dtype=str)
    found = pd.DataFrame({name: table[name].map(place) for name in ("work", "home")}).dropna()
    means = [miles(at, each).groupby(each["work"]).mean() for each in (truth, found)]
    workers = truth["work"].value_counts()
    off = (means[0] - means[1]).abs().dropna()
    return float(np.average(off, weights=workers.loc[off.index]))


def miles(at: Floats, commutes: pd.DataFrame) -> pd.Series:
    """Of each commute, on a plane."""
    works, homes = (at[commutes[name].to_numpy(dtype=np.int64)] for name in ("work", "home"))
    north, east = (works - homes).T * MILES
    return pd.Series(np.hypot(north, east * np.cos(np.radians(works[:, 0]))), commutes.index)


if __name__ == "__main__":
    main(sys.argv[1:])
