"""`Idempotency-Key`: the same request with the same key has its effect once and gives the same answer.

A key belongs to the person, not to the token. It is taken by inserting a row with a unique constraint, in the
one transaction that also holds the effect and the answer: of two requests at once the second waits for the
first and then finds its answer. What is refused leaves no row, so a mended request may use the key again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from typing import Any, TypeVar

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from rest_framework.exceptions import ValidationError
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from synthweb.accounts.models import User
from synthweb.api.authentication import caller
from synthweb.api.models import KeptAnswer
from synthweb.lib.errors import Conflict

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
LONGEST_KEY = 64
Handler = TypeVar("Handler", bound=Callable[..., Response])


class OnceOnly(Response):
    """An answer with a secret that is given once. repeated: what a repeated request is answered with, without
    it."""

    def __init__(self, data: Any, *, repeated: Any, status: int) -> None:
        super().__init__(data, status=status)
        self.repeated = repeated


class IdempotencyKeyReused(Conflict):
    """The key came with another request before."""

    code = "key-reused"


def idempotent(handler: Handler) -> Handler:
    """A method of a view that spends or creates, whose JSON body is all there is to it."""

    @wraps(handler)
    def once_per_key(view: Any, request: Request, *args: Any, **kwargs: Any) -> Response:
        return once(
            request,
            lambda: handler(view, request, *args, **kwargs),
            content=_spelled(request.data),
        )

    once_per_key.takes_key = True  # type: ignore[attr-defined]  # what the OpenAPI document looks for
    return once_per_key  # type: ignore[return-value]


def once(request: Request, act: Callable[[], Response], *, content: str) -> Response:
    """The answer of `act`, or the one that this key was given before. `content` tells one body from
    another."""
    key = key_of(request)
    if not key:
        return act()
    digest = _digest(request, content)
    with transaction.atomic():
        stored, fresh = _take(caller(request), key, digest)
        if not fresh:
            return _again(stored, digest)
        response = act()
        KeptAnswer.objects.filter(pk=stored.pk).update(
            # Committed together with the effect: a crash keeps both or neither.
            status=response.status_code,
            location=response.get("Location", ""),
            body=JSONRenderer().render(getattr(response, "repeated", response.data)).decode(),
        )
    return response


def key_of(request: Request) -> str:
    """The key of a request, or nothing; 400 for one that is none."""
    key = request.headers.get(HEADER, "")
    if len(key) > LONGEST_KEY or not (key.isascii() and key.isprintable()):
        raise ValidationError(
            {HEADER: f"A key has at most {LONGEST_KEY} printable ASCII characters."}
        )
    return str(key)


def _take(user: User, key: str, digest: str) -> tuple[KeptAnswer, bool]:
    """The row of this key, and whether it is ours. Rows past their time are swept first."""
    KeptAnswer.objects.filter(
        created_at__lt=timezone.now() - timedelta(hours=settings.IDEMPOTENCY_HOURS)
    ).delete()
    return KeptAnswer.objects.get_or_create(
        user=user, key=key, defaults={"request_digest": digest}
    )


def _again(stored: KeptAnswer, digest: str) -> Response:
    if stored.request_digest != digest:
        raise IdempotencyKeyReused(
            f"This {HEADER} came with another request before",
            repair="give every request a key of its own",
            field=HEADER,
        )
    return Response(
        json.loads(stored.body or "null"),
        status=stored.status,
        headers={**stored.headers, REPLAYED: "true"},
    )


def _digest(request: Request, content: str) -> str:
    # With method, address and query: a key that comes again with another of them is refused.
    parts = [request.method or "", request.path, request.META.get("QUERY_STRING", ""), content]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _spelled(data: Any) -> str:
    # The order of fields makes no other request.
    return json.dumps(data, sort_keys=True)
