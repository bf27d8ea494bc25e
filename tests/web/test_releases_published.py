"""A release of a table of groups: its tab and its file say what the answers do."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from synthweb.releases import groups, screens
from synthweb.releases.models import Release
from tests.cast import Cast
from tests.web import scene

SIZES = {"north": 5_000, "south": 3_000, "=east": 6, "west": 5, "<b>": 4}
TABLE = "area,rent\n" + "".join(
    f"{area},{'low' if i % 3 else 'high'}\n" for area, n in SIZES.items() for i in range(n)
)
DOMAIN: dict[str, Any] = {
    "schema": "synth_engine/domain/1",
    "attributes": [
        {"name": "area", "kind": "categorical", "values": list(SIZES), "outside": "clamp"},
        {"name": "rent", "kind": "categorical", "values": ["low", "high"], "outside": "clamp"},
    ],
}


def released(cast: Cast, mechanism: str = "generalize") -> Release:
    return scene.released(
        cast, mechanism=mechanism, epsilon="4", name="Rents", table=TABLE, document=DOMAIN
    )


def test_values_put_together_are_named_up_to_four_and_later_columns_are_any() -> None:
    columns = [
        groups._Column(labels=labels, values=len(labels), neighbours=False)
        for labels in (("a", "b"), ("1", "2", "3", "4", "5", "6"), ("x", "y"))
    ]
    published: dict[str, Any] = {
        "columns": ["a", "b", "c"],
        "groups": [[[1], [0, 1, 2, 3, 5], 7.0], [[], [], 9.0]],
    }
    group, whole = groups._groups(published)
    assert list(groups._values(group, columns, most=4)) == [
        "b",
        "1 | 2 | 3 | 4 and 1 more",
        "any",
    ]
    assert list(groups._values(group, columns)) == ["b", "1 | 2 | 3 | 4 | 6", "any"]
    assert list(groups._values(whole, columns)) == ["any"] * 3


def test_classes_of_columns_with_an_order_are_ranges() -> None:
    ages = groups._Column(
        labels=(*map(str, range(10)), "(missing)"), values=10, neighbours=True
    )
    published: dict[str, Any] = {
        "columns": ["age"],
        "boxes": [[[[2, 3, 4, 5]], 7.0], [[list(range(11))], 9.0], [[[8, 9, 10]], 1.0]],
    }
    texts = [next(groups._values(group, [ages])) for group in groups._groups(published)]
    assert texts == ["2 … 5", "any", "8 | 9 | (missing)"]


@pytest.mark.django_db
def test_groups_are_shown_the_largest_first_and_are_in_the_file(
    cast: Cast, browser: Callable[..., Client]
) -> None:
    release, client = released(cast), browser(cast.steward)
    quality = client.get(reverse("releases:validation", args=[release.code])).text
    address = reverse("releases:groups", args=[release.code])
    assert f'href="{address}#card"' in quality
    page = client.get(address).text
    answer = client.get(reverse("releases:groups-csv", args=[release.code]))
    lines = list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))
    assert set(lines[0]) == {"area", "rent", "records"}
    counts = [float(line["records"]) for line in lines]
    assert sum(counts) == pytest.approx(release.rows, abs=1)
    largest = max(lines, key=lambda line: float(line["records"]))
    assert (largest["area"], largest["rent"]) == ("north", "low")
    assert float(largest["records"]) == pytest.approx(5_000 * 2 / 3, abs=50)
    first = page.split("<tbody>")[1].split("</tr>")[0]
    assert (
        "<td>north</td>" in first
        and "<td>low</td>" in first
        and 'class="number">3\u202f3' in first
    )
    assert "Noise changes a count of single values by about ±" in page
    assert "<b>" not in page and not any(
        cell.startswith("=") for line in lines for cell in line.values()
    )


@pytest.mark.django_db
def test_codes_that_have_names_are_shown_with_them_and_are_codes_in_the_file(
    cast: Cast, browser: Callable[..., Client]
) -> None:
    at = {area: [41 + place / 10, -71] for place, area in enumerate(SIZES)}
    named = DOMAIN | {
        "points": [{"column": "area", "at": at, "names": {"north": "Up <there>"}}]
    }
    release = scene.released(
        cast, mechanism="generalize", epsilon="4", name="Rents", table=TABLE, document=named
    )
    client = browser(cast.steward)
    assert (
        "<td>north · Up &lt;there&gt;</td>"
        in client.get(reverse("releases:groups", args=[release.code])).text
    )
    answer = client.get(reverse("releases:groups-csv", args=[release.code]))
    lines = list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))
    assert "north" in {line["area"] for line in lines} and not any(
        "Up" in line["area"] for line in lines
    )


@pytest.mark.django_db
def test_other_releases_have_no_such_tab(cast: Cast, browser: Callable[..., Client]) -> None:
    release, client = released(cast, mechanism="independent"), browser(cast.steward)
    address = reverse("releases:groups", args=[release.code])
    assert address not in client.get(reverse("releases:validation", args=[release.code])).text
    assert "No groups" in client.get(address).text
    assert client.get(reverse("releases:groups-csv", args=[release.code])).status_code == 404


@pytest.mark.django_db
def test_groups_that_are_divided_apart_are_shown_by_their_classes(
    cast: Cast, browser: Callable[..., Client]
) -> None:
    release = scene.released(
        cast,
        mechanism="generalize",
        epsilon="4",
        name="Rents",
        table=TABLE,
        document=DOMAIN,
        parameters={"divided": "apart"},
    )
    client = browser(cast.steward)
    page = client.get(reverse("releases:groups", args=[release.code])).text
    assert "<td>north</td>" in page and "Noise changes a count" in page
    answer = client.get(reverse("releases:groups-csv", args=[release.code]))
    lines = list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))
    assert sum(float(line["records"]) for line in lines) == pytest.approx(release.rows, abs=1)
    receipt = client.get(reverse("releases:receipt", args=[release.code])).text
    assert "Counted groups by classes of" in receipt and screens.check(release).accepted
