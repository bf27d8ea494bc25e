"""`generalize` where each group is divided by a column of its own: rounds of choices and counts of boxes,
then a last count."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from synth_engine.hierarchy import Boxes
from synth_engine.hierarchy.boxes import MAX_BOXES
from synth_engine.indexing import classes
from synth_engine.inference import box_groups, error_forecast, oneway
from synth_engine.inference.box_groups import BoxGroup, CountedRound, GroupTable
from synth_engine.inference.error_forecast import ErrorForecast
from synth_engine.measurement import (
    Answers,
    BoxChoices,
    BoxCounts,
    Measurement,
    Noise,
    Session,
    Truth,
)
from synth_engine.measurement.replay import Replay
from synth_engine.models.binning import Binning
from synth_engine.models.model import Model, Node, Table, whole_weights
from synth_engine.plans import budget_allocation, resources
from synth_engine.plans.plan import Plan
from synth_engine.plans.resources import ResourceEstimate
from synth_engine.privacy.loss import Budget
from synth_engine.strict_json import JsonObject, JsonValue

Floats = npt.NDArray[np.float64]

TOTAL_SHARE = Fraction(3, 100)
"""Of the budget for the number of records, where that is not public."""
CHOICE_SHARE, ROUND_SHARE = Fraction(1, 10), Fraction(1, 4)
"""Of the budget for the choices of all rounds, and for their counts; what rounds do not need goes to the last
count."""
ALONE_SHARE = Fraction(1, 4)
"""Of the budget for single columns, which say where records lie within a class."""
MAX_ROUNDS = 12
MIN_DEVIATIONS = 2.0
"""Groups of fewer records than so many standard deviations of their noise are not told apart."""


@dataclass(frozen=True, kw_only=True)
class BoxesPlan(Plan):
    """The budget cut up. k: the least size of a group; histograms: whether single columns are measured."""

    k: int
    histograms: bool

    def require(self) -> None:
        """Errors: SpecError for noise that cannot be drawn."""
        self.total_noise()
        self.alone_noises()
        for rounds in (1, MAX_ROUNDS):
            self._scale(rounds)
            self._round_noise(rounds)
            self._last_noise(rounds, used=rounds)

    # --- the budget -----------------------------------------------------------------------------------------
    def total_noise(self) -> Noise | None:
        return None if self.domain.rows is not None else self._noise(TOTAL_SHARE)

    def alone_noises(self) -> dict[str, Noise]:
        """Of each column, in proportion to the root of its size."""
        if not self.histograms:
            return {}
        sizes = self.domain.sizes
        roots = [Fraction(math.isqrt(size * 10**18), 10**9) for size in sizes.values()]
        part = self._part(ALONE_SHARE)
        noises = budget_allocation.noises(part, roots, domain=self.domain)
        return dict(zip(sizes, noises, strict=True))

    def _scale(self, rounds: int) -> Fraction:
        part = self._part(CHOICE_SHARE / rounds)
        return part.selection_scale(self.sensitivity.linf, monotonic=True)

    def _round_noise(self, rounds: int) -> Noise:
        return self._noise(ROUND_SHARE / rounds)

    def _last_noise(self, rounds: int, *, used: int) -> Noise:
        total = 0 if self.domain.rows is not None else TOTAL_SHARE
        alone = ALONE_SHARE if self.histograms else 0
        spent = (CHOICE_SHARE + ROUND_SHARE) * used / rounds
        return self._noise(1 - total - alone - spent)

    def _noise(self, share: Fraction) -> Noise:
        return budget_allocation.noise(self._part(share), self.sensitivity)

    def _part(self, share: Fraction) -> Budget:
        return self.loss.of(self.loss.amount * share)

    # --- what is asked --------------------------------------------------------------------------------------
    @cached_property
    def _whole(self) -> Boxes:
        return Boxes(trees=classes.class_trees(self.domain))

    def rounds(self, records: int) -> int:
        """How many rounds there are at most: as many halvings as leave `k` records; none where no column can
        be divided."""
        if not self._whole.trees:
            return 0
        return min(MAX_ROUNDS, max(1, math.ceil(math.log2(max(2.0, records / self.k)))))

    def ask(self, session: Session) -> None:
        noise = self.total_noise()
        records = self._records(None if noise is None else session.measure((), noise=noise))
        for name, alone in self.alone_noises().items():
            session.measure((name,), noise=alone)
        rounds = self.rounds(records)
        boxes, counted = self._whole, list[CountedRound]()
        while (
            among := self._among(boxes, counted, records=records, rounds=rounds)
        ) is not None:
            division = session.divide(boxes, among=among, scale=self._scale(rounds))
            boxes = boxes.divided(division.choices)
            counts = session.boxes(boxes, noise=self._round_noise(rounds))
            counted.append(_round(boxes, counts))
        if boxes.rounds:
            session.boxes(boxes, noise=self._last_noise(rounds, used=len(boxes.rounds)))

    def _among(
        self,
        boxes: Boxes,
        counted: Sequence[CountedRound],
        *,
        records: int,
        rounds: int,
    ) -> Truth | None:
        """The columns by which each box may be divided next: `k` records are left on average. None where no
        box is divided."""
        if len(boxes.rounds) >= rounds:
            return None
        estimates = np.array([float(records)])
        if counted:
            estimates = box_groups.estimate(boxes, counted, total=records)[-1]
        # So many boxes as there may be at most have twice that many records.
        least = max(self._least(rounds), 4 * records / MAX_BOXES)
        children = boxes.child_counts
        among: Truth = (children > 0) & (children <= estimates[:, None] / least)
        return among if among.any() else None

    def _least(self, rounds: int) -> float:
        # A group smaller than its noise would be published as little else than noise.
        noise = self._last_noise(rounds, used=rounds)
        return max(float(self.k), MIN_DEVIATIONS * math.sqrt(noise.variance))

    def _records(self, total: Measurement | None) -> int:
        if total is None:
            return self.domain.rows or 0
        return oneway.clip_rows(int(total.values))

    # --- what is made of it ---------------------------------------------------------------------------------
    def _read(self, given: Replay) -> _Read:
        total = None if self.domain.rows is not None else given.measurement(())
        records = self._records(total)
        alone = {name: given.measurement((name,)) for name in self.alone_noises()}
        rounds = self.rounds(records)
        boxes, counted = self._whole, list[CountedRound]()
        while given.comes(BoxChoices):
            among = self._among(boxes, counted, records=records, rounds=rounds)
            division = given.next(BoxChoices)
            given.require(among is not None and _fits(division, boxes, among))
            boxes = boxes.divided(division.choices)
            counted.append(_round(boxes, self._counts(given, boxes)))
        if boxes.rounds:
            counted.append(_round(boxes, self._counts(given, boxes)))
        totals = [*([] if total is None else [total]), *alone.values()]
        rows = self.domain.rows
        return _Read(
            rows=oneway.estimate_rows(totals) if rows is None else rows,
            alone=alone,
            boxes=boxes,
            counted=tuple(counted),
            least=self._least(max(1, rounds)),
        )

    def _counts(self, given: Replay, boxes: Boxes) -> BoxCounts:
        return given.next(
            BoxCounts, lambda one: one.boxes == boxes.digest and len(one.values) == len(boxes)
        )

    def fit_replay(self, given: Replay) -> Model:
        read = self._read(given)
        alone = {name: self._alone(read, name) for name in self.domain.sizes}
        table = read.groups(alone)[1]
        network, tables = [], []
        for length, name in enumerate(table.columns, start=1):
            network.append(Node(attribute=name, parents=table.columns[: length - 1]))
            further = tuple(range(length, len(table.columns)))
            tables.append(
                Table(
                    clique=table.columns[:length],
                    weights=whole_weights(table.weights.sum(axis=further)),
                )
            )
        for name in self.domain.sizes:
            if name not in table.columns:
                network.append(Node(attribute=name, parents=()))
                tables.append(Table(clique=(name,), weights=whole_weights(alone[name])))
        return Model(
            mechanism=self.mechanism,
            domain=self.domain,
            rows=read.rows,
            tables=tuple(tables),
            network=tuple(network),
            merged=tuple(
                Binning(attribute=name, bins=bins, within=whole_weights(alone[name]))
                for name, bins in table.bins.items()
                if bins.max() + 1 < bins.size
            ),
        )

    def _alone(self, read: _Read, name: str) -> Floats:
        table = read.alone.get(name)
        if table is None:
            return np.ones(self.domain.sizes[name])
        along = self.domain.attribute(name).value_count
        return oneway.denoise(
            table.values, noise=table.noise, total=max(1, read.rows), along=along
        )

    def published(self, answers: Answers) -> JsonObject | None:
        """The columns that groups tell apart, and of each group the codes that it has in each of them, and
        its records."""
        read = self._read(Replay(answers))
        alone = {name: self._alone(read, name) for name in self.domain.sizes}
        groups, table = read.groups(alone)
        places = {tree.column: at for at, tree in enumerate(read.boxes.trees)}
        lines: list[JsonValue] = [
            [
                [group.codes(read.boxes, places[name]).tolist() for name in table.columns],
                round(group.count, 3),
            ]
            for group in groups
        ]
        return {"columns": list(table.columns), "boxes": lines}

    # --- forecasts ------------------------------------------------------------------------------------------
    def needs(self, rows: int | None = None) -> ResourceEstimate:
        records = self._guess(rows)
        number = len(self._whole.trees) + 2
        cells = min(MAX_BOXES, max(1, records // self.k))
        shapes = [(cells,)] * (max(1, self.rounds(records)) * number)
        queries = resources.of_groups(records, shapes, in_memory_at_once=False)
        return super().needs(rows) + queries

    def expected_error(self, *, rows: int | None = None) -> ErrorForecast:
        """As if no box were divided: by which columns is not known beforehand."""
        records = self._guess(rows)
        if not self.histograms:
            return error_forecast.uniform(sizes=self.domain.sizes, rows=records)
        table = error_forecast.typical(self.domain.sizes, rows=records)
        return replace(error_forecast.independent(self.alone_noises(), table), pair_noise=None)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Read:
    """Answers that were read. rows: the number of records; least: the size of the smallest group."""

    rows: int
    alone: dict[str, Measurement]
    boxes: Boxes
    counted: tuple[CountedRound, ...]
    least: float

    def groups(self, alone: dict[str, Floats]) -> tuple[list[BoxGroup], GroupTable]:
        """The groups, and the table of them. Where that would have too many cells, groups are larger."""
        if not self.boxes.rounds:
            whole = BoxGroup(classes=(0,) * len(self.boxes.trees), count=float(self.rows))
            return [whole], GroupTable(columns=(), bins={}, weights=np.ones(()))
        counts = box_groups.estimate(self.boxes, self.counted, total=self.rows)
        for least in self._sizes():
            groups = box_groups.large_groups(self.boxes, counts, least=least)
            table = box_groups.table_of(self.boxes, groups, alone=alone)
            if table is not None:
                return groups, table
        raise AssertionError("one group of all records has a table of one cell")

    def _sizes(self) -> Iterator[float]:
        size = self.least
        while size <= 2 * self.rows + 2 * self.least:
            yield size
            size *= 2
        yield math.inf


def _round(boxes: Boxes, counts: BoxCounts) -> CountedRound:
    return CountedRound(
        rounds=len(boxes.rounds),
        values=counts.values.astype(np.float64),
        variance=counts.noise.variance,
    )


def _fits(division: BoxChoices, boxes: Boxes, among: Truth) -> bool:
    """Whether exactly the boxes that were asked about are divided, by columns that they were asked about."""
    choices = division.choices
    if division.columns != tuple(tree.column for tree in boxes.trees):
        return False
    if choices.shape != (len(boxes),) or choices.min() < -1 or choices.max() >= among.shape[1]:
        return False
    asked = among.any(axis=1)
    chosen = among[np.arange(len(boxes)), np.maximum(choices, 0)]
    return bool(np.array_equal(asked, choices >= 0) and chosen[asked].all())
