"""The caller, how people of the organisation sign in, and the mechanisms there are."""

from __future__ import annotations

import base64
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from synth_engine import mechanisms
from synthweb.accounts import appearance, selectors, services
from synthweb.accounts.models import ApiToken, Organisation
from synthweb.api.authentication import caller, require_recent_sign_in
from synthweb.api.idempotency import idempotent
from synthweb.api.serializers.people import (
    AppearanceSerializer,
    MechanismSerializer,
    MeSerializer,
    SecondFactorSerializer,
)


class MeView(APIView):
    """Who this token or session is."""

    @extend_schema(operation_id="me", responses=MeSerializer, tags=["me"])
    def get(self, request: Request) -> Response:
        me = selectors.me(caller(request))
        token = request.auth if isinstance(request.auth, ApiToken) else None
        return Response(
            MeSerializer(
                {
                    "username": caller(request).get_username(),
                    "organisation": me.organisation_name,
                    "roles": sorted(me.roles),
                    "scopes": token and token.scopes,
                    "token_ends_at": token and selectors.token_ends(token),
                }
            ).data
        )


class SecondFactorView(APIView):
    """Whether everybody of the organisation needs a second factor, for those who manage people."""

    write_scope = "people"

    @extend_schema(
        operation_id="second_factor", responses=SecondFactorSerializer, tags=["people"]
    )
    def get(self, request: Request) -> Response:
        """Whether everybody needs a second factor, and who signs in by a password alone."""
        return Response(_second_factor(selectors.managed_organisation(caller(request))))

    @extend_schema(
        operation_id="second_factor_set",
        request=SecondFactorSerializer,
        responses=SecondFactorSerializer,
        tags=["people"],
    )
    @idempotent
    def put(self, request: Request) -> Response:
        """Say whether everybody needs a second factor. Whoever has none gets to no page before it is set up,
        from their next request on; API tokens go on working."""
        organisation = selectors.managed_organisation(caller(request))
        require_recent_sign_in(request)
        wanted = SecondFactorSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        services.require_second_factor(
            actor=caller(request), organisation=organisation, **wanted.validated_data
        )
        organisation.refresh_from_db()
        return Response(_second_factor(organisation))


class OrganisationView(APIView):
    """How the organisation appears, for those who manage people."""

    write_scope = "people"

    @extend_schema(operation_id="organisation", responses=AppearanceSerializer, tags=["people"])
    def get(self, request: Request) -> Response:
        """The language of its pages, whom to ask about its releases, and its logo."""
        return Response(_organisation(selectors.managed_organisation(caller(request))))

    @extend_schema(
        operation_id="organisation_set",
        request=AppearanceSerializer,
        responses=AppearanceSerializer,
        tags=["people"],
    )
    @idempotent
    def put(self, request: Request) -> Response:
        """Replace all three. People see another language from their next sign-in on."""
        organisation = selectors.managed_organisation(caller(request))
        require_recent_sign_in(request)
        wanted = AppearanceSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        appearance.say(
            actor=caller(request),
            organisation=organisation,
            appearance=appearance.Appearance(**wanted.validated_data),
        )
        return Response(_organisation(organisation))


class MechanismsView(APIView):
    """Every mechanism with the JSON schema of its public parameters."""

    @extend_schema(
        operation_id="mechanisms_list",
        responses=MechanismSerializer(many=True),
        tags=["mechanisms"],
    )
    def get(self, _request: Request) -> Response:
        return Response(MechanismSerializer(mechanisms.describe(), many=True).data)


def _second_factor(organisation: Organisation) -> dict[str, Any]:
    without = selectors.without_second_factor(organisation)
    return dict(
        SecondFactorSerializer(
            {
                "required": organisation.second_factor_required,
                "without": [person.username for person in without],
            }
        ).data
    )


def _organisation(organisation: Organisation) -> dict[str, Any]:
    shown = appearance.of(organisation)
    return {
        "name": organisation.name,
        "language": shown.language,
        "contact": shown.contact,
        "logo": base64.b64encode(shown.logo).decode(),
    }
