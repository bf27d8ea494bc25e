"""Regressions of a release, with intervals that include the noise of privacy."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from synth_engine.evaluation.fits import KINDS
from synthweb.accounts.permissions import Need
from synthweb.api.authentication import caller
from synthweb.api.schema import refuses
from synthweb.api.serializers.fits import FitSerializer
from synthweb.api.views.marginals import GATHERED_LATER, counts_in_progress
from synthweb.releases import fits, marginals, selectors

OUTCOME = OpenApiParameter(
    "outcome", str, required=True, description="The column that is explained."
)
REGRESSORS = OpenApiParameter(
    "regressors",
    str,
    many=True,
    explode=True,
    required=True,
    description="The columns that explain it, up to eight: names parted by commas, or the parameter "
    "repeated.",
)
KIND = OpenApiParameter(
    "kind", str, enum=KINDS, description=f"Least squares or a logit; {KINDS[0]} unless given."
)


class FitView(APIView):
    """Regressions of a release, from its noisy answers."""

    @extend_schema(
        operation_id="releases_fit",
        parameters=[OUTCOME, REGRESSORS, KIND],
        responses={200: FitSerializer, 202: GATHERED_LATER},
        tags=["releases"],
    )
    @refuses(409, 422)
    def get(self, request: Request, code: str) -> Response:
        """A regression of one column on others: each coefficient with 95 % intervals that include the noise
        of privacy. It costs no budget. Least squares is offered where answers count all pairs of the columns,
        a logit where they count the joint table; 422 says why a fit is not offered, and what to change."""
        release = selectors.release_for(caller(request), code, Need.SAMPLE)
        unknown = sorted(set(request.query_params) - {"outcome", "regressors", "kind"})
        if unknown:
            raise ValidationError({unknown[0]: "There is no such parameter."})
        wanted = fits.request_of(
            release,
            outcome=request.query_params.get("outcome", ""),
            regressors=request.query_params.getlist("regressors"),
            kind=request.query_params.get("kind", KINDS[0]),
        )
        try:
            regression = fits.answer(release, wanted, person=caller(request).pk)
        except marginals.NotGathered:
            return counts_in_progress(request, release)
        return Response(FitSerializer(regression).data)
