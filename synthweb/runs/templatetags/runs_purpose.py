"""Filters for fields that name columns."""

from __future__ import annotations

from collections.abc import Sequence

from django import template
from django.forms import BoundField

from synthweb.runs import typed_columns

register = template.Library()


@register.filter
def weight_lines(field: BoundField, columns: Sequence[str]) -> list[typed_columns.PurposeLine]:
    """Every column with its weight as it was typed."""
    return typed_columns.lines(field.value(), columns)


@register.filter
def weighted(field: BoundField) -> int:
    """How many columns have a weight of their own."""
    return sum(bool(line.weight) for line in typed_columns.lines(field.value(), ()))


@register.filter
def group_lines(field: BoundField) -> list[str]:
    """The groups of columns in words."""
    return list(typed_columns.groups(field.value()))
