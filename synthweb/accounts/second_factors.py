"""What proves who somebody is besides the password: codes of an app, passkeys (passkeys.py), and recovery
codes for who has lost them."""

from __future__ import annotations

import base64
import secrets
from datetime import datetime

import pyotp
from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac
from pyotp.exceptions import OTPVerificationError

from synthweb.accounts import selectors, services
from synthweb.accounts.models import AuthenticatorApp, Passkey, RecoveryCode, User
from synthweb.lib import codes

APP, RECOVERY = "app", "recovery code"
ISSUER = "synthweb"
STEPS = 1  # of 30 seconds, before and after: clocks of phones differ a little
CODES = 10
# Of 31 letters: 24 of them are 118 bits, which a keyed hash keeps as well as a slow one would (ASVS 6.5.2
# asks for 112).
CODE_LENGTH, GROUP = 24, 6
STAFF = "staff"  # in SYNTHWEB_SECOND_FACTOR_ROLES: those who manage people
_SALT = "synthweb.accounts.second_factors"


def has_one(user: User) -> bool:
    """Whether somebody signs in with more than a password."""
    return has_app(user) or Passkey.objects.filter(user=user).exists()


def has_app(user: User) -> bool:
    """Whether somebody has an app that shows codes."""
    return AuthenticatorApp.objects.filter(user=user).exists()


def needs_one(user: User) -> bool:
    """Whether the organisation of `user`, or one of their roles, has to have a second factor. Demo users
    never do."""
    if user.is_demo:
        return False
    if selectors.needs_second_factor(user):
        return True
    required = set(settings.SECOND_FACTOR_ROLES)
    if not required:
        return False
    manages = STAFF in required and (user.is_staff or user.is_superuser)
    return manages or not required.isdisjoint(selectors.roles_of(user))


def lacks_one(user: User) -> bool:
    """Whether somebody has to set up a second factor before anything else."""
    return needs_one(user) and not has_one(user)


# --- the app ------------------------------------------------------------------------------------------------
def new_secret() -> str:
    """A secret for an app, in base 32: 160 bits."""
    return pyotp.random_base32()


def address_for(user: User, secret: str) -> str:
    """The `otpauth:` address that an app reads as a QR code."""
    return pyotp.TOTP(secret).provisioning_uri(name=user.get_username(), issuer_name=ISSUER)


def step_of(secret: str, code: str) -> int | None:
    """The step of time that `code` belongs to; None if it is none of the present ones."""
    try:
        return pyotp.TOTP(secret).verify_and_get_timecode(
            _plain(code), for_time=_now(), valid_window=STEPS
        )
    except OTPVerificationError:
        return None


@transaction.atomic
def add_app(*, user: User, secret: str, code: str) -> list[str] | None:
    """Set up the app that shows `code` now. Recovery codes, shown this once; None if the code is wrong."""
    step = step_of(secret, code)
    if step is None:
        return None
    AuthenticatorApp.objects.update_or_create(
        user=user, defaults={"secret": sealed(secret), "last_step": step}
    )
    services.record_change(user=user, actor=user, action="user.second_factor_added")
    return write_codes(user)


@transaction.atomic
def make_codes(*, user: User) -> list[str]:
    """Fresh recovery codes in the place of the former ones, shown this once."""
    made = write_codes(user)
    services.record_change(user=user, actor=user, action="user.recovery_codes_made")
    return made


def write_codes(user: User) -> list[str]:
    """Fresh recovery codes in the place of the former ones, within a change that is recorded."""
    RecoveryCode.objects.filter(user=user).delete()
    made = [_new_code() for _ in range(CODES)]
    RecoveryCode.objects.bulk_create(
        RecoveryCode(user=user, digest=_digest(user, code)) for code in made
    )
    return made


def _new_code() -> str:
    letters = [secrets.choice(codes.ALPHABET) for _ in range(CODE_LENGTH)]
    groups = (letters[at : at + GROUP] for at in range(0, CODE_LENGTH, GROUP))
    return "-".join("".join(group) for group in groups)


@transaction.atomic
def remove(*, user: User, actor: User) -> None:
    """Take away somebody's second factor: app, passkeys and recovery codes. If it is another one who does it,
    the person's access ends, too."""
    had_one = has_one(user)
    for rows in (AuthenticatorApp, Passkey, RecoveryCode):
        rows.objects.filter(user=user).delete()
    if not had_one:
        return
    if actor.pk != user.pk:
        services.end_access(person=user, actor=actor, because="lost the second factor")
    services.record_change(user=user, actor=actor, action="user.second_factor_removed")


def codes_left(user: User) -> int:
    """How many recovery codes of somebody have not been used."""
    return RecoveryCode.objects.filter(user=user, used_at=None).count()


def check(user: User, code: str) -> str:
    """By which factor `code` proves who somebody is; empty if by none. Each code works once."""
    app = AuthenticatorApp.objects.filter(user=user).first()
    secret = None if app is None else opened(app.secret)
    step = None if secret is None else step_of(secret, code)
    if app is not None and step is not None:
        # One conditional UPDATE: of two requests with one code, one is refused.
        fresh = AuthenticatorApp.objects.filter(pk=app.pk, last_step__lt=step)
        return APP if fresh.update(last_step=step) else ""
    unused = RecoveryCode.objects.filter(user=user, digest=_digest(user, code), used_at=None)
    return RECOVERY if unused.update(used_at=timezone.now()) else ""


# --- what is stored -----------------------------------------------------------------------------------------
def sealed(secret: str) -> str:
    """A secret of an app as it is stored."""
    return _cipher().encrypt(secret.encode()).decode()


def opened(text: str) -> str | None:
    """What `sealed` stored; None where the secret of the web has been changed since."""
    try:
        return _cipher().decrypt(text.encode()).decode()
    except InvalidToken:
        return None


def _now() -> datetime:
    return timezone.now()


def _cipher() -> Fernet:
    key = salted_hmac(f"{_SALT}.secret", "key", algorithm="sha256").digest()
    return Fernet(base64.urlsafe_b64encode(key))


def _digest(user: User, code: str) -> str:
    return salted_hmac(
        f"{_SALT}.code", f"{user.pk} {_plain(code)}", algorithm="sha256"
    ).hexdigest()


def _plain(code: str) -> str:
    """A code without what people put between its groups."""
    return "".join(code.split()).replace("-", "").casefold()
