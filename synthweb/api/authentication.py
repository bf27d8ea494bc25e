"""Who calls: a bearer token, or the browser's own session (for the reference page, with CSRF protection)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from rest_framework import authentication, exceptions, permissions
from rest_framework.request import Request

from synthweb.accounts import reauthentication, tokens
from synthweb.accounts.models import ApiToken, User

if TYPE_CHECKING:
    from rest_framework.views import APIView  # whose module loads this one, by the settings


SCOPES_UNLESS_SAID = {"read_scope": "read", "write_scope": "spend"}


def caller(request: Request) -> User:
    """Who sent this request; the views behind the default permissions have somebody."""
    if not isinstance(request.user, User):
        raise exceptions.NotAuthenticated
    return request.user


def require_recent_sign_in(request: Request) -> None:
    """Of a browser session, which may have been left open: raise PermissionDenied unless its person has
    signed in or confirmed that it is them a short while ago. A token was made by somebody who had."""
    if not isinstance(request.auth, ApiToken):
        reauthentication.require_recent(request)


class BearerAuthentication(authentication.BaseAuthentication):
    """`Authorization: Bearer <token>`. An unknown, expired or revoked token is one and the same refusal,
    and so is one whose owner has not signed in at the identity provider for a while."""

    keyword = "bearer"

    def authenticate(self, request: Request) -> tuple[AbstractBaseUser, ApiToken] | None:
        words = authentication.get_authorization_header(request).split()
        # Not a refusal: the session, asked next, may say who this is.
        if not words or words[0].lower() != self.keyword.encode():
            return None
        if len(words) != 2:
            raise exceptions.AuthenticationFailed(
                "Send the header as: Authorization: Bearer <token>"
            )
        # Every byte is a character of Latin-1: a hostile header is an unknown token and no 500.
        token = tokens.authenticate(words[1].decode("latin-1"))
        if token is None:
            raise exceptions.AuthenticationFailed(
                (
                    "This token is unknown, expired or revoked, or its owner has to sign in at the identity "
                    "provider again."
                )
                if settings.OIDC_ISSUER
                else "This token is unknown, expired or revoked."
            )
        return token.user, token

    def authenticate_header(self, _request: Request) -> str:
        return 'Bearer realm="synthweb"'


def scope_of(view: object, method: str) -> str:
    """The scope that a token needs there: what reads wants `read`, the rest what the view says."""
    name = "read_scope" if method in permissions.SAFE_METHODS else "write_scope"
    return str(getattr(view, name, SCOPES_UNLESS_SAID[name]))


class HasScope(permissions.BasePermission):
    """A token may do what its scopes say: `read` for safe methods and `spend` for the rest, unless the view
    says otherwise. A browser session carries every scope of its user; roles are checked by the selectors in
    any case."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        if not isinstance(request.auth, ApiToken):
            return True
        scope = scope_of(view, request.method or "")
        self.message = f"This token lacks the scope '{scope}'."
        return scope in request.auth.scopes
