"""Where messages wait for the next page: as Django keeps them, in a cookie that belongs to this
installation."""

from __future__ import annotations

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.contrib.messages.storage.fallback import FallbackStorage
from django.contrib.messages.storage.session import SessionStorage


class Cookie(CookieStorage):
    cookie_name = settings.MESSAGE_COOKIE_NAME


class Storage(FallbackStorage):
    """In the cookie, and in the session what is too long for one."""

    storage_classes = (Cookie, SessionStorage)
