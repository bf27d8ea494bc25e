"""Define how a file marks decimals and thousands: stated once for the file, never guessed from a cell.

"1,234" is a thousand or a little more than one, "1.234" as well. What is declared here is how cells of
columns that are described as numbers are read; the cells themselves stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from synth_engine.formats import notation

if TYPE_CHECKING:
    import pyarrow as pa

DECIMALS = {".": "decimal point", ",": "decimal comma"}
THOUSANDS = {"": "no sign", ",": "comma", ".": "point", " ": "space", "'": "apostrophe"}
_SPACES = " \u00a0\u202f"
UNREADABLE = "\ufffd"  # what is a number by other marks alone; it must not be read by them


def grouped(signs: str) -> str:
    """The pattern of digits with one of these signs between thousands, or as in India with commas between
    hundreds above them."""
    thousands = rf"[0-9]{{1,3}}(?:{signs}[0-9]{{3}})+"
    return thousands + (r"|[0-9]{1,2}(?:,[0-9]{2})+,[0-9]{3}" if signs == "," else "")


@dataclass(frozen=True, kw_only=True)
class Marks:
    """The sign before decimals, the one between thousands, and what stands around numbers and is left out:
    currencies, percent signs and units."""

    decimal: str = "."
    thousands: str = ""
    units: tuple[str, ...] = ()

    @property
    def usual(self) -> bool:
        return self == Marks()

    def plain(self, texts: pa.Array, *, apart_from: Collection[str] = ()) -> pa.Array:
        """Numbers with ASCII digits, the sign before, a decimal point and no thousands marked; other texts as
        they are."""
        import pyarrow as pa
        import pyarrow.compute as pc

        # Each distinct text is converted once, however often it occurs.
        if pa.types.is_dictionary(texts.type):
            plain = self.plain(texts.dictionary, apart_from=apart_from)
            return pa.DictionaryArray.from_arrays(texts.indices, plain)
        plain = self._plain(notation.unified(texts))
        if not apart_from:
            return plain
        markers = pa.array(list(apart_from), type=pa.string())
        return pc.if_else(pc.is_in(texts, value_set=markers), texts, plain)

    def _plain(self, texts: pa.Array) -> pa.Array:
        import pyarrow.compute as pc

        if self.usual:
            return texts
        if self.units:
            texts = self.without_units(texts)
        signs = f"[{_SPACES}]" if self.thousands == " " else re.escape(self.thousands)
        whole = r"[0-9]+" + (f"|{grouped(signs)}" if signs else "")
        form = rf"^[ \t]*[+-]?(?:{whole})?(?:{re.escape(self.decimal)}[0-9]+)?(?:[eE][+-]?[0-9]+)?[ \t]*$"
        converted = pc.replace_substring_regex(texts, signs, "") if signs else texts
        converted = pc.replace_substring(converted, self.decimal, ".")
        usual = pc.match_substring_regex(
            texts, r"^[ \t]*[+-]?[0-9]*\.?[0-9]*(?:[eE][+-]?[0-9]+)?[ \t]*$"
        )
        # With a decimal comma, 1.500 is no number of this file. Left as it is, it would be read
        # as one and a half later, though its point may well mark a thousand.
        unchanged = pc.if_else(
            pc.and_(usual, pc.match_substring(texts, ".")), UNREADABLE, texts
        )
        return pc.if_else(pc.match_substring_regex(texts, form), converted, unchanged)

    def without_units(self, texts: pa.Array) -> pa.Array:
        """Texts that are digits with one of the units before or after them, without it; others as they
        are."""
        import pyarrow.compute as pc

        units = "|".join(re.escape(unit) for unit in sorted(self.units, key=len, reverse=True))
        number = rf"[0-9.,][0-9.,'{_SPACES}]*"
        with_unit = (
            r"^[ "
            rf"\t]*(?P<sign>[+-]?)(?:(?:{units})[{_SPACES}]?)?(?P<number>[+-]?{number}?)(?:[{_SPACES}]?(?:"
            rf"{units}))?[ "
            r"\t]*$"
        )
        parts = pc.extract_regex(texts, with_unit)
        bare = pc.binary_join_element_wise(
            pc.struct_field(parts, "sign"), pc.struct_field(parts, "number"), ""
        )
        return pc.if_else(pc.is_valid(parts), bare, texts)
