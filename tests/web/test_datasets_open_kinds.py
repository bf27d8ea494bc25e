"""Columns of which categories or bounds are not known: their editors, what they tell, what they refuse."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.urls import reverse

from synth_engine.domain import Domain, parse_attribute
from synthweb.accounts.models import User
from synthweb.datasets import draft as drafts
from synthweb.datasets import services
from synthweb.datasets.draft_to_attribute import attribute_of
from synthweb.datasets.kinds.range import WIDEST
from synthweb.datasets.models import DomainVersion
from tests.web.describe_page import DescribePage, line

pytestmark = pytest.mark.usefixtures("places")

WORDS = {"set": "known", "name": "english-words"}


KEYS = (
    "values",
    "low",
    "high",
    "step",
    "pattern",
    "min_length",
    "max_length",
    "case",
    "replace",
)
INPUTS = {
    "weak": {key: f"set_{key}" for key in KEYS},
    "range": {key: own for own, key in WIDEST.items()},
}

STRINGS = {"set": "strings", "alphabet": "ab", "min_length": "1", "max_length": "3"}


def confirm(describe_page: DescribePage, kind: str, **fields: str) -> str:
    """What a line says after its editor was filled in and confirmed."""
    typed = {f"0-{INPUTS[kind].get(key, key)}": text for key, text in fields.items()}
    cleared = {
        "0-kind": kind,
        "0-missing": "",
        "0-outside": "clamp" if kind == "range" else "other",
    }
    return str(
        describe_page.press("confirm:0", edit="0", in_place=True, **(cleared | typed)).text
    )


def of_set(describe_page: DescribePage) -> dict[str, Any]:
    """The set of the first column of the draft, as the engine has it."""
    return attribute_of("sector", describe_page.draft["columns"]["sector"]).to_json()["values"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("fields", "size"),
    [
        ({"set": "english-words"}, 172_823),
        ({"set": "word-pairs"}, 172_823**2),
        ({"set": "word-pairs", "separator": " "}, 172_823**2),
        ({"set": "words-or-pairs"}, 172_823 + 172_823**2),
        ({"set": "us-states"}, 51),
        ({"set": "list", "values": "a\nb\nc"}, 3),
        ({"set": "integers", "low": "-5", "high": "1" + "0" * 20}, 10**20 + 6),
        ({"set": "decimals", "low": "0", "high": "1", "step": "0.01"}, 101),
        ({"set": "dates", "low": "2024-01-01", "high": "2024-12-31"}, 366),
        (
            {"set": "strings", "alphabet": "a-z0-9", "min_length": "0", "max_length": "2"},
            1 + 36 + 36**2,
        ),
        (
            {
                "set": "strings",
                "alphabet": "a-z=",
                "min_length": "1",
                "max_length": "2",
                "case": "lower",
                "replace": 'é = e\nß = ss\n-=\n" " = =\n"""" =',
            },
            27 + 27**2,
        ),
        ({"set": "pattern", "pattern": "[A-Z]{2}-[0-9]{3}"}, 676_000),
        (
            {
                "set": "json",
                "document": json.dumps({"set": "product", "parts": [WORDS], "separator": ""}),
            },
            172_823,
        ),
    ],
)
def test_every_set_can_be_chosen_and_comes_back_as_it_was(
    describe_page: DescribePage, fields: dict[str, str], size: int
) -> None:
    text = confirm(describe_page, "weak", **fields)
    assert "found with budget among" in text
    assert of_set(describe_page)["size"] == size
    column = describe_page.draft["columns"]["sector"]
    attribute = attribute_of("sector", column)
    again = attribute_of(
        "sector", drafts.typed_from(attribute.to_json()) | {"origin": "declared"}
    )
    assert again.to_json() == attribute.to_json()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("fields", "rule", "repair"),
    [
        ({}, "The public set is not chosen", "choose which values"),
        (
            {"set": "strings", "alphabet": "ab"},
            "“shortest” is empty",
            "fill it in",
        ),  # a set without a size
        (
            {"set": "json", "document": '{"set": "strings", "alphabet": "ab"}'},
            "is missing or of another type",
            "see",
        ),
        ({"set": "json", "document": "[]"}, "The set is no JSON object", "write it like"),
        (
            STRINGS | {"replace": "é"},
            "a line that cannot be read",
            "write one a line, like é = e",
        ),
        (STRINGS | {"replace": "é = a\né = b"}, "or a character twice", "write one a line"),
        (
            STRINGS | {"replace": "é = x"},
            "replaced by one that the alphabet lacks",
            "add it to the alphabet",
        ),
        (
            STRINGS | {"replace": "a = b"},
            "is in the alphabet",
            "characters that the alphabet lacks",
        ),
        (
            STRINGS | {"case": "upper"},
            "characters that the rule for case takes away",
            "list them as they become",
        ),
        (STRINGS | {"case": "title"}, "An unknown rule for case", "lower"),
        ({"set": "pattern", "pattern": "a*"}, "infinite language", "upper end"),
        ({"set": "pattern", "pattern": "["}, "no pattern that can be read", "use letters"),
        (
            {"set": "integers", "low": "0", "high": "1" + "0" * 400},
            "more than 2^256 values",
            "shorter texts",
        ),
        (
            {"set": "strings", "alphabet": "a-z", "min_length": "1", "max_length": "400"},
            "more than 2^256",
            "shorter",
        ),
        (
            {"set": "integers", "low": "0", "high": "ten"},
            "“highest” is not a whole number",
            "write digits only",
        ),
        ({"set": "integers", "low": "9", "high": "1"}, "Low is above high", "swap them"),
        ({"set": "list", "values": ""}, "An empty set of values", "at least one"),
        (
            {"set": "list", "values": "a\nb\na"},
            "A value is listed twice",
            "list each value once",
        ),
        (
            {"set": "us-states", "rho": "0"},
            "strictly between 0 and 1",
            "0.9 is a common choice",
        ),
        (
            {"set": "us-states", "rho": "1"},
            "strictly between 0 and 1",
            "0.9 is a common choice",
        ),
        ({"set": "us-states", "rho": "high"}, "is not a number", "write it like"),
        (
            {"set": "us-states", "missing": "TX"},
            "A missing marker is also a value",
            "take it off",
        ),
    ],
)
def test_sets_that_cannot_be_are_refused_with_rule_and_repair(
    describe_page: DescribePage, fields: dict[str, str], rule: str, repair: str
) -> None:
    text = confirm(describe_page, "weak", **fields)
    [alert] = [part.split("</p>")[0] for part in text.split('role="alert">')[1:]]
    assert rule in alert
    assert repair in alert
    assert describe_page.draft["columns"]["sector"]["confirmed"] is False
    assert not DomainVersion.objects.exists()


COMPLETED = {
    "name": "sector",
    "kind": "weak",
    "values": {
        "set": "strings",
        "alphabet": "abc",
        "min_length": 1,
        "max_length": 9,
        "case": "lower",
        "replace": {"-": "", "é": "c"},
    },
    "completions": {
        "set": "list",
        "values": ["abba", "cab", "<b>"],
        "weights": [3.0, 1.0, 0.5],
    },
}


@pytest.mark.django_db
def test_what_no_input_shows_stays_in_a_draft_whatever_is_pressed(
    describe_page: DescribePage,
) -> None:
    described = parse_attribute(COMPLETED).to_json()
    services.keep(
        actor=User.objects.get(pk=describe_page.client.session["_auth_user_id"]),
        dataset=describe_page.dataset,
        changes=services.DraftChanges(
            columns={
                "sector": drafts.typed_from(described)
                | {"whole": True, "place": 0, "confirmed": False}
            }
        ),
    )
    page = describe_page.page("?edit=0")
    assert "completed by one of 3 public texts, the likely ones more often" in page
    assert "They are: A public list." in page and "upload a description (DOMAIN.json)" in page
    assert (
        'name="0-set_case"' in page
        and "- =\né = c</textarea>" in page
        and 'name="0-completions"' not in page
    )
    describe_page.press("keep:0", edit="0", _0_set_max_length="8")
    describe_page.press("kind:0", edit="0", in_place=True, _0_set_max_length="7")
    describe_page.press("confirm:0", edit="0")
    column = describe_page.draft["columns"]["sector"]
    assert column["confirmed"]
    found = attribute_of("sector", column).to_json()
    assert found["completions"] == described["completions"]
    kept = of_set(describe_page)
    assert (kept["replace"], kept["case"], kept["max_length"]) == (
        {"-": "", "é": "c"},
        "lower",
        7,
    )
    describe_page.press("kind:0", edit="0", in_place=True, **{"0-kind": "text"})
    assert "completions" not in describe_page.draft["columns"]["sector"]["fields"]


READ = {
    "set": "strings",
    "alphabet": "abcdefghijklmnopqrstuvwxyz",
    "min_length": 1,
    "max_length": 9,
    "case": "lower",
}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("document", "listed"),
    [
        (
            {"kind": "categorical", "values": ["farm", "mine"], "other": True, "reads": READ},
            "values",
        ),
        ({"kind": "basket", "items": ["farm", "mine"], "reads": READ}, "items"),
    ],
)
def test_the_set_by_which_a_list_is_read_stays_in_a_draft(
    describe_page: DescribePage, document: dict[str, Any], listed: str
) -> None:
    described = parse_attribute({"name": "sector", **document}).to_json()
    services.keep(
        actor=User.objects.get(pk=describe_page.client.session["_auth_user_id"]),
        dataset=describe_page.dataset,
        changes=services.DraftChanges(
            columns={
                "sector": drafts.typed_from(described)
                | {"whole": True, "place": 0, "confirmed": False}
            }
        ),
    )
    assert 'name="0-reads"' not in describe_page.page("?edit=0")
    describe_page.press("keep:0", edit="0", **{f"_0_{listed}": "farm\nmine\nshop"})
    describe_page.press("confirm:0", edit="0")
    column = describe_page.draft["columns"]["sector"]
    assert column["confirmed"]
    found = attribute_of("sector", column).to_json()
    assert found["reads"] == described["reads"]
    assert found[listed] == ["farm", "mine", "shop"]
    describe_page.press("kind:0", edit="0", in_place=True, **{"0-kind": "text"})
    assert "reads" not in describe_page.draft["columns"]["sector"]["fields"]


def test_sets_of_texts_that_no_input_can_hold_are_kept_as_json() -> None:
    for alphabet, replace in (
        ("ab ", {}),
        ("a-zb", {}),
        ("ab", {"\n": "a"}),
        ("ab", {"x": "a", "é": "b"}),
    ):
        values = {"set": "strings", "alphabet": alphabet, "min_length": 1, "max_length": 2}
        document = {
            "name": "c",
            "kind": "weak",
            "values": values | ({"replace": replace} if replace else {}),
        }
        described = parse_attribute(document).to_json()
        column = drafts.typed_from(described)
        assert attribute_of("c", column).to_json() == described
        assert column["fields"]["set"] == ("strings" if "x" in replace else "json")


@pytest.mark.django_db
def test_an_editor_shows_the_fields_of_its_set_and_how_large_that_is(
    describe_page: DescribePage,
) -> None:
    typed = {"0-kind": "weak", "0-set": "strings", "0-missing": "", "0-outside": "other"}
    text = describe_page.press("kind:0", edit="0", in_place=True, **typed).text
    assert 'name="0-alphabet"' in text
    assert 'name="0-separator"' not in text
    assert 'data-press="kind:0"' in text
    full = typed | {"0-alphabet": "0-9", "0-set_min_length": "5", "0-set_max_length": "5"}
    told = describe_page.client.post(
        reverse("datasets:set", args=[describe_page.dataset.code]) + "?line=0",
        {"0-name": "sector", **full},
    ).text
    assert told.startswith(
        "100\u202f000 values. With a tenth of ε = 1 spent on finding them, a value comes out that"
    )
    describe_page.press("save", max_records="5")
    address = reverse("datasets:set", args=[describe_page.dataset.code])
    fivefold = describe_page.client.post(f"{address}?line=0", {"0-name": "sector", **full}).text
    needed = [
        int(text.split("about ")[1].split(" records")[0].replace("\u202f", ""))
        for text in (told, fivefold)
    ]
    assert needed[1] == pytest.approx(5 * needed[0], rel=0.02)
    broken = describe_page.client.post(
        f"{address}?line=0", {"0-name": "sector", **full, "0-set_max_length": "900"}
    ).text
    assert "a set of more than 2^256 values" in broken
    assert describe_page.client.post(f"{address}?line=x", full).text == ""
    assert "Farm" not in json.dumps(
        describe_page.draft
    )  # of the list suggested from the data nothing is left


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("fields", "summary"),
    [
        (
            {"of": "integer", "low": "0", "high": "1000000"},
            "0 to 1\u202f000\u202f000 at the widest, up to 16 bins",
        ),
        (
            {"of": "number", "low": "-1.5", "high": "1e6", "bins": "30"},
            "-1.5 to 1\u202f000\u202f000 at the widest, up to 30",
        ),
        (
            {"of": "date", "low": "1900-01-01", "high": "2030-12-31"},
            "1900-01-01 to 2030-12-31 at the widest",
        ),
    ],
)
def test_wide_ranges_are_typed_and_come_back(
    describe_page: DescribePage, fields: dict[str, str], summary: str
) -> None:
    assert summary in confirm(
        describe_page,
        "range",
        bins=fields.get("bins", ""),
        **{k: v for k, v in fields.items() if k != "bins"},
    )
    attribute = attribute_of("sector", describe_page.draft["columns"]["sector"])
    again = attribute_of(
        "sector", drafts.typed_from(attribute.to_json()) | {"origin": "declared"}
    )
    assert again.to_json() == attribute.to_json()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        (
            {"of": "integer", "low": "9", "high": "9"},
            "“Lowest at the widest” is not below “Highest at the widest”",
        ),
        (
            {"of": "integer", "low": "0", "high": "9.5"},
            "“Highest at the widest” is not a whole number",
        ),
        ({"of": "number", "low": "0", "high": ""}, "“Highest at the widest” is empty"),
        (
            {"of": "date", "low": "0", "high": "2030-01-01"},
            "“Lowest at the widest” is not a date",
        ),
        (
            {"of": "integer", "low": "0", "high": "9", "bins": "1"},
            "Bins is not a whole number from 2",
        ),
    ],
)
def test_ranges_that_cannot_be_are_refused(
    describe_page: DescribePage, fields: dict[str, str], rule: str
) -> None:
    assert rule in confirm(describe_page, "range", **({"bins": ""} | fields))
    assert describe_page.draft["columns"]["sector"]["confirmed"] is False


@pytest.mark.django_db
def test_a_description_with_open_columns_is_confirmed_shown_and_taken_away(
    describe_page: DescribePage,
) -> None:
    confirm(describe_page, "weak", set="words-or-pairs")
    describe_page.press(
        "confirm:1",
        edit="1",
        **{
            "1-kind": "range",
            "1-of": "integer",
            "1-widest_low": "0",
            "1-widest_high": "100000",
        },
    )
    describe_page.press("confirm-open")
    describe_page.press("finish")
    document = DomainVersion.objects.get().document
    assert [attribute.kind for attribute in Domain.from_json(document).undeclared] == [
        "weak",
        "range",
    ]
    page = describe_page.client.get(
        reverse("datasets:domain", args=[describe_page.dataset.code, 1])
    ).text
    assert "Unknown categories" in page
    assert "found with budget among 29\u202f867\u202f962\u202f152 public values" in page
    schema = describe_page.client.get(
        reverse("datasets:table-schema-file", args=[describe_page.dataset.code, 1])
    ).json()
    assert [field["type"] for field in schema["fields"]] == ["string", "integer", "boolean"]
    assert "found with budget" in line(describe_page.page(), 0)
    assert parse_attribute(document["attributes"][0]).to_json() == document["attributes"][0]
