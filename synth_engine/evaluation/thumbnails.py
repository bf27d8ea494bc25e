"""Small histograms as SVG, drawn where the page is made: a strip of them is on the screen before any script
runs.

Colours are classes (`thumb-real`, `thumb-synthetic`) with the light tones as a fallback, so that a style
sheet can turn them for a dark page.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from synth_engine.evaluation.style import REAL, SYNTHETIC

WIDTH, HEIGHT = 180, 64
MAX_BARS = 60


def thumbnail(entry: dict[str, Any]) -> str:
    """One attribute of a report: solid bars for real, a dashed outline over them for synthetic, in the order
    of the codes for ordered attributes and by real frequency for others. Many codes are merged to at most 60
    bars."""
    real, synthetic = _merge_bars(entry)
    top = max(*real, *synthetic, 1e-12)
    width = WIDTH / len(real)
    outline = []
    for index, dashed in enumerate(synthetic):
        left = index * width
        level = HEIGHT - dashed / top * (HEIGHT - 2)
        outline.append(f"{'L' if index else 'M'}{left:.1f} {level:.1f}H{left + width:.1f}")
    return _svg(
        f"{entry['name']}: {entry['verdict']['words']}",
        f'<path class="thumb-real" fill="{REAL}" d="{_bars(real, top=top)}"/>'
        f'<path class="thumb-synthetic" fill="none" stroke="{SYNTHETIC}" stroke-width="1.6" '
        f'stroke-dasharray="4 2" vector-effect="non-scaling-stroke" d="{"".join(outline)}"/>',
    )


def model_thumbnail(shares: Sequence[float], *, words: str) -> str:
    """The shares of a model alone, in their order. shares: at most `MAX_BARS`, one for each bar. words: what
    it shows."""
    bars = _bars(shares, top=max(*shares, 1e-12))
    return _svg(words, f'<path class="thumb-model" fill="{SYNTHETIC}" d="{bars}"/>')


def _bars(shares: Sequence[float], *, top: float) -> str:
    """Upright bars of equal width as one path. top: the share of a bar as high as the picture."""
    width = WIDTH / len(shares)
    paths = []
    for index, share in enumerate(shares):
        height = share / top * (HEIGHT - 2)
        paths.append(
            f"M{index * width:.1f} {HEIGHT}v-{height:.1f}h{max(width - 0.6, 0.5):.1f}v{height:.1f}z"
        )
    return "".join(paths)


def _svg(words: str, paths: str) -> str:
    return (
        f'<svg class="thumb" viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" role="img" '
        f"aria-label={quoteattr(words)}><title>{escape(words)}</title>{paths}</svg>"
    )


def _merge_bars(entry: dict[str, Any]) -> tuple[list[float], list[float]]:
    real, synthetic = entry["shares"]["real"], entry["shares"]["synthetic"]
    if not entry["ordered"]:
        # Both sides in the order of the real one: a bar must be over its own value.
        order = sorted(range(len(real)), key=lambda code: -real[code])
        real, synthetic = [real[code] for code in order], [synthetic[code] for code in order]
    group = -(-len(real) // MAX_BARS)
    starts = range(0, len(real), group)
    return [sum(real[s : s + group]) for s in starts], [
        sum(synthetic[s : s + group]) for s in starts
    ]
