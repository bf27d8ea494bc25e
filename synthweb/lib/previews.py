"""How many previews a web process makes at once: pages that open first rows or a comparison, or compute what
a run would give.

Each takes a thread, and up to seconds of it. Fewer are made at once than there are threads, so that all other
pages are answered meanwhile; and one person has fewer than all have together.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from synthweb.lib.errors import Busy
from synthweb.lib.slots import Slots

COME_BACK = 5  # seconds
View = Callable[..., HttpResponse]


class TooManyPreviews(Busy):
    """So many previews are being made already, of this person or of all"""

    code = "too-many-previews"


class PreviewSlot(Slots):
    """The right to make one preview, until it is closed. person: their number."""

    def __init__(self, person: int) -> None:
        own, every = settings.PREVIEWS_AT_ONCE_PER_PERSON, settings.PREVIEWS_AT_ONCE
        mine = TooManyPreviews(
            f"{own} previews are being made for you already",
            repair="come back in a few seconds",
            wait=COME_BACK,
        )
        ours = TooManyPreviews(
            f"{every} previews are being made already",
            repair="come back in a few seconds",
            wait=COME_BACK,
        )
        # The person's own limit first: whoever has reached it takes no slot from the others.
        super().__init__([(f"preview-{person}", own, mine), ("previews", every, ours)])


def limited(view: View) -> View:
    """A view that makes a preview: one too many is a page that says when to come back. Stands below
    `login_required`."""

    @wraps(view)
    def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            slot = PreviewSlot(request.user.pk or 0)  # somebody, below login_required
        except TooManyPreviews as busy:
            return _busy_page(request, busy)
        with slot:
            return view(request, *args, **kwargs)

    return checked


def _busy_page(request: HttpRequest, busy: TooManyPreviews) -> HttpResponse:
    page = render(request, "429.html", {"busy": busy}, status=HTTPStatus.TOO_MANY_REQUESTS)
    page["Retry-After"] = str(busy.wait)
    return page
