"""A point of two columns described by a box, and a text column by its alphabet: as typed, and what it
becomes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from synth_engine.domain import Domain, Number
from synthweb.audit.models import AuditEntry
from synthweb.datasets import points, preview_store, sets
from synthweb.datasets import services as datasets
from synthweb.datasets.models import Dataset, Preview
from tests.cast import Cast
from tests.web.describe_page import ready
from tests.web.html import html_of

Open = Callable[..., Client]

COLUMNS = [
    {"name": name, "kind": "number", "low": 0, "high": 1, "missing": None, "why": "Numbers."}
    for name in ("north", "east", "far, east")
]
FORM = {
    "name": "home",
    "northing": "north",
    "easting": "far, east",
    "unit": "degrees",
    "north": "42",
    "south": "41",
    "west": "-72",
    "east": "-71",
    "halvings": "8",
    "origin": "declared",
    "because": "The law of 1990 that names the county.",
}


@pytest.fixture
def dataset(cast: Cast) -> Dataset:
    found = ready(cast, COLUMNS)
    preview_store.put(
        found, Preview.Kind.COLUMNS, "", {"columns": [column["name"] for column in COLUMNS]}
    )
    return found


def post(client: Client, dataset: Dataset, **changed: str) -> Any:
    return client.post(reverse("datasets:point", args=[dataset.code]), FORM | changed)


@pytest.mark.django_db
def test_a_box_becomes_two_columns_and_a_place_that_the_description_keeps(
    dataset: Dataset, cast: Cast, browser: Open
) -> None:
    client = browser(cast.steward)
    assert f'href="{reverse("datasets:point", args=[dataset.code])}"' in html_of(
        client.get(reverse("datasets:describe", args=[dataset.code]))
    )
    assert post(client, dataset).status_code == 302
    dataset.refresh_from_db()
    left = {
        "kind": "identifier",
        "origin": "declared",
        "fields": {},
        "confirmed": True,
        "place": 1,
    }
    datasets.keep(
        actor=cast.steward,
        dataset=dataset,
        changes=datasets.DraftChanges(columns={"east": left}),
    )
    found = Domain.from_json(
        datasets.confirm_domain(actor=cast.steward, dataset=dataset).document
    )
    [place] = found.places
    assert (place.name, place.columns) == ("home", ("north", "far, east"))
    for name, low, high in (("north", 41, 42), ("far, east", -72, -71)):
        attribute = found.attribute(name)
        assert isinstance(attribute, Number)
        assert (attribute.low, attribute.high, attribute.value_count) == (low, high, 256)
    again = html_of(client.get(reverse("datasets:point", args=[dataset.code]) + "?place=home"))
    assert 'value="41"' in again and '<option value="8" selected>' in again


@pytest.mark.django_db
def test_a_place_described_again_gives_way_and_another_unit_is_no_place(
    dataset: Dataset, cast: Cast, browser: Open
) -> None:
    client = browser(cast.steward)
    post(client, dataset)
    post(client, dataset, easting="east")
    dataset.refresh_from_db()
    assert dataset.draft["table"]["places"] == "home: north, east"
    assert (
        post(client, dataset, easting="east", unit="other", north="900000").status_code == 302
    )
    dataset.refresh_from_db()
    assert dataset.draft["table"]["places"] == ""
    assert dataset.draft["columns"]["north"]["fields"]["high"] == "900000"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"north": "41"}, "The box has no area: north is to be above south."),
        ({"west": "-70"}, "The box has no area: east is to be above west."),
        ({"north": "-71", "south": "-72", "west": "41", "east": "42"}, ""),
        (
            {"north": "172", "south": "171", "west": "41", "east": "42"},
            "Beyond 90 degrees. Are north and east swapped?",
        ),
        ({"easting": "north"}, "One column is both: choose two."),
        ({"easting": "nowhere"}, "is not one of the available choices"),
        ({"north": ""}, "This field is required."),
        ({"north": "nan"}, "Enter a number."),
        ({"north": "inf"}, "Enter a number."),
        ({"halvings": "65"}, "is not one of the available choices"),
        ({"name": "a: b"}, "A name has no colon."),
    ],
)
def test_a_box_that_is_none_is_refused_in_words_and_nothing_is_kept(
    dataset: Dataset, cast: Cast, browser: Open, changed: dict[str, str], words: str
) -> None:
    answer = post(browser(cast.steward), dataset, **changed)
    dataset.refresh_from_db()
    if not words:  # a box in the southern hemisphere is one
        assert answer.status_code == 302
        return
    assert answer.status_code == 422 and words in html_of(answer)
    assert not (dataset.draft or {}).get("columns")
    assert f'value="{changed.get("south", "41")}"' in html_of(answer)


def test_columns_whose_names_say_what_they_are_are_chosen_where_there_are_no_two_of_a_kind() -> (
    None
):
    names = ["check_in", "Latitude", "pos.lon", "platform"]
    assert points.initial({}, "", names=names) == {"northing": "Latitude", "easting": "pos.lon"}
    assert points.initial({}, "", names=["home_lat", "home_lon", "work_lat", "work_lon"]) == {}
    assert points.initial({}, "", names=["lat", "age"]) == {}


@pytest.mark.django_db
def test_nobody_but_who_describes_the_table_opens_it(
    dataset: Dataset, cast: Cast, browser: Open
) -> None:
    address = reverse("datasets:point", args=[dataset.code])
    assert browser(cast.analyst).get(address).status_code in (403, 404)
    assert browser(cast.auditor).post(address, FORM).status_code in (403, 404)


def test_public_points_of_the_draft_are_drawn_and_thinned() -> None:
    at = {f"b{number}": [41 + number / 10_000, -71.0, 1] for number in range(7_000)}
    beside = {"points": [{"column": "home", "at": at}, {"place": "work", "at": [[42, -71]]}]}
    found = points.public_points(beside)
    assert len(found) <= points.MAX_DRAWN_POINTS and found[0] == (41.0, -71.0)
    assert points.public_points({}) == []


# --- alphabets ----------------------------------------------------------------------------------------------
LENGTHS = {"set_min_length": "1", "set_max_length": "4"}


@pytest.mark.parametrize(
    ("fields", "alphabet"),
    [
        ({"with_lower": "on"}, "abcdefghijklmnopqrstuvwxyz"),
        ({"with_digits": "on", "with_blank": "on", "alphabet": "-'"}, "0123456789 -'"),
        ({"alphabet": "0-9-"}, "0123456789-"),
    ],
)
def test_an_alphabet_of_boxes_and_signs_is_the_sets_and_comes_back_as_it_was(
    fields: dict[str, str], alphabet: str
) -> None:
    document = sets.document_of({"set": "strings", **fields, **LENGTHS}, column="word")
    assert document == {
        "set": "strings",
        "alphabet": alphabet,
        "min_length": 1,
        "max_length": 4,
    }
    typed = sets.typed_of(document)
    assert sets.document_of(typed, column="word") == document


@pytest.mark.parametrize(
    "alphabet",
    ["bca", "9876543210", " abc", "abcdefghijklmnopqrstuvwxyz0123456789 .", "0123456789abc"],
)
def test_an_alphabet_in_any_order_keeps_it(alphabet: str) -> None:
    document = {"set": "strings", "alphabet": alphabet, "min_length": 1, "max_length": 4}
    assert sets.document_of(sets.typed_of(document), column="word")["alphabet"] == alphabet


@pytest.mark.django_db
def test_a_sign_that_is_ticked_and_typed_is_twice_there_and_said(
    cast: Cast, browser: Open
) -> None:
    found = ready(
        cast,
        [
            {
                "name": "word",
                "kind": "text",
                "max_length": 9,
                "signs": ["lower"],
                "missing": None,
                "why": "",
            }
        ],
    )
    typed = {
        "0-name": "word",
        "0-kind": "weak",
        "0-set": "strings",
        "0-with_lower": "on",
        "0-alphabet": "xyz-",
    }
    typed |= {f"0-{key}": text for key, text in LENGTHS.items()} | {
        "0-origin": "declared",
        "0-because": "The codebook.",
        "do": "confirm:0",
        "total": "1",
    }
    page = browser(cast.steward).post(
        reverse("datasets:describe", args=[found.code]), typed, follow=True
    )
    assert "with one twice" in html_of(page) and "list each character once" in html_of(page)


@pytest.mark.django_db
def test_who_sees_the_names_of_columns_is_on_record_and_sees_that_they_are_real(
    dataset: Dataset, cast: Cast, browser: Open
) -> None:
    """Without a header the names are a row of the table; when the preview has expired, declared names are
    left."""
    client, address = browser(cast.steward), reverse("datasets:point", args=[dataset.code])
    assert "Read the table again" not in html_of(client.get(address))
    Preview.objects.update(expires_at=timezone.now())
    assert "Read the table again" in html_of(client.get(address))
    preview_store.put(
        dataset, Preview.Kind.TABLE, "", {"columns": [column["name"] for column in COLUMNS]}
    )
    assert post(client, dataset).status_code == 302
    names = ["north", "east", "4711-Miller"]
    for kind in (Preview.Kind.TABLE, Preview.Kind.COLUMNS):
        preview_store.put(dataset, kind, "", {"columns": names})
    opened = AuditEntry.objects.filter(action="preview.opened", object_code=dataset.code)
    before = opened.count()
    shown = html_of(client.get(address))
    assert opened.count() == before + 1
    assert "4711-Miller" in shown and "were read from your table" in shown
    Preview.objects.filter(dataset=dataset, kind=Preview.Kind.TABLE).update(
        expires_at=timezone.now()
    )
    left = html_of(client.get(address))
    assert opened.count() == before + 1
    assert "4711-Miller" not in left and "far, east" in left and "red-bar" not in left
