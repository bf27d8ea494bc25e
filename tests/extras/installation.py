"""An installation of its own, each of whose processes has the extras that a test names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from synthweb.local import keys

ROOT = Path(__file__).parents[2]
BEGIN = """
import json
import django
django.setup()
from django.core.management import call_command
from django.test import Client
from django.urls import get_resolver, reverse
from synthweb.accounts.models import User

def signed_in(name="steward"):
    client = Client(SERVER_NAME="localhost")
    client.force_login(User.objects.get(username=name))
    return client

def routes(patterns, before=""):
    for each in patterns:
        route = before + str(each.pattern)
        if hasattr(each, "url_patterns"):
            yield from routes(each.url_patterns, route)
        else:
            yield route
"""
PREPARE = """
call_command("migrate", verbosity=0)
from tests.cast import assemble
cast = assemble()
"""
ASK_EVERYTHING = """
call_command("migrate", verbosity=0)
call_command("check", verbosity=0)
call_command("makemigrations", "--check", "--dry-run", verbosity=0)
every = list(routes(get_resolver().url_patterns))
for name in ("steward", "auditor"):
    client = signed_in(name)
    for route in every:
        if not any(sign in route for sign in "<^") and route != "readyz":  # which asks a broker
            status = client.get("/" + route).status_code
            assert status < 500, (route, status)
client = signed_in()
opened = client.get("/api/v1/schema/").text
"""
"""Boots, migrates and checks, opens every address that names no object, and reads OpenAPI into `opened`."""


@dataclass(frozen=True, kw_only=True)
class Installation:
    """folder: of its database, keys and files. path: of packages that are no part of the product."""

    folder: Path
    path: Path = ROOT

    def run(self, program: str, *, extras: str) -> str:
        """What a process prints that begins with Django and these extras."""
        return self.start(["-c", BEGIN + program], extras=extras)

    def answer(self, program: str, *, extras: str) -> dict[str, Any]:
        """The JSON object that it prints last."""
        found: dict[str, Any] = json.loads(self.run(program, extras=extras).splitlines()[-1])
        return found

    def start(self, arguments: list[str], *, extras: str) -> str:
        """What Python prints with these arguments. A process that fails fails the test."""
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env={
                **{key: value for key, value in os.environ.items() if key[:9] != "SYNTHWEB_"},
                "DATABASE_URL": f"sqlite:///{self.folder}/database",
                "DJANGO_SETTINGS_MODULE": "synthweb.settings",
                "PYTHONPATH": os.pathsep.join([str(ROOT), str(self.path)]),
                "SYNTHWEB_BROKER": "memory://",
                "SYNTHWEB_EXTRAS": extras,
                "SYNTHWEB_REST_PER_MINUTE": "0",
                "SYNTHWEB_SECRET_KEY": "of this test",
                "SYNTHWEB_VAR": str(self.folder),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


def made(folder: Path, *, path: Path = ROOT) -> Installation:
    """A new one, without tables yet."""
    keys.make(folder / "keys")
    return Installation(folder=folder, path=path)
