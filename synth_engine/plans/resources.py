"""Estimates of the memory and time of a run, from public facts alone, and the refusal of what
is too much.

The constants are those of one machine; `bench/needs.py` compares the estimates with
measurements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from math import expm1, log, prod, sqrt

import numpy as np

from synth_engine.domain import MAX_CODES
from synth_engine.errors import SpecError
from synth_engine.inference import maxent_triples, refine_triples
from synth_engine.models import blocks

MEGABYTE = 1_000_000
NAMED = 3
"""Attributes that a refusal names, at most."""
MAX_LISTED_GROUPS = 200_000
"""Groups of attributes that are estimated one by one; of more, only these are."""

START = 2.0
"""Seconds, whatever the table: libraries are loaded, a certificate is found. A worker that runs already has
them loaded."""
_READ, _DRAWN = 1.1e-7, 6e-8  # for each cell of the table
_LISTED = 8e-5  # for each code of a long list, with its point and the parts that it belongs to
_COUNTED = 1.2e-8  # for each record and group of attributes
_LOOK = 7e-8  # for each cell of these groups, each time
_ASKED = 1.1e-3  # for each table of a pair, however small
_MIXED = 3.2e-7  # for each cell of a pair, as a mixture describes it
_READ_AGAIN, _READ_A_TABLE = (
    1.8e-5,
    2.5e-3,
)  # for each cell, and for each table, that is read against what is expected
_ESTIMATED_COLUMN, _ESTIMATED_PAIR = (
    2.7e-2,
    7e-4,
)  # for each column, and each pair, whose noisy counts are read by compiled loops
_COMPARED, _COMPARED_RECORD = (
    4e-5,
    1.2e-9,
)  # for each triple that is compared with its pairs, and for each record of it
_IMPLIED, _IMPLIED_CELL = (
    6e-5,
    1.2e-7,
)  # for each round and each pair, and each cell, that follows from others
_LOADED = 0.05  # before the first record is refined
_TAKEN, _REFINED = (
    2e-7,
    7e-8,
)  # for each record that is refined and each attribute, and each target
_SORTED, _OFFERED, _SMOOTHED = (
    5e-8,
    5e-9,
    1e-9,
)  # each pass, a record, for each attribute, pair, and table of three
_SMOOTHED_CODE = 3e-5  # for each code of a long list, at each of its levels
_FORESEEN, _FEW = (
    3e-8,
    8_000_000,
)  # for each cell of a table of three; where there are as many, each is found half as fast
_MET_FIRST, _MET = 2.4, 1.6e-7  # before records meet their views, and for each record and view
_CONFIRMED = 6.5e-7  # for each mass that the verifier adds up
_LOOKED_AT = 8  # numbers of records of an origin at which masses are counted
_LEAST_MASS, _LEAST_FALL = 2.0**-40, 0.05
_START_BYTES = 110 * MEGABYTE
_BYTES_OF_A_CELL_READ, _MAX_BYTES_READ = 16, 80 * MEGABYTE
_BYTES_OF_A_CELL = 4
_BYTES_OF_A_LISTED_CODE = 2_000
_BYTES_OF_A_CELL_COUNTED = 10
_BYTES_OF_A_TARGET, _BYTES_OF_A_COPY = 32, 16  # for each cell, and for each cell and axis
_MOST_IN_A_TRIPLE = 3
_BYTES_OF_A_CELL_FORESEEN = 8
_BYTES_OF_A_CODE_SMOOTHED = 600
_BYTES_OF_THE_FINISH = 45 * MEGABYTE
_BYTES_OF_A_CELL_MIXED, _BYTES_OF_A_LINE_MIXED = 24, 400
_BYTES_OF_A_CELL_READ_AGAIN = 1_000
_BYTES_OF_FLOWS = 40 * MEGABYTE


@dataclass(frozen=True, kw_only=True)
class ResourceEstimate:
    """`memory_bytes`: at the peak, beyond what the process itself takes. `seconds`: of one processor, from a
    file to a table as large as the data. `drawing_seconds`: of these, the part that generating the table
    takes, for which a release does not wait. `confirming_seconds`: of these, the part in which the verifier
    computes the loss before anything is charged, where that takes long."""

    memory_bytes: int
    seconds: float
    drawing_seconds: float = 0.0
    confirming_seconds: float = 0.0

    def __add__(self, other: ResourceEstimate) -> ResourceEstimate:
        """Adds the needs of a second step that runs while the results of the first are in
        memory."""
        return ResourceEstimate(
            memory_bytes=self.memory_bytes + other.memory_bytes,
            seconds=self.seconds + other.seconds,
            drawing_seconds=self.drawing_seconds + other.drawing_seconds,
            confirming_seconds=self.confirming_seconds + other.confirming_seconds,
        )

    @property
    def release_seconds(self) -> float:
        """Seconds from a file to a release."""
        return self.seconds - self.drawing_seconds

    def of_drawing(self) -> ResourceEstimate:
        """The same of a step that generates the table."""
        return replace(self, drawing_seconds=self.seconds)


def of_table(rows: int, *, sizes: Mapping[str, int]) -> ResourceEstimate:
    """Estimates reading a description and a table of that many records, and generating one as large. sizes:
    codes of each attribute, of which only long lists take time and memory of their own."""
    attributes = len(sizes)
    listed = sum(size for size in sizes.values() if size > MAX_CODES)
    cells = rows * attributes
    reading = min(_BYTES_OF_A_CELL_READ * cells, _MAX_BYTES_READ)  # files are read part by part
    return ResourceEstimate(
        memory_bytes=_START_BYTES
        + reading
        + _BYTES_OF_A_CELL * cells
        + _BYTES_OF_A_LISTED_CODE * listed,
        seconds=START + (_READ + _DRAWN) * cells + _LISTED * listed,
        drawing_seconds=_DRAWN * cells,
    )


def of_smoothing(sizes: Mapping[str, int]) -> ResourceEstimate:
    """Estimates reading the noisy counts of long lists of codes, one column after another."""
    listed = [size for size in sizes.values() if size > MAX_CODES]
    return ResourceEstimate(
        memory_bytes=_BYTES_OF_A_CODE_SMOOTHED * max(listed, default=0),
        seconds=_SMOOTHED_CODE * sum(listed),
    )


def of_groups(
    rows: int, shapes: Iterable[tuple[int, ...]], *, in_memory_at_once: bool, looks: float = 4
) -> ResourceEstimate:
    """Estimates counting groups of attributes of these shapes and passing over every cell
    `looks` times.

    in_memory_at_once: the tables are all in memory together, not one after another."""
    cells = [prod(shape) for shape in shapes]
    # Tables that are counted one after another share the same memory.
    held = sum(cells) if in_memory_at_once else max(cells, default=0)
    seconds = _COUNTED * rows * len(cells) + _LOOK * looks * sum(cells)
    return ResourceEstimate(memory_bytes=_BYTES_OF_A_CELL_COUNTED * held, seconds=seconds)


def of_pairs(
    rows: int, shapes: Sequence[tuple[int, ...]], *, looks: float = 4
) -> ResourceEstimate:
    """Estimates as `of_groups` with all tables in memory, and adds the cost of asking for a
    table however small it is."""
    return of_groups(rows, shapes, in_memory_at_once=True, looks=looks) + ResourceEstimate(
        memory_bytes=0, seconds=_ASKED * len(shapes)
    )


def of_triples(rows: int, *, number: int, cells: int) -> ResourceEstimate:
    """Estimates comparing so many triples, counted together, with what their pairs imply. cells: of each."""
    held = of_groups(rows, [(cells,)] * number, in_memory_at_once=True)
    return replace(held, seconds=number * (_COMPARED + _COMPARED_RECORD * rows))


def of_rounds(rounds: int, shapes: Sequence[tuple[int, ...]]) -> ResourceEstimate:
    """Estimates finding, in every round, what is expected of all tables of these shapes."""
    seconds_per_round = _IMPLIED * len(shapes) + _IMPLIED_CELL * sum(
        prod(shape) for shape in shapes
    )
    return ResourceEstimate(memory_bytes=0, seconds=rounds * seconds_per_round)


def of_mixture(pairs: int, *, width: int, fits: int) -> ResourceEstimate:
    """Estimates fitting so many mixtures, one after the other, to tables of so many pairs, each laid out in a
    square of that width."""
    lines = pairs * width
    memory = lines * (_BYTES_OF_A_CELL_MIXED * width + _BYTES_OF_A_LINE_MIXED)
    return ResourceEstimate(memory_bytes=memory, seconds=fits * _MIXED * lines * width)


def of_reading(shapes: Sequence[tuple[int, ...]]) -> ResourceEstimate:
    """Estimates comparing tables of these shapes, one after another, with what is expected of
    them."""
    cells = [prod(shape) for shape in shapes]
    seconds = _READ_A_TABLE * len(cells) + _READ_AGAIN * sum(cells)
    return ResourceEstimate(
        memory_bytes=_BYTES_OF_A_CELL_READ_AGAIN * max(cells, default=0), seconds=seconds
    )


def of_estimates(shapes: Sequence[tuple[int, ...]], *, columns: int) -> ResourceEstimate:
    """Estimates reading the noisy counts of so many columns and of pairs of these shapes, by compiled
    loops."""
    return ResourceEstimate(
        memory_bytes=_BYTES_OF_A_CELL_READ_AGAIN * max(map(prod, shapes), default=0),
        seconds=_ESTIMATED_COLUMN * columns + _ESTIMATED_PAIR * len(shapes),
    )


def of_confirming_groups(
    priors: Mapping[int, tuple[int, int]], *, unit: int, copies: int, epsilon: float
) -> ResourceEstimate:
    """Estimates computing the delta of resampled groups as the verifier does. priors: by size of groups, the
    prior of one origin in parts of 1 / unit, and the number of origins."""
    # For each number x of records of an origin, masses are added from the first of them at which the
    # expectation has a part, until those left out are below 2^-40.
    grown, steps = expm1(epsilon), 0.0
    for size, (weight, origins) in priors.items():
        prior, draws = weight / unit, copies * size
        last = min(size, draws / grown + 1 - prior)
        if last < 1 or prior * grown >= draws:
            continue
        own = np.linspace(1, last, _LOOKED_AT) + prior
        first = grown * (own - 1)
        left = np.maximum(draws - first, 1)
        others = np.maximum(size + origins * prior - own + left, 1)
        fall = -np.log(np.maximum(left * (own + first) / ((first + 1) * others), _LEAST_MASS))
        added = np.minimum(left, -log(_LEAST_MASS) / np.maximum(fall, _LEAST_FALL))
        steps += 2 * draws + last * float(added.mean())
    seconds = _CONFIRMED * steps
    return ResourceEstimate(memory_bytes=0, seconds=seconds, confirming_seconds=seconds)


def of_finish(
    rows: int, shapes: Sequence[tuple[int, ...]], *, attributes: int
) -> ResourceEstimate:
    """Estimates the refinement of generated rows to target tables of these shapes."""
    refined = blocks.rows_refined(rows, attributes)
    memory = _BYTES_OF_THE_FINISH + sum(map(bytes_of_target, shapes))
    # A change of each of its attributes looks a table up.
    looked_up = sum(len(shape) for shape in shapes) / 2
    pairs = ResourceEstimate(
        memory_bytes=memory + 3 * 2 * rows * attributes,
        seconds=_LOADED + refined * (_TAKEN * attributes + _REFINED * looked_up),
    )
    small = [shape for shape in shapes if len(shape) <= _MOST_IN_A_TRIPLE]
    return (pairs + _of_triples(refined, small, attributes=attributes)).of_drawing()


def bytes_of_target(shape: tuple[int, ...]) -> int:
    """Estimates the memory that refinement takes for a target of this shape: its costs are stored once for
    each axis."""
    return (_BYTES_OF_A_TARGET + _BYTES_OF_A_COPY * len(shape)) * prod(shape)


def _of_triples(
    rows: int, shapes: Sequence[tuple[int, ...]], *, attributes: int
) -> ResourceEstimate:
    """Estimates refining tables of three attributes as well, as many as so many pairs can have
    among them, all of the mean size."""
    triples = min(maxent_triples.MAX_TRIPLES, int(sqrt(2 * len(shapes)) ** 3 / 6))
    most = refine_triples.LEVELS[0]
    side = sum(sqrt(prod(min(size, most) for size in shape[:2])) for shape in shapes) / max(
        1, len(shapes)
    )
    cells = min(refine_triples.MAX_CELLS, int(triples * side**3))
    if not cells:
        return ResourceEstimate(memory_bytes=0, seconds=0.0)
    seconds_per_record = _SORTED * attributes + (
        _OFFERED * len(shapes) + _SMOOTHED * triples
    ) * (1 + cells / _FEW)
    memory = _BYTES_OF_A_CELL_FORESEEN * cells + 4 * 2 * rows * attributes
    return ResourceEstimate(
        memory_bytes=memory,
        seconds=_FORESEEN * cells
        + rows * refine_triples.passes(attributes) * seconds_per_record,
    )


def of_flows(rows: int, views: int) -> ResourceEstimate:
    """Estimates changing generated rows, by flows, until they have that many views."""
    return ResourceEstimate(
        memory_bytes=_BYTES_OF_FLOWS, seconds=_MET_FIRST + _MET * rows * views
    ).of_drawing()


def groups_up_to(
    sizes: Mapping[str, int], *, columns: int, cells: int | None = None
) -> list[tuple[int, ...]]:
    """The shapes of all groups of two attributes up to `columns`, of at most so many cells; the first
    `MOST_LISTED`."""
    every = (
        shape
        for count in range(2, columns + 1)
        for shape in combinations(sorted(sizes.values()), count)
    )
    return [
        shape
        # The number of groups grows with a power of the columns, and an estimate has to stay
        # cheap.
        for shape in islice(every, MAX_LISTED_GROUPS)
        if cells is None or prod(shape) <= cells
    ]


def require_cells(sizes: Mapping[str, int], *, most: int) -> None:
    """Refuses a table of all these attributes together that has more than `most` cells, before anything is
    spent. sizes: of the attributes. Errors: SpecError naming the largest ones."""
    cells = prod(sizes.values())
    if cells <= most:
        return
    raise SpecError(
        f"the columns together make a table of {cells:,} cells, more than {most:,}",
        repair=f"declare fewer values or wider bins for {_largest(sizes)}, leave columns out, or take "
        "another method",
    )


def require_within(
    needed: ResourceEstimate, *, memory_mb: int, sizes: Mapping[str, int]
) -> None:
    """Refuses what needs more memory than the steward allows, before anything is spent. sizes: of the
    attributes, or of their bins, as the mechanism would count them. Errors: SpecError naming the largest
    ones."""
    needed_mb = -(-needed.memory_bytes // MEGABYTE)
    if needed_mb <= memory_mb:
        return
    raise SpecError(
        f"this run needs about {needed_mb:,} MB, more than the {memory_mb:,} MB of memory_mb",
        repair=f"declare fewer values or wider bins for {_largest(sizes)}, leave columns out, or allow "
        "more memory",
    )


def _largest(sizes: Mapping[str, int]) -> str:
    """Names the largest attributes, by their public sizes, so that a refusal contains nothing of
    the table."""
    largest = sorted(sizes, key=lambda name: (-sizes[name], name))[:NAMED]
    return ", ".join(repr(name) for name in largest)
