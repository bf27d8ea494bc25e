"""A bar that leaves the others no length is cut, and says its shares."""

from __future__ import annotations

from typing import Any

import pytest

from synth_engine.evaluation import bars


def drawn(real: list[float], synthetic: list[float]) -> dict[str, Any]:
    entry = {
        "labels": ["0", "1 to 9", "10 <b>"],
        "shares": {"real": real, "synthetic": synthetic},
    }
    layout: dict[str, Any] = {"yaxis": {}}
    bars.set_spike_apart(layout, entry, [0, 1, 2], [1, 2, 3])
    return layout


def test_a_spike_is_cut_at_the_next_bar_and_says_its_shares() -> None:
    layout = drawn([0.9, 0.06, 0.04], [0.92, 0.03, 0.05])
    assert layout["yaxis"]["range"] == [0, pytest.approx(1.15 * 0.06)]
    (note,) = layout["annotations"]
    assert note["text"] == "↑ 0: 90.0% / 92.0%"
    assert (note["x"], note["xanchor"]) == (1, "left")
    (other,) = drawn([0.04, 0.06, 0.9], [0.05, 0.03, 0.92])["annotations"]
    assert (other["x"], other["xanchor"]) == (2, "right")
    assert "<b>" not in other["text"]


@pytest.mark.parametrize(
    "shares", [[0.4, 0.3, 0.3], [0.8, 0.19, 0.01], [1.0, 0.0, 0.0], [0.45, 0.05, 0.5]]
)
def test_other_bars_share_one_scale(shares: list[float]) -> None:
    assert drawn(shares, shares) == {"yaxis": {}}
