"""Links of tables of two organisations: propose, accept, start, withdraw, and what came of them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.http import FileResponse, Http404
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from synthweb.accounts import selectors as people
from synthweb.accounts.permissions import Need
from synthweb.api.authentication import caller, require_recent_sign_in
from synthweb.api.idempotency import OnceOnly, idempotent
from synthweb.api.renderers import ZipRenderer
from synthweb.api.schema import refuses
from synthweb.api.serializers.links import (
    AcceptanceSerializer,
    AcceptedSerializer,
    GivenReleaseSerializer,
    InvitationSerializer,
    InvitedSerializer,
    LinkSerializer,
    NewLinkSerializer,
    OfferedAgreementSerializer,
    ProposedLinkSerializer,
    StartSerializer,
)
from synthweb.datasets.selectors import dataset_for
from synthweb.ledger.protection import Protection
from synthweb.releases.downloads import attached
from synthweb.releases.slots import Slot
from synthweb.runs import joined_tables, link_services, linking
from synthweb.runs.linking import LinkTerms, SeenLink, SideOffer
from synthweb.runs.models import Link


class LinksView(APIView):
    """The links of an organisation."""

    write_scope = "spend"

    @extend_schema(
        operation_id="links_list", responses=LinkSerializer(many=True), tags=["links"]
    )
    def get(self, request: Request) -> Response:
        """Every link with a side of your organisation, newest first."""
        links = linking.links_for(caller(request)).defer(None)
        organisation = people.organisation_of(caller(request))
        seen = [linking.seen_by(link, organisation) for link in links]
        return Response(LinkSerializer(seen, many=True).data)

    @extend_schema(
        operation_id="links_propose",
        request=NewLinkSerializer,
        responses={201: ProposedLinkSerializer},
        tags=["links"],
    )
    @refuses(409, 422)
    @idempotent
    def post(self, request: Request) -> Response:
        """Propose a link of a dataset with a table of another organisation. Nothing is held. The answer has
        the invitation, once, which you send to its steward; the answer to a repeated request has none."""
        people.require(caller(request), Need.SPEND)
        asked = NewLinkSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        data = asked.validated_data
        link, token = link_services.propose(
            steward=caller(request),
            offer=_offer(request, data),
            terms=LinkTerms(
                name=data["name"],
                epsilon=data["epsilon"],
                other_epsilon=data["other_epsilon"],
                rows=data["rows"],
                typos=data["typos"],
                functions=data["functions"],
            ),
        )
        seen = linking.link_for(caller(request), link.code)
        body = ProposedLinkSerializer(seen, context={"invitation": token}).data
        # Of an invitation the database has the digest alone (ADR 92), also in what it keeps for a repeated
        # request.
        return OnceOnly(body, repeated=body | {"invitation": ""}, status=HTTPStatus.CREATED)


class InvitationView(APIView):
    """What an invitation is for."""

    write_scope = "spend"

    @extend_schema(
        operation_id="links_invitation",
        request=InvitationSerializer,
        responses=InvitedSerializer,
        tags=["links"],
    )
    def post(self, request: Request) -> Response:
        """What another organisation proposes; 404 for an invitation that opens no link."""
        people.require(caller(request), Need.SPEND)
        asked = InvitationSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        link, left = link_services.invited(
            user=caller(request), token=asked.validated_data["invitation"]
        )
        known = {each.name: each for each in linking.linkable(left.dataset)}
        body = {
            "name": link.name,
            "organisation": left.dataset.organisation.name,
            "protects": Protection.of_version(left.domain_version).sentence(),
            "texts": left.texts,
            "columns": [known[name].to_json() for name in left.columns if name in known],
            "epsilon": left.epsilon,
            "your_epsilon": link.invited_epsilon,
            "rows": link.rows,
            "typos": link.typos,
        }
        return Response(InvitedSerializer(body).data)


class OfferedAgreementView(APIView):
    """The agreement that an acceptance would make."""

    write_scope = "spend"

    @extend_schema(
        operation_id="links_agreement",
        request=AcceptanceSerializer,
        responses=OfferedAgreementSerializer,
        tags=["links"],
    )
    @refuses(409, 422)
    def post(self, request: Request) -> Response:
        """The agreement of a proposed link with a dataset of yours, and its price; nothing is kept. 422 for
        sides that cannot be linked, by name."""
        people.require(caller(request), Need.SPEND)
        asked = AcceptanceSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        link, _left = link_services.invited(
            user=caller(request), token=asked.validated_data["invitation"]
        )
        agreed, proposal = linking.preview(
            link, _offer(request, asked.validated_data), steward=caller(request)
        )
        body = {
            "agreement_sha256": agreed.digest,
            "agreement": agreed.to_json(),
            "price": proposal.price,
            "expected_error": agreed.expected_error[1],
        }
        return Response(OfferedAgreementSerializer(body).data)


class AcceptLinkView(APIView):
    """The acceptance of a link."""

    write_scope = "spend"

    @extend_schema(
        operation_id="links_accept",
        request=AcceptedSerializer,
        responses={201: LinkSerializer},
        tags=["links"],
    )
    @refuses(409, 422)
    @idempotent
    def post(self, request: Request) -> Response:
        """Accept a proposed link with a dataset of yours. Nothing is held before the other side starts it;
        then your price is. 409 if the agreement is another one than you have read."""
        people.require(caller(request), Need.SPEND)
        require_recent_sign_in(request)
        asked = AcceptedSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        data = asked.validated_data
        link = link_services.accept(
            steward=caller(request),
            token=data["invitation"],
            offer=_offer(request, data),
            agreement=data["agreement_sha256"],
        )
        return Response(_body(request, link), status=HTTPStatus.CREATED)


class LinkView(APIView):
    """One link."""

    @extend_schema(operation_id="links_retrieve", responses=LinkSerializer, tags=["links"])
    def get(self, request: Request, code: str) -> Response:
        """A link as your organisation sees it: its agreement, where it stands, and the estimate."""
        return Response(LinkSerializer(linking.link_for(caller(request), code)).data)


class LinkInvitationView(APIView):
    """Another invitation to a link."""

    write_scope = "spend"

    @extend_schema(
        operation_id="links_invite",
        request=None,
        responses=ProposedLinkSerializer,
        tags=["links"],
    )
    @refuses(409)
    def post(self, request: Request, code: str) -> Response:
        """Another invitation; the one before opens nothing any more. 409 once the link is accepted."""
        seen = _seen(request, code)
        token = link_services.invite_again(actor=caller(request), seen=seen)
        return Response(ProposedLinkSerializer(seen, context={"invitation": token}).data)


class StartLinkView(APIView):
    """The start of a link."""

    write_scope = "spend"

    @extend_schema(
        operation_id="links_start",
        request=StartSerializer,
        responses={202: LinkSerializer},
        tags=["links"],
    )
    @refuses(409)
    @idempotent
    def post(self, request: Request, code: str) -> Response:
        """Hold the prices of both sides and queue both sketches, all or nothing; for the side that proposed.
        Both ledgers are charged in one transaction before either table is read. 409 if a side cannot make its
        sketch."""
        seen = _seen(request, code)
        require_recent_sign_in(request)
        asked = StartSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        link = link_services.start(
            actor=caller(request),
            seen=seen,
            agreement=asked.validated_data["agreement_sha256"],
        )
        return Response(_body(request, link), status=HTTPStatus.ACCEPTED)


class WithdrawLinkView(APIView):
    """The withdrawal of a link."""

    write_scope = "spend"

    @extend_schema(
        operation_id="links_withdraw", request=None, responses=LinkSerializer, tags=["links"]
    )
    @refuses(409)
    @idempotent
    def post(self, request: Request, code: str) -> Response:
        """End a link before anything is spent, from either side; both holds are given back. 409 once both
        sides are charged."""
        link = link_services.withdraw(actor=caller(request), seen=_seen(request, code))
        return Response(_body(request, link))


class LinkFileView(APIView):
    """A document of a link."""

    @extend_schema(operation_id="links_file", responses=OpenApiTypes.OBJECT, tags=["links"])
    def get(self, request: Request, code: str, name: str) -> Response:
        """`agreement`, `estimate`, or `left-` or `right-` with `receipt` or `sketch`, as the command line
        writes and reads them; 404 before it is there."""
        document = linking.file_of(linking.link_for(caller(request), code), name)
        if document is None:
            raise Http404("no such file of this link")
        return Response(document)


class LinkReleaseView(APIView):
    """The release that generates the table of one's own side."""

    write_scope = "share"

    @extend_schema(
        operation_id="links_give_release",
        request=GivenReleaseSerializer,
        responses=LinkSerializer,
        tags=["links"],
    )
    @refuses(409, 422)
    @idempotent
    def put(self, request: Request, code: str) -> Response:
        """Choose the release that generates the synthetic table of your side: with it you let the stewards of
        the other side draw its rows. 409 for a release of another table or description."""
        seen = linking.link_for(caller(request), code, Need.SHARE)
        asked = GivenReleaseSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        joined_tables.give(
            actor=caller(request), seen=seen, code=asked.validated_data["release"]
        )
        return Response(_body(request, seen.link))


class JoinedTablesView(APIView):
    """Synthetic tables of both sides."""

    renderer_classes = [ZipRenderer]

    @extend_schema(
        operation_id="links_tables_zip",
        responses={(200, ZipRenderer.media_type): OpenApiTypes.BINARY},
        tags=["links"],
    )
    @refuses(409)
    def get(self, request: Request, code: str) -> HttpResponseBase:
        """A synthetic table of each side with ids that join in the estimated number, their record and the
        agreement in one archive, generated with your own seed: the same each time. 409 before both sides gave
        a release."""
        seen = linking.link_for(caller(request), code, Need.SAMPLE)
        with Slot(caller(request).pk):
            archive = joined_tables.write(user=caller(request), seen=seen)
        joined_tables.note_download(user=caller(request), seen=seen)
        response = FileResponse(archive, content_type=ZipRenderer.media_type)
        return attached(response, f"link-{seen.link.code}-tables.zip")


def _offer(request: Request, data: dict[str, Any]) -> SideOffer:
    return SideOffer(
        dataset=dataset_for(caller(request), data["dataset"], Need.SPEND),
        texts=tuple(data["texts"]),
        columns=tuple(data["columns"]),
        earmark=data["earmark"],
    )


def _seen(request: Request, code: str) -> SeenLink:
    return linking.link_for(caller(request), code, Need.SPEND)


def _body(request: Request, link: Link) -> Any:
    return LinkSerializer(linking.link_for(caller(request), link.code)).data
