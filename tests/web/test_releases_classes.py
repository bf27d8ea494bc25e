"""Classes in the tree of a release: alone, beside places, from level to level, and as files."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from synthweb.releases.models import Release
from tests.cast import Cast
from tests.web import scene

Open = Callable[..., Client]

VALUES = [f"{letter}{digit}" for letter in "ABC" for digit in range(5)]
DOMAIN: dict[str, Any] = {
    "schema": "synth_engine/domain/1",
    "attributes": [
        {
            "name": "trade",
            "kind": "categorical",
            "values": VALUES,
            "outside": "clamp",
            "missing": None,
        },
        {
            "name": "north",
            "kind": "integer",
            "low": 0,
            "high": 63,
            "outside": "clamp",
            "missing": None,
        },
        {
            "name": "east",
            "kind": "integer",
            "low": 0,
            "high": 63,
            "outside": "clamp",
            "missing": None,
        },
    ],
    "places": [{"name": "home", "latitude": "north", "longitude": "east"}],
    "partitions": [
        {
            "name": "sector",
            "column": "trade",
            "of": {value: f"{value[0]} & <co>" for value in VALUES},
        }
    ],
}
TABLE = "trade,north,east\n" + "".join(
    f"A{n % 5 if n % 2 else 0},{n % 2},1\n" for n in range(2_700)
)
TABLE += "".join(f"B{n % 2},40,5\n" for n in range(900))


@pytest.fixture
def release(cast: Cast) -> Release:
    """Homes by trade."""
    return scene.released(
        cast,
        mechanism="adaptive-improved",
        epsilon="4",
        name="Trades",
        table=TABLE,
        document=DOMAIN,
    )


def lines(client: Client, release: Release, query: str) -> list[dict[str, str]]:
    answer = client.get(reverse("releases:tree-csv", args=[release.code]) + query)
    assert answer.status_code == 200
    return list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))


@pytest.mark.django_db
def test_classes_are_shown_level_by_level_beside_the_map_of_the_same_tree(
    release: Release, cast: Cast, browser: Open
) -> None:
    client, address = browser(cast.steward), reverse("releases:tree", args=[release.code])
    page = client.get(address).text
    assert re.findall(r'data-figure="([\w-]+)"', page) == ["place-data", "depths-data"]
    assert (
        page.index("A &amp; &lt;co&gt;</a>") < page.index("B &amp; &lt;co&gt;</a>")
        and "<co>" not in page
    )
    (below,) = re.findall(r'href="(\?column=trade&amp;class=A[^"]*)#tree-classes"', page)
    page = client.get(address + below.replace("&amp;", "&")).text
    assert "<b>A &amp; &lt;co&gt;</b>" in page and 'href="?column=trade#tree-classes"' in page
    assert page.index('text-break">A0<') < page.index('text-break">A1<') and ">B0<" not in page
    page = client.get(address + "?column=trade&class=nothing").text
    assert "The description has no such class." in page and "A &amp; &lt;co&gt;</a>" in page
    assert client.get(address + "?column=north&class=A0&class=A0").status_code == 200


@pytest.mark.django_db
def test_every_class_and_every_cell_is_in_a_file_and_they_agree(
    release: Release, cast: Cast, browser: Open
) -> None:
    client = browser(cast.steward)
    classes = lines(client, release, "?what=classes&column=trade")
    assert [list(row)[:2] for row in classes[:1]] == [["sector", "trade"]]
    sectors = {row["sector"]: row for row in classes if not row["trade"]}
    values = [row for row in classes if row["trade"]]
    assert {row["trade"] for row in values} == set(VALUES)
    for name, row in sectors.items():
        inside = [float(value["records"]) for value in values if value["sector"] == name]
        # Every number of the file is rounded to hundredths, the sum and each of its parts.
        rounding = 0.005 * (len(inside) + 1) + 1e-9
        assert sum(inside) == pytest.approx(float(row["records"]), abs=rounding)
    assert sum(float(row["records"]) for row in sectors.values()) == pytest.approx(
        release.rows, rel=1e-4
    )
    assert float(sectors["A & <co>"]["records"]) == pytest.approx(2_700, abs=360)
    cells = lines(client, release, "?what=cells")
    assert sum(float(row["records"]) for row in cells) == pytest.approx(release.rows, rel=1e-4)
    assert {"depth", "north from", "east to", "sector", "trade", "records"} <= set(cells[0])
    assert {row["trade"] for row in cells} <= {*VALUES, ""}
    squares = lines(client, release, "?what=place")
    assert sum(float(row["records"]) for row in squares) == pytest.approx(
        release.rows, rel=1e-4
    )


@pytest.mark.django_db
def test_one_column_of_classes_alone_has_no_map_and_all_pages(
    cast: Cast, browser: Open
) -> None:
    document = DOMAIN | {"attributes": DOMAIN["attributes"][:1], "places": []}
    table = "".join(f"{line.split(',')[0]}\n" for line in TABLE.splitlines())
    found = scene.released(
        cast, mechanism="adaptive", epsilon="4", name="Trades", table=table, document=document
    )
    client, address = browser(cast.steward), reverse("releases:tree", args=[found.code])
    page = client.get(address).text
    assert (
        re.findall(r'data-figure="([\w-]+)"', page) == ["depths-data"]
        and 'id="tree-classes"' in page
    )
    assert len(lines(client, found, "?what=cells")) == sum(
        int(row["cells"]) for row in lines(client, found, "?what=depths")
    )
    for name in ("release", "measured", "receipt", "samples"):
        assert client.get(reverse(f"releases:{name}", args=[found.code])).status_code == 200, (
            name
        )
