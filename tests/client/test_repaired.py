"""Repaired tables by the client, against the real application."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from synthweb_client import Client, ServerRefused

from synthweb.accounts.services import create_token
from tests.cast import Cast
from tests.client.conftest import Connect
from tests.web.scene import Scene


def test_a_release_is_repaired_and_saved_by_whoever_may_draw(
    cast: Cast, scene: Scene, server: str, connect: Connect, tmp_path: Path
) -> None:
    _, token = create_token(user=cast.steward, name="shares", scopes=["read", "share"], days=1)
    regions = {
        "name": "regions",
        "columns": ["region"],
        "counts": [
            {"values": ["north"], "count": 70},
            {"values": ["south"], "count": 30},
            {"values": ["(other)"], "count": 0},
        ],
    }
    with Client(server, token=token) as client:
        release = client.release(scene.release.code)
        made = release.repair([regions], published="Table 12", rows=300, way="rows", key="once")
        assert made.facts.receipt["totals"][0]["met"]
        with pytest.raises(ServerRefused, match="totals"):
            release.repair([], published="Table 12", rows=300)
    with connect(scene.reader) as client:
        (read,) = client.release(scene.release.code).repaired()
        assert read.facts == made.facts
        table = pd.read_csv(read.save(tmp_path / "repaired.csv"))
        assert table["region"].value_counts().to_dict() == {"north": 70, "south": 30}
        assert len(pd.read_parquet(read.save(tmp_path / "repaired.parquet"))) == 100
        with pytest.raises(ValueError, match=r"\.parquet"):
            read.save(tmp_path / "repaired.xlsx")
        with pytest.raises(ServerRefused):
            client.release(scene.release.code).repair([regions], published="Nowhere", rows=300)
