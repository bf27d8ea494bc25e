"""A card of a release."""

from django.http import HttpRequest, HttpResponse

from synthweb.accounts.permissions import Need
from synthweb.releases import selectors
from synthweb.releases.tabs import Card


def greeting(request: HttpRequest, code: str) -> HttpResponse:
    release = selectors.release_for(request.user, code, Need.SAMPLE)
    return HttpResponse(f"Good morning, {release.name}")


CARD = Card(
    key="greeting",
    tab="look",
    order=99,
    title="Greeting",
    about="A greeting of this release.",
    view=greeting,
)
