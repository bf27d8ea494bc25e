"""The figures of bench/paper_c.py."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go
from paper_c_map import Map, Whole, averages, cdf, miles_of
from plotly.subplots import make_subplots

SHORT = 10.0


def figures(shown: dict[str, Whole], commutes: Map) -> go.Figure:
    """Average commute of each block of work against the truth, all and short commutes, in small and in large blocks of
    work (the paper's figures 1 to 4), and the distributions of all commutes."""
    kinds = ("all commutes", f"commutes up to {SHORT:g} miles")
    names = [
        f"{kind}, {band}" for kind in kinds for band in ("1 to 20 workers", "more than 20")
    ]
    drawing = make_subplots(
        rows=3, cols=2, subplot_titles=[*names, "Share of commutes up to a distance"]
    )
    true = miles_of(commutes.home, commutes)
    panels: list[tuple[int, int, float, Callable[[Whole], npt.NDArray[np.bool_]]]] = [
        (1, 1, math.inf, lambda sizes: sizes <= 20),
        (1, 2, math.inf, lambda sizes: sizes > 20),
        (2, 1, SHORT, lambda sizes: sizes <= 20),
        (2, 2, SHORT, lambda sizes: sizes > 20),
    ]
    cuts = np.linspace(0, 50, 201)
    drawing.add_scatter(
        x=cuts, y=cdf(true, cuts), name="truth", line={"color": "#222222"}, row=3, col=1
    )
    for colour, (name, homes) in zip(
        ("#b8532f", "#3b5b92", "#5f8a4c", "#8a6bb0"), shown.items(), strict=False
    ):
        apart = miles_of(homes, commutes)
        for row, column, most, band in panels:
            kept = band(commutes.sizes)
            x, y = (averages(each, commutes, most=most)[kept] for each in (true, apart))
            drawing.add_scattergl(
                x=x, y=y, mode="markers", marker={"size": 3, "color": colour, "opacity": 0.4}, name=name,
                legendgroup=name, showlegend=row == column == 1, row=row, col=column,
            )  # fmt: skip
        drawing.add_scatter(
            x=cuts,
            y=cdf(apart, cuts),
            legendgroup=name,
            showlegend=False,
            line={"color": colour},
            row=3,
            col=1,
        )
    drawing.update_layout(
        height=1400,
        template="plotly_white",
        title="Average commute of a block of work in miles: truth across, synthetic up",
    )
    return drawing
