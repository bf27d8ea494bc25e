"""Texts of the engine in the language of a page.

The engine has no Django: its titles and explanations are English literals. They are messages of the same
catalogue, collected here (`python -m tests.catalogue collect`) and translated where a page shows them, by the
filter `translated`. A text that is not in the catalogue, such as a name that a person typed, stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.module_loading import import_string

from synth_engine import mechanisms
from synth_engine.evaluation import style, wording
from synth_engine.evaluation.figures import FIGURES, risks
from synth_engine.privacy.unit import PrivacyUnit
from synthweb.lib import extras
from synthweb.lib.number_format import RELATIONS


def all_texts() -> list[str]:
    """Every text of the engine that pages translate, each once, in a fixed order."""
    texts = (*_of_methods(), *_of_figures(), *_of_guarantees(), *_of_extras())
    return list(dict.fromkeys(text for text in texts if text))


def _of_methods() -> Iterator[str]:
    """Titles, summaries and parameters of the methods."""
    for method in mechanisms.describe():
        yield from (method["title"], method["summary"], *method["keeps"])
        yield from of_schema(method["parameters"])


def _of_figures() -> Iterator[str]:
    """Sections, titles and explanations of the figures of a comparison."""
    for figure in FIGURES:
        yield from (figure.section.title, *(label for _, label in figure.section.links))
        for explanation in figure.explanations.values():
            yield from (explanation["title"], explanation["what"], explanation["how"])
    for explanation in wording.PAGE_EXPLANATIONS.values():
        yield from (explanation["title"], explanation["what"], explanation["how"])
    yield from (
        style.RED_WORDS,
        wording.NOT_PRIVATE,
        wording.PRIVATE,
        *wording.AXIS_TITLES,
        *wording.TRACE_NAMES,
        *risks.ATTACKS,
        *risks.ATTACKS.values(),
    )


def _of_guarantees() -> Iterator[str]:
    """Whom a guarantee protects, where no number is in it."""
    one = PrivacyUnit().sentence()
    yield from (one, one.partition(",")[0], "one person")
    yield from RELATIONS.values()
    yield from (f"{one}, {relation}" for relation in RELATIONS.values())


def _of_extras() -> Iterator[str]:
    for extra in extras.registered():
        if extra.texts:
            yield from import_string(extra.texts)()


def of_schema(schema: Mapping[str, Any]) -> Iterator[str]:
    """Titles, explanations and names of choices of the parameters in a JSON schema."""
    for field in schema.get("properties", {}).values():
        yield from (field.get("title", ""), field.get("description", ""))
        yield from field.get("x-labels", {}).values()
