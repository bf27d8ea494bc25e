"""What greetings bring into an installation."""

from django.utils.translation import gettext_noop

from synthweb.lib.extras import Entry, Extra

EXTRA = Extra(
    addresses="greetings.pages",
    rest="greetings.rest",
    search="greetings.search.matches",
    entries=(
        Entry(
            places=("releases",),
            title="Greetings",
            about="what was greeted",
            address="greetings:index",
        ),
    ),
    sentences={"greeting.asked": gettext_noop("asked for a greeting")},
    pages={"greeting": "greetings:greeting"},
)
