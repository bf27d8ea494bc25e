"""What cannot be described is said at the input that it is about, in the words of its label, all at once."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.test import Client

from synthweb.datasets import services
from synthweb.datasets.models import DomainVersion
from synthweb.runs.models import SynthesisRun
from tests.cast import Cast
from tests.web.desk import Desk, ready

pytestmark = pytest.mark.django_db
LARGE = "1" + "0" * 300
BAD = [
    (
        {"of": "integer", "widest_low": "9", "widest_high": "1"},
        {"widest_low": "“Lowest” is not below “Highest”"},
    ),
    (
        {"of": "date", "widest_low": "2024-01-02", "widest_high": "2023-01-01"},
        {"widest_low": "“Lowest” is not below “Highest”"},
    ),
    (
        {"of": "integer", "widest_low": "0", "widest_high": "10", "step": "3"},
        {"step": "The step does not divide"},
    ),
    (
        {"of": "integer", "widest_low": "0", "widest_high": LARGE},
        {"widest_high": "“Highest” is not a whole number of at most 18 digits"},
    ),
    (
        {"of": "number", "widest_low": "0", "widest_high": LARGE},
        {"widest_high": "A bound is too large"},
    ),
    (
        {"of": "number", "widest_low": "0", "widest_high": "1e300"},
        {"widest_high": "A bound is too large"},
    ),
    ({"of": "date", "day_format": "%m/%Y"}, {"day_format": "does not tell every day apart"}),
    (
        {"of": "integer", "widest_low": "0", "widest_high": "1000", "missing": "999"},
        {"missing": "A missing marker lies between “Lowest” and “Highest”"},
    ),
    (
        {"of": "integer", "widest_low": "a", "widest_high": "b", "step": "c"},
        {
            "widest_low": "“Lowest” is not a whole number",
            "widest_high": "“Highest” is not a whole number",
            "step": "“Smallest step” is not a whole number",
        },
    ),
]


@pytest.fixture
def desk(cast: Cast, browser: Callable[..., Client]) -> Desk:
    return Desk(browser(cast.steward), ready(cast))


@pytest.mark.parametrize(("fields", "told"), BAD)
def test_what_cannot_be_is_said_at_its_input(
    desk: Desk, fields: dict[str, str], told: dict[str, str]
) -> None:
    typed = {f"_1_{key}": text for key, text in fields.items()}
    desk.press("kind:1", edit="1", **{"_1_kind": "scale", **typed})
    answer = desk.press("confirm:1", edit="1", in_place=True, **{"_1_kind": "scale", **typed})
    errors = dict(
        re.findall(r'id="1-(\w+)-error" role="alert"[^>]*>\s*([^<]+?)\s*<', answer.text)
    )
    assert set(errors) == set(told)
    assert all(words in errors[key] for key, words in told.items())
    assert not desk.draft["columns"]["age"]["confirmed"]
    assert not DomainVersion.objects.exists()
    assert not SynthesisRun.objects.exists()


def test_all_that_is_wrong_in_all_columns_is_listed_when_the_description_is_confirmed(
    desk: Desk,
) -> None:
    wrong = {"_0_kind": "integer", "_0_low": "x", "_0_high": "y"}
    desk.press("kind:0", edit="0", **wrong)
    desk.press("confirm:0", edit="0", **wrong)
    desk.press("confirm:1", edit="1", _1_low="z", _1_high="many")
    page = desk.press("finish").text
    listed = page.partition("Not complete yet")[2].partition("</section>")[0]
    assert listed.count("is not a whole number") == 4


def test_a_computed_column_of_one_that_is_left_out_is_refused(desk: Desk, cast: Cast) -> None:
    desk.press("confirm-open")
    draft = desk.draft
    draft["columns"]["works"] |= {
        "kind": "derived",
        "fields": {"function": "sum", "sources": "age, id"},
        "origin": "declared",
    }
    services.save_draft(actor=cast.steward, dataset=desk.dataset, draft=draft)
    answer = desk.press("finish")
    assert answer.status_code == 422
    listed = answer.text.partition("Not complete yet")[2].partition("</section>")[0]
    assert "works" in listed
    assert not DomainVersion.objects.exists()
