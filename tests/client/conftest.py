"""A server that answers over real sockets, and programs with tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer
from synthweb_client import Client, Retries

from synthweb.accounts import services
from synthweb.accounts.models import ApiToken, User
from tests.web.scene import Scene

Connect = Callable[..., Client]


def token_of(user: User) -> tuple[ApiToken, str]:
    """A token with which programs read."""
    return services.create_token(user=user, name="client", scopes=["read"], days=1)


@pytest.fixture
def server(live_server: LiveServer, settings: Settings, tmp_path: Path) -> str:
    """The address of the application."""
    # Slots that responses of earlier tests hold are not counted here.
    settings.SPOOL_DIR = str(tmp_path)
    return str(live_server.url)


@pytest.fixture
def scene(server: str, played: Scene) -> Scene:
    """A release that is shared with `reader`, on the server."""
    return played


@pytest.fixture
def connect(server: str) -> Iterator[Connect]:
    """`connect(user)` is a client with a token of that user. A pause that a test does not expect is an
    error."""
    with ExitStack() as open_clients:

        def client(user: User, **options: object) -> Client:
            chosen = {"retries": Retries(wait=_nobody_waits), **options}
            made = Client(server, token=token_of(user)[1], **chosen)  # type: ignore[arg-type]
            return open_clients.enter_context(made)

        yield client


def _nobody_waits(seconds: float) -> None:
    raise AssertionError(f"the client wanted to wait for {seconds} s")
