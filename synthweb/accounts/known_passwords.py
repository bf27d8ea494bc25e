"""Passwords that others would try: easy to guess, or known from breaches. All offline; no password leaves the
machine."""

from __future__ import annotations

import hashlib
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.utils.translation import gettext as _
from zxcvbn import zxcvbn

from synthweb.accounts.models import User

NAME = "synthweb"
LONGEST = 72  # zxcvbn's own limit; a longer password is judged by its beginning
LEAST_SCORE = 3  # of 0 to 4: more than 10^8 guesses
LINE_BYTES = 4096  # more than any line of a list
HASH_LENGTH = 40


class Guessable:
    """Refuses passwords that zxcvbn can guess by its lists of words, names and known passwords, dates and
    keyboard rows."""

    def validate(
        self, password: str, user: AbstractBaseUser | AnonymousUser | None = None
    ) -> None:
        known = _words_about(user)
        if zxcvbn(password[:LONGEST], user_inputs=known)["score"] < LEAST_SCORE:
            raise ValidationError(
                _(
                    "This password is easy to guess. Use a few words that do not belong together."
                ),
                code="password_guessable",
            )

    def get_help_text(self) -> str:
        return _(
            "Your password can’t be easy to guess from words, names, dates or keyboard rows."
        )


def _words_about(user: AbstractBaseUser | AnonymousUser | None) -> list[str]:
    """What others would try here: names of the person, of their organisation and of this software, and the
    words of the operator."""
    words = [NAME, *settings.PASSWORD_WORDS]
    for name in ("username", "first_name", "last_name", "email"):
        words.append(getattr(user, name, ""))
    if isinstance(user, User) and user.pk:
        organisations = user.memberships.values_list("organisation__name", flat=True).distinct()
        words += [word for name in organisations for word in [name, *name.split()]]
    return [word for word in words if word]


class Breached:
    """Refuses passwords of the list that the operator keeps, if there is one."""

    def validate(
        self,
        password: str,
        user: AbstractBaseUser | AnonymousUser | None = None,  # noqa: ARG002
    ) -> None:
        path = settings.BREACHED_PASSWORDS_FILE
        if path and is_listed(password, Path(path)):
            raise ValidationError(
                _("This password is known from a breach of another service. Choose another."),
                code="password_breached",
            )

    def get_help_text(self) -> str:
        return _("Your password can’t be one that is known from a breach.")


def is_listed(password: str, path: Path) -> bool:
    """Whether the SHA-1 of `password` begins a line of a file that is sorted by them, as Have I Been Pwned
    gives it out.

    A binary search by bytes: the file has tens of gigabytes and is never read as a whole. Raises
    ImproperlyConfigured for a file that cannot be read, because a check that is silently left out would be
    worse than a password that is not set.
    """
    wanted = hashlib.sha1(password.encode(), usedforsecurity=False).hexdigest().upper().encode()
    try:
        with path.open("rb") as file:
            low, high = 0, path.stat().st_size
            # Invariant: a line that begins with `wanted` begins at low or later, and before high.
            while low < high:
                middle = (low + high) // 2
                file.seek(middle)
                if middle:
                    file.seek(middle - 1)
                    file.readline(LINE_BYTES)  # to the beginning of the next line
                start = file.tell()
                line = file.readline(LINE_BYTES)
                listed = line[:HASH_LENGTH].upper()
                if start >= high or not line:
                    high = middle
                elif listed == wanted:
                    return True
                elif listed < wanted:
                    low = start + len(line)
                else:
                    high = middle
    except OSError as error:
        raise ImproperlyConfigured(
            f"SYNTHWEB_BREACHED_PASSWORDS_FILE cannot be read: {error.strerror}"
        ) from None
    return False
