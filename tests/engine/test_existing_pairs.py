"""Pairs of codes that exist: what is refused, and that no method generates another pair."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synth_engine import mechanisms, pipeline
from synth_engine.domain import Domain
from synth_engine.domain.relations import relation
from synth_engine.errors import DomainError
from synth_engine.spec import Spec

PAIRS = [[f"{a:02}", f"{b:04}"] for a in range(20) for b in range(30) if (a * 7 + b) % 5 == 0]
DOCUMENT: dict[str, Any] = {
    "attributes": [
        {"name": "district", "kind": "categorical", "values": [f"{a:02}" for a in range(20)],
            "missing": [""]},
        {"name": "block", "kind": "categorical", "values": [f"{b:04}" for b in range(30)], "other": True},
        {"name": "rooms", "kind": "integer", "low": 1, "high": 9},
    ],
    "constraints": [{"kind": "existing-pairs", "first": "district", "second": "block", "table": PAIRS,
        "provenance": "public-file"}],
}  # fmt: skip


def test_every_pair_is_judged_as_the_list_says() -> None:
    domain = Domain.from_json(DOCUMENT)
    judged = relation(domain.constraints[0], {a.name: a for a in domain.attributes})
    first, second = np.meshgrid(np.arange(21), np.arange(31), indexing="ij")
    holds = judged.holds(
        {"district": first.astype(np.uint16), "block": second.astype(np.uint16)}
    )
    listed = {(int(a), int(b)) for a, b in PAIRS}
    for a in range(21):
        for b in range(31):
            assert holds[a, b] == ((a, b) in listed or a == 20 or b == 30)
    assert np.all(judged.holds({"district": first}))  # nothing is judged from one of the two


@pytest.mark.parametrize(
    "change",
    [
        {"second": "district"},
        {"second": "street"},
        {"table": []},
        {"table": [["00"]]},
        {"table": [["00", None]]},
        {"table": [["00", {"from": 1}]]},
        {"table": [["00", "nowhere"]]},
        {"provenance": "suggested"},
    ],
)
def test_lists_that_cannot_be_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(DomainError) as refused:
        Domain.from_json(DOCUMENT | {"constraints": [DOCUMENT["constraints"][0] | change]})
    assert refused.value.repair


def test_a_description_with_pairs_is_the_same_from_its_json() -> None:
    domain = Domain.from_json(DOCUMENT)
    assert Domain.from_json(domain.to_json()).digest == domain.digest


@pytest.mark.parametrize("mechanism", ["auto", "independent", "mst"])
def test_no_sample_has_a_pair_that_does_not_exist(mechanism: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    rows = rng.integers(0, len(PAIRS), 500)
    table = pd.DataFrame(
        {
            # A tenth of the rows break the rule: they are read like the others.
            "district": [PAIRS[row][0] for row in rows],
            "block": [PAIRS[row][1] if row % 10 else "0001" for row in rows],
            "rooms": rng.integers(1, 10, 500),
        }
    )
    path = tmp_path / "table.csv"
    table.to_csv(path, index=False)
    domain = Domain.from_json(DOCUMENT)
    spec = Spec(mechanism=mechanism, epsilon=Fraction(1), delta=Fraction(1, 10**6))
    release = pipeline.synthesize(path, domain=domain, spec=spec)
    sample = mechanisms.draw_table(release.model, 3_000, "seed")
    existing = {tuple(pair) for pair in PAIRS}
    both = sample[sample["district"].notna() & (sample["block"] != "(other)")]
    pairs = zip(both["district"], both["block"], strict=True)
    assert sum(pair not in existing for pair in pairs) == 0
    assert len(both) > 1_000
