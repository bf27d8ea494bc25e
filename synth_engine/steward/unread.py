"""Texts that measure something in a notation that no kind of column reads: what their steward is asked before
they are left out or counted as texts.

Each notation is an entry of a registry, with the pattern of its cells. A column of which at least half of the
rows are numbers, days, times or places by one of them never names records, and is never a list, without a
question."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from synth_engine.formats import CURRENCY_CODES, CURRENCY_SIGNS, notation

_NUMBER = r"[0-9][0-9.,' \x{a0}\x{202f}]*[½¼¾⅓⅔⅛]?"
_UNPADDED = r"(0|[1-9][0-9]*)([.,][0-9]+)?"
_BEHIND_DAY = r"([ T,]+[0-9]{1,2}[:.][0-9:.]+( ?[ap]m| uhr)?( ?(z|utc|gmt|[+-][0-9:]{4,5}))?)?"
_CURRENCY = rf"(?:[A-Z]{{0,3}}[{CURRENCY_SIGNS}]|{'|'.join(CURRENCY_CODES)}|Fr\.?|kr\.?|Rs\.?)"
_MONTH = (
    r"(?:jan|feb|m[aäe]r|[aá]p?[rvb]|ma[iyjg]|jui?n|jui?l|juil|ao[uû]|aug|ago|s[eé]t|sep|o[ckt]t|nov|"
    r"d[eé][czk]|di[cz]|ene|gen|abr|av[rb]|giu|lug)"
    r"\p{L}*\.?"
)
_WEEKDAY = r"(\p{L}{2,10}\.?,?\s)?"
_FEWEST_DIFFERENT = 20  # numbers or days: fewer may as well be groups of them
_HALF = 0.5  # of the rows
_FEW_UNITS = 5  # signs around numbers; more of them are a part of codes


@dataclass(frozen=True, kw_only=True)
class UnreadNotation:
    """A notation: what its cells are in words, and their pattern."""

    words: str
    pattern: str


REGISTRY = (
    UnreadNotation(
        words="places on a map",
        pattern=r"^\(?\s*[+-]?[0-9]{1,3}\.[0-9]+\s*[,; ]\s*[+-]?[0-9]{1,3}\.[0-9]+\s*\)?$"
        r"|^(?i:multi)?(?i:point|linestring|polygon)\s*Z?\s*\(|^[NSEWO]?\s*[0-9]{1,3}\s*[°º]\s*[0-9]",
    ),
    UnreadNotation(
        words="lengths of time",
        pattern=r"^[0-9]+:[0-5]?[0-9]:[0-5]?[0-9](\.[0-9]+)?$|^-?P[0-9]*[YMWDT]|^[0-9]+\s?[hH]\s?[0-5][0-"
        r"9]$|^([0-9]+(\.[0-9]+)?\s?"
        r"(d|h|m|s|w|hrs?|mins?|secs?|days?|hours?|minutes?|seconds?|weeks?|months?|years?|std\.?|tage?|"
        r"jahre?|monate?)\s?,?\s?){2,}$",
    ),
    UnreadNotation(
        words="times of day",
        pattern=r"(?i)^[0-9]{1,2}([:.][0-9]{2}){0,2}\s?([ap]\.?\s?m\.?|uhr)$",
    ),
    UnreadNotation(
        words="days or months",
        pattern=rf"(?i)^({_WEEKDAY}[0-9]{{1,2}}(st|nd|rd|th|\.|º|er)?[ ./-]*(de )?{_MONTH}[ ,./-]*(de "
        rf")?[0-9]{{2,4}}"
        rf"|{_WEEKDAY}{_MONTH}[ ./-]*([0-9]{{1,2}}(st|nd|rd|th)?,?[ ./-]*)?[0-9]{{2,4}}"
        r"|[0-9]{1,4}([./-])[0-9]{1,2}([./-])[0-9]{1,4}|(1[6-9]|20)[0-9]{2}[ ./-]?[QKT][ "
        r"./-]?[1-4]|[QKT][1-4][ ./-]?(1[6-9]|20)[0-9]{2}"
        r"|[0-9]{4}[./-](0?[1-9]|1[0-2])|(0?[1-9]|1[0-2])[./-][0-9]{4}|[0-9]{4}-?W[0-9]{2}(-?[1-7])?"
        r"|[0-9]{4}[年년]\s?[0-9]{1,2}[月월]\s?([0-9]{1,2}[日일])?"
        rf"|{_WEEKDAY}{_MONTH} +[0-9]{{1,2}} [0-9:]+ [0-9]{{4}})"
        rf"{_BEHIND_DAY}$",
    ),
    UnreadNotation(
        words="credits and debits", pattern=rf"(?i)^(cr|dr|[SH])? ?{_NUMBER} ?(cr|dr|[SH])\.?$"
    ),
    UnreadNotation(
        words="numbers of which some are bounds",
        pattern=rf"^(<|>|≤|≥|<=|>=|~|≈|±)\s?{_NUMBER}$|^{_NUMBER}\s?\+$",
    ),
    UnreadNotation(
        words="several numbers in a cell",
        pattern=rf"(?i)^{_UNPADDED}( - |\s?/\s?|\s?[x×]\s?| to | bis ){_UNPADDED}$",
    ),
    UnreadNotation(
        words="numbers with signs around them",
        pattern=rf"^[+-]?\s?{_CURRENCY}\s?[+-]?{_NUMBER}$|^[+-]?{_NUMBER}\s?({_CURRENCY}|[%‰]-?\p{{L}}*|"
        rf"[°²³µ]|\p{{L}}{{1,3}}[²³]?| "
        rf"\p{{L}}{{4,15}})?\*?$",
    ),
)


@dataclass(frozen=True, kw_only=True)
class UnreadTexts:
    """What texts seem to be. words: the notations, the most frequent first. examples: one cell of each."""

    words: list[str]
    examples: list[str]

    @property
    def question(self) -> str:
        """What their steward is asked."""
        shown = " and ".join(f"“{example}”" for example in self.examples)
        return (
            f"Cells like {shown} look like {' and '.join(self.words)}, which no reading of this column "
            "takes as they are written. What is to be done with it?"
        )


def texts_of_a_kind(texts: pa.Array, counts: NDArray[np.int64]) -> UnreadTexts | None:
    """What different texts seem to be, given the rows of each; None where they are words or codes."""
    plain = notation.unified(pc.utf8_trim_whitespace(texts))
    rows = counts.sum()
    left = np.ones(len(texts), dtype=np.bool_)
    several: list[tuple[int, str, str]] = []
    for each in REGISTRY:
        fits = (
            pc.match_substring_regex(plain, each.pattern).to_numpy(zero_copy_only=False) & left
        )
        left &= ~fits
        if fits.any():
            example = min(texts.filter(pa.array(fits)).to_pylist())
            several.append((int(counts[fits].sum()), each.words, example))
    if (~left).sum() < _FEWEST_DIFFERENT or counts[~left].sum() < _HALF * rows or not several:
        return None
    if (
        len(several) == 1
        and several[0][1] == REGISTRY[-1].words
        and not _few_units(plain.filter(pa.array(~left)))
    ):
        return None
    several.sort(reverse=True)
    return UnreadTexts(
        words=[words for _, words, _ in several[:3]],
        examples=[text for _, _, text in several[:3]],
    )


def _few_units(plain: pa.Array) -> bool:
    around = pc.unique(pc.replace_substring_regex(plain, _NUMBER, "0"))
    return len(around) <= _FEW_UNITS


def worth_a_look(texts: pa.Array) -> bool:
    """Whether some of these texts have a digit at all: a quick look, since most columns of texts have
    none."""
    return bool(pc.any(pc.match_substring_regex(texts, r"\p{Nd}")).as_py())
