"""Codes that requests name: no text that a database cannot look for reaches it."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from synthweb.lib import codes
from tests.cast import Cast
from tests.web.describe_page import DescribePage, ready

NO_CODES = ("", "a\0b", "\0" * codes.LENGTH, "abcdefghj", "abcdefghjkm", "ABCDEFGHJK", "\ud800")


def test_a_new_code_is_read_as_itself() -> None:
    code = codes.new()
    assert codes.of_text(code) == code


@pytest.mark.parametrize("text", NO_CODES)
def test_another_text_is_no_code(text: str) -> None:
    assert codes.of_text(text) == ""


@pytest.mark.usefixtures("places")
def test_a_template_or_reference_of_no_code_is_not_chosen(cast: Cast) -> None:
    client = Client()
    client.force_login(cast.steward)
    describe_page = DescribePage(client, ready(cast))
    for page, name in (
        ("datasets:apply-template", "template"),
        ("references:use", "reference"),
    ):
        address = reverse(page, args=[describe_page.dataset.code])
        answer = client.post(address, {name: "a\0b", "column": "sector"}, follow=True)
        assert answer.status_code < 500
        assert "chosen" in answer.text
