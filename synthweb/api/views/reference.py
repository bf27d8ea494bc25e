"""The OpenAPI document and the page that shows it, both without network and for people who signed in."""

from __future__ import annotations

from functools import cache

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.views import SpectacularAPIView

from synthweb.api import reference


class SchemaView(SpectacularAPIView):
    """The document: YAML, or JSON on request (`Accept: application/vnd.oai.openapi+json`)."""


@gzip_page  # the same for everybody
@require_safe
@login_required
def page(request: HttpRequest) -> HttpResponse:
    """The document as a page that needs no script."""
    return render(request, "api/reference.html", {"reference": _reference()})


@cache
def _reference() -> reference.Reference:
    """The same for everybody, made once a process: it takes longer than a page may."""
    document = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return reference.arranged(document)
