"""Identifiers of privacy units, in the form by which units are told apart."""

from __future__ import annotations

import re
import unicodedata

import pyarrow as pa
import pyarrow.compute as pc

from synth_engine.privacy.unit import Spelling

# All that Unicode calls white space, and the mark that some programs put at the beginning of a text.
BLANKS = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028"
    "\u2029\u202f\u205f\u3000\ufeff"
)
_WHOLE = re.compile(r"([+-]?)0*([0-9]+)(?:\.0*)?", re.ASCII)


def normal(ids: pa.Array, spelling: Spelling) -> pa.Array:
    """Each identifier without the blanks around it, and in the declared form. ids: texts, shape (n,), null
    where there is none. Returns texts of the same shape; no identifier is an empty text. Entry i is a
    function of ids[i] alone."""
    trimmed = pc.utf8_trim(pc.fill_null(ids, ""), characters=BLANKS)
    if spelling is Spelling.EXACT:
        return trimmed
    form = _folded if spelling is Spelling.CASEFOLD else _whole
    # Whether two records share a unit is a function of their two identifiers
    # (docs/proofs/reading.md, Lemma 4): no spelling is chosen because others in the table use
    # it.
    coded = trimmed.dictionary_encode()
    formed = pa.array([form(text) for text in coded.dictionary.to_pylist()], type=pa.string())
    return formed.take(coded.indices)


def _folded(text: str) -> str:
    # Case folding may give a text that is not normalised, hence NFKC before and after it.
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).strip(
        BLANKS
    )


def _whole(text: str) -> str:
    match = _WHOLE.fullmatch(text)
    if match is None:
        return text
    sign = "-" if match[1] == "-" and match[2] != "0" else ""
    return sign + match[2]
