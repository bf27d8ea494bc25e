"""How far the run time separates two tables that differ in one record: nothing protects it
(docs/threat-model.md).

    python bench/timing.py [--runs 200] [--records 5000]

For each mechanism and each pair of neighbours, runs on the two tables take turns. A threshold of time is
chosen on the first half of the runs, and on the second half the advantage of somebody who guesses by it,
P(slow | with) - P(slow | without), is bounded from both sides (Clopper and Pearson, each chance at 97.5 %, so
95 % together). 0 is no separation, 1 is certainty. The pairs: an ordinary record more, and one record more
whose cell has a million letters. The clock is the process's own processor time, which somebody outside does
not see; that makes it an attacker who measures better than any in the threat model.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from synth_engine import mechanisms, pipeline
from synth_engine.domain import Categorical, Domain, Integer
from synth_engine.mechanisms import Plan
from synth_engine.spec import Spec
from tests.privacy import clopper_pearson

MECHANISMS = ("independent", "mst")
DOMAIN = Domain(
    attributes=(
        Categorical(name="job", values=("clerk", "cook", "nurse"), other=True),
        Integer(name="age", low=0, high=99),
        Categorical(name="member", values=("yes", "no"), outside="clamp"),
    )
)
ORDINARY = "clerk,40,yes\n"
PAIRS = {
    "an ordinary record": ORDINARY,
    "a cell of a million letters": "x" * 10**6 + ",40,yes\n",
}
LEVEL = 0.025


def table(path: Path, *, records: int, more: str) -> None:
    lines = [
        f"{('clerk', 'cook', 'nurse')[k % 3]},{k % 100},{('yes', 'no')[k % 2]}\n"
        for k in range(records)
    ]
    path.write_text("job,age,member\n" + "".join(lines) + more, encoding="utf-8")


def seconds(path: Path, plan: Plan) -> float:
    """Of one run from opening the file to the last noisy answer."""
    start = time.process_time()
    pipeline.measure(path, plan=plan, kind="csv")
    return time.process_time() - start


def advantage(without: list[float], with_it: list[float]) -> tuple[float, float, float]:
    """Estimate and both bounds, on the half of the runs that had no part in choosing the threshold."""
    half = len(without) // 2
    cuts = np.unique(np.concatenate((without[:half], with_it[:half])))
    first, second = (np.array(each[:half])[:, None] > cuts for each in (without, with_it))
    cut = cuts[np.abs(second.mean(axis=0) - first.mean(axis=0)).argmax()]
    sign = (
        1
        if np.mean(np.array(with_it[:half]) > cut) >= np.mean(np.array(without[:half]) > cut)
        else -1
    )
    number = len(without) - half
    counts = [int(np.sum(np.array(each[half:]) > cut)) for each in (without, with_it)]
    low, high = zip(*(_bounds(count, number) for count in counts), strict=True)
    estimate = sign * (counts[1] - counts[0]) / number
    least, most = (
        (low[1] - high[0], high[1] - low[0])
        if sign == 1
        else (low[0] - high[1], high[0] - low[1])
    )
    return estimate, least, most


def _bounds(count: int, number: int) -> tuple[float, float]:
    """Of a chance, each side wrong with chance LEVEL / 2."""
    low = clopper_pearson.lower(count, number, alpha=LEVEL / 2)
    high = clopper_pearson.upper(count, number, alpha=LEVEL / 2)
    return float(low), float(high)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=200, help="on each table")
    parser.add_argument("--records", type=int, default=5_000)
    asked = parser.parse_args()
    pipeline.warm_up()
    with tempfile.TemporaryDirectory() as folder:
        paths = Path(folder) / "without.csv", Path(folder) / "with.csv"
        for mechanism in MECHANISMS:
            plan = mechanisms.plan(DOMAIN, Spec(mechanism=mechanism, epsilon=Fraction(1)))
            for name, more in PAIRS.items():
                table(paths[0], records=asked.records, more="")
                table(paths[1], records=asked.records, more=more)
                for path in paths:
                    seconds(path, plan)
                taken: list[list[float]] = [[], []]
                for turn in range(2 * asked.runs):
                    side = (turn + turn // 2) % 2  # each side goes first as often
                    taken[side].append(seconds(paths[side], plan))
                estimate, least, most = advantage(*taken)
                medians = [round(1_000 * float(np.median(each)), 2) for each in taken]
                found = {
                    "advantage": round(estimate, 2),
                    "least": round(least, 2),
                    "most": round(most, 2),
                }
                print(
                    json.dumps(
                        {"mechanism": mechanism, "one more": name, "median_ms": medians} | found
                    ),
                    flush=True,
                )


if __name__ == "__main__":
    main()
