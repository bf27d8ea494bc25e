"""Test data: the catalogue of what can be wrong with a table, and tables that are altered by a scenario."""

from __future__ import annotations

from typing import Any

from django.http import FileResponse, HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from synth_engine.extras.scenarios import engine as scenarios
from synth_engine.extras.scenarios.engine import Scenario
from synthweb.accounts import selectors as people
from synthweb.accounts.permissions import Need
from synthweb.api.authentication import caller
from synthweb.api.renderers import ZipRenderer
from synthweb.api.schema import refuses
from synthweb.datasets.selectors import dataset_for
from synthweb.extras.scenarios import altered, sources
from synthweb.extras.scenarios.rest.serializers import (
    NewDescribedTestDataSerializer,
    NewTestDataSerializer,
    StepKindSerializer,
)
from synthweb.extras.scenarios.sources import Source
from synthweb.releases import selectors
from synthweb.releases.downloads import attached, name_of_file


class ScenariosView(APIView):
    """Every kind of step that a scenario may have, with the JSON schema of its parameters."""

    @extend_schema(
        operation_id="scenarios_list",
        responses=StepKindSerializer(many=True),
        tags=["scenarios"],
    )
    def get(self, _request: Request) -> Response:
        return Response(StepKindSerializer(scenarios.catalogue(), many=True).data)


class TestDataView(APIView):
    """Tables of a release that are altered on purpose."""

    renderer_classes = (ZipRenderer,)
    # It spends nothing and shows nothing that reading the release does not.
    write_scope = "read"
    # Counted by `throttling` apart from other requests, because drawing takes a processor.
    makes_files = True

    @extend_schema(
        operation_id="releases_test_data",
        request=NewTestDataSerializer,
        responses={(200, ZipRenderer.media_type): OpenApiTypes.BINARY},
        tags=["releases"],
    )
    @refuses(409)
    def post(self, request: Request, code: str) -> HttpResponseBase:
        """Draw a table from the released model and alter it by a scenario: an archive of the table, a line
        for each changed cell and added row, the record and the scenario. It costs no privacy and is no
        release. 422 names the step and its column."""
        release = selectors.release_for(caller(request), code, Need.SAMPLE)
        wanted = NewTestDataSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        return _made(request, sources.of_release(release), wanted.validated_data)


class DescribedTestDataView(APIView):
    """Tables that are altered on purpose, from a description without any data."""

    renderer_classes = (ZipRenderer,)
    # It spends nothing and shows nothing that reading the description does not.
    write_scope = "read"
    makes_files = True

    @extend_schema(
        operation_id="test_data",
        request=NewDescribedTestDataSerializer,
        responses={(200, ZipRenderer.media_type): OpenApiTypes.BINARY},
        tags=["scenarios"],
    )
    @refuses(409)
    def post(self, request: Request) -> HttpResponseBase:
        """Draw a table from the confirmed description of a dataset, or from a description in the request, and
        alter it by a scenario: the same archive as from a release. No table is read and no budget is charged.
        422 names what is wrong with the description, or the step and its column."""
        user = caller(request)
        people.require(user, Need.SAMPLE)
        wanted = NewDescribedTestDataSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        data = wanted.validated_data
        if "dataset" in data:
            source = sources.of_dataset(dataset_for(user, data["dataset"], Need.SAMPLE))
        else:
            source = sources.of_document(
                data["description"], organisation=people.organisation_of(user)
            )
        return _made(request, source, data)


def _made(request: Request, source: Source, wanted: dict[str, Any]) -> HttpResponseBase:
    """The archive as a download."""
    file = altered.make(
        user=caller(request),
        source=source,
        scenario=Scenario.from_json(wanted["scenario"]),
        rows=wanted["rows"],
        seed=wanted["seed"],
        request=request._request,
    )
    response = FileResponse(file, content_type=ZipRenderer.media_type)
    return attached(response, name_of_file(source.name, what="TEST-DATA", ending="zip"))
