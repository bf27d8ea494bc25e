"""Texts that are made up, declared on the describe page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from synth_engine.domain import Domain, Text
from synthweb.datasets import draft as drafts
from synthweb.datasets.draft_to_attribute import attribute_of
from synthweb.datasets.models import DomainVersion
from tests.cast import Cast
from tests.web.describe_page import DescribePage, line, ready


@pytest.fixture
def describe_page(
    browser: Callable[..., Client], cast: Cast, settings: Settings, tmp_path: Path
) -> DescribePage:
    settings.VAULT_DIR, settings.PREVIEW_DIR = tmp_path / "vault", tmp_path / "previews"
    suggestions = [{"name": "remark", "kind": "identifier", "why": "All different."}]
    return DescribePage(browser(cast.steward), ready(cast, suggestions))


def test_a_column_becomes_text_with_lengths_and_kinds_of_signs(
    describe_page: DescribePage,
) -> None:
    answer = describe_page.press("kind:0", edit="0", in_place=True, _0_kind="text")
    for field in ("max_length", "lower", "blanks", "leading", "pattern", "missing", "outside"):
        assert f'name="0-{field}"' in answer.text
    describe_page.press(
        "confirm:0",
        edit="0",
        _0_kind="text",
        _0_max_length="80",
        _0_lower="on",
        _0_blanks="on",
        _0_missing_empty="on",
    )
    assert "made up, 1 to 80 signs: lower, blanks" in line(describe_page.page(), 0)
    describe_page.press("finish")
    (attribute,) = Domain.from_json(DomainVersion.objects.get().document).attributes
    assert attribute == Text(
        name="remark", max_length=80, signs=("lower", "blanks"), missing=("",)
    )


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ({"_0_max_length": "80"}, "No kind of sign is ticked"),
        ({"_0_lower": "on"}, "“Longest” is empty"),
        ({"_0_lower": "on", "_0_pattern": "##"}, "Both a pattern and lengths"),
        ({"_0_lower": "on", "_0_max_length": "9", "_0_min_length": "10"}, "out of order"),
    ],
)
def test_what_cannot_be_is_said_in_the_form(
    describe_page: DescribePage, typed: dict[str, str], says: str
) -> None:
    describe_page.press("kind:0", edit="0", _0_kind="text")
    assert (
        says
        in describe_page.press(
            "confirm:0", edit="0", in_place=True, _0_kind="text", **typed
        ).text
    )
    assert not drafts.confirmed_names(describe_page.draft)


@pytest.mark.parametrize(
    "attribute",
    [
        Text(
            name="x",
            max_length=9,
            min_length=2,
            signs=("upper", "punctuation"),
            leading=True,
            missing=("", "?"),
        ),
        Text(name="x", max_length=9, min_length=0, signs=("digits",), outside="clamp"),
        Text(name="x", pattern="@@-##", missing=("-",)),
    ],
)
def test_what_is_typed_and_what_is_described_are_the_same(attribute: Text) -> None:
    assert attribute_of("x", drafts.column_of(attribute, place=0)) == attribute
