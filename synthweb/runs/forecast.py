"""The error to expect of every method at every ε, drawn below the slider of ε and on its scale. Public facts
alone.

What a method gives on the grid of the drawing is asked for once and remembered, whichever method is chosen.
While the slider moves, the engine is asked for the chosen method alone; what the others give is read off
their lines.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from django.utils.translation import gettext, gettext_noop

from synth_engine import mechanisms
from synth_engine.domain import Domain
from synth_engine.plans import forecast as engine
from synth_engine.plans.forecast import Point
from synth_engine.plans.plan import Rule
from synth_engine.spec import Spec
from synthweb.lib.language import translated, written_number
from synthweb.lib.number_format import share
from synthweb.runs import methods

Measure = Literal["oneway", "pairs"]
MEASURES: tuple[tuple[Measure, str], ...] = (
    ("oneway", gettext_noop("Single columns")),
    ("pairs", gettext_noop("Pairs of columns")),
)
LEAST, MOST = -2, 1  # powers of ten of ε: the ends of the slider
STEPS = 3  # points a power of ten
GRID = tuple(
    Fraction(f"{10 ** (LEAST + step / STEPS):.3g}")
    for step in range((MOST - LEAST) * STEPS + 1)
)
LOWEST = 0.001  # of the upright scale, which ends at 1
# Units of the drawing. EDGE is half the slider's thumb, so that both scales begin at one place.
WIDTH, PANEL, GAP, EDGE = 360, 96, 34, 8
HEADROOM = 16  # above each panel, for its title
REMEMBERED = 128  # curves: they depend on description, method, its parameters, δ and rows alone
LABEL = 9.5  # units from one name at the end of a line to the next
CLEARLY = 1.5  # times as much error: smaller differences between methods are within what forecasts are off by
LONGEST_LABEL = 19  # characters; the whole name is in the table


@dataclass(frozen=True, kw_only=True)
class Label:
    """A name at the end of a line: where the line ends, and where the name stands, apart from its
    neighbours."""

    text: str
    chosen: bool
    end: float
    y: float


@dataclass(frozen=True, kw_only=True)
class ForecastLine:
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
    labels: tuple[Label, ...]
    dot: float | None  # height of the method chosen at the ε chosen


@dataclass(frozen=True, kw_only=True)
class Better:
    """A method that is expected to be closer in pairs than the one that is recommended for most tables.
    clearly: by more than forecasts are off by."""

    title: str
    pairs: str
    recommended: str
    recommended_pairs: str
    clearly: bool


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """Everything below the slider."""

    epsilon: str
    lines: tuple[ForecastLine, ...]
    panels: tuple[Panel, ...]
    epsilons: tuple[str, ...]  # of the tables
    tables: tuple[
        tuple[str, tuple[tuple[str, tuple[str, ...]], ...]], ...
    ]  # (measure, (method, its shares by ε))
    marks: tuple[tuple[float, str], ...]  # of the level scale
    mark: float | None  # where the ε chosen stands; None beyond the slider
    words: str
    waiting: int  # methods whose lines were left out for now
    better: Better | None
    width: int = WIDTH
    height: int = 2 * (HEADROOM + PANEL) + GAP


def forecast(
    domain: Domain,
    *,
    spec: Spec,
    rows: int,
    rule: Rule = "basic",
    hasty: bool = False,
    here: Point | None = None,
) -> Forecast:
    """What every method would give on `domain`, with the loss of `spec` marked. `rule`: how the account that
    pays adds up losses, which some methods suit their noise to. `hasty`: leave out, for now, the lines of
    methods that were not asked for before, and of the chosen one all but where it stands; some take seconds
    for a wide table or one of census blocks, and a page should not wait for them. `here`: what the chosen
    method gives at this ε, where its plan is calibrated already."""
    facts = ForecastFacts(domain=_Known(domain), delta=spec.delta, rows=rows, rule=rule)
    chosen = json.dumps(dict(spec.parameters))
    titles = {one["id"]: one["title"] for one in mechanisms.describe()}
    grid: dict[str, tuple[Point, ...]] = {}
    at_epsilon: dict[str, Point | None] = {}
    waiting = 0
    for name in titles:
        # Parameters belong to the chosen method: the others are forecast with their defaults.
        parameters = chosen if name == spec.mechanism else "{}"
        if hasty and hash((facts, name)) not in _asked_before:
            waiting, grid[name] = waiting + 1, ()
            at_epsilon[name] = (
                here or _point(facts, name, parameters, spec.epsilon)
                if name == spec.mechanism
                else None
            )
            continue
        _asked_before[hash((facts, name))] = True
        grid[name] = _points(facts, name, parameters, GRID)
        # Beyond the ends of the grid there is nothing to interpolate between.
        if name == spec.mechanism:
            at_epsilon[name] = here or _point(facts, name, parameters, spec.epsilon)
        elif not GRID[0] <= spec.epsilon <= GRID[-1]:
            at_epsilon[name] = _point(facts, name, parameters, spec.epsilon)
        else:
            at_epsilon[name] = _between(grid[name], float(spec.epsilon))
    # Of a copy, because requests are answered side by side.
    for oldest in list(_asked_before)[:-REMEMBERED]:
        _asked_before.pop(oldest, None)
    offered = [name for name in titles if grid[name] or at_epsilon[name]]
    lines = tuple(
        _line(titles[name], name == spec.mechanism, at_epsilon[name], style=offered.index(name))
        for name in offered
    )
    epsilon = written_number(f"{float(spec.epsilon):.3g}")
    drawing = _Drawing(
        grid=grid, here=at_epsilon, offered=offered, titles=titles, chosen=spec.mechanism
    )
    return Forecast(
        epsilon=epsilon,
        lines=lines,
        panels=tuple(drawing.panel(place) for place in range(len(MEASURES))),
        epsilons=tuple(written_number(f"{float(each):.3g}") for each in GRID),
        tables=tuple((title, drawing.rows(measure)) for measure, title in MEASURES),
        marks=tuple(
            (_across(value) or 0.0, written_number(f"{value:g}"))
            for value in (0.01, 0.1, 1, 10)
        ),
        mark=_across(float(spec.epsilon)),
        words=_words(lines, epsilon),
        waiting=waiting,
        better=None if waiting else _better(at_epsilon, titles, domain),
    )


def expected(
    domain: Domain,
    *,
    mechanism: str,
    epsilon: Fraction,
    delta: Fraction,
    rows: int,
    rule: Rule = "basic",
) -> Point | None:
    """What one method gives at one ε, with its usual parameters; None where it is not offered."""
    facts = ForecastFacts(domain=_Known(domain), delta=delta, rows=rows, rule=rule)
    return _point(facts, mechanism, "{}", epsilon)


def _better(
    here: Mapping[str, Point | None], titles: Mapping[str, str], domain: Domain
) -> Better | None:
    """Compares the method recommended for most tables with the best of the others, so that the page
    recommends the best method of its own table. Methods that are recommended for something else than columns
    and pairs are not compared by these."""
    recommended = mechanisms.recommended(domain)
    usual = here.get(recommended)
    if usual is None or recommended in methods.BEYOND:
        return None
    points = [point for point in here.values() if point is not None]
    best = min(points, key=lambda point: point["pairs"])
    # What a reader of the table cannot tell apart is not a reason for another method.
    if usual["pairs"] <= best["pairs"] or share(usual["pairs"]) == share(best["pairs"]):
        return None
    return Better(
        title=titles[best["mechanism"]],
        pairs=share(best["pairs"]),
        recommended=titles[recommended],
        recommended_pairs=share(usual["pairs"]),
        clearly=usual["pairs"] > CLEARLY * best["pairs"],
    )


@dataclass(frozen=True, eq=False)
class _Known:
    """A description, told from others by its digest: one of census blocks is long."""

    domain: Domain

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Known) and self.domain.digest == other.domain.digest

    def __hash__(self) -> int:
        return hash(self.domain.digest)


@dataclass(frozen=True, kw_only=True)
class ForecastFacts:
    """What a curve depends on besides the method and its parameters."""

    domain: _Known
    delta: Fraction
    rows: int
    rule: Rule


_asked_before: dict[int, bool] = {}
"""What need not be waited for. Nothing but time hangs on it."""


# Parameters come as JSON text, because the arguments of a cached function are hashed.
@lru_cache(maxsize=REMEMBERED)
def _points(
    facts: ForecastFacts, mechanism: str, parameters: str, epsilons: tuple[Fraction, ...]
) -> tuple[Point, ...]:
    """What one method gives at these ε; nothing where it is not offered."""
    spec = Spec(
        mechanism=mechanism,
        parameters=json.loads(parameters),
        epsilon=epsilons[0],
        delta=facts.delta,
    )
    one = {mechanism: mechanisms.REGISTRY[mechanism]}
    curve = engine.curve(
        one, facts.domain.domain, spec=spec, epsilons=epsilons, rows=facts.rows, rule=facts.rule
    )
    return tuple(curve)


def _point(
    facts: ForecastFacts, mechanism: str, parameters: str, epsilon: Fraction
) -> Point | None:
    return next(iter(_points(facts, mechanism, parameters, (epsilon,))), None)


def _between(points: Sequence[Point], epsilon: float) -> Point | None:
    """On the line that is drawn from point to point, on scales of powers of ten."""
    for left, right in pairwise(points):
        if left["epsilon"] <= epsilon <= right["epsilon"]:
            part = math.log(epsilon / left["epsilon"]) / math.log(
                right["epsilon"] / left["epsilon"]
            )
            oneway, pairs = (
                _middle(left[measure], right[measure], part) for measure, _ in MEASURES
            )
            return {
                "mechanism": left["mechanism"],
                "epsilon": epsilon,
                "oneway": oneway,
                "pairs": pairs,
            }
    return None


def _middle(low: float, high: float, part: float) -> float:
    # A distance of 0 has no logarithm, so nothing lies between it and another one.
    if not low or not high or part in (0, 1):
        return high if part == 1 else low
    return float(low ** (1 - part) * high**part)


def _line(title: str, chosen: bool, point: Point | None, *, style: int) -> ForecastLine:
    oneway, pairs = (
        share(point[measure]) if point else "not offered" for measure, _ in MEASURES
    )
    return ForecastLine(title=title, chosen=chosen, style=style, oneway=oneway, pairs=pairs)


@dataclass(frozen=True, kw_only=True)
class _Drawing:
    """What the panels are drawn from: points on the grid and at the ε chosen, by method."""

    grid: Mapping[str, Sequence[Point]]
    here: Mapping[str, Point | None]
    offered: Sequence[str]
    titles: Mapping[str, str]
    chosen: str

    def panel(self, place: int) -> Panel:
        measure, title = MEASURES[place]
        top = HEADROOM + place * (HEADROOM + PANEL + GAP // 2)
        drawing_order = sorted(
            (name for name in self.offered if self.grid[name]),
            key=lambda name: name == self.chosen,
        )
        point = self.here.get(self.chosen)
        return Panel(
            title=title,
            top=top,
            bottom=top + PANEL,
            ticks=tuple((_down(value, top), share(value)) for value in (1, 0.1, 0.01, 0.001)),
            paths=tuple(
                (
                    "chosen" if name == self.chosen else str(self.offered.index(name)),
                    _path(self.grid[name], measure, top),
                )
                for name in drawing_order  # the chosen one on top
            ),
            labels=self._labels(measure, drawing_order, top=top),
            dot=_down(point[measure], top) if point else None,
        )

    def _labels(
        self, measure: Measure, drawing_order: Sequence[str], *, top: int
    ) -> tuple[Label, ...]:
        """In the order in which the lines end; those too near to one another move apart, first down, then
        up."""
        ends = sorted(
            (_down(self.grid[name][-1][measure], top), name) for name in drawing_order
        )
        places: list[float] = []
        for end, _ in ends:
            places.append(max(end, places[-1] + LABEL) if places else end)
        lowest = float(top + PANEL)
        for index in range(len(places) - 1, -1, -1):
            places[index] = min(places[index], lowest)
            lowest = places[index] - LABEL
        return tuple(
            Label(
                text=_short(self.titles[name]),
                chosen=name == self.chosen,
                end=end,
                y=round(y, 1),
            )
            for (end, name), y in zip(ends, places, strict=True)
        )

    def rows(self, measure: Measure) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Every method with its shares at the ε of the grid; a dash where it is not offered."""
        rows = []
        for name in self.offered:
            by_epsilon = {f"{point['epsilon']:.3g}": point for point in self.grid[name]}
            cells = (by_epsilon.get(f"{float(each):.3g}") for each in GRID)
            rows.append(
                (
                    self.titles[name],
                    tuple("–" if cell is None else share(cell[measure]) for cell in cells),
                )
            )
        return tuple(rows)


def _short(title: str) -> str:
    """What stands in brackets, if there is no room for all: the name that papers use."""
    if len(title) > LONGEST_LABEL and (name := re.search(r"\(([^)]+)\)", title)):
        title = name[1]
    return (
        title if len(title) <= LONGEST_LABEL else title[: LONGEST_LABEL - 1].rstrip(" ,") + "…"
    )


def _path(points: Sequence[Point], measure: Measure, top: int) -> str:
    places = [
        f"{_across(point['epsilon']):.1f} {_down(point[measure], top):.1f}" for point in points
    ]
    return "M" + "L".join(places)


def _across(epsilon: float) -> float | None:
    """Where an ε stands on the slider's scale; None beyond its ends."""
    part = (math.log10(epsilon) - LEAST) / (MOST - LEAST)
    # With a tolerance: the logarithm of an end of the slider may be off in its last digit.
    return round(EDGE + part * (WIDTH - 2 * EDGE), 1) if -0.001 <= part <= 1.001 else None


def _down(value: float, top: int) -> float:
    """Where a distance stands, on a scale of powers of ten."""
    part = math.log10(min(1.0, max(LOWEST, value))) / math.log10(LOWEST)
    return round(top + part * PANEL, 1)


def _words(lines: tuple[ForecastLine, ...], epsilon: str) -> str:
    figures = "; ".join(
        gettext("%(method)s: %(oneway)s for single columns, %(pairs)s for pairs")
        % {"method": translated(line.title), "oneway": line.oneway, "pairs": line.pairs}
        for line in lines
    )
    return gettext("Expected distance by ε. At ε %(epsilon)s: %(figures)s.") % {
        "epsilon": epsilon,
        "figures": figures,
    }
