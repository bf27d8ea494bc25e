"""A sketch of one side of a link: one person moves one cell by one, the exact law of what leaves the room,
its receipt, and mutants that must not survive (docs/proofs/link-sketch.md)."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from synth_engine import pipeline, verifier
from synth_engine.errors import VerificationError
from synth_engine.linking import sketch as sketches
from synth_engine.linking.agreement import Agreement
from synth_engine.linking.hashing import Hashing
from synth_engine.linking.sketch import SketchPlan
from synth_engine.measurement import Counts, Noise
from synth_engine.privacy import receipt as receipts
from synth_engine.privacy.loss import Pure
from synth_engine.privacy.unit import PrivacyUnit, Relation, Spelling
from synth_engine.room.rows import Rows
from synth_engine.room.session import RoomSession, open_session
from synth_engine.sources import linking as room
from synth_engine.verifier import standalone
from tests import links
from tests.privacy import exact
from tests.privacy.exact import Replay

EPSILON = Fraction(7, 10)
PEOPLE = [
    ("Ada", "Lovelace", "true"),
    ("Ada", "Lovelace", "false"),
    ("Àda", "LOVELACE", "true"),
    ("", "", "true"),
    ("x", "", ""),
    ("Grace", "Hopper", "no value of this column"),
    ("Emmy", "Noether-Nöther", "false"),
    ("🙂", "\u0301", "true"),
]
Columns = Sequence[Sequence[str]]


def records(
    path: Path, agreement: Agreement, rows: Sequence[Sequence[object]], *, unit: bool = False
) -> Counter[Any]:
    """The cells of the records of a file."""
    header = [*links.TEXTS, "tenant", *(["person"] if unit else [])]
    # The same word for the n-th row of a file, whatever stands behind it, so that neighbours are coupled.
    opened = room.open_side(
        links.write(path, header, rows),
        plan=sketches.plan(agreement, "left"),
        random_bytes=lambda size: np.arange(size // 8, dtype=np.uint64).tobytes(),
    )
    columns = [opened.codes(name).tolist() for name in opened.domain.names]
    return Counter(zip(*columns, strict=True))


def moved(before: Counter[Any], after: Counter[Any]) -> int:
    """The L1 distance of two tables of counts."""
    return (before - after).total() + (after - before).total()


def most_moved(folder: Path, agreement: Agreement) -> int:
    """The farthest that one record moves the counts, over tables of several of these people."""
    distances = []
    for table in ([], PEOPLE[:1], PEOPLE[:3], PEOPLE):
        before = records(folder / "left.csv", agreement, table)
        for added in PEOPLE:
            after = records(folder / "left.csv", agreement, [added, *table])
            distances.append(moved(before, after))
    return max(distances)


def test_one_record_moves_one_cell_by_one_whatever_it_holds(tmp_path: Path) -> None:
    assert most_moved(tmp_path, links.link()) == 1


def test_every_record_is_counted(tmp_path: Path) -> None:
    assert records(tmp_path / "left.csv", links.link(), PEOPLE).total() == len(PEOPLE)


def test_a_person_with_a_column_moves_one_cell_however_many_rows_are_theirs(
    tmp_path: Path,
) -> None:
    unit = PrivacyUnit(max_records=1, column="person", spelling=Spelling.CASEFOLD)
    agreement = links.link(unit=unit)
    others = [(*row, index) for index, row in enumerate(PEOPLE)]
    before = records(tmp_path / "left.csv", agreement, others, unit=True)
    for rows in range(1, 4):
        mine = [
            (*row, (" new ", "NEW", "New")[index]) for index, row in enumerate(PEOPLE[:rows])
        ]
        after = records(tmp_path / "left.csv", agreement, [*others, *mine], unit=True)
        assert moved(before, after) == 1


def by_rank(hashing: Hashing, columns: Columns) -> NDArray[np.int64]:
    """The rank of a text among those of the table, which depends on other records."""
    texts = list(zip(*columns, strict=True))
    places = {text: place for place, text in enumerate(sorted(set(texts)))}
    return np.array([places[text] % hashing.codes for text in texts], dtype=np.int64)


def by_company(hashing: Hashing, columns: Columns) -> NDArray[np.int64]:
    """Bucket 0 for texts that stand alone in the table."""
    texts = list(zip(*columns, strict=True))
    alone = Counter(texts)
    return np.array([int(alone[text] > 1) for text in texts], dtype=np.int64)


@pytest.mark.parametrize("mutant", [by_rank, by_company])
def test_a_bucket_that_depends_on_other_records_is_noticed(
    mutant: Callable[[Hashing, Columns], NDArray[np.int64]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Hashing, "buckets_of", mutant)
    assert most_moved(tmp_path, links.link()) > 1


def test_forgetting_the_persons_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agreement = links.link(unit=PrivacyUnit(max_records=1, column="person"))
    monkeypatch.setattr(
        "synth_engine.sources.opening._truncate",
        lambda units, **_: np.arange(len(units)),
    )
    mine = [(*row, "new") for row in PEOPLE[:3]]
    found = records(tmp_path / "left.csv", agreement, mine, unit=True)
    assert moved(Counter(), found) == 3


# ---- the exact law
# --------------------------------------------------------------------------------------------


def tiny(*, linked: bool, relation: Relation = Relation.ADD_REMOVE) -> SketchPlan:
    agreement = links.link(bits=2, epsilon="0.7", linked=linked, relation=relation)
    return sketches.plan(agreement, "left")


def worst(
    plan: SketchPlan, *, most: int, sampler: type[Replay] = Replay, leak: bool = False
) -> Fraction | float:
    def program(session: RoomSession, rows: Rows) -> Hashable:
        answers = plan.run(session)
        (answer,) = answers.measurements
        return (
            tuple(answer.values.ravel().tolist()),
            answers.calls,
            session.spent,
            rows.total if leak else None,
        )

    return exact.largest_ratio(
        program, plan.domain, cap=Pure(epsilon=100 * EPSILON), most=most, sampler=sampler
    )


@pytest.mark.parametrize(
    ("linked", "most", "relation"),
    [
        (True, 1, Relation.ADD_REMOVE),
        (False, 2, Relation.ADD_REMOVE),
        (False, 1, Relation.REPLACE_ONE),
    ],
)
def test_no_pair_of_neighbours_is_told_apart_by_more_than_the_target(
    linked: bool, most: int, relation: Relation
) -> None:
    ratio = worst(tiny(linked=linked, relation=relation), most=most)
    assert exact.proves(ratio, epsilon=EPSILON)
    assert exact.worst_epsilon(ratio) >= 0.95 * EPSILON, (
        "a claim this loose would hide a defect"
    )


@pytest.mark.parametrize(
    "sampler",
    [exact.HalvedScale, exact.ActiveDomain, exact.FrequencyScale, exact.TruncatedNoise],
)
def test_a_mutant_sampler_is_noticed(sampler: type[Replay]) -> None:
    ratio = worst(tiny(linked=False), most=2, sampler=sampler)
    assert exact.worst_epsilon(ratio) > 1.15 * EPSILON


def test_the_exact_number_of_records_is_noticed() -> None:
    assert exact.worst_epsilon(worst(tiny(linked=False), most=1, leak=True)) == float("inf")


def test_the_sensitivity_of_the_other_relation_is_noticed() -> None:
    plan = tiny(linked=False, relation=Relation.REPLACE_ONE)
    narrow = replace(plan, noise=tiny(linked=False).noise)
    assert exact.worst_epsilon(worst(narrow, most=1)) > 1.9 * EPSILON


# ---- both sides together
# ----------------------------------------------------------------------------------------

EVE, BOB = ("Eve", "Adams", "true"), ("Bob", "Brown", "false")
Sides = tuple[tuple[Sequence[object], ...], tuple[Sequence[object], ...]]
BOTH: list[tuple[Sides, Sides]] = [
    (((), ()), ((EVE,), (EVE,))),
    # Each side spells the person otherwise and has other rows, so that the buckets need not agree.
    (((BOB,), ()), ((BOB, EVE), (("Evelyn", "Adams", ""),))),
    # Who is in one table alone.
    (((), (BOB,)), ((EVE,), (BOB,))),
]


def worst_of_both(
    folder: Path, pair: tuple[Sides, Sides], *, sampler: type[Replay] = Replay
) -> float:
    """Both sketches at once, of two pairs of files: the largest loss of what the two sides, or anybody, can
    see together."""
    agreement = links.link(bits=2, epsilon="0.7", linked=False)
    laws: dict[int, exact.Law] = {}
    for number, sides in enumerate(pair):
        opened = []
        for side, rows in zip(("left", "right"), sides, strict=True):
            plan = sketches.plan(agreement, side)  # type: ignore[arg-type]
            header = [*links.TEXTS, links.COLUMNS[side]]  # type: ignore[index]
            table = links.write(folder / f"{side}.csv", header, rows)
            opened.append((plan, room.open_side(table, plan=plan)))

        def joint(replay: Replay, opened: Any = opened) -> Hashable:
            found: list[Hashable] = []
            for plan, rows in opened:
                session = open_session(
                    rows,
                    domain=plan.domain,
                    cap=plan.loss,
                    sampler=replay,
                    planned=plan.calls,
                )
                (answer,) = plan.run(session).measurements
                found.append((tuple(answer.values.ravel().tolist()), session.spent))
            return tuple(found)

        laws[number] = exact.law_of_branches(joint, high=1, sampler=sampler)
    ratio, _ = exact.worst_ratio(laws, iter([(0, 1), (1, 0)]))  # type: ignore[arg-type]
    return exact.loss_within(ratio, claim=agreement.epsilon_of_both)


@pytest.mark.parametrize(("pair", "sides"), list(zip(BOTH, (2, 2, 1), strict=True)))
def test_both_sketches_together_lose_the_sum_of_both_and_no_less(
    pair: tuple[Sides, Sides], sides: int, tmp_path: Path
) -> None:
    """Of a person in both tables; of one who is in one of them, the loss of that side."""
    found = worst_of_both(tmp_path, pair)
    assert 0.95 * sides * EPSILON <= found <= sides * float(EPSILON) * (1 + 1e-9)


class OneNoiseForBoth(Replay):
    """The second side has the noise of the first one, as of one seed: the difference of the sketches is
    exact."""

    first: list[int] | None = None

    def counts(self, vector: Counts, noise: Noise) -> Counts:
        given = super().counts(vector, noise)
        if self.first is None:
            self.first = (given - vector).tolist()
            return given
        return vector + np.array(self.first, dtype=np.int64)


@pytest.mark.parametrize(
    ("sampler", "pair"),
    [
        # A person of both tables moves both sketches alike.
        (OneNoiseForBoth, BOTH[2]),
        (exact.HalvedScale, BOTH[0]),
        (exact.ActiveDomain, BOTH[0]),
    ],
)
def test_too_little_noise_in_both_sketches_is_noticed(
    sampler: type[Replay], pair: tuple[Sides, Sides], tmp_path: Path
) -> None:
    assert worst_of_both(tmp_path, pair, sampler=sampler) == float("inf")


# ---- the receipt
# ----------------------------------------------------------------------------------------------


def sketched(folder: Path) -> sketches.Sketch:
    agreement = links.link(epsilon="0.7")
    plan = sketches.plan(agreement, "left")
    rows = room.open_side(
        links.write(folder / "left.csv", [*links.TEXTS, "tenant"], PEOPLE),
        plan=plan,
    )
    session = open_session(rows, domain=plan.domain, cap=plan.loss, planned=plan.calls)
    return plan.read(plan.run(session))


def test_both_verifiers_accept_the_receipt_and_name_the_link_and_both_losses(
    tmp_path: Path,
) -> None:
    made = sketched(tmp_path)
    found = verifier.verify(made.receipt)
    assert 0.99 * EPSILON < found.epsilon <= EPSILON
    assert found.certificate == "basic"
    (caveat,) = found.caveats
    assert made.agreement.digest in caveat
    assert "epsilon = 1.4" in caveat
    (tmp_path / standalone.NAME).write_text(standalone.text(), "utf-8")
    (tmp_path / "receipt.json").write_text(json.dumps(made.receipt), "utf-8")
    command = [sys.executable, "-I", "-S", standalone.NAME, "receipt.json"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert caveat in run.stdout


@pytest.mark.parametrize("relation", Relation)
def test_a_run_under_either_relation_makes_the_planned_call_and_proves_its_loss(
    relation: Relation, tmp_path: Path
) -> None:
    """The whole run: the room answers no call of another price than the planned one."""
    plan = sketches.plan(links.link(epsilon="0.7", relation=relation), "left")
    table = links.write(tmp_path / "left.csv", [*links.TEXTS, "tenant"], PEOPLE)
    made = pipeline.sketch(table, plan=plan)
    found = verifier.verify(made.receipt)
    assert made.receipt["relation"] == relation
    assert 0.99 * EPSILON < found.epsilon <= EPSILON


def forged(receipt: receipts.Receipt, **parameters: object) -> receipts.Receipt:
    """The receipt of a plan with other parameters, which is right in all else."""
    mechanism: Any = receipt["mechanism"] | {
        "parameters": {**receipt["mechanism"]["parameters"], **parameters}
    }
    plan = {
        "schema": "synth_engine/plan/3",
        "mechanism": mechanism["id"],
        "parameters": mechanism["parameters"],
        "domain": receipt["domain_sha256"],
        "facts": receipt["domain_facts"],
        "relation": receipt["relation"],
        "unit": receipt["unit"],
        "invariants": receipt["invariants"],
        "target": list(receipt["target"].values()),
        "calls": [
            {"query": call["query"], "event": {**call["noise"], **call["sensitivity"]}}
            for call in receipt["calls"]
        ],
        "cap": None,
        "certificate": receipt["guarantee"]["certificate"],
    }
    stated: Any = {**receipt["plan"], "sha256": receipts.digest(plan)}
    return receipts.seal({**receipt, "mechanism": mechanism, "plan": stated})


def test_a_receipt_that_hides_the_loss_of_both_is_refused(tmp_path: Path) -> None:
    receipt = sketched(tmp_path).receipt
    verifier.verify(forged(receipt))
    for parameters in (
        {"epsilon_of_both": "7/10"},
        {"link": "none"},
        {"side": "both"},
        {"more": 1},
    ):
        with pytest.raises(VerificationError):
            verifier.verify(forged(receipt, **parameters))


def test_a_receipt_of_a_smaller_loss_is_refused(tmp_path: Path) -> None:
    receipt = sketched(tmp_path).receipt
    claim: Any = {**receipt["guarantee"], "epsilon": "6/10"}
    with pytest.raises(VerificationError):
        verifier.verify(receipts.seal({**receipt, "guarantee": claim}))


def test_what_leaves_depends_on_texts_by_their_bucket_alone(tmp_path: Path) -> None:
    """The codes of a record are those of its bucket and its columns, for all pairs of texts."""
    agreement = links.link(bits=2)
    for first, second in itertools.product(["", "a", "b"], repeat=2):
        found = records(tmp_path / "left.csv", agreement, [(first, second, "true")])
        (cell,) = found
        bucket = int(agreement.hashing.buckets_of([[first], [second]])[0])
        assert cell == (bucket // 2, bucket % 2, 1)
