"""Texts that are made up: to codes by their length and first sign, and from codes sign by sign."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_engine.domain.texts import CHARACTERS, Class, Text

Codes = NDArray[np.uint16]


def codes_of(attribute: Text, texts: list[str]) -> Codes:
    """The code of each text. One that is too short or too long, or begins with another sign, goes where it is declared
    to: to the nearest length and the first class, or to missing."""
    if attribute.pattern is not None:
        return np.zeros(len(texts), dtype=np.uint16)
    lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    cuts = np.asarray(attribute.cuts)
    bins = np.searchsorted(cuts, np.clip(lengths, cuts[0], cuts[-1] - 1), side="right") - 1
    outside = (lengths < cuts[0]) | (lengths >= cuts[-1])
    if attribute.leading:
        places = {each: place for place, each in enumerate(attribute.classes)}
        firsts = np.fromiter(
            (places.get(class_of(text), -1) for text in texts), dtype=np.int64, count=len(texts)
        )
        outside |= firsts < 0
        bins = bins + np.maximum(firsts, 0) * (len(cuts) - 1)
    codes: Codes = bins.astype(np.uint16)
    if attribute.outside == "missing" and attribute.missing_code is not None:
        codes[outside] = attribute.missing_code
    return codes


def sample_texts(
    attribute: Text, codes: NDArray[np.intp], rng: np.random.Generator
) -> pd.Series:
    """A text for each code; none is a missing marker."""
    missing = codes == attribute.missing_code
    made = _made(attribute, np.where(missing, 0, codes), rng)
    markers = set(attribute.missing or ())
    while markers and (clashing := np.flatnonzero([text in markers for text in made])).size:
        for row, text in zip(
            clashing.tolist(),
            _made(attribute, codes[clashing] * ~missing[clashing], rng),
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
