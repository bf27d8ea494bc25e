"""The app that knows people; it also puts up the installation's own checks."""

from __future__ import annotations

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in


class AccountsConfig(AppConfig):
    name = "synthweb.accounts"

    def ready(self) -> None:
        from synthweb import checks  # noqa: F401 - importing it registers them
        from synthweb.accounts import checks as _of_people  # noqa: F401 - likewise
        from synthweb.accounts import sessions

        user_logged_in.connect(sessions.begin, dispatch_uid="synthweb.accounts.sessions")
