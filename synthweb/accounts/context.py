"""What every template knows about whoever looks at it: `me`, read from the database only when a template
asks."""

from __future__ import annotations

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from synth_engine import __version__
from synthweb.accounts import selectors


def me(request: HttpRequest) -> dict[str, object]:
    """`me`: a selectors.Me of the request's user; nobody's for requests that never reached the middleware.
    `software`: the version of synthweb."""
    user = getattr(request, "user", None)
    return {
        "me": SimpleLazyObject(lambda: selectors.me(user))
        if user is not None
        else selectors.Me(),
        "software": __version__,
    }
