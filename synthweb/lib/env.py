"""Settings that must not be guessed at: truth values and secrets, from the environment."""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

OTLP_PACKAGES = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")
FORMATS = ("plain", "json")
TRUE = frozenset({"true", "1", "yes", "on"})
FALSE = frozenset({"false", "0", "no", "off"})
LOCAL = frozenset(
    {"localhost", "127.0.0.1", "[::1]", "testserver"}
)  # names by which a machine calls itself


def flag(name: str, *, default: bool, environment: Mapping[str, str] = os.environ) -> bool:
    """A truth value. "False" is false, and a misspelt one stops the start instead of meaning either."""
    value = environment.get(name, "").strip().lower()
    if not value:
        return default
    if value not in TRUE | FALSE:
        raise ImproperlyConfigured(f"{name} must be true or false")
    return value in TRUE


def secret(name: str, *, file: Path | None = None, default: str = "") -> str:
    """A secret from the environment, else from the file that NAME_FILE names, else from `file`; `default` where no file is
    named."""
    if value := os.environ.get(name, ""):
        return value
    named = os.environ.get(f"{name}_FILE") or file
    if named is None:
        return default
    path = Path(named)
    try:
        return path.read_text().strip()
    except OSError:
        repair = "correct the path" if file is None else "`make run` makes it"
        raise ImproperlyConfigured(
            f"{name} is not set and {path} cannot be read; {repair}"
        ) from None


def cookie_name(what: str, *, secret_key: str, https: bool) -> str:
    """The name of a cookie of this installation. Browsers keep cookies by host and not by port: another installation on the
    same host, with another secret, has other names. https: with the prefix by which browsers take it from this host alone."""
    own = hashlib.sha256(f"names of cookies {secret_key}".encode()).hexdigest()[:8]
    return f"__Host-{what}-{own}" if https else f"synthweb_{what}_{own}"


def log_format(value: str) -> str:
    """One of the forms of the log."""
    if value not in FORMATS:
        raise ImproperlyConfigured(f"SYNTHWEB_LOG_FORMAT must be one of {', '.join(FORMATS)}")
    return value


def otlp_endpoint(value: str) -> str:
    """The address of a collector of OpenTelemetry, with the path that takes traces. Refused without the packages that send
    to it: an operator who asked for traces would wait for them."""
    parts = urlsplit(value)
    if not value:
        return value
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path in ("", "/"):
        raise ImproperlyConfigured(
            "SYNTHWEB_TRACES must be a whole address, such as http://collector:4318/v1/traces"
        )
    if parts.username or parts.password:
        raise ImproperlyConfigured(
            "SYNTHWEB_TRACES must hold no password; set OTEL_EXPORTER_OTLP_HEADERS"
        )
    if not all(is_installed(package) for package in OTLP_PACKAGES):
        raise ImproperlyConfigured(
            "SYNTHWEB_TRACES is set and the packages that send traces are not installed: "
            "pip install --require-hashes --no-deps -r deploy/traces.txt"
        )
    return value


def is_installed(package: str) -> bool:
    """Whether a package can be imported, without importing it."""
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # the package that it is in
        return False


def refuse_debug_for_others(*, debug: bool, hosts: Sequence[str]) -> None:
    """Django's error pages show what the server holds: whoever turns them on answers to this machine alone."""
    if debug and not set(hosts) <= LOCAL:
        raise ImproperlyConfigured(
            "SYNTHWEB_DEBUG is on and SYNTHWEB_HOSTS names other machines: errors would show what the server holds. "
            "Unset SYNTHWEB_DEBUG."
        )


def refuse_demo_users_for_others(*, demo_users: bool, hosts: Sequence[str]) -> None:
    """The passwords of demo users lie in a file, and no second factor is asked of them."""
    if demo_users and not set(hosts) <= LOCAL:
        raise ImproperlyConfigured(
            "SYNTHWEB_DEMO_USERS is on and SYNTHWEB_HOSTS names other machines: demo users are for trying out on this "
            "machine alone. Unset SYNTHWEB_DEMO_USERS."
        )


def refuse_plain_issuer(issuer: str) -> None:
    """What an identity provider says is believed: it is asked by https, unless it is on this machine."""
    parts = urlsplit(issuer)
    if issuer and parts.scheme != "https" and parts.hostname not in ("localhost", "127.0.0.1"):
        raise ImproperlyConfigured("SYNTHWEB_OIDC_ISSUER must begin with https://")
