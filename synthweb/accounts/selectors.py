"""Who somebody is and what they may do. Every other app asks here; nobody reads memberships by themselves."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import Http404
from django.utils import timezone

from synthweb.accounts.models import ApiToken, Membership, Organisation, Role, User
from synthweb.accounts.permissions import Need

Person = AbstractBaseUser | AnonymousUser
UNSEEN_DAYS = 7
"""API tokens of somebody who signs in at an identity provider end so many days after they last did: who is
removed there loses them without anybody's doing. Programs of people who work are not stopped, because those
sign in at least once a week."""


@dataclass(frozen=True, kw_only=True)
class Me:
    """What the frame of a page needs to know about whoever looks at it."""

    organisation_name: str = ""
    roles: frozenset[Role] = frozenset()
    is_demo: bool = False
    manages_people: bool = False

    @property
    def role_names(self) -> str:
        return (
            ", ".join(str(role.label) for role in Role if role in self.roles) or "no role yet"
        )

    @property
    def sees_datasets(self) -> bool:
        return bool(self.roles & Need.VIEW.roles)

    sees_runs = sees_datasets
    sees_ledger = sees_datasets

    @property
    def asks_for_runs(self) -> bool:
        return bool(self.roles & Need.SPEND.roles)

    @property
    def sees_administration(self) -> bool:
        return self.manages_people or bool(self.roles & Need.LOG.roles)


def may_sign_in(user: User) -> bool:
    """Active, not a demo user where those are switched off, and without a one-time password that has
    expired."""
    return (
        user.is_active
        and (settings.DEMO_USERS or not user.is_demo)
        and not one_time_password_expired(user)
    )


def one_time_password_expired(user: User) -> bool:
    """Whether somebody's password is a one-time password whose time is over."""
    until = user.one_time_until
    return user.must_change_password and until is not None and until <= timezone.now()


def may_use_password(username: str) -> bool:
    """Whether an account may sign in by password: every one, or where people sign in at an identity provider
    the one that the operator keeps for the day when it is down, if it has a second factor."""
    if not settings.OIDC_ISSUER:
        return True
    return username == settings.EMERGENCY_USER and emergency_user() is not None


def emergency_user() -> User | None:
    """The account for the day when the identity provider is down; None if it could not sign in."""
    strong = Q(authenticator_app__isnull=False) | Q(passkeys__isnull=False)
    user = User.objects.filter(strong, username=settings.EMERGENCY_USER).first()
    return user if user is not None and may_sign_in(user) else None


def without_sign_in() -> QuerySet[User]:
    """Where people sign in at an identity provider: those who can sign in nowhere, because it does not know
    them, by name."""
    people = User.objects.filter(is_active=True, identity=None, is_demo=False)
    return people.exclude(username=settings.EMERGENCY_USER).order_by("username")


def resettable(name: str) -> User | None:
    """Who can choose a new password by mail: the one person with this user name, or with this e-mail, who may
    sign in."""
    named = list(
        User.objects.filter(Q(username=name) | Q(email__iexact=name)).exclude(email="")[:2]
    )
    # Demo users have addresses that are made up. Two people with one mailbox: it is not known who asks.
    usable = (
        len(named) == 1
        and may_sign_in(named[0])
        and not named[0].is_demo
        and named[0].has_usable_password()
        and may_use_password(named[0].username)
    )
    return named[0] if usable and settings.EMAIL_HOST else None


def organisation_of(user: Person) -> Organisation:
    """The one organisation a person belongs to; PermissionDenied for who belongs to none."""
    membership = _memberships(user).select_related("organisation").first()
    if membership is None:
        raise PermissionDenied(
            "You belong to no organisation yet; ask whoever manages people to add you."
        )
    return membership.organisation


def with_second_factor(users: QuerySet[User]) -> QuerySet[User]:
    """With whether the organisation of each needs a second factor of everybody, which `needs_second_factor`
    then reads."""
    strict = Membership.objects.filter(
        user=OuterRef("pk"), organisation__second_factor_required=True
    )
    return users.annotate(second_factor_by_organisation=Exists(strict))


def needs_second_factor(user: User) -> bool:
    """Whether the organisation of `user` needs a second factor of everybody."""
    known: bool | None = getattr(user, "second_factor_by_organisation", None)
    if known is not None:
        return known
    return Membership.objects.filter(
        user_id=user.pk, organisation__second_factor_required=True
    ).exists()


def roles_of(user: Person) -> set[Role]:
    """Every role somebody holds; empty for a stranger, an inactive user and nobody."""
    return {Role(role) for role in _memberships(user).values_list("role", flat=True)}


def every_role_of(person: User) -> list[Role]:
    """The roles on record, of inactive people too: what a page about them shows."""
    return [Role(membership.role) for membership in person.memberships.all()]


def can(user: Person, need: Need) -> bool:
    """Whether one of the roles of `user` meets the need."""
    return not need.roles.isdisjoint(roles_of(user))


def require(user: Person, need: Need) -> None:
    """Raise PermissionDenied unless one of the roles of `user` meets the need."""
    if not can(user, need):
        wanted = " or ".join(role.label.lower() for role in Role if role in need.roles)
        raise PermissionDenied(f"This needs the role {wanted}, which you do not have.")


def me(user: Person) -> Me:
    """What base.html shows and hides."""
    if not isinstance(user, User):
        return Me()
    memberships = list(_memberships(user).select_related("organisation"))
    return Me(
        organisation_name=memberships[0].organisation.name if memberships else "",
        roles=frozenset(Role(membership.role) for membership in memberships),
        is_demo=user.is_demo,
        manages_people=user.is_staff or user.is_superuser,
    )


def people_of(organisation: Organisation) -> QuerySet[User]:
    """Everybody of an organisation, by name."""
    return (
        User.objects.filter(memberships__organisation=organisation)
        # Somebody with two roles has two memberships and would be listed twice.
        .distinct()
        .prefetch_related("memberships")
        .order_by("username")
    )


def without_second_factor(organisation: Organisation) -> QuerySet[User]:
    """The active people of an organisation who sign in by a password alone, by name. Whoever has no password
    here has the second factor of the identity provider."""
    return (
        people_of(organisation)
        .filter(is_active=True, authenticator_app=None, passkeys=None)
        .exclude(password__startswith=UNUSABLE_PASSWORD_PREFIX)
    )


def holders_of(organisation: Organisation, role: Role) -> QuerySet[User]:
    """Active people with one role: whom a release can be shared with, who can grant budget."""
    return people_of(organisation).filter(
        is_active=True,
        pk__in=Membership.objects.filter(organisation=organisation, role=role).values("user"),
    )


def is_operator(user: Person) -> bool:
    """Whoever runs the installation: sees every organisation in the administration, and changes nothing
    there."""
    return isinstance(user, User) and may_sign_in(user) and user.is_superuser


def manages_people(user: Person) -> bool:
    """Whether somebody manages the people of their organisation."""
    return isinstance(user, User) and may_sign_in(user) and user.is_staff


def may_enter_administration(user: Person) -> bool:
    """Auditors, those who manage people, and the operator."""
    return is_operator(user) or manages_people(user) or can(user, Need.LOG)


def managed_organisation(user: Person) -> Organisation:
    """The organisation whose people `user` manages; PermissionDenied for who manages none."""
    if not manages_people(user):
        raise PermissionDenied("Only those who manage people may do this.")
    return organisation_of(user)


def managed_person(user: Person, pk: int) -> User:
    """A person whom `user` manages; 404 for everybody else's."""
    person = people_of(managed_organisation(user)).filter(pk=pk).first()
    if person is None:
        raise Http404("No such person here.")
    # Otherwise whoever manages people could give the operator a one-time password and use it.
    if person.is_superuser and not is_operator(user):
        raise PermissionDenied(
            "The operator sees every organisation: only an operator changes one."
        )
    return person


def tokens_of(user: Person) -> QuerySet[ApiToken]:
    """Somebody's own API tokens, the newest first."""
    if not isinstance(user, User):
        return ApiToken.objects.none()
    return ApiToken.objects.filter(user=user).select_related("user").order_by("-created_at")


def token_of(user: Person, code: str) -> ApiToken:
    """One of somebody's own tokens; 404 for everybody else's."""
    token = tokens_of(user).filter(code=code).first()
    if token is None:
        raise Http404("No such token.")
    return token


def token_ends(token: ApiToken) -> datetime | None:
    """When a token ends: on its own day or, of who signs in at an identity provider, `UNSEEN_DAYS` after they
    last did. None: not by itself."""
    owner = token.user
    if not (owner.identity or settings.OIDC_ISSUER):
        return token.expires_at
    unseen = (owner.last_login or owner.date_joined) + timedelta(days=UNSEEN_DAYS)
    return min(unseen, token.expires_at or unseen)


def token_with(digest: str) -> ApiToken | None:
    """The token with this digest: not revoked, not expired on its own day, of somebody who may sign in.
    `token_ends` has to be asked besides."""
    token = (
        ApiToken.objects.select_related("user").filter(digest=digest, revoked_at=None).first()
    )
    if token is None or (token.expires_at is not None and token.expires_at <= timezone.now()):
        return None
    # A token never opens more than its owner could: it stops working with their account.
    return token if may_sign_in(token.user) else None


def _memberships(user: Person) -> QuerySet[Membership]:
    # Here and not in each caller, so that every check of a role fails for inactive people.
    if not (isinstance(user, User) and user.is_active):
        return Membership.objects.none()
    return Membership.objects.filter(user=user).order_by("pk")
