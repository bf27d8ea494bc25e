"""The settings of docker-compose.yml, tried: static files collected, Django's own deployment checks, a page
over HTTPS."""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

from synthweb.local import keys
from synthweb.local.paths import REPOSITORY
from tests.e2e import composed

LOOK = """
import django; django.setup()
from django.core.management import call_command
from django.test import Client
call_command("migrate", verbosity=0)
client = Client(headers={"host": "synthweb.example.org"})
plain = client.get("/account/login/")
print("plain", plain.status_code, plain.headers.get("Location"))
print("health", client.get("/livez").status_code)
page = client.get("/account/login/", headers={"x-forwarded-proto": "https"})
print("page", page.status_code, page.headers["Strict-Transport-Security"])
cookies = page.cookies.items()
print("cookies", *(f"{name}:{each['secure']}:{each['httponly']}:{each['path']}" for name, each in cookies))
print(page.content.decode())
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the web container is told."""
    folder = tmp_path_factory.mktemp("deployed")
    keys.make(folder / "keys")
    return {
        **{
            name: value
            for name, value in os.environ.items()
            if not name.startswith("SYNTHWEB_")
        },
        "DATABASE_URL": f"sqlite:///{folder / 'database.sqlite3'}",
        "DJANGO_SETTINGS_MODULE": "synthweb.settings",
        "SYNTHWEB_VAR": str(folder),
        "SYNTHWEB_SECRET_KEY": secrets.token_urlsafe(48),
        "SYNTHWEB_STATIC_ROOT": str(folder / "static"),
        "SYNTHWEB_HOSTS": "synthweb.example.org,localhost",
        "SYNTHWEB_HTTPS": "true",
        "SYNTHWEB_PROXIES": "1",
        "SYNTHWEB_DEMO_USERS": "false",
    }


def _python(environment: dict[str, str], *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_djangos_deployment_checks_have_nothing_to_say(environment: dict[str, str]) -> None:
    _python(environment, "manage.py", "check", "--deploy", "--fail-level", "WARNING")


@pytest.mark.slow
def test_pages_come_over_https_with_hashed_files_and_host_cookies(
    environment: dict[str, str],
) -> None:
    _python(environment, "manage.py", "collectstatic", "--no-input", "-v", "0")
    said = _python(environment, "-W", "ignore", "-c", LOOK)
    assert "plain 301 https://synthweb.example.org/account/login/" in said
    assert "health 200" in said
    assert "page 200 max-age=31536000" in said
    assert re.search(r"cookies __Host-csrf-[0-9a-f]{8}:True:True:/", said)
    linked = [part.split('"')[0] for part in said.split("/static/")[1:]]
    assert linked
    for name in linked:
        assert (Path(environment["SYNTHWEB_STATIC_ROOT"]) / name).exists(), name
        assert len(name.split(".")) >= 3, f"{name} has no hash"
    assert "demo-logins" not in said


@pytest.mark.slow
def test_a_truth_value_that_is_none_stops_the_start(environment: dict[str, str]) -> None:
    for word, fine in (
        ("False", True),
        ("0", True),
        ("on", True),
        ("flase", False),
        ("2", False),
    ):
        done = subprocess.run(
            [sys.executable, "-c", "from synthweb import settings; print(settings.DEMO_USERS)"],
            cwd=REPOSITORY,
            env={
                **environment,
                "SYNTHWEB_HOSTS": "localhost",
                "SYNTHWEB_DEMO_USERS": word,
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode == 0) is fine, word
        if fine:
            assert done.stdout.strip() == str(word == "on"), word


@pytest.mark.slow
def test_a_settings_file_with_a_name_that_is_none_stops_the_containers() -> None:
    """The service `check` of the compose file, with `.env` as Compose gives it to it."""
    example = dict(
        line.split("=", 1)
        for line in (REPOSITORY / ".env.example").read_text().splitlines()
        if line and not line.startswith("#")
    )
    for more, said in (
        # What nobody else gets is no setting that is unknown, and empty values are none.
        ({"SYNTHWEB_IDLE_MINUTES": "30", "SYNTHWEB_REST_PER_MINUTE": ""}, ""),
        ({"SYNTHWEB_IDLE_MINUTE": "30"}, "Write SYNTHWEB_IDLE_MINUTES"),
        ({"SYNTHWEB_UPLOAD_HOURS": "48"}, "SYNTHWEB_UPLOAD_HOURS is no setting"),
    ):
        file = example | more
        done = subprocess.run(
            [sys.executable, "manage.py", "check"],
            cwd=REPOSITORY,
            env=composed.environment_of("check", file),
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode == 0) is (not said), done.stderr
        assert said in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("service", ["web", "worker-confidential", "backup"])
def test_a_setting_of_the_file_has_its_effect_in_a_container_and_an_empty_one_its_default(
    service: str, tmp_path: Path
) -> None:
    keys.make(tmp_path / "keys")
    asked = (
        "from synthweb import settings as s; print(s.IDLE_MINUTES, s.SESSION_HOURS, s.OIDC_ISSUER, "
        "s.COUNTING['place'], s.VAR_DIR)"
    )
    file = {
        "SYNTHWEB_HOSTS": "synthweb.example.org",
        "SYNTHWEB_IDLE_MINUTES": "30",
        "SYNTHWEB_OIDC_ISSUER": "https://id.example.org",
        "SYNTHWEB_OIDC_CLIENT_SECRET": "of the web alone",
        "SYNTHWEB_CLUSTER": "tls://scheduler:8786",
    }
    environment = composed.environment_of(service, file) | {
        "SYNTHWEB_SECRET_KEY_FILE": str(tmp_path / "keys" / "secret.key")
    }
    said = _python(environment, "-c", asked).split()
    place = ["dask"] if service == "worker-confidential" else []
    assert said == ["30", "12", "https://id.example.org", *place, "/data"]
    secret = environment["SYNTHWEB_OIDC_CLIENT_SECRET"]
    assert (secret == "of the web alone") is (service == "web")


@pytest.mark.slow
def test_nothing_in_the_environment_turns_djangos_error_pages_on(
    environment: dict[str, str],
) -> None:
    told = {**environment, "SYNTHWEB_DEBUG": "true", "DEBUG": "true", "DJANGO_DEBUG": "true"}
    said = _python(told, "-c", "from synthweb import settings; print(settings.DEBUG)")
    assert said.strip() == "False"
