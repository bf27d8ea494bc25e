"""What can go wrong, and what to do about it.

SynthwebError
├── ConnectionFailed      no answer, after every attempt
├── IncompatibleServer    another major version of the interface, or no synthweb server
├── ReceiptRefused        a receipt does not prove what is claimed of the release
├── WebhookRefused        a call of a webhook is not signed with its secret, or old
├── NotReady              a worker has not finished what was asked for
├── NotMeasured           a validation ended without an answer
├── RunEnded              a run failed or was cancelled
└── ServerRefused         the server answered with an error: status, code, detail, errors
    ├── TokenRefused          401: unknown, expired or revoked
    ├── ReleaseUnavailable    404 of a release: not shared with you, or no longer
    └── Busy                  429 or 503, after every attempt
NewerServer               a warning: the server has more than this client knows
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class SynthwebError(Exception):
    """Anything that this package raises about the server, its answers or the way there."""


class ConnectionFailed(SynthwebError):
    """The server did not answer, or broke off every answer."""


class IncompatibleServer(SynthwebError):
    """The server speaks another major version of the interface, or is no synthweb server."""


class ReceiptRefused(SynthwebError):
    """A receipt does not prove what it, or the server, claims of the release."""


class WebhookRefused(SynthwebError):
    """A call of a webhook is not signed with its secret, was changed on the way, or was sent too long ago."""


class NotReady(SynthwebError):
    """A worker of the server has not finished what was asked for; ask again later."""


class NotMeasured(SynthwebError):
    """A validation failed or was cancelled; its data steward sees why."""


class RunEnded(SynthwebError):
    """A run failed or was cancelled; its log says where."""


class NewerServer(UserWarning):
    """The server has addresses or fields that this client does not know; what it knows works as before."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One thing to correct in a request: where, which column, which rule, and what to do."""

    pointer: str
    column: str | None
    rule: str
    repair: str


class ServerRefused(SynthwebError):
    """An error of the server. status: of HTTP. code: what `urn:synthweb:…` names, or empty. errors: what to
    correct."""

    def __init__(
        self, text: str, *, status: int, code: str = "", errors: Sequence[Fault] = ()
    ) -> None:
        lines = [f"{each.pointer or 'request'}: {each.rule}; {each.repair}" for each in errors]
        super().__init__("\n".join([text, *lines]))
        self.status = status
        self.code = code
        self.errors = tuple(errors)


class TokenRefused(ServerRefused):
    """The token is unknown, expired or revoked, or its owner has to sign in at the identity provider
    again."""


class ReleaseUnavailable(ServerRefused):
    """There is no such release, it was never shared with you, or the share was withdrawn."""


class Busy(ServerRefused):
    """The server asks to come back later, and did so at every attempt."""
