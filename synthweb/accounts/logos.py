"""Logos: pictures in the format PNG (ISO/IEC 15948), which are read and written anew before a page shows them
to anybody.

A browser spends four bytes on each pixel, however few bytes the file has.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from synthweb.lib.errors import Refused

MAX_BYTES = 30_000
"""The logo is part of each page that shows it."""
MAX_WIDTH, MAX_HEIGHT = 2_000, 500
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_DRAWN = {b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"}
"""What the pixels are drawn from. Texts, times, profiles and what programs add besides are left out."""
_SAMPLES = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
"""Samples of a pixel, by the type of its colour."""
_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
"""Bits of a sample, by the type of its colour."""
_PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2),
    (0, 1, 1, 2))  # fmt: skip
"""Adam7: the first pixel and the steps, across and down, of each pass of an interlaced picture."""


class _Broken(Exception):
    """The file is no whole picture."""


class _Header(NamedTuple):
    width: int
    height: int
    depth: int
    colour: int
    compression: int
    filtering: int
    interlaced: int


def rewritten(logo: bytes) -> bytes:
    """The same picture of its pixels alone. Nothing stays nothing.

    Errors: Refused for what is no PNG, is too large, moves or is broken.
    """
    if len(logo) > MAX_BYTES:
        raise Refused(
            f"a logo has at most {MAX_BYTES:,} bytes",
            repair="save it smaller: it is drawn 32 pixels high",
            field="logo",
        )
    if not logo:
        return b""
    if not logo.startswith(_SIGNATURE):
        raise Refused("a logo is a PNG", repair="save it in this format", field="logo")
    try:
        return _SIGNATURE + _picture(logo[len(_SIGNATURE) :])
    except (_Broken, struct.error, zlib.error):
        raise Refused(
            "the PNG is damaged or incomplete", repair="save the picture again", field="logo"
        ) from None


def _picture(data: bytes) -> bytes:
    chunks = list(_chunks(data))
    names = [name for name, _ in chunks]
    if b"acTL" in names:
        raise Refused("a logo does not move", repair="save its first picture", field="logo")
    if names[0] != b"IHDR" or names[-1] != b"IEND" or names.count(b"IHDR") > 1:
        raise _Broken
    header = _Header(*struct.unpack(">IIBBBBB", chunks[0][1]))
    if header.width > MAX_WIDTH or header.height > MAX_HEIGHT:
        raise Refused(
            f"a logo has at most {MAX_WIDTH:,} × {MAX_HEIGHT} pixels",
            repair="save it smaller: it is drawn 32 pixels high",
            field="logo",
        )
    pixels = b"".join(content for name, content in chunks if name == b"IDAT")
    palettes = [content for name, content in chunks if name == b"PLTE"]
    _check(header, pixels, palettes)
    return b"".join(_chunk(name, content) for name, content in chunks if name in _DRAWN)


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The name and content of each chunk, whose sums are right, up to the last one."""
    name = b""
    while name != b"IEND":
        size, name = struct.unpack_from(">I4s", data)
        content, rest = data[8 : 8 + size], data[8 + size :]
        if len(content) < size or _chunk(name, content)[-4:] != rest[:4]:
            raise _Broken
        # A critical chunk, by the case of its first letter, that is not known.
        if name[:1].isupper() and name not in _DRAWN:
            raise _Broken
        yield name, content
        data = rest[4:]
    if data:
        raise _Broken


def _chunk(name: bytes, content: bytes) -> bytes:
    sum_of_it = zlib.crc32(name + content)
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", sum_of_it)


def _check(header: _Header, pixels: bytes, palettes: list[bytes]) -> None:
    """Errors: _Broken unless the pixels are exactly as many as the header says."""
    if (
        not header.width
        or not header.height
        or header.depth not in _DEPTHS.get(header.colour, ())
        or header.compression
        or header.filtering
        or header.interlaced not in (0, 1)
        or (len(palettes) != 1 and header.colour == 3)  # its samples are places in the palette
    ):  # fmt: skip
        raise _Broken
    expected = _raw_size(header)
    unpacking = zlib.decompressobj()
    raw = unpacking.decompress(pixels, expected + 1)
    if len(raw) != expected or not unpacking.eof or unpacking.unused_data:
        raise _Broken


def _raw_size(header: _Header) -> int:
    """Bytes of the rows, each after the number of its filter."""
    bits = _SAMPLES[header.colour] * header.depth
    passes = _PASSES if header.interlaced else ((0, 0, 1, 1),)
    size = 0
    for left, top, across, down in passes:
        width = -(-(header.width - left) // across)
        height = -(-(header.height - top) // down)
        # A pass without pixels has no rows.
        if width > 0 and height > 0:
            size += height * (1 + -(-width * bits // 8))
    return size
