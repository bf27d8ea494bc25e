"""Locality-sensitive hashing of texts: each record falls into one bucket, by its own texts and public numbers
alone.

MinHash (Broder 1997) over n-grams: of every hash function the least value among the n-grams of a record; all
of these together decide the bucket. Two records agree in one of them with a chance that is the Jaccard
similarity of their n-grams.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synth_engine.errors import SpecError

NAME = "minhash/1"
"""The version of this hashing, which both sides have to share."""
MIN_BITS, MAX_BITS, MAX_FUNCTIONS, MAX_NGRAM = 2, 17, 32, 8
_SEED = re.compile(r"[0-9a-f]{32}")
_SEPARATORS = re.compile(r"[\W_]+")
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_BASE = np.uint64(1_000_003)
_BOUNDARY = "\x02"
"""Stands before and after each text, so that its first and last letters count for more."""

Hashes = NDArray[np.uint64]


@dataclass(frozen=True, kw_only=True)
class Hashing:
    """How records become buckets. ngram: letters of an n-gram. functions: how many hash functions decide
    together. bits: there are 2^bits buckets, the last of which is that of records without any text. seed: 32
    hexadecimal digits, public."""

    ngram: int
    functions: int
    bits: int
    seed: str

    def __post_init__(self) -> None:
        for name, value, least, most in (
            ("ngram", self.ngram, 1, MAX_NGRAM),
            ("functions", self.functions, 1, MAX_FUNCTIONS),
            ("bits", self.bits, MIN_BITS, MAX_BITS),
        ):
            if type(value) is not int or not least <= value <= most:
                raise SpecError(
                    f"{name} of a link is no whole number from {least} to {most}",
                    repair="make the link again",
                )
        if not isinstance(self.seed, str) or not _SEED.fullmatch(self.seed):
            raise SpecError(
                "the seed of a link is not 32 hexadecimal digits", repair="make the link again"
            )

    @property
    def codes(self) -> int:
        """The number of buckets, that of records without any text among them."""
        return 1 << self.bits

    @property
    def buckets(self) -> int:
        """The number of buckets of records with texts."""
        return self.codes - 1

    @property
    def shape(self) -> tuple[int, int]:
        """The buckets as the cells of two columns, since a column has a limited number of codes."""
        high = self.bits // 2
        return 1 << high, 1 << (self.bits - high)

    def buckets_of(self, columns: Sequence[Sequence[str]]) -> NDArray[np.int64]:
        """The bucket of each record. columns: the texts of each column, all of one length n. Returns shape
        (n,), from 0 to `buckets`, the last of which is that of records without any text. Entry i depends on
        the i-th texts alone."""
        grams, owners = self._grams(columns)
        records = len(columns[0])
        buckets = np.full(records, self.buckets, dtype=np.int64)
        if not grams.size:
            return buckets
        starts = np.flatnonzero(np.append(True, owners[1:] != owners[:-1]))
        signature = np.zeros(starts.size, dtype=np.uint64)
        for key in self._keys():
            least = np.minimum.reduceat(_mixed(grams ^ key), starts)
            signature = _mixed(signature ^ least)
        buckets[owners[starts]] = (signature % np.uint64(self.buckets)).astype(np.int64)
        return buckets

    def _keys(self) -> Hashes:
        """A number for each hash function, from the seed."""
        digests = (
            hashlib.blake2b(f"{self.seed}/{number}".encode(), digest_size=8).digest()
            for number in range(self.functions)
        )
        return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)

    def _grams(self, columns: Sequence[Sequence[str]]) -> tuple[Hashes, NDArray[np.int64]]:
        """A number for each n-gram of each record, and the record that it is of, in order of records."""
        grams, owners = [], []
        for index, column in enumerate(columns):
            own, records = _column_grams([normalised(text) for text in column], self.ngram)
            # The same letters in another column are another n-gram.
            grams.append(_mixed(own ^ _mixed(np.full(1, index + 1, dtype=np.uint64))))
            owners.append(records)
        together = np.concatenate(owners)
        order = np.argsort(together, kind="stable")
        return np.concatenate(grams)[order], together[order]


def normalised(text: str) -> str:
    """A text without accents, case and everything but letters and digits: the same for a name however it is
    written."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    letters = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return _SEPARATORS.sub("", letters)


def _column_grams(texts: Sequence[str], length: int) -> tuple[Hashes, NDArray[np.int64]]:
    """A number for each n-gram of each text, and the index of the text; none of an empty text."""
    padded = [f"{_BOUNDARY}{text}{_BOUNDARY}" if text else "" for text in texts]
    sizes = np.array([len(text) for text in padded], dtype=np.int64)
    # A text that is shorter than an n-gram is one n-gram, of spaces at its end.
    grams = np.where(sizes > 0, np.maximum(sizes - length + 1, 1), 0)
    joined = "".join(text.ljust(length) if text else "" for text in padded)
    letters = np.frombuffer(joined.encode("utf-32-le"), dtype="<u4").astype(np.uint64)
    starts = np.cumsum(np.where(sizes > 0, np.maximum(sizes, length), 0))
    starts = np.append(0, starts)[:-1]
    records = np.repeat(np.arange(len(texts)), grams)
    within = np.arange(records.size) - np.repeat(np.cumsum(grams) - grams, grams)
    places = starts[records] + within
    numbers = np.zeros(records.size, dtype=np.uint64)
    for step in range(length):
        numbers = numbers * _BASE + letters[places + step] + np.uint64(1)
    return _mixed(numbers), records


def _mixed(numbers: Hashes) -> Hashes:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014), modulo 2⁶⁴: a bijection that spreads all
    bits."""
    mixed = numbers + _GOLDEN
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
    return mixed ^ (mixed >> np.uint64(31))
