"""Small histograms of a model: whole shares, bars of equal width, and nothing of columns without a table."""

from __future__ import annotations

import numpy as np
import pytest

from synth_engine.domain import Domain
from synth_engine.evaluation import model_histograms
from synth_engine.evaluation.model_histograms import BARS, ModelHistogram
from synth_engine.evaluation.thumbnails import model_thumbnail
from synth_engine.models.model import WHOLE, Model, Table


def histogram(attribute: dict[str, object], weights: list[float]) -> ModelHistogram:
    domain = Domain.from_json({"attributes": [attribute | {"name": "a"}]})
    shares = np.array(weights) / sum(weights)
    whole = np.floor(shares * WHOLE).astype(np.int64)
    whole[0] += WHOLE - whole.sum()
    model = Model(
        mechanism="independent",
        domain=domain,
        rows=1000,
        tables=(Table(clique=("a",), weights=whole),),
    )
    made = model_histograms.of_column(model, domain.attribute("a"))
    assert made is not None
    return made


def test_whole_numbers_have_a_bar_for_each_where_they_fit() -> None:
    made = histogram({"kind": "integer", "low": 1, "high": 4, "width": 1}, [1, 2, 3, 4])
    assert [(bar.label, round(bar.share.value, 6)) for bar in made.bars] == [
        ("1", 0.1),
        ("2", 0.2),
        ("3", 0.3),
        ("4", 0.4),
    ]
    assert made.missing is None and made.more == 0


def test_bars_of_many_numbers_are_equally_wide_and_add_up() -> None:
    made = histogram({"kind": "integer", "low": 0, "high": 999, "width": 10}, [1.0] * 100)
    assert len(made.bars) <= BARS
    assert sum(bar.share.value for bar in made.bars) == pytest.approx(1)
    inner = [bar.share.value for bar in made.bars[1:-1]]
    assert max(inner) == pytest.approx(min(inner))


def test_the_most_frequent_values_come_first_and_missing_has_no_bar() -> None:
    values = [f"v{number:02}" for number in range(50)]
    attribute = {"kind": "categorical", "values": values, "missing": [""]}
    made = histogram(attribute, [float(number) for number in range(50)] + [1225.0])
    assert made.bars[0].label == "v49" and len(made.bars) == BARS and made.more == 10
    assert made.missing is not None and made.missing.value == pytest.approx(0.5, abs=1e-6)
    # Of the records that have a value.
    assert made.bars[0].share.value == pytest.approx(49 / 1225, abs=1e-6)


def test_the_picture_escapes_labels() -> None:
    made = histogram(
        {"kind": "categorical", "values": ["<b>", '"&'], "outside": "clamp"}, [1, 2]
    )
    picture = model_thumbnail([bar.share.value for bar in made.bars], words=made.words)
    assert "<b>" not in picture and "&lt;b&gt;" in picture
