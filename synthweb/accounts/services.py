"""Changing people, roles and tokens: each function is one transaction and writes the audit log."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth import password_validation
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from synthweb.accounts import selectors, signals, tokens
from synthweb.accounts.models import (
    ApiToken,
    AuthenticatorApp,
    Membership,
    Organisation,
    PasswordReset,
    Role,
    User,
    UserSession,
)
from synthweb.accounts.permissions import Need
from synthweb.audit import services as audit
from synthweb.lib import names, numbers

SCOPES = tokens.SCOPES
BY_PROVIDER = "identity provider"  # in the place of a second factor
Actor = User | str  # a person, or "system" for a command


def one_time_password() -> str:
    """A password to hand over once: four groups, easy to read aloud, 79 bits."""
    # Without 0, 1, i, l and o, which are taken for one another when somebody reads them aloud.
    alphabet = "23456789abcdefghjkmnpqrstuvwxyz"
    return "-".join("".join(secrets.choice(alphabet) for _ in range(4)) for _ in range(4))


def _one_time_until() -> datetime:
    """When a one-time password that is made now stops working."""
    return timezone.now() + timedelta(hours=settings.ONE_TIME_PASSWORD_HOURS)


@transaction.atomic
def create_organisation(*, actor: Actor, name: str) -> Organisation:
    """A new organisation without people."""
    organisation = Organisation(name=names.one_line(name))
    organisation.full_clean()
    organisation.save()
    audit.record(
        actor=actor,
        action="organisation.created",
        target=("organisation", organisation.code),
        organisation=organisation,
        detail={"name": organisation.name},
    )
    return organisation


@transaction.atomic
def set_rho(*, custodian: User, rho: float | None) -> None:
    """Set the one ρ of all columns of unknown values that the custodian's organisation describes from now on;
    None: each has its own. What is described already stays as it is."""
    organisation = selectors.organisation_of(custodian)
    selectors.require(custodian, Need.GRANT)
    organisation.rho = rho
    organisation.full_clean()
    organisation.save(update_fields=["rho"])
    audit.record(
        actor=custodian,
        action="organisation.rho_set",
        target=("organisation", organisation.code),
        organisation=organisation,
        detail={"rho": "" if rho is None else f"{rho:g}"},
    )


@transaction.atomic
def require_second_factor(*, actor: Actor, organisation: Organisation, required: bool) -> None:
    """Say whether everybody of an organisation needs a second factor. Who has none is led to set one up at
    their next request. Saying it twice is no error, and one entry."""
    # Read again and locked: of two people who say the same at once, one writes the entry.
    organisation = Organisation.objects.select_for_update().get(pk=organisation.pk)
    if organisation.second_factor_required == required:
        return
    organisation.second_factor_required = required
    organisation.save(update_fields=["second_factor_required"])
    audit.record(
        actor=actor,
        action="organisation.second_factor_set",
        target=("organisation", organisation.code),
        organisation=organisation,
        detail={"required": required},
    )


@dataclass(frozen=True, kw_only=True)
class NewPerson:
    """Somebody who gets an account. is_staff: manages people."""

    username: str
    email: str = ""
    full_name: str = ""
    is_staff: bool = False
    is_demo: bool = False
    identity: str | None = None


@transaction.atomic
def create_user(
    *,
    actor: Actor,
    organisation: Organisation,
    person: NewPerson,
    roles: Collection[Role],
    password: str | None,
    must_change_password: bool = True,
) -> User:
    """A person with their roles; the password is handed over by the caller and has to be replaced unless said
    so. None: they sign in at an identity provider alone."""
    if not roles:
        raise ValidationError(
            {"roles": _("Choose at least one role: without one a person sees nothing.")}
        )
    user = User(
        username=person.username,
        email=person.email,
        first_name=names.one_line(person.full_name, field="full_name"),
        is_staff=person.is_staff,
        is_demo=person.is_demo,
        identity=person.identity,
        must_change_password=must_change_password,
        one_time_until=_one_time_until() if must_change_password else None,
    )
    user.set_password(password)
    user.full_clean()
    user.save()
    _write_roles(user, organisation=organisation, roles=roles)
    audit.record(
        actor=actor,
        action="user.created",
        target=_target(user),
        organisation=organisation,
        detail={
            "username": user.username,
            "roles": sorted(roles),
            "manages_people": person.is_staff,
            "demo": person.is_demo,
        },
    )
    return user


@transaction.atomic
def set_roles(
    *, actor: User, person: User, organisation: Organisation, roles: Collection[Role]
) -> None:
    """Replace somebody's roles. Nobody changes their own: a second pair of eyes for every new power."""
    if actor.pk == person.pk:
        raise PermissionDenied(
            "Nobody changes their own roles; ask somebody else who manages people."
        )
    if not roles:
        raise ValidationError(
            {
                "roles": _(
                    "Choose at least one role; to take away everything, deactivate the person."
                )
            }
        )
    before = sorted(Membership.objects.filter(user=person).values_list("role", flat=True))
    lost = sorted(set(before) - set(roles))
    Membership.objects.filter(user=person, organisation=organisation).delete()
    _write_roles(person, organisation=organisation, roles=roles)
    # Only a loss ends sessions and tokens: an additional role takes nothing from anybody.
    if lost:
        end_access(person=person, actor=actor, because=f"lost the role {' and '.join(lost)}")
    audit.record(
        actor=actor,
        action="user.roles_set",
        target=_target(person),
        organisation=organisation,
        detail={"username": person.username, "before": before, "after": sorted(roles)},
    )


@transaction.atomic
def follow_claims(*, user: User, roles: Collection[Role], manages_people: bool) -> None:
    """Give somebody exactly the roles that follow from the claims of the identity provider."""
    before = sorted(Membership.objects.filter(user=user).values_list("role", flat=True))
    if before == sorted(roles) and user.is_staff == manages_people:
        return
    organisation = selectors.organisation_of(user)
    lost = sorted(set(before) - set(roles))
    Membership.objects.filter(user=user).delete()
    _write_roles(user, organisation=organisation, roles=roles)
    User.objects.filter(pk=user.pk).update(is_staff=manages_people)
    user.is_staff = manages_people
    if lost:
        end_access(
            person=user,
            actor="identity provider",
            because=f"lost the role {' and '.join(lost)}",
        )
    audit.record(
        actor="identity provider",
        action="user.roles_set",
        target=_target(user),
        organisation=organisation,
        detail={
            "username": user.get_username(),
            "before": before,
            "after": sorted(roles),
            "manages_people": manages_people,
        },
    )


@transaction.atomic
def lose_roles(*, identity: str) -> None:
    """The identity provider gives somebody no role any more: what they have open ends."""
    user = User.objects.filter(identity=identity).first()
    if user is not None:
        end_access(person=user, actor="identity provider", because="no role in the claims")


@transaction.atomic
def link_identity(*, user: User, identity: str) -> None:
    """From now on somebody who has an account signs in at the identity provider."""
    user.identity = identity
    user.full_clean(exclude=["password"])
    user.save(update_fields=["identity"])
    record_change(user=user, actor="system", action="user.identity_linked")


def provider_refused(*, because: str, address: str) -> None:
    """Record that a sign-in at the identity provider did not become one here."""
    _record_attempt(None, action="user.sign_in_failed", address=address, because=because)


@transaction.atomic
def set_active(*, actor: User, person: User, organisation: Organisation, active: bool) -> None:
    """Let somebody in or keep them out. Whoever is kept out loses sessions and tokens for good: let in again,
    they sign in again and make new tokens."""
    if actor.pk == person.pk:
        raise PermissionDenied(
            "Nobody deactivates themselves; ask somebody else who manages people."
        )
    # update() writes this column alone, whatever else the caller's object holds.
    User.objects.filter(pk=person.pk).update(is_active=active)
    person.is_active = active
    if not active:
        end_access(person=person, actor=actor, because="deactivated")
    audit.record(
        actor=actor,
        action="user.activated" if active else "user.deactivated",
        target=_target(person),
        organisation=organisation,
        detail={"username": person.username},
    )


@transaction.atomic
def leave(*, actor: Actor, person: User) -> None:
    """Somebody leaves for good: no sign-in, no session, no token, no second factor. What they did stays on
    record."""
    User.objects.filter(pk=person.pk).update(is_active=False, is_staff=False)
    person.refresh_from_db()
    end_access(person=person, actor=actor, because="left")
    for rows in (
        person.sessions,
        person.password_resets,
        person.recovery_codes,
        person.passkeys,
        person.sign_in_places,
    ):
        rows.all().delete()
    AuthenticatorApp.objects.filter(user=person).delete()
    audit.record(
        actor=actor,
        action="user.left",
        target=_target(person),
        organisation=_organisation(person),
        detail={"username": person.get_username()},
    )


@transaction.atomic
def give_one_time_password(*, actor: User, person: User, organisation: Organisation) -> str:
    """A fresh one-time password for somebody who lost theirs; it ends their sessions."""
    if actor.pk == person.pk:
        raise PermissionDenied("Change your own password on your account page.")
    password = one_time_password()
    # The new hash ends every session; save() revokes the tokens (passwords.RevokesTokens).
    person.set_password(password)
    person.must_change_password = True
    person.one_time_until = _one_time_until()
    person.save(update_fields=["password", "must_change_password", "one_time_until"])
    _tell(person, "user.password_reset")
    audit.record(
        actor=actor,
        action="user.password_reset",
        target=_target(person),
        organisation=organisation,
        detail={"username": person.username},
    )
    return password


@transaction.atomic
def change_password(*, user: User, password: str, by_mail: bool = False) -> int:
    """Somebody's own new password; the caller has checked the old one, or the link of a mail. How many API
    tokens it revoked: passwords.py sees to that."""
    password_validation.validate_password(password, user)
    if user.check_password(password):
        raise ValidationError(_("Choose another password than the present one."))
    # Counted before save(), which revokes them.
    usable = tokens_in_use(user)
    user.set_password(password)
    user.must_change_password = False
    user.one_time_until = None
    user.save(update_fields=["password", "must_change_password", "one_time_until"])
    # Links that were mailed before open nothing any more.
    PasswordReset.objects.filter(user=user).delete()
    action = "user.password_reset_by_mail" if by_mail else "user.password_changed"
    _tell(user, action)
    audit.record(
        actor=user, action=action, target=_target(user), organisation=_organisation(user)
    )
    return usable


@transaction.atomic
def request_password_reset(*, name: str, address: str) -> None:
    """Somebody who says that they are `name`, by user name or e-mail, asks for a mail with which to choose a
    new password.

    The entry of the log is the same for everybody, and the mail is sent by another process: neither answer
    nor time tells whether there is such a person."""
    user = selectors.resettable(name)
    if user is not None:
        signals.reset_requested.send(sender=User, person=user)
    _record_attempt(
        user,
        action="user.reset_requested",
        address=address,
        because="" if user else "unknown name, or no e-mail can be sent",
    )


def session_idle(*, user: User) -> None:
    """Record that a session ended because nobody used it."""
    audit.record(
        actor=user,
        action="session.idle",
        target=_target(user),
        organisation=_organisation(user),
    )


@transaction.atomic
def end_session(*, user: User, code: str) -> bool:
    """End one of somebody's own sessions. Whether there was one."""
    ended, _ = UserSession.objects.filter(user=user, code=code).exclude(code="").delete()
    if ended:
        audit.record(
            actor=user,
            action="session.ended",
            target=("session", code),
            organisation=_organisation(user),
        )
    return bool(ended)


@transaction.atomic
def end_other_sessions(*, user: User, present: str) -> int:
    """End every session of somebody's own but the one with the code `present`. How many were ended."""
    ended, _ = UserSession.objects.filter(user=user).exclude(code=present).delete()
    if ended:
        audit.record(
            actor=user,
            action="session.ended",
            target=_target(user),
            organisation=_organisation(user),
            detail={"sessions": ended},
        )
    return ended


def record_change(*, user: User, actor: Actor, action: str) -> None:
    """Record a change of how somebody signs in, and have them told of it."""
    _tell(user, action)
    audit.record(
        actor=actor,
        action=action,
        target=_target(user),
        organisation=_organisation(user),
        detail={"username": user.get_username()},
    )


def second_factor_failed(*, user: User, address: str, because: str) -> None:
    """Record that somebody knew a password and had no second factor."""
    _record_attempt(user, action="user.sign_in_failed", address=address, because=because)


def confirmed(*, user: User, address: str) -> None:
    """Record that somebody confirmed by their password that it is them."""
    audit.record(
        actor=user,
        action="user.confirmed",
        target=_target(user),
        organisation=_organisation(user),
        detail={"address": address},
    )


def tokens_in_use(user: User) -> int:
    """How many tokens of somebody's open anything."""
    # Negated below, because `expires_at > now` would lose the tokens that never expire (NULL).
    expired = Q(expires_at__lte=timezone.now())
    return ApiToken.objects.filter(~expired, user=user, revoked_at=None).count()


@transaction.atomic
def end_access(*, person: User, actor: Actor, because: str) -> None:
    """Revoke every API token of somebody's and end every session. `actor` is recorded, `because` too."""
    # F() lets the database count, so that two calls at once do not write the same number.
    User.objects.filter(pk=person.pk).update(access_ended=F("access_ended") + 1)
    person.refresh_from_db(fields=["access_ended"])
    revoke_tokens(person=person, actor=actor, because=because)


@transaction.atomic
def revoke_tokens(*, person: User, actor: Actor, because: str) -> None:
    """Revoke every API token of somebody's."""
    # Locked in one order: no two calls deadlock, and each revocation is recorded once.
    held = list(
        ApiToken.objects.select_for_update().filter(user=person, revoked_at=None).order_by("pk")
    )
    ApiToken.objects.filter(pk__in=[token.pk for token in held]).update(
        revoked_at=timezone.now()
    )
    for token in held:
        audit.record(
            actor=actor,
            action="token.revoked",
            target=("token", token.code),
            organisation=_organisation(person),
            detail={"of": person.username, "because": because},
        )


@transaction.atomic
def create_token(
    *, user: User, name: str, scopes: Collection[str], days: int
) -> tuple[ApiToken, str]:
    """A token of somebody's own, and its text: the only time anybody sees it."""
    unknown = set(scopes) - SCOPES.keys()
    if unknown or not scopes:
        raise ValidationError(
            {"scopes": _("Choose at least one of %(scopes)s.") % {"scopes": ", ".join(SCOPES)}}
        )
    text, digest = tokens.mint()
    token = ApiToken(
        user=user,
        name=names.one_line(name),
        digest=digest,
        scopes=sorted(scopes),
        expires_at=timezone.now() + timedelta(days=days),
    )
    token.full_clean()
    token.save()
    audit.record(
        actor=user,
        action="token.created",
        target=("token", token.code),
        organisation=_organisation(user),
        detail={"scopes": token.scopes, "days": days},
    )
    return token, text


@transaction.atomic
def revoke_token(*, user: User, token: ApiToken) -> None:
    """Make a token useless for ever. Doing it twice is no error."""
    # One conditional UPDATE: of two clicks, only the one that changed the row writes an entry.
    if ApiToken.objects.filter(pk=token.pk, user=user, revoked_at=None).update(
        revoked_at=timezone.now()
    ):
        audit.record(
            actor=user,
            action="token.revoked",
            target=("token", token.code),
            organisation=_organisation(user),
        )


def signed_in(*, user: User, address: str, factor: str = "") -> None:
    """Record that somebody signed in, from which address and by which second factor. By password where people
    sign in at an identity provider: that is a deed of its own."""
    emergency = settings.OIDC_ISSUER and factor != BY_PROVIDER
    audit.record(
        actor=user,
        action="user.signed_in_in_emergency" if emergency else "user.signed_in",
        target=_target(user),
        organisation=_organisation(user),
        detail={"address": address, **({"second_factor": factor} if factor else {})},
    )


def sign_in_failed(*, username: str, address: str) -> None:
    """Record a sign-in that was refused.

    A name that nobody has is not recorded: people type passwords into the field for the name. Known and
    unknown names take the same queries and write the same entry, so the time of an answer does not tell them
    apart.
    """
    user = User.objects.filter(username=username).first()
    _record_attempt(
        user, action="user.sign_in_failed", address=address, because=_why_refused(user)
    )


def sign_in_paused(*, username: str, address: str) -> None:
    """Record that guessing was stopped: sign-ins under this name, or from this address, are refused for a
    while."""
    user = User.objects.filter(username=username).first()
    _record_attempt(
        user, action="user.sign_in_paused", address=address, because="too many attempts"
    )


def _record_attempt(user: User | None, *, action: str, address: str, because: str) -> None:
    numbers.sign_in_refused(
        numbers.PAUSED if action == "user.sign_in_paused" else numbers.FAILED
    )
    audit.record(
        actor="anonymous",
        action=action,
        target=_target(user) if user else None,
        organisation=_organisation(user) if user else _only_organisation(),
        detail={
            "username": user.username if user else "",
            "address": address,
            "because": because,
        },
    )


def _why_refused(user: User | None) -> str:
    if user is None:
        return "unknown name"
    if not selectors.may_use_password(user.get_username()):
        return "passwords are off: sign in at the identity provider"
    if selectors.one_time_password_expired(user):
        return "one-time password expired"
    return "wrong password" if selectors.may_sign_in(user) else "account not in use"


def _tell(person: User, action: str) -> None:
    """Have the person told of a change of how they sign in. Before the audit log, behind which all writers
    wait."""
    signals.account_changed.send(sender=User, person=person, action=action)


def _only_organisation() -> Organisation | None:
    """The organisation of an installation that has just one: its auditors see attempts under unknown names
    too."""
    organisations = list(Organisation.objects.order_by("pk")[:2])
    return organisations[0] if len(organisations) == 1 else None


def _write_roles(user: User, *, organisation: Organisation, roles: Collection[Role]) -> None:
    # selectors.organisation_of takes the first membership and would ignore a second.
    if Membership.objects.filter(user=user).exclude(organisation=organisation).exists():
        raise ValidationError(
            _("This person belongs to another organisation; nobody belongs to two.")
        )
    Membership.objects.bulk_create(
        Membership(user=user, organisation=organisation, role=role)
        for role in sorted(set(roles))
    )


def _target(user: User) -> tuple[str, str]:
    return "user", str(user.pk)


def _organisation(user: User) -> Organisation | None:
    membership = Membership.objects.filter(user=user).select_related("organisation").first()
    return membership.organisation if membership else None
