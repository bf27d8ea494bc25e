"""Figures in the language of a page: words that are known are translated beside the figure, names of columns
never."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

from django.utils import translation

from synth_engine.evaluation import style
from synth_engine.evaluation.figures import risks
from synth_engine.evaluation.wording import AXIS_TITLES, TRACE_NAMES
from synthweb.lib import sentences
from synthweb.lib.language import translated
from synthweb.pages.templatetags.compact import measure_rows
from synthweb.pages.templatetags.figure_words import in_words_of_page

FIGURE: dict[str, Any] = {
    "data": [
        {
            "name": "synthetic",
            "hovertemplate": "%{x}: %{y}<extra>synthetic</extra>",
            "marker": {"colorbar": {"title": {"text": "records in a square"}}},
        },
        {"name": "town", "colorbar": {"title": {"text": "records in a square"}}},
        {},
    ],
    "layout": {
        "xaxis": {"title": {"text": "score"}},  # the name of a column
        "yaxis": {"title": {"text": "share of records"}},
        "yaxis2": {"title": {"text": "mean of synthetic"}},
        "annotations": [
            {"text": style.RED_WORDS},
            {"text": "synthetic minus real, ±0.5 points of 100"},
        ],
        "height": 400,
    },
}


def test_words_stand_beside_a_figure_and_it_stays_as_it_is() -> None:
    before = json.dumps(FIGURE)
    assert in_words_of_page(FIGURE) is FIGURE
    with translation.override("de"):
        made = in_words_of_page(FIGURE)
    assert json.dumps({key: made[key] for key in FIGURE}) == before
    words = {".".join(map(str, path)): text for path, text in made["words"]}
    assert words == {
        "layout.yaxis.title.text": "Anteil der Datensätze",
        "layout.yaxis2.title.text": "Mittelwert von synthetic",
        "layout.annotations.0.text": "Echte Daten – nicht durch Differential Privacy geschützt",
        "layout.annotations.1.text": "synthetisch minus echt, ±0,5 Punkte von 100",
        "data.0.marker.colorbar.title.text": "Datensätze in einem Quadrat",
        "data.1.colorbar.title.text": "Datensätze in einem Quadrat",
        "data.0.name": "synthetisch",
        "data.0.hovertemplate": "%{x}: %{y}<extra>synthetisch</extra>",
    }
    for path, _ in made["words"]:
        holder: Any = made
        for key in path:
            holder = holder[key]
        assert isinstance(holder, str)


FIELD = re.compile(r"%\(\w+\)s")


def test_every_word_of_a_figure_has_its_german() -> None:
    with translation.override("de"):
        left = [
            text
            for text in (*AXIS_TITLES, *TRACE_NAMES, *sentences.AXIS_TITLES)
            if translation.gettext(text) == text and re.search("[a-z]", FIELD.sub("", text))
        ]
    assert left == []


def test_attacks_have_names_in_the_language_of_the_page_and_columns_keep_theirs() -> None:
    side = {"synthetic": 0.5, "control": 0.5}
    attacks = [
        {
            "name": name,
            "level": level,
            "trials": {"synthetic": 100, "control": 100},
            "rates": side,
            "intervals": {"synthetic": [0.4, 0.6], "control": [0.4, 0.6]},
            "risk": 0.0,
            "risk_interval": [0.0, 0.1],
        }
        for name, level in zip(risks.ATTACKS, itertools.cycle(risks.LEVELS), strict=False)
    ]
    column = {**attacks[0], "column": "membership"}
    report = {
        "private": False,
        "notice": "",
        "reading": {},
        "risks": {
            "attacks": [*attacks, {**attacks[2], "column": "age"}],
            "inference": [column],
            "records": {"attacked": 100},
            "notes": [],
        },
    }
    all_attacks, inference = risks.FIGURE.cards(report)
    with translation.override("de"):
        words = dict(in_words_of_page(all_attacks.figure or {})["words"])
        of_columns = dict(in_words_of_page(inference.figure or {})["words"])
        table = str(measure_rows(all_attacks.table.cells))
        verdict = translated(all_attacks.verdict)
    assert words["layout", "yaxis", "ticktext", 0] == "Herausgreifen"
    assert words["data", 1, "customdata", 3] == "Zugehörigkeit"
    assert not [path for path in of_columns if "ticktext" in path]
    assert "Erschließen eines Merkmals: age" in table
    for english in (*risks.ATTACKS, *risks.ATTACKS.values(), "no sign", "leak:"):
        assert english not in table
    assert verdict.startswith(
        "Ein Leck: Erschließen eines Merkmals, Kopien seltener Datensätze"
    )
