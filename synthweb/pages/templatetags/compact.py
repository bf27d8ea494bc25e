"""HTML and JSON without blanks: in long tables and figures they are much of a page."""

from __future__ import annotations

import re
from typing import Any

from django import template
from django.core.serializers.json import DjangoJSONEncoder
from django.utils.html import json_script
from django.utils.safestring import SafeString, mark_safe

register = template.Library()
# Not the narrow blanks within numbers, which \s matches, too, unless it is told to know ASCII alone.
_BLANKS = re.compile(r"\s+", re.ASCII)
_BEFORE_MARKS = re.compile(r"\s+([.,:;])(?=[\s<]|$)", re.ASCII)
_BESIDE_TAGS = re.compile(r" ?([<>]) ?")


@register.filter
def without_blanks(html: SafeString) -> SafeString:
    """Rendered HTML with one blank for several, and none beside tags of cells, rows and lists. For parts in which blanks
    beside tags mean nothing: not for running text with links or emphasis, and not for scripts."""
    # The template escaped every value before; blanks alone change here.
    return mark_safe(_BESIDE_TAGS.sub(r"\1", _BLANKS.sub(" ", html)))  # noqa: S308


class _CompactEncoder(DjangoJSONEncoder):
    """JSON without blanks, and with letters as they are instead of escapes."""

    def __init__(self, **options: Any) -> None:
        options |= {"separators": (",", ":"), "ensure_ascii": False}
        super().__init__(**options)


@register.filter
def joined(html: SafeString) -> SafeString:
    """Rendered HTML without blanks before commas, colons, semicolons and full stops, which a template on several lines has
    where they come from another tag than the word before."""
    return mark_safe(_BEFORE_MARKS.sub(r"\1", html))  # noqa: S308


@register.filter
def compact_script(value: object, element_id: str) -> SafeString:
    """Like `json_script`, in as few bytes as JSON allows."""
    return json_script(value, element_id, encoder=_CompactEncoder)
