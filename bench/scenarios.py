"""How long a table takes that is altered by every kind of step.

    python bench/scenarios.py MODEL.json [--rows 1000000]

MODEL.json is what `synthesize --model` wrote of Adult. Printed are processor seconds from the model to the table, and to the
three files, start-up apart, and the largest resident memory.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from synth_engine import scenarios
from synth_engine.models.model import Model

_HIRING = {
    "protected": "race",
    "group": "Black",
    "outcome": "income",
    "favourable": ">50K",
}
STEPS: list[dict[str, object]] = [
    {"kind": "individual-unfairness", **_HIRING, "clusters": 20, "size": 12, "tightness": 0.95},
    {"kind": "disparate-impact", **_HIRING, "ratio": 0.5},
    {"kind": "imbalance", "column": "education", "value": "Doctorate", "share": 0.1},
    {"kind": "shift", "column": "age", "by": 1},
    {
        "kind": "correlation",
        "first": "hours-per-week",
        "second": "native-country",
        "share": 0.5,
    },
    {"kind": "near-duplicates", "copies": 1_000},
    {"kind": "missing-marker", "column": "age", "rate": 0.02},
    {"kind": "wrong-type", "column": "age", "rate": 0.02},
    {"kind": "wrong-type", "column": "sex", "rate": 0.02},
    {"kind": "out-of-range", "column": "age", "values": ["-2"]},
    {"kind": "out-of-range", "column": "hours-per-week"},
    {"kind": "unit-change", "column": "fnlwgt"},
    {"kind": "heavy-tail", "column": "capital-gain"},
    {"kind": "encoding", "column": "occupation"},
    {"kind": "whitespace", "column": "workclass"},
    {"kind": "letter-case", "column": "education"},
    {"kind": "typing-error", "column": "native-country"},
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args()
    model = Model.from_json(json.loads(options.model.read_text()))
    scenario = scenarios.Scenario.from_json(
        {"schema": "synth_engine/scenario/1", "steps": STEPS}
    )
    started = time.process_time()
    built = scenarios.build(model, scenario, rows=options.rows, seed="bench")
    print(f"table {time.process_time() - started:.1f} s")
    with tempfile.TemporaryDirectory() as folder:
        scenarios.write(
            built,
            table=Path(folder) / "table.csv",
            changes=Path(folder) / "changes.csv",
            record=Path(folder) / "record.json",
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"with its files {time.process_time() - started:.1f} s")
    print(f"changes {len(built.changes):,}, memory {peak:.1f} GB")


if __name__ == "__main__":
    main()
