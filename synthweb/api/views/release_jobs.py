"""The answer 202 to who asks for something that a worker derives from a release, once."""

from __future__ import annotations

from http import HTTPStatus

from drf_spectacular.utils import OpenApiResponse
from rest_framework.request import Request
from rest_framework.response import Response

from synthweb.api.serializers.release_jobs import ReleaseJobSerializer
from synthweb.runs.models import ReleaseJob

COME_BACK = 2  # seconds


def derived_later(what: str) -> OpenApiResponse:
    """The reference of `come_back`. what: one sentence on what a worker does."""
    return OpenApiResponse(
        ReleaseJobSerializer,
        description=f"{what} Ask `Location`, which is this address, again after `Retry-After` seconds.",
    )


def come_back(request: Request, job: ReleaseJob) -> Response:
    """202: how far the job is, and when to ask this address again."""
    return Response(
        ReleaseJobSerializer(job).data,
        status=HTTPStatus.ACCEPTED,
        headers={"Location": request.build_absolute_uri(), "Retry-After": str(COME_BACK)},
    )
