"""Attacks: planted copies are found, tables of other people are not, and intervals are those of the
papers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synth_engine import pipeline
from synth_engine.domain import Categorical, Domain, Integer
from synth_engine.evaluation.figures import risks
from synth_engine.privacy.unit import PrivacyUnit
from synth_engine.sources.opening import open_table
from synth_engine.trials import attacks, record_samples
from synth_engine.trials.record_samples import RecordSample
from tests.engine.evaluation import tables

ROWS = 2000
DOMAIN = Domain(
    attributes=(
        *(Integer(name=f"n{place}", low=0, high=99) for place in range(4)),
        *(
            Categorical(name=f"c{place}", values=tuple("abcdef"), outside="clamp")
            for place in range(4)
        ),
    )
)
Codes = dict[str, Any]


def population(seed: int, rows: int = ROWS) -> Codes:
    """Independent columns: nobody can be recognised by what others are like."""
    rng = np.random.default_rng(seed)
    return {name: rng.integers(0, size, rows) for name, size in DOMAIN.sizes.items()}


def sample(codes: Codes) -> RecordSample:
    return RecordSample(domain=DOMAIN, codes=codes)


HALVES = sample(population(0)), sample(population(1))


def attacked(synthetic: Codes) -> dict[str, Any]:
    return attacks.attack(HALVES, sample(synthetic), progress=lambda *_: None)


COPY = attacked(population(0))
OTHERS = attacked(population(2))


def levels(document: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["level"] for each in document["attacks"]}


def test_a_table_that_copies_records_is_flagged_by_every_attack() -> None:
    assert set(levels(COPY)) == {
        "singling out",
        "linkability",
        "attribute inference",
        "membership",
        "copies of rare records",
    }
    assert set(levels(COPY).values()) == {"leak"}
    assert {each["level"] for each in COPY["inference"]} == {"leak"}


def test_a_table_of_other_people_is_not_flagged() -> None:
    assert "leak" not in levels(OTHERS).values()
    assert {each["level"] for each in OTHERS["inference"]} <= {"none", "sign"}
    assert all(each["risk_interval"][0] < 0.1 for each in OTHERS["attacks"])


def test_copies_of_a_tenth_of_the_records_are_found() -> None:
    some = {name: column.copy() for name, column in population(2).items()}
    for name, column in population(0).items():
        some[name][: ROWS // 10] = column[: ROWS // 10]
    document = attacked(some)
    assert levels(document)["copies of rare records"] == "leak"
    (copies,) = (e for e in document["attacks"] if e["name"] == "copies of rare records")
    assert copies["risk"] == pytest.approx(0.1, abs=0.001)


def test_every_copy_succeeds_where_it_must() -> None:
    rates = {each["name"]: each["rates"]["synthetic"] for each in COPY["attacks"]}
    assert rates["linkability"] > 0.6
    assert rates["membership"] == 1.0
    assert rates["copies of rare records"] == 1.0
    assert all(each["rates"]["synthetic"] > 0.95 for each in COPY["inference"])


def test_the_risk_is_that_of_the_paper() -> None:
    for each in COPY["attacks"] + OTHERS["attacks"]:
        hit, control = each["rates"]["synthetic"], each["rates"]["control"]
        assert each["risk"] == pytest.approx(max(0.0, (hit - control) / (1 - control)))
        low, high = each["risk_interval"]
        assert 0.0 <= low <= high <= 1.0


def test_intervals_by_hand() -> None:
    # Newcombe 1998, table II: 56 of 70 less 48 of 80 is 0.2, from 0.0524 to 0.3339.
    low, high = attacks.difference(56, 48, (70, 80), z=1.96)
    assert (low, high) == (pytest.approx(0.0524, abs=1e-4), pytest.approx(0.3339, abs=1e-4))
    # Wilson: 81 of 263, from 0.2553 to 0.3662.
    assert attacks.wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert attacks.wilson(0, 0) == (0.0, 1.0)


def test_narrow_and_uniform_tables_are_told_in_words() -> None:
    domain = Domain(attributes=DOMAIN.attributes[4:6])
    codes = {name: population(0)[name] for name in domain.names}
    same = RecordSample(domain=domain, codes=codes)
    document = attacks.attack((same, same), same, progress=lambda *_: None)
    words = " ".join(document["notes"])
    assert all(part in words for part in ("Singling out", "Linkability", "Copies"))
    assert set(levels(document)) == {"attribute inference", "membership"}


def test_records_of_one_person_stay_in_one_half(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    numbers = np.repeat(np.arange(300), 3)
    pd.DataFrame({"who": numbers, "n": numbers % 100}).to_csv(path, index=False)
    domain = Domain(
        attributes=(Integer(name="n", low=0, high=99),),
        unit=PrivacyUnit(column="who", max_records=3),
    )
    halves = record_samples.split(open_table(path, domain))
    assert sum(map(len, halves)) == 900
    # A person's rows are all there or not at all; three people share a number.
    for half in halves:
        assert set(np.bincount(half.codes["n"]) % 3) == {0}


def test_files_are_attacked_stage_by_stage(tmp_path: Path) -> None:
    path = tmp_path / "real.csv"
    codes = population(0)
    pd.DataFrame(
        {
            attribute.name: [attribute.labels[code] for code in codes[attribute.name]]
            for attribute in DOMAIN.attributes
        }
    ).to_csv(path, index=False)
    stages: dict[str, None] = {}
    document = pipeline.estimate_risks(
        path,
        pipeline.WrittenTable(path=path, domain=DOMAIN),
        progress=lambda stage, _: stages.setdefault(stage),
    )
    assert list(stages)[-4:] == ["single-out", "link", "infer", "recognise"]
    # The file holds all records, so that half of the sample of one size are copies.
    assert levels(document)["copies of rare records"] == "leak"
    json.dumps(document, allow_nan=False)


def test_cards_have_words_drawing_and_table_and_never_claim_a_guarantee() -> None:
    report = tables.compared(tables.codes(300, seed=1), tables.codes(300, seed=2))
    assert risks.FIGURE.cards(report) == []
    for document, mark in ((COPY, "✖"), (OTHERS, None)):
        report["risks"] = document
        made = risks.FIGURE.cards(report)
        assert [card.key for card in made] == ["risks", "risk-inference"]
        assert all(card.figure and card.table.rows and card.red for card in made)
        assert all("never the guarantee" in card.verdict for card in made)
        assert mark is None or {card.mark for card in made} == {mark}
        assert risks.NEVER_THE_GUARANTEE in risks.FIGURE.verdict(report)
    report["risks"] = {"notes": ["No attacks were tried."]}
    (card,) = risks.FIGURE.cards(report)
    assert card.table.rows == [("No attacks were tried.",)]
