"""How well two noisy sketches tell how many persons two made tables share, and how their columns go together
across the join.

    python bench/linking.py [SEEDS]         # relative errors and coverage of the number of shared persons;
                                            100 seeds
    python bench/linking.py join [SEEDS]    # correlations of real pairs, of linked and of independent
                                            synthetic tables; 3 seeds
    python bench/linking.py random [RUNS]   # how often the interval covers where buckets are random; 1,000
                                            runs
    python bench/linking.py time            # seconds to hash and to sketch a table
    python bench/linking.py files FOLDER    # the two tables with their descriptions, to try the command line
                                            on

Names are made of syllables, with frequencies that fall off as those of names do, so that no real person is in
them.
"""

from __future__ import annotations

import json
import secrets
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from synth_engine import mechanisms
from synth_engine.domain import Boolean, Domain, Identifier
from synth_engine.kinds.reading import code_dtype
from synth_engine.linking import agreement as agreements
from synth_engine.linking import drawing
from synth_engine.linking import estimate as estimates
from synth_engine.linking import sketch as sketches
from synth_engine.linking.agreement import BUCKET, Agreement, Offer, Side
from synth_engine.linking.drawing import LinkedTables
from synth_engine.linking.estimate import LinkEstimate
from synth_engine.linking.sketch import Sketch
from synth_engine.models.model import Model
from synth_engine.room import session
from synth_engine.room.rows import Rows
from synth_engine.spec import Spec

RECORDS = 20_000
SYLLABLES = [
    a + b
    for a in [
        "b",
        "d",
        "f",
        "g",
        "h",
        "k",
        "l",
        "m",
        "n",
        "p",
        "r",
        "s",
        "t",
        "v",
        "w",
        "z",
        "sch",
        "st",
        "br",
    ]
    for b in ["a", "e", "i", "o", "u", "an", "er", "el", "in", "o"]
]
TEXTS = ("first", "last", "born")
Person = tuple[str, str, str]


@dataclass(frozen=True)
class Tables:
    """Two tables that share `both` persons, the last of the left one and the first of the right one. codes:
    of a column with two values on each side."""

    left: list[Person]
    right: list[Person]
    left_codes: NDArray[np.int64]
    right_codes: NDArray[np.int64]
    both: int

    @property
    def joint(self) -> NDArray[np.int64]:
        """Shared persons by the columns of both sides."""
        left, right = (
            self.left_codes[len(self.left) - self.both :],
            self.right_codes[: self.both],
        )
        return np.bincount(2 * left + right, minlength=4).reshape(2, 2)


def names(number: int, rng: np.random.Generator, *, longest: int) -> list[str]:
    return ["".join(rng.choice(SYLLABLES, rng.integers(1, longest + 1))) for _ in range(number)]


def frequent(number: int) -> NDArray[np.float64]:
    weights = 1 / np.arange(1, number + 1) ** 0.8
    return np.asarray(weights / weights.sum())


def make(rng: np.random.Generator, *, records: int, overlap: float, typos: float) -> Tables:
    both = round(records * overlap)
    number = 2 * records - both
    first, last = names(400, rng, longest=3), names(4000, rng, longest=4)
    chosen = zip(
        rng.choice(400, number, p=frequent(400)),
        rng.choice(4000, number, p=frequent(4000)),
        (np.datetime64("1970-01-01") + rng.integers(0, 40 * 365, number)).astype(str),
        strict=True,
    )
    people = [(first[a], last[b], str(day)) for a, b, day in chosen]
    # Both columns depend on what nobody recorded, so that they are correlated within a person.
    hidden = rng.random(number) < 0.4
    codes = [
        (rng.random(number) < np.where(hidden, high, low)).astype(np.int64)
        for low, high in ((0.15, 0.85), (0.25, 0.9))
    ]
    start = records - both
    wrong = rng.random(records) < typos
    right = [
        with_typo(person, rng) if wrong[index] else person
        for index, person in enumerate(people[start:])
    ]
    return Tables(people[:records], right, codes[0][:records], codes[1][start:], both)


def with_typo(person: Person, rng: np.random.Generator) -> Person:
    """One letter or digit of one text is another one."""
    place = int(rng.integers(3))
    text = list(person[place])
    signs = "0123456789" if place == 2 else "abcdefghijklmnopqrstuvwxyz"
    text[rng.integers(len(text))] = signs[rng.integers(len(signs))]
    changed = list(person)
    changed[place] = "".join(text)
    return changed[0], changed[1], changed[2]


def described(column: str) -> Domain:
    identifiers = tuple(Identifier(name=name) for name in TEXTS)
    return Domain(attributes=(*identifiers, Boolean(name=column)))


def agreed(
    epsilon: Fraction,
    *,
    attributes: bool = True,
    typos: Fraction = Fraction(0),
    records: int = RECORDS,
) -> Agreement:
    left, right = (
        Offer(
            domain=described(column),
            texts=TEXTS,
            attributes=(column,) if attributes else (),
            epsilon=epsilon,
        )
        for column in ("tenure", "finished")
    )
    seed = secrets.token_hex(16)
    return agreements.agree(left, right, rows=records, typos=typos, seed=seed)


def sketch(
    agreement: Agreement, side: Side, buckets: NDArray[np.int64], codes: NDArray[np.int64]
) -> Sketch:
    """The sketch of one side by a session of the room, without a file."""
    plan = sketches.plan(agreement, side)
    columns = dict(
        zip(BUCKET, np.unravel_index(buckets, agreement.hashing.shape), strict=True)
    ) | dict.fromkeys(agreement.side(side).names, codes)
    typed = {
        name: column.astype(code_dtype(plan.domain.sizes[name]))
        for name, column in columns.items()
    }
    room = session.open_session(
        Rows(typed, domain=plan.domain), domain=plan.domain, cap=plan.loss, planned=plan.calls
    )
    return plan.read(plan.run(room))


def buckets_of(agreement: Agreement, people: Sequence[Person]) -> NDArray[np.int64]:
    return agreement.hashing.buckets_of(list(zip(*people, strict=True)))


def linked(agreement: Agreement, tables: Tables) -> LinkEstimate:
    return estimates.estimate(
        sketch(agreement, "left", buckets_of(agreement, tables.left), tables.left_codes),
        sketch(agreement, "right", buckets_of(agreement, tables.right), tables.right_codes),
    )


def random_buckets(runs: int) -> None:
    """How often the interval covers where every person has a bucket at random, so that its formula is all
    that is tried."""
    agreement, both = agreed(Fraction(1), attributes=False), RECORDS // 2
    covered = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        buckets = rng.integers(0, agreement.hashing.buckets, 2 * RECORDS - both)
        none = np.zeros(RECORDS, dtype=np.int64)
        made = estimates.estimate(
            sketch(agreement, "left", buckets[:RECORDS], none),
            sketch(agreement, "right", buckets[RECORDS - both :], none),
        )
        covered += made.both.low <= both <= made.both.high
    print(f"the interval covers in {covered / runs:.1%} of {runs:,} runs with random buckets")


CONDITIONS = (
    (False, "1", 0.5, 0.0),
    (True, "1", 0.5, 0.0),
    (True, "1", 0.5, 0.1),
    (True, "10", 0.1, 0.0),
)
"""Of the first table: whether columns are linked, epsilon of each side, overlap, and the share of persons
with a typo on one side."""


def coverage(seeds: int) -> None:
    print(f"{RECORDS:,} records a side, {seeds} seeds")
    print(
        "columns  epsilon overlap typos | mean error  95% of errors  covered  mean width/both"
    )
    for attributes, epsilon, overlap, typos in CONDITIONS:
        errors, covered, widths = [], 0, []
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            tables = make(rng, records=RECORDS, overlap=overlap, typos=typos)
            agreement = agreed(
                Fraction(epsilon), attributes=attributes, typos=Fraction(str(typos))
            )
            both = linked(agreement, tables).both
            errors.append(abs(both.value - tables.both) / tables.both)
            covered += both.low <= tables.both <= both.high
            widths.append((both.high - both.low) / tables.both)
        kind = "2 x 2" if attributes else "none"
        print(
            f"{kind:8} {epsilon:>7} {overlap:7.0%} {typos:5.0%} | {np.mean(errors):10.1%} "
            f"{np.quantile(errors, 0.95):14.1%} {covered / seeds:8.0%} {np.mean(widths):16.1%}",
            flush=True,
        )


def correlation(joint: NDArray[np.int64]) -> float:
    """The correlation of two columns of two values, from the counts of pairs; 0 where a column is
    constant."""
    margins = np.concatenate([joint.sum(axis=0), joint.sum(axis=1)]).astype(np.float64)
    scale = np.sqrt(np.prod(margins))
    return float(np.linalg.det(joint.astype(np.float64)) / scale) if scale > 0 else 0.0


def released(domain: Domain, codes: NDArray[np.int64], epsilon: Fraction) -> Model:
    """A model of one column of one side, by a release of its own."""
    spec = Spec(mechanism="independent", parameters={}, epsilon=epsilon, delta=Fraction(0))
    plan = mechanisms.plan(domain, spec)
    rows = Rows({domain.names[0]: codes.astype(np.uint16)}, domain=domain)
    room = session.open_session(rows, domain=domain, cap=plan.loss, planned=plan.calls)
    return plan.fit(plan.run(room))


def joined(
    tables: LinkedTables, *, shuffled: np.random.Generator | None = None
) -> NDArray[np.int64]:
    """Pairs with one id by the columns of both sides. shuffled: with the ids of one side in another order, as
    of tables that were synthesized independently."""
    left, right = (tables.tables[side].copy() for side in ("left", "right"))
    if shuffled is not None:
        right["link_id"] = shuffled.permutation(right["link_id"].to_numpy())
    pairs = left.merge(right, on="link_id")
    codes = [
        (pairs[column].astype(str).str.lower() == "true").to_numpy(dtype=np.int64)
        for column in ("tenure", "finished")
    ]
    return np.bincount(2 * codes[0] + codes[1], minlength=4).reshape(2, 2)


def across_the_join(seeds: int) -> None:
    print(
        f"{RECORDS:,} records a side, {seeds} seeds, columns 2 x 2; means, and the deviation of one run"
    )
    print(
        "epsilon overlap typos |  shared: real  linked (+-) | correlation: real  linked (+-)  independent"
    )
    for epsilon in ("0.1", "1", "10"):
        for overlap in (0.0, 0.1, 0.5, 1.0):
            for typos in (0.0, 0.1):
                shared, of_real, of_linked, of_independent = [], [], [], []
                for seed in range(seeds):
                    rng = np.random.default_rng(seed)
                    tables = make(rng, records=RECORDS, overlap=overlap, typos=typos)
                    agreement = agreed(Fraction(epsilon), typos=Fraction(str(typos)))
                    models: dict[Side, Model] = {
                        "left": released(
                            Domain(attributes=(Boolean(name="tenure"),)),
                            tables.left_codes,
                            Fraction(epsilon),
                        ),
                        "right": released(
                            Domain(attributes=(Boolean(name="finished"),)),
                            tables.right_codes,
                            Fraction(epsilon),
                        ),
                    }
                    generated = drawing.draw(linked(agreement, tables), models, seed=str(seed))
                    shared.append(generated.shared)
                    of_real.append(correlation(tables.joint))
                    of_linked.append(correlation(joined(generated)))
                    of_independent.append(correlation(joined(generated, shuffled=rng)))
                print(
                    f"{epsilon:>7} {overlap:7.0%} {typos:5.0%} | {round(RECORDS * overlap):13,} "
                    f"{np.mean(shared):7,.0f} {np.std(shared):5,.0f} | {np.mean(of_real):17.2f} "
                    f"{np.mean(of_linked):7.2f} {np.std(of_linked):5.2f} {np.mean(of_independent):12.2f}",
                    flush=True,
                )


def times() -> None:
    rng = np.random.default_rng(0)
    tables = make(rng, records=RECORDS, overlap=0.5, typos=0.0)
    agreement = agreed(Fraction(1))
    columns = list(zip(*tables.left, strict=True))
    start = time.process_time()
    agreement.hashing.buckets_of(columns)
    hashed = time.process_time()
    print(f"hashing {RECORDS:,} records: {hashed - start:.2f} s of the processor")
    sketch(agreement, "left", buckets_of(agreement, tables.left), tables.left_codes)
    print(f"a whole sketch of them: {time.process_time() - hashed:.2f} s")


def write_files(folder: Path) -> None:
    """Writes left.csv and right.csv with a description beside each; half of the persons are in both."""
    tables = make(np.random.default_rng(0), records=RECORDS, overlap=0.5, typos=0.0)
    sides = (
        ("left", "tenure", tables.left, tables.left_codes),
        ("right", "finished", tables.right, tables.right_codes),
    )
    for side, column, people, codes in sides:
        frame = pd.DataFrame(people, columns=list(TEXTS))
        frame[column] = np.where(codes == 1, "true", "false")
        frame.to_csv(folder / f"{side}.csv", index=False)
        document = json.dumps(described(column).to_json(), indent=1)
        (folder / f"{side}.domain.json").write_text(document)


if __name__ == "__main__":
    mode = sys.argv[1] if len(sys.argv) > 1 else "100"
    if mode == "join":
        across_the_join(int(sys.argv[2]) if len(sys.argv) > 2 else 3)
    elif mode == "random":
        random_buckets(int(sys.argv[2]) if len(sys.argv) > 2 else 1000)
    elif mode == "time":
        times()
    elif mode == "files":
        write_files(Path(sys.argv[2]))
    else:
        coverage(int(mode))
