"""Templates as text: what Django would not notice."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.conf import settings
from django.template.loader import get_template, render_to_string
from django.test import RequestFactory
from django.utils.translation.template import templatize

from synthweb.accounts.models import Role
from synthweb.accounts.selectors import Me
from tests.cast import Cast
from tests.web.html import compact

TEMPLATES = sorted((Path(settings.BASE_DIR) / "templates").rglob("*.html"))


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.parent.name + "/" + path.name)
def test_comments_end_on_their_line_and_no_script_or_style_is_inline(path: Path) -> None:
    text = path.read_text("utf-8")
    assert not [line for line in text.splitlines() if line.count("{#") != line.count("#}")]
    assert not re.search(
        r"<style\b|<script\b(?![^>]*\bsrc=)|\son\w+=[\"']|javascript:", text, re.IGNORECASE
    )


@pytest.mark.parametrize(
    ("page", "marked"),
    [("/", "Home"), ("/docs/ledger/", "Help"), ("/docs/runs/", "Help"), ("/api/v1/docs/", "Help"),
        ("/ledger/ask/x/", "Budget"), ("/datasets/x/runs/", "Datasets"), ("/runs/x/", "Releases"),
        ("/releases/x/", "Releases")],
)  # fmt: skip
def test_one_entry_of_the_menu_is_marked(
    page: str, marked: str, rf: RequestFactory, cast: Cast
) -> None:
    request = rf.get(page)
    request.user = cast.steward
    context = {
        "request": request,
        "user": cast.steward,
        "me": Me(roles=frozenset({Role.STEWARD})),
    }
    menu = compact(render_to_string("components/nav.html", context))
    assert re.findall(r'aria-current="page" href="[^"]+">(\w+)<', menu) == [marked]


@pytest.mark.parametrize(
    ("made_from", "in_force", "says"),
    [(1, 2, True), (2, 1, True), (2, 2, False), (None, 1, False)],
)
def test_a_comparison_with_another_version_of_the_table_says_so(
    made_from: int | None, in_force: int, says: bool
) -> None:
    table = made_from and SimpleNamespace(number=made_from)
    note = render_to_string(
        "releases/_earlier_table.html",
        {"table": table, "dataset": SimpleNamespace(table_number=in_force)},
    )
    assert (
        f"made from version {made_from}" in note and f"is version {in_force}" in note
    ) == says
    assert bool(note.strip()) == says


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.parent.name + "/" + path.name)
def test_a_template_compiles_and_its_texts_can_be_extracted(path: Path) -> None:
    get_template(str(path.relative_to(Path(settings.BASE_DIR) / "templates")))
    templatize(path.read_text("utf-8"), origin=path.name)  # what makemessages reads
