"""Links to pages of extras."""

from __future__ import annotations

from django import template

from synthweb.lib import extras
from synthweb.lib.extras import Entry

register = template.Library()


@register.simple_tag
def entries_of(place: str) -> list[Entry]:
    """The pages of extras that this place links."""
    return [entry for entry in extras.entries() if place in entry.places]
