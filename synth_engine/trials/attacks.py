"""Attacks on a synthetic table, tried with real records: lower bounds of risk, never a guarantee.

Singling out, linkability and attribute inference after Giomi, Boenisch, Wehmeyer and Tasnádi 2023, *A unified
framework for quantifying privacy risk in synthetic data* (section 3); the nearer table after Platzer and
Reutterer 2021, *Holdout-based empirical assessment of mixed-type synthetic data*; intervals after Wilson 1927
and Newcombe 1998.

A release is made of all records, so that none is left as a control. The control is a table instead: records
of a random half are attacked, once with the synthetic table and once with as many records of the other half
in its place. What the attacker learns from records of other people is the same in both; only what the
synthetic table gives away beyond counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_engine.domain import Attribute
from synth_engine.spec import Spec
from synth_engine.strict_json import JsonObject
from synth_engine.trials import shadow_models
from synth_engine.trials.gower import column_distance
from synth_engine.trials.record_samples import RecordSample

MAX_TARGETS = 500  # attacked records, and predicates
MAX_SEARCHED = 20_000  # records of a table that is searched
MAX_COLUMNS = 40  # that attribute inference tries
CHUNK = 50  # targets at a time
PREDICATE_COLUMNS = (3, 6)  # fewest and most
TRIES = 40  # predicates for each that singles out
CLOSE = 0.05  # of the range of an ordered column: a guess that near is right
FAIR_Z = 1.96  # 95 %
CERTAIN_Z = 5.5  # an independent table passes it in fewer than 1 of 10 million trials

Matrix = NDArray[np.int64]
Distances = NDArray[np.float32]
Interval = tuple[float, float]
Outcome = dict[str, Any]
"""The result of one attack, a JSON document."""
Progress = Callable[[str, float], None]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Tables:
    """Attacked records, and two tables of one size that attackers use, as codes: shape (records, columns)."""

    attributes: Sequence[Attribute]
    attacked: Matrix
    synthetic: Matrix
    control: Matrix


def attack(
    halves: tuple[RecordSample, RecordSample],
    synthetic: RecordSample,
    *,
    progress: Progress,
    shadowed: Spec | None = None,
    seed: int = 0,
) -> JsonObject:
    """Tries all attacks and returns how often they succeeded: not private. What cannot be tried is said in
    `notes`. shadowed: the request of the release, of which shadow models are made; None for none."""
    attacked, control = halves
    size = min(len(attacked), len(control), len(synthetic))
    domain = attacked.domain
    whole = _Tables(
        attributes=[domain.attribute(name) for name in domain.names],
        attacked=attacked.first(size).matrix(),
        synthetic=synthetic.first(size).matrix(),
        control=control.first(size).matrix(),
    )
    searched = _Tables(
        attributes=whole.attributes,
        attacked=whole.attacked[:MAX_SEARCHED],
        synthetic=whole.synthetic[:MAX_SEARCHED],
        control=whole.control[:MAX_SEARCHED],
    )
    notes: list[str] = []
    progress("single-out", 0.0)
    attacks = [_singling_out(searched, np.random.default_rng(seed), notes)]
    progress("link", 0.0)
    distances = _Neighbours(searched)
    attacks.append(_linkability(searched, distances, np.random.default_rng(seed), notes))
    progress("infer", 0.0)
    inference = _inference(searched, distances, notes, progress=progress)
    attacks += inference[:1]
    progress("recognise", 0.0)
    attacks += [_nearer(distances), _rare_copies(whole, notes)]
    if shadowed is not None:
        attacks.append(_shadows(attacked, shadowed, notes, progress=progress))
    return {
        "records": {"attacked": size, "searched": min(size, MAX_SEARCHED)},
        "attacks": [each for each in attacks if each is not None],
        "inference": inference,
        "notes": notes,
    }


# --- success ------------------------------------------------------------------------------------------------
def wilson(successes: int, trials: int, *, z: float = FAIR_Z) -> Interval:
    """Wilson's interval of a share of successes."""
    if not trials:
        return 0.0, 1.0
    share = successes / trials
    middle = (share + z**2 / (2 * trials)) / (1 + z**2 / trials)
    width = (
        z / (1 + z**2 / trials) * sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2))
    )
    return max(0.0, middle - width), min(1.0, middle + width)


def difference(first: int, second: int, trials: tuple[int, int], *, z: float) -> Interval:
    """Newcombe's interval of the difference of two shares, from Wilson's intervals of both (his method
    10)."""
    shares = first / trials[0], second / trials[1]
    low = [wilson(*each, z=z)[0] for each in zip((first, second), trials, strict=True)]
    high = [wilson(*each, z=z)[1] for each in zip((first, second), trials, strict=True)]
    gap = shares[0] - shares[1]
    return (
        gap - sqrt((shares[0] - low[0]) ** 2 + (high[1] - shares[1]) ** 2),
        gap + sqrt((high[0] - shares[0]) ** 2 + (shares[1] - low[1]) ** 2),
    )


def _outcome(name: str, successes: tuple[int, int], trials: tuple[int, int]) -> Outcome:
    """The success with the synthetic table and with the control, and the risk beyond the control:
    (s − c) / (1 − c) (Giomi and others, equation 2)."""
    rates = [hits / of for hits, of in zip(successes, trials, strict=True)]
    room = 1.0 - rates[1]
    fair = difference(*successes, trials, z=FAIR_Z)
    certain = difference(*successes, trials, z=CERTAIN_Z)

    def scaled(value: float) -> float:
        return min(1.0, max(0.0, value / room)) if room else 0.0

    return {
        "name": name,
        "trials": {"synthetic": trials[0], "control": trials[1]},
        "rates": {"synthetic": rates[0], "control": rates[1]},
        "intervals": {
            side: list(wilson(hits, of))
            for side, hits, of in zip(("synthetic", "control"), successes, trials, strict=True)
        },
        "risk": scaled(rates[0] - rates[1]),
        "risk_interval": [scaled(bound) for bound in fair],
        "level": "leak" if certain[0] > 0 else "sign" if fair[0] > 0 else "none",
    }


# --- singling out -------------------------------------------------------------------------------------------
def _singling_out(
    tables: _Tables, rng: np.random.Generator, notes: list[str]
) -> Outcome | None:
    """Predicates on three to six columns that hold for one record of the attacker's table hold for one
    attacked record."""
    outcomes = [
        _predicates(table, tables, np.random.default_rng(rng.integers(2**32)))
        for table in (tables.synthetic, tables.control)
    ]
    if min(tried for _, tried in outcomes) < CHUNK:
        notes.append(
            "Singling out: too few combinations of values hold for one record alone, so that it was not "
            "tried."
        )
        return None
    (first, trials), (second, control) = outcomes
    return _outcome("singling out", (first, second), (trials, control))


def _predicates(table: Matrix, tables: _Tables, rng: np.random.Generator) -> tuple[int, int]:
    """How many predicates single out one attacked record, and how many were tried."""
    columns = table.shape[1]
    fewest, most = (min(width, columns) for width in PREDICATE_COLUMNS)
    medians = np.median(table, axis=0)
    hits = tried = 0
    for _ in range(TRIES * MAX_TARGETS):
        if tried == MAX_TARGETS:
            break
        record = table[rng.integers(len(table))]
        chosen = rng.choice(columns, rng.integers(fewest, most + 1), replace=False)
        if _holding(table, record, chosen, medians, tables.attributes) == 1:
            tried += 1
            hits += _holding(tables.attacked, record, chosen, medians, tables.attributes) == 1
    return hits, tried


def _holding(
    table: Matrix,
    record: NDArray[np.int64],
    chosen: NDArray[np.int64],
    medians: NDArray[np.float64],
    attributes: Sequence[Attribute],
) -> int:
    """The records of a table that share the categories of this record and lie as far out in its ordered
    columns."""
    holds = np.ones(len(table), dtype=np.bool_)
    for column in chosen.tolist():
        values, value = table[:, column], record[column]
        if not attributes[column].ordered:
            holds &= values == value
        elif value > medians[column]:
            holds &= values >= value
        else:
            holds &= values <= value
    return int(np.count_nonzero(holds))


# --- nearest records ----------------------------------------------------------------------------------------
class _Neighbours:
    """Distances of some attacked records to both tables: the sum over columns of 0 to 1 (Gower 1971), an
    ordered column by the difference over its range, another by whether values differ."""

    def __init__(self, tables: _Tables) -> None:
        self._attributes = tables.attributes
        self.targets = tables.attacked[:MAX_TARGETS]
        self.tables = {"synthetic": tables.synthetic, "control": tables.control}

    def parts(self, side: str, targets: Matrix, columns: Sequence[int]) -> Distances:
        """The sum over some columns, shape (targets, records)."""
        table = self.tables[side]
        total = np.zeros((len(targets), len(table)), dtype=np.float32)
        for column in columns:
            total += self.column(side, targets, column)
        return total

    def column(self, side: str, targets: Matrix, column: int) -> Distances:
        """The distance in one column, shape (targets, records)."""
        table = self.tables[side]
        return column_distance(
            self._attributes[column], targets[:, column][:, None], table[:, column][None, :]
        )

    def chunks(self) -> list[Matrix]:
        """The attacked records, some at a time."""
        return [
            self.targets[start : start + CHUNK] for start in range(0, len(self.targets), CHUNK)
        ]


def _linkability(
    tables: _Tables, neighbours: _Neighbours, rng: np.random.Generator, notes: list[str]
) -> Outcome | None:
    """An attacker who has some columns of a record in one file and the others in another links both by the
    same nearest record."""
    columns = len(tables.attributes)
    if columns < 4:
        notes.append("Linkability: fewer than four columns, so that it was not tried.")
        return None
    order = rng.permutation(columns).tolist()
    halves = order[: columns // 2], order[columns // 2 :]
    hits = {"synthetic": 0, "control": 0}
    for targets in neighbours.chunks():
        for side in hits:
            first, second = (
                neighbours.parts(side, targets, half).argmin(axis=1) for half in halves
            )
            hits[side] += int((first == second).sum())
    trials = len(neighbours.targets)
    return _outcome("linkability", (hits["synthetic"], hits["control"]), (trials, trials))


def _inference(
    tables: _Tables, neighbours: _Neighbours, notes: list[str], *, progress: Progress
) -> list[Outcome]:
    """An attacker who knows all columns but one guesses it from the nearest record; each column in turn, the
    worst first."""
    columns = list(range(len(tables.attributes)))
    if len(columns) < 2:
        notes.append("Attribute inference: one column, so that it was not tried.")
        return []
    secrets = columns[:MAX_COLUMNS]
    hits = {side: np.zeros(len(secrets), dtype=np.int64) for side in neighbours.tables}
    chunks = neighbours.chunks()
    for number, targets in enumerate(chunks):
        progress("infer", number / len(chunks))
        for side, table in neighbours.tables.items():
            whole = neighbours.parts(side, targets, columns)
            for secret in secrets:
                nearest = (whole - neighbours.column(side, targets, secret)).argmin(axis=1)
                hits[side][secret] += _right(
                    tables.attributes[secret], targets[:, secret], table[nearest, secret]
                )
    trials = len(neighbours.targets)
    outcomes = [
        {
            **_outcome(
                "attribute inference",
                (int(hits["synthetic"][secret]), int(hits["control"][secret])),
                (trials, trials),
            ),
            "column": tables.attributes[secret].name,
        }
        for secret in secrets
    ]
    return sorted(outcomes, key=lambda outcome: -outcome["risk_interval"][0] - outcome["risk"])


def _right(attribute: Attribute, truth: Matrix, guess: Matrix) -> int:
    if not attribute.ordered:
        return int((truth == guess).sum())
    declared = (truth < attribute.value_count) == (guess < attribute.value_count)
    near = np.abs(truth - guess) <= CLOSE * (attribute.value_count - 1)
    return int((declared & near).sum())


# --- membership and copies ----------------------------------------------------------------------------------
def _nearer(neighbours: _Neighbours) -> Outcome:
    """Attacked records that lie nearer to the synthetic table than to the control, ties half: one half of an
    independent table."""
    columns = range(neighbours.targets.shape[1])
    twice = 0
    for targets in neighbours.chunks():
        ends = [
            neighbours.parts(side, targets, columns).min(axis=1)
            for side in ("synthetic", "control")
        ]
        twice += 2 * int((ends[0] < ends[1]).sum()) + int((ends[0] == ends[1]).sum())
    return _against_a_coin("membership", twice // 2, len(neighbours.targets))


def _against_a_coin(name: str, hits: int, trials: int) -> Outcome:
    """The success of an attack of which one half succeeds by chance; the risk is how far it is beyond
    that."""
    share, fair, certain = (
        hits / trials,
        wilson(hits, trials),
        wilson(hits, trials, z=CERTAIN_Z),
    )
    return {
        "name": name,
        "trials": {"synthetic": trials, "control": trials},
        "rates": {"synthetic": share, "control": 0.5},
        "intervals": {"synthetic": list(fair), "control": [0.5, 0.5]},
        "risk": max(0.0, 2 * share - 1),
        "risk_interval": [max(0.0, 2 * bound - 1) for bound in fair],
        "level": "leak" if certain[0] > 0.5 else "sign" if fair[0] > 0.5 else "none",
    }


def _shadows(
    pool: RecordSample, spec: Spec, notes: list[str], *, progress: Progress
) -> Outcome | None:
    """Of small tables that the method releases: whether a target was in each, told from the release."""
    progress("shadow", 0.0)
    tried = shadow_models.attack(pool, spec, progress=progress)
    if isinstance(tried, str):
        notes.append(f"Shadow models: {tried}, so that they were not tried.")
        return None
    notes.append(
        f"Shadow models: {tried.tables} small tables were released by the method of this release; epsilon "
        f"and delta allow at most {tried.bound:.0%} right answers."
    )
    return _against_a_coin("shadow models", tried.hits, tried.trials)


def _rare_copies(tables: _Tables, notes: list[str]) -> Outcome | None:
    """Attacked records that no other attacked record equals, and that stand in the table exactly as they
    are."""
    rows = [_as_keys(table) for table in (tables.attacked, tables.synthetic, tables.control)]
    attacked, counts = np.unique(rows[0], return_counts=True)
    rare = attacked[counts == 1]
    if rare.size < CHUNK:
        notes.append(
            f"Copies: fewer than {CHUNK} records differ from all others, so that they were not searched for."
        )
        return None
    hits = [int(np.isin(rare, other).sum()) for other in rows[1:]]
    return _outcome(
        "copies of rare records", (hits[0], hits[1]), (int(rare.size), int(rare.size))
    )


def _as_keys(table: Matrix) -> NDArray[np.void]:
    """Each record as one value that can be sorted and compared."""
    whole = np.ascontiguousarray(table)
    return whole.view(np.dtype((np.void, whole.dtype.itemsize * whole.shape[1]))).ravel()
