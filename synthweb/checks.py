"""What `manage.py check` says about an installation (docs/settings.md lists the ids).

synthweb.E001   a private key can be read by others on this machine
synthweb.E003   the list of breached passwords cannot be read
synthweb.E004   a name in the environment looks like a setting and is none
synthweb.W001   other machines are served without HTTPS
synthweb.W002   demo users may sign in while other machines are served
synthweb.W003   a test's failure points are switched on
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register

from synthweb.lib import env
from synthweb.lib.env import LOCAL


@register(Tags.security)
# Django's signature
def check_installation(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:  # noqa: ARG001
    """All of the above."""
    return [*_names(), *_keys(), *_passwords(), *_exposure()]


def _names() -> Iterator[CheckMessage]:
    documented = env.READ | env.LOCAL_SETTINGS | env.COMPOSE_SETTINGS
    for name in env.unknown_names():
        close = difflib.get_close_matches(name, sorted(documented), n=1, cutoff=0.8)
        yield Error(
            f"{name} is no setting, so that it has no effect.",
            hint=f"Write {close[0]}, or unset it."
            if close
            else "Unset it; docs/settings.md lists all.",
            id="synthweb.E004",
        )


def _keys() -> Iterator[CheckMessage]:
    for path in (
        settings.VAULT_PRIVATE_KEY_FILE,
        settings.PREVIEW_PRIVATE_KEY_FILE,
        settings.CONTENT_KEY_FILE,
        settings.SIGNING_PRIVATE_KEY_FILE,
    ):
        if _mode(path) & 0o077:
            yield Error(
                f"{path} can be read by others on this machine.",
                hint=f"chmod 600 {path}",
                id="synthweb.E001",
            )


def _passwords() -> Iterator[CheckMessage]:
    path = settings.BREACHED_PASSWORDS_FILE
    if path and not os.access(path, os.R_OK):
        yield Error(
            f"SYNTHWEB_BREACHED_PASSWORDS_FILE: {path} cannot be read.",
            hint="Without it nobody can choose a password; correct the path, or unset it.",
            id="synthweb.E003",
        )


def _mode(path: Path) -> int:
    """The permissions of a key; 0 where this process has none, which is as it should be."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return 0
    # Container engines choose the mode of a mounted secret themselves.
    return 0 if str(path).startswith("/run/secrets/") else mode


def _exposure() -> Iterator[CheckMessage]:
    if settings.DEBUG_FAILPOINTS:
        yield Warning(
            "Failure points of the tests are switched on.",
            hint="Set DJANGO_SETTINGS_MODULE=synthweb.settings.",
            id="synthweb.W003",
        )
    # What follows exposes nothing as long as only this machine can ask.
    if set(settings.ALLOWED_HOSTS) <= LOCAL:
        return
    if not settings.HTTPS:
        yield Warning(
            "SYNTHWEB_HOSTS names other machines but SYNTHWEB_HTTPS is off: passwords and tables travel in "
            "the open.",
            hint="Put a proxy with TLS in front and set SYNTHWEB_HTTPS=true.",
            id="synthweb.W001",
        )
    if settings.DEMO_USERS:
        yield Warning(
            "SYNTHWEB_HOSTS names other machines and demo users may sign in.",
            hint="Set SYNTHWEB_DEMO_USERS=false, or `manage.py demo_users off`.",
            id="synthweb.W002",
        )
