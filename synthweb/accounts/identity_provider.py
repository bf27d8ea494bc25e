"""Signing in by OpenID Connect: who somebody is says an identity provider, and from its claims follows what
they may do.

Authlib does the protocol: discovery, authorisation code with PKCE, state and nonce, and the checks of the ID
token. Here stands who of the installation that is.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import urljoin, urlsplit

import requests
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.django_client import OAuth
from django.conf import settings
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from joserfc.errors import JoseError

from synthweb.accounts import selectors, services, sessions, throttle
from synthweb.accounts.models import Organisation, Role, User
from synthweb.lib.names import one_line

log = logging.getLogger(__name__)
SECONDS = 5  # to wait for each answer of the provider
BACKEND = "synthweb.accounts.backends.PeopleBackend"
BY_PROVIDER, CONFIRMS = "by_identity_provider", "confirms_by_identity_provider"
STAFF = "staff"
SKEW = 60  # seconds that two clocks may differ
FAILURES = (AuthlibBaseError, JoseError, requests.RequestException, ValueError, KeyError)


class NotSignedIn(Exception):
    """Why a sign-in at the provider did not become one here: a sentence for its page, and a word for the
    audit log."""

    def __init__(self, sentence: str, *, because: str) -> None:
        super().__init__(sentence)
        self.because = because


@dataclass(frozen=True, kw_only=True)
class Identity:
    """What the claims of a provider say about a person."""

    key: str
    username: str
    full_name: str
    email: str
    roles: frozenset[Role]
    manages_people: bool


def is_on() -> bool:
    """Whether people can sign in at an identity provider."""
    return bool(settings.OIDC_ISSUER)


def host() -> str:
    """The host of the identity provider, by which people know where they type their password; empty without
    one."""
    return urlsplit(settings.OIDC_ISSUER).hostname or ""


def begin(request: HttpRequest, *, confirms: bool = False) -> HttpResponse:
    """Send the browser to the provider. `confirms`: it is to ask for a proof even if the person is signed in
    there.

    Raises NotSignedIn if the provider does not answer."""
    request.session[CONFIRMS] = timezone.now().timestamp() if confirms else None
    extra = {"prompt": "login", "max_age": 0} if confirms else {}
    address = urljoin(settings.SITE_URL, reverse("accounts:provider_return"))
    try:
        answer: HttpResponse = _client().authorize_redirect(request, address, **extra)
    except FAILURES as error:
        raise _unreachable(error) from None
    return answer


def finish(request: HttpRequest) -> User:
    """Sign in whom the provider sent back. Raises NotSignedIn."""
    try:
        claims = _client().authorize_access_token(request)["userinfo"]
    except requests.RequestException as error:
        raise _unreachable(error) from None
    except FAILURES as error:
        log.warning("sign-in by the identity provider failed: %s", type(error).__name__)
        raise NotSignedIn(
            _("The identity provider did not confirm who you are. Try again."),
            because="no confirmation by the identity provider",
        ) from None
    confirms = request.session.pop(CONFIRMS, None)
    identity = identity_of(claims)
    if confirms is not None:
        return _confirmed(request, identity, claims, since=confirms)
    user = _person(identity)
    login(request, user, backend=BACKEND)
    request.session[BY_PROVIDER] = True
    services.signed_in(
        user=user, address=throttle.address_of(request), factor=services.BY_PROVIDER
    )
    return user


def identity_of(claims: Mapping[str, Any]) -> Identity:
    """What claims mean here: docs/security.md states the rule. Raises NotSignedIn without a usable name."""
    username = str(claims.get(settings.OIDC_USERNAME_CLAIM) or "")
    if not username:
        raise NotSignedIn(
            _(
                "The identity provider does not say your user name. Tell whoever operates this installation."
            ),
            because="no user name in the claims",
        )
    held = claims.get(settings.OIDC_ROLES_CLAIM) or []
    values = {held} if isinstance(held, str) else {str(value) for value in held}
    names = {role for value, role in _mapping().items() if value in values}
    return Identity(
        key=f"{claims['iss']}|{claims['sub']}",
        username=User.normalize_username(username),
        full_name=str(claims.get("name") or "")[:150],
        email=str(claims.get("email") or ""),
        roles=frozenset(Role(name) for name in names if name != STAFF),
        manages_people=STAFF in names,
    )


def forget_configuration() -> None:
    """Read the settings, and what the provider says of itself, again."""
    _client.cache_clear()


def _person(identity: Identity) -> User:
    """The person with this identity, as the claims say; a new one the first time."""
    if not identity.roles:
        services.lose_roles(identity=identity.key)
        raise NotSignedIn(
            _(
                "Your account at the identity provider has no role here. Ask whoever manages people there."
            ),
            because="no role in the claims",
        )
    user = User.objects.filter(identity=identity.key).first()
    if user is None:
        if User.objects.filter(username__iexact=identity.username).exists():
            # Never by name alone: a provider's name may be somebody else's here.
            raise NotSignedIn(
                _(
                    "Somebody here has your user name already. Whoever operates this installation can "
                    "connect the two."
                ),
                because="the user name is taken",
            )
        user = services.create_user(
            actor="identity provider",
            organisation=_organisation(),
            person=services.NewPerson(
                username=identity.username,
                full_name=one_line(identity.full_name),
                email=identity.email,
                is_staff=identity.manages_people,
                identity=identity.key,
            ),
            roles=identity.roles,
            password=None,
            must_change_password=False,
        )
    services.follow_claims(
        user=user, roles=identity.roles, manages_people=identity.manages_people
    )
    if not selectors.may_sign_in(user):
        raise NotSignedIn(
            _("Your account here is not in use. Ask whoever manages people."),
            because="account not in use",
        )
    return user


def _confirmed(
    request: HttpRequest, identity: Identity, claims: Mapping[str, Any], *, since: float
) -> User:
    user = request.user
    fresh = float(claims.get("auth_time") or 0) >= since - SKEW
    if not isinstance(user, User) or user.identity != identity.key or not fresh:
        raise NotSignedIn(
            _(
                "The identity provider did not ask you again, or you signed in there as somebody else."
            ),
            because="not confirmed again by the identity provider",
        )
    sessions.prove(request.session)
    services.confirmed(user=user, address=throttle.address_of(request))
    return user


def _unreachable(error: Exception) -> NotSignedIn:
    log.error("the identity provider cannot be reached: %s", type(error).__name__)
    return NotSignedIn(
        _(
            "The identity provider does not answer. Try again in a while; the emergency account signs in "
            "by its password."
        ),
        because="identity provider unreachable",
    )


def _organisation() -> Organisation:
    name = settings.OIDC_ORGANISATION
    rows = Organisation.objects.order_by("pk")
    chosen = list(rows.filter(name=name) or rows.filter(code=name) if name else rows[:2])
    if len(chosen) != 1:
        raise NotSignedIn(
            _(
                "It is not known to which organisation you belong. Tell whoever operates this installation."
            ),
            because="SYNTHWEB_OIDC_ORGANISATION names no organisation",
        )
    return chosen[0]


def _mapping() -> dict[str, str]:
    """Value of the claim → role, or `staff`."""
    pairs = (entry.partition("=") for entry in settings.OIDC_ROLES)
    return {value.strip(): role.strip() for value, _sign, role in pairs}


@lru_cache(maxsize=1)
def _client() -> Any:
    return OAuth().register(
        "provider",
        client_id=settings.OIDC_CLIENT_ID,
        client_secret=settings.OIDC_CLIENT_SECRET,
        server_metadata_url=settings.OIDC_ISSUER.rstrip("/")
        + "/.well-known/openid-configuration",
        client_kwargs={
            "scope": settings.OIDC_SCOPES,
            "code_challenge_method": "S256",
            "default_timeout": SECONDS,
        },
    )
