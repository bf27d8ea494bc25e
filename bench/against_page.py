"""The page bench/results/auto.md: `auto` beside the best of all other methods, a line for each table and
epsilon, and a picture of the ratios."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from bench.against import AREA, CLOSE, OTHERS, OURS, REAL, Block, machine

COMMAND = "python bench/auto.py ../shared --against-all --document bench/results/auto.md"


def page(blocks: Sequence[Block], *, picture: str) -> str:
    """The page, in Markdown."""
    others = ", ".join(f"`{method}`" for method in OTHERS)
    return "\n".join(
        [
            "# Automatic beside all other methods",
            "",
            (
                f"Written by `{COMMAND}` ([program](../against.py)): δ = 10⁻⁹, no column named as target. "
                f"{machine()}"
            ),
            "",
            (
                f"The other methods are {others}. TVD is the mean total variation distance of single "
                "columns, of all pairs and of 200"
            ),
            (
                "triples, in means over runs; of a made table every run is another draw, the same for all "
                "methods. *Best other* is the best of"
            ),
            (
                "the others by that figure, so that one line may name several methods. AUC is that of "
                "gradient boosting for the label, trained on the"
            ),
            (
                "release, or on the real records, and tested on records that no release used. Seconds are "
                "processor seconds of `auto` with reading, counting and noise."
            ),
            (
                "What is in the made tables is said in `bench/made.py`; "
                "[Benchmarks](../../docs/benchmarks.md) describes the public ones."
            ),
            "",
            *_findings(blocks),
            "",
            f"![Error of auto over that of the best other method]({picture})",
            "",
            (
                "| table | ε | runs | TVD 1 | `independent` | TVD 2 | best other | TVD 3 | best other | "
                "AUC | best other | real | seconds |"
            ),
            "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
            *(_row(block) for block in blocks if OURS in block.able),
            "",
        ]
    )


def _findings(blocks: Sequence[Block]) -> Iterator[str]:
    """What the table says, in sentences."""
    ratios = [ratio for block in blocks for _, ratio in _ratios(block)]
    if not ratios:
        return
    close = sum(ratio <= CLOSE for ratio in ratios)
    ahead = sum(ratio < 1 for ratio in ratios)
    yield (
        f"Of {len(ratios)} cells of pairs and triples `auto` is nearest to the real table in {ahead}, and "
        f"at most {CLOSE} times as far off as the best other method in {close} "
        f"({100 * close / len(ratios):.0f} %). The worst is {max(ratios):.2f} times."
    )
    behind = [
        best[1] - block.able[OURS][AREA]
        for block in blocks
        if OURS in block.able and (best := block.best(AREA)) is not None
    ]
    if behind:
        near = sum(each <= 0.01 for each in behind)
        yield (
            f"Of {len(behind)} areas under the curve {near} are at most .01 below the best, and the worst "
            f"is {max(behind):.3f} below."
        )


def _ratios(block: Block) -> Iterator[tuple[str, float]]:
    for figure in ("tvd2", "tvd3"):
        ratio = block.ratio(figure)
        if ratio is not None:
            yield figure, ratio


def _row(block: Block) -> str:
    own = block.able[OURS]
    alone = block.able.get("independent")
    cells = [block.table, block.epsilon, f"{block.runs}", _number(own["tvd1"])]
    cells.append("" if alone is None else _number(alone["tvd1"]))
    for figure in ("tvd2", "tvd3", AREA):
        if figure not in own or not own[figure]:
            cells += ["", ""]
            continue
        best = block.best(figure)
        cells.append(_number(own[figure]))
        cells.append("" if best is None else f"{_number(best[1])} `{best[0]}`")
    real = block.able.get(REAL, {}).get(AREA)
    cells.append("" if real is None else _number(real))
    cells.append(f"{own['whole']:.1f}")
    return f"| {' | '.join(cells)} |"


def _number(value: float) -> str:
    return f"{value:.4f}" if value < 0.1 else f"{value:.3f}"


WIDTH, LEFT, LINE, TOP = 760, 170, 18, 46
"""Pixels: of the picture, of the names, of a line, and above the first."""
LEAST, MOST = 0.25, 2.0
"""The ratios at the ends of the axis; others are drawn there."""
TICKS = (0.25, 0.5, 1.0, 2.0)
COLOURS = {"tvd2": "#c2571a", "tvd3": "#64748b"}
NAMES = {"tvd2": "pairs", "tvd3": "triples"}


def chart(blocks: Sequence[Block]) -> str:
    """A picture (SVG) of the ratios of `auto` to the best other method, a line for each table and epsilon."""
    lines = [(block, dict(_ratios(block))) for block in blocks]
    lines = [(block, ratios) for block, ratios in lines if ratios]
    height = TOP + LINE * len(lines) + 24
    bottom = height - 20
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            'font-family="sans-serif" font-size="12">'
        ),
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        (
            '<text x="8" y="16" font-weight="bold">Error of auto over that of the best other method (left '
            "of 1: auto is nearer)</text>"
        ),
    ]
    for at, (figure, name) in enumerate(NAMES.items()):
        x = LEFT + 90 * at
        parts += [
            f'<circle cx="{x}" cy="31" r="4" fill="{COLOURS[figure]}"/>',
            f'<text x="{x + 9}" y="35">{name}</text>',
        ]
    for tick in TICKS:
        colour = "#1f2937" if tick == 1 else "#d1d5db"
        parts += [
            (
                f'<line x1="{_x(tick):.1f}" x2="{_x(tick):.1f}" y1="{TOP - 6}" y2="{bottom - 6}" '
                f'stroke="{colour}"/>'
            ),
            f'<text x="{_x(tick):.1f}" y="{bottom + 8}" text-anchor="middle">{tick:g}</text>',
        ]
    for at, (block, ratios) in enumerate(lines):
        y = TOP + LINE * at + 6
        name = f"{block.table}, ε = {block.epsilon}"
        parts.append(
            f'<text x="{LEFT - 12}" y="{y + 4}" text-anchor="end">{escape(name)}</text>'
        )
        parts += [
            f'<circle cx="{_x(ratio):.1f}" cy="{y}" r="4" fill="{COLOURS[figure]}"/>'
            for figure, ratio in ratios.items()
        ]
    return "\n".join([*parts, "</svg>", ""])


def _x(ratio: float) -> float:
    """Where a ratio is drawn, on a logarithmic axis."""
    share = math.log(min(max(ratio, LEAST), MOST) / LEAST) / math.log(MOST / LEAST)
    return LEFT + share * (WIDTH - LEFT - 30)
