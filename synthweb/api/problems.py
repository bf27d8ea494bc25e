"""Errors as problem documents (RFC 9457): what is wrong, where, and how to mend it; never a value of a row.

Every refusal of the REST interface is `application/problem+json` with `type, title, status, detail` and,
where fields or columns are to blame, `errors: [{pointer, column, rule, repair}]`. `pointer` is a JSON pointer
into the request.
"""

from __future__ import annotations

import errno
import logging
import math
import re
import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from itertools import islice
from typing import Any

from django.core.exceptions import PermissionDenied
from django.core.exceptions import ValidationError as DjangoValidationError
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.cache import add_never_cache_headers
from django.views.decorators.csrf import csrf_exempt
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from synth_engine import errors as engine_errors
from synthweb.api import throttling
from synthweb.api.faults import UNKNOWN, Fault, Unusable, escaped, fault
from synthweb.datasets import files
from synthweb.ledger import amounts
from synthweb.ledger.errors import Overspend
from synthweb.lib import errors, signatures
from synthweb.lib.request_guards import REST

log = logging.getLogger(__name__)
MEDIA_TYPE = "application/problem+json"
MOST_FAULTS = 100
"""In one answer: whoever sends a hundred thousand wrong values learns nothing from the others."""
AS_DESCRIBED = "send what the reference describes"
REPAIRS = {
    "required": "add this field",
    "null": "give a value",
    "blank": "write something",
    UNKNOWN: "leave it out, or spell it as in the reference",
}
CANNOT_STORE = (
    "The installation cannot store this now, and nothing was stored. Ask whoever operates it to look for "
    "free space."
)
ABSENT = "There is nothing here, or it is not yours to see."
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS})
"""Of a disk, a quota or a limit that lets nothing more be written."""
DISK_FULL = "53100"  # SQLSTATE of PostgreSQL
DATABASE_AWAY = (
    "The database does not answer now, or somebody else holds it. Ask again in a moment: with the same "
    "Idempotency-Key where you sent one."
)
DATABASE_SECONDS = 5
"""After which it is worth asking a database again that is locked or restarts."""
FAILED = (
    "Something went wrong on the server. The error was logged, without any data. If it persists, tell "
    "whoever operates the installation."
)


def engine_fault(error: engine_errors.InputError, *, pointer: str = "") -> Fault:
    """The fields of an engine error; the column, and its field, become part of the pointer only where the
    caller knows the place of the column."""
    field = getattr(error, "field", "")
    return fault(
        error.rule,
        pointer=f"{pointer}/{field}" if pointer and field else pointer,
        column=error.column,
        repair=error.repair or AS_DESCRIBED,
    )


def document(
    *, status: int, detail: str, faults: Sequence[Fault] = (), code: str = ""
) -> dict[str, object]:
    """The body of a problem response; `code` names a refusal of ours for programs:
    `urn:synthweb:overspend`."""
    body: dict[str, object] = {
        "type": f"urn:synthweb:{code}" if code else "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
    }
    return {**body, "errors": list(faults)} if faults else body


def exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """Called by REST framework for every exception of a view; unexpected ones go on to Django's own 500
    page."""
    if isinstance(error, exceptions.NotAuthenticated | exceptions.AuthenticationFailed):
        try:
            # Only here is it known that no token was usable: this limit slows down guessing.
            throttling.refuse_strangers(context["request"])
        except exceptions.Throttled as too_many:
            error = too_many
    problem = _problem(error)
    if problem is None:
        return None
    # The engine names what is wrong; only the request shows where that stands.
    if isinstance(error, engine_errors.SpecError):
        problem["errors"][0]["pointer"] = _place_of(error, context["request"].data)
    # As REST framework's own handler does: it matters where requests are transactions.
    set_rollback()
    response = Response(problem, status=problem["status"], content_type=MEDIA_TYPE)
    for header, value in _headers(error).items():
        response[header] = value
    return response


def failed(request: HttpRequest) -> HttpResponse:
    """What Django answers when an error passed every view and every middleware: below /api/ a problem
    document, else a page that needs neither a database nor a disk. Call it while the error is handled."""
    error = sys.exception()
    problem = _outage(error) if isinstance(error, Exception) else None
    status = 500 if problem is None else int(problem["status"])
    answer: HttpResponse
    if request.path_info.startswith(REST):
        body = problem or document(status=status, detail=FAILED)
        answer = JsonResponse(body, status=status, content_type=MEDIA_TYPE)
    else:
        # Without the request: what the other pages know about their reader comes from the database.
        answer = render(None, "500.html", {"status": status}, status=status)
    for header, value in _headers(error).items():
        answer[header] = value
    add_never_cache_headers(answer)
    return answer


@csrf_exempt  # there is nothing to forge here, and a program without a cookie gets the 404 that it asked for
def not_found(_request: HttpRequest, path: str = "") -> JsonResponse:
    """Any address below /api/v1/ that does not exist."""
    slash = "" if path.endswith("/") else " Addresses end in a slash."
    body = document(status=404, detail=ABSENT + slash)
    return JsonResponse(body, status=404, content_type=MEDIA_TYPE)


def _problem(error: Exception) -> dict[str, Any] | None:
    match error:
        case exceptions.APIException():
            return _api_problem(error)
        # One wording for what is missing and for what is hidden:
        # the answer must not tell them apart.
        case Http404():
            return document(status=404, detail=ABSENT)
        case PermissionDenied():
            return document(status=403, detail=str(error) or "Your role does not allow this.")
        case signatures.NoSigningKey():
            return document(status=503, detail=str(error), code="no-signing-key")
        case errors.Refused():
            return _refusal(error)
        case engine_errors.InputError():
            return document(status=422, detail=error.text, faults=[engine_fault(error)])
        case engine_errors.PrivacyError() | engine_errors.VerificationError():
            return document(status=422, detail=str(error))
        case DjangoValidationError():
            return document(
                status=422,
                detail="; ".join(error.messages),
                faults=_first(map(fault, error.messages)),
            )
    return _outage(error)


def _outage(error: Exception) -> dict[str, Any] | None:
    """The problem of an error that no request causes and time or an operator mends: by its type, wherever it
    was raised."""
    if _is_full(error):
        log.error("nothing can be stored: %s", error)
        return document(status=507, detail=CANNOT_STORE, code="storage")
    if _is_database_away(error):
        return document(status=503, detail=DATABASE_AWAY, code="database")
    return None


def _is_full(error: BaseException | None) -> bool:
    if isinstance(error, files.StorageError):
        return True
    if isinstance(error, OSError):
        return error.errno in FULL
    if isinstance(error, OperationalError):
        return (
            _sqlite_code(error) == sqlite3.SQLITE_FULL
            or getattr(error.__cause__, "sqlstate", None) == DISK_FULL
        )
    return False


def _is_database_away(error: BaseException | None) -> bool:
    """Whether a database is locked, restarts or cannot be reached. A mistake in a statement, which SQLite
    reports by the same type, is a mistake of ours."""
    return (
        isinstance(error, OperationalError | InterfaceError)
        and _sqlite_code(error) != sqlite3.SQLITE_ERROR
    )


def _sqlite_code(error: BaseException) -> int | None:
    code = getattr(error.__cause__, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF  # the rest is the kind within the code


def _api_problem(error: exceptions.APIException) -> dict[str, object]:
    if isinstance(error, Unusable):
        return document(status=error.status_code, detail=str(error.detail), faults=error.faults)
    if isinstance(error, exceptions.ValidationError):
        return document(
            status=400,
            detail="The request cannot be used as it is.",
            faults=_first(_faults(error.detail)),
        )
    if isinstance(error, exceptions.Throttled):
        wait = math.ceil(getattr(error, "wait", 1))
        detail = f"Too many requests. Come back in {wait} seconds."
        return document(status=error.status_code, detail=detail, code="throttled")
    return document(status=error.status_code, detail=_text(error.detail))


def _first(faults: Iterator[Fault]) -> list[Fault]:
    # Lazily, so that the list of all faults of a large body is never made.
    return list(islice(faults, MOST_FAULTS))


def _refusal(error: errors.Refused) -> dict[str, object]:
    pointer = f"/{escaped(error.field)}" if error.field else ""
    faults = [fault(error.rule, pointer=pointer, repair=error.repair)]
    if isinstance(error, Overspend):
        faults = [
            fault(each.sentence, pointer=f"/{each.currency}", repair=error.repair)
            for each in error.shortfalls
        ] or faults
    body = document(status=_status(error), detail=str(error), faults=faults, code=error.code)
    if not isinstance(error, Overspend):
        return body
    return body | {
        "lacking": [
            {
                "currency": each.currency,
                "left": amounts.decimal_text(each.currency, each.left),
                "costs": amounts.decimal_text(each.currency, each.costs),
                "short": amounts.decimal_text(each.currency, each.short),
            }
            for each in error.shortfalls
        ]
    }


def _status(error: errors.Refused) -> int:
    match error:
        case errors.Forbidden():
            return HTTPStatus.FORBIDDEN
        case errors.Conflict():
            return HTTPStatus.CONFLICT
        case errors.Gone():
            return HTTPStatus.GONE
        case errors.InUse():
            return HTTPStatus.LOCKED
        case errors.Busy():
            return HTTPStatus.TOO_MANY_REQUESTS
    return HTTPStatus.UNPROCESSABLE_ENTITY


def _headers(error: BaseException | None) -> dict[str, str]:
    headers = {}
    if _is_database_away(error) and not _is_full(error):
        headers["Retry-After"] = str(DATABASE_SECONDS)
    if challenge := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = challenge
    if wait := getattr(error, "wait", None):
        headers["Retry-After"] = str(math.ceil(wait))
    return headers


def _text(detail: Any) -> str:
    if isinstance(detail, dict):
        return "; ".join(_text(value) for value in detail.values())
    if isinstance(detail, list):
        return "; ".join(_text(value) for value in detail)
    return str(detail)


def _faults(detail: Any, pointer: str = "") -> Iterator[Fault]:
    """REST framework's nested error lists as a flat list with JSON pointers."""
    if isinstance(detail, dict):
        for key, value in detail.items():
            step = "" if key == "non_field_errors" else f"/{escaped(str(key))}"
            yield from _faults(value, pointer + step)
    elif isinstance(detail, list):
        for index, value in enumerate(detail):
            nested = isinstance(value, dict | list)
            yield from _faults(value, f"{pointer}/{index}" if nested else pointer)
    else:
        yield fault(str(detail), pointer=pointer, repair=_repair(getattr(detail, "code", "")))


def _place_of(error: engine_errors.SpecError, data: Any) -> str:
    """Where the request has what a spec's error is about: the field or parameter whose name the rule
    holds."""
    words = set(re.findall(r"\w+", error.rule))
    parameters = data.get("parameters") if isinstance(data, Mapping) else None
    places = {name: f"/{escaped(name)}" for name in data} if isinstance(data, Mapping) else {}
    if isinstance(parameters, Mapping):
        places |= {name: f"/parameters/{escaped(name)}" for name in parameters}
    return next((place for name, place in places.items() if name in words), "")


def _repair(code: str) -> str:
    """A field's error has REST framework's code, or says in words how to mend it."""
    return REPAIRS.get(code, code if " " in code else AS_DESCRIBED)
