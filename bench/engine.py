"""How long the engine's own loops take, as ratios against pandas doing the same in the same run.

    python bench/engine.py

The table is the example (UCI Adult, 48,842 records, 15 columns), read and encoded once; every figure is the best of
three. Counting is what `measure` and the comparison do; the report is everything after it.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from synth_engine import codec
from synth_engine.confidential import counts, rows
from synth_engine.domain import Domain
from synth_engine.evaluation import report, tallies

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def best(work: Callable[[], Any]) -> float:
    """Seconds of the fastest of three."""

    def once() -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    return min(once() for _ in range(3))


def main() -> None:
    domain = Domain.from_json(json.loads((EXAMPLES / "adult.domain.json").read_text()))
    table = rows.open_table(EXAMPLES / "adult.csv.gz", domain)
    codes = {name: table.codes(name) for name in domain.names}
    frame = pd.DataFrame(codes)
    pairs = list(itertools.combinations(domain.names, 2))
    ours = best(lambda: [counts.contingency(table, pair) for pair in pairs])
    theirs = best(lambda: [frame.groupby(list(pair)).size() for pair in pairs])
    print(
        f"all {len(pairs)} pairs counted: {ours:.2f} s, {theirs / ours:.0f} times as fast as pandas groupby"
    )

    texts = codec.decode(domain, codes, np.random.default_rng(1))
    decoding = best(lambda: codec.decode(domain, codes, np.random.default_rng(1)))
    writing = best(lambda: texts.to_csv())
    print(
        f"decoding: {decoding:.2f} s, {decoding / writing:.2f} of the time pandas takes to write the result as CSV"
    )

    cliques = report.cliques(domain)
    real = report.tally(tallies.CodedTable(codes=codes, domain=domain))
    reporting = best(lambda: report.compare(real, real, domain))
    crossing = best(lambda: [pd.crosstab(frame[a], frame[b]) for a, b in pairs])
    print(
        f"a report from {len(cliques)} tables: {reporting:.2f} s, {reporting / crossing:.2f} of pandas crosstab on pairs"
    )


if __name__ == "__main__":
    main()
