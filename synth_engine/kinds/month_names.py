"""Days in a format of `strptime` with the names of months in several languages: English, German, French,
Spanish, Italian, Dutch, Swedish and Portuguese.

A name, in full or cut after three letters or more, is written as English has it before the text is parsed.
That is a function of the text and of its format alone, and no fact that a file has to state."""

from __future__ import annotations

import datetime
import functools
import re
import unicodedata

_NAMES = """
    january januar jänner jaenner janvier enero gennaio januari janeiro
    february februar feber feb février febrero febbraio februari fevereiro
    march märz maerz mrz mars marzo maart mrt março
    april avril abril aprile
    may mai mayo maggio mei maj maio
    june juni juin junio giugno junho
    july juli juillet julio luglio julho
    august août agosto augustus augusti
    september septembre septiembre settembre setembro
    october oktober octobre octubre ottobre outubro
    november novembre noviembre novembro
    december dezember décembre diciembre dicembre dezembro
"""
_SHORT = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()  # noqa: SIM905  # one to a month
_SHORTEST = 3  # letters
_WORD = re.compile(r"([^\W\d_]+)\.?")
_NAMED = re.compile(r"%(?:%|([bB])\.?)")


def _folded(word: str) -> str:
    """A word without case and accents."""
    parts = unicodedata.normalize("NFKD", word.casefold())
    return "".join(sign for sign in parts if not unicodedata.combining(sign))


def _spellings() -> dict[str, str]:
    """The English short name of each spelling that one month alone has."""
    months: dict[str, set[str]] = {}
    for short, names in zip(_SHORT, _NAMES.strip().splitlines(), strict=True):
        for name in map(_folded, names.split()):
            for end in range(_SHORTEST, len(name) + 1):
                months.setdefault(name[:end], set()).add(short)
    return {spelling: named.pop() for spelling, named in months.items() if len(named) == 1}


_ENGLISH = _spellings()
_FULL = frozenset(map(_folded, _NAMES.split()))


def directive(word: str) -> str:
    """How a format writes this name of a month: %B in full, %b cut; empty if it is none."""
    folded = _folded(word)
    return "" if folded not in _ENGLISH else "%B" if folded in _FULL else "%b"


def parsed(text: str, style: str) -> datetime.datetime:
    """The moment that a text in this format of `strptime` stands for. Errors: ValueError."""
    plain = _without_full_names(style)
    if plain is not None:
        text, style = _WORD.sub(_in_english, unicodedata.normalize("NFC", text)), plain
    return datetime.datetime.strptime(text, style)  # noqa: DTZ007  # days and clocks have no zone


@functools.lru_cache
def _without_full_names(style: str) -> str | None:
    """The format with short names of months alone and no dot behind them; None if it has no such names."""
    plain = _NAMED.sub(lambda match: "%b" if match[1] else match[0], style)
    return plain if "%b" in plain.replace("%%", "") else None


def _in_english(match: re.Match[str]) -> str:
    return _ENGLISH.get(_folded(match[1]), match[0])
