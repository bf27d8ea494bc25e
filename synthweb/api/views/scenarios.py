"""Test data: the catalogue of what can be wrong with a table, and tables that are altered by a scenario."""

from __future__ import annotations

from django.http import FileResponse, HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from synth_engine import scenarios
from synth_engine.scenarios import Scenario
from synthweb.accounts.permissions import Need
from synthweb.api.authentication import caller
from synthweb.api.renderers import ZipRenderer
from synthweb.api.schema import refuses
from synthweb.api.serializers.scenarios import NewTestDataSerializer, StepKindSerializer
from synthweb.releases import altered, selectors
from synthweb.releases.downloads import attached, file_name


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
        """Draw a table from the released model and alter it by a scenario: an archive of the table, a line for each changed cell and
        added row, the record and the scenario. It costs no privacy and is no release. 422 names the step and its column."""
        release = selectors.release_for(caller(request), code, Need.SAMPLE)
        wanted = NewTestDataSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        file = altered.make(
            user=caller(request),
            release=release,
            scenario=Scenario.from_json(wanted.validated_data["scenario"]),
            rows=wanted.validated_data["rows"],
            seed=wanted.validated_data["seed"],
            request=request._request,
        )
        response = FileResponse(file, content_type=ZipRenderer.media_type)
        return attached(response, file_name(release, what="TEST-DATA", ending="zip"))
