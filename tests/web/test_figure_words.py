"""Figures in the language of a page: words that are known are translated beside the figure, names of columns never."""

from __future__ import annotations

import json
from typing import Any

from django.utils import translation

from synth_engine.evaluation import style
from synth_engine.evaluation.wording import AXIS_TITLES, TRACE_NAMES
from synthweb.lib import sentences
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


def test_every_word_of_a_figure_has_its_german() -> None:
    with translation.override("de"):
        left = [
            text
            for text in (*AXIS_TITLES, *TRACE_NAMES, *sentences.AXIS_TITLES)
            if translation.gettext(text) == text
        ]
    assert left == []
