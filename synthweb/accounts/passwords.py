"""What a new password does besides being one, whichever way it was set: page, one-time password or command
line."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.utils.translation import gettext

from synthweb.accounts import services
from synthweb.accounts.models import User


class RevokesTokens:
    """Stands in AUTH_PASSWORD_VALIDATORS for what Django calls once a new password has been saved. Sessions
    end by themselves, each carries a digest of the password; tokens are revoked here."""

    def validate(
        self, password: str, user: AbstractBaseUser | AnonymousUser | None = None
    ) -> None:
        """Every password will do."""

    def get_help_text(self) -> str:
        return gettext(
            "A new password revokes your API tokens and signs you out everywhere else."
        )

    def password_changed(
        self,
        password: str,  # noqa: ARG002
        user: AbstractBaseUser | AnonymousUser | None = None,
    ) -> None:
        # Django's hook passes no request, so the log cannot name a person as the actor.
        if isinstance(user, User):
            services.revoke_tokens(person=user, actor="system", because="a new password")
