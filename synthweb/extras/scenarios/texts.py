"""Texts of the engine that the pages of test data translate."""

from __future__ import annotations

from collections.abc import Iterator

from synth_engine.extras.scenarios import engine as scenarios
from synthweb.pages.engine_texts import of_schema


def of_steps() -> Iterator[str]:
    """Titles, summaries and parameters of the steps of scenarios."""
    for kind in scenarios.catalogue():
        yield from (str(kind["title"]), str(kind["summary"]))
        yield from of_schema(kind["parameters"])  # type: ignore[arg-type]
