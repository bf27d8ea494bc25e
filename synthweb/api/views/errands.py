"""The answer 202 to who asks for something that a worker derives from a release, once."""

from __future__ import annotations

from http import HTTPStatus

from drf_spectacular.utils import OpenApiResponse
from rest_framework.request import Request
from rest_framework.response import Response

from synthweb.api.serializers.errands import ReleaseErrandSerializer
from synthweb.runs.models import ReleaseErrand

COME_BACK = 2  # seconds


def derived_later(what: str) -> OpenApiResponse:
    """The reference of `come_back`. what: one sentence on what a worker does."""
    return OpenApiResponse(
        ReleaseErrandSerializer,
        description=f"{what} Ask `Location`, which is this address, again after `Retry-After` seconds.",
    )


def come_back(request: Request, errand: ReleaseErrand) -> Response:
    """202: how far the errand is, and when to ask this address again."""
    return Response(
        ReleaseErrandSerializer(errand).data,
        status=HTTPStatus.ACCEPTED,
        headers={"Location": request.build_absolute_uri(), "Retry-After": str(COME_BACK)},
    )
