"""Forecasts: what a release asked for like a run would tell, before it is asked for."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from synth_engine.spec import Spec
from synthweb.accounts.permissions import Need
from synthweb.accounts.selectors import require
from synthweb.api.authentication import caller
from synthweb.api.schema import refuses
from synthweb.api.serializers.runs import ForecastSerializer, NewRunSerializer
from synthweb.datasets.selectors import dataset_for
from synthweb.runs import forecast, public_tables
from synthweb.runs.planning import PublicFacts, ReleaseRequest


class ForecastView(APIView):
    """What a release would tell."""

    # It spends nothing and follows from public facts alone.
    write_scope = "read"

    @extend_schema(
        operation_id="forecast",
        request=NewRunSerializer,
        responses=ForecastSerializer,
        tags=["runs"],
    )
    @refuses(409, 422)
    def post(self, request: Request) -> Response:
        """What a release that is asked for like this would tell, in words, and what would do where that is
        little. Nothing is held or spent; the table is not opened."""
        require(caller(request), Need.SPEND)
        serializer = NewRunSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        dataset, _name, prior, spec = serializer.parts
        described = dataset_for(caller(request), dataset, Need.SPEND)
        facts = PublicFacts(
            rows=serializer.validated_data.get("records"),
            table=public_tables.resolve(caller(request), prior),
            criteria=serializer.criteria_for(described),
            earmark=serializer.validated_data["earmark"],
        )
        asked = ReleaseRequest(dataset=described, spec=Spec.from_json(spec), facts=facts)
        return Response(forecast.of_proposal(asked.propose()).to_json())
