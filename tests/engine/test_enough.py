"""How many records a column needs, for whoever describes it: whether the rule agrees with noise that is
really drawn."""

from __future__ import annotations

import numpy as np
import pytest

from synth_engine.domain import Domain, Weak
from synth_engine.plans import sample_size


@pytest.mark.parametrize("strength", [0.5, 1, 5, 20])
def test_the_rule_of_half_a_strength_holds_for_laplace_noise(strength: float) -> None:
    """The expected distance before anything is smoothed is 1/(2s), up to a tenth."""
    codes, columns, rng = 200, 4, np.random.default_rng(1)
    rows = sample_size.rows_for(codes, columns=columns) * strength
    noise = rng.laplace(scale=columns, size=(400, codes))
    assert np.abs(noise).sum(axis=1).mean() / (2 * rows) == pytest.approx(
        1 / (2 * strength), rel=0.1
    )


def test_a_value_of_an_open_column_needs_so_many_records_to_be_found() -> None:
    words = {"name": "job", "kind": "weak", "values": {"set": "known", "name": "english-words"}}
    weak = Domain.from_json({"attributes": [words]}).attribute("job")
    assert isinstance(weak, Weak)
    least = sample_size.records_to_be_found(weak)
    assert 100 < least < 200  # ten times the logarithm of the size of the set, and some
    assert sample_size.records_to_be_found(weak, max_records=2) == pytest.approx(
        2 * least, rel=0.05
    )
