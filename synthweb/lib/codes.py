"""Short public codes: what an object is called in addresses and in conversation. Names, not secrets."""

from __future__ import annotations

import secrets

LENGTH = 10
ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"  # no 0/o, 1/l/i: codes are read aloud


def new() -> str:
    """A fresh code of ten characters (49 bits)."""
    return "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))


class Converter:
    """Path converter `<code:…>`: matches codes and no word, so that /datasets/upload/ is never taken for a dataset."""

    regex = f"[{ALPHABET}]{{{LENGTH}}}"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value
