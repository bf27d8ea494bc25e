"""Texts found again: from tallies to the cards, and a whole run on a table of texts."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from synth_engine import pipeline
from synth_engine.domain import Domain
from synth_engine.evaluation import (
    page,
    trees,
    view,
)
from synth_engine.evaluation.figures import texts as texts_figure
from synth_engine.hierarchy import StringHierarchy
from synth_engine.privacy.unit import PrivacyUnit
from synth_engine.spec import Spec

SPEC = {"mechanism": "adaptive", "epsilon": "20", "delta": "0"}
WORDS = StringHierarchy(columns=("word",), alphabet="abcd", shortest=1, longest=4)


def held(texts: list[str]) -> trees.OccupiedCells:
    return trees.aggregate(WORDS, WORDS.encode(texts))


def test_what_is_found_counts_the_smaller_of_both_counts_by_frequency_and_by_length() -> None:
    real, synthetic = (
        held(["a"] * 4 + ["bb"] * 2 + ["ccc", "dddd"]),
        held(["a"] * 5 + ["bb"] + ["ccc", "d"]),
    )
    [entry] = texts_figure.entries([real], [synthetic])
    assert entry["found"] == pytest.approx((4 + 1 + 1) / 8)
    assert entry["times"] == [1, 2, 4]
    assert entry["records_above"] == pytest.approx([1, 6 / 8, 4 / 8])
    assert entry["found_above"] == pytest.approx([6 / 8, 5 / 8, 4 / 8])
    assert entry["at_most"] == [1, 3, 7]
    assert entry["records_below"] == pytest.approx([2 / 8, 4 / 8, 1])
    assert entry["found_below"] == pytest.approx([1 / 8, 2 / 8, 6 / 8])
    assert entry["lengths"] == [[1, 4, 1.0], [2, 2, 0.5], [3, 1, 1.0], [4, 1, 0.0]]


def test_a_smaller_synthetic_table_is_counted_as_if_it_were_as_large() -> None:
    [entry] = texts_figure.entries([held(["a", "b"] * 50)], [held(["a", "b"] * 5)])
    assert entry["found"] == 1


def test_texts_with_a_mark_or_of_another_length_count_nowhere() -> None:
    found = texts_figure.count_texts(
        WORDS, np.array(["ab", "ab…", "", "abcda"], dtype=object), np.array([0, 1, 1, 2, 3, 0])
    )
    assert found.records == 2 and found.codes.tolist() == WORDS.encode(["ab"]).tolist()


def test_a_run_on_texts_is_compared_text_by_text(tmp_path: Path) -> None:
    path = tmp_path / "texts.csv"
    path.write_text("word\n" + "abca\n" * 300 + "ba\n" * 200 + "dd\n" * 100 + "X\n" * 20)
    values = {"set": "strings", "alphabet": "abcd", "min_length": 1, "max_length": 4}
    document = {
        "schema": "synth_engine/domain/1",
        "attributes": [{"name": "word", "kind": "weak", "values": values}],
    }
    spec = Spec.from_json(SPEC)
    release = pipeline.synthesize(path, domain=Domain.from_json(document), spec=spec)
    report = pipeline.report(path, model=release.model, rows=600, seed="1")
    [entry] = report["texts"]
    texts, places = release.model.written(600, seed="1")["word"]
    again = Counter(texts[places].tolist()) & Counter({"abca": 300, "ba": 200, "dd": 100})
    assert entry["records"]["real"] == 600 and again["abca"] > 250
    drawn = entry["records"]["synthetic"]
    assert entry["found"] == pytest.approx(again.total() / 600, abs=0.01 + (600 - drawn) / 600)
    assert [length for length, _, _ in entry["lengths"]] == [2, 4]
    shown = view.lay_out(report)
    cards = {card.key: card for card in shown.cards("texts")}
    assert entry["read"] == {"as written": 600, "changed": 0, "outside": 20, "missing": 0}
    assert (
        list(cards) == ["texts-0", "rare-texts-0", "lengths-0", "texts-read-0"]
        and shown.cards("distances") == []
    )
    first, last = cards["texts-0"].table.rows, cards["rare-texts-0"].table.rows
    assert (
        first[-1][1:3] == last[-1][1:3] and first[-1][1] == "100.00%"
    )  # both ends come to all texts
    assert [row[0] for row in last] == sorted(
        (row[0] for row in last), key=lambda text: int(text)
    )
    offline = page.html(report)
    assert "<h2>Texts found again</h2>" in offline and "Distances between places" not in offline
    assert '"rare-texts-0": {' in offline and 'data-figure="rare-texts-0"' in offline


def test_texts_are_compared_as_they_are_read_and_what_was_read_how_is_counted(
    tmp_path: Path,
) -> None:
    path = tmp_path / "texts.csv"
    path.write_text(
        "who,word\n"
        + "1,ABCA\n" * 300
        + "2,b-a\n" * 200
        + "3,dd\n" * 100
        + "4,xx\n" * 20
        + "5,?\n" * 7
    )
    values = {
        "set": "strings",
        "alphabet": "abcd",
        "min_length": 1,
        "max_length": 4,
        "case": "lower",
        "replace": {"-": ""},
    }
    column = {"name": "word", "kind": "weak", "values": values, "missing": ["?"]}
    domain = Domain.from_json({"schema": "synth_engine/domain/1", "attributes": [column]})
    release = pipeline.synthesize(path, domain=domain, spec=Spec.from_json(SPEC))
    report = pipeline.report(path, model=release.model, rows=600, seed="1", described=domain)
    [entry] = report["texts"]
    assert entry["read"] == {"as written": 100, "changed": 500, "outside": 20, "missing": 7}
    assert entry["records"]["real"] == 600 and entry["found"] > 0.9
    card = view.lay_out(report).cards("texts")[-1]
    assert card.verdict == "20 of 627 real records have a text outside what is declared."
    assert [row[1] for row in card.table.rows] == ["100", "500", "20", "7"] and card.red
    persons = dataclasses.replace(
        release.model.domain, unit=PrivacyUnit(max_records=2, column="who")
    )
    [held] = pipeline.report(
        path, model=dataclasses.replace(release.model, domain=persons), rows=9, seed="1"
    )["texts"]
    assert held["read"] == {
        "as written": 100,
        "changed": 0,
        "outside": 520,
        "missing": 7,
    }  # of all, whoever has them
