"""One table of `auto` beside all other methods for tables: what `bench/auto.py --against-all` prints.

A block for each table and epsilon with a line for each method: mean distances of single columns (tvd1), of all pairs
(tvd2) and of 200 triples (tvd3), area under the curve of gradient boosting where a table has a column to predict,
processor seconds, and the forecasts of errors that are made before a run. A last line has the ratios of `auto` to the best of the
others. Runs of methods other than `auto` are stored in the file `--cache`, by table, epsilon and run, and are not measured again:
delete it after such a method changes. A run that takes more than `--limit` processor seconds is stopped, and so is not compared.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Protocol

from synth_engine.errors import SynthError
from synth_engine.inference.error_forecast import Band, ErrorForecast

METHODS = ("auto", "independent", "mst", "bayesian-network", "dpsyn", "privsyn", "aim")
DATA = (
    *("gate", "xor", "checker", "plain", "clusters", "adult", "bank", "ma2019"),
    *("national2019", "commutes", "retail", "fire"),
)
"""The quickest tables first, so that there is something to read early."""
CLOSE = 1.05
"""A cell is met where `auto` is off by at most so much more than the best of the others."""
WITHIN = 1.5
"""A forecast holds where it is off by no more than this factor."""
Figures = dict[str, float]


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
        self._stored: dict[str, Figures | str] = (
            json.loads(path.read_text()) if path.is_file() else {}
        )

    def figures(
        self, measure: Measurement, name: str, run: int, *, epsilon: str, method: str
    ) -> Figures | str:
        if method == "auto":
            return self._measured(measure, name, run, epsilon=epsilon, method=method)
        key = f"{name} {measure.digest(name, run)} epsilon {epsilon} run {run} {method}"
        if key not in self._stored:
            self._stored[key] = self._measured(
                measure, name, run, epsilon=epsilon, method=method
            )
            self._write()
        return self._stored[key]

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
            block = {method: _mean(cells[epsilon, method]) for method in methods}
            forecasts = {
                method: measure.forecast(name, 0, epsilon=epsilon, method=method)
                for method, figures in block.items()
                if not isinstance(figures, str)
            }
            _print(f"{name}, epsilon {epsilon}", block, forecasts, summary)
    for line in summary.lines():
        print(line, flush=True)


def _mean(runs: Sequence[Figures | str]) -> Figures | str:
    figures: list[Figures] = []
    for run in runs:
        if isinstance(run, str):
            return run
        figures.append(run)
    return {key: fmean(run[key] for run in figures) for key in figures[0]}


def _print(
    cell: str,
    block: Mapping[str, Figures | str],
    forecasts: Mapping[str, ErrorForecast],
    summary: Summary,
) -> None:
    print(
        f"{cell:28}{'tvd1':>9}{'tvd2':>9}{'tvd3':>9}{'AUC':>7}{'CPU s':>8}"
        f"{'forecast tvd1':>15}{'tvd2':>9}"
    )
    able: dict[str, Figures] = {}
    for method, figures in block.items():
        if isinstance(figures, str):
            print(f"  {method:26}  did not run: {figures}")
            continue
        able[method] = figures
        area = f"{figures['hgb_auc']:7.3f}" if "hgb_auc" in figures else " " * 7
        print(
            f"  {method:26}{figures['tvd1']:9.4f}{figures['tvd2']:9.4f}{figures['tvd3']:9.4f}{area}"
            f"{figures['whole']:8.1f}{forecasts[method].mean:15.4f}{forecasts[method].mean_pairs:9.4f}"
        )
    _compare_forecasts(cell, able, forecasts, summary)
    if "auto" in able and len(able) > 1:
        _ratios(cell, able, summary)
    print(flush=True)


def _compare_forecasts(
    cell: str,
    able: Mapping[str, Figures],
    forecasts: Mapping[str, ErrorForecast],
    summary: Summary,
) -> None:
    for method, figures in able.items():
        forecast = forecasts[method]
        summary.columns_in_band.append(_inside(figures["tvd1"], forecast.columns_band))
        if forecast.pairs_band is not None:
            summary.pairs_in_band.append(_inside(figures["tvd2"], forecast.pairs_band))
        if figures["tvd2"] > 0:
            ratio = forecast.mean_pairs / figures["tvd2"]
            summary.forecasts.append(Ratio(f"{method}, {cell}", ratio))


def _inside(error: float, band: Band) -> bool:
    return band[0] <= error <= band[1]


def _ratios(cell: str, able: Mapping[str, Figures], summary: Summary) -> None:
    own = able["auto"]
    others = {method: figures for method, figures in able.items() if method != "auto"}
    texts = []
    for key in ("tvd1", "tvd2", "tvd3"):
        best = min(others, key=lambda method: others[method][key])
        if others[best][key] <= 0:
            continue
        ratio = own[key] / others[best][key]
        texts.append(f"{key} {ratio:.3f} ({best})")
        if key != "tvd1":
            summary.ratios.append(Ratio(f"{key}, {cell}, {best}", ratio))
    if "hgb_auc" in own:
        best = max(others, key=lambda method: others[method]["hgb_auc"])
        behind = others[best]["hgb_auc"] - own["hgb_auc"]
        texts.append(f"AUC {-behind:+.3f} ({best})")
        summary.areas.append(Ratio(f"{cell}, {best}", behind))
    if "independent" in others and others["independent"]["tvd1"] > 0:
        alone = own["tvd1"] / others["independent"]["tvd1"]
        summary.single_columns.append(Ratio(cell, alone))
    summary.seconds.append(Ratio(cell, own["whole"]))
    print(f"  auto / best of the others   {', '.join(texts)}")
