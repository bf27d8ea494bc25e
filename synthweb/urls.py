"""Addresses of synthweb: each app owns its own; `pages` has the screens that join several."""

from __future__ import annotations

from django.contrib import admin
from django.templatetags.static import static
from django.urls import include, path
from django.utils.functional import lazy
from django.views.generic import RedirectView
from django.views.i18n import set_language

from synthweb import health, metrics
from synthweb.lib import extras

# Whatever no view has turned into an answer: a disk that is full, a database that is away, a mistake of ours.
handler500 = "synthweb.api.problems.failed"
admin.autodiscover()
urlpatterns = [
    # Before the core's, some of which have a parameter where an extra has a word.
    *(path("", include(extra.addresses)) for extra in extras.registered() if extra.addresses),
    path("", include("synthweb.pages.urls")),
    path("account/", include("synthweb.accounts.urls")),
    path("account/notifications/", include("synthweb.notifications.urls")),
    path("datasets/", include("synthweb.datasets.urls")),
    path("references/", include("synthweb.references.urls")),
    path("releases/", include("synthweb.releases.urls")),
    # Before the tokens: a visitor's proxy may open what is below /public/ alone.
    path("public/language/", set_language, name="public-language"),
    path("public/", include("synthweb.releases.public_urls")),
    path("", include("synthweb.runs.urls")),
    path("ledger/", include("synthweb.ledger.urls")),
    path("api/v1/", include("synthweb.api.urls")),
    path("language/", set_language, name="language"),
    path("livez", health.livez, name="livez"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", metrics.metrics, name="metrics"),
    path(
        "favicon.ico", RedirectView.as_view(url=lazy(static, str)("icon.svg")), name="favicon"
    ),
    path("admin/", admin.site.urls),
]
