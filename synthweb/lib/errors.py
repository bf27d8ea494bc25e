"""Errors that synthweb raises on purpose. No message ever holds a value of a row.

SynthwebError
├── Refused              a person asked for something that the rules do not allow; shown to them, 4xx in REST
│   ├── Forbidden        this person may not do that (403)
│   ├── Conflict         the state of things does not allow it (409); apps derive their own
│   ├── Gone             there was such a thing, and there is not any more (410)
│   ├── InUse            another request is at work on it; the same may be asked again (423)
│   └── Busy             too much at once; the same may be asked again later (429)
└── AppendOnlyViolation  code tried to change or delete a row that is written once
"""

from __future__ import annotations


class SynthwebError(Exception):
    """Root of the tree."""


class Refused(SynthwebError):
    """What somebody asked for is not allowed: `rule` says why, `repair` what to do instead, `field` where."""

    code = "refused"

    def __init__(self, rule: str, *, repair: str = "", field: str | None = None) -> None:
        self.rule, self.repair, self.field = rule, repair, field
        super().__init__(f"{rule}; {repair}" if repair else rule)


class Forbidden(Refused):
    """This person may not do that."""

    code = "forbidden"


class Conflict(Refused):
    """The state of things does not allow it."""

    code = "conflict"


class Gone(Refused):
    """It has ended or expired."""

    code = "gone"


class InUse(Refused):
    """Another request is at work on it."""

    code = "in-use"


class Busy(Refused):
    """Too much is asked for at once; `wait` says in how many seconds to come back."""

    code = "busy"

    def __init__(self, rule: str, *, repair: str, wait: int) -> None:
        super().__init__(rule, repair=repair)
        self.wait = wait


class AppendOnlyViolation(SynthwebError):
    """Code tried to change or delete a row that is written once."""


def sentence(error: Exception) -> str:
    """The message of an error of ours as a sentence of a page."""
    text = str(error)
    return f"{text[0].upper()}{text[1:]}."
