"""What OPTIONS answers: the methods are in the `Allow` header, everything else is in the OpenAPI document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rest_framework.metadata import BaseMetadata

if TYPE_CHECKING:
    from rest_framework.request import Request
    from rest_framework.views import APIView  # whose module loads this one, by the settings


class NameAlone(BaseMetadata):
    """The title of an address. The framework's own metadata fetches the object to list the fields of its
    forms, which fails for views that do not serve a form."""

    # The library's
    def determine_metadata(self, request: Request, view: APIView) -> dict[str, object]:  # noqa: ARG002
        return {"name": view.get_view_name(), "description": view.get_view_description()}
