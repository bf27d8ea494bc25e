"""The route of a request: the pattern of the program that leads to its page, and never the address, which may
hold a token."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest
from django.urls import Resolver404, resolve

# Asked again and again by machines, and answered from memory.
QUIET = ("/livez", "/readyz", "/metrics")


def is_quiet(request: HttpRequest) -> bool:
    """Whether it is one of health, of numbers or for a static file, which is neither traced nor counted."""
    return request.path in QUIET or request.path.startswith(settings.STATIC_URL)


def of(request: HttpRequest) -> str:
    """Such as `public/<str:token>/`; of files that every page loads their folder; empty where nothing
    leads."""
    if request.resolver_match:
        return request.resolver_match.route
    if request.path_info.startswith(settings.STATIC_URL):
        return str(settings.STATIC_URL).lstrip("/")
    try:  # what was answered before a page was looked for
        return resolve(request.path_info, getattr(request, "urlconf", None)).route
    except Resolver404:
        return ""


def method(request: HttpRequest) -> str:
    """Of a request: one of HTTP's, or `_OTHER`, because a client may send any word."""
    name = request.method or ""
    return name if name in METHODS else "_OTHER"


METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
