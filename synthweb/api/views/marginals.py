"""Any table of counts of a release with intervals."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from synth_engine.evaluation.marginals import LEVEL
from synthweb.accounts.permissions import Need
from synthweb.api.authentication import caller
from synthweb.api.pagination import LIMIT, OFFSET, number_of
from synthweb.api.schema import refuses
from synthweb.api.serializers.marginals import MarginalSerializer
from synthweb.api.views.release_jobs import come_back, derived_later
from synthweb.lib.errors import Conflict
from synthweb.releases import marginals, selectors
from synthweb.releases.models import Release
from synthweb.runs import selectors as run_selectors
from synthweb.runs import services as run_services
from synthweb.runs.models import CountsJob

CELLS, MOST_CELLS = 1_000, 10_000
COLUMNS = OpenApiParameter(
    "columns",
    str,
    many=True,
    explode=True,
    description="The columns whose cells are listed, up to eight: names parted by commas, or the parameter "
    "repeated.",
)
WHERE = OpenApiParameter(
    "where",
    str,
    many=True,
    explode=True,
    description="A condition, repeated for several that all hold: column=value, column=value|value, or "
    "column=first..last.",
)
GATHERED_LATER = derived_later("A worker gathers the noisy answers, once a release.")
PAGES = [
    OpenApiParameter(
        LIMIT, int, description=f"Cells; {CELLS} unless given, {MOST_CELLS} at most."
    ),
    OpenApiParameter(OFFSET, int, description="The place of the first cell, from 0."),
]


class MarginalsView(APIView):
    """Tables of counts of a release, from its noisy answers and its model."""

    @extend_schema(
        operation_id="releases_marginals",
        parameters=[COLUMNS, WHERE, *PAGES],
        responses={
            200: MarginalSerializer,
            202: GATHERED_LATER,
        },
        tags=["releases"],
    )
    @refuses(409, 422)
    def get(self, request: Request, code: str) -> Response:
        """A table of counts of up to eight columns, with filters: a value and a 95 % interval in each cell,
        and whether answers count it or it is the model's alone. It costs no budget. 422 says what cannot be,
        with the number of cells and what to change where there are too many."""
        release = selectors.release_for(caller(request), code, Need.SAMPLE)
        unknown = sorted(set(request.query_params) - {"columns", "where", LIMIT, OFFSET})
        if unknown:
            raise ValidationError({unknown[0]: "There is no such parameter."})
        limit = min(number_of(request, LIMIT, least=1, otherwise=CELLS), MOST_CELLS)
        offset = number_of(request, OFFSET, least=0, otherwise=0)
        query = marginals.query_of(
            release,
            request.query_params.getlist("columns"),
            request.query_params.getlist("where"),
        )
        try:
            table = marginals.answer(
                release, query, person=caller(request).pk, first=offset, most=limit
            )
        except marginals.NotGathered:
            return counts_in_progress(request, release)
        document = {
            "columns": table.columns,
            "level": LEVEL,
            "count": table.number,
            "measured": table.measured,
            "offset": offset,
            "cells": table.cells,
        }
        return Response(MarginalSerializer(document).data)


def counts_in_progress(request: Request, release: Release) -> Response:
    """202: a worker is asked to gather the answers; 409 if it failed on them."""
    job = run_selectors.latest_of_release(CountsJob, release)
    if job is not None and job.state == CountsJob.State.FAILED:
        raise Conflict(
            "The noisy answers of this release could not be gathered",
            repair="ask for them again under Quality, Counts of the release",
        )
    return come_back(request, run_services.request_counts(release=release))
