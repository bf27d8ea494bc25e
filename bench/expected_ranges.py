"""How often do the expected ranges of a release hold the figures of the real table?

    python bench/expected_ranges.py [FOLDER] [--tables bank adult] [--runs 20] [--epsilon 1]

FOLDER (or the environment variable SYNTHWEB_BENCHMARK) holds data/. Each table is described by the suggestions of the product,
every one accepted as it stands, and released by `auto` with delta = 1e-9. Bands come from the model and the receipt alone; the
bench then counts the figures of the real cells that lie in them, by figure.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.values import argument_parser, described, load, report_tables
from synth_engine import codec, pipeline
from synth_engine.domain import Attribute
from synth_engine.evaluation import expected
from synth_engine.evaluation.expected import ExpectedFigure
from synth_engine.evaluation.figure_origins import ExactFigure
from synth_engine.evaluation.scale_text import text_of
from synth_engine.spec import Spec

DELTA = Fraction("1e-9")


class RealColumn:
    """The exact figures of one column of real cells."""

    def __init__(self, attribute: Attribute, cells: pd.Series) -> None:
        texts = pa.array(cells.tolist(), type=pa.string())
        counter = codec.RawCounter(attribute)
        counter.add(texts)
        self._attribute, self._raw = attribute, counter.finish()
        self._codes = np.bincount(
            codec.encode_column(attribute, texts), minlength=attribute.size
        )

    def figure(self, wanted: ExpectedFigure) -> ExactFigure:
        """The exact figure for an expected one."""
        return ExactFigure(value=self._value(wanted))

    def _value(self, wanted: ExpectedFigure) -> float:
        raw, numbers = self._raw, self._raw.numbers
        if wanted.key == "missing":
            return raw.missing / raw.records
        if numbers is None:
            code = list(self._attribute.labels).index(wanted.value)
            return float(self._codes[code] / self._codes.sum())
        if wanted.key == "share":
            texts = [text_of(self._attribute, value) for value in numbers.values.tolist()]
            if wanted.value not in texts:
                return 0.0
            return float(numbers.counts[texts.index(wanted.value)] / raw.records)
        if wanted.key == "mean":
            return numbers.mean
        if wanted.key == "standard_deviation":
            return numbers.standard_deviation
        return numbers.quantile(expected.QUANTILES[wanted.key])


def report(folder: Path, name: str, *, runs: int, epsilon: str, work: Path) -> None:
    table = load(folder, name)
    path = work / f"{name}.csv"
    table.to_csv(path, index=False)
    domain = described(path)
    inside: dict[str, list[bool]] = defaultdict(list)
    columns: dict[str, list[bool]] = defaultdict(list)
    misses: dict[str, int] = defaultdict(int)
    for number in range(runs):
        spec = Spec(mechanism="auto", epsilon=Fraction(epsilon), delta=DELTA, parameters={})
        release = pipeline.synthesize(path, domain=domain, spec=spec)
        calls = release.plan.receipt(release.answers)["calls"]
        for column in expected.expected_columns(release.model, calls):
            real = RealColumn(release.model.domain.attribute(column.name), table[column.name])
            for figure in column.figures:
                held = figure.expected.holds(real.figure(figure))
                inside[figure.key].append(held)
                columns[column.name].append(held)
                misses[f"{column.name} {figure.key} {figure.value}".strip()] += not held
        every = [held for each in inside.values() for held in each]
        print(f"{name}, run {number + 1}: {np.mean(every):.3f} of {len(every)}", flush=True)
    print(
        f"{name}: {len(table):,} records, epsilon {epsilon}, {runs} runs, {len(columns)} columns"
    )
    for key, each in inside.items():
        print(f"  {key:20} {np.mean(each):.3f} of {len(each)}")
    for key, each in columns.items():
        print(f"  column {key:20} {np.mean(each):.3f} of {len(each)}")
    worst = sorted(misses.items(), key=lambda item: -item[1])[:12]
    print("  most often outside: " + "; ".join(f"{key} ({count})" for key, count in worst))


def main() -> int:
    parser = argument_parser(__doc__ or "", tables=["bank", "adult"], runs=20)
    return report_tables(report, parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
