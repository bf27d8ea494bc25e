"""Greetings in the search."""

from collections.abc import Iterator

from django.urls import reverse

from greetings.models import Greeting
from synthweb.accounts.models import User
from synthweb.pages.search_results import Match, MatchGroup, group_of


def matches(user: User, words: str) -> Iterator[MatchGroup]:
    found = Greeting.objects.filter(asked_by=user, words__icontains=words)
    yield group_of(
        "Greetings",
        (
            Match(title=each.words, about="", address=reverse("greetings:index"))
            for each in found
        ),
    )
