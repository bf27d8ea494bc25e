"""Lists come in pages of `limit` from `offset`, in an order that does not change under the reader's feet."""

from __future__ import annotations

from typing import Any

from rest_framework.exceptions import ValidationError
from rest_framework.pagination import LimitOffsetPagination
from rest_framework.request import Request

LIMIT, OFFSET = "limit", "offset"
# Databases take offsets of 64 bits; a larger one would be an error of theirs, a 500.
FARTHEST = 10**9


class Pages(LimitOffsetPagination):
    """{count, next, previous, results}; 50 a page unless told, 200 at most. A limit or an offset that is none
    is an error, not the first page."""

    default_limit = 50
    max_limit = 200
    limit_query_param, offset_query_param = LIMIT, OFFSET

    def get_limit(self, request: Request) -> int:
        return min(
            number_of(request, LIMIT, least=1, otherwise=self.default_limit), self.max_limit
        )

    def get_offset(self, request: Request) -> int:
        return number_of(request, OFFSET, least=0, otherwise=0)

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, object]]:
        parameters: list[dict[str, Any]] = super().get_schema_operation_parameters(view)
        bounds = {
            LIMIT: {"minimum": 1, "maximum": FARTHEST},
            OFFSET: {"minimum": 0, "maximum": FARTHEST},
        }
        for parameter in parameters:
            parameter["schema"] |= bounds[parameter["name"]]
        return parameters


def number_of(request: Request, name: str, *, least: int, otherwise: int) -> int:
    """The whole number that a parameter gives. Errors: ValidationError."""
    text = request.query_params.get(name)
    if text is None:
        return otherwise
    # int() would also take signs, blanks, underscores and digits of other scripts.
    if not (
        text.isascii()
        and text.isdecimal()
        and len(text) <= 10
        and least <= int(text) <= FARTHEST
    ):
        raise ValidationError({name: f"A whole number from {least} to {FARTHEST}."})
    return int(text)
