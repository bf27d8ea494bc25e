"""The caller, and the mechanisms there are."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from synth_engine import mechanisms
from synthweb.accounts import selectors
from synthweb.accounts.models import ApiToken
from synthweb.api.authentication import caller
from synthweb.api.serializers.people import MechanismSerializer, MeSerializer


class MeView(APIView):
    """Who this token or session is."""

    @extend_schema(operation_id="me", responses=MeSerializer, tags=["me"])
    def get(self, request: Request) -> Response:
        me = selectors.me(caller(request))
        return Response(
            MeSerializer(
                {
                    "username": caller(request).get_username(),
                    "organisation": me.organisation_name,
                    "roles": sorted(me.roles),
                    "scopes": request.auth.scopes
                    if isinstance(request.auth, ApiToken)
                    else None,
                }
            ).data
        )


class MechanismsView(APIView):
    """Every mechanism with the JSON schema of its public parameters."""

    @extend_schema(
        operation_id="mechanisms_list",
        responses=MechanismSerializer(many=True),
        tags=["mechanisms"],
    )
    def get(self, _request: Request) -> Response:
        return Response(MechanismSerializer(mechanisms.describe(), many=True).data)
