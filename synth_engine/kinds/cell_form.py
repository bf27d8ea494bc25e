"""How a file writes the cells of one column beyond what its kind says: thousands, signs around numbers,
leading zeros.

A public fact like the format of a date. Reading does not use it, so that it changes neither a code nor a
cost.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from synth_engine.formats.marks import Marks
from synth_engine.kinds.fields import Fields, Problem
from synth_engine.kinds.fragments import Schema

if TYPE_CHECKING:
    import pandas as pd

MAX_SIGN_LENGTH = 13  # a unit of a dialect, and the blank between it and the number
MAX_WIDTH = 64
_PLAIN_NUMBER = re.compile(r"([+-]?)([0-9]+)(?:\.([0-9]+))?")
# Numbers of a day or of hours that people write without their zero. Minutes and seconds keep it everywhere.
_MAY_LACK_ZERO = frozenset("mdHI")
_DIRECTIVES = {"Y": r"[0-9]{4}", "j": r"[0-9]{3}", "f": r"[0-9]{6}"} | dict.fromkeys(
    "ymdHIMS", r"[0-9]{2}"
)
_DIRECTIVE = re.compile(r"%(.)|([^%]+)", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class CellForm:
    """How the cells of one column are written.

    grouped: whether thousands of a number have the file's sign between them. decimals: the least number of
    digits after the decimal mark, filled with zeros. before, after: what stands around a number, such as "$"
    or " kg". width: the least number of digits of a number, filled with zeros in front. unpadded: whether
    days, months and hours below ten are written with one digit."""

    grouped: bool = False
    decimals: int = 0
    before: str = ""
    after: str = ""
    width: int = 0
    unpadded: bool = False

    @property
    def usual(self) -> bool:
        return self == USUAL

    @property
    def of_numbers(self) -> bool:
        """Whether anything is stated that numbers alone have."""
        return bool(self.grouped or self.decimals or self.before or self.after or self.width)

    @property
    def units(self) -> tuple[str, ...]:
        """What a reader has to leave out around the numbers."""
        return tuple(sign.strip() for sign in (self.before, self.after) if sign.strip())

    def problem(self) -> Problem | None:
        """Return the rule that is broken, its repair and the field, if any."""
        for name, flag in (("grouped", self.grouped), ("unpadded", self.unpadded)):
            if not isinstance(flag, bool):
                return Problem(
                    "grouped and unpadded are not true or false", "write true or false", name
                )
        for name, count in (("decimals", self.decimals), ("width", self.width)):
            if type(count) is not int or not 0 <= count <= MAX_WIDTH:
                return Problem(
                    f"decimals and width are not from 0 to {MAX_WIDTH}",
                    "give a whole number of digits",
                    name,
                )
        if self.grouped and self.width:
            return Problem(
                "thousands and leading zeros in one column", "state one of them", "width"
            )
        for name, sign in (("before", self.before), ("after", self.after)):
            if (
                not isinstance(sign, str)
                or len(sign) > MAX_SIGN_LENGTH
                or not sign.isprintable()
                or re.search(r"[0-9+,'.\-]", sign)
            ):
                return Problem(
                    "what stands around numbers is long, or has a digit or a mark of numbers",
                    "give a currency or unit like $, % or kg",
                    name,
                )
        return None

    def write_number(self, text: str, marks: Marks) -> str:
        """A plain decimal number as the file has it; a number with an exponent as it is."""
        match = _PLAIN_NUMBER.fullmatch(text)
        if match is None:
            return text
        sign, whole, fraction = match[1], match[2].zfill(self.width), match[3] or ""
        if self.grouped and marks.thousands:
            whole = f"{int(whole):,}".replace(",", marks.thousands)
        fraction = fraction.ljust(self.decimals, "0")
        number = whole + (marks.decimal + fraction if fraction else "")
        return f"{sign}{self.before}{number}{self.after}"

    def to_json(self) -> dict[str, object]:
        """The fields that are not as usual."""
        return {
            one.name: getattr(self, one.name)
            for one in fields(self)
            if getattr(self, one.name) != one.default
        }

    @classmethod
    def from_json(cls, document: Any, *, column: str) -> CellForm:
        """Errors: DomainError for unknown fields and wrong types."""
        reader = Fields(document if isinstance(document, dict) else {}, column=column)
        if not isinstance(document, dict):
            raise reader.wrong("written", "an object")
        reader.only(*(one.name for one in fields(cls)))
        return cls(
            grouped=reader.boolean("grouped"),
            decimals=reader.integer("decimals") or 0,
            before=reader.text("before"),
            after=reader.text("after"),
            width=reader.integer("width") or 0,
            unpadded=reader.boolean("unpadded"),
        )


USUAL = CellForm()
_SIGN: Schema = {"type": "string", "maxLength": MAX_SIGN_LENGTH}
_DIGITS: Schema = {"type": "integer", "minimum": 0, "maximum": MAX_WIDTH}
SCHEMA: Schema = {
    "type": "object",
    "description": "How a file writes the cells of the column: used by a sample that is written as the "
    "file came in.",
    "properties": {
        "grouped": {"type": "boolean"},
        "decimals": _DIGITS,
        "before": _SIGN,
        "after": _SIGN,
        "width": _DIGITS,
        "unpadded": {"type": "boolean"},
    },
    "additionalProperties": False,
}


def may_lack_zeros(style: str) -> bool:
    """Whether days and months of one digit are read by this format of `strftime`: they end where a sign
    follows, and ISO dates always have two."""
    ends = re.search(r"%[mdHI]%", style.replace("%%", ""))
    return not style.startswith("%Y-%m-%d") and ends is None


def without_zeros(texts: pd.Series, style: str) -> pd.Series:
    """Days or moments written by a format of `strftime`, with one digit for days, months and hours below ten.
    Texts that are not of the format, as markers of missing values, stay."""
    pattern = re.compile("".join(_piece(match) for match in _DIRECTIVE.finditer(style)))

    def shortened(text: str) -> str:
        match = pattern.fullmatch(text)
        if match is None:
            return text
        return "".join(
            part.removeprefix("0") if name.startswith("zero") and len(part) == 2 else part
            for name, part in match.groupdict().items()
        )

    return texts.map(shortened).astype("str")


def _piece(match: re.Match[str]) -> str:
    """A named group for a directive or a text of a format; the name says whether a zero may be lacking."""
    directive, text = match[1], match[2]
    if text is not None or directive == "%":
        return f"(?P<text{match.start()}>{re.escape(text or '%')})"
    name = "zero" if directive in _MAY_LACK_ZERO else "other"
    return f"(?P<{name}{match.start()}>{_DIRECTIVES.get(directive, '.+?')})"
