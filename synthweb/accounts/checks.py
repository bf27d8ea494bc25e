"""What `manage.py check --deploy` says about people and an identity provider (docs/settings.md lists the
ids).

synthweb.W004   people whom the identity provider does not know, and whose passwords are refused
synthweb.W005   nobody can sign in while the identity provider is down
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Tags, Warning, register
from django.db import DatabaseError

from synthweb.accounts import selectors


@register(Tags.security, deploy=True)
# Django's signature
def check_sign_ins(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:  # noqa: ARG001
    """Both of the above."""
    if not settings.OIDC_ISSUER:
        return []
    try:
        refused = list(selectors.without_sign_in().values_list("username", flat=True))
        emergency = selectors.emergency_user()
    except DatabaseError:
        # Before the first `migrate` there is nobody.
        return []
    warnings: list[CheckMessage] = []
    if refused:
        warnings.append(
            Warning(
                "These people cannot sign in: passwords are off, and the identity provider does not know "
                f"them: {', '.join(refused)}.",
                hint="`manage.py link_identity NAME SUBJECT` connects somebody; `manage.py leave NAME` "
                "ends their access.",
                id="synthweb.W004",
            )
        )
    if emergency is None:
        warnings.append(
            Warning(
                "Nobody can sign in while the identity provider is down: SYNTHWEB_EMERGENCY_USER names no "
                "account that is in use and has a second factor.",
                hint="Sign in as that account without SYNTHWEB_OIDC_ISSUER, set up a second factor, and "
                "name it.",
                id="synthweb.W005",
            )
        )
    return warnings
