"""Runs: submit (202), follow, cancel."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.mixins import ListModelMixin
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from synth_engine.spec import Spec
from synthweb.accounts.permissions import Need
from synthweb.accounts.selectors import require
from synthweb.api import filters
from synthweb.api.authentication import caller, require_recent_sign_in
from synthweb.api.filters import Filtered
from synthweb.api.idempotency import idempotent, key_of
from synthweb.api.serializers.runs import EventSerializer, NewRunSerializer, RunSerializer
from synthweb.datasets.selectors import dataset_for
from synthweb.runs import public_tables, selectors, services
from synthweb.runs.models import RunEvent, SynthesisRun
from synthweb.runs.planning import PublicFacts, ReleaseRequest

ACCEPTED = OpenApiResponse(
    RunSerializer, description="The price is held. Follow `Location` until it is finished."
)


class RunViewSet(Filtered, ListModelMixin, GenericViewSet[SynthesisRun]):
    """Requested syntheses, for stewards and auditors."""

    queryset = SynthesisRun.objects.none()
    query = filters.RunQuery
    serializer_class = RunSerializer
    lookup_field = "code"

    def get_queryset(self) -> Any:
        return selectors.runs_for(caller(self.request))

    @extend_schema(responses=RunSerializer)
    def retrieve(self, request: Request, code: str) -> Response:
        """State, stage and price of one run."""
        return Response(self.get_serializer(selectors.run_for(caller(request), code)).data)

    @extend_schema(request=NewRunSerializer, responses={202: ACCEPTED})
    @idempotent
    def create(self, request: Request) -> Response:
        """Ask for a release. Holds its price at once; 409 if the budget has less left. A public table that is
        deleted, is the table to be protected, or shares no column is refused (422)."""
        require(caller(request), Need.SPEND)
        require_recent_sign_in(request)
        serializer = NewRunSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        dataset, name, prior, spec = serializer.parts
        described = dataset_for(caller(request), dataset, Need.SPEND)
        facts = PublicFacts(
            rows=serializer.validated_data.get("records"),
            table=public_tables.resolve(caller(request), prior),
            criteria=serializer.criteria_for(described),
            earmark=serializer.validated_data["earmark"],
        )
        run = services.submit(
            ReleaseRequest(dataset=described, spec=Spec.from_json(spec), facts=facts),
            steward=caller(request),
            name=name,
            # Stored with the run as well: answers are swept after a while, and a request that
            # comes again even later must not become a second run.
            request_key=key_of(request),
        )
        body = self.get_serializer(run).data
        return Response(
            body, status=HTTPStatus.ACCEPTED, headers={"Location": str(body["url"])}
        )

    @extend_schema(request=None, responses=RunSerializer)
    @idempotent
    def cancel(self, request: Request, code: str) -> Response:
        """Stop a run. Before the charge nothing is spent; after it the charge stays and the result is given
        up."""
        run = services.cancel(
            actor=caller(request), run=selectors.run_for(caller(request), code, act=True)
        )
        return Response(self.get_serializer(run).data)

    @extend_schema(request=None, responses=RunSerializer)
    @idempotent
    def resume(self, request: Request, code: str) -> Response:
        """Fit again from the stored noisy answers of a run that failed after its measurement; costs
        nothing."""
        run = services.resume(
            actor=caller(request), run=selectors.run_for(caller(request), code, act=True)
        )
        return Response(self.get_serializer(run).data)


class LogViewSet(Filtered, ListModelMixin, GenericViewSet[RunEvent]):
    """What happened in a run, stage by stage: our own words, never data."""

    queryset = RunEvent.objects.none()
    query = filters.EventQuery
    serializer_class = EventSerializer

    def get_queryset(self) -> Any:
        return RunEvent.objects.filter(
            run=selectors.run_for(caller(self.request), self.kwargs["code"])
        )
