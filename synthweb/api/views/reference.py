"""The OpenAPI document and the page that shows it, both without network and for people who signed in."""

from __future__ import annotations

from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.authentication import SessionAuthentication


class SchemaView(SpectacularAPIView):
    """The document: YAML, or JSON on request (`Accept: application/vnd.oai.openapi+json`)."""


class ReferenceView(SpectacularSwaggerSplitView):
    """Swagger UI inside our own frame: its script comes from our own address, nothing is inline."""

    authentication_classes = [SessionAuthentication]
    template_name = "api/reference.html"
    url_name = "api:schema"
