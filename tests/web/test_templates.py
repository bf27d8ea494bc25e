"""Templates as text: what Django would not notice."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings

TEMPLATES = sorted((Path(settings.BASE_DIR) / "templates").rglob("*.html"))


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.parent.name + "/" + path.name)
def test_comments_end_on_their_line_and_no_script_or_style_is_inline(path: Path) -> None:
    text = path.read_text("utf-8")
    assert not [line for line in text.splitlines() if line.count("{#") != line.count("#}")]
    assert not re.search(r"<style\b|<script\b(?![^>]*\bsrc=)|\son\w+=[\"']|javascript:", text, re.IGNORECASE)
