"""The options of a choice, rendered once for all the lines of a page that offer the same."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

register = template.Library()
SELECTED = mark_safe(" selected")  # a constant


@register.simple_tag
def options(choices: Mapping[str, str], chosen: object) -> SafeString:
    """`<option>`s for value → label, the chosen one marked."""
    return _rendered(tuple(choices.items()), str(chosen))


@lru_cache(maxsize=256)
def _rendered(choices: tuple[tuple[str, str], ...], chosen: str) -> SafeString:
    each = ((value, SELECTED if value == chosen else "", label) for value, label in choices)
    return format_html("{}", format_html_join("", '<option value="{}"{}>{}</option>', each))
