"""Short public codes: what an object is called in addresses and in conversation. Names, not secrets."""

from __future__ import annotations

import re
import secrets

LENGTH = 10
ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"  # no 0/o, 1/l/i: codes are read aloud
_CODE = re.compile(rf"[{ALPHABET}]{{{LENGTH}}}")


def new() -> str:
    """A fresh code of ten characters (49 bits)."""
    return "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))


def of_text(text: str) -> str:
    """The code that a request names; empty, which no object has, for a text that is no code. PostgreSQL
    cannot look for every text: one with a NUL would be an error of ours."""
    return text if _CODE.fullmatch(text) else ""


class Converter:
    """Path converter `<code:…>`: matches codes and no word, so that /datasets/upload/ is never taken for a
    dataset."""

    regex = f"[{ALPHABET}]{{{LENGTH}}}"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value
