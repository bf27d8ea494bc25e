"""Columns of more codes than 16 bits hold: how they are stored, which methods take them, and what others say
beforehand."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synth_engine import cli, codec, mechanisms
from synth_engine.domain import MAX_PLACED_CODES, Domain
from synth_engine.errors import DomainError
from synth_engine.inference import oneway
from synth_engine.kinds.reading import MAX_NARROW_CODES, code_dtype
from synth_engine.measurement import Noise
from synth_engine.models.network import Table, sample_apart
from synth_engine.models.sparse_table import SparseTable
from synth_engine.models.weights import WHOLE, generator
from synth_engine.privacy import resampling
from synth_engine.spec import Spec

ORIGINS = 70_000
WORKS = 30
ROWS = 900
TAKING = (
    "on-the-map",
    "independent",
    "random",
    "adaptive",
    "adaptive-basic",
    "adaptive-improved",
    "privtree",
    "direct-synthesis",
)


@cache
def document(origins: int = ORIGINS, *, totals: bool = True) -> dict[str, Any]:
    """Works of 30 workers each, and homes on a grid, in regions of 1,000."""
    homes, works = (
        [f"{letter}{n:06}" for n in range(number)]
        for letter, number in (("h", origins), ("w", WORKS))
    )
    found: dict[str, Any] = {
        "attributes": [
            {"name": "work", "kind": "categorical", "values": works, "outside": "clamp"},
            {"name": "home", "kind": "categorical", "values": homes, "outside": "clamp"},
        ],
        "points": [
            {"column": "work", "at": {w: [41 + n / 100, -71.5] for n, w in enumerate(works)}},
            {
                "column": "home",
                "at": {
                    h: [41 + n // 1000 / 500, -72 + n % 1000 / 1000]
                    for n, h in enumerate(homes)
                },
            },
        ],
        "partitions": [
            {
                "name": "region",
                "column": "home",
                "of": {h: f"r{n // 1000}" for n, h in enumerate(homes)},
            }
        ],
    }
    if totals:
        found |= {
            "rows": ROWS,
            "relation": "replace-one",
            "totals": {"column": "work", "counts": dict.fromkeys(works, ROWS // WORKS)},
        }
    return found


def spec(mechanism: str, epsilon: str = "4") -> Spec:
    delta = Fraction(1, 10**6) if mechanism == "on-the-map" else Fraction(0)
    return Spec(mechanism=mechanism, epsilon=Fraction(epsilon), delta=delta)


def test_codes_have_16_bits_up_to_65536_of_them_and_32_beyond() -> None:
    assert MAX_NARROW_CODES == 65_536
    for size, stored in ((2, "uint16"), (65_536, "uint16"), (65_537, "uint32")):
        assert code_dtype(size) == stored


@pytest.mark.parametrize("origins", [65_536, ORIGINS])
def test_every_code_is_read_drawn_and_written_back(origins: int) -> None:
    domain = Domain.from_json(document(origins, totals=False))
    labels = domain.attribute("home").value_labels
    some = [0, 1, 65_534, 65_535, origins - 1]
    columns = {"home": [labels[n] for n in some], "work": ["w000001"] * len(some)}
    codes = codec.encode(domain, columns)
    assert codes["home"].dtype == code_dtype(origins) and codes["home"].tolist() == some
    assert codes["work"].dtype == np.uint16
    frame = codec.decode(domain, codes, np.random.default_rng(0))
    assert frame["home"].tolist() == columns["home"]


def test_tables_of_more_codes_give_each_its_records() -> None:
    weights = np.zeros(ORIGINS, dtype=np.int64)
    weights[[5, ORIGINS - 1]] = WHOLE // 4, WHOLE - WHOLE // 4
    table = Table(clique=("home",), weights=weights)
    codes = sample_apart([table], 100, population=100, seed="s")["home"]
    assert dict(zip(*np.unique(codes, return_counts=True), strict=True)) == {
        5: 25,
        ORIGINS - 1: 75,
    }
    domain = Domain.from_json(document())
    cells = np.array([3 * ORIGINS + 7, 29 * ORIGINS + 69_999], dtype=np.int64)
    sparse = SparseTable(
        clique=("work", "home"), cells=cells, weights=np.array([WHOLE // 2, WHOLE // 2])
    )
    found = sparse.sample(10, population=10, domain=domain, rng=generator("s", purpose=("t",)))
    pairs = set(zip(found["work"].tolist(), found["home"].tolist(), strict=True))
    assert pairs == {(3, 7), (29, 69_999)}


def test_a_million_codes_with_points_are_described_and_more_are_not() -> None:
    assert MAX_PLACED_CODES == 1_000_000
    values = [f"{n:07}" for n in range(MAX_PLACED_CODES + 1)]
    column: dict[str, Any] = {"name": "home", "kind": "categorical", "outside": "clamp"}
    at = {value: [41.0, -71.0] for value in values}
    with pytest.raises(DomainError, match="column 'home': more than 1,000,000 codes"):
        Domain.from_json(
            {
                "attributes": [column | {"values": values}],
                "points": [{"column": "home", "at": at}],
            }
        )
    del at[values.pop()]
    points = [{"column": "home", "at": at}]
    domain = Domain.from_json({"attributes": [column | {"values": values}], "points": points})
    assert domain.sizes == {"home": MAX_PLACED_CODES}
    assert mechanisms.plan(domain, spec("independent")).needs(rows=1_000).seconds > 60


@pytest.mark.parametrize("mechanism", sorted(mechanisms.REGISTRY))
def test_a_method_takes_such_a_column_or_says_beforehand_which_column_is_too_wide(
    mechanism: str,
) -> None:
    domain = Domain.from_json(document(totals=mechanism == "on-the-map"))
    if mechanism in TAKING:
        assert mechanisms.plan(domain, spec(mechanism)).needs(rows=ROWS).memory_bytes > 10**8
        return
    with pytest.raises(
        DomainError,
        match=r"column 'home': .* takes columns of up to 65,536 codes, and this one has 70,000; .*larger "
        r"areas",
    ):
        mechanisms.plan(domain, spec(mechanism))


@pytest.mark.parametrize(
    ("epsilon", "limit", "says"),
    [
        ("4", "MAX_RESAMPLED_CELLS", "cells of work by parts of home, more than"),
        ("4", "largest_urn", "the prior of 70,000 parts of home is too large"),
    ],
)
def test_what_the_room_would_not_draw_is_refused_while_it_is_planned(
    epsilon: str, limit: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two columns of a million codes are within both limits; they are lowered here."""
    assert MAX_PLACED_CODES**2 < resampling.MAX_RESAMPLED_CELLS
    values = {"MAX_RESAMPLED_CELLS": 2**20, "largest_urn": lambda *_, **__: 2**63}
    monkeypatch.setattr(resampling, limit, values[limit])
    asked = Spec(
        mechanism="on-the-map",
        epsilon=Fraction(epsilon),
        delta=Fraction(1, 10**6),
        parameters={"parts": "values"},
    )
    with pytest.raises(DomainError, match=f"column 'home': .*{says}"):
        mechanisms.plan(Domain.from_json(document()), asked)


def test_a_prior_that_no_urn_holds_is_refused_while_it_is_planned() -> None:
    asked = Spec(
        mechanism="on-the-map",
        epsilon=Fraction(1, 10**4),
        parameters={"parts": "values"},
    )
    one_group = {"totals": {"column": "work", "counts": {"w000003": ROWS}}}
    with pytest.raises(DomainError, match="too large to be drawn from at this epsilon"):
        mechanisms.plan(Domain.from_json(document() | one_group), asked)


def test_counts_of_many_codes_are_read_as_those_of_few() -> None:
    """The grid of magnitudes stands for the observations themselves."""
    rng = np.random.default_rng(7)
    means = np.where(rng.random(4_000) < 0.1, rng.normal(0, 40, 4_000), 0)
    noisy = means + rng.normal(0, 2, 4_000)
    exact, evidence = oneway.posterior_mean(noisy, sigma=2)
    gridded, near = oneway._posterior_mean_of_many(noisy, sigma=2)
    assert np.abs(exact - gridded).max() < 1e-3
    assert near == pytest.approx(evidence, rel=1e-6)
    flat, _ = oneway._posterior_mean_of_many(np.zeros(10), sigma=2)
    assert flat.tolist() == [0.0] * 10


def test_a_wide_column_of_counts_is_read_through_the_grid() -> None:
    noisy = np.zeros(ORIGINS, dtype=np.int64)
    noisy[ORIGINS // 2] = 5_000
    noise = Noise(law="discrete-laplace", scale=Fraction(1))
    found = oneway.denoise(noisy, noise=noise, total=5_000, along=ORIGINS)
    assert found.sum() == pytest.approx(5_000) and found[ORIGINS // 2] > 4_500


@pytest.mark.parametrize("mechanism", ["on-the-map", "independent", "adaptive", "random"])
def test_the_command_line_releases_and_verifies_such_a_column(
    mechanism: str, tmp_path: Path
) -> None:
    rng = np.random.default_rng(3)
    described = document(totals=mechanism == "on-the-map")
    (tmp_path / "d.json").write_text(json.dumps(described))
    homes = [f"h{n:06}" for n in rng.integers(60_000, ORIGINS, ROWS)]
    works = [f"w{n % WORKS:06}" for n in range(ROWS)]
    pd.DataFrame({"work": works, "home": homes}).to_csv(tmp_path / "t.csv", index=False)
    out, receipt, model = (str(tmp_path / name) for name in ("o.csv", "r.json", "m.json"))
    given = ["synthesize", str(tmp_path / "t.csv"), "--domain", str(tmp_path / "d.json")]
    given += ["--mechanism", mechanism, "--epsilon", "20", "--out", out, "--receipt", receipt]
    given += ["--delta", "1e-6"] if mechanism == "on-the-map" else []
    if mechanism == "random":
        given += ["--rows", "500"]
    assert cli.main([*given, "--model", model]) == 0
    drawn = pd.read_csv(out)["home"]
    known = set(described["points"][1]["at"])
    assert set(drawn) <= known
    if mechanism in ("on-the-map", "adaptive"):
        assert (drawn >= "h060000").mean() > 0.6
    assert (drawn >= "h065536").any()
    assert cli.main(["verify", receipt]) == 0
    again = str(tmp_path / "again.csv")
    assert cli.main(["sample", model, "--rows", "50", "--seed", "s", "--out", again]) == 0
    assert set(pd.read_csv(again)["home"]) <= known
