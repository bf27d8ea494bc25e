"""Times of day on the describe page: typed, shown in one line, and back."""

from __future__ import annotations

import pytest

from synth_engine.errors import DomainError
from synth_engine.kinds.time_of_day import Time
from synthweb.datasets import draft, grid
from synthweb.datasets.draft_to_attribute import attribute_of


def typed(**fields: str) -> draft.Column:
    return {"kind": "time", "fields": fields}


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({}, "00:00 to 23:59, each minute, 32 bins"),
        ({"step": "15"}, "00:00 to 23:59, every 15 minutes"),
        ({"low": "6:00", "high": "22:00", "step": "30", "bins": "8"}, None),
        ({"low": "06:00", "high": "22:00", "step": "60", "width": "4"}, None),
    ],
)
def test_what_is_typed_becomes_an_attribute_and_is_typed_again(
    fields: dict[str, str], line: str | None
) -> None:
    attribute = attribute_of("left", typed(**fields))
    assert isinstance(attribute, Time)
    if line:
        assert grid.summary(attribute) == line
    assert attribute_of("left", draft.typed_from(attribute.to_json())) == attribute


def test_bins_and_width_together_are_refused() -> None:
    with pytest.raises(DomainError, match="both"):
        attribute_of("left", typed(bins="4", width="2"))


def test_the_editor_shows_every_input_of_the_kind() -> None:
    # Markers can be separate where there are two of them.
    column = typed(step="5", missing="?, NA")
    line = grid.ColumnLine(index=0, name="left", suggested=None, typed=column)
    keys = [shown.key for shown in line.inputs]
    assert keys == [key for key in draft.FIELDS["time"] if key != "unordered"]
