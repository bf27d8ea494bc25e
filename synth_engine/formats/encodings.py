"""List the encodings of text that are read, and find those that the bytes of a file allow.

UTF-8 that is valid throughout, and UTF-16 and UTF-32 with a byte order mark, are certain. Everything else is
a guess: a byte above 127 is a letter in each of a dozen code pages. The possible ones are ranked, and a
person chooses.
"""

from __future__ import annotations

import codecs
import re

ENCODINGS = {
    "utf-8": "UTF-8",
    "utf-16": "UTF-16 (“Unicode” of older programs)",
    "utf-16-le": "UTF-16 without a byte order mark (little-endian)",
    "utf-16-be": "UTF-16 without a byte order mark (big-endian)",
    "utf-32": "UTF-32",
    "cp1252": "Windows-1252 (Western European)",
    "latin-1": "Latin-1 (ISO 8859-1)",
    "iso8859-15": "Latin-9 (ISO 8859-15, Western European with €)",
    "cp1250": "Windows-1250 (Central European)",
    "iso8859-2": "Latin-2 (ISO 8859-2, Central European)",
    "cp1251": "Windows-1251 (Cyrillic)",
    "koi8-r": "KOI8-R (Cyrillic)",
    "iso8859-5": "ISO 8859-5 (Cyrillic)",
    "cp1253": "Windows-1253 (Greek)",
    "iso8859-7": "ISO 8859-7 (Greek)",
    "cp1254": "Windows-1254 (Turkish)",
    "iso8859-9": "Latin-5 (ISO 8859-9, Turkish)",
    "cp1255": "Windows-1255 (Hebrew)",
    "iso8859-8": "ISO 8859-8 (Hebrew)",
    "cp1256": "Windows-1256 (Arabic)",
    "iso8859-6": "ISO 8859-6 (Arabic)",
    "cp1257": "Windows-1257 (Baltic)",
    "iso8859-4": "Latin-4 (ISO 8859-4, Baltic)",
    "iso8859-10": "Latin-6 (ISO 8859-10, Nordic)",
    "iso8859-13": "Latin-7 (ISO 8859-13, Baltic)",
    "iso8859-16": "Latin-10 (ISO 8859-16, Romanian)",
    "cp1258": "Windows-1258 (Vietnamese)",
    "cp874": "Windows-874 (Thai)",
    "mac-roman": "Mac Roman (Western European)",
    "mac-latin2": "Mac Central European",
    "mac-cyrillic": "Mac Cyrillic",
    "cp437": "Code page 437 (DOS)",
    "cp850": "Code page 850 (DOS, Western European)",
    "cp852": "Code page 852 (DOS, Central European)",
    "cp866": "Code page 866 (DOS, Cyrillic)",
    "cp932": "Shift-JIS (Japanese)",
    "euc_jp": "EUC-JP (Japanese)",
    "gb18030": "GB 18030, with GBK and GB 2312 (Chinese)",
    "big5": "Big5 (Chinese)",
    "big5hkscs": "Big5 with Hong Kong characters (Chinese)",
    "cp949": "EUC-KR (Korean)",
}
_MARKED = {
    codecs.BOM_UTF32_LE: "utf-32",  # first: it begins with the mark of UTF-16
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_LEGACY = tuple(name for name in ENCODINGS if not name.startswith("utf-"))
_MANY_BYTES = ("cp932", "euc_jp", "gb18030", "big5", "big5hkscs", "cp949")
_SINGLE = tuple(name for name in _LEGACY if name not in _MANY_BYTES)
_SAMPLE = 2**16  # bytes of lines with letters outside ASCII, by which encodings are ranked
_SHOWN_WORDS = 6


def marked(head: bytes) -> str:
    """The encoding that a byte order mark at the beginning states, or nothing."""
    return next((name for mark, name in _MARKED.items() if head.startswith(mark)), "")


class Encodings:
    """Finds the encoding of a text whose bytes are fed to it, piece by piece, to the end.

    A text that is UTF-8 for the most part is damaged, and left to be refused where the damage is. Of any
    other text that is not UTF-8, `certain` is false and `possible` lists the encodings that all of its bytes
    allow.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._wide: str | None = None  # a variant of UTF-16 or UTF-32; "" if it is none
        self._letters = self._strange = 0
        self._bytes: set[int] = set()
        self._sample = bytearray()

    def feed(self, data: bytes) -> None:
        """The next bytes."""
        if self._wide is None:
            self._wide = marked(data) or _unmarked_wide(data)
        if not self._wide:
            self._count(data, final=False)

    def most_likely(self) -> str:
        """The encoding, or the likeliest one, once all is fed."""
        if self._wide:
            return self._wide
        self._count(b"", final=True)
        # Text of another encoding, read as UTF-8, is damaged at nearly every letter outside
        # ASCII.
        if self._strange <= self._letters:
            return "utf-8"
        return next(iter(self.possible()), "utf-8")

    @property
    def certain(self) -> bool:
        """Whether the encoding found is no mere guess, or the text is to be refused as damaged UTF-8."""
        return bool(self._wide) or self._strange <= self._letters

    @property
    def damaged(self) -> bool:
        """Whether the text is UTF-8 but for some of its bytes."""
        return not self._wide and 0 < self._strange <= self._letters

    def possible(self) -> list[str]:
        """The encodings that the bytes allow, the likeliest first."""
        # In an encoding of one byte a letter, each byte is allowed or not by itself: the set of
        # bytes decides. The others allow sequences, of which only a sample is held.
        high = bytes(sorted(self._bytes))
        sample = bytes(self._sample)
        allowed = [name for name in _SINGLE if _decodes(high, name)]
        allowed += [name for name in _MANY_BYTES if _decodes(sample, name)]
        return _ranked(sample, allowed)

    def words(self, encoding: str) -> list[str]:
        """A few words of the text with letters outside ASCII, read in an encoding: cells of the table, for
        its steward alone."""
        text = bytes(self._sample).decode(encoding, "replace")
        words = [word for word in re.findall(r"[^\W\d_]+", text) if not word.isascii()]
        return list(dict.fromkeys(words))[:_SHOWN_WORDS]

    def _count(self, data: bytes, *, final: bool) -> None:
        text = self._decoder.decode(data, final)
        if text.isascii() and data.isascii():
            return
        strange = text.count("\ufffd")
        self._strange += strange
        self._letters += len(text) - len(text.encode("ascii", "ignore")) - strange
        self._bytes |= {byte for byte in set(data) if byte > 127}
        if len(self._sample) < _SAMPLE:
            self._take_lines(data)

    def _take_lines(self, data: bytes) -> None:
        """Whole lines that have a letter outside ASCII, up to a sample."""
        for line in data.split(b"\n")[:-1] or [data]:
            if not line.isascii() and len(self._sample) < _SAMPLE:
                self._sample += line[:_SAMPLE] + b"\n"


def _unmarked_wide(data: bytes) -> str:
    """UTF-16 without a mark, by the zeros in every second byte of its first letters."""
    head = data[:64]
    for name, zeros, letters in (
        ("utf-16-le", head[1::2], head[::2]),
        ("utf-16-be", head[::2], head[1::2]),
    ):
        if zeros.count(0) * 2 > len(zeros) and not letters.count(0):
            return name
    return ""


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _ranked(sample: bytes, allowed: list[str]) -> list[str]:
    """Order encodings as a detector ranks them, then the others, the most usual first."""
    from charset_normalizer import from_bytes  # takes its time to load, and few files need it

    ranked: list[str] = []
    for match in (
        from_bytes(sample, cp_isolation=allowed, enable_fallback=False)
        if allowed and sample
        else ()
    ):
        ranked += [
            codecs.lookup(one).name for one in (match.encoding, *match.could_be_from_charset)
        ]
    places = {name: place for place, name in reversed(list(enumerate(ranked)))}
    likeliest: dict[
        str, int
    ] = {}  # by the text that they give: of those that give the same, the most usual is shown
    for name in allowed:
        text = sample.decode(name, "replace")
        likeliest[text] = min(
            likeliest.get(text, len(places)), places.get(codecs.lookup(name).name, len(places))
        )
    usual = {name: place for place, name in enumerate(_LEGACY)}
    return sorted(
        allowed, key=lambda one: (likeliest[sample.decode(one, "replace")], usual[one])
    )
