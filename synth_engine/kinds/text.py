"""Texts of which nothing is wanted but how long they are: names, remarks, codes that mean nothing.

No real text is ever counted, kept or drawn. What a mechanism sees of one is its length, and if so declared
the class of its first sign; what a synthetic table holds is made up, sign by sign."""

from __future__ import annotations

import string
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise, product
from math import prod
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from synth_engine.kinds.attribute import Attribute, TableSchemaField
from synth_engine.kinds.bounds import DEFAULT_BINS, ONE_CODE_A_VALUE_UP_TO
from synth_engine.kinds.fields import Fields
from synth_engine.kinds.fragments import TEXTS, VALUE_SET, Schema, optional
from synth_engine.kinds.identifier import MAX_PATTERN_LENGTH, Template, template
from synth_engine.kinds.reading import Codes, code_dtype
from synth_engine.values import ValueSet

if TYPE_CHECKING:
    import pandas as pd

Class = Literal["lower", "upper", "digits", "blanks", "punctuation"]
CLASSES: tuple[Class, ...] = get_args(Class)
CHARACTERS: dict[str, str] = {
    "lower": string.ascii_lowercase,
    "upper": string.ascii_uppercase,
    "digits": string.digits,
    "blanks": " ",
    "punctuation": ".,:;!?'()/-&#",
}
MAX_TEXT_LENGTH = 1_000


@dataclass(frozen=True, kw_only=True)
class Text(Attribute):
    """Made-up text of `min_length` to `max_length` signs of the classes in `signs`; neither begins nor ends
    with a blank. Its codes are lengths, each with its own up to 100 of them, else 32 bins; with `leading`
    they are lengths and the class of the first sign. With a `pattern` instead of a length and classes all
    texts have its shape (# a digit, @ a capital letter, * either, a backslash takes the next sign as it is),
    and only being missing is counted. With `reads`, a public set, a text that the set knows is measured in
    the spelling of the set; a run that finds texts in a set keeps it so."""

    kind: ClassVar[str] = "text"
    schema_position: ClassVar[int] = 90
    fact_names: ClassVar[tuple[str, ...]] = ("kind", "shape", "missing")

    max_length: int | None = None
    min_length: int = 1
    signs: tuple[Class, ...] = ()
    leading: bool = False
    pattern: str | None = None
    reads: ValueSet | None = field(default=None, repr=False)
    ordered: bool = True

    def check(self) -> None:
        object.__setattr__(self, "signs", tuple(self.signs))
        # A pair of length and class has no order.
        object.__setattr__(self, "ordered", self.ordered and not self.leading)
        if self.pattern is not None:
            self._check_pattern()
        else:
            self._check_lengths()
            self._check_signs()
        if self._fewest <= len(self.missing or ()):
            raise self.error(
                "there are no more texts than missing markers",
                repair="allow longer texts, or more signs",
                field="pattern" if self.pattern is not None else "max_length",
            )

    def _check_pattern(self) -> None:
        given = self.max_length is not None or bool(self.signs) or self.leading
        if given or self.min_length != 1 or self.reads is not None:
            raise self.error(
                "both a pattern and lengths or classes are given",
                repair="keep one of them",
                field="pattern",
            )
        pattern = self.pattern or ""
        if (
            not 0 < len(pattern) <= MAX_PATTERN_LENGTH
            or not pattern.isprintable()
            or pattern.strip() != pattern
        ):
            raise self.error(
                f"the pattern is empty, longer than {MAX_PATTERN_LENGTH} signs, begins or ends with a "
                "blank, or has control signs",
                repair='write one such as "@@-####"',
                field="pattern",
            )

    def _check_lengths(self) -> None:
        if self.max_length is None:
            raise self.error(
                "neither max_length nor a pattern is given",
                repair="declare how long texts may be",
                field="max_length",
            )
        if (
            not 0 <= self.min_length <= self.max_length
            or not 1 <= self.max_length <= MAX_TEXT_LENGTH
        ):
            raise self.error(
                "the lengths are out of order or out of range",
                repair=f"give whole numbers from 0 to {MAX_TEXT_LENGTH:,}, the largest of at least 1",
                field="max_length",
            )
        if self.min_length == 0 and (self.leading or "" in (self.missing or ())):
            raise self.error(
                "an empty text is also missing, or lacks the first sign that is asked for",
                repair="let texts be at least one sign long",
                field="min_length",
            )

    def _check_signs(self) -> None:
        if (
            not self.signs
            or any(each not in CLASSES for each in self.signs)
            or len(set(self.signs)) != len(self.signs)
        ):
            raise self.error(
                "the classes of signs are not listed, unknown, or listed twice",
                repair=f"use {', '.join(CLASSES)}",
                field="signs",
            )
        if self.signs == ("blanks",):
            raise self.error(
                "texts of blanks alone", repair="add another class of signs", field="signs"
            )

    @property
    def classes(self) -> tuple[Class, ...]:
        """Return the classes that a text may begin with."""
        return tuple(each for each in self.signs if each != "blanks")

    @cached_property
    def cuts(self) -> tuple[int, ...]:
        """Bin i holds the lengths cuts[i] ≤ n < cuts[i+1]."""
        if self.max_length is None:
            return (0, 1)
        count = self.max_length - self.min_length + 1
        bins = count if count <= ONE_CODE_A_VALUE_UP_TO else DEFAULT_BINS
        return tuple(self.min_length + count * place // bins for place in range(bins + 1))

    @cached_property
    def template(self) -> Template:
        """Return the characters that may stand at each place of a text by the pattern."""
        return template(self.pattern or "")

    @property
    def _fewest(self) -> int:
        """Return a lower bound of the number of texts of any code, which must exceed that of the missing
        markers."""
        if self.pattern is not None:
            return prod(map(len, self.template))
        first = min(len(CHARACTERS[each]) for each in self.classes)
        return len(self.missing or ()) + 1 if self.min_length == 0 else first

    @property
    def value_count(self) -> int:
        return (len(self.cuts) - 1) * (len(self.classes) if self.leading else 1)

    @property
    def value_labels(self) -> tuple[str, ...]:
        if self.pattern is not None:
            return (f"like {self.pattern}",)
        spans = ((start, end - 1) for start, end in pairwise(self.cuts))
        lengths = [
            f"{a} to {b} signs" if a != b else f"{a} sign{'' if a == 1 else 's'}"
            for a, b in spans
        ]
        if not self.leading:
            return tuple(lengths)
        return tuple(
            f"{first} first, {length}" for first, length in product(self.classes, lengths)
        )

    @property
    def words(self) -> str:
        """Return in words what the texts look like."""
        if self.pattern is not None:
            return f"made up, like {self.pattern}"
        return f"made up, {self.min_length} to {self.max_length} signs: {', '.join(self.signs)}"

    def details(self) -> dict[str, object]:
        if self.pattern is not None:
            return {"pattern": self.pattern}
        return {
            "min_length": self.min_length,
            "max_length": self.max_length,
            "signs": list(self.signs),
            "leading": self.leading,
            **({} if self.reads is None else {"reads": self.reads.to_json()}),
        }

    @classmethod
    def json_schema(cls) -> tuple[Schema, tuple[str, ...]]:
        own: Schema = {
            "min_length": {"type": "integer", "minimum": 0, "maximum": MAX_TEXT_LENGTH},
            "max_length": {"type": "integer", "minimum": 1, "maximum": MAX_TEXT_LENGTH},
            "signs": TEXTS | {"items": {"enum": list(CLASSES)}},
            "leading": {"type": "boolean"},
            "pattern": {"type": "string", "minLength": 1, "maxLength": MAX_PATTERN_LENGTH},
            "reads": optional(VALUE_SET),
        }
        return own, ()

    @classmethod
    def read_json(cls, fields: Fields) -> dict[str, object]:
        return {
            "min_length": fields.integer("min_length"),
            "max_length": fields.integer("max_length"),
            "signs": fields.texts("signs"),
            "leading": fields.boolean("leading"),
            "pattern": fields.text("pattern", default=None),
            "reads": fields.value_set("reads"),
        }

    def table_schema(self) -> TableSchemaField:
        if self.max_length is None:
            return TableSchemaField("string")
        return TableSchemaField(
            "string", {}, {"minLength": self.min_length, "maxLength": self.max_length}
        )

    def spelled(self, texts: list[str]) -> list[str]:
        """Each text as the set in `reads` spells it, a function of this text alone; one that it does not know
        as it is."""
        if self.reads is None:
            return texts
        return [
            text if rank is None else self.reads.unrank(rank)
            for text, rank in zip(texts, self.reads.ranks(texts), strict=True)
        ]

    def encode(self, texts: list[str]) -> Codes:
        """The code of each text. One that is too short or too long, or begins with another sign, goes where
        it is declared to: to the nearest length and the first class, or to missing."""
        if self.pattern is not None:
            return np.zeros(len(texts), dtype=code_dtype(self.size))
        texts = self.spelled(texts)
        lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        cuts = np.asarray(self.cuts)
        bins = np.searchsorted(cuts, np.clip(lengths, cuts[0], cuts[-1] - 1), side="right") - 1
        outside = (lengths < cuts[0]) | (lengths >= cuts[-1])
        if self.leading:
            places = {each: place for place, each in enumerate(self.classes)}
            firsts = np.fromiter(
                (places.get(class_of(text), -1) for text in texts),
                dtype=np.int64,
                count=len(texts),
            )
            outside |= firsts < 0
            bins = bins + np.maximum(firsts, 0) * (len(cuts) - 1)
        codes: Codes = bins.astype(code_dtype(self.size))
        if self.outside == "missing" and self.missing_code is not None:
            codes[outside] = self.missing_code
        return codes

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> pd.Series:
        """A text for each code; none is a missing marker."""
        import pandas as pd

        missing = codes == self.missing_code
        made = _made(self, np.where(missing, 0, codes), rng)
        markers = set(self.missing or ())
        # A text that happens to be a missing marker would be read back as missing. It is
        # replaced; the checks above made sure that there are other texts.
        while markers and (clashing := np.flatnonzero([text in markers for text in made])).size:
            for row, text in zip(
                clashing.tolist(),
                _made(self, codes[clashing] * ~missing[clashing], rng),
                strict=True,
            ):
                made[row] = text
        return pd.Series(made, dtype="str").mask(missing)


def _made(attribute: Text, codes: NDArray[np.intp], rng: np.random.Generator) -> list[str]:
    if attribute.pattern is not None:
        places = [
            np.array(list(signs))[rng.integers(len(signs), size=codes.size)]
            for signs in attribute.template
        ]
        return ["".join(row) for row in zip(*(place.tolist() for place in places), strict=True)]
    cuts = np.asarray(attribute.cuts)
    firsts, bins = np.divmod(codes, len(cuts) - 1)
    lengths = rng.integers(cuts[bins], cuts[bins + 1])
    ends = np.cumsum(lengths)
    starts = ends - lengths
    alphabet = _alphabet(attribute.signs)
    signs = alphabet[rng.integers(alphabet.size, size=int(ends[-1]) if ends.size else 0)]
    edges = _alphabet(attribute.classes)
    some = lengths > 0
    # First and last characters are chosen without blanks, which readers of the file would
    # strip.
    signs[ends[some] - 1] = edges[rng.integers(edges.size, size=int(some.sum()))]
    if attribute.leading:
        for place, each in enumerate(attribute.classes):
            mine = starts[firsts == place]
            signs[mine] = _alphabet((each,))[
                rng.integers(len(CHARACTERS[each]), size=mine.size)
            ]
    else:
        signs[starts[some]] = edges[rng.integers(edges.size, size=int(some.sum()))]
    whole = "".join(signs.tolist())
    return [whole[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]


def _alphabet(classes: tuple[Class, ...]) -> NDArray[np.str_]:
    return np.array(list("".join(CHARACTERS[each] for each in classes)))


def class_of(text: str) -> Class:
    """The class of the first sign, of any script."""
    first = text[:1]
    if first.isdigit():
        return "digits"
    if first.isalpha():
        return "upper" if first.isupper() else "lower"
    return "blanks" if first.isspace() else "punctuation"
