"""A mail server for tests: it keeps what it gets, or refuses every reader with a reply of its own."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from aiosmtpd.controller import Controller


class MailServer:
    """What arrived, and what the server answers to RCPT."""

    def __init__(self) -> None:
        self.arrived: list[EmailMessage] = []
        self.refusal = ""
        self.port = 0

    async def handle_RCPT(
        self, server: Any, session: Any, envelope: Any, address: str, options: Any
    ) -> str:
        if self.refusal:
            return self.refusal
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        message = message_from_bytes(envelope.content, policy=policy.default)
        assert isinstance(message, EmailMessage)
        self.arrived.append(message)
        return "250 OK"


@contextlib.contextmanager
def running() -> Iterator[MailServer]:
    """A server that listens on a free port of this machine."""
    server = MailServer()
    server.port = free_port()
    controller = Controller(server, hostname="127.0.0.1", port=server.port)
    controller.start()
    try:
        yield server
    finally:
        controller.stop()


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])
