"""Lists come in pages of `limit` from `offset`, in an order that does not change under the reader's feet."""

from __future__ import annotations

from rest_framework.pagination import LimitOffsetPagination


class Pages(LimitOffsetPagination):
    """{count, next, previous, results}; 50 a page unless told, 200 at most."""

    default_limit = 50
    max_limit = 200
