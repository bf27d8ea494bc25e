"""Whether the forecast of error, made from public facts alone, is borne out: every mechanism on the
discretised Adult and on the national excerpts of the American Community Survey (NIST, 2019), at several
epsilons.

    python bench/forecast.py [FOLDER] [--runs 3] [--mechanism ID] [--data adult]

FOLDER (or the environment variable SYNTHWEB_BENCHMARK) holds tools/split.py, tools/score.py and data/. Prints
a line for each setting; the exit code is 1 where a forecast is more than a factor of two off. Every run goes
through the room, with the secure sampler: figures differ a little from time to time.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import fmean
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import auto
from synth_engine import domain as domains
from synth_engine import mechanisms, pipeline
from synth_engine.domain import Domain
from synth_engine.sources import opening
from synth_engine.spec import Spec

EPSILONS = ("0.1", "0.5", "1", "3", "10")
DELTAS = ("1e-9", "0")
WITHIN = 2.0
Matrix = npt.NDArray[np.int64]

# What the survey's data dictionary does not say in its lists: which texts are missing values, and how numbers
# are binned.
CENSUS_NUMBERS = {"AGEP": "integer", "NOC": "integer", "NPF": "integer", "DENSITY": "number",
    "PINCP": "integer",
                  "POVPIP": "integer", "WGTP": "integer", "PWGTP": "integer"}  # fmt: skip
CENSUS_ZERO_BELOW = {"NOC", "WGTP"}
CENSUS_LAST = {"POVPIP": 501}
CENSUS_WITHOUT_LIST = {"INDP"}


@dataclass(frozen=True)
class Data:
    """A table, its public domain, and its codes to compare with."""

    name: str
    path: Path
    domain: Domain
    codes: Matrix


def census_domain(dictionary: dict[str, Any]) -> Domain:
    """The public description of the survey's table, from its dictionary alone."""
    attributes = [
        _census_attribute(name, entry["values"])
        for name, entry in dictionary.items()
        if name not in CENSUS_WITHOUT_LIST
    ]
    return Domain.from_json({"relation": "add-remove", "attributes": attributes})


def _census_attribute(name: str, values: dict[str, Any]) -> dict[str, Any]:
    missing = {"missing": ["N"]} if "N" in values else {}
    if name in CENSUS_NUMBERS:
        low = 0 if name in CENSUS_ZERO_BELOW else values["min"]
        bounds = {"low": low, "high": CENSUS_LAST.get(name, values["max"])}
        return {"name": name, "kind": CENSUS_NUMBERS[name], **bounds, **missing}
    texts = [text for text in values if text != "N"]
    return {
        "name": name,
        "kind": "categorical",
        "values": texts,
        **missing,
        **({} if missing else {"outside": "clamp"}),
    }


def adult(folder: Path, scratch: Path) -> Data:
    subprocess.run(
        [sys.executable, str(folder / "tools" / "split.py"), str(scratch)], check=True
    )
    return _data("adult", scratch / "train.csv", domains.read(scratch / "domain.json"))


def national(folder: Path, _scratch: Path) -> Data:
    place = folder / "data" / "nist_acs"
    described = census_domain(json.loads((place / "data_dictionary.json").read_text()))
    return _data("national2019", place / "national2019.csv.gz", described)


def _data(name: str, path: Path, described: Domain) -> Data:
    table = opening.open_table(path, described)
    return Data(
        name,
        path,
        described,
        _matrix({name: table.codes(name) for name in described.names}, described),
    )


def _matrix(codes: dict[str, Any], described: Domain) -> Matrix:
    return np.stack(
        [np.asarray(codes[name], dtype=np.int64) for name in described.names], axis=1
    )


def measured(data: Data, drawn: Matrix, score: ModuleType) -> tuple[float, float]:
    """Mean distance of all one-way and of all two-way tables."""
    sizes, names = data.domain.sizes, data.domain.names
    index = {name: place for place, name in enumerate(names)}
    ways = ([(name,) for name in names], list(itertools.combinations(names, 2)))
    one, two = (
        fmean(score.tvd(data.codes, drawn, way, sizes, index) for way in some) for some in ways
    )
    return one, two


def run(data: Data, spec: Spec, score: ModuleType) -> tuple[float, float, float, float]:
    release = pipeline.synthesize(data.path, domain=data.domain, spec=spec)
    drawn = _matrix(release.model.sample(release.rows, seed=release.seed), data.domain)
    expected = release.plan.expected_error(rows=release.rows)
    one, two = measured(data, drawn, score)
    return expected.mean, one, expected.mean_pairs, two


def settings(mechanism: str | None) -> Iterator[Spec]:
    for name, delta, epsilon in itertools.product(mechanisms.REGISTRY, DELTAS, EPSILONS):
        if mechanism in (None, name):
            yield Spec(mechanism=name, epsilon=Fraction(epsilon), delta=Fraction(delta))


def line(data: Data, spec: Spec, figures: list[float]) -> tuple[str, bool]:
    forecast1, found1, forecast2, found2 = figures
    ratios = (forecast1 / found1, forecast2 / found2)
    good = all(1 / WITHIN <= ratio <= WITHIN for ratio in ratios)
    cells = (
        f"{forecast1:>9.4f} {found1:>9.4f} {ratios[0]:>6.2f} {forecast2:>9.4f} {found2:>9.4f} "
        f"{ratios[1]:>6.2f}"
    )
    head = f"{spec.mechanism:<17} {data.name:<13} {float(spec.epsilon):>4g} {float(spec.delta):>6g}"
    return f"{head} {cells}{'' if good else '  off'}", good


def main() -> int:
    parser = argparse.ArgumentParser(description="Forecast error against measured error.")
    parser.add_argument("folder", nargs="?", default=os.environ.get("SYNTHWEB_BENCHMARK"))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--mechanism", choices=list(mechanisms.REGISTRY))
    parser.add_argument("--data", choices=["adult", "national2019"])
    options = parser.parse_args()
    folder = Path(options.folder or "")
    if not options.folder or not (folder / "tools" / "score.py").is_file():
        print(
            "Skipped: give the folder of the benchmark data, or set SYNTHWEB_BENCHMARK to it."
        )
        return 0
    score, off = auto.script(folder, "score"), 0
    print(
        "mechanism         data           eps  delta forecast1 measured1  ratio forecast2 measured2  ratio"
    )
    with tempfile.TemporaryDirectory() as scratch:
        for name, load in (("adult", adult), ("national2019", national)):
            if options.data not in (None, name):
                continue
            data = load(folder, Path(scratch))
            for spec in settings(options.mechanism):
                runs = [run(data, spec, score) for _ in range(options.runs)]
                text, good = line(
                    data, spec, [fmean(figures) for figures in zip(*runs, strict=True)]
                )
                print(text, flush=True)
                off += not good
    print(f"{off} of the lines are off by more than a factor of {WITHIN:g}")
    return 1 if off else 0


if __name__ == "__main__":
    sys.exit(main())
