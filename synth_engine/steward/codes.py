"""Which numbers and texts name something instead of measuring it: postal codes, keys of records, free text.

Each rule looks at the name of the column, at digits, and at how often values repeat; it returns what the
column looks like, in words, and is only ever a suggestion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from synth_engine.domain.column_names import words

Role = Literal["codes", "key", "free text"]
_POSTAL = frozenset(
    [
        "zip",
        "zips",
        "zipcode",
        "zipcodes",
        "plz",
        "postal",
        "postcode",
        "postleitzahl",
        "cap",
        "postnummer",
        "postnr",
        "cep",
    ]
)
_CODES = frozenset(
    """
    fips naics sic geoid insee ags isic nuts lau icd code codes dx diagnosis diagnose diagnosen diagnostic
    diagnóstico soc isco kldb nace noga wz gics cpc cpt drg atc icpc loinc snomed hcpcs ops hs taric
    klassifikation
    """.split()  # noqa: SIM905
)
_CODE_ENDS = ("code", "codes", "kennziffer", "schlüssel", "schluessel")  # of compounds
_DAYS = frozenset(
    [
        "created",
        "updated",
        "modified",
        "erstellt",
        "date",
        "dates",
        "datum",
        "day",
        "days",
        "tag",
        "tage",
        "dob",
        "born",
        "fecha",
        "data",
        "jour",
        "giorno",
        "dt",
        "time",
        "timestamp",
        "ts",
        "zeit",
        "admitted",
        "discharged",
    ]
)
_DONE_AT = ("at", "am")  # created_at, erstellt_am: the last word of several
_FEWEST_ROWS = 100  # by which keys are judged
_SAMPLED = 2_000  # texts
_WORDS_OF_PROSE = 4
_LENGTH_OF_PROSE = 40


@dataclass(frozen=True, kw_only=True)
class CodeVerdict:
    """What a column looks like, and why."""

    role: Role
    why: str


def says_codes(name: str) -> str | None:
    """Why a column has codes by its name; None if the name does not say it."""
    named = set(words(name))
    if named & _POSTAL:
        return "Postal codes name places and measure nothing, so they are categories."
    if named & _CODES or any(word.endswith(_CODE_ENDS) for word in named):
        return (
            "By its name the column has codes, which measure nothing, so they are categories."
        )
    return None


def says_day(name: str) -> bool:
    """Whether a column has days by its name."""
    named = words(name)
    compound = any(word.endswith(("datum", "date")) for word in named)
    return bool(set(named) & _DAYS) or compound or (len(named) > 1 and named[-1] in _DONE_AT)


def of_numbers(
    name: str,
    *,
    least: int,
    most: int,
    values: NDArray[np.int64],
    counts: NDArray[np.int64],
    numbered: bool,
) -> CodeVerdict | None:
    """What whole numbers name; None if they are numbers.

    values: shape (n,), different values, or a sample of them. counts: shape (n,), rows of each. numbered:
    whether no two rows share a value, in a column that by its name measures nothing."""
    named = says_codes(name)
    if least < 0:
        return None
    digits = len(str(most))
    alike = len(str(least)) == digits
    rows = int(counts.sum())
    if named is not None and (digits >= 2 or set(words(name)) & _POSTAL):
        return CodeVerdict(role="codes", why=named)
    if numbered and rows >= _FEWEST_ROWS and alike and digits >= 6:
        return CodeVerdict(
            role="key",
            why=f"No two rows share a number, and all have {digits} digits: it looks like a key of records.",
        )
    # Prices and salaries of five digits are mostly round; codes are not.
    round_share = counts[values % 10 == 0].sum() / rows
    repeated = rows >= 5 * len(values)
    sparse = len(values) < 0.2 * (most - least + 1)
    if alike and digits == 5 and repeated and sparse and len(values) > 2 and round_share < 0.5:
        return CodeVerdict(
            role="codes",
            why="All have five digits, and few different ones occur, as with postal codes: they may be "
            "codes.",
        )
    return None


def of_texts(texts: pa.Array, counts: NDArray[np.int64]) -> CodeVerdict | None:
    """What texts name, given different texts and the rows of each; None if they are categories."""
    different, rows = len(texts), int(counts.sum())
    # Some thousand texts tell as much as all of them, and much faster.
    some = np.arange(0, different, -(-different // _SAMPLED))
    texts, weights = texts.take(pa.array(some)), counts[some] / counts[some].sum()
    word_counts = pc.count_substring_regex(texts, r"\S+").to_numpy()
    lengths = pc.utf8_length(texts).to_numpy()
    prose = (weights * word_counts).sum() >= _WORDS_OF_PROSE or (
        weights * lengths
    ).sum() >= _LENGTH_OF_PROSE
    # Long labels of a list, such as occupations, repeat; what people write themselves does not.
    if prose and different > 20 and different > 0.3 * rows:
        return CodeVerdict(
            role="free text",
            why="Most values are several words, and few repeat: it is free text, which is never listed.",
        )
    return None
