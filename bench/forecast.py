"""Whether the forecast of a release, made from public facts alone, is borne out: on small public tables, each
described by the suggestions of the product, every one accepted as it stands.

    python bench/forecast.py FOLDER [--tables anes96 fair …] [--methods auto mst independent] [--epsilon 1 4]
        [--releases 1] [--records N] [--half tuning|report|both]

FOLDER and the halves are those of `bench/conclusions.py`. What a word states is compared with the real table:

- *holds*: of what is stated of columns, and of relations, the part that turns out so or better;
- *recall*: of the columns that turn out found, the part that was forecast found;
- *off*: how many words a forecast is off by on average, and the best forecast that is one word for all.

A column is found, coarse or not found by its largest deviation of a share (numbers: of their distribution
function) and, of numbers, by its mean; relations of a strength by the part of the correlations of about that
size that is lost. delta is 1e-9, the unit one record.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import fmean

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import conclusions, values
from synth_engine import mechanisms, pipeline
from synth_engine.domain import Domain
from synth_engine.evaluation import quality_words
from synth_engine.evaluation.forecast import STRENGTHS, Forecast, forecast
from synth_engine.evaluation.quality_words import ColumnWord, Relations
from synth_engine.spec import Spec

COLUMNS: tuple[ColumnWord, ...] = ("found", "coarse", "not found")
RELATIONS: tuple[Relations, ...] = ("kept", "weak", "lost")
AROUND = 2**0.5
"""Correlations of about a strength are between it divided by this and it times this."""


@dataclass(frozen=True, kw_only=True)
class Compared:
    """What was stated and what turned out, by the places of the words, 0 the best."""

    stated: int
    real: int


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One release: its columns and its relations."""

    columns: tuple[Compared, ...]
    relations: tuple[Compared, ...]


def column_word(real: pd.Series, synthetic: pd.Series) -> ColumnWord:
    """What a release has of a column."""
    if values.is_numeric(real):
        known, made = values.numbers(real), values.numbers(synthetic)
        if not made.size:
            return "not found"
        off = abs(float(known.mean() - made.mean())) / max(float(known.std()), 1e-300)
        distance = values.compared(real, synthetic).distance
        return quality_words.worst_column(
            [quality_words.of_share(distance), quality_words.of_mean(off)]
        )
    shares = [side.value_counts(normalize=True) for side in (real, synthetic)]
    return quality_words.of_share(float(shares[0].sub(shares[1], fill_value=0).abs().max()))


def relation_words(real: pd.DataFrame, synthetic: pd.DataFrame) -> dict[float, Relations]:
    """What becomes of the correlations of about each strength that there are."""
    known, made = (np.nan_to_num(conclusions.correlations(side)) for side in (real, synthetic))
    words: dict[float, Relations] = {}
    for strength in STRENGTHS:
        size = np.abs(known)
        chosen = (size >= strength / AROUND) & (size < strength * AROUND)
        if chosen.any():
            kept = float(known[chosen] @ made[chosen] / (known[chosen] @ known[chosen]))
            words[strength] = quality_words.of_lost(1 - kept)
    return words


def compared(found: Forecast, real: pd.DataFrame, synthetic: pd.DataFrame) -> Outcome:
    """A forecast beside one release."""
    columns = [
        Compared(
            stated=COLUMNS.index(word),
            real=COLUMNS.index(column_word(real[name], synthetic[name])),
        )
        for name, word in found.columns.items()
        if word != "unknown" and name in real
    ]
    relations = [
        Compared(stated=RELATIONS.index(found.relations[strength]), real=RELATIONS.index(word))
        for strength, word in relation_words(real, synthetic).items()
        if found.relations[strength] != "unknown"
    ]
    return Outcome(columns=tuple(columns), relations=tuple(relations))


def released(path: Path, domain: Domain, spec: Spec, real: pd.DataFrame) -> pd.DataFrame:
    """The table of one release, with empty cells for columns that were not found."""
    release = pipeline.synthesize(path, domain=domain, spec=spec)
    out = path.with_name("synthetic.csv")
    mechanisms.draw_table(release.model, release.rows, release.seed).to_csv(out, index=False)
    return values.texts_of(out).reindex(columns=real.columns, fill_value="")


def outcomes(real: pd.DataFrame, options: argparse.Namespace, name: str) -> Iterator[Outcome]:
    """Every release of a table beside its forecast; prints a line for each setting."""
    with tempfile.TemporaryDirectory() as work:
        path = Path(work) / "real.csv"
        real.to_csv(path, index=False)
        domain = values.described(path)
        for method in options.methods:
            for epsilon in options.epsilon:
                spec = Spec(mechanism=method, epsilon=Fraction(epsilon), delta=values.DELTA)
                found = forecast(domain, spec, rows=len(real))
                made = [
                    compared(found, real, released(path, domain, spec, real))
                    for _ in range(options.releases)
                ]
                print(
                    f"{name:9} {len(real):>6,} {method:12} {epsilon:>4} {line(made)}",
                    flush=True,
                )
                yield from made


def line(made: Sequence[Outcome]) -> str:
    """The figures of some releases."""
    columns = [each for one in made for each in one.columns]
    relations = [each for one in made for each in one.relations]
    found = [each for each in columns if each.real == 0]
    recall = share([each.stated == 0 for each in found])
    return (
        f"columns hold {holds(columns)} recall {recall} of {len(found):>4}  {errors(columns)}  "
        f"relations hold {holds(relations)} {errors(relations)}"
    )


def share(met: Sequence[bool]) -> str:
    return f"{fmean(met):.2f}" if met else "   –"


def holds(some: Sequence[Compared]) -> str:
    return share([each.real <= each.stated for each in some])


def errors(some: Sequence[Compared]) -> str:
    """By how many words forecasts are off, and the best constant one."""
    if not some:
        return "off –"
    mine = fmean(abs(each.real - each.stated) for each in some)
    constant = min(fmean(abs(each.real - word) for each in some) for word in range(3))
    return f"off {mine:.2f} (constant {constant:.2f})"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tables", nargs="*", default=list(conclusions.TABLES))
    parser.add_argument("--methods", nargs="*", default=["auto", "mst", "independent"])
    parser.add_argument("--epsilon", nargs="*", default=["1"])
    parser.add_argument("--releases", type=int, default=1)
    parser.add_argument("--records", type=int, default=0, help="of each table; 0: all")
    parser.add_argument("--half", choices=("tuning", "report", "both"), default="tuning")
    options = parser.parse_args()
    made: list[Outcome] = []
    names = [
        one for one in options.tables if options.half in ("both", conclusions.half_of(one))
    ]
    if held_back := [one for one in names if conclusions.half_of(one) == "report"]:
        conclusions.note(held_back, options)
    for name in names:
        frame = conclusions.TABLES[name].read(options.folder)
        if frame is None:
            print(f"{name}: left out, its package is not in the folder")
            continue
        frame = conclusions.with_derived(name, frame)
        if 0 < options.records < len(frame):
            frame = frame.sample(options.records, random_state=0)
        made += outcomes(frame, options, name)
    print(f"all {line(made)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
