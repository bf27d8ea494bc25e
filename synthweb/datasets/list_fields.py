"""Lists as somebody types them into one input, and back; numbers as somebody would type them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping


def split(text: str) -> list[str]:
    """Texts one a line, or, on a single line, between commas. Quotation marks keep what is inside as it
    is."""
    lines = text.splitlines()
    parts = lines if len(lines) > 1 else re.findall(r'\s*"(?:[^"]|"")*"\s*(?=,|$)|[^,]+', text)
    return [_unquoted(part) for part in parts if part.strip()]


_QUOTED = r'"(?:[^"]|"")*"'
_PAIR = re.compile(rf"\s*({_QUOTED}|\S+?)\s*=\s*({_QUOTED}|\S*)\s*")

# Characters of a line: the steps of the pattern above may grow with their square.
_LONGEST_PAIR = 2_000


def split_pairs(text: str) -> list[tuple[str, str]] | None:
    """Lines like `é = e`, with nothing after the sign or with quotation marks around what is of blanks; None
    where a line is no such pair."""
    lines = [line for line in text.splitlines() if line.strip()]
    matches = [_PAIR.fullmatch(line) if len(line) <= _LONGEST_PAIR else None for line in lines]
    return (
        None
        if None in matches
        else [(_unquoted(each[1]), _unquoted(each[2])) for each in matches if each]
    )


def join_pairs(pairs: Mapping[str, str]) -> str:
    """The inverse of `split_pairs`."""
    return "\n".join(
        f"{_in_pair(old)} = {_in_pair(new)}".rstrip() for old, new in pairs.items()
    )


def _in_pair(text: str) -> str:
    plain = not text or (text.split() == [text] and not text.startswith('"'))
    return text if plain else '"' + text.replace('"', '""') + '"'


def split_numbers(text: str) -> list[str]:
    """Numbers between commas, semicolons or blanks."""
    return [part for part in re.split(r"[,;\s]+", text) if part]


def join(texts: Iterable[str]) -> str:
    """The inverse of `split`: one a line. A text with a line break cannot be written so and is left out."""
    listed = [text for text in texts if len(text.splitlines()) < 2]
    return "\n".join(quoted(text, comma=len(listed) == 1) for text in listed)


def quoted(text: str, *, comma: bool) -> str:
    """A text that is read back as it is, in quotation marks if need be."""
    if (
        text == text.strip()
        and text
        and not text.startswith('"')
        and not (comma and "," in text)
    ):
        return text
    return '"' + text.replace('"', '""') + '"'


def _unquoted(part: str) -> str:
    stripped = part.strip()
    if len(stripped) > 1 and stripped.startswith('"') and stripped.endswith('"'):
        return stripped[1:-1].replace('""', '"')
    return stripped


def normalise(text: str) -> str:
    """Browsers send line ends as CR LF."""
    return text.replace("\r\n", "\n").strip()


def plain(value: object) -> str:
    """A number as somebody would type it."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)
