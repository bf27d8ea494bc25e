"""One table of `auto` beside all other methods for tables: what `bench/auto.py --against-all` prints.

A block for each table and epsilon with a line for each method: mean distances of single columns (tvd1), of
all pairs (tvd2) and of 200 triples (tvd3), area under the curve of gradient boosting where a table has a
column to predict, processor seconds, and the forecasts of errors that are made before a run. A last line has
the ratios of `auto` to the best of the others. Runs are stored in the file `--cache`, by table, epsilon and
run, and are not measured again: those of `auto` until the code of the engine changes, the others until the
file is deleted. A run that takes more than `--limit` processor seconds is stopped, and so is not compared.
`--document` writes the page bench/results/auto.md and its picture (bench/against_page.py).
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import platform
import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Protocol

from synth_engine.errors import SynthError
from synth_engine.inference.error_forecast import Band, ErrorForecast

ENGINE = Path(__file__).resolve().parents[1] / "synth_engine"
OURS = "auto"
OTHERS = ("independent", "mst", "bayesian-network", "dpsyn", "privsyn", "aim")
REAL = "real"
"""The real records in place of a release: only what models learn from them is of interest."""
METHODS = (OURS, *OTHERS, REAL)
DATA = (
    *("gate", "xor", "checker", "plain", "clusters", "adult", "bank", "ma2019"),
    *("national2019", "commutes", "retail", "fire"),
)
"""The quickest tables first, so that there is something to read early."""
CLOSE = 1.05
"""A cell is met where `auto` is off by at most so much more than the best of the others."""
WITHIN = 1.5
"""A forecast holds where it is off by no more than this factor."""
DISTANCES = ("tvd1", "tvd2", "tvd3")
AREA = "hgb_auc"
Figures = dict[str, float]


def digest(files: Iterable[Path]) -> str:
    """A digest of the contents of files, in this order."""
    hashed = hashlib.sha256()
    for file in files:
        hashed.update(file.read_bytes())
    return hashed.hexdigest()[:12]


def engine_version() -> str:
    """A digest of the engine's code."""
    return digest(sorted(ENGINE.rglob("*.py")))


def machine() -> str:
    """The machine and the day, as a sentence."""
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    return f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, {today}."


class Measurement(Protocol):
    def digest(self, name: str, run: int) -> str: ...

    def figures(self, name: str, run: int, *, epsilon: str, method: str) -> Figures: ...

    def forecast(self, name: str, run: int, *, epsilon: str, method: str) -> ErrorForecast: ...


class TooLongError(Exception):
    """A run takes more processor time than it is given."""


def default_cache() -> Path:
    folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(folder) / "synthweb" / "against-all.json"


class Cache:
    """Figures of runs in a JSON file; a method that cannot run has the reason in their place."""

    def __init__(self, path: Path, *, limit: float) -> None:
        self._path, self._limit = path, limit
        self._version = engine_version()
        self._stored: dict[str, Figures | str] = (
            json.loads(path.read_text()) if path.is_file() else {}
        )

    def figures(
        self, measure: Measurement, name: str, run: int, *, epsilon: str, method: str
    ) -> Figures | str:
        key = self._key(measure, name, run, epsilon=epsilon, method=method)
        if key not in self._stored:
            self._stored[key] = self._measured(
                measure, name, run, epsilon=epsilon, method=method
            )
            self._write()
        return self._stored[key]

    def runs(
        self, measure: Measurement, name: str, *, epsilon: str, method: str, runs: int
    ) -> list[Figures | str]:
        """The stored figures of these runs."""
        keys = [
            self._key(measure, name, run, epsilon=epsilon, method=method) for run in range(runs)
        ]
        return [self._stored[key] for key in keys if key in self._stored]

    def _key(
        self, measure: Measurement, name: str, run: int, *, epsilon: str, method: str
    ) -> str:
        version = f" {self._version}" if method == OURS else ""
        return (
            f"{name} {measure.digest(name, run)} epsilon {epsilon} run {run} {method}{version}"
        )

    def _measured(
        self, measure: Measurement, name: str, run: int, *, epsilon: str, method: str
    ) -> Figures | str:
        measure.digest(name, run)  # reads the table, which the time of the run leaves out
        try:
            with _within(self._limit):
                return measure.figures(name, run, epsilon=epsilon, method=method)
        except TooLongError:
            return f"more than {self._limit:g} s"
        except SynthError as error:
            return str(error).partition("\n")[0]

    def _write(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._path.with_suffix(f".{os.getpid()}")
        temporary.write_text(json.dumps(self._stored, indent=1))
        temporary.replace(self._path)


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    def stop(_signal: int, _frame: object) -> None:
        raise TooLongError

    previous = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)


@dataclass(frozen=True, kw_only=True)
class Block:
    """One table at one epsilon. figures: by method, the mean of its runs, or why it did not run; forecasts:
    of the methods that ran."""

    table: str
    epsilon: str
    runs: int
    figures: Mapping[str, Figures | str]
    forecasts: Mapping[str, ErrorForecast] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.table}, epsilon {self.epsilon}"

    @property
    def able(self) -> dict[str, Figures]:
        """The figures of the methods that ran."""
        return {
            method: figures
            for method, figures in self.figures.items()
            if not isinstance(figures, str)
        }

    def best(self, figure: str) -> tuple[str, float] | None:
        """The best of the other methods by this figure: distances are the better the smaller, areas under
        curves the larger."""
        others = {
            method: figures[figure]
            for method, figures in self.able.items()
            if method in OTHERS and figure in figures
        }
        if not others:
            return None
        choose = max if figure == AREA else min
        method = choose(others, key=lambda each: others[each])
        return method, others[method]

    def ratio(self, figure: str) -> float | None:
        """`auto` over the best of the others, where that is above zero."""
        best = self.best(figure)
        if best is None or OURS not in self.able or best[1] <= 0:
            return None
        return self.able[OURS][figure] / best[1]


@dataclass(frozen=True)
class Ratio:
    """`auto` over the best of the others, in one cell."""

    cell: str
    value: float


@dataclass
class Summary:
    """What the last lines say."""

    ratios: list[Ratio] = field(default_factory=list)
    single_columns: list[Ratio] = field(default_factory=list)
    seconds: list[Ratio] = field(default_factory=list)
    forecasts: list[Ratio] = field(default_factory=list)
    areas: list[Ratio] = field(default_factory=list)
    columns_in_band: list[bool] = field(default_factory=list)
    pairs_in_band: list[bool] = field(default_factory=list)

    def add(self, block: Block) -> None:
        able = block.able
        for method, forecast in block.forecasts.items():
            figures = able[method]
            self.columns_in_band.append(_inside(figures["tvd1"], forecast.columns_band))
            if forecast.pairs_band is not None:
                self.pairs_in_band.append(_inside(figures["tvd2"], forecast.pairs_band))
            if figures["tvd2"] > 0:
                off = forecast.mean_pairs / figures["tvd2"]
                self.forecasts.append(Ratio(f"{method}, {block.name}", off))
        if OURS not in able or not able.keys() & set(OTHERS):
            return
        own = able[OURS]
        for figure in DISTANCES[1:]:
            best, ratio = block.best(figure), block.ratio(figure)
            if best is not None and ratio is not None:
                self.ratios.append(Ratio(f"{figure}, {block.name}, {best[0]}", ratio))
        area = block.best(AREA)
        if area is not None:
            self.areas.append(Ratio(f"{block.name}, {area[0]}", area[1] - own[AREA]))
        alone = able.get("independent", {}).get("tvd1", 0.0)
        if alone > 0:
            self.single_columns.append(Ratio(block.name, own["tvd1"] / alone))
        self.seconds.append(Ratio(block.name, own["whole"]))

    def lines(self) -> Iterator[str]:
        if self.ratios:
            close = sum(one.value <= CLOSE for one in self.ratios)
            yield (
                f"tvd2 and tvd3 within {CLOSE} of the best other method: {close} of {len(self.ratios)} cells "
                f"({close / len(self.ratios):.0%})"
            )
            yield f"worst ratios: {_most(self.ratios)}"
        if self.areas:
            yield f"AUC below the best other method by: {_most(self.areas)}"
        if self.single_columns:
            yield f"tvd1 over that of independent: {_most(self.single_columns)}"
        if self.forecasts:
            held = sum(1 / WITHIN <= one.value <= WITHIN for one in self.forecasts)
            off = sorted(
                self.forecasts, key=lambda one: max(one.value, 1 / one.value), reverse=True
            )
            yield (
                f"forecast of pairs within {WITHIN} of the truth: {held} of {len(self.forecasts)}; "
                f"expected over measured: {_shown(off[:6])}"
            )
        if self.columns_in_band and self.pairs_in_band:
            yield (
                f"in their bands: {fmean(self.columns_in_band):.2f} of the errors of columns, "
                f"{fmean(self.pairs_in_band):.2f} of those of pairs"
            )
        if self.seconds:
            total = sum(one.value for one in self.seconds)
            yield f"CPU s of auto: {total:.0f} in all; {_most(self.seconds)}"


def _inside(error: float, band: Band) -> bool:
    return band[0] <= error <= band[1]


def _most(ratios: Sequence[Ratio], number: int = 6) -> str:
    return _shown(sorted(ratios, key=lambda one: one.value, reverse=True)[:number])


def _shown(ratios: Sequence[Ratio]) -> str:
    return ", ".join(f"{one.value:.3g} ({one.cell})" for one in ratios)


def compare(
    data: Sequence[str],
    epsilons: Sequence[str],
    methods: Sequence[str],
    *,
    runs: int,
    measure: Measurement,
    cache: Cache,
) -> None:
    """Measures what is not stored, and prints each block as soon as it is complete."""
    summary = Summary()
    for name in data:
        # One run of a table after the other, so that each is read once.
        cells: dict[tuple[str, str], list[Figures | str]] = {}
        for run in range(runs):
            for epsilon in epsilons:
                for method in methods:
                    cells.setdefault((epsilon, method), []).append(
                        cache.figures(measure, name, run, epsilon=epsilon, method=method)
                    )
        for epsilon in epsilons:
            figures = {method: _mean(cells[epsilon, method]) for method in methods}
            block = Block(
                table=name,
                epsilon=epsilon,
                runs=runs,
                figures=figures,
                forecasts={
                    method: measure.forecast(name, 0, epsilon=epsilon, method=method)
                    for method, mean in figures.items()
                    if not isinstance(mean, str) and method != REAL
                },
            )
            summary.add(block)
            print("\n".join(_lines(block)), end="\n\n", flush=True)
    for line in summary.lines():
        print(line, flush=True)


def stored(
    data: Sequence[str],
    epsilons: Sequence[str],
    *,
    runs: int,
    measure: Measurement,
    cache: Cache,
) -> Iterator[Block]:
    """The blocks of which figures are stored, of as many runs as `auto` and at least one other method have; a
    method with fewer is left out."""
    for name in data:
        for epsilon in epsilons:
            found = {
                method: cache.runs(measure, name, epsilon=epsilon, method=method, runs=runs)
                for method in METHODS
            }
            number = min(len(found[OURS]), max(len(found[method]) for method in OTHERS))
            if number:
                yield Block(
                    table=name,
                    epsilon=epsilon,
                    runs=number,
                    figures={
                        method: _mean(each[:number])
                        for method, each in found.items()
                        if len(each) >= number
                    },
                )


def _mean(runs: Sequence[Figures | str]) -> Figures | str:
    figures: list[Figures] = []
    for run in runs:
        if isinstance(run, str):
            return run
        figures.append(run)
    return {key: fmean(run[key] for run in figures) for key in figures[0]}


def _lines(block: Block) -> Iterator[str]:
    yield (
        f"{block.name:28}{'tvd1':>9}{'tvd2':>9}{'tvd3':>9}{'AUC':>7}{'CPU s':>8}"
        f"{'forecast tvd1':>15}{'tvd2':>9}"
    )
    for method, figures in block.figures.items():
        if isinstance(figures, str):
            yield f"  {method:26}  did not run: {figures}"
            continue
        area = f"{figures[AREA]:7.3f}" if AREA in figures else " " * 7
        if method == REAL:
            yield f"  {method:26}{' ' * 27}{area}"
            continue
        forecast = block.forecasts[method]
        yield (
            f"  {method:26}{figures['tvd1']:9.4f}{figures['tvd2']:9.4f}{figures['tvd3']:9.4f}{area}"
            f"{figures['whole']:8.1f}{forecast.mean:15.4f}{forecast.mean_pairs:9.4f}"
        )
    texts = []
    for figure in (*DISTANCES, AREA):
        best, ratio = block.best(figure), block.ratio(figure)
        if best is None or ratio is None:
            continue
        if figure == AREA:
            texts.append(f"AUC {block.able[OURS][AREA] - best[1]:+.3f} ({best[0]})")
        else:
            texts.append(f"{figure} {ratio:.3f} ({best[0]})")
    if texts:
        yield f"  auto / best of the others   {', '.join(texts)}"
