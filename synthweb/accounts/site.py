"""The administration: for auditors, for those who manage people, and for the operator of the installation.
Everything in it is read only; what changes something is a page of the application, with its own rules and
audit entry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from csp.constants import UNSAFE_EVAL, UNSAFE_INLINE
from csp.decorators import csp_update
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from unfold.sites import UnfoldAdminSite

from synthweb.accounts import selectors

# unfold's Alpine evaluates the expressions in its templates, which also carry scripts and styles of their
# own. Nothing but its own pages may do so, and these too speak to our own server alone.
POLICY = {"script-src": [UNSAFE_EVAL, UNSAFE_INLINE], "style-src-elem": [UNSAFE_INLINE]}


class Administration(UnfoldAdminSite):  # type: ignore[misc]  # unfold has no types
    """Django's admin site with our own idea of who may enter."""

    enable_nav_sidebar = True

    def has_permission(self, request: HttpRequest) -> bool:
        """Auditors, staff and superusers."""
        return selectors.may_enter_administration(request.user)

    def admin_view(
        self, view: Callable[..., Any], cacheable: bool = False
    ) -> Callable[..., Any]:
        """Every page of the site passes here, so that no other page gets its looser content policy."""
        return csp_update(POLICY)(super().admin_view(view, cacheable))

    def login(
        self,
        request: HttpRequest,
        extra_context: dict[str, Any] | None = None,  # noqa: ARG002
    ) -> HttpResponse:
        """There is one page to sign in, and this is not it."""
        if self.has_permission(request):
            return redirect("admin:index")
        # No redirect: the sign-in page sends signed-in people back here, in a loop.
        if request.user.is_authenticated:
            raise PermissionDenied(
                "The administration is for auditors and for those who manage people."
            )
        return redirect_to_login(request.GET.get("next") or reverse("admin:index"))
