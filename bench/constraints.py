"""What keeping to constraints costs: seconds of drawing, and distance to the real table, with and without.

    python bench/constraints.py [--rows 100000] [--epsilon 1]

The real table is made here: people with ages, a marriage, a spouse, a ZIP code and its county, a hospital stay. It keeps
to every constraint. Distances are means of the total variation over all columns and all pairs; the real table is not
private, so these figures are for those who build methods, not for those who hold data.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from synth_engine import codec, mechanisms, pipeline
from synth_engine.constraints import counting
from synth_engine.domain import Domain
from synth_engine.models.model import Model
from synth_engine.spec import Spec

ZIPS = [f"{number:05d}" for number in range(2000, 2200)]
COUNTIES = [f"county {number}" for number in range(14)]
COUNTY_OF = {
    zip_code: COUNTIES[place * len(COUNTIES) // len(ZIPS)]
    for place, zip_code in enumerate(ZIPS)
}
DOCUMENT = {
    "attributes": [
        {
            "name": "sex",
            "kind": "categorical",
            "values": ["female", "male"],
            "outside": "clamp",
        },
        {"name": "age", "kind": "integer", "low": 0, "high": 99, "width": 3},
        {
            "name": "status",
            "kind": "categorical",
            "values": ["single", "married", "widowed"],
            "outside": "clamp",
        },
        {
            "name": "married_at",
            "kind": "integer",
            "low": 0,
            "high": 99,
            "width": 3,
            "missing": [""],
        },
        {
            "name": "spouse_age",
            "kind": "integer",
            "low": 0,
            "high": 99,
            "width": 3,
            "missing": [""],
        },
        {"name": "pregnant", "kind": "boolean", "true": "yes", "false": "no"},
        {"name": "zip", "kind": "categorical", "values": ZIPS, "outside": "clamp"},
        {"name": "county", "kind": "categorical", "values": COUNTIES, "outside": "clamp"},
        {
            "name": "admitted",
            "kind": "date",
            "low": "2024-01-01",
            "high": "2024-12-31",
            "step_days": 7,
        },
        {
            "name": "discharged",
            "kind": "date",
            "low": "2024-01-01",
            "high": "2025-01-31",
            "step_days": 7,
        },
        {"name": "wards", "kind": "integer", "low": 1, "high": 5},
    ],
    "constraints": [
        {"kind": "impossible", "columns": {"sex": ["male"], "pregnant": ["yes"]}},
        {"kind": "impossible", "columns": {"age": [{"to": 11}], "pregnant": ["yes"]}},
        {"kind": "missing-iff", "column": "married_at", "when": "status", "values": ["single"]},
        {
            "kind": "missing-iff",
            "column": "spouse_age",
            "when": "status",
            "values": ["single", "widowed"],
        },
        {"kind": "order", "first": "married_at", "second": "age"},
        {
            "kind": "dependency",
            "from": "zip",
            "to": "county",
            "table": [list(pair) for pair in COUNTY_OF.items()],
        },
        {"kind": "order", "first": "admitted", "second": "discharged"},
    ],
}


def real(rows: int) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    age = np.clip(rng.gamma(4, 10, rows).astype(int), 0, 99)
    chance = np.where(age < 18, 0.0, np.clip((age - 18) / 20, 0, 0.75))
    wed = rng.random(rows) < chance
    widowed = wed & (rng.random(rows) < np.clip((age - 50) / 80, 0, 1))
    at = np.minimum(18 + rng.gamma(3, 3, rows).astype(int), age)
    sex = np.where(rng.random(rows) < 0.52, "female", "male")
    fertile = (sex == "female") & (age > 15) & (age < 48)
    place = np.minimum(rng.gamma(2, 30, rows).astype(int), len(ZIPS) - 1)
    admitted = rng.integers(0, 366, rows)
    return pd.DataFrame(
        {
            "sex": sex,
            "age": age,
            "status": np.where(widowed, "widowed", np.where(wed, "married", "single")),
            "married_at": pd.Series(at, dtype="Int64").mask(~wed),
            "spouse_age": pd.Series(
                np.clip(age + rng.integers(-8, 9, rows), 18, 99), dtype="Int64"
            ).mask(~wed | widowed),
            "pregnant": np.where(fertile & (rng.random(rows) < 0.06), "yes", "no"),
            "zip": np.array(ZIPS)[place],
            "county": np.array([COUNTY_OF[ZIPS[one]] for one in place]),
            "admitted": np.datetime64("2024-01-01") + admitted,
            "discharged": np.datetime64("2024-01-01")
            + np.minimum(admitted + rng.geometric(0.15, rows), 396),
            "wards": rng.integers(1, 6, rows),
        }
    )


def distance(
    first: Mapping[str, np.ndarray],
    second: Mapping[str, np.ndarray],
    *,
    domain: Domain,
    of: int,
) -> float:
    found = []
    for clique in combinations(domain.names, of):
        shape = domain.shape(clique)
        shares = [
            np.bincount(
                np.ravel_multi_index([codes[name] for name in clique], shape),
                minlength=int(np.prod(shape)),
            )
            / len(codes[clique[0]])
            for codes in (first, second)
        ]
        found.append(np.abs(shares[0] - shares[1]).sum() / 2)
    return float(np.mean(found))


def seconds(model: Model, rows: int) -> float:
    """From a stored model, which has to be fitted to the constraints anew, to all rows."""
    model = Model.from_json(model.to_json())
    started = time.perf_counter()
    for _ in mechanisms.draw_blocks(model, rows, "bench"):
        pass
    return time.perf_counter() - started


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--rows", type=int, default=100_000)
    options.add_argument("--epsilon", default="1")
    asked = options.parse_args()
    domain = Domain.from_json(DOCUMENT)
    free = Domain.from_json(DOCUMENT | {"constraints": []})
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "people.csv"
        real(asked.rows).to_csv(table, index=False)
        texts = pd.read_csv(table, dtype=str, keep_default_na=False)
        truth = codec.encode(domain, dict(texts.items()))
        assert counting.count_violations(truth.__getitem__, domain=domain)[-1] == 0
        print(
            f"{asked.rows:,} rows, epsilon {asked.epsilon}, {len(domain.constraints)} constraints"
        )
        print("mechanism         kept  broken      seconds  tvd1    tvd2")
        for mechanism in ("random", "independent", "bayesian-network"):
            spec = Spec(mechanism=mechanism, epsilon=Fraction(asked.epsilon), rows=asked.rows)
            model = pipeline.synthesize(table, domain=domain, spec=spec).model
            plain = Model.from_json(model.to_json() | {"domain": free.to_json()})
            for kept, one in (("no", plain), ("yes", model)):
                codes = one.sample(asked.rows, seed="bench")
                broken = counting.count_violations(codes.__getitem__, domain=domain)[-1]
                apart = [distance(truth, codes, domain=domain, of=of) for of in (1, 2)]
                took = seconds(one, asked.rows)
                print(
                    f"{mechanism:17} {kept:5} {broken:9,} {took:9.2f}  {apart[0]:.4f}  {apart[1]:.4f}"
                )


if __name__ == "__main__":
    main()
