"""The error to expect of every method at every ε, drawn below the slider of ε and on its scale. Public facts alone."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

from synth_engine import mechanisms
from synth_engine.domain import Domain
from synth_engine.mechanisms.plan import Rule
from synth_engine.spec import Spec

Measure = Literal["oneway", "pairs"]
MEASURES: tuple[tuple[Measure, str], ...] = (("oneway", "Single columns"), ("pairs", "Pairs of columns"))
LEAST, MOST = -2, 1  # powers of ten of ε: the ends of the slider
STEPS = 3  # points a power of ten
GRID = tuple(Fraction(f"{10 ** (LEAST + step / STEPS):.3g}") for step in range((MOST - LEAST) * STEPS + 1))
LOWEST = 0.001  # of the upright scale, which ends at 1
WIDTH, PANEL, GAP, EDGE = 360, 96, 34, 8  # units; EDGE: half the slider's thumb, where its scale begins
HEADROOM = 16  # above each panel, for its title
REMEMBERED = 64  # curves: they depend on description, method, δ and rows alone


@dataclass(frozen=True, kw_only=True)
class Line:
    """One method: what it gives at the ε chosen (None: not offered there), and how its lines look."""

    title: str
    chosen: bool
    style: int  # of the dashes
    oneway: str
    pairs: str


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One of the two drawings. `paths`: (style or "chosen", SVG path); `ticks`: (y, words)."""

    title: str
    top: int
    bottom: int
    ticks: tuple[tuple[float, str], ...]
    paths: tuple[tuple[str, str], ...]
    dot: float | None  # height of the method chosen at the ε chosen


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """Everything below the slider."""

    epsilon: str
    lines: tuple[Line, ...]
    panels: tuple[Panel, ...]
    table: tuple[tuple[str, tuple[str, ...]], ...]  # (ε, the two shares of every method)
    marks: tuple[tuple[float, str], ...]  # of the level scale
    mark: float | None  # where the ε chosen stands; None beyond the slider
    words: str
    width: int = WIDTH
    height: int = 2 * (HEADROOM + PANEL) + GAP


def forecast(domain: Domain, *, spec: Spec, rows: int, rule: Rule = "basic") -> Forecast:
    """What every method would give on `domain`, with the loss of `spec` marked. `rule`: how the account that pays adds
    up losses, which some methods suit their noise to."""
    public = json.dumps([domain.to_json(), dict(spec.parameters)])
    grid = _curve(public, spec.mechanism, spec.delta, rows, rule, GRID)
    here = _curve(public, spec.mechanism, spec.delta, rows, rule, (spec.epsilon,))
    titles = {one["id"]: one["title"] for one in mechanisms.describe()}
    offered = [name for name in titles if name in grid or name in here]
    lines = tuple(
        _line(titles[name], name == spec.mechanism, here.get(name), style=offered.index(name)) for name in offered
    )
    epsilon = f"{float(spec.epsilon):.3g}"
    mark = _across(float(spec.epsilon))
    return Forecast(
        epsilon=epsilon,
        lines=lines,
        panels=tuple(_panel(place, grid, here, offered, chosen=spec.mechanism) for place in range(len(MEASURES))),
        table=_table(grid, offered),
        marks=tuple((_across(value) or 0.0, f"{value:g}") for value in (0.01, 0.1, 1, 10)),
        mark=mark,
        words=_words(lines, epsilon),
    )


@lru_cache(maxsize=REMEMBERED)
def _curve(
    public: str, mechanism: str, delta: Fraction, rows: int, rule: Rule, epsilons: tuple[Fraction, ...]
) -> dict[str, list[Any]]:
    """Points by method; `public`: description and parameters as JSON. Remembered: while the slider moves only its own
    ε is new."""
    document, parameters = json.loads(public)
    spec = Spec(mechanism=mechanism, parameters=parameters, epsilon=epsilons[0], delta=delta)
    found: dict[str, list[Any]] = {}
    domain = Domain.from_json(document)
    points = mechanisms.forecast_curve(domain, spec=spec, epsilons=epsilons, rows=rows, rule=rule)
    for point in points:
        found.setdefault(point["mechanism"], []).append(point)
    return found


def _line(title: str, chosen: bool, points: list[Any] | None, *, style: int) -> Line:
    oneway, pairs = (share(points[0][measure]) if points else "not offered" for measure, _ in MEASURES)
    return Line(title=title, chosen=chosen, style=style, oneway=oneway, pairs=pairs)


def _panel(place: int, grid: dict[str, Any], here: dict[str, Any], offered: list[str], *, chosen: str) -> Panel:
    measure, title = MEASURES[place]
    top = HEADROOM + place * (HEADROOM + PANEL + GAP // 2)
    drawn = sorted((name for name in offered if name in grid), key=lambda name: name == chosen)  # the chosen one on top
    return Panel(
        title=title,
        top=top,
        bottom=top + PANEL,
        ticks=tuple((_down(value, top), f"{100 * value:g} %") for value in (1, 0.1, 0.01, 0.001)),
        paths=tuple(
            ("chosen" if name == chosen else str(offered.index(name)), _path(grid[name], measure, top))
            for name in drawn
        ),
        dot=_down(here[chosen][0][measure], top) if chosen in here else None,
    )


def _path(points: list[Any], measure: Measure, top: int) -> str:
    places = [f"{_across(point['epsilon']):.1f} {_down(point[measure], top):.1f}" for point in points]
    return "M" + "L".join(places)


def _across(epsilon: float) -> float | None:
    """Where an ε stands on the slider's scale; None beyond its ends."""
    part = (math.log10(epsilon) - LEAST) / (MOST - LEAST)
    return round(EDGE + part * (WIDTH - 2 * EDGE), 1) if -0.001 <= part <= 1.001 else None


def _down(value: float, top: int) -> float:
    """Where a distance stands, on a scale of powers of ten."""
    part = math.log10(min(1.0, max(LOWEST, value))) / math.log10(LOWEST)
    return round(top + part * PANEL, 1)


def _table(grid: dict[str, Any], offered: list[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    drawn = [name for name in offered if name in grid]
    by_epsilon: dict[float, dict[str, Any]] = {}
    for name in drawn:
        for point in grid[name]:
            by_epsilon.setdefault(point["epsilon"], {})[name] = point
    return tuple(
        (
            f"{epsilon:.3g}",
            tuple(share(row[name][measure]) if name in row else "–" for name in drawn for measure, _ in MEASURES),
        )
        for epsilon, row in sorted(by_epsilon.items())
    )


def share(value: float) -> str:
    """A distance as a share of records: two significant digits of a per cent."""
    return f"{float(f'{100 * value:.2g}'):g} %"


def _words(lines: tuple[Line, ...], epsilon: str) -> str:
    told = "; ".join(f"{line.title}: {line.oneway} for single columns, {line.pairs} for pairs" for line in lines)
    return f"Expected distance by ε. At ε {epsilon}: {told}."
