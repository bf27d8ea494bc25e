"""Settings that must not be guessed at: truth values and secrets, from the environment."""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

OTLP_PACKAGES = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")
FORMATS = ("plain", "json")
TRUE = frozenset({"true", "1", "yes", "on"})
FALSE = frozenset({"false", "0", "no", "off"})
LOCAL = frozenset(
    {"localhost", "127.0.0.1", "[::1]", "testserver"}
)  # names by which a machine calls itself


# Names that settings have asked for, set or not: whatever else begins with SYNTHWEB_ has no effect
# (synthweb/checks.py).
READ: set[str] = set()
# Of `make run` alone (synthweb/local).
LOCAL_SETTINGS = frozenset({"SYNTHWEB_PORT"})
# Of docker-compose.yml and deploy/compose-logs.yml alone, which put them into no container but the one that
# checks `.env`.
COMPOSE_SETTINGS = frozenset(
    {
        "SYNTHWEB_ADDRESS",
        "SYNTHWEB_BACKUPS",
        "SYNTHWEB_CHECKPOINTS_FOLDER",
        "SYNTHWEB_GID",
        "SYNTHWEB_LOG_HOST",
        "SYNTHWEB_MEMORY_BACKUP",
        "SYNTHWEB_MEMORY_CONFIDENTIAL",
        "SYNTHWEB_MEMORY_DEFAULT",
        "SYNTHWEB_MEMORY_POSTGRES",
        "SYNTHWEB_MEMORY_REDIS",
        "SYNTHWEB_MEMORY_WEB",
        "SYNTHWEB_SCRATCH",
        "SYNTHWEB_SECRETS",
        "SYNTHWEB_UID",
    }
)
# Of tests and benches (CONTRIBUTING.md).
TEST_SETTINGS = frozenset({"SYNTHWEB_BENCHMARK", "SYNTHWEB_SHARED", "SYNTHWEB_TEST_DATABASE"})


class Environment(environ.Env):  # type: ignore[misc]  # it has no types
    """Values of the environment, and the names that were asked for. An empty value counts as none: `.env` has
    lines without one, and Compose hands on what nobody set as an empty text."""

    def get_value(self, var: str, cast: Any = None, default: Any = None, **options: Any) -> Any:
        READ.add(var)
        if not os.environ.get(var):
            return default
        return super().get_value(var, cast=cast, default=default, **options)


def unknown_names(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Names of the environment that look like settings and are none."""
    known = READ | LOCAL_SETTINGS | COMPOSE_SETTINGS | TEST_SETTINGS
    return sorted(
        name for name in environment if name.startswith("SYNTHWEB_") and name not in known
    )


def flag(name: str, *, default: bool, environment: Mapping[str, str] = os.environ) -> bool:
    """A truth value. "False" is false, and a misspelt one stops the start instead of meaning either."""
    READ.add(name)
    value = environment.get(name, "").strip().lower()
    if not value:
        return default
    if value not in TRUE | FALSE:
        raise ImproperlyConfigured(f"{name} must be true or false")
    return value in TRUE


def secret(name: str, *, file: Path | None = None, default: str = "") -> str:
    """A secret from the environment, else from the file that NAME_FILE names, else from `file`; `default`
    where no file is named."""
    READ.update((name, f"{name}_FILE"))
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
    """The name of a cookie of this installation. Browsers keep cookies by host and not by port: another
    installation on the same host, with another secret, has other names. https: with the prefix by which
    browsers take it from this host alone."""
    own = hashlib.sha256(f"names of cookies {secret_key}".encode()).hexdigest()[:8]
    return f"__Host-{what}-{own}" if https else f"synthweb_{what}_{own}"


def log_format(value: str) -> str:
    """One of the forms of the log."""
    if value not in FORMATS:
        raise ImproperlyConfigured(f"SYNTHWEB_LOG_FORMAT must be one of {', '.join(FORMATS)}")
    return value


def otlp_endpoint(value: str) -> str:
    """The address of a collector of OpenTelemetry, with the path that takes traces. Refused without the
    packages that send to it: an operator who asked for traces would wait for them."""
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


def refuse_demo_users_for_others(*, demo_users: bool, hosts: Sequence[str]) -> None:
    """The passwords of demo users lie in a file, and no second factor is asked of them."""
    if demo_users and not set(hosts) <= LOCAL:
        raise ImproperlyConfigured(
            "SYNTHWEB_DEMO_USERS is on and SYNTHWEB_HOSTS names other machines: demo users are for trying "
            "out on this machine alone. Unset SYNTHWEB_DEMO_USERS."
        )


def refuse_plain_issuer(issuer: str) -> None:
    """What an identity provider says is believed: it is asked by https, unless it is on this machine."""
    parts = urlsplit(issuer)
    if issuer and parts.scheme != "https" and parts.hostname not in ("localhost", "127.0.0.1"):
        raise ImproperlyConfigured("SYNTHWEB_OIDC_ISSUER must begin with https://")


def origin_of(address: str) -> list[str]:
    """The origin of an address by which others reach the application; none for this machine's own names."""
    parts = urlsplit(address)
    is_local = parts.hostname is None or {parts.hostname, f"[{parts.hostname}]"} & LOCAL
    return [] if is_local else [f"{parts.scheme}://{parts.netloc}"]


def counting_place(cluster: str) -> str:
    """What counts at an address: Spark's masters begin with the name of what manages them, Dask's schedulers
    with a protocol."""
    if not cluster:
        return ""
    return "spark" if cluster.startswith(("spark://", "k8s://", "yarn", "local")) else "dask"
