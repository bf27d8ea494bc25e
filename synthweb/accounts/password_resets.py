"""Links with which people choose a new password.

The worker that sends the mail makes the token and stores its digest. So it needs no secret of the web, and
the database holds nothing with which a password can be changed.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from synthweb.accounts.models import PasswordReset, User


class MailedTokens(PasswordResetTokenGenerator):
    """Stands in the place of Django's own generator, whose tokens are signed by the secret of the web."""

    def make_token(self, user: AbstractBaseUser) -> str:
        token = secrets.token_urlsafe()
        PasswordReset.objects.create(user_id=user.pk, digest=_digest(token))
        return token

    def check_token(self, user: AbstractBaseUser | None, token: str | None) -> bool:
        return (
            user is not None
            and bool(token)
            and PasswordReset.objects.filter(
                user_id=user.pk, digest=_digest(token or ""), made_at__gt=_oldest()
            ).exists()
        )


@transaction.atomic
def path_for(user: User) -> str:
    """A fresh path to the page where `user` chooses a new password."""
    PasswordReset.objects.filter(made_at__lte=_oldest()).delete()
    names = {
        "uidb64": urlsafe_base64_encode(force_bytes(user.pk)),
        "token": MailedTokens().make_token(user),
    }
    return reverse("accounts:choose_password", kwargs=names)


def _oldest() -> datetime:
    return timezone.now() - timedelta(seconds=settings.PASSWORD_RESET_TIMEOUT)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
