"""What libraries raise at a file that is damaged, or was made to confuse them: this or that, by what they met
and in their version.

Whoever lets one read a file that somebody else wrote catches all of these, and says in our words that it
cannot be read.
"""

from __future__ import annotations

import zipfile
import zlib

import pyarrow as pa

DAMAGED: tuple[type[Exception], ...] = (
    ArithmeticError,  # a length that overflows
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    ValueError,  # also of bytes that are no text
    pa.ArrowException,
    zipfile.BadZipFile,
    zlib.error,
)
