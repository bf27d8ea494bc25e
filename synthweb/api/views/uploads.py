"""Uploads that resume, by the tus protocol (https://tus.io, 1.0.0): core, creation, termination,
expiration."""

from __future__ import annotations

import base64
import binascii
import contextlib
from http import HTTPStatus
from typing import IO, Any, cast

from django.conf import settings
from django.db import transaction
from django.utils.http import http_date
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from synth_engine.errors import TableError
from synthweb.accounts.permissions import Need
from synthweb.accounts.selectors import organisation_of, require
from synthweb.api import parsers
from synthweb.api.authentication import caller
from synthweb.api.faults import Unusable, fault
from synthweb.api.schema import refuses
from synthweb.api.serializers.datasets import (
    PartialUploadSerializer,
    StoredUploadSerializer,
    UploadSerializer,
)
from synthweb.api.views.datasets import ACCEPTED, accepted, to_be_read
from synthweb.datasets import selectors, services
from synthweb.datasets.models import Dataset, PartialUpload
from synthweb.datasets.services import resuming
from synthweb.datasets.services.intake import too_large
from synthweb.lib import codes
from synthweb.lib.bodies import takes_table

VERSION = "1.0.0"
EXTENSIONS = "creation,expiration,termination"
OVERRIDE = "X-HTTP-Method-Override"
LONGEST_METADATA = 4_096  # characters of the header
MOST_PASSED_OVER = 64 << 20  # bytes: what the page sends in one request


def _header(name: str, schema: dict[str, Any], text: str, *, required: bool = True) -> Any:
    return OpenApiParameter(
        name, schema, OpenApiParameter.HEADER, required=required, description=text
    )


NUMBER = {"type": "integer", "minimum": 0, "maximum": 10**18 - 1}
TUS = _header(
    "Tus-Resumable",
    {"type": "string"},
    f"The version of the protocol, `{VERSION}`. 412 without it.",
    required=False,
)


class UnknownVersion(exceptions.APIException):
    """412: the client speaks another version of tus, or does not say which."""

    status_code = HTTPStatus.PRECONDITION_FAILED
    default_detail = f"Send the header Tus-Resumable: {VERSION}."


class TableTooLarge(Unusable):
    """413: a length above what may be uploaded."""

    status_code = HTTPStatus.REQUEST_ENTITY_TOO_LARGE

    def __init__(self) -> None:
        error = too_large()
        super().__init__(
            detail=error.text,
            faults=[fault(error.rule, pointer="/Upload-Length", repair=error.repair or "")],
        )


class TusView(APIView):
    """An address of the protocol: its version is asked for and stated."""

    speaks_tus: tuple[str, ...] = ("HEAD", "POST", "PATCH", "DELETE")
    """Methods of the protocol; the others are ours."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if (
            request.method in self.speaks_tus
            and request.headers.get("Tus-Resumable") != VERSION
        ):
            raise UnknownVersion

    def finalize_response(
        self, request: Request, response: Response, *args: Any, **kwargs: Any
    ) -> Response:
        answer = super().finalize_response(request, response, *args, **kwargs)
        answer["Tus-Resumable"] = VERSION
        if request.method == "OPTIONS" or answer.status_code == UnknownVersion.status_code:
            answer["Tus-Version"] = VERSION
            answer["Tus-Extension"] = EXTENSIONS
            answer["Tus-Max-Size"] = str(settings.UPLOAD_MAX_BYTES)
        return answer


class UploadsView(TusView):
    """Uploads of the caller."""

    speaks_tus = ("POST",)

    @extend_schema(
        operation_id="uploads_list",
        responses=PartialUploadSerializer(many=True),
        tags=["uploads"],
    )
    def get(self, request: Request) -> Response:
        """Those that are unfinished, newest first. Nobody else sees them."""
        uploads = selectors.uploads_of(caller(request))
        return Response(_shown(request, uploads, many=True))

    @extend_schema(
        operation_id="uploads_create",
        parameters=[
            TUS,
            _header("Upload-Length", NUMBER, "Of the whole file, in bytes."),
            _header(
                "Upload-Metadata",
                {"type": "string", "maxLength": LONGEST_METADATA},
                "`filename` and, after a blank, the name of the file in Base64. Only its ending is used; "
                "more keys are ignored.",
            ),
        ],
        request=None,
        responses={201: PartialUploadSerializer},
        tags=["uploads"],
    )
    @refuses(412, 413)
    def post(self, request: Request) -> Response:
        """Begin an upload that may be interrupted. `Location` is where its bytes go, by PATCH; when all are
        there, POST to its `dataset/` makes a dataset of it. Unfinished ones expire. 429 for too many of
        them."""
        require(caller(request), Need.UPLOAD)
        length = _number(request, "Upload-Length")
        name = _metadata(request).get("filename", "")
        if not name:
            raise _unusable("Upload-Metadata", "it has no filename")
        if length > settings.UPLOAD_MAX_BYTES:
            raise TableTooLarge
        upload = resuming.begin(
            person=caller(request),
            organisation=organisation_of(caller(request)),
            file_name=name,
            length=length,
        )
        body = _shown(request, upload)
        headers = {"Location": str(body["url"]), **_expiry(upload)}
        return Response(body, status=HTTPStatus.CREATED, headers=headers)


@takes_table
class UploadView(TusView):
    """One of them."""

    parser_classes = [parsers.OffsetParser]

    def head(self, request: Request, code: str) -> Response:
        """How far it has come: `Upload-Offset`."""
        return Response(headers=_progress(selectors.upload_for(caller(request), code)))

    @extend_schema(
        operation_id="uploads_retrieve", responses=PartialUploadSerializer, tags=["uploads"]
    )
    @refuses(410)
    def get(self, request: Request, code: str) -> Response:
        """How far it has come. HEAD says the same in headers."""
        return Response(_shown(request, selectors.upload_for(caller(request), code)))

    @extend_schema(
        operation_id="uploads_append",
        parameters=[
            TUS,
            _header("Upload-Offset", NUMBER, "How many bytes are there before these."),
        ],
        request={parsers.OffsetParser.media_type: OpenApiTypes.BINARY},
        responses={
            204: OpenApiResponse(description="Stored; `Upload-Offset` says how far it is now.")
        },
        tags=["uploads"],
    )
    @refuses(410, 412, 423, 507)
    def patch(self, request: Request, code: str) -> Response:
        """Send the next bytes. What came before a connection broke off is kept: ask for the offset by HEAD
        and go on from there. 409 for another offset, 422 for first bytes of another kind of file."""
        upload = selectors.upload_for(caller(request), code)
        if request.content_type.partition(";")[0].strip() != parsers.OffsetParser.media_type:
            raise exceptions.UnsupportedMediaType(request.content_type)
        offset, length = _number(request, "Upload-Offset"), _number(request, "Content-Length")
        # Without a body there is nothing to parse, and no stream.
        stream = cast(IO[bytes], request.data) if length else None
        try:
            resuming.append(upload=upload, offset=offset, length=length, stream=stream)
        except TableError:
            # A client that is still sending would see a broken connection in place of the answer, and try
            # again.
            _pass_over(stream)
            raise
        upload.refresh_from_db()
        return Response(status=HTTPStatus.NO_CONTENT, headers=_progress(upload))

    @extend_schema(
        operation_id="uploads_destroy",
        parameters=[TUS],
        responses={204: OpenApiResponse(description="Nothing of it is left.")},
        tags=["uploads"],
    )
    @refuses(410, 412, 423)
    def delete(self, request: Request, code: str) -> Response:
        """Give the upload up: nothing of it stays."""
        resuming.end(selectors.upload_for(caller(request), code))
        return Response(status=HTTPStatus.NO_CONTENT)

    @extend_schema(exclude=True)
    def post(self, request: Request, code: str) -> Response:
        """The other methods, for clients behind what lets only GET and POST through; tus asks for it."""
        selectors.upload_for(caller(request), code)
        name = request.headers.get(OVERRIDE, "").upper()
        if name not in ("HEAD", "PATCH", "DELETE"):
            raise exceptions.MethodNotAllowed("POST")
        answer: Response = getattr(self, name.lower())(request, code)
        return answer


class FinishUploadView(APIView):
    """A complete upload becomes a dataset."""

    @extend_schema(
        operation_id="uploads_store",
        request=UploadSerializer,
        responses={202: ACCEPTED},
        tags=["uploads"],
    )
    @refuses(410, 423, 507)
    def post(self, request: Request, code: str) -> Response:
        """Take the table in as if it had come in one request, with the same refusals; one that is refused
        ends the upload. 409 until all bytes are there. Asked again, it is the same dataset."""
        upload = selectors.upload_for(caller(request), code)
        facts = UploadSerializer(data=request.data)
        facts.is_valid(raise_exception=True)
        if upload.dataset is not None:
            return _again(request, upload.dataset)
        with resuming.assembled(upload) as intake, transaction.atomic():
            dataset = services.store_upload(
                steward=caller(request),
                organisation=organisation_of(caller(request)),
                upload=intake,
                **facts.validated_data,
            )
            resuming.mark_stored(upload=upload, dataset=dataset)
            return to_be_read(request, dataset)


class ReplaceByUploadView(APIView):
    """A complete upload becomes the next file of a dataset."""

    @extend_schema(
        operation_id="uploads_replace",
        request=StoredUploadSerializer,
        responses={202: ACCEPTED},
        tags=["uploads"],
    )
    @refuses(410, 423, 507)
    def post(self, request: Request, code: str) -> Response:
        """Take the table in as a version of a dataset, under the same budget, as if it had come in one
        request. 409 until all bytes are there, and while a run is open."""
        upload = selectors.upload_for(caller(request), code)
        wanted = StoredUploadSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        named = wanted.validated_data["dataset"]
        dataset = selectors.dataset_for(caller(request), codes.of_text(named), Need.DESCRIBE)
        if upload.dataset is not None:
            return _again(request, upload.dataset)
        with resuming.assembled(upload) as intake, transaction.atomic():
            changed = services.replace_file(
                actor=caller(request), dataset=dataset, upload=intake
            )
            resuming.mark_stored(upload=upload, dataset=changed)
            return to_be_read(request, changed)


def _pass_over(stream: IO[bytes] | None) -> None:
    """Read what is left of a body, if it is not much more than clients send at once."""
    left = MOST_PASSED_OVER
    with contextlib.suppress(OSError):
        while stream and left > 0 and (data := stream.read(parsers.PIECE)):
            left -= len(data)


def _again(request: Request, dataset: Dataset) -> Response:
    """The answer to who did not get the first one."""
    return accepted(request, selectors.dataset_for(caller(request), dataset.code))


def _shown(request: Request, uploads: Any, *, many: bool = False) -> Any:
    return PartialUploadSerializer(uploads, many=many, context={"request": request}).data


def _progress(upload: PartialUpload) -> dict[str, str]:
    return {
        "Upload-Offset": str(resuming.offset_of(upload)),
        "Upload-Length": str(upload.length),
        "Cache-Control": "no-store",
        **_expiry(upload),
    }


def _expiry(upload: PartialUpload) -> dict[str, str]:
    return (
        {"Upload-Expires": http_date(upload.expires_at.timestamp())} if upload.is_open else {}
    )


def _number(request: Request, name: str) -> int:
    """A header that counts bytes. Errors: 400."""
    text = request.headers.get(name, "")
    if not (text.isascii() and text.isdecimal() and len(text) <= 18):
        raise _unusable(name, "it is no number of bytes")
    return int(text)


def _metadata(request: Request) -> dict[str, str]:
    """Pairs of a key and, in Base64, its value. Errors: 400."""
    text = request.headers.get("Upload-Metadata", "")
    pairs = [pair.strip().split(" ") for pair in text.split(",") if pair.strip()]
    try:
        if len(text) > LONGEST_METADATA or any(len(pair) > 2 for pair in pairs):
            raise ValueError("no pairs")
        return {
            pair[0]: base64.b64decode(pair[1] if len(pair) > 1 else "", validate=True).decode()
            for pair in pairs
        }
    except (ValueError, binascii.Error):
        raise _unusable("Upload-Metadata", "it is no list of keys and Base64 values") from None


def _unusable(name: str, rule: str) -> exceptions.ValidationError:
    return exceptions.ValidationError({name: f"This header cannot be used: {rule}."})
