"""The words of a figure in the language of the page: titles of axes and colour bars, notes in it, and the
names of what is drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django import template

from synth_engine.evaluation.style import RED_WORDS
from synth_engine.evaluation.wording import AXIS_TITLES, TRACE_NAMES
from synthweb.lib import sentences
from synthweb.lib.language import translated

register = template.Library()
Path = tuple[str | int, ...]


@register.filter
def in_words_of_page(figure: Mapping[str, Any]) -> Mapping[str, Any]:
    """A figure beside its words in the language of the page: `words` are paths into the figure, each with the
    text that `figures.js` draws there. The figure itself stays as it is: it is what the page saves as
    JSON."""
    words = [(path, text) for path, english, text in _translations(figure) if text != english]
    return {**figure, "words": words} if words else figure


def _translations(figure: Mapping[str, Any]) -> Iterator[tuple[Path, str, str]]:
    """Path, text and translation of every text that may be translated."""
    for path, text in _titles(figure):
        if text in (RED_WORDS, *AXIS_TITLES) or _is_composed(text):
            yield path, text, translated(text)
    for path, text in _labels(figure):
        yield path, text, translated(text)
    for number, trace in enumerate(figure["data"]):
        name = trace.get("name")
        if name not in TRACE_NAMES:
            continue
        shown = translated(name)
        yield ("data", number, "name"), name, shown
        hover = trace.get("hovertemplate", "")
        if hover.endswith(extra := f"<extra>{name}</extra>"):
            yield (
                ("data", number, "hovertemplate"),
                hover,
                f"{hover.removesuffix(extra)}<extra>{shown}</extra>",
            )


def _is_composed(text: str) -> bool:
    composed = sentences.fields_of(text)
    return composed is not None and composed[0] in sentences.AXIS_TITLES


def _labels(figure: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """The labels of bars, on the axis and under the pointer, where they are words of the figure and no names
    of columns."""
    if figure["layout"].get("meta", {}).get("labels") != "words":
        return
    for place, text in enumerate(figure["layout"]["yaxis"]["ticktext"]):
        yield ("layout", "yaxis", "ticktext", place), text
    for number, trace in enumerate(figure["data"]):
        for place, text in enumerate(trace["customdata"]):
            yield ("data", number, "customdata", place), text


def _titles(figure: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """The titles of axes and of colour bars, and the notes that a figure has, such as its red words."""
    for axis, facts in figure["layout"].items():
        if "axis" in axis:
            yield from _title(facts, "layout", axis)
    for number, note in enumerate(figure["layout"].get("annotations", ())):
        yield ("layout", "annotations", number, "text"), note.get("text", "")
    for number, trace in enumerate(figure["data"]):
        yield from _title(trace.get("colorbar"), "data", number, "colorbar")
        bar = trace.get("marker", {}).get("colorbar")
        yield from _title(bar, "data", number, "marker", "colorbar")


def _title(holder: Mapping[str, Any] | None, *path: str | int) -> Iterator[tuple[Path, str]]:
    title = (holder or {}).get("title")
    if isinstance(title, Mapping) and title.get("text"):
        yield (*path, "title", "text"), title["text"]
