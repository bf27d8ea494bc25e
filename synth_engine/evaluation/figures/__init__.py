"""The figures of the comparison: one module each, which defines one `FIGURE`.

A module that is added to this package takes part in every report and page; nothing else lists the figures.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from synth_engine.evaluation.figure import ComparisonFigure

# `position` decides the order of fields and cards: that of files would change with a name.
FIGURES: tuple[ComparisonFigure, ...] = tuple(
    sorted(
        (
            import_module(f"{__name__}.{module.name}").FIGURE
            for module in iter_modules(__path__)
        ),
        key=lambda figure: figure.position,
    )
)
"""All figures, in the order of their fields in a report."""
