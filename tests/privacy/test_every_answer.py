"""Whatever noise says after a charge, and whatever a cell holds, a run ends: an error would be paid for, and
would tell what it depends on.

Samplers that answer as badly as noise can, in place of noise, and tables of cells at which readers of values
fail."""

from __future__ import annotations

import csv
import datetime
import itertools
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synth_engine import mechanisms, verifier
from synth_engine.domain import (
    Categorical,
    Domain,
    Identifier,
    Integer,
    NotFound,
    PointSet,
    Range,
    Scale,
    Undeclared,
    Weak,
)
from synth_engine.domain.partitions import Partition
from synth_engine.errors import DomainError, SpecError
from synth_engine.hierarchy import growth, partition
from synth_engine.measurement import Counts, Noise
from synth_engine.mechanisms.pairwise import network_search
from synth_engine.models import description
from synth_engine.models import model as models
from synth_engine.models.model import Model
from synth_engine.models.trees import diagnostics
from synth_engine.privacy.unit import PrivacyUnit
from synth_engine.room import rows as confidential_rows
from synth_engine.room.selection import SelectionLaw
from synth_engine.room.session import open_session
from synth_engine.sources import opening
from synth_engine.spec import Spec
from synth_engine.values import from_json

HUGE = 10**12
COUNTS = ("nothing", "negative", "huge", "one", "last", "by turns")
FOUND = ("nothing", "first", "last", "many")
LISTED = {"set": "list", "values": ["(other)", "(missing)", "", "a"]}
DECIMALS = {"set": "decimals", "low": "0", "high": "100000", "step": "0.01"}
STRINGS = {"set": "strings", "alphabet": "ab (){},\n", "min_length": 0, "max_length": 30}
OPEN: tuple[Undeclared, ...] = (
    Weak(name="open", values=from_json(LISTED)),
    Weak(
        name="open", values=from_json(DECIMALS), missing=("(missing)", "-"), outside="missing"
    ),
    Weak(name="open", values=from_json(STRINGS), missing=("?",), rho=0.01),
    Range(name="open", of="integer", low=0, high=1, bins=2),
    Range(
        name="open",
        of="integer",
        low=-(10**9),
        high=3,
        bins=500,
        missing=("",),
        outside="missing",
    ),
    Range(name="open", of="number", low=1e15, high=1e15 + 1, bins=16),
    Range(
        name="open",
        of="date",
        low=datetime.date(1000, 1, 1),
        high=datetime.date(2999, 1, 1),
        missing=("",),
    ),
    Scale(name="open", of="integer"),
    Scale(name="open", of="integer", low=1 - 2**63, high=2**63 - 1, missing=("",)),
    Scale(name="open", of="integer", low=0, high=1),
    Scale(name="open", of="number", step=0.01, missing=("-",), outside="missing"),
    Scale(name="open", of="date", format="%m/%d/%y"),
    Scale(name="open", of="datetime", missing=("",)),
)
CELLS = (
    "", "-", "a", "(other)", "(missing)", "?", "9" * 60, "+" + "9" * 40, "." + "9" * 59, "9" * 5_000,
    "-" * 100_000,
    "1e" + "9" * 50, "1e-" + "9" * 50, "0" * 5_000 + "1", "nan", "٣", "2024-02-30", "0000-00-00",
    "99999-01-01",
)  # fmt: skip


NODES = 100_000


@pytest.fixture(autouse=True)
def few_records_and_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are drawn from, and references counted in, a few thousand records, and a tree of which every node
    is opened ends at a smaller depth: these bounds are public, and hardly matter here."""
    monkeypatch.setattr(models, "POPULATION", 3_000)
    monkeypatch.setattr(network_search, "POPULATION", 3_000)
    for module in (growth, diagnostics):
        monkeypatch.setattr(module, "MAX_NODES", NODES)
    monkeypatch.setitem(partition.leaf_nodes.__kwdefaults__, "most", NODES)


class Worst:
    """Answers of one kind to everything that is counted, and of one kind to every discovery."""

    def __init__(self, counts: str, found: str) -> None:
        self._counts, self._found, self._turn = counts, found, 0
        self.discovered = False
        """Whether anything was to be discovered: if not, a run does not depend on `found`."""

    def counts(self, vector: Counts, noise: Noise) -> Counts:
        del noise
        self._turn += 1
        kind = COUNTS[self._turn % 5] if self._counts == "by turns" else self._counts
        answer = np.full(
            vector.size, {"negative": -HUGE, "huge": HUGE}.get(kind, 0), dtype=np.int64
        )
        if kind in ("one", "last"):
            answer[0 if kind == "one" else -1] = HUGE
        return answer

    def choose(self, scores: Counts, *, scale: Fraction, law: SelectionLaw) -> int:
        del scale, law
        return int(scores.size - 1)

    def passing(self, scores: Counts, *, threshold: int, noise: Noise) -> np.ndarray:
        del threshold, noise
        self.discovered = True
        places = {"nothing": [], "first": [0], "last": [-1], "many": [0, 1, -1]}[self._found]
        passed = np.zeros(scores.size, dtype=np.bool_)
        passed[places if scores.size > 2 else []] = True
        return passed

    def part(self, sizes: Counts, number: int) -> Counts:
        return np.tile(np.arange(number), (sizes.size, 1))

    def above_threshold(self, vector: Counts, *, threshold: int, noise: Noise) -> Counts:
        answer = self.counts(vector, noise)
        return np.where(answer >= threshold, answer, 0)

    def discover(
        self, tally: dict[int, int], *, size: int, threshold: int, noise: Noise
    ) -> list[tuple[int, int]]:
        del tally, noise
        self.discovered = True
        ranks = {
            "nothing": range(0),
            "first": range(1),
            "last": range(size - 1, size),
            "many": range(min(size, 120)),
        }
        return [(rank, threshold + rank % 3 * HUGE) for rank in ranks[self._found]]


def opened(domain: Domain, cells: tuple[str, ...]) -> confidential_rows.Rows:
    names = [attribute.name for attribute in domain.attributes]
    with tempfile.NamedTemporaryFile("w", suffix=".csv", encoding="utf-8", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows(
            [names, *([cell] * len(names) for cell in cells)]
        )
        file.flush()
        return opening.open_table(Path(file.name), domain)


def ended(
    domain: Domain, spec: Spec, worst: Worst, cells: tuple[str, ...] = ("a", "1")
) -> Model:
    """A whole run, and all that is made of it later."""
    plan = mechanisms.plan(domain, spec)
    rows = opened(domain, cells)
    answers = plan.run(
        open_session(rows, domain=domain, cap=plan.loss, planned=plan.calls, sampler=worst)
    )
    model = plan.fit(answers)
    verifier.verify(plan.receipt(answers))
    mechanisms.draw_table(model, 9, "seed")
    assert Model.from_json(model.to_json()) is not None
    if model.tree is None:
        assert description.read(description.write(model)).rows == model.rows
    return model


def runs() -> Iterator[Any]:
    for mechanism, (place, attribute) in itertools.product(
        mechanisms.REGISTRY, enumerate(OPEN)
    ):
        person = bool(place % 2)
        if mechanisms.REGISTRY[mechanism].suits(
            Domain(attributes=(Integer(name="known", low=0, high=4), attribute))
        ):
            yield pytest.param(mechanism, attribute, person, id=f"{mechanism}-{place}")


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "attribute", "person"), list(runs()))
def test_no_run_fails_for_what_noise_says(
    mechanism: str, attribute: Undeclared, person: bool
) -> None:
    unit = PrivacyUnit(max_records=3, column="id") if person else PrivacyUnit()
    who = (Identifier(name="id", regenerate="sequence"),) if person else ()
    domain = Domain(
        attributes=(*who, Integer(name="known", low=0, high=4), attribute), unit=unit
    )
    spec = Spec(mechanism=mechanism, epsilon=Fraction(1, 10), delta=Fraction(person, 10**9))
    for counts in COUNTS:
        for found in FOUND if isinstance(attribute, Weak) else FOUND[:1]:
            worst = Worst(counts, found)
            model = ended(domain, spec, worst)
            assert 0 <= model.rows <= 10**9
            if not worst.discovered:
                break  # each further run would be this one


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism", ["adaptive", "adaptive-basic", "adaptive-improved", "privtree"]
)
def test_no_run_over_texts_fails_for_what_noise_says(mechanism: str) -> None:
    domain = Domain(attributes=(OPEN[2],))
    spec = Spec(mechanism=mechanism, epsilon=Fraction(1, 10))
    for counts in COUNTS:
        for found in FOUND:
            plan, worst = mechanisms.plan(domain, spec), Worst(counts, found)
            rows = opened(domain, ("a", "(missing)", "ab"))
            session = open_session(rows, domain=domain, cap=plan.loss, sampler=worst)
            model = plan.fit(answers := plan.run(session))
            verifier.verify(plan.receipt(answers))
            assert len(mechanisms.draw_table(Model.from_json(model.to_json()), 9, "seed")) == 9
            if not worst.discovered:
                break  # each further run would be this one


AT = tuple((41 + place / 10, -71 - place % 5 / 7, 1.0 + place) for place in range(12))
CODED = Categorical(
    name="block", values=tuple(f"b{place}" for place in range(12)), other=True, missing=("",)
)
AGE = Integer(name="age", low=0, high=9, width=1)
TOWNS = (
    Partition(name="town", column="block", of=tuple(f"t{place // 4}" for place in range(12))),
)
WHERE = {
    "codes": Domain(attributes=(CODED,), points=(PointSet(column="block", at=AT),)),
    "codes and a column": Domain(
        attributes=(CODED, AGE), points=(PointSet(column="block", at=AT),)
    ),
    "classes": Domain(attributes=(CODED, AGE), partitions=TOWNS),
}
ASKED = [
    ("adaptive", "codes and a column"),
    ("adaptive", "classes"),
    ("adaptive-basic", "classes"),
    ("adaptive-improved", "codes"),
    ("direct-synthesis", "codes"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "where"), ASKED)
def test_no_run_over_places_or_classes_fails_for_what_noise_says(
    mechanism: str, where: str
) -> None:
    domain = WHERE[where]
    parameters = (
        {"together": "product"} if (mechanism, where) == ("adaptive", "classes") else {}
    )
    for delta in (Fraction(0), Fraction(1, 10**6)):
        if delta and "approximate" not in mechanisms.REGISTRY[mechanism].losses:
            continue
        plan = mechanisms.plan(
            domain,
            Spec(mechanism=mechanism, epsilon=Fraction(5), delta=delta, parameters=parameters),
        )
        for place, counts in enumerate(COUNTS):
            session = open_session(
                opened(domain, ("b1", "-3", "")),
                domain=domain,
                cap=plan.loss,
                sampler=Worst(counts, FOUND[place % 4]),
            )
            model = plan.fit(answers := plan.run(session))
            verifier.verify(plan.receipt(answers))
            assert len(mechanisms.draw_table(Model.from_json(model.to_json()), 9, "seed")) == 9


@pytest.mark.parametrize("attribute", OPEN, ids=lambda attribute: str(OPEN.index(attribute)))
def test_no_run_fails_for_what_a_cell_holds(attribute: Undeclared) -> None:
    domain = Domain(attributes=(Integer(name="known", low=0, high=4), attribute))
    ended(
        domain,
        Spec(mechanism="independent", epsilon=Fraction(1)),
        Worst("by turns", "last"),
        CELLS,
    )


def test_noise_that_cannot_be_drawn_is_refused_before_a_run_is_paid_for() -> None:
    columns = tuple(Integer(name=f"column {number}", low=0, high=1) for number in range(120))
    domain = Domain(attributes=columns, unit=PrivacyUnit(max_records=10**6))
    for mechanism in ("independent", "bayesian-network"):
        with pytest.raises(SpecError, match="to be drawn"):
            mechanisms.plan(domain, Spec(mechanism=mechanism, epsilon=Fraction(1, 10**4)))


def test_what_a_column_may_become_is_sound_whatever_is_found() -> None:
    """Where that cannot be, it is said when the column is declared."""
    with pytest.raises(DomainError, match="is what other values are called"):
        Weak(name="job", values=from_json(DECIMALS), missing=("(other)",))
    column = Weak(
        name="job",
        values=from_json(DECIMALS),
        missing=("(missing)", "((missing))"),
        outside="missing",
    )
    with pytest.raises(DomainError, match="not known"):
        Domain(attributes=(Weak(name="job", values=from_json(DECIMALS)),), shorthand=True)
    assert column.from_ranks([]) == NotFound.of(column)
