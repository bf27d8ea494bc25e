"""Who somebody is: users, their organisation, what they may do there, and the tokens their programs carry."""

from __future__ import annotations

from importlib import import_module

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext_lazy as _

from synthweb.lib import codes


class Organisation(models.Model):
    """Holds datasets, budget accounts and people; across two organisations nothing is visible but what both
    sides of a link agree on."""

    code = models.CharField(max_length=16, unique=True, default=codes.new, editable=False)
    name = models.CharField(max_length=200, unique=True)
    rho = models.FloatField(
        null=True,
        blank=True,
        help_text=_(
            "The one chance that no value is invented, of all columns of unknown values that are described "
            "from now on; empty: each column has its own."
        ),
    )
    second_factor_required = models.BooleanField(
        default=False,
        help_text=_(
            "Whether everybody here needs a second factor to sign in, whatever their roles."
        ),
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(rho__isnull=True) | models.Q(rho__gt=0, rho__lt=1),
                name="organisation_rho_is_a_chance",
            )
        ]

    def __str__(self) -> str:
        return self.name


class OrganisationAppearance(models.Model):
    """How an organisation appears to its people and to visitors of its public links: a row for those that
    have said so."""

    organisation = models.OneToOneField(
        Organisation, on_delete=models.CASCADE, related_name="appearance"
    )
    language = models.CharField(
        max_length=8,
        blank=True,
        choices=settings.LANGUAGES,
        help_text=_(
            "The language of pages for whoever has chosen none; empty: the one the browser asks for."
        ),
    )
    contact = models.CharField(
        max_length=200,
        blank=True,
        help_text=_("Whom to ask about releases: a line of text."),
    )
    logo = models.BinaryField(blank=True, default=bytes, help_text=_("A PNG, or nothing."))

    def __str__(self) -> str:
        return f"appearance of {self.organisation}"


class User(AbstractUser):
    """A person. What they may do is said by their memberships alone; `is_staff` manages people, never
    data."""

    is_demo = models.BooleanField(
        default=False,
        help_text=_("Made by the demo; refused when demo users are switched off."),
    )
    must_change_password = models.BooleanField(
        default=False,
        help_text=_("Has a one-time password: every page leads to choosing an own one first."),
    )
    one_time_until = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        help_text=_("When a one-time password that nobody has replaced stops working."),
    )
    access_ended = models.PositiveIntegerField(
        default=0,
        editable=False,
        help_text=_(
            "How often every session was ended for another reason than a new password."
        ),
    )

    identity = models.CharField(
        max_length=300,
        null=True,  # nobody has the empty one, so it can be unique
        blank=True,
        unique=True,
        editable=False,
        help_text=_("Issuer and subject at the identity provider, for who signs in there."),
    )

    def _get_session_auth_hash(self, secret: str | bytes | None = None) -> str:
        """What a session carries of its user, by Django's own salt, and how often access was ended: a session
        from before such an end fits no more, and does not come back to life when the person is let in
        again."""
        facts = f"{self.password}/{self.access_ended}"
        salt = "django.contrib.auth.models.AbstractBaseUser.get_session_auth_hash"
        return salted_hmac(salt, facts, secret=secret, algorithm="sha256").hexdigest()


class UserSession(AbstractBaseSession):
    """One place where somebody is signed in (session_store.py). A row without a user is a visitor's."""

    code = models.CharField(max_length=16, blank=True, db_index=True)  # names it on pages
    user = models.ForeignKey(User, null=True, on_delete=models.CASCADE, related_name="sessions")
    signed_in_at = models.DateTimeField(null=True)
    last_seen_at = models.DateTimeField(null=True)
    address = models.CharField(max_length=64, blank=True)
    browser = models.CharField(max_length=80, blank=True)

    @classmethod
    def get_session_store_class(cls) -> type[SessionBase]:
        # By its setting, because the store imports this module.
        store: type[SessionBase] = import_module(settings.SESSION_ENGINE).SessionStore
        return store


class Role(models.TextChoices):
    STEWARD = "steward", _("Steward")
    CUSTODIAN = "custodian", _("Custodian")
    ANALYST = "analyst", _("Analyst")
    AUDITOR = "auditor", _("Auditor")


class Membership(models.Model):
    """One role of one person in one organisation."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="memberships"
    )
    role = models.CharField(max_length=16, choices=Role)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "organisation", "role"], name="membership_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.user} is {self.role} of {self.organisation}"


class ApiToken(models.Model):
    """A bearer token of one person: only its SHA-256 is kept; scopes narrow what its owner may do."""

    code = models.CharField(max_length=16, unique=True, default=codes.new, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100)
    digest = models.CharField(max_length=64, unique=True)
    scopes = models.JSONField(default=list)  # of tokens.SCOPES
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    # When the audit log got an entry that it had ended with its owner's last sign-in (tokens.py).
    end_recorded_at = models.DateTimeField(null=True, editable=False)

    def __str__(self) -> str:
        return f"{self.name} of {self.user}"


class PasswordReset(models.Model):
    """A link, in a mail, with which somebody chooses a new password. Only the SHA-256 of its token is
    kept."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="password_resets")
    digest = models.CharField(max_length=64, unique=True)
    made_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"link of {self.user} from {self.made_at}"


class AuthenticatorApp(models.Model):
    """An app that shows one-time codes for one person (TOTP, RFC 6238)."""

    user = models.OneToOneField(
        User, on_delete=models.CASCADE, related_name="authenticator_app"
    )
    # Encrypted under the secret of the web: a copy of the database shows no codes.
    secret = models.CharField(max_length=250)
    last_step = models.PositiveBigIntegerField(default=0)  # a code works once
    added_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"authenticator app of {self.user}"


class Passkey(models.Model):
    """A key of one person, in a phone, a computer or a stick, which signs in beside a password (WebAuthn)."""

    code = models.CharField(max_length=16, unique=True, default=codes.new, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="passkeys")
    name = models.CharField(max_length=100)
    host = models.CharField(max_length=253)  # browsers use it there alone
    credential = models.BinaryField()  # name and public key, as the standard writes them
    digest = models.CharField(max_length=64, unique=True)  # SHA-256 of its name
    uses = models.PositiveBigIntegerField(default=0)  # as the key counts them; 0: it does not
    added_at = models.DateTimeField(auto_now_add=True)
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.name} of {self.user}"


class RecoveryCode(models.Model):
    """A code that stands in once for a second factor that is lost. Only a keyed digest is kept."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="recovery_codes")
    digest = models.CharField(max_length=64, unique=True)
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"recovery code of {self.user}"


class SignInAttempt(models.Model):
    """A sign-in that has not succeeded, counted to slow down guessing. Name and address are kept as keyed
    digests: people mistype passwords into the name field."""

    class Limit(models.TextChoices):
        """Of which attempts there were too many: of this name from this address, of the name, from the
        address."""

        HERE = "here"
        NAME = "name"
        ADDRESS = "address"

    name_digest = models.CharField(max_length=64, db_index=True)
    address_digest = models.CharField(max_length=64, db_index=True)
    at = models.DateTimeField(auto_now_add=True, db_index=True)
    # Empty: it counts. What was refused at once does not, and marks that a pause is on record.
    refused_by = models.CharField(max_length=8, blank=True, choices=Limit)

    def __str__(self) -> str:
        return f"attempt at {self.at}"


class SignInPlace(models.Model):
    """An address where somebody signed in lately, as a keyed digest: there strangers cannot use up their
    attempts (throttle.py, which also deletes the row after its time)."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="sign_in_places")
    address_digest = models.CharField(max_length=64)
    at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "address_digest"], name="place_once")
        ]

    def __str__(self) -> str:
        return f"place of {self.user} at {self.at}"
